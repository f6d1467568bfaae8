"""as_of shows the past: nothing that was said, withdrawn, changed or restored later is visible."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hindsight_integrations import Hindsight, HindsightConfig, MemoryBank
from hindsight_integrations.config import KeywordBackend, StorageConfig, VectorBackend
from hindsight_integrations.model.units import ValidityKind
from hindsight_integrations.testing.doubles import FrozenClock, HashEmbedder

LIGHT = HindsightConfig(storage=StorageConfig(VectorBackend.EXACT, KeywordBackend.FTS5))
DAY = timedelta(days=1)
FIRST = datetime(2024, 5, 1, 10, tzinfo=UTC)
NOON = timedelta(hours=2)
SUBJECTS = ["kayak", "violin", "passport", "orchard", "bicycle"]
NOTES = {subject: f"User keeps a {subject} note in folder {n}" for n, subject in enumerate(SUBJECTS)}


def say(bank: MemoryBank, day: int, what: str, *invalidates: str, **fact: Any) -> tuple[str, ...]:
    """One message with one fact on the morning of a day; returns the ids of its units."""
    message = {"role": "user", "content": what, "id": f"d{day}"}
    facts = [{"what": what, "sources": [f"d{day}"], "invalidates": list(invalidates), **fact}]
    return bank.retain([message], timestamp=FIRST + day * DAY, facts=facts).unit_ids


def listed(*values: str) -> list[dict[str, Any]]:
    """Items of a note."""
    return [{"kind": "document_item", "category": "points", "value": value} for value in values]


def do(bank: MemoryBank, day: int, operation: str, subject: str) -> None:
    """One operation on a subject; for a new subject it makes a statement and closes nothing.

    A restoration restores all closed notes on the subject. Items are removed from the newest note on the
    subject, or added to it.
    """
    note = NOTES[subject]
    newest = next((unit.id for unit in bank.iterate_units() if unit.text == note), "nothing")
    if operation == "note":
        say(bank, day, note, records=listed(f"the {subject} price", f"the {subject} colour"))
    elif operation == "remove":
        change = {"unit_id": newest, "change": "removes", "items": [1 + day % 3]}
        say(bank, day, f"User struck a line off the {subject} note {day}", changes=[change])
    elif operation == "add":
        more = {"adds_to": {"unit_id": newest}, "records": listed(f"the {subject} of day {day}")}
        say(bank, day, f"User added a line to the {subject} note {day}", **more)
    elif operation == "restore":
        notes = [unit.id for unit in bank.iterate_units(include_invalidated=True) if unit.text == note]
        for unit_id in notes:
            bank.restore(unit_id)
    elif operation == "delete":
        say(bank, day, f"User threw the {subject} away on trip {day}", note)
    else:
        say(bank, day, f"User swapped it for another {subject} number {day}", note)


def valid_by_log(bank: MemoryBank, unit_id: str, moment: datetime) -> bool:
    kinds = [event.kind for event in bank.history(unit_id) if event.effective_at <= moment]
    return not kinds or kinds[-1] is ValidityKind.RESTORED


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["note", "note", "delete", "replace", "remove", "add", "restore"]),
        st.sampled_from(SUBJECTS),
    ),
    min_size=2,
    max_size=10,
)


def seen(bank: MemoryBank, subject: str, **options: Any) -> set[tuple[str, tuple[str, ...]]]:
    """The memories that recall returns, each with its items."""
    found = bank.recall(f"the {subject} of the user", max_tokens=10_000, **options).units
    return {(item.unit.text, tuple(item.text.split("\n- ")[1:])) for item in found}


def items_of_notes(bank: MemoryBank, as_of: datetime | None = None) -> dict[str, list[str]]:
    """The valid items of each valid memory."""
    units = [*bank.iterate_units(as_of=as_of)]
    return {unit.id: [item.id for item in bank.document_items(unit.id, as_of=as_of)] for unit in units}


@settings(max_examples=12, deadline=None)
@example(steps=[("note", "kayak"), ("delete", "kayak"), ("note", "violin"), ("restore", "kayak")])
@example(
    steps=[
        ("note", "kayak"),
        ("remove", "kayak"),
        ("add", "kayak"),
        ("delete", "kayak"),
        ("restore", "kayak"),
    ]
)
@given(steps=STEPS)
def test_the_past_of_a_bank_is_what_a_bank_knew_then(steps: list[tuple[str, str]]) -> None:
    """After each day of notes, deletions, replacements, item changes and restorations, `as_of` that day shows in the finished bank exactly what the bank contained then."""
    clock = FrozenClock(FIRST)
    with Hindsight.open(
        ":memory:", embeddings=HashEmbedder(), reranker=None, config=LIGHT, clock=clock
    ) as engine:
        bank = engine.bank("diary")
        held, items, served = [], [], []
        for day, (operation, subject) in enumerate(steps):
            clock.set(FIRST + day * DAY)
            do(bank, day, operation, subject)
            held.append([unit.id for unit in bank.iterate_units()])
            items.append(items_of_notes(bank))
            served.append({subject: seen(bank, subject) for subject in SUBJECTS})
        for day in range(len(steps)):
            moment = FIRST + day * DAY + NOON
            units = list(bank.iterate_units(as_of=moment))
            assert [unit.id for unit in units] == held[day]
            assert all(unit.mentioned_at <= moment and valid_by_log(bank, unit.id, moment) for unit in units)
            assert items_of_notes(bank, moment) == items[day]
            assert all(valid_by_log(bank, item, moment) for each in items[day].values() for item in each)
            assert {subject: seen(bank, subject, as_of=moment) for subject in SUBJECTS} == served[day]
        assert bank.units(as_of=FIRST - DAY).total == 0


def test_what_was_brought_back_shows_before_and_after(light: Hindsight, clock: FrozenClock) -> None:
    """A memory closed by mistake and restored is shown for days before the closing and from the restoration on."""
    bank = light.bank("diary")
    (kept,) = say(bank, 0, NOTES["kayak"])
    say(bank, 5, "User threw the kayak away", NOTES["kayak"])
    assert bank.restore(kept)
    for moment in (FIRST + DAY, clock.now(), clock.now() + DAY):
        assert kept in {unit.id for unit in bank.iterate_units(as_of=moment)}
        assert NOTES["kayak"] in {text for text, _ in seen(bank, "kayak", as_of=moment)}


def days_listed(bank: MemoryBank, unit_id: str, days: int) -> list[int]:
    """The days at whose noon `units` lists a memory; recall must agree."""
    found = []
    for day in range(days):
        moment = FIRST + day * DAY + NOON
        listed = unit_id in {unit.id for unit in bank.iterate_units(as_of=moment)}
        assert listed == (NOTES["kayak"] in {text for text, _ in seen(bank, "kayak", as_of=moment)})
        found += [day] if listed else []
    return found


@pytest.mark.parametrize("reopened", [False, True], ids=["running", "reopened"])
def test_between_closing_and_restoring_a_memory_was_not_there(
    opener: Callable[..., Hindsight], clock: FrozenClock, tmp_path: Path, reopened: bool
) -> None:
    """Closed on days 2 and 6 and restored on days 4 and 7, it is listed and recalled on the other days only, also after reopening."""
    engine = opener(tmp_path, config=LIGHT)
    bank = engine.bank("diary")
    (kept,) = say(bank, 0, NOTES["kayak"])
    for closing, restoring in ((2, 4), (6, 7)):
        say(bank, closing, f"User threw the kayak away on trip {closing}", NOTES["kayak"])
        clock.set(FIRST + restoring * DAY)
        assert bank.restore(kept)
    if reopened:
        engine.close()
        bank = opener(tmp_path, config=LIGHT).bank("diary")
    assert days_listed(bank, kept, 10) == [0, 1, 4, 5, 7, 8, 9]


def test_while_a_message_was_edited_its_first_wording_was_not_there(light: Hindsight) -> None:
    """A message edited on day 3 and changed back on day 6 did not have its first wording in between."""
    bank = light.bank("diary")
    message = {"role": "user", "content": NOTES["kayak"], "id": "m"}
    other = {**message, "content": "User keeps nothing in folders"}
    (kept,) = bank.retain([message], timestamp=FIRST).unit_ids
    bank.retain([other], timestamp=FIRST + 3 * DAY)
    bank.retain([message], timestamp=FIRST + 6 * DAY)
    days = [
        day
        for day in range(9)
        if kept in {unit.id for unit in bank.iterate_units(as_of=FIRST + day * DAY + NOON)}
    ]
    assert days == [0, 1, 2, 6, 7, 8]


def test_history_of_the_past_holds_nothing_said_later(light: Hindsight) -> None:
    """With as_of, include_invalidated adds memories closed by then, but none that was mentioned later."""
    bank = light.bank("diary")
    say(bank, 0, NOTES["kayak"])
    say(bank, 2, "User threw the kayak away", NOTES["kayak"])
    say(bank, 5, "User bought another kayak in Oslo")
    options = {"as_of": FIRST + 3 * DAY, "include_invalidated": True}
    assert {text for text, _ in seen(bank, "kayak", **options)} == {
        NOTES["kayak"],
        "User threw the kayak away",
    }
    assert len(bank.recall("the kayak", include_invalidated=True).units) == 3
