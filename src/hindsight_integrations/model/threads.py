"""Threads: which messages a conversation consists of now, and which a fork dropped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


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
