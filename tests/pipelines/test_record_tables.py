"""The table of records that recall adds to the memories: whole, or marked cut, and never a sum that is none."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import pytest

from hindsight_integrations import Hindsight, MemoryBank, RecallResult

ASKED_AT = "2025-06-08T20:00:00Z"
COFFEE = "How much did I spend on coffee?"


def spent(engine: Hindsight, values: Sequence[tuple[str, str]], **options: object) -> MemoryBank:
    """A bank with these coffees, one a day, each a value and its unit."""
    bank = engine.bank("spender")
    facts = [
        {
            "what": f"Bought coffee number {n}.",
            "occurred_start": f"2025-{4 + n // 30:02}-{1 + n % 30:02}",
            "record": {"kind": "expense", "category": "coffee", "value": value, "unit": unit},
            "sources": [f"m{n}"],
        }
        for n, (value, unit) in enumerate(values)
    ]
    messages = [
        {"content": str(f["what"]), "id": f"m{n}", "timestamp": "2025-06-08"} for n, f in enumerate(facts)
    ]
    bank.retain(messages, facts=facts, **options)  # type: ignore[arg-type]
    return bank


def asked(bank: MemoryBank, question: str = COFFEE, **options: object) -> RecallResult:
    return bank.recall(question, include_records=True, query_timestamp=ASKED_AT, **options)  # type: ignore[arg-type]


def test_a_list_comes_whole_whatever_the_memories_cost(light: Hindsight) -> None:
    """A budget that holds hardly a memory still lists all records, with their exact sum, and says it is complete."""
    bank = spent(light, [("3.10", "EUR")] * 20)
    found = asked(bank, max_tokens=20)
    [table] = found.records
    assert table.complete
    assert len(table.rows) == 20
    assert "complete, 20 of 20, all 20 are 62.00 EUR in total" in table.heading
    assert table.text in found.explain()


def test_what_does_not_fit_is_cut_and_counted(light: Hindsight) -> None:
    """Under a small budget the latest rows are shown, in order of time, and the heading says of how many."""
    [table] = asked(spent(light, [("3", "EUR")] * 40), max_record_tokens=200).records
    assert table.tokens <= 200
    assert not table.complete
    assert 0 < len(table.rows) < table.of == 40
    assert f"cut, the latest {len(table.rows)} of 40, all 40 are 120 EUR in total" in table.heading
    assert [row.at for row in table.rows] == sorted(row.at for row in table.rows)
    assert table.rows[-1].at.date().isoformat() == "2025-05-10"


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([("3", "EUR"), ("4", "USD")], "all 2 are 3 EUR and 4 USD in total"),
        ([("2", "EUR"), ("3", "€"), ("7", "bottle caps")], "5 EUR and 7 bottle caps in total"),
        ([("-5", "EUR"), ("3", "EUR")], "-2 EUR in total"),
        ([("1e30", "EUR"), ("0.10", "EUR")], "1000000000000000000000000000000.10 EUR in total"),
        ([("1e400", "EUR"), ("0.10", "EUR")], "complete, 2 of 2."),
        ([("about ten", "EUR"), ("2", "EUR")], "complete, 2 of 2."),
        ([("NaN", "EUR"), ("Infinity", "EUR")], "complete, 2 of 2."),
    ],
)
def test_absurd_values_are_listed_and_summed_exactly_or_not_at_all(
    light: Hindsight, values: list[tuple[str, str]], told: str
) -> None:
    """Currencies and units are never added together; a sum keeps every digit; what is no number enters none."""
    [table] = asked(spent(light, values)).records
    assert table.heading.endswith(told if told.endswith(".") else f"{told}.")
    assert len(table.rows) == len(values)


def test_no_record_no_table(light: Hindsight) -> None:
    """Nothing is rendered where there is nothing: an empty bank, another kind, no list asked for, or nobody asked."""
    assert asked(light.bank("empty")).records == ()
    bank = spent(light, [("3", "EUR")])
    assert asked(bank, "What are my to-dos?").records == ()
    assert asked(bank, "Why do I like coffee?").records == ()
    assert bank.recall(COFFEE, query_timestamp=ASKED_AT).records == ()
    assert asked(bank, as_of="2025-06-07T00:00:00Z").records == ()


def test_a_table_is_of_what_the_recall_may_see(light: Hindsight) -> None:
    """Other users' records, and those that hold no more, are in no row and no sum; as history they are marked."""
    bank = spent(light, [("3", "EUR"), ("4", "EUR")], tags=["user:ann"])
    assert asked(bank, tags=["user:bob"], tags_match="all_strict").records == ()
    [before] = asked(bank, tags=["user:ann"], tags_match="all_strict").records
    assert {row.record.value for row in before.rows} == {Decimal(3), Decimal(4)}
    bank.withdraw(before.rows[0].unit_id, reason="returned")
    [after] = asked(bank).records
    assert after.of == 1
    assert "all 1 are 4 EUR in total" in after.heading
    [history] = asked(bank, include_invalidated=True).records
    assert [row.valid for row in history.rows] == [False, True]
    assert "in total" not in history.heading
