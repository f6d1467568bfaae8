"""Exact figures of the records that a question is about: in addition to memories, and as the answer without a model."""

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
from hindsight_integrations.language.packs import LANGUAGES
from hindsight_integrations.model.record_digest import Figures, RecordDigest
from hindsight_integrations.model.reflections import Reflection
from hindsight_integrations.testing.scripted_model import ScriptedModel

NOW = "2025-06-15T20:00:00+00:00"  # a Sunday
CONFIG = HindsightConfig(
    storage=StorageConfig(vectors=VectorBackend.EXACT, keywords=KeywordBackend.FTS5),
    languages=tuple(LANGUAGES),
)


def fact(
    day: str, what: str, kind: str, value: float | str, unit: str = "", category: str = ""
) -> dict[str, Any]:
    record = {"kind": kind, "value": value, "unit": unit, "category": category}
    return {"what": what, "fact_type": "world", "occurred_start": day, "occurred_end": day, "record": record}


def coffee(day: str, price: float | str, unit: str = "EUR") -> dict[str, Any]:
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


def filled(bank: MemoryBank, facts: Sequence[dict[str, Any]], **options: Any) -> MemoryBank:
    """Retain each fact on the day of its event, unless the options name another."""
    for place, each in enumerate(facts):
        said = {"role": "user", "content": each["what"], "id": f"m{place}"}
        day = options.pop("said_on", None) or each["occurred_start"] or "2025-06-02"
        bank.retain([said], timestamp=day, thread=f"t{len(facts)}-{place}", facts=[each], **options)
    return bank


def digests(bank: MemoryBank, question: str, **options: Any) -> tuple[RecordDigest, ...]:
    return bank.recall(question, include_records=True, **{"query_timestamp": NOW, **options}).records


def figures(bank: MemoryBank, question: str, **options: Any) -> Figures:
    [digest] = digests(bank, question, **options)
    assert digest.asked is not None
    return digest.asked


@every_row(
    ("question", "name", "value", "count"),
    [
        ("How much did I spend on coffee this week?", "total", "12.95", 3),
        ("How much did I spend on coffee in June?", "total", "18.10", 5),
        ("Wie viel habe ich im Juni für Kaffee ausgegeben?", "total", "18.10", 5),
        ("¿Cuánto gasté en café en junio?", "total", "18.10", 5),
        ("How much did I spend on food in June?", "total", "29.30", 6),
        ("Coffee damage in June?", "total", "18.10", 5),
        ("How many steps did I walk this week?", "total", "25099", 3),
        ("What did I spend on average per coffee in June?", "mean", "3.62", 5),
        ("How much did I spend this week?", "total", "12.95", 3),
    ],
)
def test_figures_of_the_time_asked_about_are_exact(
    bank: MemoryBank, question: str, name: str, value: str, count: int
) -> None:
    found = figures(bank, question)
    assert (getattr(found, name), found.count) == (Decimal(value), count)


def test_a_digest_states_its_figures_goals_and_rows(bank: MemoryBank) -> None:
    """Sum, count, mean, extremes and values per day for the requested time; shorter periods; the goal; then every row."""
    [digest] = digests(bank, "What does coffee come to this week?")
    assert digest.text.splitlines() == [
        "Records, seen on Sunday, 2025-06-15: expense records (coffee)",
        (
            "= this week (Jun 9 to 15): sum 12.95 EUR, 3 records, mean 4.32 EUR, smallest 3.95 (Jun 13), largest 4.50 (Jun 10),"
            " latest 3.95 (Jun 13), mean of a day with records 4.32, most in a day 4.50 (Jun 10)"
        ),
        "= this month (Jun 1 to 30): 18.10 EUR in 5 records",
        "= goal at most 10 EUR a week; Jun 9 to 15 12.95, 2.95 over; kept in 0 of 1 weeks with records",
        "= rows: complete, 3 of 3",
        "* 4.5 EUR, coffee (happened on Tuesday, June 10, 2025)",
        "* 4.5 EUR, coffee (happened on Wednesday, June 11, 2025)",
        "* 3.95 EUR, coffee (happened on Friday, June 13, 2025)",
    ]


