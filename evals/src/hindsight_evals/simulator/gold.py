"""Gold extraction: the facts that a strong model would extract from a session and the statements that it makes untrue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from hindsight_evals.episode import GoldWithdrawal
from hindsight_evals.simulator.dialogue import Telling, rendered
from hindsight_evals.simulator.memories import Entry, MemoryKind
from hindsight_evals.simulator.operations import day_name
from hindsight_integrations import EntityType, ExtractedFact, RecordKind
from hindsight_integrations.model.facts import ExtractedChange, ExtractedEntity, ExtractedRecord, MemoryChange


def gold_fact(
    telling: Telling, sources: Sequence[str], random: Random, gone: GoldWithdrawal | None = None
) -> ExtractedFact:
    """Return the fact of one change; it names an ended memory by its source turns.

    Args:
        telling: the change and its phrasing.
        sources: ids of the turns that state it.
        random: chooses a wording.
        gone: the statement that the change makes untrue.
    """
    family, values, entry = telling.family, telling.values, telling.change.entry
    happened = entry.day.isoformat() if _is_dated(entry) else None
    return ExtractedFact(
        what=rendered(random.choice(family.fact), values),
        when=day_name(entry.day) + f", {entry.day.year}" if happened else "",
        who="User",
        occurred_start=happened,
        occurred_end=happened,
        entities=[ExtractedEntity(text="User", type=EntityType.PERSON)],
        sources=list(sources),
        changes=[_ending(gone)] if gone else [],
        records=[_record(entry)] if telling.change.after is not None else [],
    )


def _ending(gone: GoldWithdrawal) -> ExtractedChange:
    return ExtractedChange(change=MemoryChange.ENDS, sources=sorted(gone.sources))


def _is_dated(entry: Entry) -> bool:
    return entry.kind in {MemoryKind.FOOD_EXPENSE, MemoryKind.STEPS, MemoryKind.CALENDAR_EVENT}


def _record(entry: Entry) -> ExtractedRecord:
    """Return the record of a value that can be summed or listed."""
    kind, unit = _SORTS[entry.kind]
    values = entry.values
    value = {
        MemoryKind.CALENDAR_EVENT: f"{values.get('event')} on {entry.day.isoformat()}",
        MemoryKind.PREFERENCE: f"{values.get('liking')}s {entry.text}",
        MemoryKind.STEPS: values.get("steps", "").replace(",", ""),
        MemoryKind.STEP_TARGET: values.get("steps", "").replace(",", ""),
    }.get(entry.kind, values.get("amount", entry.text))
    of_steps = "steps" if unit.startswith("steps") else ""
    category = values.get("category") or values.get("domain") or values.get("title") or of_steps
    return ExtractedRecord(kind=kind.value, value=value, unit=unit, category=category)


_SORTS: Mapping[MemoryKind, tuple[RecordKind, str]] = {
    MemoryKind.FOOD_EXPENSE: (RecordKind.EXPENSE, "USD"),
    MemoryKind.STEPS: (RecordKind.QUANTITY, "steps"),
    MemoryKind.FOOD_BUDGET: (RecordKind.GOAL, "USD/week"),
    MemoryKind.STEP_TARGET: (RecordKind.GOAL, "steps/day"),
    MemoryKind.TODO: (RecordKind.TASK, ""),
    MemoryKind.CALENDAR_EVENT: (RecordKind.EVENT, ""),
    MemoryKind.PREFERENCE: (RecordKind.PREFERENCE, ""),
    MemoryKind.DOCUMENT: (RecordKind.DOCUMENT_ITEM, ""),
}
"""The kind and unit of a memory's record."""
