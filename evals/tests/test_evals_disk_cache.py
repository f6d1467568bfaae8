"""Vectors cached on disk between runs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

from hindsight_evals.runner.disk_cache import CachedEmbedder, DiskCache
from hindsight_integrations.model.arrays import Matrix
from hindsight_integrations.testing.doubles import HashEmbedder


class CountingEmbedder(HashEmbedder):
    """Counts the requested texts."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        self.asked += texts
        return super().embed_documents(texts)


def test_a_text_is_embedded_once_however_many_runs_ask(tmp_path: Path) -> None:
    """In the requested order, including repeated texts, with the same vectors as without the cache."""
    inner, texts = CountingEmbedder(), ["a cello", "a fence", "a cello"]
    for _ in range(2):
        with closing(DiskCache(tmp_path / "cache" / "vectors.sqlite")) as cache:
            vectors = CachedEmbedder(inner, cache).embed_documents(texts)
            np.testing.assert_array_equal(vectors, HashEmbedder().embed_documents(texts))
    assert sorted(inner.asked) == ["a cello", "a fence"]


def test_a_question_is_not_taken_for_a_passage(tmp_path: Path) -> None:
    """Some embedders prefix questions, so questions and passages are cached separately."""
    with closing(DiskCache(tmp_path / "vectors.sqlite")) as cache:
        cached = CachedEmbedder(inner := CountingEmbedder(), cache)
        cached.embed_query("a cello")
        cached.embed_documents(["a cello"])
        assert inner.asked.count("a cello") >= 1
        assert cached.embed_documents([]).shape == (0, cached.identity.dimension)
