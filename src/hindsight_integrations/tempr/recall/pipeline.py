"""Recall, top to bottom (paper section 4.2; design section 5): plan, channels, fusion, hydrate, rerank, pack."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import tzinfo

import numpy as np

from hindsight_integrations.config import OnChannelFailure, RecallConfig
from hindsight_integrations.errors import IndexOutOfStep, StorageError
from hindsight_integrations.model.entities import EntityType
from hindsight_integrations.model.requests import RecallQuery
from hindsight_integrations.model.results import Channel, ChannelHit, RecalledUnit, RecallResult
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.offload import Workers
from hindsight_integrations.ports.arrays import FloatArray, Hits, IntArray, no_hits
from hindsight_integrations.ports.embedder import Embedder
from hindsight_integrations.ports.reranker import Reranker
from hindsight_integrations.tempr.columns import valid_at
from hindsight_integrations.tempr.recall.amendments import amended_units, pack_ranked
from hindsight_integrations.tempr.recall.channels import (
    Relevance,
    Selection,
    graph_channel,
    graph_is_asked_for,
    keyword_channel,
    semantic_channel,
    temporal_channel,
)
from hindsight_integrations.tempr.recall.fusion import reciprocal_rank_fusion
from hindsight_integrations.tempr.recall.plan import RecallPlan, plan, selection
from hindsight_integrations.tempr.recall.ranking import final_scores
from hindsight_integrations.tempr.recall.rerank import score_until
from hindsight_integrations.tempr.recall.scoring import Float64Array
from hindsight_integrations.tempr.recall.timing import Timer
from hindsight_integrations.tempr.retain.names import normalise_name, possible_names
from hindsight_integrations.tempr.view import BankView

INDEX_OF = {Channel.SEMANTIC: "vector", Channel.KEYWORD: "keyword", Channel.GRAPH: "graph"}


@dataclass(frozen=True, slots=True)
class RecallTools:
    """What recall needs of the engine."""

    embedder: Embedder
    reranker: Reranker | None
    workers: Workers
    config: RecallConfig
    zone: tzinfo


async def recall(query: RecallQuery, view: BankView, tools: RecallTools) -> RecallResult:
    """Find the memories that answer a query and fit its token budget. Changes nothing.

    Raises:
        IndexOutOfStep: an index failed and could not be healed (unless configured to degrade).
    """
    timer = Timer()
    recalled = await tools.workers.read(_plan, query, tools, timer)
    mask = selection(view.columns, query)
    selected = Selection(mask, int(mask.sum()))
    lists = await _channels(recalled, view, selected, tools, timer)
    return await tools.workers.read(_finish, recalled, view, lists, tools, timer)


def _plan(query: RecallQuery, tools: RecallTools, timer: Timer) -> RecallPlan:
    with timer.stage("embed query"):
        vector = tools.embedder.embed_query(query.text)
    with timer.stage("plan"):
        return plan(query, vector, tools.config, tools.zone)


async def _channels(
    recalled: RecallPlan, view: BankView, selected: Selection, tools: RecallTools, timer: Timer
) -> dict[Channel, Hits]:
    """Semantic, keyword and window match together; then the graph from the semantic seeds and the entities named."""
    run = _ChannelRunner(recalled, view, selected, tools, timer)
    read = tools.workers.read
    semantic, keyword, temporal = await asyncio.gather(
        read(run.semantic), read(run.keyword), read(run.temporal)
    )
    graph = await read(run.graph, semantic)
    return {
        Channel.SEMANTIC: semantic,
        Channel.KEYWORD: keyword,
        Channel.GRAPH: graph,
        Channel.TEMPORAL: temporal,
    }


class _ChannelRunner:
    """The channels of one recall, each timed and each failing as configured."""

    def __init__(
        self, recalled: RecallPlan, view: BankView, selected: Selection, tools: RecallTools, timer: Timer
    ) -> None:
        self._plan, self._view, self._selected = recalled, view, selected
        self._tools, self._timer = tools, timer
        self._relevance = Relevance(view, recalled.vector)

    def semantic(self) -> Hits:
        floor = self._tools.embedder.identity.thresholds.channel_floor
        return self._guarded(
            Channel.SEMANTIC,
            lambda: semantic_channel(
                self._view, self._selected, self._plan.vector, limit=self._plan.limit, floor=floor
            ),
        )

    def keyword(self) -> Hits:
        text, limit = self._plan.query.text, self._plan.limit
        return self._guarded(
            Channel.KEYWORD, lambda: keyword_channel(self._view, self._selected, text, limit=limit)
        )

    def temporal(self) -> Hits:
        window, limit = self._plan.window, self._plan.limit
        return self._guarded(
            Channel.TEMPORAL,
            lambda: temporal_channel(self._view, self._selected, window, self._relevance, limit=limit),
        )

    def graph(self, seeds: Hits) -> Hits:
        return self._guarded(Channel.GRAPH, lambda: self._walk(seeds))

    def _walk(self, seeds: Hits) -> Hits:
        named = named_entities(self._plan.query.text, self._view)
        if not graph_is_asked_for(self._plan.query.text, named, self._view.hubs):
            self._timer.trace.notes.append("graph: not asked for by this question")
            return no_hits()
        return graph_channel(
            self._view,
            self._selected,
            seeds=seeds,
            named=named,
            relevance=self._relevance,
            strategy=self._tools.config.graph,
            limit=self._plan.limit,
        )

    def _guarded(self, channel: Channel, search: Callable[[], Hits]) -> Hits:
        """The channel's hits, timed; its failure raises, or leaves the channel out, as configured."""
        with self._timer.stage(channel) as detail:
            try:
                self._check(channel)
                hits = search()
            except StorageError as error:
                if self._tools.config.on_channel_failure == OnChannelFailure.RAISE:
                    raise
                self._timer.trace.notes.append(f"{channel}: left out, {error}")
                hits = no_hits()
            detail["hits"] = len(hits)
        return hits

    def _check(self, channel: Channel) -> None:
        index = INDEX_OF.get(channel, "")
        if index in self._view.failures:
            raise IndexOutOfStep(index, self._view.bank, self._view.failures[index])


