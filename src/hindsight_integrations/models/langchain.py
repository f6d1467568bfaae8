"""Adapters for LangChain chat models and embeddings.

Structured answers are requested by `with_structured_output`, by a tool call, or by a schema in the prompt.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from hindsight_integrations.errors import FeatureUnsupported, MalformedOutput
from hindsight_integrations.models.client_embedder import ClientEmbedder
from hindsight_integrations.models.protocols import (
    Completion,
    Prompt,
    PromptMessage,
    PromptRole,
    TextPrompt,
    answer_place,
    answer_problem,
    written_answer,
)
from hindsight_integrations.models.structured_output import (
    CUT_OFF,
    ClientModel,
    Extra,
    InWords,
    Way,
)
from hindsight_integrations.models.vendor_errors import converting, described

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings
    from langchain_core.language_models import BaseChatModel, LanguageModelInput
    from langchain_core.messages import BaseMessage
    from langchain_core.runnables import Runnable, RunnableConfig


T = TypeVar("T", bound=BaseModel)

_NO_STREAM: RunnableConfig = {"tags": ["nostream"]}
"""Hides the pieces of our answers from LangGraph's message stream, because they contain reasoning and a line of sources."""


class LangChainModel(ClientModel["BaseMessage"]):
    """Wraps a LangChain chat model, using `with_structured_output`.

    The model's *sync* `invoke` runs in a worker thread. Its async client cannot be used: langchain-openai shares one
    connection pool between all models and event loops of a process, so that `ainvoke` in a second loop fails with
    "Event loop is closed" (measured 2026-11-21, langchain-openai 1.7.3: every second `asyncio.run`), whereas the sync
    client is thread-safe and not bound to a loop. Callbacks and tracing work, since anyio copies context variables into
    the thread. A cancelled call returns at once, while its request finishes in the background.

    If a service rejects response_format, tool calls are used from then on; if it rejects these too, a schema in the
    prompt. Each change is logged once.

    Sampling and limits stay as set on the chat model, unless `sends` says otherwise: several models reject
    a temperature other than their default.

    Args:
        chat_model: the model.
        name: its name in errors; by default class and model ("ChatOpenAI/gpt-5-mini").
        in_words: function that adds the schema to a prompt; None disables that fallback.
        sends: which fields of the prompt to send besides messages and schema.
    """

    def __init__(
        self,
        chat_model: BaseChatModel,
        *,
        name: str | None = None,
        in_words: InWords[Any] | None = None,
        sends: Collection[Extra] = (),
    ) -> None:
        super().__init__(name or described(chat_model), in_words, sends)
        self._chat_model = chat_model
        # OpenAI's client fails on plain text in a streamed structured answer, so these calls must not stream.
        ours = any(kind.__module__.startswith("langchain_openai") for kind in type(chat_model).__mro__)
        self._always: dict[str, Any] = {"stream": False} if ours else {}

    @cached_property
    def _ways(self) -> list[Way]:
        return list(Way) if self._in_words else [Way.SCHEMA, Way.TOOL]

    def _begin(self, prompt: TextPrompt, options: dict[str, Any]) -> Iterator[BaseMessage]:
        return self._chat_model.bind(**options).stream(_messages(prompt.messages), config=_NO_STREAM)

    def _read(self, piece: BaseMessage) -> tuple[str, bool]:
        return str(getattr(piece, "text", "") or ""), _is_cut_off(piece)

    def _ask(self, prompt: Prompt[T], way: Way, options: dict[str, Any]) -> Completion[T]:
        options = {**self._always, **options}
        if way is Way.WORDS:
            return self._asked_in_words(prompt, options)
        return self._asked(prompt, way, options)

    def _asked(self, prompt: Prompt[T], way: Way, options: dict[str, Any]) -> Completion[T]:
        structured = self._structured(prompt.schema, way, options)
        try:
            with converting(self._name):
                answer = structured.invoke(_messages(prompt.messages))
        except ValidationError as error:
            # Raised by clients that validate the answer before LangChain's parser does (openai's parse).
            written = _inputs(error)
            if (parsed := written_answer(prompt.schema, written)) is not None:
                return Completion(parsed, text=written)
            raise MalformedOutput(self._name, written, _problem(error)) from error
        if not isinstance(answer, dict):
            raise MalformedOutput(self._name, str(answer), "with_structured_output ignored include_raw")
        return self._completion(prompt, answer)

    def _structured(
        self, schema: type[BaseModel], way: Way, options: dict[str, Any]
    ) -> Runnable[LanguageModelInput, dict[str, Any] | BaseModel]:
        """Bind the chat model to a schema.

        Raises:
            FeatureUnsupported: the chat model does not support this way of structured output.
        """
        try:
            if way is Way.SCHEMA:
                return self._chat_model.with_structured_output(schema, include_raw=True, **options)
            return self._chat_model.with_structured_output(
                schema, include_raw=True, method="function_calling", **options
            )
        except NotImplementedError as error:
            raise FeatureUnsupported(self._name, f"it does not support {way.value}") from error

    def _asked_in_words(self, prompt: Prompt[T], options: dict[str, Any]) -> Completion[T]:
        asked = self._in_words(prompt) if self._in_words else prompt
        with converting(self._name):
            raw = self._chat_model.bind(**options).invoke(_messages(asked.messages))
        try:
            parsed = prompt.schema.model_validate_json(_text_of(raw))
        except ValidationError as error:
            return self._completion(prompt, {"raw": raw, "parsed": None, "parsing_error": error})
        return self._completion(prompt, {"raw": raw, "parsed": parsed})

    def _completion(self, prompt: Prompt[T], answer: dict[str, object]) -> Completion[T]:
        raw, parsed, error = answer.get("raw"), answer.get("parsed"), answer.get("parsing_error")
        text, tokens = _text_of(raw), _usage(raw)
        self._check_complete(text, tokens, cut_off=_is_cut_off(raw))
        if parsed is not None:
            try:
                return Completion(prompt.schema.model_validate(parsed), *tokens, text, _cached(raw))
            except ValidationError as invalid:
                raise self._malformed(text, tokens, _problem(invalid)) from invalid
        # The text may contain the answer nevertheless, for example after reasoning.
        if (written := written_answer(prompt.schema, text)) is not None:
            return Completion(written, *tokens, text, _cached(raw))
        if isinstance(error, Exception):
            raise self._malformed(text, tokens, _problem(error)) from error
        raise self._malformed(text, tokens, "it gave no structured answer")


