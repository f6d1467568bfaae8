"""Records: sums, counts and lists are complete and exact."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from table import every_row

from hindsight_integrations import (
    Aggregation,
    FactType,
    Hindsight,
    InvalidRequest,
    MemoryBank,
    MemoryUnit,
    Message,
    RecordEntry,
)
from hindsight_integrations.model.records import Record, RecordKind
from hindsight_integrations.model.units import ValidityKind
from hindsight_integrations.recall.listing import aggregate

ROWS: list[tuple[str, str | None, dict[str, Any]]] = [
    (
        "coffee on Sunday",
        "2025-06-01",
        {"kind": "expense", "category": "coffee", "value": 3.41, "unit": "USD"},
    ),
    ("lunch on Monday", "2025-06-02", {"kind": "expense", "category": "lunch", "value": 9.84, "unit": "USD"}),
    (
        "coffee on Monday",
        "2025-06-02",
        {"kind": "expense", "category": "coffee", "value": 0.1, "unit": "USD"},
    ),
    (
        "coffee on Tuesday",
        "2025-06-03",
        {"kind": "expense", "category": "coffee", "value": 0.2, "unit": "USD"},
    ),
    (
        "a dinner in Porto",
        "2025-06-04",
        {"kind": "expense", "category": "dinner", "value": "12", "unit": "EUR"},
    ),
    ("a film I like", None, {"kind": "preference", "category": "film", "value": "Alien"}),
]


@pytest.fixture
def bank(light: Hindsight) -> MemoryBank:
    bank = light.bank("spender")
    facts: list[dict[str, Any]] = [
        {"what": what, "occurred_start": day, "record": record, "sources": [f"m{n}"]}
        for n, (what, day, record) in enumerate(ROWS)
    ]
    messages = [{"content": f["what"], "id": f["sources"][0], "timestamp": "2025-06-08"} for f in facts]
    bank.retain(messages, facts=facts)
    return bank


def test_records_are_listed_in_order_of_time(bank: MemoryBank) -> None:
    """Every record of a kind is listed, oldest first, ignoring case; undated ones at their mention."""
    assert [e.memory.text for e in bank.records.list(kind="Expense")] == [
        what for what, _, r in ROWS if r["kind"] == "expense"
    ]
    assert [e.memory.text for e in bank.records.list()][-1] == "a film I like"
    assert [
        e.memory.text for e in bank.records.list(category="coffee", window=("2025-06-02", "2025-06-03"))
    ] == ["coffee on Monday"]


@every_row(
    ("how", "value"),
    [
        ("sum", "3.71"),
        ("count", "3"),
        ("min", "0.1"),
        ("max", "3.41"),
        ("last", "0.2"),
        ("mean", Decimal("3.71") / 3),
    ],
)
def test_coffee_adds_up_exactly(bank: MemoryBank, how: str, value: Any) -> None:
    """0.1 + 0.2 + 3.41 is 3.71, not 3.7100000000000004, and the memories used are returned."""
    found = bank.records.aggregate(how, kind="expense", category="coffee")
    assert found.value == Decimal(value)
    assert len(found.units) == (1 if how == "last" else 3)


def test_unlike_units_are_not_added(bank: MemoryBank) -> None:
    """Dollars and euros together raise an error that names both; one of them alone can be added up."""
    with pytest.raises(InvalidRequest, match="EUR, USD"):
        bank.records.aggregate("sum", kind="expense")
    found = bank.records.aggregate("sum", kind="expense", unit="USD")
    assert (found.value, found.unit) == (Decimal("13.55"), "USD")


def test_text_is_counted_and_shown_but_not_added(bank: MemoryBank) -> None:
    """A preference counts, and can be the last value; a sum leaves it out and says so."""
    assert bank.records.aggregate("count", kind="preference").value == 1
    assert bank.records.aggregate("last", kind="preference").value == "Alien"
    found = bank.records.aggregate("sum", kind="preference")
    assert (found.value, [u.text for u in found.left_out]) == (Decimal(0), ["a film I like"])


def test_nothing_found_is_an_answer(bank: MemoryBank) -> None:
    """Without records the sum and count are 0, the others None; the error for an unknown aggregation names it."""
    assert [bank.records.aggregate(how, kind="steps").value for how in Aggregation] == [
        Decimal(0),
        Decimal(0),
        None,
        None,
        None,
        None,
    ]
    with pytest.raises(InvalidRequest, match="Use one of: sum, count, mean"):
        bank.records.aggregate("median", kind="expense")


def test_as_of_counts_what_was_known_then(bank: MemoryBank) -> None:
    """Before the first record there is nothing to add."""
    assert bank.records.aggregate("count", kind="expense", as_of="2025-06-07").value == 0


@given(st.lists(st.decimals(-1000, 1000, places=2, allow_nan=False), min_size=1, max_size=20))
def test_aggregates_agree_with_each_other(values: list[Decimal]) -> None:
    """min <= mean <= max, and mean times count is the sum, for any values."""
    entries = [
        RecordEntry(
            Record(RecordKind.QUANTITY, value),
            MemoryUnit(f"u{n}", "b", "t", FactType.WORLD, datetime(2025, 1, 1, tzinfo=UTC)),
        )
        for n, value in enumerate(values)
    ]
    found = {how: aggregate(entries, how).value for how in Aggregation}
    low, mean, high, total = (
        found[how] for how in (Aggregation.MIN, Aggregation.MEAN, Aggregation.MAX, Aggregation.SUM)
    )
    assert all(isinstance(value, Decimal) for value in (low, mean, high, total))
    assert float(low) - 1e-9 <= float(mean) <= float(high) + 1e-9  # type: ignore[arg-type] # asserted above
    assert abs(float(mean) * len(values) - float(total)) < 1e-6  # type: ignore[arg-type] # asserted above


def test_a_record_erased_while_it_is_read_is_left_out(
    bank: MemoryBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A memory forgotten between finding its record and reading it is missing from list and sum, and nothing fails."""
    from hindsight_integrations.ledger.units import UnitReader

    real = UnitReader.get

    def without(self: UnitReader, name: str, ids: Any) -> Any:
        return {row: unit for row, unit in real(self, name, ids).items() if "Sunday" not in unit.text}

    monkeypatch.setattr(UnitReader, "get", without)
    assert [e.memory.text for e in bank.records.list(category="coffee")] == [
        "coffee on Monday",
        "coffee on Tuesday",
    ]
    assert bank.records.aggregate("sum", category="coffee").value == Decimal("0.3")


