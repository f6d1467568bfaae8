"""Any LangChain chat model as a LanguageModel, through `with_structured_output`; `openai_model` for "openai:<name>"."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar, cast

import anyio.to_thread
from pydantic import BaseModel, ValidationError

from hindsight_integrations.backends.vendor_errors import converting, described
from hindsight_integrations.errors import (
    InvalidRequest,
    MalformedOutput,
    MissingDependency,
    ModelRefused,
    shown,
)
from hindsight_integrations.ports.language_model import (
    Completion,
    LanguageModel,
    Prompt,
    PromptMessage,
    Role,
    answer_place,
    answer_problem,
)

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import BaseMessage

T = TypeVar("T", bound=BaseModel)

PROVIDER = "openai"


class LangChainModel:
    """Wraps a LangChain chat model that supports `with_structured_output`.

    The model's *sync* `invoke` runs in a worker thread. Its async client cannot be used: langchain-openai shares one
    pool of connections between all models and event loops of a process, so that `ainvoke` in a second loop fails
    with "Event loop is closed" (measured 2026-11-21, langchain-openai 1.7.3: every second `asyncio.run`), whereas the
    sync client is bound to no loop and safe from many threads. Callbacks and tracing follow, since anyio carries
    context variables into the thread. A cancelled call returns at once; its request finishes unheard.

    Sampling stays as the caller set it on the chat model: several models reject any other temperature, so that of
    the prompt is not sent.

    Args:
        chat_model: the model.
        name: its name in errors; by default class and model ("ChatOpenAI/gpt-5-mini").
    """

    def __init__(self, chat_model: BaseChatModel, *, name: str | None = None) -> None:
        self._chat_model = chat_model
        self._name = name or described(chat_model)

    @property
    def name(self) -> str:
        """The model's name, for errors and doctor."""
        return self._name

    async def complete(self, prompt: Prompt[T]) -> Completion[T]:
        """Ask the model once.

        Raises:
            ModelUnavailable: it could not be reached, timed out, limited the rate or failed with a 5xx.
            ModelRefused: its service refuses the key.
            MalformedOutput: it answered outside the schema, or its answer was cut short; carries the raw text.
        """
        return await anyio.to_thread.run_sync(self._complete, prompt, abandon_on_cancel=True)

    def _complete(self, prompt: Prompt[T]) -> Completion[T]:
        structured = self._chat_model.with_structured_output(prompt.schema, include_raw=True)
        try:
            with converting(self._name):
                answer = structured.invoke(_messages(prompt.messages))
        except ValidationError as error:
            # Raised by vendors' clients that validate before LangChain's own parser sees the text (openai's parse).
            raise MalformedOutput(self._name, _inputs(error), _problem(error)) from error
        except json.JSONDecodeError as error:
            # The service itself sent no JSON: a proxy's error page, say.
            raise MalformedOutput(self._name, error.doc, _problem(error)) from error
        if not isinstance(answer, dict):
            raise MalformedOutput(self._name, str(answer), "with_structured_output ignored include_raw")
        return self._completion(prompt, answer)

    def _completion(self, prompt: Prompt[T], answer: dict[str, object]) -> Completion[T]:
        raw, parsed = answer.get("raw"), answer.get("parsed")
        error = answer.get("parsing_error")
        if isinstance(error, Exception):
            raise self._malformed(raw, _problem(error)) from error
        if parsed is None:
            raise self._malformed(raw, "it gave no structured answer")
        try:
            output = prompt.schema.model_validate(parsed)
        except ValidationError as invalid:
            raise self._malformed(raw, _problem(invalid)) from invalid
        return Completion(output, *_usage(raw), _text_of(raw))

    def _malformed(self, raw: object, problem: str) -> MalformedOutput:
        tokens_in, tokens_out = _usage(raw)
        return MalformedOutput(self._name, _text_of(raw), problem, tokens_in=tokens_in, tokens_out=tokens_out)


def _usage(raw: object) -> tuple[int, int]:
    """Prompt and completion tokens of an answer, 0 where it does not say."""
    usage = getattr(raw, "usage_metadata", None) or {}
    return usage.get("input_tokens", 0), usage.get("output_tokens", 0)


def _messages(messages: Sequence[PromptMessage]) -> list[BaseMessage]:
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

    kinds = {Role.SYSTEM: SystemMessage, Role.USER: HumanMessage, Role.ASSISTANT: AIMessage}
    return [kinds[message.role](content=message.text) for message in messages]


def _text_of(raw: object) -> str:
    """What the model answered: its text, else the arguments of its tool calls."""
    text = getattr(raw, "text", "")
    if text:
        return str(text)
    calls = [*(getattr(raw, "tool_calls", None) or ()), *(getattr(raw, "invalid_tool_calls", None) or ())]
    return "\n".join(_arguments(call["args"]) for call in calls)


def _arguments(arguments: object) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments, default=str)


def _inputs(error: ValidationError) -> str:
    """What a validator choked on, as its report keeps it: the whole text if it was no JSON, else the wrong values."""
    found = error.errors(include_url=False)
    return "\n".join(
        f"{answer_place(item['loc'])} = {_arguments(item['input'])}"
        if item["loc"]
        else _arguments(item["input"])
        for item in found
    )


def _problem(error: Exception) -> str:
    """A validation error in one line (where: what; ...), for a repair prompt; else the error's first line."""
    if isinstance(error.__cause__, ValidationError):
        error = error.__cause__
    if isinstance(error, ValidationError):
        return answer_problem(error)
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def language_model(model: BaseChatModel | LanguageModel | str) -> LanguageModel:
    """What callers may name as their model, as a LanguageModel.

    Raises:
        InvalidRequest: it is a name with another provider, or none.
        MissingDependency: it is "openai:<name>", and langchain-openai is not installed.
        ModelRefused: it is "openai:<name>", and there is no API key.
    """
    if hasattr(model, "complete"):
        return cast("LanguageModel", model)
    return openai_model(model) if isinstance(model, str) else LangChainModel(model)


def openai_model(name: str) -> LangChainModel:
    """The model "openai:<name>", with the key and the address langchain-openai itself finds.

    Raises:
        InvalidRequest: the name has another provider, or none.
        MissingDependency: langchain-openai is not installed.
        ModelRefused: there is no API key.
    """
    provider, _, model = name.partition(":")
    if provider != PROVIDER or not model:
        raise InvalidRequest(
            "model",
            f"{shown(name)} is not of the form 'openai:<name>'",
            "Write 'openai:gpt-5-mini', or pass a LangChain chat model of any other provider.",
        )
    try:
        from langchain_openai import ChatOpenAI
        from openai import OpenAIError
    except ImportError as error:
        raise MissingDependency("langchain-openai", "pip install 'hindsight-integrations[openai]'") from error
    try:
        return LangChainModel(ChatOpenAI(model=model), name=name)
    except OpenAIError as error:
        raise ModelRefused(name, str(error).splitlines()[0]) from error
