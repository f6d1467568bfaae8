"""What a service's own answer tells besides its text, whichever service it is: LlamaIndex passes it on as it came. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from hindsight_integrations.backends.language_model.streamed import CUT_OFF

# OpenAI's protocol, Anthropic's, Bedrock's, Gemini's and Ollama's; the last has them beside the message.
_HOLDERS = ("usage", "usage_metadata")
_TOKENS_IN = ("prompt_tokens", "input_tokens", "inputTokens", "prompt_token_count", "prompt_eval_count")
_TOKENS_OUT = (
    "completion_tokens",
    "output_tokens",
    "outputTokens",
    "candidates_token_count",
    "eval_count",
)
_REASONS = ("finish_reason", "stop_reason", "stopReason", "done_reason", "reason")
_CHOICES = ("choices", "candidates")
_ENDS = (
    "incomplete_details",
    "delta",
    "messageStop",
)  # OpenAI's responses; events of Anthropic's and Bedrock's streams


def field_of(holder: object, name: str) -> object:
    """A field of a mapping or of an object; None if there is none."""
    return holder.get(name) if isinstance(holder, Mapping) else getattr(holder, name, None)


def tokens_of(*answers: object) -> tuple[int, int]:
    """Prompt and completion tokens, 0 where none of the answers says them."""
    holders = [*(field_of(answer, name) for answer in answers for name in _HOLDERS), *answers]
    return _first_number(holders, _TOKENS_IN), _first_number(holders, _TOKENS_OUT)


def is_cut_off(answer: object) -> bool:
    """Whether an answer, or a piece of one, says that it ended at a limit of tokens."""
    return any(_name(field_of(holder, name)) in CUT_OFF for holder in _ends(answer) for name in _REASONS)


def _ends(answer: object) -> Iterator[object]:
    yield answer
    yield from (field_of(answer, name) for name in _ENDS)
    for name in _CHOICES:
        choices = field_of(answer, name)
        if isinstance(choices, Sequence) and choices:
            yield choices[0]


def _name(reason: object) -> str:
    """A reason's name; of an enum's member its own."""
    return str(getattr(reason, "name", reason))


def _first_number(holders: Sequence[object], names: Sequence[str]) -> int:
    found = (field_of(holder, name) for holder in holders for name in names)
    return next((value for value in found if isinstance(value, int)), 0)
