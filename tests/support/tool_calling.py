"""A scripted model that calls tools, for agents in tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

GOLDEN_TOOLS: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "golden" / "tools.json").read_text(encoding="utf-8")
)
"""The agent tools of each integration, by name, as tests/golden/test_tools.py records them."""


class Scripted(GenericFakeChatModel):
    """Scripted replies, one message per call, whatever tools are bound."""

    def bind_tools(self, tools: Any, **_: Any) -> Self:
        return self


def calling(name: str, /, **arguments: Any) -> AIMessage:
    """A message that calls one tool."""
    return AIMessage(
        "", tool_calls=[{"name": name, "args": arguments, "id": uuid4().hex, "type": "tool_call"}]
    )