def test_only_what_the_tags_select_is_added_up(light: Hindsight) -> None:
    """A sum over one user's memories contains nothing of another's."""
    bank = light.bank("shared")
    for n, (tags, value) in enumerate(((["ann"], "3"), (["bob"], "5"), ([], "7"), (["ann", "trip"], "11"))):
        record = {"kind": "expense", "category": "tea", "value": value, "unit": "USD"}
        message = {"content": f"Tea for {value}.", "id": f"m{n}"}
        bank.retain(
            [message], facts=[{"what": f"Tea for {value}.", "record": record}], tags=tags, thread=str(n)
        )
    cases: list[tuple[dict[str, Any], int]] = [
        ({}, 26),
        ({"tags": ["ann"]}, 21),
        ({"tags": ["ann"], "tags_match": "any_strict"}, 14),
        ({"tags_match": "exact"}, 7),
        ({"tag_groups": {"not": {"tags": ["ann"]}}}, 12),
    ]
    for selected, total in cases:
        assert bank.records.aggregate("sum", kind="expense", **selected).value == total, selected
        listed = bank.records.list(kind="expense", **selected)
        assert sum(entry.record.value for entry in listed if isinstance(entry.record.value, Decimal)) == total


def test_each_record_of_a_memory_counts_once(light: Hindsight) -> None:
    """From a memory with three purchases and a to-do, the sum uses the selected purchases, and lists the memory once."""
    bank = light.bank("errands")
    errands = [
        {"kind": "expense", "category": "tea", "value": 4, "unit": "EUR"},
        {"kind": "expense", "category": "bread", "value": 3, "unit": "EUR"},
        {"kind": "expense", "category": "tea", "value": 2, "unit": "USD"},
        {"kind": "todo", "value": "call Ann"},
    ]
    said = "Bob bought tea twice and bread, and must call Ann."
    bank.retain([Message(said, "Bob", id="e")], facts=[{"what": said, "records": errands, "sources": ["e"]}])
    tea = bank.records.aggregate("sum", kind="expense", category="tea", unit="EUR")
    assert (tea.value, tea.unit) == (Decimal(4), "EUR")
    assert [unit.text for unit in tea.units] == [said]
    assert bank.records.aggregate("count", kind="expense").value == 3
    assert [e.memory.text for e in bank.records.list(kind="todo")] == [said]
    assert bank.records.list(kind="todo", category="tea") == []


def test_words_for_a_kind_find_what_they_stored(light: Hindsight) -> None:
    """Steps are a quantity; records stored as "steps" are found as "steps"."""
    bank = light.bank("walks")
    said = "Bob walked 9000 steps."
    record = {"kind": "steps", "value": 9000, "unit": "steps"}
    bank.retain([Message(said, "Bob", id="w")], facts=[{"what": said, "record": record, "sources": ["w"]}])
    for kind, category in (("Steps", None), ("quantity", None), ("quantity", "steps"), (None, "steps")):
        assert bank.records.aggregate("sum", kind=kind, category=category).value == 9000


