"""Links by the papers' numbers, and a limited number of links per memory (paper section 4.1.4)."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest
from archived import archived_rows
from hypothesis import given
from hypothesis import strategies as st

from hindsight_integrations import Hindsight
from hindsight_integrations.model.arrays import Hits, no_hits
from hindsight_integrations.model.facts import ExtractedCausalRelation
from hindsight_integrations.model.links import CausalRelation, LinkType
from hindsight_integrations.model.units import FactType, MemoryUnit
from hindsight_integrations.retain import linking
from hindsight_integrations.retain.drafts import UnitDraft
from hindsight_integrations.retain.linking import (
    HOUR,
    SEMANTIC_LINKS,
    TEMPORAL_FLOOR,
    TEMPORAL_LINKS,
    WeightedLink,
    causal_links,
    semantic_links,
    temporal_links,
    temporal_weight,
    within_degree,
)


def hours(*values: float) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array([int(value * HOUR) for value in values], np.int64)


def test_equation_4_by_hand() -> None:
    """exp(-dt/sigma) with sigma 24 hours: 1 at the same time, 1/e after a day."""
    assert temporal_weight(hours(0, 24, -24, 48)) == pytest.approx([1.0, np.exp(-1), np.exp(-1), np.exp(-2)])


def test_temporal_links_reach_29_hours() -> None:
    """Units up to about 29 hours apart are linked, none below weight 0.3."""
    pairs = temporal_links(hours(100), hours(100, 80, 71.2, 71, 130))
    assert sorted(pair.other - 1 for pair in pairs) == [0, 1, 2]
    assert min(pair.weight for pair in pairs) >= TEMPORAL_FLOOR


@given(
    st.lists(st.integers(0, 10**12), min_size=1, max_size=40), st.lists(st.integers(0, 10**12), max_size=40)
)
def test_temporal_degree_is_bounded(new: list[int], old: list[int]) -> None:
    """However many units have the same time, a new one links to at most ten others and never to itself."""
    pairs = temporal_links(np.array(new, np.int64), np.array(old, np.int64))
    for index in range(len(new)):
        mine = [pair for pair in pairs if pair.new == index]
        assert len(mine) <= TEMPORAL_LINKS
        assert index not in [pair.other for pair in mine]
    assert all(TEMPORAL_FLOOR <= pair.weight <= 1.0 for pair in pairs)


def test_semantic_links_take_the_five_best_above_the_threshold() -> None:
    """Known and new units compete; units below the embedder's threshold are not linked."""
    vectors = np.eye(8, dtype=np.float32)[:2]
    vectors = np.concatenate([vectors, vectors[:1]])
    near = [
        no_hits(),
        no_hits(),
        Hits(np.arange(6, dtype=np.int64), np.linspace(0.95, 0.7, 6).astype(np.float32)),
    ]
    pairs = semantic_links(vectors, near, 0.78)
    assert [(p.new, p.other) for p in pairs] == [(2, 0), (2, 3), (2, 4), (2, 5), (2, 6)][: 1 + 4]
    assert len(pairs) == SEMANTIC_LINKS
    assert [round(p.weight, 2) for p in pairs] == [1.0, 0.95, 0.9, 0.85, 0.8]


def test_causal_links_follow_the_claims() -> None:
    """A claim becomes a link with its relation and strength."""
    units = [
        MemoryUnit(
            id=f"u{n}",
            bank="b",
            text="t",
            fact_type=FactType.WORLD,
            mentioned_at=datetime(2024, 1, 1, tzinfo=UTC),
        )
        for n in range(2)
    ]
    drafts = [
        UnitDraft(units[0]),
        UnitDraft(
            units[1],
            causes=(
                ExtractedCausalRelation(
                    target_fact_index=0, relation_type=CausalRelation.CAUSED_BY, strength=0.7
                ),
            ),
        ),
    ]
    (link,) = causal_links(drafts)
    assert (link.source, link.target, link.type, link.weight, link.relation) == (
        "u1",
        "u0",
        LinkType.CAUSAL,
        0.7,
        CausalRelation.CAUSED_BY,
    )


PAIRS = st.lists(
    st.builds(WeightedLink, st.integers(0, 9), st.integers(0, 4), st.floats(0, 1)), max_size=40, unique=True
)


@given(PAIRS, st.dictionaries(st.integers(0, 4), st.integers(0, 6)), st.integers(0, 6))
def test_no_unit_gets_more_than_its_share(
    pairs: list[WeightedLink], degrees: dict[int, int], limit: int
) -> None:
    """A unit gets links up to the limit, the strongest first, and unused places are filled."""
    kept = within_degree(pairs, degrees, limit)
    for unit in range(5):
        taken = sorted((p.weight for p in kept if p.other == unit), reverse=True)
        offered = sorted((p.weight for p in pairs if p.other == unit), reverse=True)
        room = max(0, limit - degrees.get(unit, 0))
        assert taken == offered[:room]


def test_a_fact_everybody_repeats_stays_within_its_degree(
    light: Hindsight, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Thirty near-copies retained one after the other give no unit more semantic links than allowed."""
    monkeypatch.setattr(linking, "SEMANTIC_DEGREE", 7)
    bank = light.bank("b")
    for turn in range(30):
        bank.retain(f"The red kayak lies in the old shed, {turn}.")
    semantic = [link for link in archived_rows(bank.archive.export, "links") if link["code"] == 1]
    ends = [link[end] for link in semantic for end in ("source", "target")]
    assert 5 < max(ends.count(end) for end in set(ends)) <= 7
