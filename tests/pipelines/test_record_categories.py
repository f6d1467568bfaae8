"""Categories of records in a bank: resolved when stored and queried, listed, merged and split."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from itertools import islice, permutations
from typing import Any

import pytest

from hindsight_integrations import Hindsight, InvalidRequest, MemoryBank, Message

Stated = tuple[str, str, object]
"""Kind, category and value of a record as a model wrote them."""


def told(bank: MemoryBank, *records: Stated, day: int = 1, unit: str = "USD") -> None:
    """Retain one conversation with a message for each record."""
    messages, facts = [], []
    for minute, (kind, category, value) in enumerate(records):
        said = f"On {day} June at 9:{minute:02}: {kind} {category} {value}"
        moment = datetime(2025, 6, day, 9, minute, tzinfo=UTC)
        record = {"kind": kind, "category": category, "value": value, "unit": unit}
        messages.append(Message(said, "Bob", id=f"{day}-{minute}", timestamp=moment))
        facts.append({"what": said, "records": [record], "sources": [f"{day}-{minute}"]})
    bank.retain(messages, facts=facts)


def listed(bank: MemoryBank, kind: str | None = None) -> dict[str, tuple[tuple[str, ...], int]]:
    return {
        category.name: (category.spellings, category.records) for category in bank.records.categories(kind)
    }


def test_a_category_in_other_words_is_the_one_the_bank_has(light: Hindsight) -> None:
    """Five spellings of coffee over three days are one category; its records have its name and the original spelling."""
    bank = light.bank("b")
    told(bank, ("expense", "coffee", 1), ("expense", "coffee beans", 9))
    told(bank, ("expense", "Food (Coffee)", 2), ("purchase", "coffees", 3), day=2)
    told(bank, ("expense", "food: coffee", 4), ("coffee purchase", "", 5), day=3)
    assert listed(bank) == {
        "coffee": (("coffee", "coffees", "food (coffee)", "food: coffee"), 5),
        "coffee beans": (("coffee beans",), 1),
    }
    found = bank.records.list(kind="expense", category="coffee")
    assert {entry.record.category for entry in found} == {"coffee"}
    assert [entry.record.stated for entry in found] == [
        "coffee",
        "Food (Coffee)",
        "coffees",
        "food: coffee",
        "coffee",
    ]
    total = bank.records.aggregate("sum", kind="expense", category="coffees")
    assert (total.value, total.spellings) == (
        Decimal(15),
        ("Food (Coffee)", "coffee", "coffees", "food: coffee"),
    )


def test_the_order_of_spellings_decides_no_sum(light: Hindsight) -> None:
    """Whichever spelling comes first, the same records are added up."""
    spellings = ("steps", "step count", "daily steps", "walking shoes")
    for n, order in enumerate(islice(permutations(spellings), 0, None, 5)):
        bank = light.bank(f"b{n}")
        told(bank, *(("quantity", spelling, 10 ** spellings.index(spelling)) for spelling in order), unit="")
        assert bank.records.aggregate("sum", kind="quantity", category="step").value == 111


def test_categories_of_two_kinds_are_two(light: Hindsight) -> None:
    """The goal for coffee and the expenses for coffee are different categories with the same name."""
    bank = light.bank("b")
    told(bank, ("expense", "coffee", 4), ("goal", "weekly coffee budget", 30))
    assert bank.records.aggregate("sum", kind="expense", category="coffee").value == 4
    assert bank.records.aggregate("last", kind="goal", category="coffee").value == 30
    assert listed(bank, "budget") == {"coffee": (("coffee", "weekly coffee budget"), 1)}


def test_categories_say_what_their_values_are_in(light: Hindsight) -> None:
    """A category lists the units in which a sum is possible, the most used first."""
    bank = light.bank("b")
    told(bank, ("distance", "run", 1), ("distance", "run", 2), unit="km")
    told(bank, ("distance", "run", 3), day=2, unit="minutes")
    told(bank, ("task", "garden", "mow the lawn"), day=3, unit="")
    assert [(c.kind, c.name, c.units) for c in bank.records.categories()] == [
        ("quantity", "run", ("km", "min")),
        ("task", "garden", ()),
    ]


def test_what_was_replaced_enters_no_sum(light: Hindsight) -> None:
    """One of two purchases in a memory was returned: the replacing fact contains the other; before it both counted."""
    bank = light.bank("b")

    def bought(day: int, said: str, *values: int, **fact: Any) -> None:
        records = [{"kind": "expense", "category": "home", "value": value, "unit": "EUR"} for value in values]
        message = Message(said, "Bob", id=str(day), timestamp=datetime(2025, 6, day, tzinfo=UTC))
        result = bank.retain(
            [message], facts=[{"what": said, "records": records, "sources": [str(day)], **fact}]
        )
        assert result.dropped == ()

    bought(1, "Bob bought a lamp for 30 EUR and a chair for 50 EUR.", 30, 50)
    replaces = [{"sources": ["1"], "change": "replaces", "removed": ["a lamp for 30 EUR"]}]
    bought(3, "Bob returned the lamp and kept the chair for 50 EUR.", 50, changes=replaces)
    assert bank.records.aggregate("sum", category="home").value == 50
    assert bank.records.aggregate("sum", category="home", as_of="2025-06-02").value == 80
    assert bank.records.aggregate("sum", category="home", as_of="2025-06-04").value == 50
    everything = bank.records.list(category="home", include_invalidated=True)
    stood = sorted((str(entry.record.value), entry.memory.closed_at is None) for entry in everything)
    assert stood == [("30", False), ("50", False), ("50", True)]


def test_merged_categories_are_one_until_they_are_parted(light: Hindsight) -> None:
    """Films and movies are one category after a merge, for later records too; a split restores both."""
    bank = light.bank("b")
    told(bank, ("expense", "movies", 10), ("expense", "film", 7))
    assert bank.records.aggregate("sum", kind="expense", category="movie").value == 10
    merged = bank.records.merge("expense", "movie", "films")
    assert (merged.name, merged.spellings, merged.records) == ("movies", ("film", "movies"), 2)
    told(bank, ("expense", "films", 5), day=2)
    for asked in ("movie", "film", "entertainment (films)"):
        assert bank.records.aggregate("sum", kind="expense", category=asked).value == 22
    bank.records.split("expense", "movies", spellings=["film", "films"])
    assert bank.records.aggregate("sum", kind="expense", category="film").value == 12
    assert bank.records.aggregate("sum", kind="expense", category="movies").value == 10


def test_what_somebody_parted_stays_apart(light: Hindsight) -> None:
    """A spelling that was split off stays separate, although it is similar to the other."""
    bank = light.bank("b")
    told(bank, ("expense", "coffee", 1), ("expense", "work (coffee)", 2))
    bank.records.split("expense", "coffee", spellings=["work (coffee)"])
    told(bank, ("expense", "coffee", 10), ("expense", "Work (Coffee)", 20), day=2)
    assert bank.records.aggregate("sum", kind="expense", category="coffee").value == 11
    assert bank.records.aggregate("sum", kind="expense", category="work (coffee)").value == 22


def test_a_merge_of_what_is_not_there_is_refused(light: Hindsight) -> None:
    """The error names the unknown category and where to find the names; a category cannot be merged with itself."""
    bank = light.bank("b")
    told(bank, ("expense", "coffee", 1))
    with pytest.raises(
        InvalidRequest, match=r"'tea' is not known. Pass a name from records.categories\('expense'\)"
    ):
        bank.records.merge("expense", "coffee", "tea")
    with pytest.raises(InvalidRequest, match="are the same category"):
        bank.records.merge("expense", "coffee", "food (coffee)")


def test_a_category_nobody_uses_any_more_is_gone(light: Hindsight) -> None:
    """A forgotten category leaves no name behind, and is created again with its next record."""
    bank = light.bank("b")
    told(bank, ("expense", "therapy", 90))
    bank.forget(everything=True)
    assert listed(bank) == {}
    told(bank, ("expense", "therapies", 80), day=2)
    assert bank.records.aggregate("sum", category="therapy").value == 80


def test_asking_for_what_the_bank_has_not_gives_nothing(light: Hindsight) -> None:
    """An unknown category is not an error: a bank without coffee spent 0 on it."""
    bank = light.bank("b")
    told(bank, ("expense", "coffee", 1))
    assert bank.records.list(category="tea") == []
    assert bank.records.aggregate("sum", kind="expense", category="tea").value == 0
    assert bank.records.aggregate("last", kind="expense", category="tea").value is None
