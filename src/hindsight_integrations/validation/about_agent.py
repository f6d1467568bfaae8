"""What a retain says about the agent itself: system messages and documents that the program marks, and nothing else. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hindsight_integrations.errors import InvalidRequest, shown
from hindsight_integrations.model.requests import Message
from hindsight_integrations.model.writes import MessageKey
from hindsight_integrations.validation.limits import MAX_BACKGROUND, checked_flag

SYSTEM = frozenset({"system", "developer"})


@dataclass(frozen=True, slots=True)
class Snippet:
    """What is said about the agent, to be merged into its background.

    Attributes:
        text: as it was said.
        said_at: when (aware UTC).
        key: of the message or document that says it.
        document_id: of the document; None for a message.
    """

    text: str
    said_at: datetime
    key: MessageKey
    document_id: str | None = None


def checked_snippet(text: str, field: str) -> str:
    """The text, if it is short enough for a background.

    Raises:
        InvalidRequest: it is not.
    """
    if len(text) <= MAX_BACKGROUND:
        return text
    raise InvalidRequest(
        field,
        f"about_agent=True, and it has {len(text)} characters of {MAX_BACKGROUND} that are allowed",
        "Mark only what says who the agent is, as a document of its own; instructions need no mark.",
    )


def speaks_of_agent(item: Any, position: int, *, marked: bool) -> bool:  # noqa: ANN401 - any caller's message type
    """Whether a message is a system message that is marked, itself or with the whole conversation.

    Args:
        item: a Message, a dict with role and content, or a LangChain message.
        position: in the conversation, for the error.
        marked: whether the conversation is.

    Raises:
        InvalidRequest: the mark is on a message from somebody who does not speak for the program.
    """
    if isinstance(item, Message):
        own = checked_flag(item.about_agent, "about_agent")
        speaker = item.speaker if item.role is None else item.role
    elif isinstance(item, Mapping):
        own = checked_flag(item.get("about_agent", False), "about_agent")
        speaker = item.get("role") or item.get("type") or "user"
    else:
        own, speaker = False, getattr(item, "type", "")
    system = isinstance(speaker, str) and speaker.lower() in SYSTEM
    if own and not system:
        raise InvalidRequest(
            "about_agent",
            f"message {position} is from {shown(speaker)}, who does not say who the agent is",
            "Mark system messages and documents only.",
        )
    return system and (own or marked)
