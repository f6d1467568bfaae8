"""Adapters for LlamaIndex LLMs and embeddings.

Structured answers are requested by a tool call if the LLM supports them, else by a schema in the prompt.
"""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from functools import cached_property
from types import GeneratorType
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, cast

from pydantic import BaseModel, ValidationError

from hindsight_integrations.errors import FeatureUnsupported
from hindsight_integrations.models.client_embedder import ClientEmbedder
from hindsight_integrations.models.protocols import (
    Completion,
    Prompt,
    PromptMessage,
    TextPrompt,
    answer_problem,
    written_answer,
)
from hindsight_integrations.models.structured_output import (
    CUT_OFF,
    ClientModel,
    InWords,
    Way,
)
from hindsight_integrations.models.vendor_errors import converting, described

if TYPE_CHECKING:
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.llms import LLM, ChatMessage, ChatResponse
    from llama_index.core.tools import FunctionTool


_ARGUMENTS = ("arguments", "tool_kwargs", "input", "args")
"""The fields in which clients without ToolCallBlock store the arguments of a call."""


class LlamaIndexModel(ClientModel["ChatResponse"]):
    """Wraps a LlamaIndex LLM, using `chat_with_tools` and `chat`.

    `structured_predict` is not used: it returns only the object, without token counts and, if malformed,
    without the text needed for a repair; and it completes truncated JSON.

    The LLM's *sync* methods run in a worker thread. A client's async methods are bound to the event loop that first
    used them, so that a second loop fails with "Event loop is closed" (measured 2026-11-23, llama-index-llms-openai
    0.8.3), and the async methods of a CustomLLM run the sync ones on the loop. Async methods are used only if an LLM
    has no sync ones. Instrumentation works, since anyio copies context variables into the thread. A cancelled call
    returns at once, while its request finishes in the background.

    Sampling and limits stay as set on the LLM. The LLM's own `system_prompt` and `output_parser` are not used: they are
    for LlamaIndex's prompts.

    Args:
        llm: the LLM; its name in errors is its class and model ("OpenAI/gpt-5-mini").
        in_words: function that adds the schema to a prompt; without it, only LLMs with tool calls can give structured
            answers.
    """

    def __init__(self, llm: LLM, *, in_words: InWords[Any] | None = None) -> None:
        super().__init__(described(llm), in_words)
        self._llm = llm

    @cached_property
    def _ways(self) -> list[Way]:  # some clients request the metadata from their server
        tools = hasattr(self._llm, "chat_with_tools") and self._llm.metadata.is_function_calling_model
        ways = [*([Way.TOOL] if tools else []), *([Way.WORDS] if self._in_words else [])]
        if not ways:
            raise FeatureUnsupported(self._name, f"it does not support {Way.TOOL.value}")
        return ways

    def _begin(self, prompt: TextPrompt, options: dict[str, Any]) -> Iterator[ChatResponse]:
        messages = _messages(prompt.messages)
        try:
            return StreamToClose(self._llm.stream_chat(messages, **options))
        except NotImplementedError:
            whole = _sync_or_async(self._llm.chat, self._llm.achat, messages, **options)
            whole.delta = whole.message.content
            return iter([whole])

    def _read(self, piece: ChatResponse) -> tuple[str, bool]:
        return piece.delta or "", is_cut_off(piece.raw)

    def _ask(self, prompt: Prompt[T], way: Way, options: dict[str, Any]) -> Completion[T]:
        with converting(self._name):
            answer = self._asked(prompt, way, options)
        text, tokens = _written(answer), tokens_of(answer.raw, answer.additional_kwargs)
        cached = cached_of(answer.raw)
        self._check_complete(text, tokens, cut_off=is_cut_off(answer.raw))
        try:
            return Completion(prompt.schema.model_validate_json(text), *tokens, text, cached)
        except ValidationError as error:
            # The text may contain the answer nevertheless, for example after reasoning.
            if (written := written_answer(prompt.schema, text)) is not None:
                return Completion(written, *tokens, text, cached)
            raise self._malformed(text, tokens, answer_problem(error)) from error

    def _asked(self, prompt: Prompt[T], way: Way, options: dict[str, Any]) -> ChatResponse:
        if way is Way.TOOL:
            return _sync_or_async(
                self._llm.chat_with_tools,
                self._llm.achat_with_tools,
                [_tool(prompt.schema)],
                chat_history=_messages(prompt.messages),
                tool_required=True,
                **options,
            )
        asked = self._in_words(prompt) if self._in_words else prompt
        return _sync_or_async(self._llm.chat, self._llm.achat, _messages(asked.messages), **options)


def llamaindex_embedder(embeddings: BaseEmbedding) -> ClientEmbedder:
    """Wrap a LlamaIndex `BaseEmbedding`; banks record its class and model ("OpenAIEmbedding/text-embedding-3-small").

    Its sync methods are used, since they are not bound to an event loop. Several models prepend an instruction to
    questions, in `get_query_embedding`.
    """
    return ClientEmbedder(
        described(embeddings), embeddings.get_text_embedding_batch, embeddings.get_query_embedding
    )


P = TypeVar("P")


class _Stream(Protocol):
    """The stream of a vendor's client."""

    def close(self) -> None: ...


