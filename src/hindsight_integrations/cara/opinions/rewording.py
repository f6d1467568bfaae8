"""Another wording of an opinion, where evidence makes it more exact or contradicts it strongly (paper section 5.5). Pure."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from hindsight_integrations.cara.opinions.pairs import Pair, Verdict
from hindsight_integrations.cara.opinions.standing import Standing
from hindsight_integrations.cara.opinions.wording import fault, plain
from hindsight_integrations.model.opinions import Assessment, EvidenceStrength, RewordingWrite
from hindsight_integrations.model.text import normalised_text
from hindsight_integrations.model.time import next_instant
from hindsight_integrations.model.units import (
    NAMESPACE,
    FactType,
    MemoryUnit,
    ValidityEvent,
    ValidityKind,
)
from hindsight_integrations.text.language import Language, language_of
from hindsight_integrations.text.specifics import unknown_numbers

REWORDED = "reworded"


@dataclass(frozen=True, slots=True)
class Rewording:
    """A new wording of an opinion, and what it changes.

    Attributes:
        unit: the new wording, without its tokens.
        write: the rewording.
        closing: ends the wording before it.
        fact: id of the fact that made it.
    """

    unit: MemoryUnit
    write: RewordingWrite
    closing: ValidityEvent
    fact: str


def rewording_fault(text: str, pair: Pair, languages: Sequence[Language]) -> str:
    """What is wrong with a text as another wording of a pair's opinion; "" if nothing is.

    It must be an opinion like any other, and have no number that neither the old wording nor the fact has.
    """
    text = plain(text)
    if found := fault(text, languages):
        return found
    grounds = [pair.opinion.wording.text, pair.fact.unit.text]
    language = language_of(text, languages)
    unknown = unknown_numbers(text, grounds, language)
    return f"neither the opinion nor the fact says {', '.join(unknown)}" if unknown else ""


def may_reword(assessment: Assessment, strength: EvidenceStrength) -> bool:
    """Whether an assessment may change the wording: it makes the opinion more exact, or contradicts it strongly."""
    if assessment is Assessment.CONTRADICT:
        return strength is EvidenceStrength.STRONG
    return assessment is not Assessment.NEUTRAL


def rewording(opinion: Standing, verdicts: Sequence[Verdict], bank: str) -> Rewording | None:
    """The new wording of an opinion by the newest fact that calls for one; None if it stays.

    Args:
        opinion: as it stands.
        verdicts: of the facts that join its log in their own right, in order of mention; their rewordings are sound.
        bank: its bank.
    """
    worded = [
        each
        for each in verdicts
        if each.rewording and may_reword(each.assessed.assessment, each.assessed.strength)
    ]
    if not worded:
        return None
    text, fact = plain(worded[-1].rewording), worded[-1].assessed.fact
    if normalised_text(text) == normalised_text(opinion.wording.text):
        return None
    since = max(next_instant(opinion.wording.since), fact.unit.mentioned_at)
    unit = MemoryUnit(
        id=wording_id(opinion, text, bank),
        bank=bank,
        text=text,
        fact_type=FactType.OPINION,
        mentioned_at=since,
        confidence=opinion.log.confidence,
        tags=opinion.log.tags,
    )
    write = RewordingWrite(
        opinion_id=opinion.log.id,
        unit_id=unit.id,
        reason=" ".join(worded[-1].assessed.reason.split()),
        based_on=tuple(dict.fromkeys((*opinion.wording.based_on, *worded[-1].grounds))),
    )
    closing = ValidityEvent(opinion.wording.unit_id, ValidityKind.CLOSED, since, unit.id, REWORDED)
    return Rewording(unit, write, closing, fact.unit.id)


def wording_id(opinion: Standing, text: str, bank: str) -> str:
    """The id of a wording: the same text in the same place of the same opinion is the same row."""
    place = str(len(opinion.log.versions))
    return str(
        uuid.uuid5(NAMESPACE, "\x1e".join(("opinion", bank, opinion.log.id, place, normalised_text(text))))
    )
