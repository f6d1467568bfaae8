"""Recall, top to bottom (paper section 4.2): plan, channels, fusion, reranking, token budget."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hindsight_integrations.indexes.bank_view import BankView
from hindsight_integrations.indexes.documents import DocumentItems
from hindsight_integrations.indexes.hybrid import Selection, reciprocal_rank_fusion
from hindsight_integrations.model.arrays import BoolArray, Float64Array, IntArray
from hindsight_integrations.model.requests import RecallQuery
from hindsight_integrations.model.results import RecallResult
from hindsight_integrations.model.units import FactType
from hindsight_integrations.recall.confidence import NOTHING, likely, likely_from, recall_confidence
from hindsight_integrations.recall.context import RecallContext, RecallQuestion, timed
from hindsight_integrations.recall.core_memory import answering, asks_nothing, memories_to_pack
from hindsight_integrations.recall.includes import (
    entity_observations,
    source_chunks,
    source_facts,
    stood,
)
from hindsight_integrations.recall.packing import hydrate, in_better_order, in_order, pack_units
from hindsight_integrations.recall.plan import selection, why_nothing
from hindsight_integrations.recall.record_digest import record_digests
from hindsight_integrations.recall.record_lists import cut_lists
from hindsight_integrations.recall.rerank import (
    Ranking,
    TurnOrder,
    passing,
    rerank,
    smoothed_scores,
    threshold_notes,
    turn_order,
)
from hindsight_integrations.recall.retrieval import ChannelResults, search_channels, with_evidence
from hindsight_integrations.recall.trace import CandidateTrace, unit_traces
from hindsight_integrations.services import Services


async def recall(query: RecallQuery, view: BankView, services: Services) -> RecallResult:
    """Find the memories that answer a query and fit its token budget: Recall(B, Q, k) of paper eq. 7. Writes nothing.

    Raises:
        IndexOutOfStep: an index failed and could not be rebuilt (unless recall is configured to continue without it).
    """
    items = DocumentItems.at(view.columns, query.as_of)
    question = RecallQuestion(query=query, view=view, services=services, items=items)
    mask = items.as_their_documents(selection(view.columns, query), view.columns)
    selected = Selection(mask, int(np.count_nonzero(mask)))
    if not selected.count:
        question.trace.notes.append(why_nothing(view.columns, query))
    run, channels = await search_channels(question, selected)
    return await services.workers.read(_ranked_and_packed, run, channels, mask)


def _ranked_and_packed(run: RecallContext, channels: ChannelResults, filtered: BoolArray) -> RecallResult:
    """Fuse and rerank the candidates (paper sections 4.2.3 and 4.2.4), then pack them in one snapshot of the ledger.

    The snapshot is opened after reranking, because reranking may take a second and an open snapshot delays writers.
    `filtered` is a mask of the units that pass the query's filters except its time, over the columns' positions.
    """
    ids, fused, turns = _fused(run, channels, run.selected.mask)
    ranking = rerank(run, ids, fused, turns, channels.matches)
    with run.view.snapshot() as ledger:
        run = replace(run, view=replace(run.view, ledger=ledger))
        return _packed(run, channels, Candidates(ids, fused, in_better_order(run, ranking)), filtered)


@dataclass(frozen=True, slots=True)
class Candidates:
    """The fused candidates, and their final ranking.

    Attributes:
        ids: row ids, best fused score first, (n,).
        fused: the fused scores, (n,).
        ranking: the candidates after reranking.
    """

    ids: IntArray
    fused: Float64Array
    ranking: Ranking


def _packed(
    run: RecallContext, channels: ChannelResults, candidates: Candidates, filtered: BoolArray
) -> RecallResult:
    """Pack the ranking into the token budget (paper section 4.2.5), and build the result with its additions and trace."""
    allowed, ids, fused, ranking = run.selected.mask, candidates.ids, candidates.fused, candidates.ranking
    query, view, services, notes = run.query, run.view, run.services, run.trace.notes
    passed, dropped = passing(ranking, query.min_scores)
    notes += threshold_notes(ranking, dropped, query.min_scores)
    least = NOTHING if asks_nothing(run) else likely_from(run, channels, passed)
    found, unlikely = likely(passed, least)
    records = () if asks_nothing(run) else record_digests(run, allowed, passed.ids)
    shown = memories_to_pack(run, passed, found, filtered, records)
    with timed(run.trace, "pack"):
        packed = pack_units(
            shown.ids, shown.scores, view, query, services, items=run.items, matches=channels.matches
        )
    with timed(run.trace, "hydrate"):
        units = hydrate(packed, run, channels.lists, shown.reasons)
    if len(shown.ids) and not len(packed.ids):
        notes.append(f"budget: none of {len(shown.ids)} memories fits into {query.max_tokens} tokens")
    notes += cut_lists(shown.lists, packed.ids)
    result = RecallResult(
        confidence=recall_confidence(run, answering(units, found), found, records),
        units=in_order(units.values(), query.order),
        tokens=packed.tokens,
        window=run.window,
        trace=run.trace,
        entities=entity_observations(run, packed.ids),
        chunks=source_chunks(run, units),
        source_facts=source_facts(run, units),
        records=records,
        query=query,
    )
    if run.missing:
        damaged = view.ledger.units.damaged(view.bank, np.array(sorted(run.missing), np.int64))
        result = replace(result, damaged=damaged)
        notes += [f"damaged: {len(damaged)} memories were left out"] if damaged else []
    if query.trace:
        with timed(run.trace, "trace"):
            traced = CandidateTrace(
                channels, ids, fused, ranking, {**dropped, **unlikely}, least, packed, shown.reasons
            )
            run.trace.units += unit_traces(traced, view, query)
    return result


def _fused(
    run: RecallContext, channels: ChannelResults, allowed: BoolArray
) -> tuple[IntArray, Float64Array, TurnOrder | None]:
    """Fuse the channels and smooth over neighbouring turns; return row ids and scores, best first, and the order of the turns, if any."""
    columns = run.view.columns
    with timed(run.trace, "fuse"):
        ids, fused = reciprocal_rank_fusion({channel: hits.ids for channel, hits in channels.lists.items()})
        ids, fused = with_evidence(ids, fused, channels, run)
        turns = turn_order(columns, allowed, ids) if run.services.config.recall.neighbours else None
        if turns:
            ids, fused = smoothed_scores(ids, fused, columns, turns)
        if FactType.OBSERVATION in run.query.types:
            kept = stood(run.view, ids, run.query.as_of)
            ids, fused = ids[kept], fused[kept]
    return ids, fused, turns
