"""The graph channel: what links, entities and a named speaker connect to the question (paper section 4.2.2, eq. 12).

`walk_of` is the gate: it says how far the question lets the channel go.
"""

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
    """How far a question lets the graph channel go."""

    NONE = "none"
    CAUSES = "causes"
    ALL = "all"


def walk_of(text: str, named: IntArray, hubs: IntArray, languages: Sequence[Language]) -> Walk:
    """What the question gives the graph to walk from.

    A named entity that is not everywhere, or a chain of possessives: all links. A question for a cause: causal links.
    Without one, spreading from whatever was similar costs recall (measured).

    Args:
        text: the question.
        named: row ids of the entities it names.
        hubs: row ids of entities that transmit nothing.
        languages: the question may be in.
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
    """Units connected to the question, as far as it lets the channel walk, and the turns of the speaker it names.

    Args:
        view: the bank.
        selected: which units may be found.
        walk: how far to go, see `walk_of`.
        named: the entities the question names.
        steps: of a chain of possessives in the question; 0 for none.
        seeds: the semantic hits, of which the first 20 are entry points.
        relevance: cosine with the question.
        limit: at most so many.
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
    """Units connected to the best semantic hits and to the entities the question names (paper eq. 12).

    Activation says how strongly a unit is connected, not what to: all units of a named entity are activated alike. The
    channel's score is therefore activation times cosine.

    A chain of possessives (`steps` > 0) is walked from the entities named alone, and each distance is ranked apart: what
    stands at its end is in other words than the question. Arguments are those of `graph_channel`, `named` the rows of its.
    """
    allowed = partial(
        view.columns.allowed, mask=selected.mask
    )  # the graph may hold units newer than the view
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
    """The best semantic hits and what causes or follows from them, over causal links alone (paper section 4.1.4, eq. 12).

    The hits without a cause stay in the list: a list of the others alone would put each of them at a high rank.
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
    """The turns of the speaker a question names, most relevant first: it asks for what that person said.

    Speakers are hubs and transmit nothing: everything mentions them. Having spoken is a narrower tie than being
    mentioned, so a named speaker's own turns are one hop from the question.

    `speaker` holds the normalised names the person answers to.
    """
    columns = view.columns
    theirs = [normalise_name(name) in speaker for name in columns.speaker_names]
    ids = columns.ids[np.array(theirs, bool)[columns.speakers] & selected.mask]
    return _one_hop(ids, relevance, limit)


def _one_hop(ids: IntArray, relevance: Relevance, limit: int) -> Hits:
    """Units one hop from an entity the question names, most relevant first."""
    return _by_relevance(Hits(ids, np.full(len(ids), entity_gain(), np.float32)), relevance, limit)


def _by_relevance(activated: Hits, relevance: Relevance, limit: int) -> Hits:
    """Activated units by activation times cosine."""
    return ranked(activated.ids, activated.scores * np.maximum(relevance(activated.ids), 0.0), limit)


def _joined(first: Hits, second: Hits, *, limit: int) -> Hits:
    """Two lists of one channel as one, each unit with its higher score."""
    ids = np.union1d(first.ids, second.ids)
    scores = np.zeros(len(ids), np.float32)
    for hits in (first, second):
        np.maximum.at(scores, np.searchsorted(ids, hits.ids), hits.scores)
    return ranked(ids, scores, limit)