Stated = tuple[str, str, Any, str]
"""Kind, category, value and unit of a record as a model wrote them."""


def told(bank: MemoryBank, *records: Stated, day: int = 1) -> None:
    """Retain one message per record, a minute apart."""
    for minute, (kind, category, value, unit) in enumerate(records):
        said = f"On {day} June, {minute}: {kind} {category} {value} {unit}"
        moment = datetime(2025, 6, day, 9, minute, tzinfo=UTC)
        record = {"kind": kind, "category": category, "value": value, "unit": unit}
        message = Message(said, "Bob", id=f"{day}-{minute}", timestamp=moment)
        bank.retain([message], facts=[{"what": said, "records": [record], "sources": [message.id]}])


def test_an_entry_says_what_when_and_where_it_stands(light: Hindsight) -> None:
    """Each record has its memory and its time; of a memory with several records, each is listed separately."""
    bank = light.bank("list")
    said = "Bob bought tea and bread on 2 June."
    records = [
        {"kind": "purchase", "category": "tea", "value": "4,50 €"},
        {"kind": "purchase", "category": "bread", "value": 3, "unit": "euros"},
    ]
    fact = {"what": said, "occurred_start": "2025-06-02", "records": records, "sources": ["a"]}
    bank.retain([Message(said, "Bob", id="a", timestamp=datetime(2025, 6, 3, tzinfo=UTC))], facts=[fact])
    found = bank.records.list(kind="expense")
    assert [(e.record.category, e.record.value, e.record.unit) for e in found] == [
        ("tea", Decimal("4.50"), "EUR"),
        ("bread", Decimal(3), "EUR"),
    ]
    assert {(e.memory.text, e.at) for e in found} == {(said, datetime(2025, 6, 2, tzinfo=UTC))}


def test_one_category_in_many_spellings_is_one_sum(light: Hindsight) -> None:
    """All spellings of coffee are summed, the sum lists the spellings used, and beans are not included."""
    bank = light.bank("coffee")
    told(
        bank,
        ("expense", "coffee", 3.41, "USD"),
        ("expense", "food (coffee)", "$4.24", ""),
        ("purchase", "Coffees", "2.35", "dollars"),
        ("expense", "coffee beans", 12, "USD"),
        ("expense", "lunch meeting", 20, "USD"),
    )
    for asked in ("coffee", "coffees", "food: coffee", "coffee purchases"):
        found = bank.records.aggregate("sum", kind="expense", category=asked)
        assert (found.value, found.unit) == (Decimal("10.00"), "USD")
        assert found.spellings == ("Coffees", "coffee", "food (coffee)")
        assert len(found.units) == 3
    assert bank.records.aggregate("sum", kind="expense", category="lunch").value == 0


def test_steps_are_one_sum_whatever_they_were_called(light: Hindsight) -> None:
    """Step count, daily steps, and a walk counted in steps: a week's steps are complete."""
    bank = light.bank("steps")
    told(
        bank,
        ("step count", "", 4956, "step"),
        ("quantity", "daily steps", 5000, "steps"),
        ("steps", "walking", "8k", "steps"),
        ("quantity", "walking", 3, "km"),
    )
    for kind, category in (("steps", None), ("quantity", "steps"), ("step count", None), (None, "step")):
        assert bank.records.aggregate("sum", kind=kind, category=category).value == 4956 + 5000 + 8000
    assert bank.records.aggregate("sum", kind="quantity", category="walking", unit="km").value == 3


def test_compatible_units_are_converted_and_the_answer_says_so(light: Hindsight) -> None:
    """Two runs in kilometres and one in miles give a sum in kilometres, exact, and miles are named."""
    bank = light.bank("runs")
    runs: list[Stated] = [
        ("distance", "run", 5, "km"),
        ("distance", "run", 1, "mile"),
        ("distance", "run", "2.5 km", ""),
    ]
    told(bank, *runs)
    found = bank.records.aggregate("sum", kind="quantity", category="run")
    assert (found.value, found.unit, found.converted) == (Decimal("9.109344"), "km", ("mi",))
    assert bank.records.aggregate("max", kind="quantity", category="run").value == 5
    told(bank, ("distance", "run", 30, "minutes"), day=2)
    with pytest.raises(InvalidRequest, match=r"their values are in km, mi, min.*Pass unit='km'"):
        bank.records.aggregate("sum", kind="quantity", category="run")


