"""Source turns: the original messages of conversations, and the message tree of each thread."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class OnFork(StrEnum):
    """What happens to memories made from messages that a fork dropped, such as a regenerated answer or an edited question."""

    SUPERSEDE = "supersede"
    """They become invalid, and memories that they had ended become valid again; returning to the first branch reverses
    both.
    """
    KEEP = "keep"
    """They stay valid."""


@dataclass(frozen=True, slots=True)
class ThreadEntry:
    """One retained message of a thread.

    Attributes:
        message_id: the id of the message.
        content_hash: the hash of its latest wording.
        parent: the id of the preceding message when it was first seen; None for the first message.
        gone: True if a fork dropped it.
    """

    message_id: str
    content_hash: str
    parent: str | None = None
    gone: bool = False


@dataclass(frozen=True, slots=True)
class ThreadMark:
    """The position up to which a thread was read.

    Attributes:
        seen: the number of messages in the thread's list, with any role.
        digest: the hash of these messages.
        head: the id of the last message of the current branch; None if no message was retained.
    """

    seen: int = 0
    digest: str = ""
    head: str | None = None


@dataclass(frozen=True, slots=True)
class Thread:
    """The stored state of a conversation: a tree of messages with one current branch.

    Attributes:
        mark: the position up to which it was read.
        entries: its messages by id, in the order in which they were first seen.
    """

    mark: ThreadMark = ThreadMark()
    entries: Mapping[str, ThreadEntry] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ThreadWrite:
    """The changes of a thread's log. They do not raise the bank's revision.

    Attributes:
        thread: the id of the conversation.
        namespace: the name of one of its message lists.
        mark: the new position up to which it was read.
        entries: the new or changed messages, which replace those with the same id.
    """

    thread: str
    namespace: str
    mark: ThreadMark
    entries: tuple[ThreadEntry, ...] = ()


class Role(StrEnum):
    """The role of a speaker in a conversation."""

    USER = "user"
    """A person who talks to the agent or to another person."""
    ASSISTANT = "assistant"
    """The agent."""
    TOOL = "tool"
    """A tool that the agent called; its messages are not evidence for opinions and cannot end memories."""


@dataclass(frozen=True, slots=True)
class SourceTurn:
    """One retained message in its latest wording.

    Attributes:
        thread: the id of the conversation.
        message_id: the id of the message in the thread.
        text: the text.
        speaker: the name or id of the speaker.
        role: the speaker's role.
        said_at: the time of the message (aware UTC).
        tags: the visibility tags of its retain, sorted.
        memories: the row ids of the memories made from it, including invalid ones, ascending; empty while it waits for
            extraction.
        history: True if all memories made from it are invalid.
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
        """The turn as in a transcript, with speaker and text."""
        return f"{self.speaker}: {self.text}"


CHATS_FILE = "chats.sqlite"  # in the data directory
CHATS_TABLE = "chat_messages"  # table of LlamaIndex's SQLAlchemyChatStore; it has a column `key`


def chat_key(bank: str, session: str) -> str:
    """Return the key of a chat. It is unique whatever characters the two names contain."""
    return json.dumps([bank, session])


def chats_prefix(bank: str) -> str:
    """Return the common prefix of the keys of a bank's chats."""
    return f"[{json.dumps(bank)}, "
