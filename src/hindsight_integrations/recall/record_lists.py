"""Complete lists: all current records of the kinds that a question is about.

A question such as "What's left for me to do?" needs every open task, but only some of them resemble it. The question names a kind
of record, or its best matches show what it is about, in any language and phrasing. This only changes the order in which memories
fill the budget: a wrong guess costs the end of the ranking.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from itertools import islice

import numpy as np

from hindsight_integrations.indexes.columns import valid_at
from hindsight_integrations.indexes.temporal import event_moments, overlaps
from hindsight_integrations.language.record_questions import open_tasks
from hindsight_integrations.model.aggregates import RecordEntry
from hindsight_integrations.model.arrays import UNDATED, BoolArray, IntArray
from hindsight_integrations.model.records import RecordKind
from hindsight_integrations.model.requests import MinScores
from hindsight_integrations.model.time import to_micros
from hindsight_integrations.recall.context import RecallContext, timed
from hindsight_integrations.recall.packing import costs

EXAMINED = 100  # best matches among which voters are sought (chosen by hand)
VOTERS = 12  # best matches with records, which determine the lists (chosen by hand)
LEAST_VOTES = 4  # minimum number of voters of a kind that is listed (chosen by hand)
MOST_TASKS = 500  # latest tasks that are read, because a text may mark a task as done (no source)

CURRENT = (RecordKind.GOAL, RecordKind.TASK, RecordKind.EVENT, RecordKind.PREFERENCE)
"""Kinds whose valid records are a list by themselves."""
DATED = (RecordKind.EXPENSE, RecordKind.INCOME, RecordKind.QUANTITY)
"""Kinds that are listed only for a time: what was bought this week."""


def record_lists(
    run: RecallContext, ranking: IntArray, allowed: BoolArray, *, shown: Collection[RecordKind] = ()
) -> dict[RecordKind, IntArray]:
    """Return the row ids of the memories on the lists that a question is about, by kind, the most relevant list first.

    Empty with `k` or `min_scores`, which ask for the best matches only, and if the question only names a time.

    Args:
        run: the current recall.
        ranking: row ids of the matches, best first.
        allowed: mask of the memories that may be returned, over the columns' positions.
        shown: kinds that a record digest lists already.
    """
    query, view = run.query, run.view
    if query.k is not None or query.min_scores != MinScores() or run.time_alone:
        return {}
    with timed(run.trace, "lists") as detail:
        votes = _votes(run, ranking)
        kinds = Counter[RecordKind]()
        for (kind, _), count in votes.items():
            kinds[kind] += count
        named = [kind for kind in CURRENT if _is_named(kind, run)]
        voted = [kind for kind, count in kinds.most_common() if count >= LEAST_VOTES]
        sorts = {kind: dict[int, str]() for kind in [*named, *voted] if kind not in shown}
        for row, kind, category in view.ledger.records.of_kinds(view.bank, sorts) if sorts else ():
            if kind is not RecordKind.PREFERENCE or kind in named or votes[kind, category]:
                sorts[kind][row] = category
        places = {row: place for place, row in enumerate(ranking.tolist())}
        lists: dict[RecordKind, IntArray] = {}
        for kind, categories in sorts.items():
            rows = current_records(run, kind, np.fromiter(categories, np.int64), allowed)
            if kind in DATED and costs(rows, {}, view.columns, query.form).sum() > query.max_tokens:
                continue  # a part of the amounts is worth no more than the best matches
            if kind is not RecordKind.EVENT:
                order = [
                    (-votes[kind, categories[row]], places.get(row, len(places)), -row)
                    for row in rows.tolist()
                ]
                rows = rows[sorted(range(len(rows)), key=order.__getitem__)]
            detail[kind.value] = len(rows)
            lists[kind] = rows
    return lists


def cut_lists(lists: Mapping[RecordKind, IntArray], packed: IntArray) -> Iterator[str]:
    """Yield a note for each list that did not fit the budget.

    Args:
        lists: the lists, as row ids.
        packed: row ids of the memories that fit.
    """
    for kind, rows in lists.items():
        if (shown := int(np.isin(rows, packed).sum())) < len(rows):
            yield f"lists: cut, {shown} of {len(rows)} memories with {kind.value} records fit the budget"


def _is_named(kind: RecordKind, run: RecallContext) -> bool:
    """Return whether the question names a kind in one of the languages: "my to-do list"."""
    patterns = (language.records.kinds.get(kind) for language in run.services.languages)
    return any(pattern.search(run.query.text.lower()) for pattern in patterns if pattern)


def _votes(run: RecallContext, ranking: IntArray) -> Counter[tuple[RecordKind, str]]:
    """Count the kinds and categories of the best matches with records that may be listed."""
    kinds = CURRENT if run.window is None else (*CURRENT, *DATED)
    sorts = (
        {(record.kind, record.category) for record in unit.records if record.kind in kinds}
        for unit in run.units(ranking[:EXAMINED]).values()
    )
    return Counter(sort for some in islice(filter(None, sorts), VOTERS) for sort in some)


def current_records(run: RecallContext, kind: RecordKind, rows: IntArray, allowed: BoolArray) -> IntArray:
    """Return which memories with records of a kind are current; events by time, others by row id.

    Goals, tasks and preferences hold until they are changed. An event is current until it is over; if the question names a time,
    events and amounts of that time are current.

    Args:
        run: the current recall.
        kind: the kind.
        rows: row ids of memories with records of this kind.
        allowed: mask of the memories that may be returned, over the columns' positions.
    """
    columns, window = run.view.columns, run.window
    at = columns.positions(rows[columns.allowed(rows, allowed & valid_at(columns, run.query.as_of))])
    begins, dated = event_moments(columns.starts[at], columns.mentioned[at]), columns.starts[at] != UNDATED
    if kind in (*DATED, RecordKind.EVENT):
        ends = np.where(dated, columns.ends[at], begins + 1)
        if window is not None:
            at = at[overlaps(begins, ends, window)]
        elif kind is RecordKind.EVENT:
            at = at[~dated | (ends > to_micros(run.query.query_timestamp))]
    if kind is RecordKind.EVENT:
        at = at[np.argsort(event_moments(columns.starts[at], columns.mentioned[at]), kind="stable")]
    current: IntArray = columns.ids[at]
    return _open(run, current) if kind is RecordKind.TASK else current


def _open(run: RecallContext, tasks: IntArray) -> IntArray:
    """Return the tasks whose texts do not mark them as done or cancelled."""
    units = run.units(tasks[-MOST_TASKS:])
    entries = [
        RecordEntry(record, unit)
        for unit in units.values()
        for record in unit.records
        if record.kind is RecordKind.TASK
    ]
    still = {entry.memory.id for entry in open_tasks(entries, run.services.languages)}
    return np.array([row for row, unit in units.items() if unit.id in still], np.int64)