def test_two_currencies_in_one_value_enter_no_sum(light: Hindsight) -> None:
    """ "3 USD or 2.80 EUR" stays text, is left out of the sum, and the answer shows it."""
    bank = light.bank("both")
    told(bank, ("expense", "tea", 4, "USD"), ("expense", "tea", "3 USD or 2.80 EUR", ""))
    found = bank.records.aggregate("sum", kind="expense", category="tea")
    assert (found.value, found.unit, len(found.left_out)) == (Decimal(4), "USD", 1)
    assert bank.records.aggregate("count", kind="expense", category="tea").value == 2


def test_what_is_of_no_kind_is_left_out_unless_it_is_named(light: Hindsight) -> None:
    """A number without a kind is not added to a sum over everything; the answer lists its memory."""
    bank = light.bank("other")
    told(bank, ("quantity", "pages", 30, "pages"), ("zodiac number", "", 7, "pages"))
    found = bank.records.aggregate("sum", unit="pages")
    assert (found.value, len(found.left_out)) == (Decimal(30), 1)
    assert bank.records.aggregate("sum", kind="other").value == 7
    assert bank.records.aggregate("sum", kind="zodiac number").value == 7


def test_what_no_longer_holds_is_listed_on_request_alone(light: Hindsight) -> None:
    """A record in a closed memory is in no sum; earlier values can still be requested."""
    bank = light.bank("closed")
    told(bank, ("task", "", "call the plumber", ""))
    later = datetime(2025, 6, 3, tzinfo=UTC)
    undone = {
        "what": "Bob called the plumber.",
        "sources": ["z"],
        "invalidates": [bank.units().units[0].text],
    }
    bank.retain([Message("I called the plumber", "Bob", id="z", timestamp=later)], facts=[undone])
    assert bank.records.list(kind="todo") == []
    assert [e.record.value for e in bank.records.list(kind="todo", include_invalidated=True)] == [
        "call the plumber"
    ]
    assert bank.records.aggregate("count", kind="todo").value == 0
    assert bank.records.aggregate("count", kind="todo", as_of=later - timedelta(days=1)).value == 1


@given(st.lists(st.decimals(-(10**6), 10**6, places=2), max_size=30))
def test_a_sum_is_the_sum(values: list[Decimal]) -> None:
    """For any values in any order, neither arithmetic nor unit conversion loses anything."""
    units = ("min", "h")
    entries = [
        RecordEntry(
            Record(RecordKind.QUANTITY, value, unit=units[n % 2]),
            MemoryUnit(f"u{n}", "b", "t", FactType.WORLD, datetime(2025, 1, 1, tzinfo=UTC)),
        )
        for n, value in enumerate(values)
    ]
    minutes = sum((value * (60 if n % 2 else 1) for n, value in enumerate(values)), Decimal(0))
    assert aggregate(entries, Aggregation.SUM).value == minutes
    assert aggregate(entries[::2], Aggregation.SUM).value == sum(values[::2], Decimal(0))


def test_an_item_of_a_document_is_restored_alone_and_with_its_document(light: Hindsight) -> None:
    """Restoring the document does not restore an item that was removed before the document ended; that one is restored by its own id."""
    bank = light.bank("agenda")
    items = [{"kind": "document_item", "value": value} for value in ("order chairs", "book a room")]
    facts: list[dict[str, Any]] = [
        {"what": "Bob's list for the meeting", "records": items},
        {"what": "Bob booked a room.", "changes": [{"sources": ["1"], "change": "removes", "items": [2]}]},
        {"what": "The meeting is off.", "changes": [{"sources": ["1"], "change": "ends"}]},
    ]
    results = [
        bank.retain(
            [Message(fact["what"], "Bob", f"2025-06-0{day}", id=str(day))],
            facts=[fact | {"sources": [str(day)]}],
        )
        for day, fact in enumerate(facts, 1)
    ]
    (document,) = results[0].unit_ids
    (room,) = (done.unit_id for done in results[1].removed)
    assert [done.unit_id for done in results[2].closed] == [document]

    def open_items(**options: Any) -> list[str]:
        return [str(entry.record.value) for entry in bank.records.list(kind="document_item", **options)]

    assert open_items() == []
    assert open_items(as_of="2025-06-01T12:00") == ["order chairs", "book a room"]
    assert open_items(as_of="2025-06-02T12:00") == ["order chairs"]
    assert (bank.restore(document), bank.restore(document)) == (True, False)
    assert open_items() == ["order chairs"]
    assert (bank.restore(room), bank.restore(room)) == (True, False)
    assert open_items() == ["order chairs", "book a room"]
    assert [event.kind for event in bank.history(room)] == [ValidityKind.CLOSED, ValidityKind.RESTORED]
    (served,) = (item for item in bank.recall("list for the meeting").units if item.unit.id == document)
    assert served.text == "Bob's list for the meeting\n- order chairs\n- book a room"
