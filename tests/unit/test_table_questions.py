"""Which questions get a table of records, against questions written blind to the rules (record_table/list_questions.toml)."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest
from table import every_row

from hindsight_integrations.model.record_answers import RecordQuestion
from hindsight_integrations.model.records import RecordCategory, RecordKind
from hindsight_integrations.model.time import MICROSECOND, LocalDates, Weekday
from hindsight_integrations.text.languages import LANGUAGES
from hindsight_integrations.text.record_tables import table_question

NOW = datetime(2025, 6, 7, 20, tzinfo=UTC)  # a Saturday
TABLE: Mapping[str, list[dict[str, Any]]] = tomllib.loads(
    (Path(__file__).parent / "record_table" / "list_questions.toml").read_text(encoding="utf-8")
)
MEALS = ("coffee", "lunch", "groceries")  # what "food" is made of in the bank
UNITS = {"running": "km", "cycling": "km", "steps": "steps", "sleep": "h", "piano": "h", "pages": "pages"}

MISREAD = {"es": ["¿Qué pasó esta semana?"]}  # a known miss: "pasó" has the stem of the category "pasos"


class Verdict(StrEnum):
    """What became of a question."""

    RIGHT = "right"
    WIDER = "wider"
    """All of the kind, where one category was meant: nothing is missing."""
    MISSED = "missed"
    WRONG = "wrong"
    FILLER = "filler"
    """A table where none was wanted."""
    SILENT = "silent"


def bank_of(rows: list[dict[str, Any]]) -> list[RecordCategory]:
    """A bank that has every category the questions name, and the meals that food is made of."""
    named = {
        (row["kind"], row["category"]) for row in rows if "category" in row and row["category"] != "food"
    }
    named |= {("expense", meal) for meal in MEALS} | {("preference", "food")}
    return [
        RecordCategory(
            RecordKind(kind),
            name,
            (name,),
            5,
            ("EUR",) if kind in ("expense", "income") else (UNITS.get(name, ""),),
        )
        for kind, name in sorted(named)
    ]


def understood(text: str, code: str) -> RecordQuestion | None:
    return table_question(
        text,
        NOW,
        dates=LocalDates(UTC, week_starts=Weekday.MONDAY),
        languages=(LANGUAGES[code], *(each for name, each in LANGUAGES.items() if name != code)),
        categories=bank_of(TABLE[code]),
    )


def verdict(row: Mapping[str, Any], asked: RecordQuestion | None) -> Verdict:
    if "kind" not in row:
        return Verdict.FILLER if asked else Verdict.SILENT
    if asked is None:
        return Verdict.MISSED
    if asked.kind.value != row["kind"] or not _of_these_days(asked, row.get("days")):
        return Verdict.WRONG
    return Verdict.RIGHT if bool(asked.categories) == ("category" in row) else Verdict.WIDER


def _of_these_days(asked: RecordQuestion, days: list[date] | None) -> bool:
    """Whether the window is that of the days, or that of them which have begun."""
    if days is None or asked.window is None:
        return days is None and asked.window is None
    first, last = asked.window.start.date(), (asked.window.end - MICROSECOND).date()
    return first == days[0] and last in (days[1], NOW.date())


def judged(code: str, half: int) -> Iterator[tuple[str, Verdict]]:
    for row in TABLE[code][half::2]:
        yield row["text"], verdict(row, understood(row["text"], code))


@pytest.mark.parametrize("code", TABLE)
def test_a_question_that_asks_for_no_list_gets_no_table(code: str) -> None:
    """A table that nobody asked for is filler in every prompt, so not one of these questions gets one."""
    found = [text for half in (0, 1) for text, found in judged(code, half) if found is Verdict.FILLER]
    assert found == MISREAD.get(code, [])


@every_row(
    ("code", "half", "least", "most_wrong"),
    [("en", 0, 23, 1), ("en", 1, 15, 1), ("de", 0, 7, 0), ("de", 1, 6, 0), ("es", 0, 5, 0), ("es", 1, 4, 0)],
)
def test_a_question_for_a_list_gets_the_table_it_is_about(
    code: str, half: int, least: int, most_wrong: int
) -> None:
    """The kind and the days a speaker means: fitted on the odd rows (0), and as good as reported on the even ones (1)."""
    found = [verdict for _, verdict in judged(code, half)]
    assert sum(each in (Verdict.RIGHT, Verdict.WIDER) for each in found) >= least, list(judged(code, half))
    assert found.count(Verdict.WRONG) <= most_wrong, list(judged(code, half))
