"""Source turns: the messages of conversations as they were said, and the tree of each thread."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class OnFork(StrEnum):
    """What happens to memories made from messages that a fork dropped (a regenerated answer, an edited question)."""

    SUPERSEDE = "supersede"
    """They are closed, and what they had withdrawn becomes valid again; returning to the first branch restores them."""
    KEEP = "keep"
    """They stay valid."""


@dataclass(frozen=True, slots=True)
class ThreadEntry:
    """One retained message of a thread.

    Attributes:
        message_id: its id.
        content_hash: of its latest wording.
        parent: id of the preceding message when it was first seen; None for a first one.
        gone: whether a fork dropped it.
    """

    message_id: str
    content_hash: str
    parent: str | None = None
    gone: bool = False


@dataclass(frozen=True, slots=True)
class ThreadMark:
    """How far a thread was read.

    Attributes:
        seen: number of messages in its list, of every role.
        digest: a hash of them.
        head: id of the last message of the current branch; None if nothing was retained.
    """

    seen: int = 0
    digest: str = ""
    head: str | None = None


@dataclass(frozen=True, slots=True)
class Thread:
    """A conversation as last followed: a tree of messages with one current branch.

    Attributes:
        mark: how far it was read.
        entries: its messages by id, in the order first seen.
    """

    mark: ThreadMark = ThreadMark()
    entries: Mapping[str, ThreadEntry] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ThreadWrite:
    """Changes of a thread's log. They do not raise the revision.

    Attributes:
        thread: the conversation.
        namespace: which of its message lists.
        mark: how far it is read now.
        entries: new or changed messages, which replace those with the same id.
    """

    thread: str
    namespace: str
    mark: ThreadMark
    entries: tuple[ThreadEntry, ...] = ()


class Role(StrEnum):
    """The role of a speaker in a conversation."""

    USER = "user"
    """Somebody who talks to the agent, or to somebody else."""
    ASSISTANT = "assistant"
    """The agent itself."""
    TOOL = "tool"
    """A tool that the agent called; its messages are not evidence of opinions and end no memories."""


@dataclass(frozen=True, slots=True)
class SourceTurn:
    """One retained message in its latest wording.

    Attributes:
        thread: the conversation.
        message_id: its id in the thread.
        text: its text.
        speaker: a name or id.
        role: the speaker's role.
        said_at: when it was said (aware UTC).
        tags: visibility tags it was retained with, sorted.
        memories: row ids of the memories made from it, including closed ones, ascending; empty while it waits
            for extraction.
        history: whether all memories made from it are closed.
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
        """The turn as in a transcript: speaker and text."""
        return f"{self.speaker}: {self.text}"


CHATS_FILE = "chats.sqlite"  # in the data directory
CHATS_TABLE = "chat_messages"  # of LlamaIndex's SQLAlchemyChatStore, with a column `key`


def chat_key(bank: str, session: str) -> str:
    """Return the key of a chat, unambiguous for any characters in the two names."""
    return json.dumps([bank, session])


def chats_prefix(bank: str) -> str:
    """Return the common prefix of the keys of a bank's chats."""
    return f"[{json.dumps(bank)}, "
