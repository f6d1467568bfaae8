"""HindsightMemoryBlock: a memory bank as a block of LlamaIndex's Memory."""

from __future__ import annotations

import copy
import logging
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import BaseMemoryBlock
from llama_index.core.storage.chat_store.base_db import AsyncDBChatStore
from pydantic import ConfigDict, Field, PrivateAttr

from hindsight_integrations import AsyncMemoryBank, MemoryBank, OnError
from hindsight_integrations.choices import choice
from hindsight_integrations.concurrency.workers import InFlight
from hindsight_integrations.config import Extract
from hindsight_integrations.llamaindex.bank import (
    BankField,
    chat_recall_options,
    dispatcher,
    emit_warning,
    open_bank,
    recalled_lines,
    retained,
)
from hindsight_integrations.llamaindex.messages import (
    checked_chat_store,
    checked_tokenizer,
    ends_turn,
    spoken,
)
from hindsight_integrations.model.options import RecallOptions
from hindsight_integrations.prompts.recalled import memories_block, without_last
from hindsight_integrations.tolerance import tolerated
from hindsight_integrations.validation.limits import checked_count, checked_tags
from hindsight_integrations.validation.llamaindex_documents import as_dict
from hindsight_integrations.validation.messages import checked_roles, id_of, identified
from hindsight_integrations.validation.metadata import checked_metadata
from hindsight_integrations.validation.options import (
    PROMPT_DEFAULTS,
)

EARLIER_MESSAGES = 20  # number of retained messages passed as context of new ones, as in threads.follow


def settled(window: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Return the window's messages that belong to finished turns: turns with an answer, or followed by another user message.

    A question that LlamaIndex passes separately is at the end of the window and may never be added to the chat, so it
    belongs to the unfinished turn.
    """
    messages = _without_echo(window)
    answered = _answered(messages)
    asked = [place for place in range(answered, len(messages)) if messages[place].role == "user"]
    return messages[: asked[-1] if asked else answered]


def turn(window: Sequence[ChatMessage]) -> tuple[int, str]:
    """Return the number of the window's last turn, from 1, and its user message. Repeated reads return the same values."""
    asked = [message for message in _without_echo(window) if message.role == "user"]
    return len(asked), str(asked[-1].content or "").strip() if asked else ""


def _without_echo(window: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Remove the separately passed question at the window's end if the chat already contains it."""
    messages = _once(window)
    *before, last = [each for each in messages[_answered(messages) :] if each.role == "user"] or [None]
    echo = bool(before) and last is messages[-1] and _same(before[-1], last)
    return messages[:-1] if echo else messages


def _answered(messages: Sequence[ChatMessage]) -> int:
    """Return the number of messages up to and including the last answer."""
    return max((place + 1 for place, each in enumerate(messages) if ends_turn(each)), default=0)


def _once(window: Iterable[ChatMessage]) -> list[ChatMessage]:
    """Drop immediate repetitions, which occur when a put stored its message, its flush failed and the put was retried."""
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
    """A message in the bank's form.

    Attributes:
        item: the message as a dict with role, content and id.
        digest: hash of role and content.
    """

    item: dict[str, Any]
    digest: str


@dataclass(slots=True)
class ChatWindow:
    """The known messages of one chat, and those that are not retained yet.

    A message without an id is identified by its text and its occurrence number, as in threads.follow. Each window is
    aligned with the messages seen before at the largest overlap. No message is therefore retained twice, and a repeated
    message counts as a new one unless the messages around it are repeated too.

    Attributes:
        seen: a hash per known message, in order.
        flushed: number of the known messages that have left the window.
        waiting: messages not retained yet, by id, in order.
        earlier: the last retained messages.
        done: (id, hash) of all retained messages.
    """

    seen: list[str] = field(default_factory=list)
    flushed: int = 0
    waiting: dict[str, _Read] = field(default_factory=dict)
    earlier: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=EARLIER_MESSAGES))
    done: set[tuple[str, str]] = field(default_factory=set)

    def take_window(self, messages: Sequence[ChatMessage]) -> None:
        """Add the finished turns of a window, which may lie anywhere in the chat."""
        self._take(_read(settled(messages)))

    def take_flushed(self, messages: Sequence[ChatMessage]) -> None:
        """Add messages that have just left the window, in the order in which they left."""
        if given := _read(_once(messages)):
            self.flushed = self._take(given) + len(given)

    def take_chat(self, messages: Sequence[ChatMessage]) -> None:
        """Add the finished turns of the complete chat, which needs no alignment."""
        self.seen, self.flushed = [], 0
        self._take(_read(settled(messages)))

    def given(self) -> list[dict[str, Any]]:
        """Return the waiting messages, preceded by earlier ones as context; empty if no messages are waiting."""
        return [*self.earlier, *(each.item for each in self.waiting.values())] if self.waiting else []

    def retained(self) -> None:
        """Mark the waiting messages as retained."""
        self.done.update((identity, each.digest) for identity, each in self.waiting.items())
        self.earlier.extend(each.item for each in self.waiting.values())
        self.waiting.clear()

    def _take(self, given: Sequence[_Read]) -> int:
        """Align messages with the known ones, queue the new ones, and return the position of the first message."""
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
        """Return the first position at which the messages match the known ones; None for a different chat."""
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
        if (derived := named["id"]) is not None:  # system messages have no id
            read.append(_Read(item, derived.rpartition(":")[0]))
    return read


