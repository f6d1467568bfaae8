"""The four retrieval channels of a recall (paper section 4.2.2), each timed and with configurable failure handling."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial

import numpy as np

from hindsight_integrations.config import OnChannelFailure
from hindsight_integrations.errors import HindsightError, IndexOutOfStep, ModelError, StorageError
from hindsight_integrations.indexes.bank_view import EXACT_LIMIT
from hindsight_integrations.indexes.embedding import question_cosine, question_vector
from hindsight_integrations.indexes.graph_channel import Walk, graph_channel, walk_of
from hindsight_integrations.indexes.hybrid import RRF_K, Selection, keyword_channel, semantic_channel
from hindsight_integrations.indexes.named_entities import NamedEntities, named_in
from hindsight_integrations.indexes.spreading_activation import Relevance
from hindsight_integrations.indexes.temporal import matches, temporal_channel
from hindsight_integrations.language.dates import question_time
from hindsight_integrations.language.language import Language
from hindsight_integrations.language.questions import chain_steps
from hindsight_integrations.language.stems import content_stems
from hindsight_integrations.language.times.calendar import TimeWindow
from hindsight_integrations.model.arrays import Float64Array, FloatArray, Hits, IntArray, Vector, no_hits
from hindsight_integrations.model.embedder import REFERENCE
from hindsight_integrations.model.time import Interval
from hindsight_integrations.model.trace import SOURCE_TURNS, Channel
from hindsight_integrations.recall.context import RecallContext, RecallQuestion, timed
from hindsight_integrations.recall.rerank import channel_threshold, cut

# On LoCoMo, the channel gains up to 1.2 points of evidence recall below this share, and loses 1.4 above it.
UNSELECTIVE = 0.9
"""A window that contains at least this share of the selected memories is not selective."""
LONG = timedelta(days=31)
"""Length up to which a window's words, such as "in May 2023", also appear in the dates of the embedded texts."""

# the exceptions that `TimeParser` documents
_PARSER_FAILURES = (HindsightError, ValueError, LookupError, RuntimeError, OSError)
_EDGES = " \t\r\n,;:-"
_BEFORE_MARK = re.compile(r"\s+(?=[?!.,;:])")


@dataclass(frozen=True, slots=True)
class AskedTime:
    """The time window of a question, and the texts to search for.

    Attributes:
        window: the time window, passed by the caller or parsed from the text; None if there is none.
        searched: the window, if it is selective enough for the temporal channel; else None.
        words: text for keyword search.
        meaning: text for semantic search.
        selected: the memories that may be returned; if the question only names a time, those of that time.
        alone: whether the question only names a time, so that every memory of that time is an answer.
    """

    window: Interval | None
    searched: Interval | None
    words: str
    meaning: str
    selected: Selection
    alone: bool = False


def asked_time(question: RecallQuestion, selected: Selection) -> AskedTime:
    """Determine a question's time window: the query's, else a time expression in its text, else the caller's time parser's.

    A time expression such as "this week" makes search results worse, since memories do not contain it. It is removed from the search
    texts (never from the reranker's) where measurements showed that this helps:

    - if the window is longer than a month or not selective: from both search texts;
    - if it is relative to now ("yesterday"): from the keyword search text;
    - if it is a date: not removed, because the vectors include the memories' dates;
    - if the window holds no memories: not removed, because its words are the only clue.
    """
    query, services = question.query, question.services
    with timed(question.trace, "time"):
        expression = None
        if query.window is None:
            expression = question_time(query.text, query.query_timestamp, services.dates, services.languages)
        window = query.window or (expression.interval if expression else _parsed(question))
        if window is None:
            return AskedTime(None, None, query.text, query.text, selected)
        then = _within(window, question, selected)
        rest = _without(query.text, expression) if expression and then.count else query.text
        if expression and not all(_says_more(rest, language) for language in services.languages):
            return AskedTime(window, window, query.text, query.text, then, alone=True)
        searched = window if _is_selective(then, selected, question.trace.notes) else None
        everywhere = searched is None or window.end - window.start > LONG
        words = rest if everywhere or (expression and expression.from_now) else query.text
        return AskedTime(window, searched, words, rest if everywhere else query.text, selected)


