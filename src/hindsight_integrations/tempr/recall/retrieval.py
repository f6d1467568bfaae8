"""Four-way retrieval (paper section 4.2.2): the channels of one recall, each timed and each failing as configured."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np

from hindsight_integrations.config import OnChannelFailure
from hindsight_integrations.errors import IndexOutOfStep, StorageError
from hindsight_integrations.model.time import Interval
from hindsight_integrations.model.trace import Channel
from hindsight_integrations.ports.arrays import Hits, Vector, no_hits
from hindsight_integrations.search.channels.graph import Walk, graph_channel, walk_of
from hindsight_integrations.search.channels.keyword import keyword_channel
from hindsight_integrations.search.channels.relevance import Relevance
from hindsight_integrations.search.channels.selection import Selection
from hindsight_integrations.search.channels.semantic import semantic_channel
from hindsight_integrations.search.channels.temporal import temporal_channel
from hindsight_integrations.search.named_entities import Named, named_in
from hindsight_integrations.tempr.recall.context import Asked, RecallContext, timed
from hindsight_integrations.tempr.recall.min_scores import channel_threshold, cut
from hindsight_integrations.tempr.recall.plan import query_window
from hindsight_integrations.text.question_kinds import chain_steps

R = TypeVar("R")

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


async def search_channels(asked: Asked, selected: Selection) -> tuple[RecallContext, ChannelResults]:
    """What the question asks for, and what the four channels find of it.

    Each step runs as soon as what it needs is there. The keywords need the words alone, so they are looked up while
    the question is embedded, which is the longest step of all.

    Args:
        asked: the question.
        selected: which units may be found.

    Raises:
        IndexOutOfStep: an index failed and could not be healed (unless configured to degrade).
    """
    keyword, (run, found) = await asyncio.gather(
        asked.tools.workers.read(
            _searched,
            asked,
            Channel.KEYWORD,
            lambda: keyword_channel(asked.view, selected, asked.query.text, limit=asked.limit),
        ),
        _search_by_meaning(asked, selected),
    )
    results = {Channel.KEYWORD: keyword, **found}
    return run, ChannelResults(
        lists={channel: results[channel][0] for channel in Channel},
        below={channel: results[channel][1] for channel in Channel},
    )


async def _search_by_meaning(
    asked: Asked, selected: Selection
) -> tuple[RecallContext, dict[Channel, tuple[Hits, Hits]]]:
    """Semantic and temporal search together; then the graph, from the semantic hits and the entities named."""
    read = asked.tools.workers.read
    vector, (window, named) = await asyncio.gather(read(_embedded, asked), read(_understood, asked))
    run = RecallContext(
        query=asked.query,
        view=asked.view,
        tools=asked.tools,
        trace=asked.trace,
        vector=vector,
        window=window,
        named=named,
    )
    relevance = Relevance(run.view, vector)
    along = partial(_searched, run, Channel.TEMPORAL, lambda: _in_window(run, selected, relevance))
    linked, temporal = await asyncio.gather(
        read(_semantic_and_linked, run, selected, relevance),
        read(along) if window else _at_once(along),
    )
    return run, {**linked, Channel.TEMPORAL: temporal}


async def _at_once(work: Callable[[], R]) -> R:
    """Work too small for a thread."""
    return work()


def _embedded(asked: Asked) -> Vector:
    with timed(asked.trace, "embed query"):
        return asked.tools.embedder.embed_query(asked.query.text)


def _understood(asked: Asked) -> tuple[Interval | None, Named]:
    """The question's time window and names (paper section 4.2.1)."""
    with timed(asked.trace, "plan"):
        window = query_window(asked.query, asked.tools, asked.trace.notes)
        return window, named_in(asked.query.text, asked.view, asked.tools.languages)


def _semantic_and_linked(
    run: RecallContext, selected: Selection, relevance: Relevance
) -> dict[Channel, tuple[Hits, Hits]]:
    floor = run.tools.embedder.identity.thresholds.channel_floor
    semantic = _searched(
        run,
        Channel.SEMANTIC,
        lambda: semantic_channel(run.view, selected, run.vector, limit=run.limit, floor=floor),
    )
    linked = _searched(run, Channel.GRAPH, lambda: _connected(run, selected, semantic[0], relevance))
    return {Channel.SEMANTIC: semantic, Channel.GRAPH: linked}


def _in_window(run: RecallContext, selected: Selection, relevance: Relevance) -> Hits:
    return temporal_channel(run.view, selected, run.window, relevance, limit=run.limit)


def _searched(asked: Asked, channel: Channel, search: Callable[[], Hits]) -> tuple[Hits, Hits]:
    """A channel's hits and those below its minimum score, which neither count nor seed the graph.

    A failure raises, or leaves the channel out, as configured.
    """
    with timed(asked.trace, channel) as detail:
        try:
            index = INDEX_OF.get(channel, "")
            if index in asked.view.failures:
                raise IndexOutOfStep(index, asked.view.bank, asked.view.failures[index])
            hits = search()
        except StorageError as error:
            if asked.tools.config.on_channel_failure == OnChannelFailure.RAISE:
                raise
            asked.trace.notes.append(f"{channel}: left out, {error}")
            hits = no_hits()
        detail["hits"] = len(hits)
    least = channel_threshold(channel, asked.query.min_scores)
    if least is None:
        return hits, no_hits()
    kept, below = cut(hits, least)
    asked.trace.notes.append(f"min_scores: {channel} dropped {len(below)} of {len(hits)}")
    return kept, below


def _connected(run: RecallContext, selected: Selection, seeds: Hits, relevance: Relevance) -> Hits:
    """The graph channel, which only runs where the question gives it something to walk from (decisions 004 and 051)."""
    named, text, languages = run.named, run.query.text, run.tools.languages
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
        limit=run.limit,
    )