def test_days_that_a_question_speaks_of_are_summed_one_by_one(bank: MemoryBank) -> None:
    [digest] = digests(bank, "On which day this week did I spend the most on coffee?")
    assert [(str(each.start), each.value) for each in digest.periods] == [
        ("2025-06-10", Decimal("4.50")),
        ("2025-06-11", Decimal("4.50")),
        ("2025-06-13", Decimal("3.95")),
    ]
    assert "by day: Jun 10 4.50, Jun 11 4.50, Jun 13 3.95" in digest.heading


def test_a_goal_says_what_was_reached_and_how_often(bank: MemoryBank) -> None:
    [digest] = digests(bank, "Am I meeting my step goal this week?")
    [stands] = digest.goals
    assert (stands.met, stands.periods) == (2, 3)
    assert "goal at least 8000 steps a day; met in 2 of 3 days with records" in digest.heading
    [digest] = digests(bank, "Did I stay within my coffee budget last week?")
    assert "goal at most 10 EUR a week; Jun 2 to 8 5.15, 4.85 under" in digest.heading
    [digest] = digests(
        bank, "How far am I from my coffee limit?", query_timestamp="2025-06-18T09:00:00+00:00"
    )
    assert "goal at most 10 EUR a week; Jun 16 to 22 no records, 10 under" in digest.heading


def test_two_goals_for_one_thing_are_both_told(bank: MemoryBank) -> None:
    filled(bank, [goal("User wants to spend at most 12 euros a week on coffee.", 12, "EUR/week on coffee")])
    [digest] = digests(bank, "Am I meeting my coffee budget?")
    assert sorted(stands.target.value for stands in digest.goals) == [10, 12]


def test_what_lies_next_to_the_time_asked_about_is_named(bank: MemoryBank) -> None:
    """An event on Sunday evening that was mentioned on Monday belongs to the week before, and the digest says that it was left out."""
    filled(bank, [coffee("2025-06-08", 2.75)], said_on="2025-06-09")
    [digest] = digests(bank, "How much did I spend on coffee this week?")
    assert digest.asked is not None
    assert digest.asked.total == Decimal("12.95")
    assert "not counted, mentioned in this time, dated outside it: 2.75 EUR on Jun 8" in digest.heading


def test_a_record_partly_in_the_time_is_named_and_not_counted(bank: MemoryBank) -> None:
    long = coffee("2025-06-07", 9) | {"occurred_end": "2025-06-10"}
    filled(bank, [long])
    [digest] = digests(bank, "How much did I spend on coffee this week?")
    assert digest.asked is not None
    assert digest.asked.total == Decimal("12.95")
    assert "not counted, partly in this time: 9 EUR on Jun 7 to 10" in digest.heading


def test_what_is_planned_is_named_and_not_counted(bank: MemoryBank) -> None:
    filled(bank, [coffee("2025-06-28", 5)], said_on="2025-06-14")
    [digest] = digests(bank, "How much did I spend on coffee in June?")
    assert digest.asked is not None
    assert digest.asked.total == Decimal("18.10")
    assert "not counted, planned: 5 EUR on Jun 28" in digest.heading


@every_row(
    ("values", "told"),
    [
        ([("3", "EUR"), ("4", "USD")], "1 record, 3 EUR on Jun 1 and 1 record, 4 USD on Jun 2"),
        ([("2", "EUR"), ("3", "\u20ac"), ("7", "bottle caps")], "sum 5 EUR, 2 records"),
        ([("-5", "EUR"), ("3", "EUR")], "sum -2 EUR"),
        ([("1e30", "EUR"), ("0.10", "EUR")], "sum 1000000000000000000000000000000.10 EUR"),
        (
            [("about ten", "EUR"), ("2", "EUR")],
            "2 records, latest 2 (Jun 2), no sum, since not every value is a number",
        ),
        ([("1,00,000", "INR"), ("1", "INR")], "sum 100001 INR"),
    ],
)
def test_absurd_values_are_summed_exactly_or_not_at_all(
    light: Hindsight, values: list[tuple[str, str]], told: str
) -> None:
    """Currencies and units are never added together; a sum keeps every digit; text values make no sum."""
    bank = filled(
        light.bank("odd " + " ".join(map(" ".join, values))),
        [coffee(f"2025-06-{n:02}", *value) for n, value in enumerate(values, 1)],
    )
    [digest] = digests(bank, "How much did I spend on coffee?")
    assert told in digest.heading
    assert len(digest.rows) == len(values)


