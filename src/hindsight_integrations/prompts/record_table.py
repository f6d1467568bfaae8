"""Tables of records as agents' prompts show them: what is in them, how many of how many, and a line each."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime

from hindsight_integrations.model.aggregates import RecordEntry
from hindsight_integrations.model.records import RecordKind
from hindsight_integrations.model.time import readable_time


def record_line(entry: RecordEntry, *, valid: bool = True, seen_from: datetime | None = None) -> str:
    """A record in one line: its value, of what, and when, as memories show it, behind another sign than theirs.

    Args:
        entry: the record and its memory.
        valid: it holds at the time asked about.
        seen_from: the moment of the question.
    """
    record, memory = entry.record, entry.memory
    of = f", {record.category}" if record.category else ""
    when = readable_time(memory.occurred, memory.mentioned_at, seen_from)
    past = "" if valid else "; history, holds no more"
    return f"* {' '.join(f'{record.words}{of}'.split())} ({when}{past})"


def table_heading(
    kind: RecordKind,
    categories: Sequence[str],
    days: tuple[date, date] | None,
    *,
    shown: int,
    of: int,
    totals: Sequence[str],
) -> str:
    """What a table holds, and whether that is all.

    Args:
        kind: of its records.
        categories: of what; empty for any.
        days: the first and last day asked about; None for any time.
        shown: rows shown.
        of: rows there are.
        totals: exact sums, one a unit; empty where values do not add up.
    """
    what = f"{kind.value.replace('_', ' ')} records"
    about = f" ({', '.join(categories)})" if categories else ""
    when = f", {days[0]} to {days[1]}" if days else ""
    state = f"complete, {of} of {of}" if shown == of else f"cut, the latest {shown} of {of}"
    total = f", all {of} are {' and '.join(totals)} in total" if totals else ""
    return f"Table of {what}{about}{when}: {state}{total}."
