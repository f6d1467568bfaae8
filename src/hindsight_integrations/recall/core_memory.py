"""Core memory: memories added to a prompt regardless of the question.

"Suggest a recipe" is not similar to a memory of an allergy. So a prompt always includes the user's lasting facts, the
most similar to the question first. A request ("Suggest ...", "What should I ...") gets more of them than a factual
question, within the budget, because similarity does not show which of them it needs. A small bank is included whole.
Small talk gets core memory only. In a bank without lasting facts (messages stored verbatim), the best matches replace
them, and a request gets more of the ranking.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from hindsight_integrations.errors import StorageError
from hindsight_integrations.indexes.columns import found_types, of_types, valid_at
from hindsight_integrations.language.questions import asks_for_a_fact, asks_for_all, only_states
from hindsight_integrations.language.statements import is_small_talk
from hindsight_integrations.model.arrays import STORED, BoolArray, Float64Array, IntArray
from hindsight_integrations.model.entities import Entity, EntityRole
from hindsight_integrations.model.names import normalise_name
from hindsight_integrations.model.recalled import RecalledUnit, RecallReason
from hindsight_integrations.model.record_digest import RecordDigest
from hindsight_integrations.model.records import RecordKind
from hindsight_integrations.model.requests import RecallQuery
from hindsight_integrations.model.units import FactType
from hindsight_integrations.recall.context import RecallContext, timed
from hindsight_integrations.recall.packing import costs, fitting
from hindsight_integrations.recall.record_lists import current_records, record_lists
from hindsight_integrations.recall.rerank import Ranking

LASTING_SHARE, CURRENT_SHARE = (
    0.5,
    0.25,
)  # shares of the budget; the latest memories get the rest (chosen by hand)
MOST_LASTING = 500  # number of latest facts in an overview, about 10,000 tokens (chosen by hand)


# Needed for questions such as "What do you know about me?", which are similar to no memory.
def overview(run: RecallContext, filtered: BoolArray) -> IntArray:
    """Order all memories of a bank for an overview; return their row ids, which packing cuts to the budget.

    Lasting facts by subject come first, then current goals, tasks and upcoming events, then the latest
    memories. Each part has a share of the budget, and leaves unused tokens to the next. `filtered` is a mask over the
    columns' positions.
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
    """Order facts (by row id) by similarity: start with the latest, and follow each with the most similar remaining fact."""
    stored = run.view.ledger.units.vectors(run.view.bank, ids)
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
    """Yield the row ids of memories with goals, then open tasks, then upcoming events."""
    view = run.view
    for kind in (RecordKind.GOAL, RecordKind.TASK, RecordKind.EVENT):
        yield from current_records(run, kind, view.ledger.records.rows(view.bank, kind=kind), shown).tolist()


def _latest(run: RecallContext, shown: BoolArray) -> IntArray:
    """Order memories newest first, with the agent's own experiences and opinions last."""
    columns = run.view.columns
    at = np.flatnonzero(shown)
    own = ~found_types(columns, [FactType.WORLD])[at]
    ordered: IntArray = columns.ids[at[np.lexsort((-columns.mentioned[at], own))]]
    return ordered


CORE_SHARE = 5  # core memory gets at most this fraction of the budget, 1/5 (chosen by hand)
CORE_TOKENS = 400  # maximum tokens of core memory (chosen by hand)
STAND_INS = 5  # number of best matches used if no memory is marked as lasting (chosen by hand)
SMALL_BANK = 2  # a bank is small if it fits into this fraction of the budget, 1/2 (chosen by hand)
# number of best matches before the lists: about 1,000 tokens, with 9 of 10 evidence turns (LoCoMo)
KEPT_FIRST = 20
SPEAKING = frozenset({EntityRole.SPEAKER, EntityRole.USER})
CONSIDERED = 200  # number of lasting facts considered, most similar to the question first: about 2,000 tokens


