"""Opinions that an answer puts forward: what is wrong with one, and which can be kept (paper section A.2). Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hindsight_integrations.cara.opinions.wording import fault, plain
from hindsight_integrations.model.reflections import OpinionChange, OpinionOutcome
from hindsight_integrations.prompts.answered_opinions import AnsweredOpinion
from hindsight_integrations.text.language import Language, language_of
from hindsight_integrations.text.stems import content_stems


@dataclass(frozen=True, slots=True)
class PutForward:
    """An opinion that may become one of the bank's.

    Attributes:
        text: as it would be kept.
        confidence: in [0, 1].
        reasoning: why it is held.
        grounds: ids of the memories it stands on, those included that it took something from without citing them.
        cited: ids of those that it cites, which are the ones that count as evidence of a belief held already.
        entities: names of whom and what it is about.
    """

    text: str
    confidence: float
    reasoning: str
    grounds: tuple[str, ...]
    cited: tuple[str, ...]
    entities: tuple[str, ...]


def opinion_faults(
    opinion: AnsweredOpinion, told: Sequence[str], languages: Sequence[Language]
) -> Iterator[str]:
    """What keeps an opinion from being kept, in words for the model; nothing if nothing does.

    Args:
        opinion: as the model wrote it.
        told: the texts of the memories it names, and the question; only the question, where it names none that exist.
        languages: it may be in.
    """
    text = plain(opinion.opinion)
    if found := fault(text, languages):
        yield found
    confidence = opinion.confidence
    if confidence is None:
        yield "it has no confidence; give a number from 0 to 1"
    elif not 0.0 <= confidence <= 1.0:
        yield f"its confidence is {confidence:g}; give a number from 0 to 1"
    if not plain(opinion.reasoning):
        yield "its reasoning is empty"
    if text and not _about(text, told, languages):
        yield "it is about nothing that its memories or the question speak of"


def refused(opinion: AnsweredOpinion, reason: str) -> OpinionChange:
    """What became of an opinion that is not kept."""
    return OpinionChange(OpinionOutcome.REFUSED, plain(opinion.opinion), opinion.confidence, reason=reason)


def _about(text: str, told: Sequence[str], languages: Sequence[Language]) -> bool:
    language = language_of(text, languages)
    said = content_stems(text, language)
    return any(said & content_stems(each, language_of(each, languages)) for each in told)