NAMESPACE = "llamaindex/block"  # separates the block's messages from those of HindsightMemory

_log = logging.getLogger("hindsight_integrations.llamaindex")


class HindsightMemoryBlock(BaseMemoryBlock[str]):  # type: ignore[misc] # see bank.py
    """A bank in LlamaIndex's Memory: `Memory.from_defaults(session_id="s1", memory_blocks=[HindsightMemoryBlock(bank)])`.

    Messages are retained when they leave the short-term memory, or earlier, because each `get` retains all finished
    turns that were not retained yet. So an agent retains each turn once, after its answer; with a chat engine, the last
    turn of a chat is retained by the next `get`. `get` returns the memories relevant to the user's last message,
    recalled once per turn, as data between markers.

    ReActAgent drops a leading system message, where Memory writes its blocks by default: for it, create the Memory with
    `insert_method="user"`.

    A failing bank loses nothing: messages that were not retained wait for the next call. They do not survive the process
    unless `chat_store` is given; the block then reads the whole chat from it, archived messages included.

    Args:
        bank: a sync or async bank, or its reference (`bank.reference`).
        name: the block's name, unique within the Memory.
        description: the block's description.
        priority: 0 is never truncated; otherwise LlamaIndex truncates the smallest number first. Within the block, the
            lowest-ranked memory is removed first.
        accept_short_term_memory: False does not pass messages that leave the short-term memory to the block.
        max_tokens: token limit of the memories, in the bank's tokens; 0 disables recall.
        roles: the roles to retain: user, assistant, tool.
        context: describes the chat to the extraction model ("support chat").
        tags: visibility tags of the retained memories.
        metadata: metadata of the retained memories.
        recall_options: options of `bank.recall` other than query and max_tokens: budget (default "low"), types, tags, k, ...;
            JSON-serialisable, if the block is to be serialised.
        on_error: as in HindsightMemory: "queue", "skip" or "raise".
        background: with a model, do not wait for extraction; see the bank's `retain`.
        extract: when facts are extracted: "turn", at once; "idle", together with other turns of the chat, when they fill a
            passage or the chat has been quiet for 5 minutes; "session", when the bank's `tasks.settle` ends the session, at
            the latest after an hour of quiet. Until then recall finds the messages themselves. A worker
            extracts them; without a worker, a later turn of the bank does.
        chat_store: the Memory's chat store. With it, equal messages are distinguished after a restart too, and messages
            left by a killed process are retained.
        tokenizer_fn: the Memory's tokenizer, a function from a text to its tokens; None means LlamaIndex's global one.

    Raises:
        InvalidRequest: an argument is invalid.
        BankNotOpen: no engine in this process has the reference's directory open.
        BankNotFound: the bank no longer exists.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    bank: BankField
    max_tokens: int = PROMPT_DEFAULTS["max_tokens"]
    roles: tuple[str, ...] = ("user", "assistant")
    context: str = ""
    tags: tuple[str, ...] = ()
    metadata: dict[str, Any] = Field(default_factory=dict)
    recall_options: dict[str, Any] = Field(default_factory=dict)
    on_error: str = OnError.QUEUE.value
    background: bool = False
    extract: str = Extract.TURN.value
    chat_store: Any = Field(default=None, exclude=True)
    tokenizer_fn: Any = Field(default=None, exclude=True)

    _alone: InFlight = PrivateAttr(default_factory=InFlight)
    _windows: dict[str, ChatWindow] = PrivateAttr(default_factory=lambda: defaultdict(ChatWindow))
    _recalled: dict[str, tuple[tuple[int, str], str]] = PrivateAttr(default_factory=dict)

    def __init__(
        self,
        bank: MemoryBank | AsyncMemoryBank | Mapping[str, str] | Any,  # noqa: ANN401 - checked by open_bank
        *,
        name: str = "hindsight",
        description: str | None = "Memories of earlier chats.",
        priority: int = 1,
        accept_short_term_memory: bool = True,
        max_tokens: int = PROMPT_DEFAULTS["max_tokens"],
        roles: Iterable[str] = ("user", "assistant"),
        context: str = "",
        tags: Iterable[str] = (),
        metadata: Mapping[str, Any] | None = None,
        recall_options: RecallOptions | None = None,
        on_error: OnError | str = OnError.QUEUE,
        background: bool = False,
        extract: Extract | str = Extract.TURN,
        chat_store: AsyncDBChatStore | None = None,
        tokenizer_fn: Callable[[str], Sequence[Any]] | None = None,
    ) -> None:
        super().__init__(
            bank=open_bank(bank),
            name=name,
            description=description,
            priority=priority,
            accept_short_term_memory=accept_short_term_memory,
            max_tokens=checked_count(max_tokens, "max_tokens", least=0),
            roles=tuple(sorted(checked_roles(roles))),
            context=context,
            tags=checked_tags(tags),
            metadata=checked_metadata({} if metadata is None else metadata),
            recall_options=chat_recall_options(recall_options),
            on_error=choice(OnError, on_error, "on_error").value,
            background=background,
            extract=choice(Extract, extract, "extract").value,
            chat_store=checked_chat_store(chat_store, (AsyncDBChatStore,)),
            tokenizer_fn=checked_tokenizer(tokenizer_fn),
        )

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which LlamaIndex serialises the block."""
        return "HindsightMemoryBlock"

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Remove whole memories, lowest-ranked first, until enough tokens are saved.

        Args:
            content: the result of `aget`.
            tokens_to_truncate: number of tokens to save, counted by `tokenizer_fn`.

        Returns:
            The remaining block; None if no memory is left.
        """
        kept: str | None = content or None
        while kept and len(self.tokenizer_fn(content)) - len(self.tokenizer_fn(kept)) < tokens_to_truncate:
            kept = without_last(kept)
        return kept

    async def _aput(self, messages: list[ChatMessage]) -> None:
        if not messages:
            return
        # Before awaiting, because other blocks remove it from these messages.
        session = str(messages[-1].additional_kwargs.get("session_id") or "")
        async with self._alone.alone({session}):
            if self.chat_store is None:
                self._windows[session].take_flushed(messages)
            await self._retain(session)

    async def _aget(
        self,
        messages: list[ChatMessage] | None = None,
        session_id: str | None = None,
        **_kwargs: Any,  # noqa: ANN401 - options of other blocks
    ) -> str:
        window = messages or []
        session = str(session_id or "")
        async with self._alone.alone({session}):
            memories = await self._memories(window, session)
            if self.chat_store is None:
                self._windows[session].take_window(window)
            await self._retain(session)
        return memories

    async def _retain(self, session: str) -> None:
        """Retain the chat's waiting messages together; after a failure they stay waiting."""
        on_error = OnError(self.on_error)
        bank: AsyncMemoryBank = self.bank
        window = self._windows[session]
        if self.chat_store is not None:
            window.take_chat(await self.chat_store.get_messages(session, status=None))
        if not (given := window.given()):
            return
        with self._tolerated("the turn is not retained", "The next call of the block retains it too."):
            result = await bank.threads.follow(
                given,
                thread=session,
                namespace=NAMESPACE,
                on_fork="keep",  # messages that leave the window are not discarded
                roles=self.roles,
                context=self.context,
                tags=self.tags,
                metadata=self.metadata,
                on_model_failure="queue" if on_error is OnError.QUEUE else None,
                background=self.background,
                extract=self.extract,
            )
            window.retained()
            dispatcher.event(retained(bank.name, result))

    async def _memories(self, window: Sequence[ChatMessage], session: str) -> str:
        """Return the turn's memories; they are recalled once per turn and cached."""
        if not (this := turn(window))[1] or not self.max_tokens:
            return ""
        if self._recalled.get(session, (None, ""))[0] != this:
            asker = next((message for message in reversed(window) if message.role == "user"), None)
            with self._tolerated("the answer is given without memories"):
                lines = await recalled_lines(
                    self.bank, this[1], self.max_tokens, self.recall_options, asker=asker
                )
                self._recalled[session] = (this, memories_block(lines) if lines else "")
        known, memories = self._recalled.get(session, (None, ""))
        return memories if known == this else ""

    def _tolerated(self, missing: str, remedy: str = "") -> AbstractContextManager[None]:
        return tolerated(
            OnError(self.on_error),
            emit_warning,
            where=f"HindsightMemoryBlock {self.name!r}",
            bank=self.bank.name,
            missing=missing,
            remedy=remedy,
            log=_log,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return (_loaded, (type(self), self.model_dump()))

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        return copy.copy(self)  # copies share the bank


def _loaded(kind: type[HindsightMemoryBlock], fields: dict[str, Any]) -> HindsightMemoryBlock:
    return kind(**fields)