@dataclass(frozen=True, slots=True)
class PromptMemories:
    """The memories for a prompt, and why each is included.

    Attributes:
        ids: row ids in display order, (n,).
        scores: final scores, (n,); memories outside the ranking get its lowest score.
        reasons: the reason of each row that is included for a reason other than its rank, by row id.
        lists: row ids of the lists that the question is about, by kind.
    """

    ids: IntArray
    scores: Float64Array
    reasons: dict[int, RecallReason]
    lists: Mapping[RecordKind, IntArray] = field(default_factory=dict)


def asks_nothing(run: RecallContext) -> bool:
    """Return whether the message is small talk, which gets core memory only."""
    return run.query.include_core and is_small_talk(run.query.text, answers=True)


def memories_to_pack(
    run: RecallContext,
    ranking: Ranking,
    likely: Ranking,
    filtered: BoolArray,
    records: Sequence[RecordDigest],
) -> PromptMemories:
    """Combine core memory, the memories likely to help, the lists that contain them, and the rest of a small bank, in this order.

    Memories shown by record digests come last, except the best matches, so that the budget is used for other
    memories.

    Args:
        run: the current recall.
        ranking: all memories that may be returned.
        likely: the part of the ranking that is likely to help.
        filtered: mask of the memories that pass the query's filters except its time, over the columns'
            positions.
        records: the record digests that are returned with the memories.
    """
    if asks_for_all(run.query.text) and not run.time_alone:
        rows = overview(run, filtered)
        return PromptMemories(
            rows, _scores(rows, ranking), dict.fromkeys(rows.tolist(), RecallReason.OVERVIEW)
        )
    core = more = rest = likely.ids[:0]
    lists: dict[RecordKind, IntArray] = {}
    if not only_states(run.query.text):
        shown = {digest.kind for digest in records}
        lists = record_lists(run, likely.ids, run.selected.mask, shown=shown)
    listed = np.concatenate([likely.ids[:0], *lists.values()])
    if run.query.include_core and run.query.k is None:
        with timed(run.trace, "core") as detail:
            core, more = _core(run, ranking, filtered)
            rest = _rest_of_small_bank(run, filtered)
            detail["core"], detail["request"], detail["small bank"] = len(core), len(more), len(rest)
    best, weaker = likely.ids[:KEPT_FIRST], np.concatenate([listed, likely.ids[KEPT_FIRST:]])
    repeated = np.isin(weaker, _shown_by(run, records))
    parts = [core, best, weaker[~repeated], weaker[repeated], more, rest]
    ids, first = np.unique(np.concatenate(parts), return_index=True)
    ids = ids[np.argsort(first)]
    found = set(likely.ids.tolist())
    reasons = {row: RecallReason.SMALL_BANK for row in rest.tolist() if row not in found}
    reasons |= {row: RecallReason.REQUEST for row in more.tolist() if row not in found}
    reasons |= {row: RecallReason.LISTED for row in listed.tolist() if row not in found}
    reasons |= dict.fromkeys(core.tolist(), RecallReason.CORE)
    return PromptMemories(ids, _scores(ids, ranking), reasons, lists)


def _shown_by(run: RecallContext, records: Sequence[RecordDigest]) -> IntArray:
    """Return the row ids of the memories whose records are rows of these digests."""
    shown = sorted({row.unit_id for digest in records for row in digest.rows})
    rows = run.view.ledger.units.row_ids(run.view.bank, shown) if shown else {}
    return np.fromiter(rows.values(), np.int64)


def _scores(ids: IntArray, ranking: Ranking) -> Float64Array:
    """Return final scores by row id, (n,); rows outside the ranking get its lowest score."""
    scores = dict(zip(ranking.ids.tolist(), ranking.scores.tolist(), strict=True))
    lowest = float(ranking.scores.min()) if len(ranking.scores) else 0.0
    return np.array([scores.get(row, lowest) for row in ids.tolist()], np.float64)


