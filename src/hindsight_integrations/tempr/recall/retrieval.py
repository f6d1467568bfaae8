"""Four-way retrieval (paper section 4.2.2): the channels of one recall, each timed and each failing as configured."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from hindsight_integrations.config import OnChannelFailure
from hindsight_integrations.errors import IndexOutOfStep, ModelError, StorageError
from hindsight_integrations.model.trace import SOURCE_TURNS, Channel
from hindsight_integrations.ports.arrays import Hits, Vector, no_hits
from hindsight_integrations.search.bank_view import EXACT_LIMIT
from hindsight_integrations.search.channels.graph import Walk, graph_channel, walk_of
from hindsight_integrations.search.channels.keyword import keyword_channel
from hindsight_integrations.search.channels.relevance import Relevance
from hindsight_integrations.search.channels.selection import Selection
from hindsight_integrations.search.channels.semantic import semantic_channel
from hindsight_integrations.search.channels.temporal import temporal_channel
from hindsight_integrations.search.embedding import question_vector
from hindsight_integrations.search.named_entities import Named, named_in
from hindsight_integrations.tempr.recall.asked_time import AskedTime, asked_time
from hindsight_integrations.tempr.recall.context import Asked, RecallContext, timed
from hindsight_integrations.tempr.recall.min_scores import channel_threshold, cut
from hindsight_integrations.text.questions import chain_steps

INDEX_OF: Mapping[str, str] = {
    Channel.SEMANTIC: "scorer",
    Channel.KEYWORD: "keyword",
    SOURCE_TURNS: "keyword",
    Channel.GRAPH: "graph",
}


@dataclass(frozen=True, slots=True)
class ChannelResults:
    """What the channels found.

    Attributes:
        lists: each channel's hits, best first, down to its minimum score.
        below: each channel's hits below its minimum score.
        told: of the memories made from turns those that match in their words or their turns', no channel of its own.
        matches: row ids of the items of documents that the channels found, the best first; the lists have their documents.
    """

    lists: Mapping[Channel, Hits]
    below: Mapping[Channel, Hits]
    told: Hits = field(default_factory=no_hits)
    matches: tuple[int, ...] = ()

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

    Each step runs as soon as what it needs is there. The time is read first, since its words are not searched for. The
    keywords need the words alone, so they are looked up while the question is embedded, which is the longest step of all.

    Args:
        asked: the question.
        selected: which units may be found.

    Raises:
        IndexOutOfStep: an index failed and could not be healed (unless configured to degrade).
    """
    time = await asked.tools.workers.read(asked_time, asked, selected)
    selected = time.selected
    (keyword, told), (run, found) = await asyncio.gather(
        asked.tools.workers.read(_worded, asked, time.words, selected),
        _search_by_meaning(asked, selected, time),
    )
    results = {Channel.KEYWORD: keyword, **found}
    whole = asked.items.whole
    return run, ChannelResults(
        lists={channel: whole(results[channel][0]) for channel in Channel},
        below={channel: whole(results[channel][1]) for channel in Channel},
        told=whole(told),
        matches=_matching_items(asked, [results[channel][0] for channel in Channel]),
    )


def _matching_items(asked: Asked, lists: Sequence[Hits]) -> tuple[int, ...]:
    """Row ids of the items found, by their best rank in any list."""
    best: dict[int, int] = {}
    for hits in lists if len(asked.items.items) else ():
        places = np.flatnonzero(np.isin(hits.ids, asked.items.items))
        for place in places.tolist():
            row = int(hits.ids[place])
            best[row] = min(best.get(row, place), place)
    return tuple(sorted(best, key=lambda row: (best[row], row)))


def _worded(asked: Asked, words: str, selected: Selection) -> tuple[tuple[Hits, Hits], Hits]:
    """The keyword channel, and the memories that match in the words of the turns they were made from."""
    search = partial(keyword_channel, asked.view, selected, words, limit=asked.limit)
    told, _ = _searched(asked, SOURCE_TURNS, partial(search, told=True))
    return _searched(asked, Channel.KEYWORD, search), told


