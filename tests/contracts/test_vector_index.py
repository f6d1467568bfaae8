"""The VectorIndex contract, for every backend."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hindsight_integrations.backends.vector.chroma import ChromaVectorIndex, ChromaVectors
from hindsight_integrations.backends.vector.exact import ExactVectorIndex
from hindsight_integrations.testing.vector_index_contract import (
    DurableVectorIndexContract,
    VectorIndexContract,
)
from hindsight_integrations.testing.vector_scorer_contract import VectorScorerContract


class TestExactVectorIndex(VectorIndexContract, VectorScorerContract):
    """The numpy index."""

    @pytest.fixture
    def index(self) -> ExactVectorIndex:
        return ExactVectorIndex()


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
