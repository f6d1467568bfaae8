"""The graph channel: units connected to a question by links, entities or a named speaker (paper section 4.2.2, eq. 12)."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from functools import partial

import numpy as np

from hindsight_integrations.indexes.bank_view import BankView
from hindsight_integrations.indexes.hybrid import Selection
from hindsight_integrations.indexes.named_entities import NamedEntities
from hindsight_integrations.indexes.spreading_activation import (
    SEMANTIC_SEEDS,
    Causes,
    Relevance,
    entity_gain,
    entity_seeds,
    spread,
    spread_by_distance,
)
from hindsight_integrations.indexes.temporal import turns_naming
from hindsight_integrations.language.language import Language
from hindsight_integrations.language.questions import asks_for_a_cause, chain_steps
from hindsight_integrations.model.arrays import Hits, IntArray, no_hits, ranked
from hindsight_integrations.model.names import normalise_name


class Walk(StrEnum):
    """The links that the graph channel may follow."""

    NONE = "none"
    CAUSES = "causes"
    ALL = "all"


def walk_of(text: str, named: IntArray, hubs: IntArray, languages: Sequence[Language]) -> Walk:
    """Choose the links that the channel may follow for a question.

    These are all links if the question names an entity that is not a hub, or contains a chain of possessives;
    causal links if it asks for a cause; otherwise none, since spreading from similar units lowers recall
    (measured).
    """
    if len(np.setdiff1d(named, hubs)) or chain_steps(text, languages):
        return Walk.ALL
    return Walk.CAUSES if asks_for_a_cause(text, languages) else Walk.NONE


def graph_channel(
    view: BankView,
    selected: Selection,
    *,
    walk: Walk,
    named: NamedEntities,
    steps: int,
    seeds: Hits,
    relevance: Relevance,
    limit: int,
) -> Hits:
    """Return the units connected to the question, and the turns of the speaker it names.

    `steps` is the number of hops in the question's chain of possessives ("Alice's manager's team": 2), 0 without one. The
    first 20 of `seeds`, the semantic hits, are starting points.
    """
    hits = no_hits()
    if walk is Walk.CAUSES:
        hits = causal_units(view, selected, seeds, relevance, limit=limit)
    elif walk is Walk.ALL:
        hits = linked_units(
            view, selected, seeds=seeds, named=named.rows, relevance=relevance, limit=limit, steps=steps
        )
        naming = turns_naming(view, selected, named.names, limit=limit)
        hits = _joined(hits, _one_hop(naming, relevance, limit), limit=limit) if len(naming) else hits
    if not named.speaker:
        return hits
    turns = speaker_turns(view, selected, named.speaker, relevance, limit=limit)
    return _joined(hits, turns, limit=limit)


def linked_units(
    view: BankView,
    selected: Selection,
    *,
    seeds: Hits,
    named: IntArray,
    relevance: Relevance,
    limit: int,
    steps: int = 0,
) -> Hits:
    """Return units connected to the best semantic hits and to the entities the question names (paper eq. 12).

    All units of a named entity have the same activation, so the channel's score is activation times cosine.

    A chain of possessives (`steps` > 0) is followed only from the named entities, and each distance is ranked
    separately, because units at its end share no words with the question. Arguments are those of
    `graph_channel`; `named` are row ids.
    """
    allowed = partial(
        view.columns.allowed, mask=selected.mask
    )  # the graph may contain units newer than the view
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
    return _by_relevance(hits, relevance, limit)


def causal_units(
    view: BankView, selected: Selection, seeds: Hits, relevance: Relevance, *, limit: int
) -> Hits:
    """Return the best semantic hits with their causes and effects, over causal links only (paper section 4.1.4, eq. 12).

    Hits without causes are included; otherwise hits with causes would get ranks that are too high.
    """
    allowed = partial(view.columns.allowed, mask=selected.mask)
    entry = Hits(seeds.ids[:SEMANTIC_SEEDS], seeds.scores[:SEMANTIC_SEEDS])
    hits = spread(
        Causes(view.graph), entry, muted=view.hubs, allowed=allowed, budget=limit, similarity=relevance
    )
    return _by_relevance(hits, relevance, limit)


def speaker_turns(
    view: BankView, selected: Selection, speaker: frozenset[str], relevance: Relevance, *, limit: int
) -> Hits:
    """Return the turns of the speaker whom a question names, most relevant first.

    Speakers are hubs and transmit no activation, because many units mention them. But the turns of a named
    speaker count as one hop from the question. `speaker` contains the person's normalised names.
    """
    columns = view.columns
    theirs = [normalise_name(name) in speaker for name in columns.speaker_names]
    ids = columns.ids[np.array(theirs, bool)[columns.speakers] & selected.mask]
    return _one_hop(ids, relevance, limit)


def _one_hop(ids: IntArray, relevance: Relevance, limit: int) -> Hits:
    """Rank units one hop from a named entity, most relevant first."""
    return _by_relevance(Hits(ids, np.full(len(ids), entity_gain(), np.float32)), relevance, limit)


def _by_relevance(activated: Hits, relevance: Relevance, limit: int) -> Hits:
    return ranked(activated.ids, activated.scores * np.maximum(relevance(activated.ids), 0.0), limit)


def _joined(first: Hits, second: Hits, *, limit: int) -> Hits:
    """Merge two lists of one channel, each unit with its higher score."""
    ids = np.union1d(first.ids, second.ids)
    scores = np.zeros(len(ids), np.float32)
    for hits in (first, second):
        np.maximum.at(scores, np.searchsorted(ids, hits.ids), hits.scores)
    return ranked(ids, scores, limit)