def langchain_embedder(embeddings: Embeddings) -> ClientEmbedder:
    """Wrap a LangChain `Embeddings` object; banks record its class and model ("OpenAIEmbeddings/text-embedding-3-small")."""
    return ClientEmbedder(described(embeddings), embeddings.embed_documents, embeddings.embed_query)


def _is_cut_off(raw: object) -> bool:
    """Check whether an answer, or a piece of one, reports that it reached a token limit."""
    metadata: Mapping[str, Any] = getattr(raw, "response_metadata", None) or {}
    return any(metadata.get(name) in CUT_OFF for name in ("finish_reason", "stop_reason", "done_reason"))


def _usage(raw: object) -> tuple[int, int]:
    """Return the prompt and completion tokens of an answer; 0 if unknown."""
    usage = getattr(raw, "usage_metadata", None) or {}
    return usage.get("input_tokens", 0), usage.get("output_tokens", 0)


def _cached(raw: object) -> int:
    """Return the prompt tokens that the model read from its cache; 0 if unknown."""
    usage = getattr(raw, "usage_metadata", None) or {}
    return (usage.get("input_token_details") or {}).get("cache_read") or 0


def _messages(messages: Sequence[PromptMessage]) -> list[BaseMessage]:
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

    kinds = {PromptRole.SYSTEM: SystemMessage, PromptRole.USER: HumanMessage, PromptRole.ASSISTANT: AIMessage}
    return [kinds[message.role](content=message.text) for message in messages]


def _text_of(raw: object) -> str:
    """Return the model's text, or else the arguments of its tool calls."""
    text = getattr(raw, "text", "")
    if text:
        return str(text)
    calls = [*(getattr(raw, "tool_calls", None) or ()), *(getattr(raw, "invalid_tool_calls", None) or ())]
    return "\n".join(_arguments(call["args"]) for call in calls)


def _arguments(arguments: object) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments, default=str)


def _inputs(error: ValidationError) -> str:
    """Return the input a validator rejected: the whole text if it was not JSON, else the invalid values."""
    errors = error.errors(include_url=False)
    return "\n".join(
        f"{answer_place(item['loc'])} = {_arguments(item['input'])}"
        if item["loc"]
        else _arguments(item["input"])
        for item in errors
    )


def _problem(error: Exception) -> str:
    """Format a validation error in one line for a repair prompt; for other errors, return the first line."""
    if isinstance(error.__cause__, ValidationError):
        error = error.__cause__
    if isinstance(error, ValidationError):
        return answer_problem(error)
    return str(error).splitlines()[0] if str(error) else type(error).__name__
