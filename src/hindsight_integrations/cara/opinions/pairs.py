"""Pairs of an opinion and a fact that an assessor is asked of, in batches that one prompt holds. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from hindsight_integrations.cara.opinions.evidence import AssessedFact
from hindsight_integrations.cara.opinions.facts import Fact
from hindsight_integrations.cara.opinions.standing import Outstanding, Standing
from hindsight_integrations.prompts.assess_evidence import MOST_PAIRS

BATCH_TOKENS = 4_000  # of opinions and facts in one prompt, as of facts in that of observations
LINE_TOKENS = 40  # of a line in the prompt beside its text: number, dates, and its place among the pairs
MOST_EARLIER = 3  # earlier facts of the same source that are shown with a new one, the nearest

PairKey: TypeAlias = tuple[str, str, str, str]
"""Opinion id, unit id of its wording, fact id and text: what an assessment is of."""


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """A fact to be assessed as evidence of an opinion.

    Attributes:
        opinion: the opinion.
        fact: the fact.
        earlier: facts that the fact's source said before, weighed already or to be, and that are like it.
    """

    opinion: Standing
    fact: Fact
    earlier: tuple[Fact, ...] = ()

    @property
    def key(self) -> PairKey:
        """What an assessment of it is good for: another wording or text needs another one."""
        return pair_key(self.opinion, self.fact)


@dataclass(frozen=True, slots=True, eq=False)
class Verdict:
    """What an assessor said of a pair.

    Attributes:
        assessed: how the fact bears on the opinion.
        rewording: the opinion anew, as it was written; empty where it stays.
        grounds: ids of the facts the rewording takes something from, the assessed one first.
    """

    assessed: AssessedFact
    rewording: str = ""
    grounds: tuple[str, ...] = ()


def pair_key(opinion: Standing, fact: Fact) -> PairKey:
    """What an assessment of a fact for an opinion is of."""
    return opinion.log.id, opinion.wording.unit_id, fact.unit.id, fact.unit.text


def next_batch(found: Outstanding, tried: Collection[PairKey]) -> list[Pair]:
    """The next pairs to ask of, as many as one prompt holds; none if all were tried.

    Only opinions with the same tags come together, so that a reason has no word of what others may not see.
    """
    batch: list[Pair] = []
    seen: set[str] = set()
    left = BATCH_TOKENS
    for pair in _pairs(found, tried):
        if batch and (len(batch) == MOST_PAIRS or pair.opinion.log.tags != batch[0].opinion.log.tags):
            break
        shown = [pair.fact, *pair.earlier]
        cost = sum(LINE_TOKENS + one.unit.tokens for one in shown if one.unit.id not in seen)
        if pair.opinion.log.id not in seen:
            cost += LINE_TOKENS + len(pair.opinion.wording.text) // 3
        if batch and cost > left:
            break
        left -= cost
        seen |= {pair.opinion.log.id, *(one.unit.id for one in shown)}
        batch.append(pair)
    return batch


def _pairs(found: Outstanding, tried: Collection[PairKey]) -> Iterator[Pair]:
    """The pairs not yet tried: by the tags of their opinions, then by opinion, then in order of mention."""
    for opinion in sorted(found.opinions, key=lambda each: each.log.tags):
        for fact in opinion.asked:
            if pair_key(opinion, fact) not in tried:
                yield Pair(opinion, fact, _earlier(opinion, fact))


def _earlier(opinion: Standing, fact: Fact) -> tuple[Fact, ...]:
    """What the fact's sources said before, weighed already or to be, the nearest first."""
    before = opinion.asked[: opinion.asked.index(fact)]
    same = (
        one for one in (*opinion.known.values(), *before) if not set(fact.sources).isdisjoint(one.sources)
    )
    near = sorted(same, key=lambda one: (-round(float(fact.vector @ one.vector), 6), one.unit.id))
    return tuple(near[:MOST_EARLIER])
