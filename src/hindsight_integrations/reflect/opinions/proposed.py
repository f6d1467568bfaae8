"""Validate the opinions proposed by an answer and find the memories they are based on (paper sections 5.4.2 and A.2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hindsight_integrations.language.language import Language, Person, language_of, written_in
from hindsight_integrations.language.person import persons, unquoted
from hindsight_integrations.language.stems import content_stems
from hindsight_integrations.model.reflections import OpinionChange, OpinionOutcome
from hindsight_integrations.model.requests import ReflectQuery
from hindsight_integrations.model.text import clean_text
from hindsight_integrations.model.units import UnitKind
from hindsight_integrations.prompts.answered_opinions import MOST_OPINIONS, AnsweredOpinion
from hindsight_integrations.reflect.citations import (
    CitationIndex,
    Ground,
    References,
    completed_grounds,
    reference_faults,
    references,
)
from hindsight_integrations.reflect.context import ReflectContext

LONGEST_OPINION = 500  # maximum number of characters; the prompts ask for 300
FEWEST_WORDS = 4  # minimum number of words; a shorter statement cannot include a reason


def fault(text: str, languages: Sequence[Language]) -> str:
    """Return the reason why a text cannot be stored as an opinion; empty if it can.

    The quality of the reasoning is not checked. The first person is not required in languages
    without a list of personal pronouns.
    """
    return next(filter(None, _faults(plain(text), languages)), "")


def plain(text: str) -> str:
    """Return an opinion on one line, without characters that cannot be stored and without quotes around the whole text."""
    found = " ".join(clean_text(text).split())
    return found[1:-1].strip() if len(found) > 1 and found[0] + found[-1] in _AROUND else found


_AROUND = frozenset(['""', "\u201c\u201d", "\u201e\u201c", "\u00ab\u00bb"])


def _faults(text: str, languages: Sequence[Language]) -> Iterator[str]:
    yield "" if text else "it says nothing"
    if len(text) > LONGEST_OPINION:
        yield f"it has {len(text)} characters, and at most {LONGEST_OPINION} are allowed"
    yield "it is a question" if text.rstrip("\"'\u201d\u201c\u00bb ").endswith("?") else ""
    yield "it is too short to say why" if len(text.split()) < FEWEST_WORDS else ""
    yield "it only quotes somebody" if not any(map(str.isalpha, unquoted(text))) else ""
    language = written_in(text, languages)
    if language is not None and Person.FIRST not in persons(text, language):
        yield "it does not say in the first person that you think so (I think ...)"


@dataclass(frozen=True, slots=True)
class ProposedOpinion:
    """An opinion that may be stored in the bank.

    Attributes:
        text: the text to store.
        confidence: the confidence in it, in [0, 1].
        reasoning: the reason for it.
        grounds: ids of the memories it is based on, including those it used without citing.
        cited: ids of the memories it cites; only these count as evidence for an opinion already held.
        entities: names of the entities it is about.
    """

    text: str
    confidence: float
    reasoning: str
    grounds: tuple[str, ...]
    cited: tuple[str, ...]
    entities: tuple[str, ...]


def opinion_faults(
    opinion: AnsweredOpinion, sources: Sequence[str], languages: Sequence[Language]
) -> Iterator[str]:
    """Yield the reasons why an opinion cannot be stored, for the model; none if it can.

    `sources` are the texts of the memories it cites, and the question.
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
    if text and not _about(text, sources, languages):
        yield "it has no content word in common with the memories it cites or the question"


def refused(opinion: AnsweredOpinion, reason: str) -> OpinionChange:
    """Return the outcome of a refused opinion."""
    return OpinionChange(OpinionOutcome.REFUSED, plain(opinion.opinion), opinion.confidence, reason=reason)


def _about(text: str, sources: Sequence[str], languages: Sequence[Language]) -> bool:
    language = language_of(text, languages)
    stems = content_stems(text, language)
    return any(stems & content_stems(each, language_of(each, languages)) for each in sources)


NO_GROUNDS = "it cites no memories"
TOO_MANY = f"an answer may propose at most {MOST_OPINIONS} opinions"
ONLY_SAID = "it uses a message without a valid memory"
UNREMEMBERED = ""  # stands for a text without a valid memory
NOT_EXTRACTED = "it is based on a message whose facts have not been extracted yet"


def opinion_problems(
    opinion: AnsweredOpinion, shown: CitationIndex, query: ReflectQuery, languages: Sequence[Language]
) -> Iterator[str]:
    """Yield the faults of an opinion, for the model; none if it has none."""
    cited = references(opinion.based_on, shown)
    yield from reference_faults(cited, shown)
    if cited.none and not cited.unknown:
        yield NO_GROUNDS
    yield from opinion_faults(opinion, _source_texts(cited, query), languages)


def read_opinion(
    opinion: AnsweredOpinion, shown: CitationIndex, query: ReflectQuery, languages: Sequence[Language]
) -> ProposedOpinion | OpinionChange:
    """Return the opinion to store, based on its valid citations, or a refused outcome."""
    found = references(opinion.based_on, shown)
    if found.none:
        return refused(opinion, NO_GROUNDS)
    if fault := next(opinion_faults(opinion, _source_texts(found, query), languages), ""):
        return refused(opinion, fault)
    text = plain(opinion.opinion)
    cited = _grounds(found)
    question = Ground(f"{query.recall.text} {query.context}")
    grounds = completed_grounds(text, [*cited, question], _all_grounds(shown), languages)
    pending_ids = {item.unit.id for item in shown.memories.values() if item.unit.kind is not UnitKind.MEMORY}
    if not pending_ids.isdisjoint(grounds):
        return refused(opinion, NOT_EXTRACTED)
    if UNREMEMBERED in grounds:
        return refused(opinion, ONLY_SAID)
    return ProposedOpinion(
        text=text,
        confidence=opinion.confidence or 0.0,
        reasoning=plain(opinion.reasoning),
        grounds=grounds,
        cited=tuple(dict.fromkeys(each for ground in cited for each in ground.unit_ids)),
        entities=tuple(filter(None, map(plain, opinion.entities))),
    )


def _source_texts(cited: References, query: ReflectQuery) -> list[str]:
    texts = (ground.text for ground in _grounds(cited))
    return [*texts, query.recall.text, *filter(None, [query.context])]


def _grounds(cited: References) -> list[Ground]:
    return [
        *(Ground(item.text, (item.unit.id,)) for item in cited.units),
        *(Ground(model.text, model.based_on) for model in cited.models),
    ]


def _all_grounds(shown: CitationIndex) -> list[Ground]:
    """Return all texts that an opinion may be based on: memories, mental models, beliefs and quoted texts."""
    return [
        *(Ground(item.text, (item.unit.id,)) for item in shown.memories.values()),
        *(Ground(model.text, model.based_on) for model in shown.models.values()),
        *(Ground(item.text, (item.unit.id,)) for item in shown.beliefs.values()),
        *(Ground(text, ids or (UNREMEMBERED,)) for text, ids in shown.quoted.items()),
    ]


def read_opinions(
    answered: Sequence[AnsweredOpinion], shown: CitationIndex, query: ReflectQuery, context: ReflectContext
) -> tuple[ProposedOpinion | OpinionChange, ...]:
    """Return each opinion in an answer, ready to store or marked as refused; empty if opinions are off.

    Opinions beyond the first five are refused.
    """
    if not query.form_opinions or context.services.model is None:
        return ()
    read = [read_opinion(each, shown, query, context.services.languages) for each in answered[:MOST_OPINIONS]]
    return (*read, *(refused(each, TOO_MANY) for each in answered[MOST_OPINIONS:]))
