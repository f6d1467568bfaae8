"""Texts of the reflect tools: usage lines and rendering of results."""

from __future__ import annotations

from collections.abc import Sequence

from hindsight_integrations.model.aggregates import RecordEntry
from hindsight_integrations.model.records import RecordKind
from hindsight_integrations.model.turns import Role, SourceTurn
from hindsight_integrations.prompts.memories import day
from hindsight_integrations.prompts.rendering import one_line, table


def tool_usage(name: str) -> str:
    """Return a memory tool's usage line."""
    return next(f"{call}: {gives}" for tool, call, gives in table("reflect_tools") if tool == name)


def turn_line(numbers: Sequence[str], turn: SourceTurn) -> str:
    """Format a turn on one line: citation numbers, time, role, speaker and text."""
    own = "; you yourself" if turn.role is Role.ASSISTANT else ""
    history = "; history, withdrawn since" if turn.history else ""
    cited = "".join(f"[{number}]" for number in numbers)
    return (
        f"{cited} (said on {day(turn.said_at)} at {turn.said_at:%H:%M}{own}{history}) {one_line(turn.spoken)}"
    )


def record_line(number: str, entry: RecordEntry) -> str:
    """Format a record on one line: memory number, day, kind, value and the memory's text."""
    record = entry.record
    sort = "/".join(part for part in (record.kind.value, record.category) if part)
    return f"[{number}] ({entry.at:%Y-%m-%d}; {sort}: {one_line(record.words)}) {one_line(entry.memory.text)}"


def sorts_line(sorts: Sequence[tuple[tuple[RecordKind, str], int]], *, entity: str | None, more: bool) -> str:
    """Format kinds and categories on one line, with their numbers of records.

    Args:
        sorts: (kind, category, number); the category may be empty.
        entity: the entity that all records are about; None for any.
        more: whether there are more kinds and categories.
    """
    listed = ", ".join(f"{one_line('/'.join(filter(None, sort)))} ({number})" for sort, number in sorts)
    about = f" about {one_line(entity)}" if entity else ""
    return f"records there are{about}, at any time: {listed}{', ...' if more else ''}"
