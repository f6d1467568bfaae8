"""Questions over records answered without a model: exact numbers, with the memories that entered, or none at all."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from table import every_row

from hindsight_integrations import AsyncHindsight, Hindsight, MemoryBank
from hindsight_integrations.config import HindsightConfig, KeywordBackend, StorageConfig, VectorBackend
from hindsight_integrations.model.reflections import Reflection
from hindsight_integrations.testing.scripted_model import ScriptedModel

NOW = "2025-06-15T20:00:00+00:00"  # a Sunday
CONFIG = HindsightConfig(
    storage=StorageConfig(vectors=VectorBackend.EXACT, keywords=KeywordBackend.FTS5),
    languages=("en", "de", "es"),
)


def fact(
    day: str, what: str, kind: str, value: float | str, unit: str = "", category: str = ""
) -> dict[str, Any]:
    record = {"kind": kind, "value": value, "unit": unit, "category": category}
    return {"what": what, "fact_type": "world", "occurred_start": day, "occurred_end": day, "record": record}


def coffee(day: str, price: float, unit: str = "EUR") -> dict[str, Any]:
    return fact(day, f"User bought a coffee for {price} {unit} on {day}.", "expense", price, unit, "coffee")


def steps(day: str, count: int) -> dict[str, Any]:
    return fact(day, f"User walked {count} steps on {day}.", "steps", count, "steps")


def goal(what: str, value: float, unit: str) -> dict[str, Any]:
    made = fact("2025-06-02", what, "goal", value, unit)
    return made | {"occurred_start": None, "occurred_end": None}


WEEKS = [
    goal("User wants to spend no more than 10 euros a week on coffee.", 10, "EUR/week on coffee"),
    goal("User wants to walk 8,000 steps a day.", 8000, "steps/day"),
    coffee("2025-06-02", 3.10),
    coffee("2025-06-03", 2.05),
    coffee("2025-06-10", 4.50),
    coffee("2025-06-11", 4.50),
    coffee("2025-06-13", 3.95),
    fact("2025-06-04", "User paid 11.20 euros for lunch.", "expense", 11.20, "EUR", "lunch"),
    steps("2025-06-09", 9100),
    steps("2025-06-10", 8000),
    steps("2025-06-12", 7999),
    fact("2025-06-05", "User has to call the plumber.", "task", "Call the plumber"),
    fact("2025-06-06", "User has to renew the passport.", "task", "Renew the passport"),
]


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[MemoryBank]:
    with Hindsight.open(tmp_path / "engine", reranker=None, config=CONFIG) as hindsight:
        yield filled(hindsight.bank("records"), WEEKS)


def filled(bank: MemoryBank, facts: Sequence[dict[str, Any]]) -> MemoryBank:
    for place, each in enumerate(facts):
        said = {"role": "user", "content": each["what"], "id": f"m{place}"}
        bank.retain(
            [said], timestamp=each["occurred_start"] or "2025-06-02", thread=f"t{place}", facts=[each]
        )
    return bank


def asked(bank: MemoryBank, question: str, **options: Any) -> Reflection:
    return bank.reflect(question, as_of=NOW, **options)


@every_row(
    ("question", "value", "entries"),
    [
        ("How much did I spend on coffee this week?", "12.95", 3),
        ("How much did I spend on coffee in June?", "18.10", 5),
        ("Wie viel habe ich im Juni für Kaffee ausgegeben?", "18.10", 5),
        ("¿Cuánto gasté en café en junio?", "18.10", 5),
        ("How much did I spend on food in June?", "29.30", 6),
        ("How many coffees did I buy in June?", "5", 5),
        ("How many steps did I walk this week?", "25099", 3),
        ("How much was my last coffee?", "3.95", 1),
        ("What did I spend on average per coffee in June?", "3.62", 5),
        ("On how many days this week did I reach my step goal?", "2", 3),
        ("On how many days this week did I miss my step goal?", "1", 3),
        ("On how many days in June did I walk more than 8,000 steps?", "1", 3),
        ("In how many weeks did I go over my coffee budget?", "1", 5),
        ("How many tasks do I have?", "2", 2),
    ],
)
def test_numbers_are_exact_and_name_what_entered(
    bank: MemoryBank, question: str, value: str, entries: int
) -> None:
    answer = asked(bank, question)
    assert answer.exact is not None, question
    assert (answer.exact.value, len(answer.exact.entries)) == (Decimal(value), entries)
    assert answer.text == answer.exact.text
    assert {item.unit.id for item in answer.units} == set(answer.exact.unit_ids)
    assert {item.unit.id for cite in answer.based_on if (item := cite.unit)} == set(answer.exact.unit_ids)
    assert answer.extractive


def test_the_answer_is_in_the_language_of_the_question(bank: MemoryBank) -> None:
    assert asked(bank, "How much did I spend on coffee this week?").text == (
        "Coffee (expenses), June 9, 2025 to June 15, 2025: 12.95 EUR in total (3 records)."
    )
    assert asked(bank, "Wie viele Schritte bin ich diese Woche gegangen?").text == (
        "Steps, 9. Juni 2025 bis 15. Juni 2025: insgesamt 25.099 steps (3 Einträge)."
    )
    assert asked(bank, "¿Cuánto gasté en café esta semana?").text == (
        "Coffee (gastos), del 9 de junio de 2025 al 15 de junio de 2025: 12,95 EUR en total (3 registros)."
    )


def test_a_goal_says_what_was_reached_and_how_often(bank: MemoryBank) -> None:
    budget = asked(bank, "Am I meeting my coffee budget goal?").exact
    assert budget is not None
    assert budget.target is not None
    assert (budget.met, budget.value, budget.target.value) == (False, Decimal("12.95"), Decimal(10))
    before = asked(bank, "Did I stay within my coffee budget last week?").exact
    assert before is not None
    assert (before.met, before.value) == (True, Decimal("5.15"))


def test_a_goal_met_on_average_and_not_every_day_is_not_judged(bank: MemoryBank) -> None:
    assert asked(bank, "Am I meeting my daily step goal?").exact is None


def test_days_that_are_equal_are_all_named(bank: MemoryBank) -> None:
    most = asked(bank, "On which day this week did I spend the most on coffee?").exact
    assert most is not None
    assert [str(part.start) for part in most.periods] == ["2025-06-10", "2025-06-11"]
    assert "June 10, 2025 and June 11, 2025" in most.text


def test_a_week_half_outside_the_month_is_no_week_to_compare(tmp_path: Path) -> None:
    with Hindsight.open(tmp_path / "engine", reranker=None, config=CONFIG) as hindsight:
        days = ["2025-05-27", "2025-05-31", "2025-06-01", "2025-06-10"]
        bank = filled(hindsight.bank("edges"), [coffee(day, 3) for day in days])
        assert asked(bank, "Which week in June had the highest coffee spending?").exact is None
        assert asked(bank, "How much did I spend on coffee in June?").exact is not None


def test_lists_are_complete_and_in_order_of_time(bank: MemoryBank) -> None:
    listed = asked(bank, "List my coffee purchases in June.").exact
    assert listed is not None
    assert [str(value) for value in listed.values] == ["3.1", "2.05", "4.5", "4.5", "3.95"]


def test_a_task_that_is_done_is_not_listed(bank: MemoryBank) -> None:
    filled(bank, [fact("2025-06-12", "User called the plumber.", "task", "Call the plumber (completed)")])
    listed = asked(bank, "What's on my to-do list?").exact
    assert listed is not None
    assert listed.values == ("Renew the passport",)


def test_two_currencies_are_no_sum(bank: MemoryBank) -> None:
    filled(bank, [coffee("2025-06-14", 4.00, "USD")])
    assert asked(bank, "How much did I spend on coffee this week?").exact is None
    assert asked(bank, "How much did I spend on coffee last week?").exact is not None


def test_a_price_in_words_leaves_the_sum_open(bank: MemoryBank) -> None:
    filled(
        bank,
        [fact("2025-06-14", "User had a coffee for about 3 euros.", "expense", "about 3", "EUR", "coffee")],
    )
    assert asked(bank, "How much did I spend on coffee this week?").exact is None


def test_what_is_planned_is_not_spent(bank: MemoryBank) -> None:
    later = coffee("2025-06-28", 5.00)
    said = {"role": "user", "content": later["what"], "id": "later"}
    bank.retain([said], timestamp="2025-06-14", thread="later", facts=[later])
    assert asked(bank, "How much did I spend on coffee in June?").exact is None


def test_two_goals_for_one_thing_are_none(bank: MemoryBank) -> None:
    filled(bank, [goal("User wants to spend at most 12 euros a week on coffee.", 12, "EUR/week on coffee")])
    assert asked(bank, "Am I meeting my coffee budget goal?").exact is None


def test_a_forgotten_expense_does_not_enter(bank: MemoryBank) -> None:
    last = bank.records.list(kind="expense", category="coffee")[-1]
    bank.forget(unit=last.memory.id)
    answer = asked(bank, "How much did I spend on coffee in June?").exact
    assert answer is not None
    assert answer.value == Decimal("14.15")


def test_a_damaged_memory_leaves_the_sum_open(bank: MemoryBank, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "engine" / "ledger.sqlite") as ledger:
        ledger.execute("UPDATE units SET text = text || '!' WHERE text LIKE '%coffee for 3.95%'")
    assert asked(bank, "How much did I spend on coffee this week?").exact is None
    assert asked(bank, "How many steps did I walk this week?").exact is not None


def test_the_answer_of_then_knows_what_was_known_then(bank: MemoryBank) -> None:
    then = bank.reflect("How much did I spend on coffee this week?", as_of="2025-06-11T12:00:00+00:00").exact
    assert then is not None
    assert then.value == Decimal("9.0")


def test_records_out_of_sight_do_not_enter(bank: MemoryBank) -> None:
    hidden = coffee("2025-06-14", 9.99)
    said = {"role": "user", "content": hidden["what"], "id": "hidden"}
    bank.retain([said], timestamp="2025-06-14", thread="hidden", facts=[hidden], tags=["private"])
    seen = asked(bank, "How much did I spend on coffee this week?", tags=["work"]).exact
    assert seen is not None
    assert seen.value == Decimal("12.95")


def test_the_time_the_caller_gives_counts(bank: MemoryBank) -> None:
    window = ("2025-06-02T00:00:00+00:00", "2025-06-09T00:00:00+00:00")
    answer = asked(bank, "How much did I spend on coffee?", window=window).exact
    assert answer is not None
    assert answer.value == Decimal("5.15")
    assert asked(bank, "How much did I spend on coffee this week?", window=window).exact is None


def test_what_is_no_such_question_is_answered_by_memories(bank: MemoryBank) -> None:
    answer = asked(bank, "Why did I spend so much on coffee this week?")
    assert answer.exact is None
    assert answer.units


def test_the_asynchronous_face_answers_alike(tmp_path: Path) -> None:
    async def answered() -> Reflection:
        async with AsyncHindsight.open(tmp_path / "engine", reranker=None, config=CONFIG) as hindsight:
            bank = await hindsight.bank("records")
            said = {"role": "user", "content": WEEKS[2]["what"], "id": "m"}
            await bank.retain([said], timestamp="2025-06-02", thread="t", facts=[WEEKS[2]])
            return await bank.reflect("How much did I spend on coffee in June?", as_of=NOW)

    answer = asyncio.run(answered()).exact
    assert answer is not None
    assert answer.value == Decimal("3.1")


def test_a_document_that_entered_is_served_with_the_items_that_hold(bank: MemoryBank) -> None:
    records: list[dict[str, Any]] = [
        {"kind": "document_item", "category": "agenda", "value": item}
        for item in ("crane repair", "new mooring fees", "pier lights")
    ]
    records.append({"kind": "expense", "category": "coffee", "value": 2.5, "unit": "EUR"})
    struck = [{"sources": ["d14"], "change": "removes", "items": [2]}]
    facts: list[dict[str, Any]] = [
        {"what": "Agenda of the harbour meeting", "records": records, "occurred_start": "2025-06-14"},
        {"what": "User struck something off the harbour agenda", "changes": struck},
    ]
    retained = []
    for day, each in enumerate(facts, 14):
        said = {"role": "user", "content": each["what"], "id": f"d{day}"}
        given = [each | {"sources": [f"d{day}"]}]
        retained.append(bank.retain([said], timestamp=f"2025-06-{day}T08:00", facts=given))
    assert len(retained[1].removed) == 1
    answer = asked(bank, "How much did I spend on coffee this week?")
    assert answer.exact is not None
    assert answer.exact.value == Decimal("15.45")
    (served,) = [item for item in answer.units if item.unit.id == retained[0].unit_ids[0]]
    assert served.text == "Agenda of the harbour meeting\n- agenda: crane repair\n- agenda: pier lights"


def test_a_model_is_shown_the_computed_answer_and_the_reflection_keeps_it(tmp_path: Path) -> None:
    model = ScriptedModel([{"text": "12.95 euros.", "based_on": ["1"], "sufficient": True, "opinions": []}])
    with Hindsight.open(tmp_path / "engine", reranker=None, config=CONFIG, model=model) as hindsight:
        answer = asked(filled(hindsight.bank("records"), WEEKS), "How much did I spend on coffee this week?")
    shown = "\n".join(str(message.content) for message in model.prompts[0])
    assert "Coffee (expenses), June 9, 2025 to June 15, 2025: 12.95 EUR in total (3 records)." in shown
    assert answer.exact is not None
    assert (answer.text, answer.exact.value, answer.extractive) == ("12.95 euros.", Decimal("12.95"), False)
