"""Opinions of an answer: which of those it puts forward can be kept, and on what they stand (paper section 5.4.2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from hindsight_integrations.cara.citations import (
    Ground,
    References,
    Shown,
    completed_grounds,
    reference_faults,
    references,
)
from hindsight_integrations.cara.opinions.forming import Formed, form_opinions
from hindsight_integrations.cara.opinions.put_forward import PutForward, opinion_faults, plain, refused
from hindsight_integrations.cara.opinions.situation import Occasion
from hindsight_integrations.cara.tools import ReflectTools
from hindsight_integrations.model.reflections import OpinionChange, Reflection
from hindsight_integrations.model.requests import ReflectQuery
from hindsight_integrations.model.units import UnitKind
from hindsight_integrations.prompts.answered_opinions import MOST_OPINIONS, AnsweredOpinion
from hindsight_integrations.text.language import Language

NO_GROUNDS = "it names no memory it stands on"
TOO_MANY = f"an answer puts forward {MOST_OPINIONS} opinions at most"
ONLY_SAID = "it has something from words of which no memory holds"
UNREMEMBERED = ""  # stands for the memory of a turn that has none
NOT_EXTRACTED = "it stands on a message whose facts are not there yet"


def opinion_problems(
    opinion: AnsweredOpinion, shown: Shown, query: ReflectQuery, languages: Sequence[Language]
) -> Iterator[str]:
    """What is wrong with an opinion, in words for the model; nothing if nothing is."""
    found = references(opinion.based_on, shown)
    yield from reference_faults(found, shown)
    if found.none and not found.unknown:
        yield NO_GROUNDS
    yield from opinion_faults(opinion, _told(found, query), languages)


def put_forward(
    opinion: AnsweredOpinion, shown: Shown, query: ReflectQuery, languages: Sequence[Language]
) -> PutForward | OpinionChange:
    """The opinion as it would be kept, standing on what exists of what it names; else why it is refused."""
    found = references(opinion.based_on, shown)
    if found.none:
        return refused(opinion, NO_GROUNDS)
    if fault := next(opinion_faults(opinion, _told(found, query), languages), ""):
        return refused(opinion, fault)
    text = plain(opinion.opinion)
    cited = _grounds(found)
    asked = Ground(f"{query.recall.text} {query.context}")
    grounds = completed_grounds(text, [*cited, asked], _all_grounds(shown), languages)
    waiting = {item.unit.id for item in shown.memories.values() if item.unit.kind is not UnitKind.MEMORY}
    if not waiting.isdisjoint(grounds):
        return refused(opinion, NOT_EXTRACTED)
    if UNREMEMBERED in grounds:
        return refused(opinion, ONLY_SAID)
    return PutForward(
        text=text,
        confidence=opinion.confidence or 0.0,
        reasoning=plain(opinion.reasoning),
        grounds=grounds,
        cited=tuple(dict.fromkeys(each for ground in cited for each in ground.unit_ids)),
        entities=tuple(filter(None, map(plain, opinion.entities))),
    )


def _told(found: References, query: ReflectQuery) -> list[str]:
    texts = (ground.text for ground in _grounds(found))
    return [*texts, query.recall.text, *filter(None, [query.context])]


def _grounds(found: References) -> list[Ground]:
    return [
        *(Ground(item.text, (item.unit.id,)) for item in found.units),
        *(Ground(model.text, model.based_on) for model in found.models),
    ]


def _all_grounds(shown: Shown) -> list[Ground]:
    """All that an opinion may have something from; what it has from a belief stands on that one's grounds."""
    return [
        *(Ground(item.text, (item.unit.id,)) for item in shown.memories.values()),
        *(Ground(model.text, model.based_on) for model in shown.models.values()),
        *(Ground(item.text, (item.unit.id,)) for item in shown.beliefs.values()),
        *(Ground(text, ids or (UNREMEMBERED,)) for text, ids in shown.quoted.items()),
    ]


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer whose opinions are not formed yet.

    Attributes:
        reflection: the answer.
        opinions: those it puts forward, in order: each as it may be kept, or why it is refused.
    """

    reflection: Reflection
    opinions: tuple[PutForward | OpinionChange, ...] = ()

    @property
    def sound(self) -> list[PutForward]:
        """The opinions that may be kept."""
        return [each for each in self.opinions if isinstance(each, PutForward)]


def read_opinions(
    given: Sequence[AnsweredOpinion], shown: Shown, query: ReflectQuery, tools: ReflectTools
) -> tuple[PutForward | OpinionChange, ...]:
    """The opinions of an answer, each as it may be kept, or why it is refused; none where none may be formed.

    Args:
        given: as the model wrote them; those beyond the first five are refused.
        shown: what it was shown.
        query: the question.
        tools: of the reflection.
    """
    if not query.form_opinions or tools.opinions is None:
        return ()
    read = [put_forward(each, shown, query, tools.languages) for each in given[:MOST_OPINIONS]]
    return (*read, *(refused(each, TOO_MANY) for each in given[MOST_OPINIONS:]))


def occasion_of(query: ReflectQuery, revision: int) -> Occasion:
    """A reflection as far as its opinions are concerned.

    Args:
        query: the question.
        revision: of the bank, before anything was recalled.
    """
    return Occasion(query.recall.text, query.recall.query_timestamp, query.operation, revision)


async def formed_with(
    answered: Answered, query: ReflectQuery, tools: ReflectTools, *, revision: int
) -> Reflection:
    """The reflection with what became of the opinions its answer puts forward.

    Args:
        answered: the answer.
        query: the question.
        tools: of the reflection.
        revision: of the bank, before anything was recalled.
    """
    reflection, sound = answered.reflection, answered.sound
    if not query.form_opinions or tools.opinions is None:
        return reflection
    formed = Formed(())
    if sound or query.operation:
        formed = await form_opinions(sound, occasion_of(query, revision), tools.opinions)
    became = iter(formed.changes)
    changes = formed.changes
    if not formed.repeated:
        changes = tuple(next(became) if isinstance(each, PutForward) else each for each in answered.opinions)
    return replace(
        reflection,
        opinions=changes,
        calls=reflection.calls + formed.calls,
        tokens_in=reflection.tokens_in + formed.tokens_in,
        tokens_out=reflection.tokens_out + formed.tokens_out,
    )