class StreamToClose(Generic[P]):
    """Iterates over a vendor's stream and can close it.

    LlamaIndex's generators do not close the vendor streams they read, and a stream of openai's or anthropic's client is
    part of a reference cycle. So an abandoned request continues until garbage collection (measured 2026-11-23,
    llama-index-llms-openai 0.8.3 on openai 3.54). Outside CPython, `close` cannot end such a request.

    Args:
        pieces: the stream.
    """

    def __init__(self, pieces: Iterator[P]) -> None:
        self._pieces = pieces

    def __iter__(self) -> Iterator[P]:
        return self

    def __next__(self) -> P:
        return next(self._pieces)

    def close(self) -> None:
        """End the request. Must not be called while a piece is being read."""
        for stream in [*_read_by(self._pieces)]:
            stream.close()
        if isinstance(self._pieces, GeneratorType):
            self._pieces.close()


def _read_by(generator: object) -> Iterator[_Stream]:
    """Yield the vendor streams that a suspended generator reads, directly or through other generators."""
    if not isinstance(generator, GeneratorType):
        return
    for referent in gc.get_referents(generator):
        if isinstance(referent, GeneratorType):
            yield from _read_by(referent)
        elif isinstance(referent, Iterator) and callable(getattr(referent, "close", None)):
            yield cast("_Stream", referent)


# Fields with the token usage in the answers of OpenAI, Anthropic, Bedrock, Gemini and Ollama.
_HOLDERS = ("usage", "usage_metadata")
_TOKENS_IN = ("prompt_tokens", "input_tokens", "inputTokens", "prompt_token_count", "prompt_eval_count")
_TOKENS_OUT = (
    "completion_tokens",
    "output_tokens",
    "outputTokens",
    "candidates_token_count",
    "eval_count",
)
_DETAILS = ("prompt_tokens_details", "input_tokens_details")  # fields of OpenAI's usage object
_CACHED = (
    "cached_tokens",
    "cache_read_input_tokens",
    "cacheReadInputTokens",
    "cached_content_token_count",
)
_REASONS = ("finish_reason", "stop_reason", "stopReason", "done_reason", "reason")
_CHOICES = ("choices", "candidates")
_ENDS = (
    "incomplete_details",
    "delta",
    "messageStop",
)  # parts that contain the usage in OpenAI's responses and in stream events of Anthropic and Bedrock


def field_of(holder: object, name: str) -> object:
    """Return a field of a mapping or an object; None if missing."""
    return holder.get(name) if isinstance(holder, Mapping) else getattr(holder, name, None)


def tokens_of(*answers: object) -> tuple[int, int]:
    """Return the prompt and completion tokens that one of these answers reports; 0 if none does."""
    holders = [*(field_of(answer, name) for answer in answers for name in _HOLDERS), *answers]
    return _first_number(holders, _TOKENS_IN), _first_number(holders, _TOKENS_OUT)


def cached_of(answer: object) -> int:
    """Return the prompt tokens that the model read from its cache, as the answer reports them; 0 if it does not."""
    usages = [field_of(answer, name) for name in _HOLDERS]
    return _first_number(
        [*(field_of(usage, name) for usage in usages for name in _DETAILS), *usages], _CACHED
    )


def is_cut_off(answer: object) -> bool:
    """Check whether an answer, or a piece of one, reports that it reached a token limit."""
    return any(_name(field_of(holder, name)) in CUT_OFF for holder in _ends(answer) for name in _REASONS)


def _ends(answer: object) -> Iterator[object]:
    yield answer
    yield from (field_of(answer, name) for name in _ENDS)
    for name in _CHOICES:
        choices = field_of(answer, name)
        if isinstance(choices, Sequence) and choices:
            yield choices[0]


def _name(reason: object) -> str:
    """Return a reason's name; for an enum member, the member's name."""
    return str(getattr(reason, "name", reason))


def _first_number(holders: Sequence[object], names: Sequence[str]) -> int:
    values = (field_of(holder, name) for holder in holders for name in names)
    return next((value for value in values if isinstance(value, int)), 0)


T = TypeVar("T", bound=BaseModel)


def _sync_or_async(
    call: Callable[..., ChatResponse],
    otherwise: Callable[..., Coroutine[Any, Any, ChatResponse]],
    *arguments: object,
    **options: object,
) -> ChatResponse:
    """Call the sync method; if it is not implemented, run the async one in a new loop on this thread."""
    try:
        return call(*arguments, **options)
    except NotImplementedError:
        return asyncio.run(otherwise(*arguments, **options))


def _messages(messages: Sequence[PromptMessage]) -> list[ChatMessage]:
    from llama_index.core.llms import ChatMessage

    return [ChatMessage(role=message.role.value, content=message.text) for message in messages]


def _tool(schema: type[BaseModel]) -> FunctionTool:
    """Build a tool whose arguments have the answer's schema; the tool is never run."""
    from llama_index.core.tools import FunctionTool, ToolMetadata

    described_as = str(schema.model_json_schema().get("description") or schema.__name__)
    metadata = ToolMetadata(described_as, name=schema.__name__, fn_schema=schema)
    return FunctionTool(schema.model_validate, metadata=metadata)


def _written(answer: ChatResponse) -> str:
    """Return the arguments of the model's tool calls, unchanged, or else its text.

    `get_tool_calls_from_response` is not used: it completes truncated JSON.
    """
    message = answer.message
    calls = [block for block in message.blocks if block.block_type == "tool_call"]
    calls = calls or message.additional_kwargs.get("tool_calls") or []
    return "\n".join(_arguments(call) for call in calls) or message.content or ""


def _arguments(call: object) -> str:
    function = field_of(call, "function") or call
    arguments = next((field for name in _ARGUMENTS if (field := field_of(function, name)) is not None), "")
    return arguments if isinstance(arguments, str) else json.dumps(arguments, default=str)
