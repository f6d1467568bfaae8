"""The four channels (paper section 4.2.2): each a ranked list of row ids, filtered before it is cut."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from hindsight_integrations.model.time import Interval
from hindsight_integrations.ports.arrays import BoolArray, FloatArray, Hits, IntArray, Vector, no_hits, ranked
from hindsight_integrations.search.bank_view import EXACT_LIMIT, BankView
from hindsight_integrations.search.graph.activation import (
    SEMANTIC_SEEDS,
    entity_seeds,
    spread,
    spread_by_distance,
)
from hindsight_integrations.search.graph.causal_links import Causes
from hindsight_integrations.search.graph.gains import entity_gain
from hindsight_integrations.search.temporal import temporal_hits
from hindsight_integrations.text.names import normalise_name

ASKED_TOO_OFTEN = 10  # once a tenth of the bank has been asked about, all of it is scored in one pass
AMONG_LIMIT = 2_000  # a mask leaving at most this many units is handed to the keyword index as a set

_CAUSAL_QUESTION = re.compile(
    r"\b(why|because|cause[ds]?|reason|led to|result(?:ed)? (?:of|in)|prevent\w*|enabled?)\b", re.IGNORECASE
)
_CHAIN = re.compile(  # of names: the first "'s" of "What's Alice's team" is a verb
    r"\b(?!(?:what|who|where|when|why|how|it|he|she|that|this|there|here|let)['\u2019])\w+(?:['\u2019]s \w+){2,}",
    re.IGNORECASE,
)
_POSSESSIVE = re.compile(r"['\u2019]s ", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Selection:
    """A mask over the columns and how many units it lets through."""

    mask: BoolArray
    count: int

    @property
    def all(self) -> bool:
        """Whether it excludes nothing."""
        return self.count == len(self.mask)


def semantic_channel(
    view: BankView, selected: Selection, vector: Vector, *, limit: int, floor: float
) -> Hits:
    """Nearest units by cosine (paper eq. 9, 10), none below the embedder's floor."""
    if not selected.count:
        return no_hits()
    if not selected.all and selected.count <= EXACT_LIMIT:
        hits = view.scorer.search_among(vector, view.columns.ids[selected.mask], limit)
    else:
        query = vector.reshape(1, -1)
        hits = search_allowed(lambda ask: view.vectors.search(query, ask)[0], view, selected, limit)
    keep = hits.scores >= floor
    return Hits(hits.ids[keep], hits.scores[keep])


def keyword_channel(view: BankView, selected: Selection, text: str, *, limit: int) -> Hits:
    """Best units by BM25 (paper eq. 11)."""
    if not selected.count:
        return no_hits()
    if not selected.all and selected.count <= AMONG_LIMIT:
        return view.keywords.search(text, limit, view.columns.ids[selected.mask])
    return search_allowed(lambda ask: view.keywords.search(text, ask), view, selected, limit)


def search_allowed(search: Callable[[int], Hits], view: BankView, selected: Selection, limit: int) -> Hits:
    """The best `limit` hits the selection lets through, asking for twice as many until enough survive."""
    total = len(view.columns)
    ask = min(limit + total - selected.count, 2 * limit)
    while True:
        hits = search(ask)
        keep = view.columns.allowed(hits.ids, selected.mask)
        if keep.sum() >= limit or len(hits) < ask or ask >= total:
            return Hits(hits.ids[keep][:limit], hits.scores[keep][:limit])
        ask *= 2


def temporal_channel(
    view: BankView, selected: Selection, window: Interval | None, relevance: Relevance, *, limit: int
) -> Hits:
    """Units of the time asked about (paper eq. 13, 14), weighted by how relevant they are.

    Without relevance, "in 2023" would rank a year's units by their distance from 2 July: the score is the temporal
    score times the cosine mapped to [0, 1].
    """
    if window is None or not selected.count:
        return no_hits()
    columns, mask = view.columns, selected.mask
    hits = temporal_hits(
        columns.ids[mask], columns.starts[mask], columns.ends[mask], columns.mentioned[mask], window=window
    )
    return ranked(hits.ids, (hits.scores * (1.0 + relevance(hits.ids)) / 2.0).astype(np.float32), limit)