def _parsed(question: RecallQuestion) -> Interval | None:
    """Return the window from the caller's time parser; a failure is noted in the trace."""
    query, services = question.query, question.services
    if services.time_parser is None:
        return None
    try:
        return services.time_parser(query.text, query.query_timestamp, services.dates.zone)
    except _PARSER_FAILURES as error:
        question.trace.notes.append(f"time_parser: failed, no window ({type(error).__name__}: {error})")
        return None


def _within(window: Interval, question: RecallQuestion, selected: Selection) -> Selection:
    columns = question.view.columns
    mask = matches(columns.starts, columns.ends, columns.mentioned, window) & selected.mask
    return Selection(mask, int(np.count_nonzero(mask)))


def _is_selective(then: Selection, selected: Selection, notes: list[str]) -> bool:
    """Return whether a window with the memories `then` is selective; if not, add a note."""
    share = then.count / max(selected.count, 1)
    if share < UNSELECTIVE:
        return True
    notes.append(f"time: {share:.0%} of the memories are in this window, so it is not searched")
    return False


def _without(text: str, expression: TimeWindow) -> str:
    start, end = expression.span
    return _BEFORE_MARK.sub("", " ".join(f"{text[:start]} {text[end:]}".split())).strip(_EDGES)


def _says_more(rest: str, language: Language) -> bool:
    """Return whether a question has content words besides its time expression and question words, unlike "What happened?"."""
    generic = {language.stem(word) for word in language.asking.whatever}
    return bool(content_stems(rest, language) - generic)


INDEX_OF: Mapping[str, str] = {
    Channel.SEMANTIC: "scorer",
    Channel.KEYWORD: "keyword",
    SOURCE_TURNS: "keyword",
    Channel.GRAPH: "graph",
}


@dataclass(frozen=True, slots=True)
class ChannelResults:
    """The results of the channels.

    Attributes:
        lists: each channel's hits that reach its minimum score, best first.
        below: each channel's hits below its minimum score.
        told: keyword hits among the memories' texts combined with those of their source turns; not a separate channel.
        matches: row ids of the matching document items, best first; `lists` has their documents instead.
    """

    lists: Mapping[Channel, Hits]
    below: Mapping[Channel, Hits]
    told: Hits = field(default_factory=no_hits)
    matches: tuple[int, ...] = ()

    def uncut(self) -> dict[Channel, Hits]:
        """Return the lists before the minimum scores were applied."""
        return {
            channel: Hits(
                np.concatenate([hits.ids, self.below[channel].ids]),
                np.concatenate([hits.scores, self.below[channel].scores]),
            )
            for channel, hits in self.lists.items()
        }


async def search_channels(
    question: RecallQuestion, selected: Selection
) -> tuple[RecallContext, ChannelResults]:
    """Analyse the question and search the four channels.

    Each step starts as soon as its input is available. The time is parsed first, since its words may be removed from the search
    texts. The keyword search only needs the words, so it runs while the question is embedded, the longest step.

    Raises:
        IndexOutOfStep: an index failed and could not be rebuilt (unless recall is configured to continue without it).
    """
    time = await question.services.workers.read(asked_time, question, selected)
    selected = time.selected
    (keyword, told), (run, by_meaning) = await asyncio.gather(
        question.services.workers.read(_search_by_words, question, time.words, selected),
        _search_by_meaning(question, selected, time),
    )
    results = {Channel.KEYWORD: keyword, **by_meaning}
    whole = question.items.whole
    return run, ChannelResults(
        lists={channel: whole(results[channel][0]) for channel in Channel},
        below={channel: whole(results[channel][1]) for channel in Channel},
        told=whole(told),
        matches=_matching_items(question, [results[channel][0] for channel in Channel]),
    )


