"""Categories of records: which spellings are one category."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from table import every_row

from hindsight_integrations.language.categories import category_key, category_name
from hindsight_integrations.model.records import RecordKind

PIECES = ["coffee", " ", "food", "(", ")", ": ", " - ", "the ", " purchases", "_", "km", "5", "."]


@every_row(
    ("kind", "spellings"),
    [
        (
            "expense",
            [
                "coffee",
                "Coffee",
                "coffees",
                "food (coffee)",
                "food: coffee",
                "food - coffee",
                "food > coffee",
                "coffee purchase",
                "coffee (purchases)",
                "coffee (USD)",
                "my coffee",
            ],
        ),
        ("expense", ["grocery", "groceries", "Groceries "]),
        (
            "quantity",
            ["steps", "step", "step count", "step_count", "daily steps", "number of steps", "steps taken"],
        ),
        ("preference", ["movie", "movies", "Movie preferences", "favourite movies"]),
        ("goal", ["coffee", "weekly coffee budget", "coffee spending limit"]),
    ],
)
def test_spellings_of_one_category(kind: str, spellings: list[str]) -> None:
    """Singular and plural, a qualified form, and words about the recording do not matter."""
    assert len({category_key(spelling, RecordKind(kind)) for spelling in spellings}) == 1


@every_row(
    ("kind", "one", "other"),
    [
        ("expense", "coffee beans", "coffee"),
        ("expense", "running shoes", "running"),
        ("expense", "lunch meeting", "lunch"),
        ("expense", "coffee/food", "coffee"),
        ("expense", "coffee/food", "food"),
        ("expense", "car payment", "car"),
        ("expense", "coffee (with Anna and Tom)", "coffee"),
        ("quantity", "weekly steps", "steps"),
        ("quantity", "total steps", "steps"),
        ("quantity", "average steps", "steps"),
        ("quantity", "running", "run"),
        ("quantity", "university", "universe"),
        ("quantity", "business", "busy"),
        ("task", "news", "new"),
        ("expense", "film", "movie"),
        ("expense", "phase 1", "phase 2"),
    ],
)
def test_what_may_be_another_category_is_one(kind: str, one: str, other: str) -> None:
    """A wrong merge gives a wrong sum, so any remaining word keeps two categories separate."""
    assert category_key(one, RecordKind(kind)) != category_key(other, RecordKind(kind))


@every_row(
    ("stated", "name"),
    [
        ("Food (Coffee)", "coffee"),
        ("daily steps", "steps"),
        ("cup of coffee", "cup of coffee"),
        ("purchase", "purchase"),
        ("books: non-fiction", "non-fiction"),
    ],
)
def test_how_a_category_is_called(stated: str, name: str) -> None:
    """A category is named as it was first stated, without words about the recording."""
    assert category_name(stated, RecordKind.EXPENSE) == name


@given(
    stated=st.text(max_size=30) | st.lists(st.sampled_from(PIECES)).map("".join),
    kind=st.sampled_from(RecordKind),
)
def test_a_name_is_a_spelling_of_its_own_category(stated: str, kind: RecordKind) -> None:
    """The name that `categories` shows finds the category."""
    name = category_name(stated, kind)
    assert category_name(name, kind) == name
    assert category_key(name, kind) == category_key(stated, kind)


@every_row("piece", ["a: ", "(", "(a) ", "food > ", " - ", "the ", "a (b) "])
def test_an_endless_category_costs_no_time_and_no_error(piece: str) -> None:
    """Whatever a model writes as a category has a name and a key."""
    assert category_key(category_name(piece * 3_000, RecordKind.EXPENSE), RecordKind.EXPENSE) == category_key(
        piece * 3_000, RecordKind.EXPENSE
    )
