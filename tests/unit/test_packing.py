"""Packing: the budget holds, rank decides, and more budget never costs anything."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_integrations.tempr.recall.packing import pack, pack_with_needs

TOKENS = st.lists(st.integers(0, 12), max_size=14)
BUDGET = st.integers(0, 60)
K = st.one_of(st.none(), st.integers(0, 8))


def cost(tokens: list[int], kept: list[int]) -> int:
    return sum(tokens[position] for position in kept)


@st.composite
def ranked_items(draw: st.DrawFn) -> tuple[list[int], list[int] | None]:
    """Token costs in rank order and, sometimes, group labels."""
    tokens = draw(TOKENS)
    labels = st.lists(st.integers(0, 5), min_size=len(tokens), max_size=len(tokens))
    return tokens, draw(st.one_of(st.none(), labels))


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


def test_a_unit_never_comes_without_its_amendments() -> None:
    """Position 0 and its amendment at 2 are kept together or not at all."""
    groups = [7, 8, 7]
    assert pack([40, 30, 40], 100, groups=groups) == [0, 2]
    assert pack([40, 30, 40], 79, groups=groups) == [1]
    assert pack([40, 30, 40], 110, groups=groups) == [0, 1, 2]


def test_a_group_too_large_for_k_is_skipped_whole() -> None:
    """A hard limit of one unit takes the next unit that stands alone."""
    assert pack([1, 1, 1], 100, k=1, groups=[7, 7, 8]) == [2]


def test_nothing_fits_a_budget_below_zero() -> None:
    """Even a free unit needs a budget."""
    assert pack([0, 3], -1) == []
    assert pack([0, 3], 0) == [0]


def test_more_budget_may_change_the_units_but_for_better_ones() -> None:
    """Of sizes 6 and 5, a budget of 5 holds the second, one of 6 the first: nesting is not promised, rank is."""
    assert pack([6, 5], 5) == [1]
    assert pack([6, 5], 6) == [0]


@settings(max_examples=200, deadline=None)
@given(ranked=ranked_items(), budget=BUDGET, k=K)
def test_the_budget_always_holds_and_groups_stay_whole(
    ranked: tuple[list[int], list[int] | None], budget: int, k: int | None
) -> None:
    """Paper eq. 8, the k limit, one position once, and no half group."""
    tokens, groups = ranked
    kept = pack(tokens, budget, k, groups)
    assert cost(tokens, kept) <= budget
    assert k is None or len(kept) <= k
    assert kept == sorted(set(kept))
    if groups is not None:
        inside = {groups[position] for position in kept}
        assert kept == [position for position, label in enumerate(groups) if label in inside]


@settings(max_examples=200, deadline=None)
@given(ranked=ranked_items(), budget=BUDGET)
def test_nothing_left_out_would_still_fit(ranked: tuple[list[int], list[int] | None], budget: int) -> None:
    """No room is wasted that a skipped item could have used."""
    tokens, groups = ranked
    kept = pack(tokens, budget, groups=groups)
    labels = list(range(len(tokens))) if groups is None else groups
    for label in set(labels) - {labels[position] for position in kept}:
        members = [position for position, other in enumerate(labels) if other == label]
        assert cost(tokens, kept) + cost(tokens, members) > budget


@settings(max_examples=500, deadline=None)
@given(ranked=ranked_items(), budgets=st.tuples(BUDGET, BUDGET), k=K)
def test_a_larger_budget_is_used_at_least_as_fully_and_by_better_units(
    ranked: tuple[list[int], list[int] | None], budgets: tuple[int, int], k: int | None
) -> None:
    """Tokens used never fall as the budget rises, and the best unit that differs is one the larger budget has."""
    tokens, groups = ranked
    smaller, larger = sorted(budgets)
    few, many = pack(tokens, smaller, k, groups), pack(tokens, larger, k, groups)
    assert cost(tokens, many) >= cost(tokens, few)
    if differing := set(few) ^ set(many):
        assert min(differing) in many
        assert cost(tokens, many) > smaller


def shown(max_tokens: int, k: int | None = None) -> tuple[tuple[int, ...], int]:
    """Units 1 to 4 of 10 tokens each; 2 must not be read without 1, nor 4 without 9, which was not found."""
    found = pack_with_needs(
        [1, 2, 3, 4], dict.fromkeys([1, 2, 3, 4, 9], 10), {2: (1,), 4: (9,)}, max_tokens=max_tokens, k=k
    )
    return found.rows, found.tokens


def test_what_a_unit_needs_is_paid_once() -> None:
    """A unit kept already moves beneath the one that needs it, at no further cost, and that one takes its place."""
    assert shown(10) == ((1,), 10)
    assert shown(20) == ((2,), 20)
    assert shown(30) == ((2, 3), 30)
    assert shown(40) == ((2, 3), 30)
    assert shown(50) == ((2, 3, 4), 50)
    assert shown(50, k=1) == ((2,), 20)


@given(
    order=st.permutations(range(8)),
    costs=st.lists(st.integers(0, 20), min_size=8, max_size=8),
    pairs=st.sets(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=6),
    budgets=st.tuples(st.integers(0, 120), st.integers(0, 120)),
)
def test_needs_keep_the_budget_and_its_monotony(
    order: list[int], costs: list[int], pairs: set[tuple[int, int]], budgets: tuple[int, int]
) -> None:
    """Nothing is shown without what it needs, nothing twice, the budget holds, and more budget never uses less."""
    needs: dict[int, tuple[int, ...]] = {}
    for unit, other in sorted(pairs):
        if unit > other:  # what is needed came later in time; there are no circles
            needs[unit] = (*needs.get(unit, ()), other)
    closed = {unit: tuple(dict.fromkeys(_closure(unit, needs))) for unit in needs}
    low, high = sorted(budgets)
    used = []
    for budget in (low, high):
        found = pack_with_needs(order, dict(enumerate(costs)), closed, max_tokens=budget)
        served = {*found.rows, *(other for row in found.rows for other in closed.get(row, ()))}
        assert found.tokens == sum(costs[row] for row in served) <= budget
        assert list(found.places) == sorted(found.places)
        assert len(set(found.rows)) == len(found.rows)
        used.append(found.tokens)
    assert used[0] <= used[1]


def _closure(unit: int, needs: dict[int, tuple[int, ...]]) -> list[int]:
    return [found for other in needs.get(unit, ()) for found in (other, *_closure(other, needs))]
