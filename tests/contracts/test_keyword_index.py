"""The KeywordIndex contract for every backend of the package."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from keyword_index_contract import (
    KeywordIndexContract,
    MakeIndex,
    PersistentKeywordIndexContract,
)

from hindsight_integrations.indexes.fts5 import Fts5Keywords
from hindsight_integrations.indexes.lucene import LuceneKeywords
from hindsight_integrations.indexes.store_pool import MEMORY, KeywordStores


class Engines:
    """Opens keyword engines on one folder, one after the other."""

    def __init__(self, make: Callable[[], KeywordStores]) -> None:
        self._make = make
        self.current = make()

    def reopen(self) -> MakeIndex:
        self.current.close()
        self.current = self._make()
        return self.current.open


class StoresOnDisk(PersistentKeywordIndexContract):
    """Fixtures of a backend on disk."""

    backend: Callable[[Path], KeywordStores]

    @pytest.fixture
    def engines(self, tmp_path: Path) -> Iterator[Engines]:
        engines = Engines(lambda: type(self).backend(tmp_path))
        yield engines
        engines.current.close()

    @pytest.fixture
    def make_index(self, engines: Engines) -> MakeIndex:
        return engines.current.open

    @pytest.fixture
    def reopen(self, engines: Engines) -> Callable[[], MakeIndex]:
        return engines.reopen


class TestLuceneOnDisk(StoresOnDisk):
    backend = LuceneKeywords


class TestFts5OnDisk(StoresOnDisk):
    backend = Fts5Keywords


@pytest.mark.slow
class TestLuceneInMemory(KeywordIndexContract):
    @pytest.fixture
    def make_index(self) -> Iterator[MakeIndex]:
        engine = LuceneKeywords(MEMORY)
        yield engine.open
        engine.close()


@pytest.mark.slow
class TestFts5InMemory(KeywordIndexContract):
    @pytest.fixture
    def make_index(self) -> Iterator[MakeIndex]:
        engine = Fts5Keywords(MEMORY)
        yield engine.open
        engine.close()
