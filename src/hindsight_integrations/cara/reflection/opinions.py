"""Opinions of an answer: which of those it puts forward can be kept, and on what they stand (paper section 5.4.2). Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hindsight_integrations.cara.grounds import Ground, completed_grounds
from hindsight_integrations.cara.opinions.put_forward import PutForward, opinion_faults, refused
from hindsight_integrations.cara.opinions.wording import plain
from hindsight_integrations.cara.reflection.citations import References, Shown, reference_faults, references
from hindsight_integrations.model.reflections import OpinionChange
from hindsight_integrations.model.requests import ReflectQuery
from hindsight_integrations.model.units import UnitKind
from hindsight_integrations.prompts.answered_opinions import AnsweredOpinion
from hindsight_integrations.text.language import Language

NO_GROUNDS = "it names no memory it stands on"
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
    ]
