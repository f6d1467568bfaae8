"""Shared by all tests: no network beyond this machine, and engines that clean up after themselves."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from local_network import no_network  # noqa: F401 - a fixture of every test
from postgres_server import Databases, server

from hindsight_integrations import Hindsight, HindsightConfig
from hindsight_integrations.config import KeywordBackend, StorageConfig, VectorBackend
from hindsight_integrations.testing.doubles import FrozenClock, HashEmbedder

NOW = datetime(2024, 6, 12, 9, 0, tzinfo=UTC)  # a Wednesday
LIGHT = HindsightConfig(storage=StorageConfig(vectors=VectorBackend.EXACT, keywords=KeywordBackend.FTS5))

Opener = Callable[..., Hindsight]

# Programs that tests start import the helpers in tests/support as the tests do.
os.environ["PYTHONPATH"] = os.pathsep.join(
    filter(None, (str(Path(__file__).parent / "support"), os.environ.get("PYTHONPATH")))
)

# The run time of an example depends more on the machine than on the code.
settings.register_profile("busy", deadline=None, max_examples=30)
settings.load_profile("busy")


def pytest_collection_finish() -> None:
    """Exclude objects from imports, which live as long as the process, from all later garbage collections."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def clock() -> FrozenClock:
    """A clock that is set to Wednesday, 12 June 2024, 09:00 UTC."""
    return FrozenClock(NOW)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--postgresql`: engines of the tests keep their ledgers on a PostgreSQL server."""
    parser.addoption("--postgresql", action="store_true")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With `--postgresql`, skip the tests about the files of a data directory."""
    if not config.getoption("--postgresql"):
        return
    about_files = [item for item in items if item.get_closest_marker("directory")]
    config.hook.pytest_deselected(items=about_files)
    items[:] = [item for item in items if item not in about_files]


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a PostgreSQL server, with `{}` for the name of a database."""
    with server() as address:
        yield address


@pytest.fixture
def databases(postgres: str) -> Iterator[Databases]:
    """Databases of one test, each created at its first use."""
    with Databases(postgres) as databases:
        yield databases


@pytest.fixture
def opener(clock: FrozenClock, request: pytest.FixtureRequest) -> Iterator[Opener]:
    """Opens engines with HashEmbedder and no reranker by default; closes them at the end.

    `embeddings=None` uses the embedder that the config selects.
    """
    opened: list[Hindsight] = []
    databases = request.getfixturevalue("databases") if request.config.getoption("--postgresql") else None

    def open_engine(path: str | Path = ":memory:", **options: Any) -> Hindsight:
        options = {"embeddings": HashEmbedder(), "reranker": None, "clock": clock, **options}
        if databases is not None and "://" not in str(path):
            cache = None if str(path) == ":memory:" else Path(path)
            name = f"memory{len(opened)}" if cache is None else str(cache)
            path = databases.address(name)
            # A read-only engine keeps its indexes in memory.
            options["cache"] = None if options.get("read_only") else cache
        engine = Hindsight.open(path, **options)
        opened.append(engine)
        return engine

    yield open_engine
    for engine in opened:
        engine.close()


@pytest.fixture
def light_config() -> HindsightConfig:
    """Exact numpy and FTS5."""
    return LIGHT


@pytest.fixture
def light(opener: Opener) -> Hindsight:
    """An in-memory engine with exact numpy search and FTS5, for tests that do not depend on the backend."""
    return opener(config=LIGHT)


@pytest.fixture
def real(opener: Opener, tmp_path: Path) -> Hindsight:
    """An engine on disk with Chroma, Lucene and rustworkx."""
    return opener(tmp_path / "memory")