def named_entities(text: str, view: BankView) -> IntArray:
    """Row ids of the bank's entities a question names, ascending; topics (CONCEPT) are words, not names.

    "painting" or "camping" in a question is what the keyword channel is for (measured: decision 004).
    """
    names = sorted({normalise_name(name) for name in possible_names(text)} - {""})
    found = view.ledger.entities_named(view.bank, names).values()
    named = [entity.id for entity in found if entity.type != EntityType.CONCEPT]
    rows = view.ledger.entity_rows(view.bank, named)
    return np.unique(np.fromiter(rows.values(), np.int64, len(rows)))


def _finish(
    recalled: RecallPlan, view: BankView, lists: Mapping[Channel, Hits], tools: RecallTools, timer: Timer
) -> RecallResult:
    with timer.stage("fuse"):
        ids, fused = reciprocal_rank_fusion({channel: hits.ids for channel, hits in lists.items()})
    ids, scores = _Reranking(recalled, view, tools, timer).order(ids, fused)
    with timer.stage("pack"):
        kept = pack_ranked(ids, scores, view, recalled.query)
    with timer.stage("hydrate"):
        units = _hydrate(recalled, view, kept.ids, kept.scores, lists)
        units = amended_units(units, kept.amendments, view)
    return RecallResult(units, kept.tokens, recalled.window, timer.trace)


class _Reranking:
    """The reranked head of one recall; units the reranker did not read stay behind it in fused order."""

    def __init__(self, recalled: RecallPlan, view: BankView, tools: RecallTools, timer: Timer) -> None:
        self._plan, self._view, self._tools, self._timer = recalled, view, tools, timer

    def order(self, ids: IntArray, fused: Float64Array) -> tuple[IntArray, Float64Array]:
        """Ids and final scores, best first. Without a reranker the fused order stands (design section 6)."""
        if self._tools.reranker is None or not len(ids):
            return ids, fused
        head = ids[: self._plan.rerank_limit]
        stored = self._view.ledger.units(self._view.bank, head)
        here = ~np.isin(
            ids, [row for row in head.tolist() if row not in stored]
        )  # erased since the view was made
        ids, fused = ids[here], fused[here]
        if not stored:
            return ids, fused
        logits = self._read(self._tools.reranker, [stored[row] for row in ids[: len(stored)].tolist()])
        head, tail = ids[: len(logits)], ids[len(logits) :]
        asked_at = self._plan.query.query_timestamp
        scored = final_scores(logits, head, self._view.columns, window=self._plan.window, asked_at=asked_at)
        best = np.argsort(-scored, kind="stable")
        behind = scored.min() - 1.0 - np.arange(len(tail))
        return np.concatenate([head[best], tail]), np.concatenate([scored[best], behind])

    def _read(self, reranker: Reranker, units: list[MemoryUnit]) -> FloatArray:
        with self._timer.stage("rerank") as detail:
            logits = score_until(
                reranker, self._plan.query.text, units, self._tools.config.rerank_deadline_ms
            )
            detail["scored"], detail["candidates"] = len(logits), len(units)
        if len(logits) < len(units):
            self._timer.trace.notes.append(f"rerank: deadline after {len(logits)} of {len(units)} candidates")
        return logits


def _hydrate(
    recalled: RecallPlan, view: BankView, ids: IntArray, scores: Float64Array, lists: Mapping[Channel, Hits]
) -> tuple[RecalledUnit, ...]:
    """The units themselves, with their entities and where each channel put them: one read of each."""
    stored = view.ledger.units(view.bank, ids)
    entities = view.ledger.entities_of(view.bank, ids)
    valid = set(ids[view.columns.allowed(ids, valid_at(view.columns, recalled.query.as_of))].tolist())
    places = {channel: _places(hits, ids) for channel, hits in lists.items()}
    return tuple(
        RecalledUnit(
            unit=stored[row],
            score=float(score),
            channels={channel: found[row] for channel, found in places.items() if row in found},
            entities=tuple(entity.name for entity in entities.get(row, ())),
            valid=row in valid,
        )
        for row, score in zip(ids.tolist(), scores, strict=True)
        if row in stored
    )


def _places(hits: Hits, kept: IntArray) -> dict[int, ChannelHit]:
    """Where a channel put the units kept; most of its hits are not among them."""
    at = np.flatnonzero(np.isin(hits.ids, kept))
    rows, scores = hits.ids[at].tolist(), hits.scores[at].tolist()
    return {
        row: ChannelHit(rank + 1, score) for rank, row, score in zip(at.tolist(), rows, scores, strict=True)
    }
