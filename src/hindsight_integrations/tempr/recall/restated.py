"""The order of messages kept word for word that say the same thing, of which a model would have ended one.

Of two near-identical statements of one speaker the newer ranks first ("My favourite is jazz." / "My current favourite is techno."): a
question is as near to the old as to the new one. And what the user says of themselves goes before what the agent says of it ("You live
in Vienna"), which may be its mistake.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hindsight_integrations.model.time import SECOND
from hindsight_integrations.model.units import FactType
from hindsight_integrations.ports.arrays import IntArray
from hindsight_integrations.tempr.recall.context import RecallContext
from hindsight_integrations.tempr.recall.rerank import Ranking
from hindsight_integrations.text.language import Person, language_of
from hindsight_integrations.text.person import persons
from hindsight_integrations.text.stems import content_stems

COMPARED = 20  # of the ranking, the best: what a short prompt shows (no source)
ALIKE = 0.6  # share of words; pairs that restate a value share 0.6 to 0.8 of them (no source)

_WORD = re.compile(r"\w+")


def in_better_order(run: RecallContext, ranking: Ranking) -> Ranking:
    """The ranking with the messages among its best in the order of this module; scores stay with the places."""
    if run.window is not None:
        return ranking  # the time asked about tells the statements apart
    columns = run.view.columns
    at = columns.positions(ranking.ids[:COMPARED])
    places = np.flatnonzero((at >= 0) & (columns.speakers[at] > 0))
    if len(places) < 2:
        return ranking
    stored = run.units(ranking.ids[places])
    units = [stored.get(row) for row in ranking.ids[places].tolist()]
    texts = [unit.text if unit else "" for unit in units]
    question = run.query.text
    own = newest_first(
        [_words(text) for text in texts], columns.mentioned[at[places]] // SECOND, _words(question)
    )
    language = language_of(question, run.tools.languages)
    spoken = persons(question, language)
    if Person.FIRST in spoken and Person.SECOND not in spoken:
        asked = content_stems(question, language)
        shared = [content_stems(texts[place], language) & asked for place in own.tolist()]
        of_agent = [
            unit is not None and unit.fact_type is FactType.EXPERIENCE
            for unit in (units[place] for place in own.tolist())
        ]
        own = own[user_first(shared, of_agent)]
    order = np.arange(len(ranking.ids))
    order[places] = places[own]
    return replace(ranking.at(order), scores=ranking.scores)


def newest_first(
    words: Sequence[frozenset[str]], mentioned: IntArray, asked: frozenset[str] = frozenset()
) -> IntArray:
    """The order in which statements that are alike stand newest first, on the places that they had together.

    Args:
        words: of each statement, best first, n; a message begins with its speaker's name.
        mentioned: when each was said, whole seconds, (n,): messages of one conversation may differ by less.
        asked: words of the question.

    Returns:
        Positions, (n,).
    """
    order = np.arange(len(mentioned))
    grouped = np.zeros(len(mentioned), bool)
    for place, own in enumerate(words):
        if grouped[place]:
            continue
        later = range(place + 1, len(words))
        restated = [each for each in later if not grouped[each] and alike(own, words[each], asked)]
        group = np.array([place, *restated], np.int64)
        grouped[group] = True
        order[group] = group[np.argsort(-mentioned[group], kind="stable")]
    return order


def alike(one: frozenset[str], other: frozenset[str], asked: frozenset[str]) -> bool:
    """|one & other| / max(|one|, |other|) >= 0.6, and no word of the question tells them apart.

    "Bought a kayak." and "Bought a tent." are not alike for a question about the kayak.
    """
    return len(one & other) >= ALIKE * max(len(one), len(other), 1) and not (one ^ other) & asked


def user_first(shared: Sequence[frozenset[str]], of_agent: Sequence[bool]) -> IntArray:
    """The order in which no message of the agent stands before one of a person that has all words of the question that it has.

    Args:
        shared: the question's words that each message has, best first, n.
        of_agent: whether it is the agent's, n.

    Returns:
        Positions, (n,).
    """
    order: list[int] = []
    for place in range(len(shared)):
        if of_agent[place] and shared[place]:
            ahead = [
                later
                for later in range(place + 1, len(shared))
                if not of_agent[later] and shared[place] <= shared[later]
            ]
            order += [later for later in ahead if later not in order]
        if place not in order:
            order.append(place)
    return np.array(order, np.int64)


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))
