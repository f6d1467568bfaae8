"""Agent Server gets a store for each event loop, all with one engine."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hindsight_integrations import HindsightConfig, InvalidRequest
from hindsight_integrations.config import KeywordBackend, StorageConfig, VectorBackend
from hindsight_integrations.langgraph import agent_server
from hindsight_integrations.langgraph.agent_server import make_store, server_engine, store_factory
from hindsight_integrations.testing.doubles import HashEmbedder

LIGHT = HindsightConfig(storage=StorageConfig(vectors=VectorBackend.EXACT, keywords=KeywordBackend.FTS5))


@pytest.fixture(autouse=True)
def closed_at_the_end() -> Iterator[None]:
    """Closes the engines, as at the end of a server's process."""
    yield
    agent_server.close_engines()


def test_every_loop_has_a_store_and_all_have_one_engine(tmp_path: Path) -> None:
    """Six loops run in six threads: none gets LedgerBusy, and each reads what the others wrote."""
    embedder = HashEmbedder()
    make = store_factory(tmp_path / "m", embeddings=embedder, reranker=None, config=LIGHT)

    async def work(loop: int) -> None:
        async with make() as store:
            await store.aput(("l",), str(loop), {"n": loop})

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda loop: asyncio.run(work(loop)), range(6)))
    engine = server_engine(tmp_path / "m")
    assert len(engine.bank("store").items.search(("l",))) == 6


def test_the_environment_names_the_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`make_store`, which langgraph.json names, and a graph that calls `server_engine()` share one memory."""
    monkeypatch.setenv("HINDSIGHT_DIRECTORY", str(tmp_path / "named"))
    engine = server_engine(embeddings=HashEmbedder(), reranker=None, config=LIGHT, worker=False)

    async def put() -> None:
        async with make_store() as store:
            await store.aput(("a",), "k", {"n": 1})

    asyncio.run(put())
    assert [each.item.key for each in engine.bank("store").items.search()] == ["k"]
    assert (tmp_path / "named" / "ledger.sqlite").exists()


def test_other_options_for_an_open_engine_are_refused(tmp_path: Path) -> None:
    """The first call determines the options; later calls with the same or no options get its engine; after a close, it is opened again."""
    options = {"embeddings": HashEmbedder(), "reranker": None, "config": LIGHT, "worker": False}
    engine = server_engine(tmp_path / "m", **options)
    assert server_engine(tmp_path / "m", **options) is engine
    assert server_engine(tmp_path / "m") is engine
    with pytest.raises(InvalidRequest, match=r"already opened .* with other options"):
        server_engine(tmp_path / "m", worker=True)
    engine.close()
    assert server_engine(tmp_path / "m", **options) is not engine


@pytest.mark.slow
def test_a_process_that_ends_loses_nothing(tmp_path: Path) -> None:
    """The process ends without a call of the server, and the next process finds no lock and everything that was put."""
    script = (
        "import sys; from hindsight_integrations.langgraph.agent_server import server_engine\n"
        "from hindsight_integrations.testing.doubles import HashEmbedder\n"
        "from hindsight_integrations import ItemPut\n"
        "engine = server_engine(sys.argv[1], embeddings=HashEmbedder(), reranker=None)\n"
        "engine.bank('store').items.write([ItemPut(('a',), 'k', {'n': 1}, ('kayak',))])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "m")], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    engine = server_engine(tmp_path / "m", embeddings=HashEmbedder(), reranker=None, worker=False)
    assert [each.item.key for each in engine.bank("store").items.search(query="kayak")] == ["k"]
