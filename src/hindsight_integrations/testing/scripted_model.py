"""ScriptedModel: a LangChain chat model that replays scripted replies and records its prompts."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.tools import BaseTool
from pydantic import BaseModel, Field, PrivateAttr, ValidationError
from typing_extensions import override

Reply: TypeAlias = "dict[str, Any] | BaseModel | str | AIMessage | Exception"
Script: TypeAlias = "Sequence[Reply] | Callable[[list[BaseMessage]], Reply]"


PIECE = 7  # characters per streamed chunk; small, so that words and tags are split


class ScriptExhausted(AssertionError):
    """The model was called more often than the script has replies."""


class ScriptedModel(BaseChatModel):
    """Chat model that replays a script, sync and async, with or without structured output.

    A reply is a dict or a pydantic object (the structured answer), a string (raw text: JSON of the schema, or something
    malformed), an AIMessage (returned unchanged, including tool calls) or an exception (raised).

    Attributes:
        script: the replies in order; or a function from the messages to a reply, for concurrent callers.
        prompts: the messages of each call, in order of arrival.
        model: the model's name.
    """

    script: Any = Field(description="a sequence of replies, or a function from messages to a reply")
    model: str = "scripted"
    prompts: list[list[BaseMessage]] = Field(default_factory=list)
    _lock: Any = PrivateAttr(default_factory=threading.Lock)

    def __init__(self, script: Script = (), **fields: Any) -> None:  # noqa: ANN401 - BaseChatModel's own fields
        super().__init__(script=script if callable(script) else list(script), **fields)  # type: ignore[call-arg] # pydantic builds the signature from fields

    @property
    def _llm_type(self) -> str:
        return "scripted"

    @property
    def calls(self) -> int:
        """Number of calls so far."""
        return len(self.prompts)

    @override
    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        """Reply to one call; LangChain's async methods fall back to it."""
        message = as_message(self._next(messages), messages)
        return ChatResult(generations=[ChatGeneration(message=message)])

    @override
    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        """Stream the text in chunks of a few characters; the last chunk has the usage and any tool calls."""
        message = as_message(self._next(messages), messages)
        text = str(message.text)
        for at in range(0, len(text), PIECE):
            piece = AIMessageChunk(content=text[at : at + PIECE])
            if run_manager is not None:
                run_manager.on_llm_new_token(text[at : at + PIECE])
            yield ChatGenerationChunk(message=piece)
        calls = [
            tool_call_chunk(name=each["name"], args=json.dumps(each["args"]), id=each["id"], index=place)
            for place, each in enumerate(message.tool_calls)
        ]
        end = AIMessageChunk(
            content="",
            tool_call_chunks=calls,
            usage_metadata=message.usage_metadata,
            response_metadata=message.response_metadata,
        )
        yield ChatGenerationChunk(message=end)

    @override
    def with_structured_output(
        self, schema: dict[str, Any] | type, *, include_raw: bool = False, **kwargs: Any
    ) -> Runnable[LanguageModelInput, dict[str, Any] | BaseModel]:
        """Return a runnable that answers in `schema`; with include_raw a dict of raw, parsed and parsing_error."""

        def parse(message: BaseMessage) -> dict[str, Any] | BaseModel:
            answer = parsed_as(schema, message)
            if include_raw:
                return answer
            if answer["parsing_error"] is not None:
                raise answer["parsing_error"]
            structured: BaseModel | dict[str, Any] = answer["parsed"]
            return structured

        return self | RunnableLambda(parse)

    @override
    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Return the model itself; a tool is called if the script's reply is an AIMessage with a tool call."""
        return self

    def _next(self, messages: list[BaseMessage]) -> Reply:
        with self._lock:
            position = len(self.prompts)
            self.prompts.append(list(messages))
        reply: Reply = reply_of(self.script, position, messages)
        return reply


def reply_of(script: Any, position: int, messages: list[Any]) -> Any:  # noqa: ANN401 - a reply of either framework
    """Return the reply of a script to a call, or raise it if it is an exception.

    Args:
        script: the replies in order; or a function from the messages to a reply.
        position: the number of earlier calls.
        messages: the messages of the call.
    """
    if callable(script):
        reply = script(messages)
    elif position < len(script):
        reply = script[position]
    else:
        raise ScriptExhausted(f"called {position + 1} times, but the script has {len(script)} replies")
    if isinstance(reply, Exception):
        raise reply
    return reply


def as_message(reply: Reply, messages: Sequence[BaseMessage]) -> AIMessage:
    """Convert a reply to a chat message; its usage counts words, so that tests can predict it."""
    if isinstance(reply, AIMessage):
        return reply
    if isinstance(reply, BaseModel):
        text = reply.model_dump_json()
    else:
        text = reply if isinstance(reply, str) else json.dumps(reply, default=str)
    read, written = sum(len(str(message.text).split()) for message in messages), len(text.split())
    usage = {"input_tokens": read, "output_tokens": written, "total_tokens": read + written}
    return AIMessage(content=text, usage_metadata=usage)


def parsed_as(schema: dict[str, Any] | type, message: BaseMessage) -> dict[str, Any]:
    """Return the result of `with_structured_output(include_raw=True)`: raw, parsed, parsing_error."""
    answer: dict[str, Any] = {"raw": message, "parsed": None, "parsing_error": None}
    try:
        value = json.loads(str(message.text))
        if isinstance(schema, type) and issubclass(schema, BaseModel):
            value = schema.model_validate(value)
        answer["parsed"] = value
    except (json.JSONDecodeError, ValidationError) as error:
        answer["parsing_error"] = error
    return answer
