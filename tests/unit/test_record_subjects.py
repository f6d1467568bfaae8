"""The records that a question is about, with questions by an author who had not seen the words (record_table/list_questions.toml)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from table import every_row

from hindsight_integrations.language.dates import question_time
from hindsight_integrations.language.packs import LANGUAGES
from hindsight_integrations.language.record_questions import KnownThings, Subject, subjects_of
from hindsight_integrations.model.records import RecordCategory, RecordKind
from hindsight_integrations.model.time import LocalDates, Weekday

NOW = datetime(2025, 6, 7, 20, tzinfo=UTC)  # a Saturday
TABLE: Mapping[str, list[dict[str, Any]]] = tomllib.loads(
    (Path(__file__).parent / "record_table" / "list_questions.toml").read_text(encoding="utf-8")
)
UNITS = {"running": "km", "cycling": "km", "steps": "steps", "sleep": "h", "piano": "h", "pages": "pages"}
EXPENSE, QUANTITY = RecordKind.EXPENSE, RecordKind.QUANTITY


def category(kind: RecordKind, name: str, *units: str) -> RecordCategory:
    return RecordCategory(kind, name, (name,), 5, units)


def bank_of(rows: Sequence[Mapping[str, Any]]) -> list[RecordCategory]:
    """A bank with every category that the questions name, and the meals that food consists of."""
    named = {(row["kind"], row["category"]) for row in rows if row.get("category", "food") != "food"}
    named |= {("expense", meal) for meal in ("coffee", "lunch", "groceries")} | {("preference", "food")}
    return [
        category(RecordKind(kind), name, "EUR" if kind in ("expense", "income") else UNITS.get(name, ""))
        for kind, name in sorted(named)
    ]


BANK = [
    *(category(EXPENSE, name, "EUR") for name in ("coffee", "lunch", "groceries", "rent", "books")),
    category(QUANTITY, "steps", "steps"),
    category(QUANTITY, "running", "km", "mi"),
    category(QUANTITY, "sleep", "h"),
    category(QUANTITY, "weight", "kg"),
    category(RecordKind.GOAL, "coffee", "EUR/week"),
    category(RecordKind.INCOME, "salary", "EUR"),
]


def found(text: str, categories: Sequence[RecordCategory] = BANK, code: str = "en") -> tuple[Subject, ...]:
    languages = (LANGUAGES[code], *(each for name, each in LANGUAGES.items() if name != code))
    dates = LocalDates(UTC, week_starts=Weekday.MONDAY)
    time = question_time(text, NOW, dates, languages)
    return subjects_of(text, KnownThings(categories, languages), languages, time=time.phrase if time else "")


@pytest.mark.parametrize(("code", "least"), [("en", 50), ("de", 13), ("es", 11)])
def test_a_question_for_records_touches_what_it_is_about(code: str, least: int) -> None:
    rows = [row for row in TABLE[code] if "kind" in row]
    bank = bank_of(TABLE[code])
    right = [row for row in rows if any(each.kind == row["kind"] for each in found(row["text"], bank, code))]
    assert len(right) >= least, [row["text"] for row in rows if row not in right]


@pytest.mark.parametrize(("code", "most"), [("en", 1), ("de", 0), ("es", 0)])
def test_a_question_for_something_else_touches_nothing(code: str, most: int) -> None:
    bank = bank_of(TABLE[code])
    wrong = [row["text"] for row in TABLE[code] if "kind" not in row and found(row["text"], bank, code)]
    assert len(wrong) <= most, wrong


@every_row(
    ("text", "kind", "categories"),
    [
        ("What does coffee come to?", EXPENSE, ("coffee",)),
        ("coffee total may", EXPENSE, ("coffee",)),
        ("What is my total food spending this week?", EXPENSE, ("coffee", "groceries", "lunch")),
        ("Am I over my coffee budget?", EXPENSE, ("coffee",)),
        ("Halte ich mein Kaffeebudget ein?", EXPENSE, ("coffee",)),
        ("Wie hoch waren meine Lebensmittelausgaben im Mai?", EXPENSE, ("groceries",)),
        ("How much went on grocceries?", EXPENSE, ("groceries",)),
        ("How many kilometres in May?", QUANTITY, ("running",)),
        ("How much did I earn in May?", RecordKind.INCOME, ()),
        ("How much did I spend in May?", EXPENSE, ()),
        ("¿Cuántos pasos di ayer?", QUANTITY, ("steps",)),
        ("¿He cumplido mi objetivo de pasos?", QUANTITY, ("steps",)),
    ],
)
def test_a_category_is_known_by_name_synonym_compound_spelling_and_unit(
    text: str, kind: RecordKind, categories: tuple[str, ...]
) -> None:
    [subject] = found(text)
    assert (subject.kind, tuple(sorted(subject.categories))) == (kind, categories)


def test_a_category_of_the_bank_in_another_language_is_found() -> None:
    german = [category(EXPENSE, "Lebensmittel", "EUR"), category(EXPENSE, "Zahnarztrechnung", "EUR")]
    assert found("How much did I spend on groceries in May?", german) == (
        Subject(EXPENSE, ("Lebensmittel",)),
    )
    assert found("Was habe ich im Mai für Zahnarztrechnungen bezahlt?", german) == (
        Subject(EXPENSE, ("Zahnarztrechnung",)),
    )


def test_a_word_of_the_best_memories_tells_their_category() -> None:
    """ "Tank" names no category; most memories with the word are about fuel. None of them is about gifts."""
    languages = tuple(LANGUAGES.values())
    known = KnownThings([*BANK, category(EXPENSE, "skoda", "EUR")], languages)
    best = [
        ("The tankard was full, 60.20.", {(EXPENSE, "skoda")}),
        ("Half a tankard, 32.", {(EXPENSE, "skoda")}),
    ]
    assert subjects_of("How much went into the tankard?", known, languages, best=lambda: best) == (
        Subject(EXPENSE, ("skoda",)),
    )
    assert subjects_of("How much did I spend on gifts?", known, languages, best=lambda: best) == ()


def test_a_word_is_a_currency_only_in_a_question_about_money_the_bank_has() -> None:
    languages = tuple(LANGUAGES.values())
    bank = [
        category(EXPENSE, "rent", "GBP", "PEN"),
        category(QUANTITY, "weight", "lb"),
        category(QUANTITY, "sales", "mops"),
    ]
    known = KnownThings(bank, languages)
    assert {
        word: known.unit(word, money=False) for word in ("try", "pen", "mop", "pounds", "usd", "$", "km")
    } == {"try": None, "pen": None, "mop": "mops", "pounds": "lb", "usd": "USD", "$": "USD", "km": "km"}
    assert {word: known.unit(word, money=True) for word in ("try", "pen", "mop", "pounds", "gbp")} == {
        "try": None,
        "pen": "PEN",
        "mop": "mops",
        "pounds": "GBP",
        "gbp": "GBP",
    }
    assert found("How much did I spend on a pen?") == ()
    (weight,) = found("How many pounds do I weigh?", [category(QUANTITY, "weight", "lb")])
    assert weight.unit == "lb"
