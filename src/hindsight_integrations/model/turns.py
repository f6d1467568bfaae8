"""Source turns: what was said, as it was said; what memories of a conversation are made from and stand on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

CHATS_FILE = "chats.sqlite"  # in the data directory
CHATS_TABLE = "chat_messages"  # with a column `key`, of LlamaIndex's SQLAlchemyChatStore


def chat_key(bank: str, session: str) -> str:
    """The key of a chat: unambiguous, whatever characters the two names have."""
    return json.dumps([bank, session])


def chats_prefix(bank: str) -> str:
    """What the keys of all chats of a bank begin with, and no other bank's."""
    return f"[{json.dumps(bank)}, "


class OnFork(StrEnum):
    """What becomes of memories made from messages that a fork dropped: a regenerated answer, an edited question."""

    SUPERSEDE = "supersede"
    """They are closed, and what they had withdrawn holds again; they are restored when the fork is left for the first branch."""
    KEEP = "keep"
    """They stay."""


@dataclass(frozen=True, slots=True)
class ThreadEntry:
    """One retained message of a thread.

    Attributes:
        message_id: its id.
        content_hash: of its latest wording.
        parent: id of the message before it, when it was first seen; None for a first one.
        gone: a fork dropped it.
    """

    message_id: str
    content_hash: str
    parent: str | None = None
    gone: bool = False


@dataclass(frozen=True, slots=True)
class ThreadMark:
    """How far a thread was read.

    Attributes:
        seen: how many messages its list had, those of every role.
        digest: over them.
        head: id of the last message of the branch that is followed; None where nothing was retained.
    """

    seen: int = 0
    digest: str = ""
    head: str | None = None


@dataclass(frozen=True, slots=True)
class Thread:
    """A conversation as it was last followed: a tree of messages, of which one branch is the conversation.

    Attributes:
        mark: how far it was read.
        entries: its messages by id, in the order in which they were first seen.
    """

    mark: ThreadMark = ThreadMark()
    entries: Mapping[str, ThreadEntry] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ThreadWrite:
    """What following a thread changes of its log. By itself it does not raise the revision.

    Attributes:
        thread: the conversation.
        namespace: which of its lists of messages.
        mark: how far it is read now.
        entries: messages that are new, or changed: each in place of the one of its id.
    """

    thread: str
    namespace: str
    mark: ThreadMark
    entries: tuple[ThreadEntry, ...] = ()


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
