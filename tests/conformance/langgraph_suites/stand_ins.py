"""`HindsightStore` in place of the classes that LangGraph's own tests open, with the same constructors.

A stand-in only translates how a store is opened: every operation of a test is one of HindsightStore. The
engine is complete (SQLite, Chroma, Lucene), with the test's embeddings or the bundled ones.
"""

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from shutil import rmtree
from typing import Any, Self

from langgraph.store.base import TTLConfig, ensure_embeddings

from hindsight_integrations import AsyncHindsight, Hindsight
from hindsight_integrations.langgraph import HindsightStore

WHOLE_VALUE = ("$",)
IN_USE: list["_StandIn"] = []  # of the running test


class _StandIn(HindsightStore):
    """HindsightStore, with the index that a test requested in the form that its assertions read."""

    def __init__(
        self,
        memory: Hindsight | AsyncHindsight,
        index: Mapping[str, Any] | None,
        ttl: TTLConfig | None = None,
    ) -> None:
        asked = index or {}
        fields = (
            asked.get("fields") or asked.get("text_fields") or WHOLE_VALUE
        )  # SqliteStore's name comes second
        # without a value in TTLConfig, reads refresh here; with SqliteStore they do not, which its tests
        # expect
        super().__init__(memory, index=fields, ttl=ttl and {"refresh_on_read": False, **ttl})
        self.memory, self.index_config, self.embeddings = memory, index, asked.get("embed")
        IN_USE.append(self)


class InMemoryStandIn(_StandIn):
    """Replaces `langgraph.store.memory.InMemoryStore`; the plugin closes what it opened."""

    def __init__(self, *, index: Mapping[str, Any] | None = None) -> None:
        super().__init__(Hindsight.open(":memory:", embeddings=_embeddings(index), reranker=None), index)


class SqliteStandIn(_StandIn):
    """Replaces `langgraph.store.sqlite.SqliteStore`."""

    @classmethod
    @contextmanager
    def from_conn_string(
        cls, conn_string: str, *, index: Mapping[str, Any] | None = None, ttl: TTLConfig | None = None
    ) -> Iterator[Self]:
        with (
            _place(conn_string) as place,
            Hindsight.open(place, embeddings=_embeddings(index), reranker=None) as engine,
        ):
            yield cls(engine, index, ttl)

    def setup(self) -> None:
        """Do nothing, because opening created everything."""

    def start_ttl_sweeper(self) -> None:
        """Do nothing: items expire without a sweeper."""

    def stop_ttl_sweeper(self) -> None:
        """Do nothing."""


class AsyncSqliteStandIn(_StandIn):
    """Replaces `langgraph.store.sqlite.aio.AsyncSqliteStore`, with the engine's async API."""

    @classmethod
    @asynccontextmanager
    async def from_conn_string(
        cls, conn_string: str, *, index: Mapping[str, Any] | None = None, ttl: TTLConfig | None = None
    ) -> AsyncIterator[Self]:
        with _place(conn_string) as place:
            async with AsyncHindsight.open(place, embeddings=_embeddings(index), reranker=None) as engine:
                yield cls(engine, index, ttl)

    async def setup(self) -> None:
        """Do nothing, because opening created everything."""

    async def sweep_ttl(self) -> int:  # type: ignore[override] # SqliteStore's async twin has it so
        """The async version of HindsightStore's method."""
        return await self.asweep_ttl()

    async def start_ttl_sweeper(self) -> None:
        """Do nothing: items expire without a sweeper."""

    async def stop_ttl_sweeper(self) -> None:
        """Do nothing."""


def _embeddings(index: Mapping[str, Any] | None) -> Any:
    return ensure_embeddings(index["embed"]) if index else None


@contextmanager
def _place(conn_string: str) -> Iterator[str]:
    """The engine's directory in place of SQLite's file: next to it, and deleted after the test."""
    if conn_string == ":memory:":
        yield conn_string
        return
    directory = Path(f"{conn_string}.hindsight")
    try:
        yield str(directory)
    finally:
        rmtree(directory, ignore_errors=True)