def test_miles_and_kilometres_are_added_in_the_unit_asked_for(light: Hindsight) -> None:
    runs = [
        fact("2025-06-09", "User ran 10 km.", "quantity", 10, "km", "running"),
        fact("2025-06-10", "User ran 5 miles.", "quantity", 5, "mi", "running"),
    ]
    bank = filled(light.bank("runner"), runs)
    assert figures(bank, "How many kilometres did I run in June?").total == Decimal("18.04672")
    miles = figures(bank, "How many miles did I run in June?")
    assert (round(miles.total or Decimal(0), 6), miles.unit) == (Decimal("11.213712"), "mi")


def test_weights_have_no_sum(light: Hindsight) -> None:
    weighed = [
        fact(f"2025-06-{day}", f"User weighed {value} kg.", "quantity", value, "kg", "weight")
        for day, value in (("09", 71.4), ("13", 70.8))
    ]
    [digest] = digests(filled(light.bank("scale"), weighed), "What do I weigh these days?")
    assert digest.asked is not None
    assert digest.asked.total is None
    assert "2 records, mean 71.1 kg, smallest 70.8 (Jun 13), largest 71.4 (Jun 9), latest 70.8 (Jun 13)" in (
        digest.heading
    )


def test_a_list_comes_whole_whatever_the_memories_cost(light: Hindsight) -> None:
    bank = filled(light.bank("many"), [coffee(f"2025-05-{day:02}", 3) for day in range(1, 21)])
    [digest] = digests(bank, "How much did I spend on coffee?", max_tokens=20)
    assert (digest.complete, len(digest.rows)) == (True, 20)
    assert "rows: complete, 20 of 20" in digest.heading


def test_what_does_not_fit_is_cut_and_counted(light: Hindsight) -> None:
    bank = filled(light.bank("many"), [coffee(f"2025-05-{day:02}", 3) for day in range(1, 29)])
    [digest] = digests(bank, "How much did I spend on coffee?", max_record_tokens=250)
    assert digest.tokens <= 250
    assert 0 < len(digest.rows) < digest.of == 28
    assert f"rows: cut, the latest {len(digest.rows)} of 28" in digest.heading
    assert digest.rows[-1].at.date().isoformat() == "2025-05-28"
    assert digests(bank, "How much did I spend on coffee?", max_record_tokens=5) == ()


def test_what_was_not_read_enters_no_figure(light: Hindsight, monkeypatch: pytest.MonkeyPatch) -> None:
    """If there are too many records, only periods that were read completely are summed, and nothing else is called a sum."""
    bank = filled(light.bank("many"), [coffee(f"2025-05-{day:02}", 1) for day in range(1, 29)])
    monkeypatch.setattr("hindsight_integrations.recall.record_digest.MOST_READ", 10)
    [digest] = digests(bank, "How much did I spend on coffee?")
    assert (digest.asked, digest.of, len(digest.rows)) == (None, 28, 10)
    assert "too many records to add up" in digest.heading
    assert figures(bank, "How much did I spend on coffee from May 3 to May 7?").total == 5
    [digest] = digests(bank, "How much did I spend on coffee from May 3 to May 20?")
    assert (digest.asked, digest.figures) == (None, ())


def test_no_other_time_is_taken_for_the_one_asked_about(bank: MemoryBank) -> None:
    [digest] = digests(bank, "How much did I spend on lunch this week?")
    assert digest.asked is None
    assert "Jun 9 to 15: no records" in digest.heading


def test_a_forgotten_goal_is_among_what_a_digest_rests_on(bank: MemoryBank) -> None:
    [digest] = digests(bank, "Am I meeting my coffee budget?")
    assert digest.goals[0].unit_id in digest.unit_ids


