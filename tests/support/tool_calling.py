"""A scripted model that calls tools, for agents in tests."""

from __future__ import annotations

from typing import Any, Self
from uuid import uuid4

from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage


class Scripted(GenericFakeChatModel):
    """Says what it was given, one message a call, whatever tools it is bound to."""

    def bind_tools(self, tools: Any, **_: Any) -> Self:
        return self


def calling(name: str, /, **arguments: Any) -> AIMessage:
    """A message that calls one tool."""
    return AIMessage(
        "", tool_calls=[{"name": name, "args": arguments, "id": uuid4().hex, "type": "tool_call"}]
    )
