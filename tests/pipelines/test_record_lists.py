"""Lists in recall: a question for tasks, appointments, goals, preferences or amounts returns all valid ones."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from hindsight_integrations import Hindsight, MemoryBank, RecallResult

ASKED_AT = "2025-12-20T09:00+00:00"
TASKS = (
    *(f"tidy the {place}" for place in ("attic", "cellar", "garage", "loft", "shed")),
    *("book a ferry", "call Anna", "file taxes", "fix a bike", "order soil", "post a parcel", "renew a visa"),
)


def tell(bank: MemoryBank, facts: Iterable[dict[str, Any]], day: str = "2025-01-05") -> None:
    for number, fact in enumerate(facts):
        source = f"{day}/{fact['what']}/{number}"
        said = {"role": "user", "content": fact["what"], "id": source}
        bank.retain([said], timestamp=day, thread=source, facts=[{**fact, "sources": [source]}])


def fact(
    what: str, kind: str, value: str | float, category: str = "", day: str = "", **more: Any
) -> dict[str, Any]:
    record = {"kind": kind, "value": value, "category": category, "unit": more.pop("unit", "")}
    return {
        "what": what,
        "records": [record],
        "occurred_start": day or None,
        "occurred_end": day or None,
        **more,
    }


def task(what: str) -> dict[str, Any]:
    return fact(f"User has to {what}.", "task", what)


def event(what: str, day: str) -> dict[str, Any]:
    return fact(f"User has the {what}.", "event", what, day=day)


def noise(count: int = 150) -> list[dict[str, Any]]:
    return [
        {"what": f"User has to laugh at story {number} of uncle {number + 7}."} for number in range(count)
    ]


def ask(bank: MemoryBank, question: str, **options: Any) -> RecallResult:
    return bank.recall(question, query_timestamp=ASKED_AT, **options)


def texts(found: RecallResult) -> list[str]:
    return [item.unit.what for item in found.units]


def listed(found: RecallResult) -> set[str]:
    return {item.unit.what for item in found.units if item.reason.value == "listed"}


@pytest.fixture
def bank(light: Hindsight) -> MemoryBank:
    return light.bank("ann")


@pytest.mark.parametrize("question", ["What is on my to-do list?", "Is there anything to tidy?"])
def test_a_question_about_tasks_gets_all_open_ones_and_none_that_is_finished(
    bank: MemoryBank, question: str
) -> None:
    """Whether the question names tasks or is only similar to some, and however many memories were retained since."""
    tell(bank, map(task, TASKS))
    done = {"sources": ["2025-01-05/User has to tidy the cellar./1"], "change": "ends"}
    tell(bank, [{"what": "User tidied the cellar.", "changes": [done]}], "2025-02-01")
    tell(bank, noise(), "2025-03-01")
    found = texts(ask(bank, question, max_tokens=500))
    assert {f"User has to {what}." for what in TASKS if what != "tidy the cellar"} <= set(found)
    assert "User has to tidy the cellar." not in found


def test_the_calendar_begins_now_and_its_next_events_come_first(bank: MemoryBank) -> None:
    """A year of past appointments does not hide the few future ones."""
    tell(bank, [event(f"dinner {number}", f"2025-{number % 11 + 1:02}-10") for number in range(40)])
    ahead = {"choir": "2026-01-20", "dentist": "2025-12-22", "audit": "2026-03-01"}
    tell(bank, [event(what, day) for what, day in ahead.items()], "2025-11-01")
    found = ask(bank, "What appointments do I have?", max_tokens=700)
    first = [text for text in texts(found) if text[len("User has the ") : -1] in ahead]
    assert first == ["User has the dentist.", "User has the choir.", "User has the audit."]
    in_march = ask(bank, "What appointments did I have in March 2025?", max_tokens=700)
    assert set(texts(in_march)[:4]) == {f"User has the dinner {number}." for number in (2, 13, 24, 35)}


def test_a_request_gets_all_tastes_of_its_sort(bank: MemoryBank) -> None:
    """Preferences of other kinds are not added."""
    films, tunes = (
        [
            fact(
                f"User likes {'the ' + sort + ' ' if number < 8 else ''}{name} {number}.",
                "preference",
                f"{name} {number}",
                sort,
            )
            for number in range(30)
        ]
        for sort, name in (("film", "Star"), ("tune", "Moon"))
    )
    tell(bank, [*films, *tunes, *noise()])
    found = ask(bank, "Which film should I see?", max_tokens=1000)
    assert {each["what"] for each in films} <= set(texts(found))
    assert listed(found) <= {each["what"] for each in films}


def test_a_question_about_amounts_of_a_time_gets_all_of_that_time(bank: MemoryBank) -> None:
    def lunch(day: str) -> dict[str, Any]:
        return fact(f"User paid for lunch on {day}.", "expense", 9, "lunch", day, unit="EUR")

    tell(bank, [lunch(f"2025-{month:02}-{day:02}") for month in range(1, 11) for day in range(1, 21)])
    week = [f"2025-12-{day}" for day in range(15, 20)]
    tell(bank, map(lunch, week), "2025-12-19")
    tell(bank, noise(), "2025-12-18")
    found = ask(bank, "What did lunch cost me this week?", max_tokens=500)
    assert {f"User paid for lunch on {day}." for day in week} <= set(texts(found))


def test_a_list_that_does_not_fit_says_so(bank: MemoryBank) -> None:
    tell(bank, map(task, TASKS))
    cut = ask(bank, "What is on my to-do list?", max_tokens=60)
    assert f"lists: cut, {len(cut.units)} of 12 memories with task records fit the budget" in cut.trace.notes
    whole = ask(bank, "What is on my to-do list?")
    assert not [note for note in whole.trace.notes if note.startswith("lists:")]


def test_a_statement_and_a_number_of_memories_get_no_lists(bank: MemoryBank) -> None:
    tell(bank, [*map(task, TASKS), *noise()])
    assert len(listed(ask(bank, "What is on my to-do list?"))) == len(TASKS)
    assert len(ask(bank, "Is there anything to tidy?", k=3).units) == 3
    assert listed(ask(bank, "I watched a film about a to-do list yesterday.")) == set()
    assert listed(ask(bank, "What is on my to-do list?", min_scores={"final": 0.0})) == set()


def test_what_a_digest_lists_is_not_listed_again(bank: MemoryBank) -> None:
    tell(bank, [*map(task, TASKS), *noise()])
    found = ask(bank, "What is on my to-do list?", max_tokens=200, include_records=True)
    assert len(found.records[0].rows) == len(TASKS)
    assert listed(found) == set()


@pytest.mark.parametrize("change", ["ends", "replaces"])
def test_what_changed_five_times_shows_its_last_value_alone(bank: MemoryBank, change: str) -> None:
    """Even a value that returns to an earlier one; none of the previous values is returned."""
    sorts: dict[str, tuple[str, list[str]]] = {
        "goal": ("User spends at most {} EUR a week on coffee.", ["25", "40", "25", "60", "80", "30"]),
        "price": ("The piano lesson costs {} EUR.", ["31", "32", "33", "31", "35", "36"]),
        "address": ("User lives at {}.", ["Oak 1", "Elm 2", "Oak 1", "Fir 3", "Yew 4", "Ash 5"]),
        "preference": ("User's favourite tea is {}.", ["green", "black", "white", "green", "red", "mint"]),
    }
    for name, (text, values) in sorts.items():
        for number, value in enumerate(values):
            source = f"{name}-{number}"
            kind = name if name in ("goal", "preference") else "other"
            told = fact(text.format(value), kind, value, name, sources=[source])
            if number:
                before = {"sources": [f"{name}-{number - 1}"], "change": change}
                told["changes"] = [
                    before | ({"removed": [values[number - 1]]} if change == "replaces" else {})
                ]
            said = {"role": "user", "content": told["what"], "id": source}
            result = bank.retain([said], timestamp=f"2025-{2 * number + 1:02}-01", facts=[told])
            assert (result.dropped, len(result.closed)) == ((), number > 0)
    questions = [
        "What is my coffee limit?",
        "How much is a piano lesson?",
        "Where do I live?",
        "Which tea do I like?",
    ]
    for question, (text, values) in zip(questions, sorts.values(), strict=True):
        found = texts(ask(bank, question, include_records=True))
        stem = text.split("{}")[0]
        assert [each for each in found if each.startswith(stem)] == [text.format(values[-1])], question
