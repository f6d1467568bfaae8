"""ScriptedLLM: a LlamaIndex LLM that replays scripted replies and records its prompts."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    ChatResponseAsyncGen,
    ChatResponseGen,
    CompletionResponse,
    CompletionResponseAsyncGen,
    CompletionResponseGen,
    LLMMetadata,
    TextBlock,
    ToolCallBlock,
)
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import ToolSelection
from pydantic import Field, PrivateAttr
from typing_extensions import override

from hindsight_integrations.testing.scripted_model import PIECE, reply_of

if TYPE_CHECKING:
    from llama_index.core.tools import BaseTool

Piece = TypeVar("Piece")
Reply: TypeAlias = "str | ChatMessage | Exception"
Script: TypeAlias = "Sequence[Reply] | Callable[[list[ChatMessage]], Reply]"


class ScriptedLLM(FunctionCallingLLM):  # type: ignore[misc] # mypy is told to skip LlamaIndex
    """LLM that replays a script to query engines, chat engines and agents: sync, async or streamed, with or without tools.

    A reply is a string, a ChatMessage (returned unchanged; `calling` creates one with a tool call) or an exception
    (raised). A stream yields the text so far in steps of a few characters, then the whole message.

    Attributes:
        script: the replies in order; or a function from the messages to a reply, for concurrent callers.
        prompts: copies of the messages of each call, in order of arrival; a completion is one user message.
        calls_tools: whether it reports that it supports tool calls.
    """

    script: Any = Field(
        description="a sequence of replies, or a function from messages to a reply", exclude=True
    )
    prompts: list[list[ChatMessage]] = Field(default_factory=list, exclude=True)
    calls_tools: bool = True
    _lock: Any = PrivateAttr(default_factory=threading.Lock)

    def __init__(self, script: Script = (), **fields: Any) -> None:  # noqa: ANN401 - LLM's own fields
        super().__init__(script=script if callable(script) else list(script), **fields)

    @classmethod
    @override
    def class_name(cls) -> str:
        return "ScriptedLLM"

    @property
    @override
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(
            is_chat_model=True, is_function_calling_model=self.calls_tools, model_name="scripted"
        )

    @property
    def calls(self) -> int:
        """Number of calls so far."""
        return len(self.prompts)

    @property
    def last_prompt(self) -> str:
        """The text of all messages of the last call."""
        return "\n".join(str(message.content or "") for message in self.prompts[-1])

    @override
    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        """Return the next reply of the script."""
        message = self._next(messages)
        return ChatResponse(message=message, delta=message.content)

    @override
    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        """Return the next reply of the script."""
        return self.chat(messages)

    @override
    def stream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponseGen:
        """Return the next reply of the script, in pieces."""
        return _pieces(self._next(messages))

    @override
    async def astream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponseAsyncGen:
        """Return the next reply of the script, in pieces."""
        return _later(self.stream_chat(messages))

    @override
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        """Return the next reply of the script, as text."""
        return CompletionResponse(text=str(self._next([_asked(prompt)]).content or ""))

    @override
    async def acomplete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        """Return the next reply of the script, as text."""
        return self.complete(prompt)

    @override
    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponseGen:
        """Return the next reply of the script, as text in pieces."""
        return (
            CompletionResponse(text=str(piece.message.content or ""), delta=piece.delta)
            for piece in _pieces(self._next([_asked(prompt)]))
        )

    @override
    async def astream_complete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> CompletionResponseAsyncGen:
        """Return the next reply of the script, as text in pieces."""
        return _later(self.stream_complete(prompt))

    @override
    def get_tool_calls_from_response(
        self, response: ChatResponse, error_on_no_tool_call: bool = True, **kwargs: Any
    ) -> list[ToolSelection]:
        calls = [
            ToolSelection(
                tool_id=str(block.tool_call_id), tool_name=block.tool_name, tool_kwargs=block.tool_kwargs
            )
            for block in response.message.blocks
            if isinstance(block, ToolCallBlock)
        ]
        if error_on_no_tool_call and not calls:
            raise ValueError("the reply has no tool call")
        return calls

    @override
    def _prepare_chat_with_tools(
        self,
        tools: Sequence[BaseTool],
        user_msg: str | ChatMessage | None = None,
        chat_history: list[ChatMessage] | None = None,
        verbose: bool = False,
        allow_parallel_tool_calls: bool = False,
        tool_required: bool = False,
        **kwargs: Any,
    ) -> dict[str, Any]:
        asked = [] if user_msg is None else [_asked(user_msg)]
        return {"messages": [*(chat_history or []), *asked], "tools": tools}

    def _next(self, messages: Sequence[ChatMessage]) -> ChatMessage:
        with self._lock:
            position = len(self.prompts)
            self.prompts.append([message.model_copy(deep=True) for message in messages])
        reply: Reply = reply_of(self.script, position, list(messages))
        if isinstance(reply, ChatMessage):
            return reply.model_copy(deep=True)
        return ChatMessage(role="assistant", content=reply)


def calling(tool: str, text: str = "", **arguments: Any) -> ChatMessage:  # noqa: ANN401 - whatever the tool takes
    """Create a reply with one tool call.

    Args:
        tool: the tool's name.
        text: the message's text.
        arguments: the tool's arguments.
    """
    said = [TextBlock(text=text)] if text else []
    call = ToolCallBlock(tool_call_id=f"call-{tool}", tool_name=tool, tool_kwargs=arguments)
    return ChatMessage(role="assistant", blocks=[*said, call])


def _asked(text: str | ChatMessage) -> ChatMessage:
    return ChatMessage(role="user", content=text) if isinstance(text, str) else text


async def _later(pieces: Iterator[Piece]) -> AsyncIterator[Piece]:
    for piece in pieces:
        yield piece


def _pieces(message: ChatMessage) -> Iterator[ChatResponse]:
    """Yield the text so far, step by step; the last response is the whole message with tool calls."""
    text = str(message.content or "")
    starts = range(0, len(text), PIECE)
    for start in starts[:-1]:
        so_far = ChatMessage(role="assistant", content=text[: start + PIECE])
        yield ChatResponse(message=so_far, delta=text[start : start + PIECE])
    yield ChatResponse(message=message, delta=text[starts[-1] :] if starts else "")
