"""How a model is told of the tools of a reflection, and how their results are shown to it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from hindsight_integrations.model.aggregates import RecordEntry
from hindsight_integrations.model.records import RecordKind
from hindsight_integrations.model.turns import Role, SourceTurn
from hindsight_integrations.prompts.memories import day, one_line
from hindsight_integrations.prompts.rendering import template


def tool_usage(name: str) -> str:
    """How a tool of memory is called and what it gives, in a line."""
    call, gives = _usages()[name]
    return f"{call}: {gives}"


@cache
def _usages() -> dict[str, tuple[str, str]]:
    """The rows of the template's table, below its head, by tool."""
    rows = (
        [cell.strip() for cell in row.strip("|").split("|")]
        for row in template("reflect_tools").splitlines()[2:]
    )
    return {name: (call, gives) for name, call, gives in rows}


def turn_line(numbers: Sequence[str], turn: SourceTurn) -> str:
    """What was said, on one line: the numbers to cite it by, when, whose side, and speaker and words."""
    own = "; you yourself" if turn.role is Role.ASSISTANT else ""
    history = "; history, withdrawn since" if turn.history else ""
    cited = "".join(f"[{number}]" for number in numbers)
    return (
        f"{cited} (said on {day(turn.said_at)} at {turn.said_at:%H:%M}{own}{history}) {one_line(turn.spoken)}"
    )


def record_line(number: str, entry: RecordEntry) -> str:
    """A record on one line: the number of its memory, its day, its kind and value, and the memory's text."""
    record = entry.record
    sort = "/".join(part for part in (record.kind.value, record.category) if part)
    return f"[{number}] ({entry.at:%Y-%m-%d}; {sort}: {one_line(record.words)}) {one_line(entry.memory.text)}"


def sorts_line(sorts: Sequence[tuple[tuple[RecordKind, str], int]], *, entity: str | None, more: bool) -> str:
    """Kinds and categories on one line, each with how many records it has.

    Args:
        sorts: kind, category (may be empty) and number.
        entity: whom or what all of them are about; None if they are about anything.
        more: there are further ones.
    """
    listed = ", ".join(f"{one_line('/'.join(filter(None, sort)))} ({number})" for sort, number in sorts)
    about = f" about {one_line(entity)}" if entity else ""
    return f"records there are{about}, at any time: {listed}{', ...' if more else ''}"
