"""Four-way retrieval (paper section 4.2.2): the channels of one recall, each timed and each failing as configured."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from hindsight_integrations.config import OnChannelFailure
from hindsight_integrations.errors import IndexOutOfStep, StorageError
from hindsight_integrations.model.trace import Channel
from hindsight_integrations.ports.arrays import Hits, no_hits
from hindsight_integrations.search.channels.graph import Walk, graph_channel, walk_of
from hindsight_integrations.search.channels.keyword import keyword_channel
from hindsight_integrations.search.channels.relevance import Relevance
from hindsight_integrations.search.channels.selection import Selection
from hindsight_integrations.search.channels.semantic import semantic_channel
from hindsight_integrations.search.channels.temporal import temporal_channel
from hindsight_integrations.tempr.recall.context import RecallContext, timed
from hindsight_integrations.tempr.recall.min_scores import channel_threshold, cut
from hindsight_integrations.text.question_kinds import chain_steps

INDEX_OF = {Channel.SEMANTIC: "vector", Channel.KEYWORD: "keyword", Channel.GRAPH: "graph"}


@dataclass(frozen=True, slots=True)
class ChannelResults:
    """What the channels found.

    Attributes:
        lists: each channel's hits, best first, down to its minimum score.
        below: each channel's hits below its minimum score.
    """

    lists: Mapping[Channel, Hits]
    below: Mapping[Channel, Hits]

    def uncut(self) -> dict[Channel, Hits]:
        """The lists as they were before they were cut."""
        return {
            channel: Hits(
                np.concatenate([hits.ids, self.below[channel].ids]),
                np.concatenate([hits.scores, self.below[channel].scores]),
            )
            for channel, hits in self.lists.items()
        }


async def search_channels(run: RecallContext, selected: Selection) -> ChannelResults:
    """Semantic, keyword and temporal search together; then the graph, from the semantic hits and the entities named.

    Args:
        run: the recall under way.
        selected: which units may be found.

    Raises:
        IndexOutOfStep: an index failed and could not be healed (unless configured to degrade).
    """
    plan, view, read = run.plan, run.view, run.tools.workers.read
    relevance, limit = Relevance(view, plan.vector), plan.limit
    floor = run.tools.embedder.identity.thresholds.channel_floor
    searches: dict[Channel, Callable[[], Hits]] = {
        Channel.SEMANTIC: lambda: semantic_channel(view, selected, plan.vector, limit=limit, floor=floor),
        Channel.KEYWORD: lambda: keyword_channel(view, selected, plan.query.text, limit=limit),
        Channel.TEMPORAL: lambda: temporal_channel(view, selected, plan.window, relevance, limit=limit),
    }
    found = await asyncio.gather(*(read(_searched, run, *search) for search in searches.items()))
    results = dict(zip(searches, found, strict=True))
    seeds, _ = results[Channel.SEMANTIC]
    results[Channel.GRAPH] = await read(
        _searched, run, Channel.GRAPH, lambda: _connected(run, selected, seeds, relevance)
    )
    return ChannelResults(
        lists={channel: results[channel][0] for channel in Channel},
        below={channel: results[channel][1] for channel in Channel},
    )


def _searched(run: RecallContext, channel: Channel, search: Callable[[], Hits]) -> tuple[Hits, Hits]:
    """A channel's hits and those below its minimum score, which neither count nor seed the graph.

    A failure raises, or leaves the channel out, as configured.
    """
    with timed(run.trace, channel) as detail:
        try:
            index = INDEX_OF.get(channel, "")
            if index in run.view.failures:
                raise IndexOutOfStep(index, run.view.bank, run.view.failures[index])
            hits = search()
        except StorageError as error:
            if run.tools.config.on_channel_failure == OnChannelFailure.RAISE:
                raise
            run.trace.notes.append(f"{channel}: left out, {error}")
            hits = no_hits()
        detail["hits"] = len(hits)
    least = channel_threshold(channel, run.plan.query.min_scores)
    if least is None:
        return hits, no_hits()
    kept, below = cut(hits, least)
    run.trace.notes.append(f"min_scores: {channel} dropped {len(below)} of {len(hits)}")
    return kept, below


def _connected(run: RecallContext, selected: Selection, seeds: Hits, relevance: Relevance) -> Hits:
    """The graph channel, which only runs where the question gives it something to walk from (decisions 004 and 051)."""
    named, text, languages = run.plan.named, run.plan.query.text, run.tools.languages
    walk = walk_of(text, named.rows, run.view.hubs, languages)
    if walk is Walk.NONE and not named.speaker:
        run.trace.notes.append("graph: this question names nothing to walk from")
    return graph_channel(
        run.view,
        selected,
        walk=walk,
        named=named,
        steps=chain_steps(text, languages),
        seeds=seeds,
        relevance=relevance,
        limit=run.plan.limit,
    )
