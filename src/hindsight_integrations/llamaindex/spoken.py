"""What of an agent's messages was said to the user: of a ReAct trace its answer alone. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from llama_index.core.base.llms.types import ChatMessage

_TRACE = re.compile(r"\s*Thought:.*\n\s*(Action|Answer):", re.DOTALL)
_ANSWER = re.compile(r"(?:^|\n)\s*Answer:\s*")


def spoken(messages: Iterable[ChatMessage]) -> list[ChatMessage]:
    """The messages, each ReAct trace (thoughts, actions, observations) cut to its last answer, or left out without one.

    ReActAgent puts the whole trace into memory as one message of the assistant.
    """
    said = []
    for message in messages:
        text = str(message.content or "")
        if message.role != "assistant" or not _TRACE.match(text):
            said.append(message)
        elif len(parts := _ANSWER.split(text)) > 1:
            said.append(
                ChatMessage(parts[-1], role=message.role, additional_kwargs=message.additional_kwargs)
            )
    return said
