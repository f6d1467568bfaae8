"""Where a chat's messages are kept: a chat store of LlamaIndex, of either kind."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from pathlib import Path
from time import time_ns
from typing import Any, TypeAlias

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.storage.chat_store import SimpleChatStore
from llama_index.core.storage.chat_store.base_db import AsyncDBChatStore, MessageStatus
from llama_index.core.storage.chat_store.sql import SQLAlchemyChatStore
from sqlalchemy import delete, insert
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from hindsight_integrations import BankReference
from hindsight_integrations.concurrency.in_flight import InFlight

FILE = "chats.sqlite"
AnyChatStore: TypeAlias = Any
"""BaseChatStore or AsyncDBChatStore; mypy is told to skip LlamaIndex, whose types it cannot follow."""

_setting_up = InFlight()
_in_memory: weakref.WeakValueDictionary[str, SimpleChatStore] = weakref.WeakValueDictionary()


class WholeSetChatStore(SQLAlchemyChatStore):  # type: ignore[misc] # see events.py
    """LlamaIndex's chat store in SQL, fit for several callers at once and for being killed.

    There `set_messages` deletes first and commits: whoever is killed before the rest has lost the chat. And of two first
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
        now = time_ns()
        rows = [
            {
                "key": key,
                "timestamp": now + position,
                "role": message.role,
                "status": status.value,
                "data": message.model_dump(mode="json"),
            }
            for position, message in enumerate(messages)
        ]
        async with sessions() as session, session.begin():
            await session.execute(delete(table).where(table.c.key == key))
            if rows:
                await session.execute(insert(table).values(rows))


def chat_store_beside(bank: BankReference) -> AnyChatStore:
    """The chat store that is used if none is given: a file in the data directory, or memory where the bank is in memory.

    The latter lasts as long as somebody uses it.
    """
    if bank.place.startswith(":memory:"):
        kept = _in_memory.get(bank.place)
        if kept is None:
            kept = _in_memory[bank.place] = SimpleChatStore()
        return kept
    # A connection each time: kept ones belong to the event loop that made them.
    engine = create_async_engine(f"sqlite+aiosqlite:///{Path(bank.place) / FILE}", poolclass=NullPool)
    return WholeSetChatStore("chat_messages", async_engine=engine)


class ChatHistory:
    """The messages of one chat.

    Args:
        store: where they are kept.
        key: the chat's in the store.
    """

    def __init__(self, store: AnyChatStore, key: str) -> None:
        self._store, self._key = store, key

    async def read(self) -> list[ChatMessage]:
        """All messages, oldest first; copies, which the caller may change."""
        if isinstance(self._store, AsyncDBChatStore):
            messages = await self._store.get_messages(self._key, status=None)
        else:
            messages = await self._store.aget_messages(self._key)
        return [message.model_copy(deep=True) for message in messages]

    async def add(self, messages: Sequence[ChatMessage]) -> None:
        """Append messages."""
        copies = [message.model_copy(deep=True) for message in messages]
        if isinstance(self._store, AsyncDBChatStore):
            await self._store.add_messages(self._key, copies)
            return
        for message in copies:
            await self._store.async_add_message(self._key, message)

    async def replace(self, messages: Sequence[ChatMessage]) -> None:
        """Make these the messages of the chat, instead of all it has."""
        copies = [message.model_copy(deep=True) for message in messages]
        if isinstance(self._store, AsyncDBChatStore):
            await self._store.set_messages(self._key, copies)
        else:
            await self._store.aset_messages(self._key, copies)

    async def clear(self) -> None:
        """Delete the chat's messages."""
        if isinstance(self._store, AsyncDBChatStore):
            await self._store.delete_messages(self._key)
        else:
            await self._store.adelete_messages(self._key)
