"""Source turns: what was said, as it was said; what memories of a conversation are made from and stand on."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Role(StrEnum):
    """Whose side of a conversation a turn is from."""

    USER = "user"
    """Somebody who talks to the agent, or to somebody else."""
    ASSISTANT = "assistant"
    """The agent itself."""
    TOOL = "tool"
    """A tool that the agent called: nobody's word, so that it is not evidence of an opinion and ends no memory."""


@dataclass(frozen=True, slots=True)
class SourceTurn:
    """One retained message in its latest wording.

    Attributes:
        thread: the conversation.
        message_id: its id there.
        text: what it says.
        speaker: who said it: a name or id.
        role: whose side that is.
        said_at: when (aware UTC).
        tags: visibility tags it was retained with, sorted.
        memories: row ids of the memories made from it, closed ones included, ascending; none while it waits for extraction.
        history: all memories made from it are closed.
    """

    thread: str
    message_id: str
    text: str
    speaker: str
    role: Role
    said_at: datetime
    tags: tuple[str, ...] = ()
    memories: tuple[int, ...] = ()
    history: bool = False

    @property
    def spoken(self) -> str:
        """The turn as a transcript shows it: speaker and text."""
        return f"{self.speaker}: {self.text}"