def test_several_subjects_share_the_budget(bank: MemoryBank) -> None:
    found = digests(bank, "How much did I spend on coffee and lunch in June?", max_record_tokens=400)
    assert [digest.categories for digest in found] == [("coffee",), ("lunch",)]
    assert sum(digest.tokens for digest in found) <= 400


@every_row(
    "question",
    [
        "Why did I spend so much on coffee this week?",
        "Where is the best coffee in town?",
        "How much should I spend on coffee?",
        "How much did I spend on gifts?",
        "Who paid for the coffee?",
        "I bought a coffee for 3 euros.",
        "What are my preferences?",
        "",
        "\u20ac",
        "how much",
        "\u0130" * 20,
    ],
)
def test_what_asks_for_no_figures_gets_none(bank: MemoryBank, question: str) -> None:
    assert digests(bank, question or "?") == ()


def test_nobody_who_did_not_ask_for_records_gets_them(bank: MemoryBank) -> None:
    assert bank.recall("How much did I spend on coffee?", query_timestamp=NOW).records == ()


def test_tasks_are_listed_without_those_that_are_done(bank: MemoryBank) -> None:
    filled(bank, [fact("2025-06-12", "User called the plumber.", "task", "Call the plumber (completed)")])
    [digest] = digests(bank, "What's on my to-do list?")
    assert [row.record.value for row in digest.rows] == ["Renew the passport"]


def test_the_calendar_has_what_is_ahead_and_names_what_is_over(light: Hindsight) -> None:
    """If it is cut, the next events stay; a question that names a time gets the events of that time."""
    days = [*(f"2025-05-{day:02}" for day in range(1, 21)), *(f"2025-07-{day:02}" for day in range(1, 21))]
    bank = filled(
        light.bank("calendar"), [fact(day, f"Choir on {day}.", "event", f"choir {day}") for day in days]
    )
    [digest] = digests(bank, "What is coming up in my calendar?")
    assert [row.record.value for row in digest.rows] == [f"choir {day}" for day in days[20:]]
    assert "not counted, over: choir 2025-05-01 on May 1" in digest.heading
    [cut] = digests(bank, "What is coming up in my calendar?", max_record_tokens=250)
    assert f"rows: cut, the next {len(cut.rows)} of 20" in cut.heading
    assert [row.record.value for row in cut.rows] == [f"choir {day}" for day in days[20 : 20 + len(cut.rows)]]
    [then] = digests(bank, "What events did I have in May?")
    assert len(then.rows) == 20


def test_a_question_about_goals_lists_all_of_them(bank: MemoryBank) -> None:
    """Even if it names the category of one."""
    [digest] = [
        each for each in digests(bank, "What are my budgets and my steps goal?") if each.kind == "goal"
    ]
    assert len(digest.rows) == 2


def test_a_digest_is_of_what_the_recall_may_see(bank: MemoryBank) -> None:
    """Other users' records are in no row and no figure; ended ones are marked as history, and are not added up."""
    filled(bank, [coffee("2025-06-14", 9.99)], tags=["private"])
    assert figures(bank, "How much did I spend on coffee this week?", tags=["work"]).total == Decimal("12.95")
    last = bank.records.list(kind="expense", category="coffee")[-2]
    bank.withdraw(last.memory.id, reason="returned")
    assert figures(bank, "How much did I spend on coffee this week?", tags=["work"]).total == Decimal("9.0")
    [history] = digests(bank, "How much did I spend on coffee this week?", include_invalidated=True)
    assert [row.valid for row in history.rows] == [True, True, False, True]
    assert history.figures == ()


def test_figures_of_then_know_what_was_known_then(bank: MemoryBank) -> None:
    then = bank.recall(
        "How much did I spend on coffee this week?",
        include_records=True,
        as_of="2025-06-11T12:00:00+00:00",
        query_timestamp="2025-06-11T12:00:00+00:00",
    ).records[0]
    assert then.asked is not None
    assert then.asked.total == Decimal("9.0")


def test_the_time_the_caller_gives_counts(bank: MemoryBank) -> None:
    window = ("2025-06-02T00:00:00+00:00", "2025-06-09T00:00:00+00:00")
    assert figures(bank, "How much did I spend on coffee?", window=window).total == Decimal("5.15")


