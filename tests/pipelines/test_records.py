"""Records: sums, counts and lists over memory are complete and exact."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_integrations import (
    Aggregation,
    FactType,
    Hindsight,
    InvalidRequest,
    MemoryBank,
    MemoryUnit,
    Message,
)
from hindsight_integrations.model.records import Record, RecordKind
from hindsight_integrations.tempr.listing.records import Entry, aggregate

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
    """Every record of a kind comes back, oldest first, whatever the case; undated ones where they were mentioned."""
    assert [u.text for u in bank.records(kind="Expense")] == [
        what for what, _, r in ROWS if r["kind"] == "expense"
    ]
    assert [u.text for u in bank.records()][-1] == "a film I like"
    assert [u.text for u in bank.records(category="coffee", window=("2025-06-02", "2025-06-03"))] == [
        "coffee on Monday"
    ]


@pytest.mark.parametrize(
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
    """0.1 + 0.2 + 3.41 is 3.71 and not 3.7100000000000004, and the memories that entered come along."""
    found = bank.aggregate(how, kind="expense", category="coffee")
    assert found.value == Decimal(value)
    assert len(found.units) == (1 if how == "last" else 3)


def test_unlike_units_are_not_added(bank: MemoryBank) -> None:
    """Dollars and euros together are refused with both named; one of them alone adds up."""
    with pytest.raises(InvalidRequest, match="EUR, USD"):
        bank.aggregate("sum", kind="expense")
    found = bank.aggregate("sum", kind="expense", unit="USD")
    assert (found.value, found.unit) == (Decimal("13.55"), "USD")


def test_text_is_counted_and_shown_but_not_added(bank: MemoryBank) -> None:
    """A preference counts and can be the last one; in a sum it is left out, visibly."""
    assert bank.aggregate("count", kind="preference").value == 1
    assert bank.aggregate("last", kind="preference").value == "Alien"
    found = bank.aggregate("sum", kind="preference")
    assert (found.value, [u.text for u in found.left_out]) == (Decimal(0), ["a film I like"])


def test_nothing_found_is_an_answer(bank: MemoryBank) -> None:
    """Over no records the sum and count are 0, the others None; an unknown aggregation is named."""
    assert [bank.aggregate(how, kind="steps").value for how in Aggregation] == [
        Decimal(0),
        Decimal(0),
        None,
        None,
        None,
        None,
    ]
    with pytest.raises(InvalidRequest, match="Use one of: sum, count, mean"):
        bank.aggregate("median", kind="expense")


def test_as_of_counts_what_was_known_then(bank: MemoryBank) -> None:
    """Before anything was said there is nothing to add."""
    assert bank.aggregate("count", kind="expense", as_of="2025-06-07").value == 0


@given(st.lists(st.decimals(-1000, 1000, places=2, allow_nan=False), min_size=1, max_size=20))
def test_aggregates_agree_with_each_other(values: list[Decimal]) -> None:
    """min <= mean <= max, and mean times count is the sum, for any values."""
    entries = [
        Entry(
            MemoryUnit(f"u{n}", "b", "t", FactType.WORLD, datetime(2025, 1, 1, tzinfo=UTC)),
            Record(RecordKind.QUANTITY, value),
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
    from hindsight_integrations.backends.ledger.sqlite.ledger import SqliteLedger

    real = SqliteLedger.units

    def without(self: SqliteLedger, name: str, ids: Any) -> Any:
        return {row: unit for row, unit in real(self, name, ids).items() if "Sunday" not in unit.text}

    monkeypatch.setattr(SqliteLedger, "units", without)
    assert [u.text for u in bank.records(category="coffee")] == ["coffee on Monday", "coffee on Tuesday"]
    assert bank.aggregate("sum", category="coffee").value == Decimal("0.3")


def test_each_record_of_a_memory_counts_once(light: Hindsight) -> None:
    """Of a memory with three purchases and a to-do the sum takes the purchases that are meant, and lists it once."""
    bank = light.bank("errands")
    errands = [
        {"kind": "expense", "category": "tea", "value": 4, "unit": "EUR"},
        {"kind": "expense", "category": "bread", "value": 3, "unit": "EUR"},
        {"kind": "expense", "category": "tea", "value": 2, "unit": "USD"},
        {"kind": "todo", "value": "call Ann"},
    ]
    said = "Bob bought tea twice and bread, and must call Ann."
    bank.retain([Message(said, "Bob", id="e")], facts=[{"what": said, "records": errands, "sources": ["e"]}])
    tea = bank.aggregate("sum", kind="expense", category="tea", unit="EUR")
    assert (tea.value, tea.unit) == (Decimal(4), "EUR")
    assert [unit.text for unit in tea.units] == [said]
    assert bank.aggregate("count", kind="expense").value == 3
    assert [unit.text for unit in bank.records(kind="todo")] == [said]
    assert bank.records(kind="todo", category="tea") == []


def test_words_for_a_kind_find_what_they_stored(light: Hindsight) -> None:
    """Steps are a quantity; who stored them as "steps" finds them as "steps"."""
    bank = light.bank("walks")
    said = "Bob walked 9000 steps."
    record = {"kind": "steps", "value": 9000, "unit": "steps"}
    bank.retain([Message(said, "Bob", id="w")], facts=[{"what": said, "record": record, "sources": ["w"]}])
    for kind, category in (("Steps", None), ("quantity", None), ("quantity", "steps"), (None, "steps")):
        assert bank.aggregate("sum", kind=kind, category=category).value == 9000
