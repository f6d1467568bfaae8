"""`HindsightStore` as the classes that LangGraph's own tests open: the same constructors, our store in their place.

A stand-in translates how a store is opened, and nothing else: every operation of a test is one of HindsightStore. The engine
behind it is the whole one (SQLite, Chroma, Lucene), with the embeddings that the test gives, or the bundled ones.
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
IN_USE: list["_StandIn"] = []  # of the test that runs


class _StandIn(HindsightStore):
    """HindsightStore, with the index that a test asked for as its assertions read it."""

    def __init__(
        self,
        memory: Hindsight | AsyncHindsight,
        index: Mapping[str, Any] | None,
        ttl: TTLConfig | None = None,
    ) -> None:
        asked = index or {}
        fields = (
            asked.get("fields") or asked.get("text_fields") or WHOLE_VALUE
        )  # SqliteStore's name is the second
        # a read refreshes where TTLConfig says nothing; with SqliteStore it does not, and its tests count on that
        super().__init__(memory, index=fields, ttl=ttl and {"refresh_on_read": False, **ttl})
        self.memory, self.index_config, self.embeddings = memory, index, asked.get("embed")
        IN_USE.append(self)


class InMemoryStandIn(_StandIn):
    """In the place of `langgraph.store.memory.InMemoryStore`; the plugin closes what it opened."""

    def __init__(self, *, index: Mapping[str, Any] | None = None) -> None:
        super().__init__(Hindsight.open(":memory:", embeddings=_embeddings(index), reranker=None), index)


class SqliteStandIn(_StandIn):
    """In the place of `langgraph.store.sqlite.SqliteStore`."""

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
        """Opening did it."""

    def start_ttl_sweeper(self) -> None:
        """Nothing has to run for an item to be gone in time."""

    def stop_ttl_sweeper(self) -> None:
        """Nothing runs."""


class AsyncSqliteStandIn(_StandIn):
    """In the place of `langgraph.store.sqlite.aio.AsyncSqliteStore`, over the engine's async face."""

    @classmethod
    @asynccontextmanager
    async def from_conn_string(
        cls, conn_string: str, *, index: Mapping[str, Any] | None = None, ttl: TTLConfig | None = None
    ) -> AsyncIterator[Self]:
        with _place(conn_string) as place:
            async with AsyncHindsight.open(place, embeddings=_embeddings(index), reranker=None) as engine:
                yield cls(engine, index, ttl)

    async def setup(self) -> None:
        """Opening did it."""

    async def sweep_ttl(self) -> int:  # type: ignore[override] # SqliteStore's async twin has it so
        """As HindsightStore's twin of it."""
        return await self.asweep_ttl()

    async def start_ttl_sweeper(self) -> None:
        """Nothing has to run for an item to be gone in time."""

    async def stop_ttl_sweeper(self) -> None:
        """Nothing runs."""


def _embeddings(index: Mapping[str, Any] | None) -> Any:
    return ensure_embeddings(index["embed"]) if index else None


@contextmanager
def _place(conn_string: str) -> Iterator[str]:
    """Where the engine keeps what SQLite would keep in this file: a directory beside it, gone after the test."""
    if conn_string == ":memory:":
        yield conn_string
        return
    directory = Path(f"{conn_string}.hindsight")
    try:
        yield str(directory)
    finally:
        rmtree(directory, ignore_errors=True)
