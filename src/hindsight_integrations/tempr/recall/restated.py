"""Of two near-identical statements of one speaker the newer ranks first ("My favourite is jazz." / "My current favourite is techno.").

A question is as near to the old as to the new one, and without a model nothing ends the old one. Only messages kept word for word
are compared; of facts that a model extracted, the new one ended the old one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hindsight_integrations.model.time import SECOND
from hindsight_integrations.ports.arrays import IntArray
from hindsight_integrations.tempr.recall.context import RecallContext
from hindsight_integrations.tempr.recall.rerank import Ranking

COMPARED = 20  # of the ranking, the best: what a short prompt shows (no source)
ALIKE = 0.6  # share of words; pairs that restate a value share 0.6 to 0.8 of them (no source)

_WORD = re.compile(r"\w+")


def newer_first(run: RecallContext, ranking: Ranking) -> Ranking:
    """The ranking in which the newer of two near-identical statements takes the better place; scores stay with the places."""
    if run.window is not None:
        return ranking  # the time asked about tells the statements apart
    columns = run.view.columns
    at = columns.positions(ranking.ids[:COMPARED])
    places = np.flatnonzero((at >= 0) & (columns.speakers[at] > 0))
    if len(places) < 2:
        return ranking
    rows = ranking.ids[places]
    stored = run.view.ledger.units(run.view.bank, rows)
    words = [
        frozenset(_WORD.findall(unit.text.casefold())) if (unit := stored.get(row)) else frozenset()
        for row in rows.tolist()
    ]
    order = np.arange(len(ranking.ids))
    asked = frozenset(_WORD.findall(run.query.text.casefold()))
    order[places] = places[newest_first(words, columns.mentioned[at[places]] // SECOND, asked)]
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
        group = np.array(
            [
                later
                for later in range(place, len(words))
                if not grouped[later] and alike(own, words[later], asked)
            ],
            np.int64,
        )
        grouped[group] = True
        order[group] = group[np.argsort(-mentioned[group], kind="stable")]
    return order


def alike(one: frozenset[str], other: frozenset[str], asked: frozenset[str]) -> bool:
    """|one & other| / max(|one|, |other|) >= 0.6, and no word of the question tells them apart; a statement is like itself.

    "Bought a kayak." and "Bought a tent." are not alike for a question about the kayak.
    """
    shared = len(one & other) >= ALIKE * max(len(one), len(other), 1)
    return one is other or (shared and not (one ^ other) & asked)
