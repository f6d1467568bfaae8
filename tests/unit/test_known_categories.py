"""Resolving spellings to a bank's categories, and choosing which to show a model."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hindsight_integrations.language.categories import KnownCategories, categories_to_show
from hindsight_integrations.model.records import RecordCategory, RecordKind

EXPENSE, FILM = RecordKind.EXPENSE, RecordKind.PREFERENCE
WORDS = [
    "coffee",
    "coffees",
    "food (coffee)",
    "coffee beans",
    "bean",
    "Beans",
    "my coffee",
    "food: bean",
    "tea - coffee",
]


def category(name: str, *spellings: str, kind: RecordKind = EXPENSE, records: int = 1) -> RecordCategory:
    return RecordCategory(kind, name, spellings, records)


def test_a_spelling_that_is_given_wins_over_one_that_is_like_it() -> None:
    """An exact spelling takes precedence over an equivalent one."""
    known = KnownCategories([category("films", "films"), category("my films", "my films")])
    assert known.named("My Films", EXPENSE) == ("my films",)
    assert known.named("films", EXPENSE) == ("films",)
    assert known.named("film", EXPENSE) == ("films", "my films")
    assert known.named("films", FILM) == ()


def test_a_further_spelling_leads_to_its_category() -> None:
    """Merged categories are found by every spelling."""
    known = KnownCategories([category("movies", "film", "movies")])
    assert known.named("films", EXPENSE) == ("movies",)
    assert known.resolved("Films", EXPENSE) == "movies"


@given(
    st.lists(st.sampled_from(WORDS), min_size=1).flatmap(
        lambda some: st.tuples(st.just(some), st.permutations(some))
    )
)
def test_what_is_one_category_does_not_depend_on_the_order(orders: tuple[list[str], list[str]]) -> None:
    """Grouping does not depend on order, and resolving again changes nothing."""
    stated, shuffled = orders
    known, other = KnownCategories([]), KnownCategories([])
    first = {text: known.resolved(text, EXPENSE) for text in stated}
    second = {text: other.resolved(text, EXPENSE) for text in shuffled}
    assert {(a, b) for a in first for b in first if first[a] == first[b]} == {
        (a, b) for a in second for b in second if second[a] == second[b]
    }
    assert {text: known.resolved(text, EXPENSE) for text in stated} == first
    assert {known.resolved(name, EXPENSE) for name in first.values()} == set(first.values())


def test_two_thousand_categories_do_not_fill_a_prompt() -> None:
    """The budget holds; named categories come first, then the most used of every kind."""
    many = [category(f"film {n}", kind=FILM, records=2_000 - n) for n in range(2_000)]
    few = [category("coffee", records=3), category("rent", records=2)]
    shown = categories_to_show([*many, *few], "We saw Film 1999 again.", limit=100)
    assert shown[EXPENSE] == ("coffee", "rent")
    assert shown[FILM][:3] == ("film 1999", "film 0", "film 1")
    assert sum(len(name) / 3 + 1 for names in shown.values() for name in names) <= 100
    assert categories_to_show(few, limit=0) == {}


def test_a_name_too_long_for_the_budget_costs_the_others_nothing() -> None:
    """A name over the budget is skipped; others are still shown."""
    shown = categories_to_show([category("x" * 900, records=9), category("tea")], limit=20)
    assert shown == {EXPENSE: ("tea",)}


def test_tokens_are_counted_by_whoever_counts_them() -> None:
    """With a token counter, the budget is in its tokens, including separators."""
    shown = categories_to_show(
        [category("a b c"), category("d")], limit=5, count=lambda texts: [3] * len(texts)
    )
    assert shown == {EXPENSE: ("a b c",)}
