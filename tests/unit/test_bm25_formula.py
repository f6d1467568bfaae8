"""Lucene's scores equal the BM25 of the papers."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest
from keyword_index_contract import fill, int_ids
from table import every_row

from hindsight_integrations.indexes.lucene import LuceneKeywords
from hindsight_integrations.indexes.protocols import KeywordIndex
from hindsight_integrations.indexes.store_pool import MEMORY

K1, B = 1.2, 0.75
TEXTS = {
    1: "quartz clock tower",
    2: "quartz quartz lantern",
    3: "copper kettle",
    4: "copper lantern market stall winter",
    5: "violin",
    6: "silver train ticket harbour",
}


@pytest.fixture
def index() -> Iterator[KeywordIndex]:
    engine = LuceneKeywords(MEMORY)
    index = engine.open("bank")
    fill(index, TEXTS)
    yield index
    engine.close()


def textbook_bm25(query: str, text: str) -> float:
    """Compute Robertson and Zaragoza's BM25 with non-negative idf: sum of idf tf (k1 + 1) / (tf + k1 norm)."""
    lengths = [len(held.split()) for held in TEXTS.values()]
    norm = 1 - B + B * len(text.split()) / (sum(lengths) / len(lengths))
    total = 0.0
    for word in query.split():
        holders = sum(word in held.split() for held in TEXTS.values())
        idf = math.log(1 + (len(TEXTS) - holders + 0.5) / (holders + 0.5))
        tf = text.split().count(word)
        total += idf * tf * (K1 + 1) / (tf + K1 * norm)
    return total


@every_row("query", ["quartz", "copper", "quartz lantern", "violin silver harbour", "kettle market kettle"])
def test_scores_equal_the_textbook_without_its_constant(index: KeywordIndex, query: str) -> None:
    """Every score is textbook BM25 over (k1 + 1), the constant Lucene leaves out since version 8; same order."""
    hits = index.search(query, 10)
    scores = {row: textbook_bm25(query, text) / (K1 + 1) for row, text in TEXTS.items()}
    expected = sorted((row for row in TEXTS if scores[row] > 0), key=lambda row: (-scores[row], row))
    assert hits.ids.tolist() == expected
    assert hits.scores.tolist() == pytest.approx([scores[row] for row in expected], rel=1e-6)


def test_filter_leaves_the_textbook_score(index: KeywordIndex) -> None:
    """A filter changes neither scores nor statistics."""
    hits = index.search("quartz lantern", 10, int_ids(2, 3))
    assert hits.ids.tolist() == [2]
    assert hits.scores.tolist() == pytest.approx(
        [textbook_bm25("quartz lantern", TEXTS[2]) / (K1 + 1)], rel=1e-6
    )
