"""The overview that "What do you know about me?" asks for: such a question is like none of its answers.

Lasting facts by subject, then current goals, tasks and coming events, then what was said last. Each part has its share of the budget,
and what one leaves goes to the next.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hindsight_integrations.errors import MemoryDamaged
from hindsight_integrations.model.records import RecordKind
from hindsight_integrations.model.units import FactType
from hindsight_integrations.ports.arrays import STORED, BoolArray, IntArray
from hindsight_integrations.search.columns import found_types, valid_at
from hindsight_integrations.search.record_search import RecordFilter, latest_records
from hindsight_integrations.tempr.recall.context import RecallContext, timed
from hindsight_integrations.tempr.recall.packing import fitting
from hindsight_integrations.text.open_tasks import open_tasks

LASTING_SHARE, CURRENT_SHARE = 0.5, 0.25  # of the budget; what was said last has the rest (no source)
MOST_LASTING = 500  # facts put into order, the latest: what 10,000 tokens hold (no source)
MOST_CURRENT = 100  # memories of each kind of record that are read, the latest (no source)


def overview(run: RecallContext, filtered: BoolArray) -> IntArray:
    """Row ids of an overview of a bank, in the order shown: the whole bank, which packing cuts to the budget.

    Args:
        run: the recall under way.
        filtered: which memories pass the filters of the query, over the columns' positions.
    """
    columns, query = run.view.columns, run.query
    with timed(run.trace, "overview") as detail:
        shown = filtered & valid_at(columns, query.as_of) & (columns.types < STORED)
        shown[columns.positions(run.items.items)] = False
        lasting = _by_subject(run, columns.ids[shown & (columns.lasting > 0)][-MOST_LASTING:])
        current = np.fromiter(_current(run, shown), np.int64)
        current = current[~np.isin(current, lasting)]
        parts = [
            fitting(lasting, int(LASTING_SHARE * query.max_tokens), columns, query.form),
            fitting(current, int(CURRENT_SHARE * query.max_tokens), columns, query.form),
            _latest(run, shown),
            lasting,
            current,
        ]
        detail["lasting"], detail["current"] = len(lasting), len(current)
    rows = np.concatenate(parts)
    _, first = np.unique(rows, return_index=True)
    ordered: IntArray = rows[np.sort(first)]
    return ordered


def _by_subject(run: RecallContext, ids: IntArray) -> IntArray:
    """Facts in a chain, each followed by the one of the rest that is most like it; the latest begins."""
    stored = run.view.ledger.vectors_of(run.view.bank, ids)
    ids = np.array([row for row in ids.tolist() if row in stored], np.int64)
    if not len(ids):
        return ids
    vectors = np.array([stored[row] for row in ids.tolist()])
    likeness = vectors @ vectors.T
    place, left = len(ids) - 1, np.ones(len(ids), bool)
    chain = []
    for _ in range(len(ids)):
        chain.append(place)
        left[place] = False
        place = int(np.argmax(np.where(left, likeness[place], -np.inf)))
    return ids[chain]


def _current(run: RecallContext, shown: BoolArray) -> Iterator[int]:
    """Row ids of what has open goals, then tasks, then events to come, each by its time."""
    query, view = run.query, run.view
    for kind in (RecordKind.GOAL, RecordKind.TASK, RecordKind.EVENT):
        try:
            found, _ = latest_records(view, RecordFilter(kind, as_of=query.as_of), shown, most=MOST_CURRENT)
        except MemoryDamaged as error:
            run.trace.notes.append(f"overview: without {kind} records, {error}")
            continue
        if kind is RecordKind.TASK:
            found = open_tasks(found, run.tools.languages)
        if kind is RecordKind.EVENT:
            found = [entry for entry in found if entry.at >= query.query_timestamp]
        rows = view.ledger.row_ids(view.bank, list(dict.fromkeys(entry.memory.id for entry in found)))
        yield from rows.values()


def _latest(run: RecallContext, shown: BoolArray) -> IntArray:
    """What was said last first, what the agent itself did and believes behind it."""
    columns = run.view.columns
    at = np.flatnonzero(shown)
    own = ~found_types(columns, [FactType.WORLD])[at]
    ordered: IntArray = columns.ids[at[np.lexsort((-columns.mentioned[at], own))]]
    return ordered
