"""The complete table of records beside the memories, where a question asks over a kind of record (decision 162).

Ranking finds most of a list, and nobody can tell what is missing. So what a question wants all of is listed, under a budget of
its own, and says whether it is complete.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from functools import partial

import numpy as np

from hindsight_integrations.errors import MemoryDamaged
from hindsight_integrations.model.aggregates import RecordEntry
from hindsight_integrations.model.exact_sums import exact_sum
from hindsight_integrations.model.recalled import RecordRow, RecordTable
from hindsight_integrations.model.record_answers import RecordQuestion
from hindsight_integrations.model.records import RecordCategory, RecordKind
from hindsight_integrations.model.time import MICROSECOND, Interval
from hindsight_integrations.ports.arrays import BoolArray
from hindsight_integrations.prompts.record_table import record_line, table_heading
from hindsight_integrations.search.record_search import RecordFilter, latest_records
from hindsight_integrations.tempr.recall.context import RecallContext, timed
from hindsight_integrations.text.open_tasks import open_tasks
from hindsight_integrations.text.record_operations import VALUED
from hindsight_integrations.text.record_subjects import KnownThings, Subject
from hindsight_integrations.text.record_tables import table_question
from hindsight_integrations.text.vocabulary.records import unit_of

MOST_READ = 2_000  # memories of one table that are read, the latest: 0.1 s on two cores (decision 162)
LEAST_ROW = 4  # tokens; bounds how many rows are worth counting (no source)


def record_tables(run: RecallContext, allowed: BoolArray) -> tuple[RecordTable, ...]:
    """The table a question asks for; none where it asks for none, or the bank has no such record.

    Args:
        run: the recall under way.
        allowed: which memories may be returned.
    """
    if not run.query.record_tokens:
        return ()
    with timed(run.trace, "records") as detail:
        categories = _categories(run)
        asked = _question(run, categories)
        table = _table(run, asked, categories, allowed) if asked else None
        detail["rows"] = len(table.rows) if table else 0
    return (table,) if table else ()


def _categories(run: RecallContext) -> list[RecordCategory]:
    ledger, bank = run.view.ledger, run.view.bank
    units = ledger.category_units(bank, None)
    return [
        replace(each, units=units.get((each.kind, each.name), ())) for each in ledger.categories(bank, None)
    ]


def _question(run: RecallContext, categories: Sequence[RecordCategory]) -> RecordQuestion | None:
    query, tools = run.query, run.tools
    return table_question(
        query.text,
        query.query_timestamp,
        dates=tools.dates,
        languages=tools.languages,
        categories=categories,
    )


def _table(
    run: RecallContext, asked: RecordQuestion, categories: Sequence[RecordCategory], allowed: BoolArray
) -> RecordTable | None:
    window = run.query.window or asked.window
    entries: list[RecordEntry] = []
    of = 0
    try:
        for category in asked.categories or (None,):
            wanted = RecordFilter(asked.kind, category, window=window, as_of=run.query.as_of)
            wanted = replace(wanted, include_invalidated=run.query.include_invalidated)
            found, more = latest_records(run.view, wanted, allowed, most=MOST_READ)
            entries += found
            of += more
    except MemoryDamaged as error:
        run.trace.notes.append(f"records: no table, {error}")
        return None
    entries.sort(key=lambda entry: (entry.at, entry.memory.mentioned_at))
    if asked.kind is RecordKind.TASK:
        entries = open_tasks(entries, run.tools.languages)
        entries.sort(key=lambda entry: (entry.at, entry.memory.mentioned_at))
    if not entries:
        return None
    totals = () if of else _totals(asked, entries, KnownThings(categories, run.tools.languages), run)
    of += len(entries)
    days = None if window is None else _days(window, run)
    heading = partial(table_heading, asked.kind, asked.categories, days, of=of, totals=totals)
    rows = _latest(run, [_row(entry, run) for entry in entries], heading)
    text = heading(shown=len(rows))
    [tokens] = run.tools.tokens.count(["\n".join([text, *(row.text for row in rows)])])
    return RecordTable(asked.kind, asked.categories, window, text, rows, tokens, of)


def _totals(
    asked: RecordQuestion, entries: Sequence[RecordEntry], known: KnownThings, run: RecallContext
) -> tuple[str, ...]:
    """Exact sums, one for each unit; none of what is planned, and of what does not add up."""
    alike = asked.kind is not RecordKind.QUANTITY or len(asked.categories) == 1
    adds_up = known.adds_up(Subject(asked.kind, asked.categories))
    planned = any(entry.at > run.query.query_timestamp for entry in entries)
    closed = run.query.include_invalidated
    if asked.kind not in VALUED or not (alike and adds_up and asked.surely) or planned or closed:
        return ()
    values: dict[str, list[Decimal]] = {}
    for entry in entries:
        value = entry.record.value
        if not isinstance(value, Decimal):
            return ()
        values.setdefault(unit_of(entry.record), []).append(value)
    sums = {unit: exact_sum(found) for unit, found in sorted(values.items())}
    return () if None in sums.values() else tuple(f"{total} {unit}".strip() for unit, total in sums.items())


def _latest(
    run: RecallContext, rows: Sequence[RecordRow], heading: Callable[..., str]
) -> tuple[RecordRow, ...]:
    """The latest rows that fit the budget beside the heading, in order of time."""
    budget, counter = run.query.record_tokens, run.tools.tokens
    latest = rows[-(budget // LEAST_ROW + 1) :]
    costs = counter.count([f"\n{row.text}" for row in latest])
    left = budget - max(counter.count([heading(shown=len(rows)), heading(shown=0)]))
    fits = int(np.searchsorted(np.cumsum(costs[::-1]), left, side="right"))
    return tuple(latest[len(latest) - fits :])


def _row(entry: RecordEntry, run: RecallContext) -> RecordRow:
    moment = run.query.as_of
    closed = entry.memory.closed_at
    valid = closed is None or (moment is not None and moment < closed)
    return RecordRow(
        record_line(entry, valid=valid, seen_from=run.query.query_timestamp),
        entry.memory.id,
        entry.record,
        entry.at,
        valid,
    )


def _days(window: Interval, run: RecallContext) -> tuple[date, date]:
    zone = run.tools.dates.zone
    return window.start.astimezone(zone).date(), (window.end - MICROSECOND).astimezone(zone).date()