def _matching_items(question: RecallQuestion, lists: Sequence[Hits]) -> tuple[int, ...]:
    """Return the row ids of the matching items, by their best rank in any list."""
    best: dict[int, int] = {}
    for hits in lists if len(question.items.items) else ():
        places = np.flatnonzero(np.isin(hits.ids, question.items.items))
        for place in places.tolist():
            row = int(hits.ids[place])
            best[row] = min(best.get(row, place), place)
    return tuple(sorted(best, key=lambda row: (best[row], row)))


def _search_by_words(
    question: RecallQuestion, words: str, selected: Selection
) -> tuple[tuple[Hits, Hits], Hits]:
    """Search by words: the keyword channel, and the memories combined with their source turns."""
    search = partial(keyword_channel, question.view, selected, words, limit=question.limit)
    told, _ = _searched(question, SOURCE_TURNS, partial(search, told=True))
    return _searched(question, Channel.KEYWORD, search), told


async def _search_by_meaning(
    question: RecallQuestion, selected: Selection, time: AskedTime
) -> tuple[RecallContext, dict[Channel, tuple[Hits, Hits]]]:
    """Run semantic and temporal search in parallel, then the graph search, which starts from semantic hits and named entities."""
    read, view = question.services.workers.read, question.view
    vector, (named, walk) = await asyncio.gather(
        read(_embedded, question, time.meaning), read(_analyse, question)
    )
    if vector is None:
        unasked = {INDEX_OF[Channel.SEMANTIC]: "the question could not be embedded"}
        view = replace(view, failures={**view.failures, **unasked})
        vector = np.zeros(question.services.embedder.identity.dimension, np.float32)
    run = RecallContext(
        query=question.query,
        view=view,
        services=question.services,
        trace=question.trace,
        items=question.items,
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


def _embedded(question: RecallQuestion, meaning: str) -> Vector | None:
    """Embed the question; None if the embedder fails and recall is configured to continue without it."""
    with timed(question.trace, "embed query"):
        try:
            return question_vector(replace(question.query, text=meaning), question.services.embedder)
        except ModelError as error:
            if question.services.config.recall.on_channel_failure == OnChannelFailure.RAISE:
                raise
            question.trace.notes.append(f"embed query: left out, {type(error).__name__}")
            return None


def _analyse(question: RecallQuestion) -> tuple[NamedEntities, Walk]:
    """Return the entities that the question names, and the links that the graph channel may follow (paper section 4.2.1)."""
    text, view, languages = question.query.text, question.view, question.services.languages
    with timed(question.trace, "plan"):
        named = named_in(text, view, languages)
        return named, walk_of(text, named.rows, view.hubs, languages)


def _compare_early(relevance: Relevance) -> None:
    """Compute all cosines with the question while semantic search runs, because the graph walk needs most of them.

    Failures are ignored here, because they recur in a channel, which reports them.
    """
    with suppress(StorageError):
        relevance.of_all()


def _semantic_and_linked(
    run: RecallContext, selected: Selection, relevance: Relevance
) -> dict[Channel, tuple[Hits, Hits]]:
    """Search the semantic and graph channels on one thread, since the graph starts from the semantic hits."""
    floor = run.services.embedder.identity.thresholds.channel_floor
    view, most = run.view, 2 * selected.count > len(run.view.columns)
    one_pass = run.walk is Walk.ALL and view.vectors.index is None and most  # the walk needs the same cosines

    def nearest() -> Hits:
        cosines = relevance.every() if one_pass else None
        return semantic_channel(view, selected, run.vector, limit=run.limit, floor=floor, cosines=cosines)

    semantic = _searched(run, Channel.SEMANTIC, nearest)
    seeds = run.items.whole(semantic[0])
    linked = _searched(run, Channel.GRAPH, lambda: _connected(run, selected, seeds, relevance))
    return {Channel.SEMANTIC: semantic, Channel.GRAPH: linked}


def _searched(question: RecallQuestion, channel: str, search: Callable[[], Hits]) -> tuple[Hits, Hits]:
    """Search a channel or the source turns; return its hits, and those below its minimum score, which only the trace shows.

    On failure, raise or leave the channel out, as configured.
    """
    with timed(question.trace, channel) as detail:
        try:
            index = INDEX_OF.get(channel, "")
            if index in question.view.failures:
                raise IndexOutOfStep(index, question.view.bank, question.view.failures[index])
            hits = search()
        except StorageError as error:
            if question.services.config.recall.on_channel_failure == OnChannelFailure.RAISE:
                raise
            question.trace.notes.append(f"{channel}: left out, {error}")
            hits = no_hits()
        detail["hits"] = len(hits)
    least = channel_threshold(channel, question.query.min_scores)
    if least is None:
        return hits, no_hits()
    kept, below = cut(hits, least)
    question.trace.notes.append(f"min_scores: {channel} dropped {len(below)} of {len(hits)}")
    return kept, below


def _connected(run: RecallContext, selected: Selection, seeds: Hits, relevance: Relevance) -> Hits:
    """Search the graph channel; add a note to the trace if the question provides no starting point."""
    if run.walk is Walk.NONE and not run.named.speaker:
        run.trace.notes.append("graph: the question names no entity to start from")
    return graph_channel(
        run.view,
        selected,
        walk=run.walk,
        named=run.named,
        steps=chain_steps(run.query.text, run.services.languages),
        seeds=seeds,
        relevance=relevance,
        limit=run.limit,
    )


# Weights of the cosine and the keyword score, in ranks; half or double changes LoCoMo by under a point.
NEARNESS, WORDS = 6.0, 1.0


def evidence(cosines: Float64Array, words: FloatArray) -> Float64Array:
    """Compute E(f) = (6 * max(0, c - 0.3) + w / max w) / 60, (n,), in [0, 0.087], to be added to RRF(f) of paper eq. 15.

    Args:
        cosines: c, cosine of each memory with the question, on the reference scale, where 0.3 is the channel floor, (n,).
        words: w, BM25 of each memory together with the turns it was made from, (n,), >= 0.
    """
    near = np.clip(cosines - REFERENCE.channel_floor, 0.0, 1.0 - REFERENCE.channel_floor)
    most = float(words.max(initial=0.0))
    worded = words.astype(np.float64) / most if most > 0.0 else np.zeros(len(words))
    return (NEARNESS * near + WORDS * worded) / RRF_K


def with_evidence(
    ids: IntArray, fused: Float64Array, channels: ChannelResults, run: RecallContext
) -> tuple[IntArray, Float64Array]:
    """Add `evidence` to the fused scores, and memories that match only by their source turns; return ids and scores, best first.

    Banks of verbatim turns are left unchanged: their scores are smoothed over neighbouring turns instead, and both together lose
    evidence recall (measured).
    """
    told = channels.told
    if not len(told):
        return ids, fused
    candidates = np.union1d(ids, told.ids)
    scores = np.zeros(len(candidates))
    scores[np.searchsorted(candidates, ids)] = fused
    cosines = run.view.scorer.similarities(run.vector, candidates)
    near = question_cosine(
        np.nan_to_num(cosines).astype(np.float64), run.services.embedder.identity.thresholds
    )
    words = _scores_of(candidates, channels.lists[Channel.KEYWORD], told)
    scores += evidence(near, words)
    best = np.lexsort((candidates, -scores))
    return candidates[best], scores[best]


def _scores_of(ids: IntArray, *lists: Hits) -> FloatArray:
    """Return the score of each id in the last list that contains it, else 0, (n,)."""
    scores = np.zeros(len(ids), np.float32)
    for hits in lists:
        scores[np.searchsorted(ids, hits.ids)] = hits.scores
    return scores
