"""Degrees: a popular memory does not gather links without end."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hindsight_integrations.tempr.retain import link_turn
from hindsight_integrations.tempr.retain.degrees import within_degree
from hindsight_integrations.tempr.retain.linking import Pair
from hindsight_integrations.testing.archived import archived_rows

PAIRS = st.lists(
    st.builds(Pair, st.integers(0, 9), st.integers(0, 4), st.floats(0, 1)), max_size=40, unique=True
)


@given(PAIRS, st.dictionaries(st.integers(0, 4), st.integers(0, 6)), st.integers(0, 6))
def test_no_unit_gets_more_than_its_share(pairs: list[Pair], degrees: dict[int, int], limit: int) -> None:
    """A unit takes links up to the limit and no more, the strongest first, and room is never left unused."""
    kept = within_degree(pairs, degrees, limit)
    for unit in range(5):
        taken = sorted((p.weight for p in kept if p.other == unit), reverse=True)
        offered = sorted((p.weight for p in pairs if p.other == unit), reverse=True)
        room = max(0, limit - degrees.get(unit, 0))
        assert taken == offered[:room]


def test_a_fact_everybody_repeats_stays_within_its_degree(light: Any, monkeypatch: Any) -> None:
    """Thirty near-copies retained one after the other leave no unit with more semantic links than allowed."""
    monkeypatch.setattr(link_turn, "SEMANTIC_DEGREE", 7)
    bank = light.bank("b")
    for turn in range(30):
        bank.retain(f"The red kayak lies in the old shed, {turn}.")
    semantic = [link for link in archived_rows(bank.archive.export, "link") if link["code"] == 1]
    ends = [link[end] for link in semantic for end in ("source", "target")]
    assert 5 < max(ends.count(end) for end in set(ends)) <= 7