def test_a_damaged_memory_leaves_its_category_without_figures(bank: MemoryBank, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "engine" / "ledger.sqlite") as ledger:
        ledger.execute("UPDATE units SET text = text || '!' WHERE text LIKE '%coffee for 3.95%'")
    assert digests(bank, "How much did I spend on coffee this week?") == ()
    assert figures(bank, "How many steps did I walk this week?").total == Decimal(25099)


def test_a_question_in_other_words_is_told_by_the_memories_it_finds(bank: MemoryBank) -> None:
    """No word of the question names the category; most of the best-matching memories have it."""
    runs = [f"User jogged {km} km along the river." for km in (4, 6, 8, 5)]
    filled(
        bank,
        [
            fact(f"2025-06-{day:02}", what, "quantity", what.split()[2], "km", "endurance")
            for day, what in enumerate(runs, 9)
        ],
    )
    assert figures(bank, "How often did I go jogging along the river?").count == 4


def reflected(bank: MemoryBank, question: str, **options: Any) -> Reflection:
    return bank.reflect(question, as_of=NOW, **options)


def test_without_a_model_reflect_gives_the_figures_and_names_what_entered(bank: MemoryBank) -> None:
    answer = reflected(bank, "How much did I spend on coffee this week?")
    [digest] = answer.records
    assert answer.text.startswith(digest.text)
    assert (answer.extractive, answer.sufficient) == (True, True)
    assert set(digest.unit_ids) <= {item.unit.id for item in answer.units}
    assert {item.unit.id for cite in answer.based_on if (item := cite.unit)} == {
        item.unit.id for item in answer.units
    }


def test_what_asks_for_no_figures_is_answered_by_memories_alone(bank: MemoryBank) -> None:
    answer = reflected(bank, "Why did I spend so much on coffee this week?")
    assert answer.records == ()
    assert answer.units


def test_a_forgotten_expense_does_not_enter(bank: MemoryBank) -> None:
    bank.forget(unit=bank.records.list(kind="expense", category="coffee")[-1].memory.id)
    [digest] = reflected(bank, "How much did I spend on coffee in June?").records
    assert digest.asked is not None
    assert digest.asked.total == Decimal("14.15")


def test_the_asynchronous_api_answers_alike(tmp_path: Path) -> None:
    async def answered() -> Reflection:
        async with AsyncHindsight.open(tmp_path / "engine", reranker=None, config=CONFIG) as hindsight:
            bank = await hindsight.bank("records")
            said = {"role": "user", "content": WEEKS[2]["what"], "id": "m"}
            await bank.retain([said], timestamp="2025-06-02", thread="t", facts=[WEEKS[2]])
            return await bank.reflect("How much did I spend on coffee in June?", as_of=NOW)

    [digest] = asyncio.run(answered()).records
    assert digest.asked is not None
    assert digest.asked.count == 1


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
    answer = reflected(bank, "How much did I spend on coffee this week?")
    [digest] = answer.records
    assert digest.asked is not None
    assert digest.asked.total == Decimal("15.45")
    (served,) = [item for item in answer.units if item.unit.id == retained[0].unit_ids[0]]
    assert served.text == "Agenda of the harbour meeting\n- agenda: crane repair\n- agenda: pier lights"


@pytest.mark.parametrize("strategy", ["single", "agentic"])
def test_a_model_is_shown_the_figures_and_the_reflection_keeps_them(tmp_path: Path, strategy: str) -> None:
    answer = {"text": "12.95 euros.", "based_on": ["1"], "sufficient": True, "opinions": []}
    last = {"thought": "It is known.", "tool": "answer", "arguments": {}, "answer": "12.95 euros."}
    model = ScriptedModel(lambda messages: answer | last)
    with Hindsight.open(tmp_path / "engine", reranker=None, config=CONFIG, model=model) as hindsight:
        bank = filled(hindsight.bank("records"), WEEKS)
        found = reflected(bank, "How much did I spend on coffee this week?", strategy=strategy)
    shown = "\n".join(str(message.content) for message in model.prompts[0])
    assert "sum 12.95 EUR, 3 records" in shown
    [digest] = found.records
    assert digest.asked is not None
    assert digest.asked.total == Decimal("12.95")
