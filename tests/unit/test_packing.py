"""Packing: the budget holds, rank decides, and more budget never costs anything."""

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
    """The best that fit are kept, positions rising."""
    assert pack([30, 40, 30, 10], 100) == [0, 1, 2]


def test_what_does_not_fit_is_skipped_not_the_end() -> None:
    """One long memory does not cost the short ones behind it."""
    assert pack([50, 80, 30, 20], 100) == [0, 2, 3]


def test_k_limits_the_number_of_units() -> None:
    """Whoever asks for two gets two, whatever the budget."""
    assert pack([1, 1, 1], 100, k=2) == [0, 1]
    assert pack([1, 1, 1], 100, k=0) == []


def test_nothing_fits_a_budget_below_zero() -> None:
    """Even a free unit needs a budget."""
    assert pack([0, 3], -1) == []
    assert pack([0, 3], 0) == [0]


def test_more_budget_may_change_the_units_but_for_better_ones() -> None:
    """Of sizes 6 and 5, a budget of 5 holds the second, one of 6 the first: nesting is not promised, rank is."""
    assert pack([6, 5], 5) == [1]
    assert pack([6, 5], 6) == [0]


@settings(max_examples=40, deadline=None)
@given(tokens=TOKENS, budget=BUDGET, k=K)
def test_the_budget_always_holds(tokens: list[int], budget: int, k: int | None) -> None:
    """Paper eq. 8, the k limit, one position once and in rank order."""
    kept = pack(tokens, budget, k)
    assert cost(tokens, kept) <= budget
    assert k is None or len(kept) <= k
    assert kept == sorted(set(kept))


@settings(max_examples=40, deadline=None)
@given(tokens=TOKENS, budget=BUDGET)
def test_nothing_left_out_would_still_fit(tokens: list[int], budget: int) -> None:
    """No room is wasted that a skipped unit could have used."""
    kept = pack(tokens, budget)
    for position in set(range(len(tokens))) - set(kept):
        assert cost(tokens, kept) + tokens[position] > budget


@settings(max_examples=40, deadline=None)
@given(tokens=TOKENS, budgets=st.tuples(BUDGET, BUDGET), k=K)
def test_a_larger_budget_is_used_at_least_as_fully_and_by_better_units(
    tokens: list[int], budgets: tuple[int, int], k: int | None
) -> None:
    """Tokens used never fall as the budget rises, and the best unit that differs is one the larger budget has."""
    smaller, larger = sorted(budgets)
    few, many = pack(tokens, smaller, k), pack(tokens, larger, k)
    assert cost(tokens, many) >= cost(tokens, few)
    if differing := set(few) ^ set(many):
        assert min(differing) in many
        assert cost(tokens, many) > smaller
