"""Where a chat's messages are kept: a chat store of LlamaIndex, of either kind."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from itertools import filterfalse
from pathlib import Path
from time import time_ns
from typing import Any, TypeAlias

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.storage.chat_store import SimpleChatStore
from llama_index.core.storage.chat_store.base_db import AsyncDBChatStore, MessageStatus
from llama_index.core.storage.chat_store.sql import SQLAlchemyChatStore
from sqlalchemy import Insert, Table, delete, event, func, insert, select
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from hindsight_integrations import BankNotFound, BankNotOpen, BankReference, InvalidRequest, bank_at
from hindsight_integrations.concurrency.workers import InFlight
from hindsight_integrations.errors import shown
from hindsight_integrations.llamaindex.messages import checked_chat_store, without_memories
from hindsight_integrations.model.turns import CHATS_FILE, CHATS_TABLE

SIMPLE = SimpleChatStore.class_name()
AnyChatStore: TypeAlias = Any
"""BaseChatStore or AsyncDBChatStore; mypy is told to skip LlamaIndex, whose types it cannot follow."""

_setting_up = InFlight()
_in_memory: dict[str, SimpleChatStore] = {}
_looking_up = threading.Lock()


class WholeSetChatStore(SQLAlchemyChatStore):  # type: ignore[misc] # see bank.py
    """LlamaIndex's chat store in SQL, fit for several callers at once and for being killed.

    There `set_messages` deletes first and commits: whoever is killed before the rest has lost the chat. Messages are ordered by
    the clock, which may be put back. And of two first
    callers one finds no table yet.
    """

    async def _initialize(self) -> Any:  # noqa: ANN401 - as LlamaIndex's: sessions and table
        async with _setting_up.alone({str(self._async_engine.url)}):
            return await super()._initialize()

    async def set_messages(
        self, key: str, messages: list[ChatMessage], status: MessageStatus = MessageStatus.ACTIVE
    ) -> None:
        """As LlamaIndex's, all or nothing."""
        sessions, table = await self._initialize()
        async with sessions() as session, session.begin():
            await session.execute(delete(table).where(table.c.key == key))
            for message in messages:
                await session.execute(_appended(table, key, message, status))

    async def add_messages(
        self, key: str, messages: list[ChatMessage], status: MessageStatus = MessageStatus.ACTIVE
    ) -> None:
        """As LlamaIndex's, in the order in which they are added, whatever the clock does meanwhile."""
        sessions, table = await self._initialize()
        async with sessions() as session, session.begin():
            for message in messages:
                await session.execute(_appended(table, key, message, status))


def _appended(table: Table, key: str, message: ChatMessage, status: MessageStatus) -> Insert:
    """A message put last: messages are read in the order of their timestamps, and clocks are put back."""
    last = select(func.coalesce(func.max(table.c.timestamp), 0)).where(table.c.key == key).scalar_subquery()
    return insert(table).values(
        key=key,
        timestamp=func.max(last + 1, time_ns()),
        role=message.role,
        status=status.value,
        data=message.model_dump(mode="json"),
    )


def chat_store_beside(bank: BankReference) -> AnyChatStore:
    """The chat store that is used if none is given: a file in the data directory, or memory where the bank is in memory.

    The latter lasts as long as the engine does.
    """
    if bank.place.startswith(":memory:"):
        with _looking_up:
            if bank.place not in _in_memory:
                for place in filterfalse(_is_open, list(_in_memory)):
                    del _in_memory[place]
            return _in_memory.setdefault(bank.place, SimpleChatStore())
    # A connection each time: kept ones belong to the event loop that made them.
    engine = create_async_engine(f"sqlite+aiosqlite:///{Path(bank.place) / CHATS_FILE}", poolclass=NullPool)
    event.listen(engine.sync_engine, "connect", _overwriting)
    return WholeSetChatStore(CHATS_TABLE, async_engine=engine)


def _overwriting(connection: Any, record: object) -> None:  # noqa: ANN401 - of the driver
    """What is deleted shall be in no file: by itself SQLite only marks its place as free."""
    del record
    connection.execute("PRAGMA secure_delete = ON").close()


def stored_chat_store(store: AnyChatStore, key: str) -> dict[str, Any] | None:
    """What a serialised memory keeps of its chat store: None of the default, of one that is nothing but messages the chat.

    Of another only that it was there: how to reach it (a password, perhaps) does not belong into what an agent stores.
    """
    if isinstance(store, WholeSetChatStore) or any(store is kept for kept in _in_memory.values()):
        return None
    if type(store) is SimpleChatStore:
        said = [message.model_dump(mode="json") for message in store.get_messages(key)]
        return {"class_name": SIMPLE, "store": {key: said}}
    return {"class_name": type(store).__name__}


def loaded_chat_store(given: object) -> AnyChatStore | None:
    """The chat store of a memory: one that was given, or what `stored_chat_store` kept of it.

    Raises:
        InvalidRequest: it must be given again, or is none.
    """
    if not isinstance(given, Mapping):
        return checked_chat_store(given)
    if given.get("class_name") == SIMPLE and isinstance(given.get("store"), Mapping):
        return SimpleChatStore.model_validate({"store": given["store"]})
    raise InvalidRequest(
        "chat_store",
        f"{shown(given.get('class_name'))}, which a memory was stored with, is not stored with it",
        "Pass it again: HindsightMemory.from_dict(stored, chat_store=...).",
    )


def _is_open(place: str) -> bool:
    try:
        bank_at(BankReference(place, ""))
    except BankNotOpen:
        return False
    except BankNotFound:
        pass
    return True


class ChatHistory:
    """The messages of one chat.

    Args:
        store: where they are kept.
        key: the chat's in the store.
    """

    def __init__(self, store: AnyChatStore, key: str) -> None:
        self._store, self.key = store, key

    async def read(self) -> list[ChatMessage]:
        """All messages, oldest first; copies, which the caller may change."""
        if isinstance(self._store, AsyncDBChatStore):
            messages = await self._store.get_messages(self.key, status=None)
        else:
            messages = await self._store.aget_messages(self.key)
        return [message.model_copy(deep=True) for message in messages]

    async def add(self, messages: Sequence[ChatMessage]) -> None:
        """Append messages."""
        copies = _copies(messages)
        if isinstance(self._store, AsyncDBChatStore):
            await self._store.add_messages(self.key, copies)
            return
        for message in copies:
            await self._store.async_add_message(self.key, message)

    async def replace(self, messages: Sequence[ChatMessage]) -> None:
        """Make these the messages of the chat, instead of all it has."""
        copies = _copies(messages)
        if isinstance(self._store, AsyncDBChatStore):
            await self._store.set_messages(self.key, copies)
        else:
            await self._store.aset_messages(self.key, copies)

    async def clear(self) -> None:
        """Delete the chat's messages."""
        if isinstance(self._store, AsyncDBChatStore):
            await self._store.delete_messages(self.key)
        else:
            await self._store.adelete_messages(self.key)


def _copies(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    return without_memories(message.model_copy(deep=True) for message in messages)
