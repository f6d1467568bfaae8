"""Complete lists: all current records of the kinds that a question is about.

A question such as "What's left for me to do?" needs every open task, but only some of them resemble it. The question names a kind
of record, or its best matches show what it is about, in any language and phrasing. This only changes the order in which memories
fill the budget: a wrong guess costs only the end of the ranking.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import TypeAlias

import numpy as np

from hindsight_integrations.errors import StorageError
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

# number of matches with current records, most similar to the question first, that vote for lists (chosen by hand)
VOTERS = 12
LEAST_VOTES = 3  # minimum number of voters of a kind that is listed (chosen by hand)
SHORT = 0.1  # maximum share of the budget that a list may need if it has only one voter (chosen by hand)
# maximum number of tasks read, latest first, because a text may mark a task as done (chosen by hand)
MOST_TASKS = 500

CURRENT = (RecordKind.GOAL, RecordKind.TASK, RecordKind.EVENT, RecordKind.PREFERENCE)
"""Kinds whose valid records are a list by themselves."""
DATED = (RecordKind.EXPENSE, RecordKind.INCOME, RecordKind.QUANTITY)
"""Kinds that are listed only for a period, such as purchases of this week."""

Sort: TypeAlias = tuple[RecordKind, str]
"""A kind of record, and a category."""


def record_lists(
    run: RecallContext, ranking: IntArray, allowed: BoolArray, *, shown: Collection[RecordKind] = ()
) -> dict[RecordKind, IntArray]:
    """Return the row ids of the memories on the lists that a question is about, by kind: lists that it names first, then short ones.

    Empty with `k` or `min_scores`, which ask for the best matches only, and if the question only names a time. Kinds in
    `shown` are left out, because a record digest lists them already.
    """
    query, view = run.query, run.view
    if query.k is not None or query.min_scores != MinScores() or run.time_alone:
        return {}
    with timed(run.trace, "lists") as detail:
        votes = _votes(run, ranking, allowed)
        named = [kind for kind in CURRENT if _is_named(kind, run)]
        categories = {
            kind: dict[int, str]() for kind in (*named, *(kind for kind, _ in votes)) if kind not in shown
        }
        for row, kind, category in view.ledger.records.of_kinds(view.bank, categories) if categories else ():
            if kind is not RecordKind.PREFERENCE or kind in named or votes[kind, category]:
                categories[kind][row] = category
        places = {row: place for place, row in enumerate(ranking.tolist())}
        lists: list[tuple[bool, int, RecordKind, IntArray]] = []
        for kind, category_of in categories.items():
            rows = current_records(run, kind, np.fromiter(category_of, np.int64), allowed)
            tokens = int(costs(rows, {}, view.columns, query.form).sum())
            if not len(rows) or not (kind in named or _is_listed(kind, tokens, votes, query.max_tokens)):
                continue
            if kind is not RecordKind.EVENT:
                order = [
                    (-votes[kind, category_of[row]], places.get(row, len(places)), -row)
                    for row in rows.tolist()
                ]
                rows = rows[sorted(range(len(rows)), key=order.__getitem__)]
            lists.append((kind not in named, tokens, kind, rows))
            detail[kind.value] = len(rows)
    # Short lists come first, because a complete list is worth more than a truncated one.
    return {kind: rows for _, _, kind, rows in sorted(lists, key=lambda entry: entry[:2])}


def _is_listed(kind: RecordKind, tokens: int, votes: Counter[Sort], budget: int) -> bool:
    """Return whether a list has enough votes: one if it is short, more if it is long. Amounts must also fit completely."""
    if kind in DATED and tokens > budget:
        return False
    count = sum(number for (voted, _), number in votes.items() if voted is kind)
    return count >= LEAST_VOTES or (count > 0 and tokens <= SHORT * budget)


def cut_lists(lists: Mapping[RecordKind, IntArray], packed: IntArray) -> Iterator[str]:
    """Yield a note for each list that did not fit the budget; `packed` has the row ids of the memories that fit."""
    for kind, rows in lists.items():
        if (shown := int(np.isin(rows, packed).sum())) < len(rows):
            yield f"lists: cut, {shown} of {len(rows)} memories with {kind.value} records fit the budget"


def _is_named(kind: RecordKind, run: RecallContext) -> bool:
    """Return whether the question names a kind in one of the languages: "my to-do list"."""
    patterns = (language.records.kinds.get(kind) for language in run.services.languages)
    return any(pattern.search(run.query.text.lower()) for pattern in patterns if pattern)


def _votes(run: RecallContext, ranking: IntArray, allowed: BoolArray) -> Counter[Sort]:
    """Count the kinds and categories of the records among the matches that are most similar to the question.

    Only the similarity counts here, because in the ranking purchases and finished tasks displace the few
    records of a list. Past events vote too, because they show what the question is about; amounts vote only
    if they are from its period.
    """
    view = run.view
    categories: dict[RecordKind, dict[int, str]] = defaultdict(dict)
    kinds = CURRENT if run.window is None else (*CURRENT, *DATED)
    for row, kind, category in view.ledger.records.of_kinds(view.bank, kinds, ranking):
        categories[kind][row] = category
    voters: list[tuple[int, Sort]] = []
    for kind, category_of in categories.items():
        rows = np.fromiter(category_of, np.int64)
        rows = (
            current_records(run, kind, rows, allowed)
            if kind in DATED
            else rows[view.columns.allowed(rows, allowed)]
        )
        voters += [(row, (kind, category_of[row])) for row in rows.tolist()]
    try:
        nearness = view.scorer.similarities(run.vector, np.array([row for row, _ in voters], np.int64))
    except StorageError:
        return Counter()
    nearest = np.argsort(-np.nan_to_num(nearness), kind="stable")[:VOTERS]
    return Counter(voters[place][1] for place in nearest.tolist())


def current_records(run: RecallContext, kind: RecordKind, rows: IntArray, allowed: BoolArray) -> IntArray:
    """Return which memories with records of a kind are current; events by time, others by row id.

    Goals, tasks and preferences hold until they are changed. An event is current until it is over; if the question names a time,
    events and amounts of that time are current.
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
    """Return the tasks whose texts do not mark them as done or cancelled; tasks before the latest 500 are not read."""
    units = run.units(tasks[-MOST_TASKS:])
    entries = [
        RecordEntry(record, unit)
        for unit in units.values()
        for record in unit.records
        if record.kind is RecordKind.TASK
    ]
    still = {entry.memory.id for entry in open_tasks(entries, run.services.languages)}
    return np.array(
        [*tasks[:-MOST_TASKS].tolist(), *(row for row, unit in units.items() if unit.id in still)], np.int64
    )
