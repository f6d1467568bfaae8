"""HindsightMemoryBlock: a bank as a block of LlamaIndex's Memory; what is flushed and what is read is retained, once."""

from __future__ import annotations

import copy
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Self

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import BaseMemoryBlock
from llama_index.core.storage.chat_store.base_db import AsyncDBChatStore
from pydantic import ConfigDict, Field, PrivateAttr

from hindsight_integrations import AsyncMemoryBank, MemoryBank, OnError
from hindsight_integrations.choices import choice
from hindsight_integrations.concurrency.in_flight import InFlight
from hindsight_integrations.llamaindex.arguments import checked_chat_store, checked_tokenizer
from hindsight_integrations.llamaindex.bank_field import BankField, open_bank
from hindsight_integrations.llamaindex.chat_window import ChatWindow, turn
from hindsight_integrations.llamaindex.events import dispatcher
from hindsight_integrations.llamaindex.remembering import recalled_lines, retained, told
from hindsight_integrations.prompts.recalled import memories_block, without_last
from hindsight_integrations.tolerance import tolerated
from hindsight_integrations.validation.limits import checked_tags
from hindsight_integrations.validation.metadata import checked_metadata
from hindsight_integrations.validation.tool_messages import checked_roles
from hindsight_integrations.verb_options import (
    UNASKED,
    checked_recall_options,
    checked_tokens,
    with_defaults,
)

NAMESPACE = "llamaindex/block"  # of what it sees of a chat: HindsightMemory keeps another list

_log = logging.getLogger("hindsight_integrations.llamaindex")


class HindsightMemoryBlock(BaseMemoryBlock[str]):  # type: ignore[misc] # see events.py
    """A bank in LlamaIndex's Memory: `Memory.from_defaults(session_id="s1", memory_blocks=[HindsightMemoryBlock(bank)])`.

    Messages that leave the short-term memory are retained then; those that never do when they are read: each `get`
    retains, in one piece, the turns that are over and were not retained yet. So an agent retains each turn once, after
    its answer; with a chat engine the last turn of a chat is retained by the next `get`. `get` gives the memories of the
    user's last message, recalled once a turn, as data between markers.

    ReActAgent drops a system message in front, where Memory writes its blocks by default: for it build the Memory with
    `insert_method="user"`.

    A failing bank loses nothing: what it did not retain waits for the next call. Waiting messages do not outlast the
    process unless `chat_store` is given: then the block reads the whole chat there, archived messages too.

    Args:
        bank: of either face, or the reference to one (`bank.reference`).
        name: the block's name, unique within the Memory.
        description: the block's description.
        priority: 0 is never truncated; of the others LlamaIndex truncates the smallest number first, here the memory
            found last first.
        accept_short_term_memory: False: what leaves the short-term memory is not handed to the block.
        max_tokens: what the memories may cost, in the bank's tokens; 0 recalls none.
        roles: whose messages are retained: user, assistant, tool.
        context: what the chat is, for extraction ("support chat").
        tags: visibility tags of what is retained.
        metadata: values to keep with every memory.
        recall_options: of `bank.recall`, beside its query and max_tokens: budget (here "low"), types, tags, k, ...; as
            JSON can hold them, if the block is to be serialised.
        on_error: as in HindsightMemory: "queue", "skip" or "raise".
        background: with a model, retain without waiting for it; see the bank's `retain`.
        chat_store: the one of the Memory, of which the block then reads the chat whole; equal messages are told apart
            after a restart too, and what a killed process left is retained.
        tokenizer_fn: a text to its tokens, the one of the Memory; LlamaIndex's global one if None.

    Raises:
        InvalidRequest: an argument is of no use.
        BankNotOpen: no open engine has the directory that a reference means.
        BankNotFound: the bank is gone.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    bank: BankField
    max_tokens: int = UNASKED.max_tokens
    roles: tuple[str, ...] = ("user", "assistant")
    context: str = ""
    tags: tuple[str, ...] = ()
    metadata: dict[str, Any] = Field(default_factory=dict)
    recall_options: dict[str, Any] = Field(default_factory=dict)
    on_error: str = OnError.QUEUE.value
    background: bool = False
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
        description: str | None = "What is remembered of earlier chats.",
        priority: int = 1,
        accept_short_term_memory: bool = True,
        max_tokens: int = UNASKED.max_tokens,
        roles: Iterable[str] = ("user", "assistant"),
        context: str = "",
        tags: Iterable[str] = (),
        metadata: Mapping[str, Any] | None = None,
        recall_options: Mapping[str, Any] | None = None,
        on_error: OnError | str = OnError.QUEUE,
        background: bool = False,
        chat_store: AsyncDBChatStore | None = None,
        tokenizer_fn: Callable[[str], Sequence[Any]] | None = None,
    ) -> None:
        super().__init__(
            bank=open_bank(bank),
            name=name,
            description=description,
            priority=priority,
            accept_short_term_memory=accept_short_term_memory,
            max_tokens=checked_tokens(max_tokens, "max_tokens", least=0),
            roles=tuple(sorted(checked_roles(roles))),
            context=context,
            tags=checked_tags(tags),
            metadata=checked_metadata({} if metadata is None else metadata),
            recall_options=with_defaults(
                {"budget": UNASKED.budget, **checked_recall_options(recall_options)}, UNASKED
            ),
            on_error=choice(OnError, on_error, "on_error").value,
            background=background,
            chat_store=checked_chat_store(chat_store, (AsyncDBChatStore,)),
            tokenizer_fn=checked_tokenizer(tokenizer_fn),
        )

    @classmethod
    def class_name(cls) -> str:
        """The block's name where LlamaIndex serialises it."""
        return "HindsightMemoryBlock"

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Leave out the memories found last, until so many tokens are saved; no memory is cut.

        Args:
            content: what `aget` gave.
            tokens_to_truncate: how many are too many, in those of `tokenizer_fn`.

        Returns:
            The rest; None where no memory is left.
        """
        kept: str | None = content or None
        while kept and len(self.tokenizer_fn(content)) - len(self.tokenizer_fn(kept)) < tokens_to_truncate:
            kept = without_last(kept)
        return kept

    async def _aput(self, messages: list[ChatMessage]) -> None:
        if not messages:
            return
        # Read at once: other blocks take it out of the same messages.
        session = str(messages[-1].additional_kwargs.get("session_id") or "")
        async with self._alone.alone({session}):
            if self.chat_store is None:
                self._windows[session].take_flushed(messages)
            await self._retain(session)

    async def _aget(
        self,
        messages: list[ChatMessage] | None = None,
        session_id: str | None = None,
        **_kwargs: Any,  # noqa: ANN401 - of other blocks
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
        """Retain what waits of a chat, in one piece; what fails goes on waiting."""
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
                on_fork="keep",  # a window that moves is no fork
                roles=self.roles,
                context=self.context,
                tags=self.tags,
                metadata=self.metadata,
                on_model_failure="queue" if on_error is OnError.QUEUE else None,
                background=self.background,
            )
            window.retained()
            dispatcher.event(retained(bank.name, result))

    async def _memories(self, window: Sequence[ChatMessage], session: str) -> str:
        """The memories of a turn: recalled once, however often they are asked for."""
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
            told,
            where=f"HindsightMemoryBlock {self.name!r}",
            bank=self.bank.name,
            missing=missing,
            remedy=remedy,
            log=_log,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return (_loaded, (type(self), self.model_dump()))

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        return copy.copy(self)  # the bank is the same one


def _loaded(kind: type[HindsightMemoryBlock], fields: dict[str, Any]) -> HindsightMemoryBlock:
    return kind(**fields)
