"""What a memory block sees of a chat: windows that slide, and what is flushed from them; which message is which (decision 150). Pure."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from llama_index.core.base.llms.types import ChatMessage

from hindsight_integrations.llamaindex.history import ends_turn
from hindsight_integrations.llamaindex.spoken import spoken
from hindsight_integrations.validation.llamaindex_messages import as_dict
from hindsight_integrations.validation.messages import id_of, identified

EARLIER_MESSAGES = (
    20  # retained already, given along as context of new ones, as when a thread is followed (decision 137)
)


def settled(window: Sequence[ChatMessage]) -> list[ChatMessage]:
    """The messages of a window whose turns are over: answered, or left behind by another message of the user.

    The last turn is open until it is answered. A question that was given beside the chat stands at the window's end, and
    may never come into the chat: it is part of the open turn.
    """
    messages = _without_echo(window)
    answered = _answered(messages)
    asked = [place for place in range(answered, len(messages)) if messages[place].role == "user"]
    return messages[: asked[-1] if asked else answered]


def turn(window: Sequence[ChatMessage]) -> tuple[int, str]:
    """Which turn of a window is its last, from 1, and what the user said in it; the same however often it is read."""
    asked = [message for message in _without_echo(window) if message.role == "user"]
    return len(asked), str(asked[-1].content or "").strip() if asked else ""


def _without_echo(window: Sequence[ChatMessage]) -> list[ChatMessage]:
    """A window without the question at its end that was given beside the chat, where it is in the chat already."""
    messages = _once(window)
    *before, last = [each for each in messages[_answered(messages) :] if each.role == "user"] or [None]
    echo = bool(before) and last is messages[-1] and _same(before[-1], last)
    return messages[:-1] if echo else messages


def _answered(messages: Sequence[ChatMessage]) -> int:
    """How many messages there are up to the last answer."""
    return max((place + 1 for place, each in enumerate(messages) if ends_turn(each)), default=0)


def _once(window: Iterable[ChatMessage]) -> list[ChatMessage]:
    """A message given twice in a row is one: a put whose flush failed has kept it, and is tried again."""
    once: list[ChatMessage] = []
    for message in window:
        if not (once and _same(once[-1], message)):
            once.append(message)
    return once


def _same(one: ChatMessage, other: ChatMessage) -> bool:
    said = one.content
    spoken_twice = bool(said) and said == other.content and one.role == other.role
    return spoken_twice and (one.role == "user" or (ends_turn(one) and ends_turn(other)))


class _Read(NamedTuple):
    """A message as the bank takes it.

    Attributes:
        item: what was said, by whom, and its id.
        digest: a hash of both; what says the same has the same.
    """

    item: dict[str, Any]
    digest: str


@dataclass(slots=True)
class ChatWindow:
    """What was seen of one chat, and what of it is not retained yet.

    A message without an id is known by its text and how often that was said before, as where threads are followed. How
    often is counted over all that was seen, and a window is laid over that where it overlaps most: so no message ever
    counts twice, and one that repeats an earlier one is told from it unless what stands around it repeats itself too.

    Attributes:
        seen: a hash of each message seen, in order.
        flushed: how many of them have left the window.
        waiting: messages that are not retained yet, by their ids, in order.
        earlier: the last that were retained.
        done: ids and hashes of all that were.
    """

    seen: list[str] = field(default_factory=list)
    flushed: int = 0
    waiting: dict[str, _Read] = field(default_factory=dict)
    earlier: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=EARLIER_MESSAGES))
    done: set[tuple[str, str]] = field(default_factory=set)

    def take_window(self, messages: Sequence[ChatMessage]) -> None:
        """Take in what is settled of messages that stand next to each other in the chat, anywhere in it."""
        self._take(_read(settled(messages)))

    def take_flushed(self, messages: Sequence[ChatMessage]) -> None:
        """Take in messages that have just left the window: they go on where those flushed before them ended."""
        if given := _read(_once(messages)):
            self.flushed = self._take(given) + len(given)

    def take_chat(self, messages: Sequence[ChatMessage]) -> None:
        """Take in what is settled of the chat from its first message on, which leaves nothing to be guessed."""
        self.seen, self.flushed = [], 0
        self._take(_read(settled(messages)))

    def given(self) -> list[dict[str, Any]]:
        """What waits, after what came before it; empty where nothing waits."""
        return [*self.earlier, *(each.item for each in self.waiting.values())] if self.waiting else []

    def retained(self) -> None:
        """What waited is retained."""
        self.done.update((identity, each.digest) for identity, each in self.waiting.items())
        self.earlier.extend(each.item for each in self.waiting.values())
        self.waiting.clear()

    def _take(self, given: Sequence[_Read]) -> int:
        """Lay messages over what was seen, and have the new ones wait; where in it they begin."""
        start = self._place([each.digest for each in given])
        if start is None:
            start, self.seen, self.flushed = 0, [], 0
        said = Counter(self.seen)
        for each in given[len(self.seen) - start :]:
            self.seen.append(each.digest)
            said[each.digest] += 1
            identity = id_of(each.item) or f"{each.digest}:{said[each.digest]}"
            if (identity, each.digest) not in self.done:
                self.waiting[identity] = _Read({**each.item, "id": identity}, each.digest)
        return start

    def _place(self, digests: Sequence[str]) -> int | None:
        """Where messages lie in what was seen, as early as can be; None where they are another chat, as after a `set`."""
        for start in range(len(self.seen)):
            if all(seen == each for seen, each in zip(self.seen[start:], digests, strict=False)):
                return start
        goes_on = self.flushed >= len(self.seen) and self.seen[:1] != list(digests[:1])
        return len(self.seen) if goes_on else None


def _read(messages: Iterable[ChatMessage]) -> list[_Read]:
    read = []
    for message in spoken(messages):
        item = as_dict(message)
        (named,) = identified([{**item, "id": None, "tool_call_id": None}])
        if (derived := named["id"]) is not None:  # messages of the system have none
            read.append(_Read(item, derived.rpartition(":")[0]))
    return read
