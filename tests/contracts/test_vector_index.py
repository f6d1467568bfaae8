"""The VectorIndex contract, for every backend."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from vector_index_contract import (
    DurableVectorIndexContract,
    VectorIndexContract,
)
from vector_scorer_contract import VectorScorerContract

from hindsight_integrations.indexes.chroma import ChromaVectorIndex, ChromaVectors
from hindsight_integrations.indexes.exact import ExactVectorIndex, MappedVectorIndex, MappedVectors


class TestExactVectorIndex(VectorIndexContract, VectorScorerContract):
    """The numpy index."""

    @pytest.fixture
    def index(self) -> ExactVectorIndex:
        return ExactVectorIndex()


@pytest.mark.parametrize("tail_rows", [7, *(pytest.param(rows, marks=pytest.mark.slow) for rows in (1, 50))])
class TestMappedVectorIndex(VectorIndexContract, VectorScorerContract):
    """The numpy index with a file that contains most vectors, or half of them."""

    @pytest.fixture
    def index(self, tmp_path: Path, tail_rows: int) -> MappedVectorIndex:
        return MappedVectors(tmp_path).open("abc", tail_rows=tail_rows)


class TestMappedVectorIndexReopened(DurableVectorIndexContract):
    """The numpy index with a file that is written after every batch."""

    @pytest.fixture
    def index(self, tmp_path: Path) -> MappedVectorIndex:
        return MappedVectors(tmp_path).open("abc", tail_rows=1)

    @pytest.fixture
    def reopen(self, index: MappedVectorIndex, tmp_path: Path) -> Callable[[], MappedVectorIndex]:
        def close_and_open() -> MappedVectorIndex:
            index.close()
            return MappedVectors(tmp_path).open("abc", tail_rows=1)

        return close_and_open


@pytest.mark.slow
class TestChromaInMemory(VectorIndexContract):
    """Chroma without a folder."""

    exact = False

    @pytest.fixture
    def index(self) -> Iterator[ChromaVectorIndex]:
        vectors = ChromaVectors(None)
        yield vectors.open("abc")
        vectors.close()


class TestChromaOnDisk(VectorIndexContract, DurableVectorIndexContract):
    """Chroma in a data directory."""

    exact = False

    @pytest.fixture
    def stores(self, tmp_path: Path) -> Iterator[list[ChromaVectors]]:
        opened = [ChromaVectors(tmp_path)]
        yield opened
        opened[-1].close()

    @pytest.fixture
    def index(self, stores: list[ChromaVectors]) -> ChromaVectorIndex:
        return stores[0].open("abc")

    @pytest.fixture
    def reopen(self, stores: list[ChromaVectors], tmp_path: Path) -> Callable[[], ChromaVectorIndex]:
        def close_and_open() -> ChromaVectorIndex:
            stores[-1].close()
            stores.append(ChromaVectors(tmp_path))
            return stores[-1].open("abc")

        return close_and_open