def answering(units: Mapping[int, RecalledUnit], likely: Ranking) -> dict[int, RecalledUnit]:
    """Return the units whose scores determine the confidence: those likely to help, and those of an overview."""
    found = set(likely.ids.tolist())
    return {row: unit for row, unit in units.items() if row in found or unit.reason is RecallReason.OVERVIEW}


def core_budget(query: RecallQuery) -> int:
    """Return the budget of core memory, min(max_tokens / 5, 400) tokens."""
    return min(query.max_tokens // CORE_SHARE, CORE_TOKENS)


def _core(run: RecallContext, ranking: Ranking, filtered: BoolArray) -> tuple[IntArray, IntArray]:
    """Return row ids, most similar to the question first: core memory within its budget, and, for a request, further facts."""
    columns = run.view.columns
    holds = filtered & valid_at(columns, run.query.as_of) & of_types(columns, list(FactType))
    holds[columns.positions(run.items.heads)] = False  # documents are returned only if they match
    lasting = holds & (columns.lasting > 0)
    if not lasting.any():
        return _stand_ins(run, ranking, holds), ranking.ids if _requests(run) else ranking.ids[:0]
    ids = columns.ids[lasting]
    try:
        nearness = np.nan_to_num(run.view.scorer.similarities(run.vector, ids))
    except StorageError:
        nearness = np.zeros(len(ids), np.float32)
    nearest = _of_the_asker(run, ids[np.lexsort((-ids, -nearness))][:CONSIDERED])
    core = fitting(nearest, core_budget(run.query), columns, run.query.form)
    return core, nearest if _requests(run) else nearest[:0]


def _requests(run: RecallContext) -> bool:
    """Return whether the message asks for help, rather than being small talk, a statement or a factual question."""
    text = run.query.text
    return not (asks_nothing(run) or only_states(text) or asks_for_a_fact(text) or run.time_alone)


def _stand_ins(run: RecallContext, ranking: Ranking, holds: BoolArray) -> IntArray:
    """Return the best matches among world facts, in place of lasting facts; empty for small talk."""
    if asks_nothing(run):
        return np.empty(0, np.int64)
    columns = run.view.columns
    world = columns.allowed(ranking.ids, holds & of_types(columns, [FactType.WORLD]))
    return fitting(ranking.ids[world][:STAND_INS], core_budget(run.query), columns, run.query.form)


def _of_the_asker(run: RecallContext, ids: IntArray) -> IntArray:
    """Drop facts about other speakers in the bank; keep all facts if the person who asks is not a known speaker."""
    ledger, bank = run.view.ledger, run.view.bank
    asker = normalise_name(run.query.speaker)
    known = ledger.entities.named(bank, [asker]).values()
    if not any(entity.role in SPEAKING for entity in known):
        return ids
    entities = ledger.entities.of_units(bank, ids)
    others = [row for row in ids.tolist() if _is_about_another(entities.get(row, ()), asker)]
    return ids[~np.isin(ids, others)]


def _is_about_another(entities: Collection[Entity], asker: str) -> bool:
    """Return whether a fact mentions another speaker in the bank, but not the person who asks."""
    speakers = [entity for entity in entities if entity.role in SPEAKING]
    return bool(speakers) and not any(asker in entity.names for entity in speakers)


def _rest_of_small_bank(run: RecallContext, filtered: BoolArray) -> IntArray:
    """Return all memories of a bank that fits into half of the budget, newest first; empty for a larger bank."""
    columns, query = run.view.columns, run.query
    asks = not (run.time_alone or asks_nothing(run) or only_states(query.text))
    whole = costs(columns.ids[filtered], {}, columns, query.form).sum()
    if not asks or whole * SMALL_BANK > query.max_tokens:
        return np.empty(0, np.int64)
    shown = filtered & (columns.types < STORED)
    shown[columns.positions(run.items.items)] = False
    newest: IntArray = columns.ids[shown][::-1]
    return newest