async def _search_by_meaning(
    asked: Asked, selected: Selection, time: AskedTime
) -> tuple[RecallContext, dict[Channel, tuple[Hits, Hits]]]:
    """Semantic and temporal search together; then the graph, from the semantic hits and the entities named."""
    read, view = asked.tools.workers.read, asked.view
    vector, (named, walk) = await asyncio.gather(
        read(_embedded, asked, time.meaning), read(_understood, asked)
    )
    if vector is None:
        unasked = {INDEX_OF[Channel.SEMANTIC]: "the question could not be embedded"}
        view = replace(view, failures={**view.failures, **unasked})
        vector = np.zeros(asked.tools.embedder.identity.dimension, np.float32)
    run = RecallContext(
        query=asked.query,
        view=view,
        tools=asked.tools,
        trace=asked.trace,
        items=asked.items,
        vector=vector,
        window=time.window,
        selected=selected,
        time_alone=time.alone,
        named=named,
        walk=walk,
    )
    relevance = Relevance(view, vector)
    searches = asyncio.gather(
        read(_semantic_and_linked, run, selected, relevance),
        read(
            _searched,
            run,
            Channel.TEMPORAL,
            lambda: temporal_channel(view, selected, time.searched, relevance, limit=run.limit),
        ),
    )
    if walk is Walk.ALL and len(view.columns) > EXACT_LIMIT:
        (linked, temporal), _ = await asyncio.gather(searches, read(_compare_early, relevance))
    else:
        linked, temporal = await searches
    return run, {**linked, Channel.TEMPORAL: temporal}


def _embedded(asked: Asked, meaning: str) -> Vector | None:
    """The question's vector; None where the embedder fails, and that is not to raise: words, time and graph answer then."""
    with timed(asked.trace, "embed query"):
        try:
            return question_vector(replace(asked.query, text=meaning), asked.tools.embedder)
        except ModelError as error:
            if asked.tools.config.on_channel_failure == OnChannelFailure.RAISE:
                raise
            asked.trace.notes.append(f"embed query: left out, {type(error).__name__}")
            return None


def _understood(asked: Asked) -> tuple[Named, Walk]:
    """What else the question's words say (paper section 4.2.1): whom it names, how far the graph may go."""
    text, view, languages = asked.query.text, asked.view, asked.tools.languages
    with timed(asked.trace, "plan"):
        named = named_in(text, view, languages)
        return named, walk_of(text, named.rows, view.hubs, languages)


def _compare_early(relevance: Relevance) -> None:
    """Compare the whole bank with the question: the walk needs most of it, and semantic search takes as long.

    A failure is for the channel to report that meets it again.
    """
    with suppress(StorageError):
        relevance.of_all()


def _semantic_and_linked(
    run: RecallContext, selected: Selection, relevance: Relevance
) -> dict[Channel, tuple[Hits, Hits]]:
    """Both on one thread: the graph channel starts from the semantic hits."""
    floor = run.tools.embedder.identity.thresholds.channel_floor
    semantic = _searched(
        run,
        Channel.SEMANTIC,
        lambda: semantic_channel(run.view, selected, run.vector, limit=run.limit, floor=floor),
    )
    seeds = run.items.whole(semantic[0])
    linked = _searched(run, Channel.GRAPH, lambda: _connected(run, selected, seeds, relevance))
    return {Channel.SEMANTIC: semantic, Channel.GRAPH: linked}


def _searched(asked: Asked, channel: str, search: Callable[[], Hits]) -> tuple[Hits, Hits]:
    """The hits of a channel, or of the source turns, and those below its minimum score, which neither count nor seed the graph.

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
    """The graph channel, which only runs where the question gives it something to walk from."""
    if run.walk is Walk.NONE and not run.named.speaker:
        run.trace.notes.append("graph: this question names nothing to walk from")
    return graph_channel(
        run.view,
        selected,
        walk=run.walk,
        named=run.named,
        steps=chain_steps(run.query.text, run.tools.languages),
        seeds=seeds,
        relevance=relevance,
        limit=run.limit,
    )
