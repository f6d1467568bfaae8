"""Chat history in a LlamaIndex chat store, sync or async; the default is a SQLite file in the data directory."""

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
from hindsight_integrations.errors import is_database, shown
from hindsight_integrations.llamaindex.messages import checked_chat_store, without_memories
from hindsight_integrations.model.turns import CHATS_FILE, CHATS_TABLE

SIMPLE = SimpleChatStore.class_name()
AnyChatStore: TypeAlias = Any
"""BaseChatStore or AsyncDBChatStore; mypy does not follow imports of LlamaIndex."""

_setting_up = InFlight()
_in_memory: dict[str, SimpleChatStore] = {}
_looking_up = threading.Lock()


class WholeSetChatStore(SQLAlchemyChatStore):  # type: ignore[misc] # see bank.py
    """LlamaIndex's SQL chat store, made safe for concurrent callers and killed processes.

    In the base class, `set_messages` deletes and commits before it inserts, so a kill between the two loses the chat;
    messages are ordered by the clock, which may go backwards; and concurrent first calls fail because the table is missing.
    """

    async def _initialize(self) -> Any:  # noqa: ANN401 - LlamaIndex's signature: sessions and table
        async with _setting_up.alone({str(self._async_engine.url)}):
            return await super()._initialize()

    async def set_messages(
        self, key: str, messages: list[ChatMessage], status: MessageStatus = MessageStatus.ACTIVE
    ) -> None:
        """Replace the chat's messages in one transaction."""
        sessions, table = await self._initialize()
        async with sessions() as session, session.begin():
            await session.execute(delete(table).where(table.c.key == key))
            for message in messages:
                await session.execute(_appended(table, key, message, status))

    async def add_messages(
        self, key: str, messages: list[ChatMessage], status: MessageStatus = MessageStatus.ACTIVE
    ) -> None:
        """Append messages in an order that does not depend on the clock."""
        sessions, table = await self._initialize()
        async with sessions() as session, session.begin():
            for message in messages:
                await session.execute(_appended(table, key, message, status))


def _appended(table: Table, key: str, message: ChatMessage, status: MessageStatus) -> Insert:
    """Build the insert of a message, with a timestamp above all others of the chat, since messages are sorted by timestamp."""
    last = select(func.coalesce(func.max(table.c.timestamp), 0)).where(table.c.key == key).scalar_subquery()
    return insert(table).values(
        key=key,
        timestamp=func.max(last + 1, time_ns()),
        role=message.role,
        status=status.value,
        data=message.model_dump(mode="json"),
    )


def chat_store_beside(bank: BankReference) -> AnyChatStore:
    """Return the default chat store: a SQLite file in the data directory, or for in-memory banks a store in memory.

    The store in memory lasts as long as the engine.

    Raises:
        InvalidRequest: the bank is in a database or behind a server, and has no data directory here.
    """
    if is_database(bank.place):
        raise InvalidRequest(
            "chat_store",
            "a bank on PostgreSQL or behind a server has no local data directory in which to store chats",
            "Pass a chat store: SQLAlchemyChatStore('chats', async_database_uri='postgresql+psycopg://...').",
        )
    if bank.place.startswith(":memory:"):
        with _looking_up:
            if bank.place not in _in_memory:
                for place in filterfalse(_is_open, list(_in_memory)):
                    del _in_memory[place]
            return _in_memory.setdefault(bank.place, SimpleChatStore())
    # NullPool, because a pooled connection works only in the event loop that created it.
    engine = create_async_engine(f"sqlite+aiosqlite:///{Path(bank.place) / CHATS_FILE}", poolclass=NullPool)
    event.listen(engine.sync_engine, "connect", _overwriting)
    return WholeSetChatStore(CHATS_TABLE, async_engine=engine)


def _overwriting(connection: Any, record: object) -> None:  # noqa: ANN401 - the driver's own types
    """Make SQLite overwrite deleted content, instead of only marking the pages as free."""
    del record
    connection.execute("PRAGMA secure_delete = ON").close()


def stored_chat_store(store: AnyChatStore, key: str) -> dict[str, Any] | None:
    """Serialise a chat store: None for the default store, the chat's messages for a SimpleChatStore.

    For any other store only the class name is kept, because its connection data may include a password.
    """
    if isinstance(store, WholeSetChatStore) or any(store is kept for kept in _in_memory.values()):
        return None
    if type(store) is SimpleChatStore:
        said = [message.model_dump(mode="json") for message in store.get_messages(key)]
        return {"class_name": SIMPLE, "store": {key: said}}
    return {"class_name": type(store).__name__}


def loaded_chat_store(given: object) -> AnyChatStore | None:
    """Return the chat store that was passed, or restore it from the output of `stored_chat_store`.

    Raises:
        InvalidRequest: the value is not a chat store, or refers to a store that must be passed again.
    """
    if not isinstance(given, Mapping):
        return checked_chat_store(given)
    if given.get("class_name") == SIMPLE and isinstance(given.get("store"), Mapping):
        return SimpleChatStore.model_validate({"store": given["store"]})
    raise InvalidRequest(
        "chat_store",
        f"the {shown(given.get('class_name'))} was not serialised with the memory",
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
        store: the chat store.
        key: the chat's key in the store.
    """

    def __init__(self, store: AnyChatStore, key: str) -> None:
        self._store, self.key = store, key

    async def read(self) -> list[ChatMessage]:
        """Return copies of all messages, oldest first."""
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
        """Replace all messages of the chat."""
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