def graph_channel(
    view: BankView,
    selected: Selection,
    *,
    seeds: Hits,
    named: IntArray,
    relevance: Relevance,
    limit: int,
    steps: int = 0,
) -> Hits:
    """Units connected to the best semantic hits and to the entities the question names (paper eq. 12).

    Activation says how strongly a unit is connected, not what to: all units of a named entity are lit alike. The
    channel's score is therefore activation times cosine (decision 004).

    `seeds` are the semantic hits, of which the first 20 are entry points; `named` are row ids of entities named in the
    question. A chain of possessives of so many `steps` is walked from the entities named alone, and each distance is
    ranked apart: what stands at its end is in other words than the question (decision 004).
    """
    allowed = None if selected.all else view.columns.ids[selected.mask]
    direct = entity_seeds(view.graph, named, muted=view.hubs, allowed=allowed, similarity=relevance)
    if steps and len(direct):
        return spread_by_distance(
            view.graph,
            direct,
            steps=steps,
            muted=view.hubs,
            allowed=allowed,
            budget=limit,
            similarity=relevance,
        )
    entry = Hits(
        np.concatenate([seeds.ids[:SEMANTIC_SEEDS], direct.ids]),
        np.concatenate([seeds.scores[:SEMANTIC_SEEDS], direct.scores]),
    )
    hits = spread(view.graph, entry, muted=view.hubs, allowed=allowed, budget=limit, similarity=relevance)
    return _relevant(hits, relevance, limit)


def causal_channel(
    view: BankView, selected: Selection, seeds: Hits, relevance: Relevance, *, limit: int
) -> Hits:
    """The best semantic hits and what causes or follows from them, over causal links alone (paper section 4.1.4, eq. 12).

    The hits without a cause stay in the list: a list of the others alone would put each of them at a high rank.
    """
    allowed = None if selected.all else view.columns.ids[selected.mask]
    entry = Hits(seeds.ids[:SEMANTIC_SEEDS], seeds.scores[:SEMANTIC_SEEDS])
    hits = spread(
        Causes(view.graph), entry, muted=view.hubs, allowed=allowed, budget=limit, similarity=relevance
    )
    return _relevant(hits, relevance, limit)


def own_words(
    view: BankView, selected: Selection, speakers: frozenset[str], relevance: Relevance, *, limit: int
) -> Hits:
    """What one of the conversation's speakers said, most relevant first: a question that names a person asks for it.

    Speakers are hubs and light nothing (design section 6): everything mentions them. Having said something is a
    narrower tie than being mentioned, so a named speaker's own turns are one hop from the question (decision 051).
    `speakers` are the normalised names the person answers to.
    """
    columns = view.columns
    theirs = [normalise_name(name) in speakers for name in columns.speaker_names]
    ids = columns.ids[np.array(theirs, bool)[columns.speakers] & selected.mask]
    return _relevant(Hits(ids, np.full(len(ids), entity_gain(), np.float32)), relevance, limit)


def _relevant(lit: Hits, relevance: Relevance, limit: int) -> Hits:
    """Activated units by activation times cosine (decision 004)."""
    return ranked(lit.ids, lit.scores * np.maximum(relevance(lit.ids), 0.0), limit)


def joined(first: Hits, second: Hits, *, limit: int) -> Hits:
    """Two lists of one channel as one, each unit with its higher score."""
    ids = np.union1d(first.ids, second.ids)
    scores = np.zeros(len(ids), np.float32)
    for hits in (first, second):
        np.maximum.at(scores, np.searchsorted(ids, hits.ids), hits.scores)
    return ranked(ids, scores, limit)


class Relevance:
    """Cosine of units with one question, remembered for the length of a recall; 0 where a vector is not known.

    A walk through hubs asks for most of the bank several times over; then one pass over all vectors is cheaper
    (100k units: 5 ms) than looking them up again and again (58 ms).
    """

    def __init__(self, view: BankView, vector: Vector) -> None:
        self._view, self._vector = view, vector
        self._asked = 0
        self._all: FloatArray | None = None

    def __call__(self, ids: IntArray) -> FloatArray:
        """The cosines, (n,)."""
        columns = self._view.columns
        self._asked += len(ids)
        if self._all is None and self._asked * ASKED_TOO_OFTEN < len(columns):
            return self._computed(ids)
        if self._all is None:
            self._all = self._computed(columns.ids)
        at = columns.positions(ids)
        return np.where(at >= 0, self._all[at], np.float32(0.0)) if len(self._all) else self._computed(ids)

    def _computed(self, ids: IntArray) -> FloatArray:
        return np.nan_to_num(self._view.scorer.similarities(self._vector, ids), nan=0.0)


def chain_steps(text: str) -> int:
    """How many possessives the longest chain in a question has, at least two: "Alice's manager's team" has 2; else 0."""
    return max((len(_POSSESSIVE.findall(found)) for found in _CHAIN.findall(text)), default=0)


class Walk(StrEnum):
    """How far a question lets the graph channel go."""

    NONE = "none"
    CAUSES = "causes"
    ALL = "all"


def walk_asked_for(text: str, named: IntArray, hubs: IntArray) -> Walk:
    """What the question gives the graph to walk from (design section 6, gate).

    A named entity that is not everywhere, or a chain of possessives: all links. A question for a cause: causal links.
    Without one, spreading from whatever was similar costs recall (measured, decision 004).
    """
    if len(np.setdiff1d(named, hubs)) or _CHAIN.search(text):
        return Walk.ALL
    return Walk.CAUSES if _CAUSAL_QUESTION.search(text) else Walk.NONE
