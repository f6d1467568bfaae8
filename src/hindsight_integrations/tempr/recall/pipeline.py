"""Recall, top to bottom (paper section 4.2; design section 5): plan, channels, fusion, hydrate, rerank, pack."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from hindsight_integrations.config import OnChannelFailure
from hindsight_integrations.errors import IndexOutOfStep, StorageError
from hindsight_integrations.model.requests import RecallQuery
from hindsight_integrations.model.results import RecallResult
from hindsight_integrations.model.trace import Channel
from hindsight_integrations.ports.arrays import Hits, no_hits
from hindsight_integrations.search.bank_view import BankView
from hindsight_integrations.search.channels import (
    Relevance,
    Selection,
    Walk,
    causal_channel,
    chain_steps,
    graph_channel,
    joined,
    keyword_channel,
    own_words,
    semantic_channel,
    temporal_channel,
    walk_asked_for,
)
from hindsight_integrations.search.fusion import reciprocal_rank_fusion
from hindsight_integrations.search.named_entities import named_in
from hindsight_integrations.tempr.recall.amendments import pack_ranked
from hindsight_integrations.tempr.recall.hydration import hydrate
from hindsight_integrations.tempr.recall.includes import Besides
from hindsight_integrations.tempr.recall.judging import Judging
from hindsight_integrations.tempr.recall.min_scores import channel_threshold, cut, passing, threshold_notes
from hindsight_integrations.tempr.recall.neighbours import lent, turn_order
from hindsight_integrations.tempr.recall.plan import RecallPlan, plan, selection, why_nothing
from hindsight_integrations.tempr.recall.query_window import asked_window
from hindsight_integrations.tempr.recall.reranking import Reranking
from hindsight_integrations.tempr.recall.timing import Timer
from hindsight_integrations.tempr.recall.tools import RecallTools
from hindsight_integrations.tempr.recall.trace import Course, Found, unit_traces

INDEX_OF = {Channel.SEMANTIC: "vector", Channel.KEYWORD: "keyword", Channel.GRAPH: "graph"}


async def recall(query: RecallQuery, view: BankView, tools: RecallTools) -> RecallResult:
    """Find the memories that answer a query and fit its token budget. Changes nothing.

    Raises:
        IndexOutOfStep: an index failed and could not be healed (unless configured to degrade).
    """
    timer = Timer()
    recalled = await tools.workers.read(_plan, query, view, tools, timer)
    mask = selection(view.columns, query)
    selected = Selection(mask, int(mask.sum()))
    if not selected.count:
        timer.trace.notes.append(why_nothing(view.columns, query))
    found = await _channels(recalled, view, selected, tools, timer)
    return await tools.workers.read(_finish, recalled, view, found, tools, timer)


def _plan(query: RecallQuery, view: BankView, tools: RecallTools, timer: Timer) -> RecallPlan:
    with timer.stage("embed query"):
        vector = tools.embedder.embed_query(query.text)
    with timer.stage("plan"):
        window = asked_window(query, tools, timer.trace.notes)
        named = named_in(query.text, view)
        return plan(query, vector, tools.config, window=window, named=named)


async def _channels(
    recalled: RecallPlan, view: BankView, selected: Selection, tools: RecallTools, timer: Timer
) -> Found:
    """Semantic, keyword and window match together; then the graph from the semantic seeds and the entities named."""
    run = _ChannelRunner(recalled, view, selected, tools, timer)
    read = tools.workers.read
    semantic, keyword, temporal = await asyncio.gather(
        read(run.semantic), read(run.keyword), read(run.temporal)
    )
    graph = await read(run.graph, semantic)
    lists = {
        Channel.SEMANTIC: semantic,
        Channel.KEYWORD: keyword,
        Channel.GRAPH: graph,
        Channel.TEMPORAL: temporal,
    }
    return Found(lists, run.below, selected.mask)


class _ChannelRunner:
    """The channels of one recall, each timed and each failing as configured."""

    def __init__(
        self, recalled: RecallPlan, view: BankView, selected: Selection, tools: RecallTools, timer: Timer
    ) -> None:
        self._plan, self._view, self._selected = recalled, view, selected
        self._tools, self._timer = tools, timer
        self._relevance = Relevance(view, recalled.vector)
        self.below: dict[Channel, Hits] = {}

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
        text, limit = self._plan.query.text, self._plan.limit
        named = self._plan.named
        hits = no_hits()
        walk = walk_asked_for(text, named.rows, self._view.hubs)
        if walk is Walk.CAUSES:
            hits = causal_channel(self._view, self._selected, seeds, self._relevance, limit=limit)
        elif walk is Walk.ALL:
            hits = graph_channel(
                self._view,
                self._selected,
                seeds=seeds,
                named=named.rows,
                relevance=self._relevance,
                strategy=self._tools.config.graph,
                limit=limit,
                steps=chain_steps(text),
            )
        elif not named.speaker:
            self._timer.trace.notes.append("graph: not asked for by this question")
        if named.speaker:
            said = own_words(self._view, self._selected, named.speaker, self._relevance, limit=limit)
            hits = joined(hits, said, limit=limit)
        return hits

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
        return self._above_threshold(channel, hits)

    def _above_threshold(self, channel: Channel, hits: Hits) -> Hits:
        """The hits that reach the channel's minimum score: the others neither count nor seed the graph."""
        least = channel_threshold(channel, self._plan.query.min_scores)
        if least is None:
            return hits
        kept, self.below[channel] = cut(hits, least)
        dropped = len(self.below[channel])
        self._timer.trace.notes.append(f"min_scores: {channel} dropped {dropped} of {len(hits)}")
        return kept

    def _check(self, channel: Channel) -> None:
        index = INDEX_OF.get(channel, "")
        if index in self._view.failures:
            raise IndexOutOfStep(index, self._view.bank, self._view.failures[index])


def _finish(
    recalled: RecallPlan, view: BankView, found: Found, tools: RecallTools, timer: Timer
) -> RecallResult:
    query, notes = recalled.query, timer.trace.notes
    with timer.stage("fuse"):
        ids, fused = reciprocal_rank_fusion({channel: hits.ids for channel, hits in found.lists.items()})
        turns = turn_order(view.columns, found.allowed, ids) if tools.config.neighbours else None
        if turns:
            ids, fused = lent(ids, fused, view.columns, turns)
    ranked = Reranking(recalled, view, turns, tools, timer).order(ids, fused)
    passed, dropped = passing(ranked, query.min_scores)
    notes += threshold_notes(ranked, dropped, query.min_scores)
    with timer.stage("pack"):
        kept = pack_ranked(passed.ids, passed.scores, view, query, tools.tokens)
    with timer.stage("hydrate"):
        units = hydrate(kept, view, as_of=query.as_of, lists=found.lists)
    if len(passed.ids) and not units:
        notes.append(f"budget: none of {len(passed.ids)} memories fits into {query.max_tokens} tokens")
    confidence = Judging(recalled, view, tools, timer).confidence(units, passed)
    besides = Besides(recalled, view, tools, timer)
    result = RecallResult(
        units=tuple(units.values()),
        tokens=kept.tokens,
        window=recalled.window,
        trace=timer.trace,
        entities=besides.entities(kept.ids),
        chunks=besides.chunks(units.values()),
        source_facts=besides.source_facts(units),
        query=query,
        confidence=confidence,
    )
    if query.trace:
        with timer.stage("trace"):
            timer.trace.units += unit_traces(Course(found, ids, fused, ranked, dropped, kept), view, query)
    return result
