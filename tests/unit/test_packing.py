"""Packing: the budget is never exceeded, rank decides, and a larger budget is never worse."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_integrations.recall.packing import pack

TOKENS = st.lists(st.integers(0, 12), max_size=14)
BUDGET = st.integers(0, 60)
K = st.one_of(st.none(), st.integers(0, 8))


def cost(tokens: list[int], kept: list[int]) -> int:
    return sum(tokens[position] for position in kept)


def test_units_come_in_rank_order_until_the_budget_is_full() -> None:
    """The best units that fit are kept, in rank order."""
    assert pack([30, 40, 30, 10], 100) == [0, 1, 2]


def test_what_does_not_fit_is_skipped_not_the_end() -> None:
    """A unit that does not fit is skipped; later ones are still considered."""
    assert pack([50, 80, 30, 20], 100) == [0, 2, 3]


def test_k_limits_the_number_of_units() -> None:
    """`k` limits the number of units, whatever the budget."""
    assert pack([1, 1, 1], 100, k=2) == [0, 1]
    assert pack([1, 1, 1], 100, k=0) == []


def test_nothing_fits_a_budget_below_zero() -> None:
    """Nothing fits in a negative budget, not even a unit of size 0."""
    assert pack([0, 3], -1) == []
    assert pack([0, 3], 0) == [0]


def test_more_budget_may_change_the_units_but_for_better_ones() -> None:
    """A larger budget may replace a unit by a better one: of sizes 6 and 5, budget 5 holds the second, budget 6 the first."""
    assert pack([6, 5], 5) == [1]
    assert pack([6, 5], 6) == [0]


@settings(max_examples=40, deadline=None)
@given(tokens=TOKENS, budget=BUDGET, k=K)
def test_the_budget_always_holds(tokens: list[int], budget: int, k: int | None) -> None:
    """Budget (paper eq. 8), k limit, uniqueness and rank order always hold."""
    kept = pack(tokens, budget, k)
    assert cost(tokens, kept) <= budget
    assert k is None or len(kept) <= k
    assert kept == sorted(set(kept))


@settings(max_examples=40, deadline=None)
@given(tokens=TOKENS, budget=BUDGET)
def test_nothing_left_out_would_still_fit(tokens: list[int], budget: int) -> None:
    """No skipped unit would still fit."""
    kept = pack(tokens, budget)
    for position in set(range(len(tokens))) - set(kept):
        assert cost(tokens, kept) + tokens[position] > budget


@settings(max_examples=40, deadline=None)
@given(tokens=TOKENS, budgets=st.tuples(BUDGET, BUDGET), k=K)
def test_a_larger_budget_is_used_at_least_as_fully_and_by_better_units(
    tokens: list[int], budgets: tuple[int, int], k: int | None
) -> None:
    """With a larger budget the used tokens never fall, and the best differing unit is in the larger budget's result."""
    smaller, larger = sorted(budgets)
    few, many = pack(tokens, smaller, k), pack(tokens, larger, k)
    assert cost(tokens, many) >= cost(tokens, few)
    if differing := set(few) ^ set(many):
        assert min(differing) in many
        assert cost(tokens, many) > smaller
