"""Number memories for a prompt, resolve the citations of an answer, and find the facts a text is based on."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from hindsight_integrations.language.language import Language, language_of
from hindsight_integrations.language.names import NameSpotter
from hindsight_integrations.language.stems import content_stems, numbers
from hindsight_integrations.ledger.ledger import LedgerReader
from hindsight_integrations.model.mental_models import MentalModel
from hindsight_integrations.model.recalled import RecalledUnit
from hindsight_integrations.model.reflections import Citation, MemoryTiers
from hindsight_integrations.model.turns import SourceTurn
from hindsight_integrations.prompts.memories import believed, citable, modelled
from hindsight_integrations.reflect.context import ReflectContext

# Maximum number of shown texts that contain a rare word, which identifies its source.
RARE = 2

_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Ground:
    """A text shown to the model, and the memories that it represents.

    Attributes:
        text: the shown text.
        unit_ids: ids of the memories; for an observation, those of the facts it was made from. Empty for other texts,
            such as the question.
    """

    text: str
    unit_ids: tuple[str, ...] = ()


def completed_grounds(
    text: str, cited: Sequence[Ground], shown: Sequence[Ground], languages: Sequence[Language]
) -> tuple[str, ...]:
    """Return ids of the memories a text is based on: those it cites, and those it used without citing them.

    A memory counts as used if it shares with the text a name, a number or a rare word that no cited memory
    has.

    Args:
        text: the text that the model wrote.
        cited: memories the text cites, and texts that are not memories, such as the question.
        shown: all memories and texts in the prompt.
        languages: the languages the texts may be in.
    """
    terms = [_terms(ground.text, languages) for ground in shown]
    frequency = Counter(term for group in terms for term in group)
    new_terms = _terms(text, languages) - _union(_terms(ground.text, languages) for ground in cited)
    names = _name_words(text, languages)
    identifying = {term for term in new_terms if frequency[term] <= RARE or term in names or term.isdigit()}
    drawn = [ground for ground, group in zip(shown, terms, strict=True) if group & identifying]
    return tuple(dict.fromkeys(each for ground in (*cited, *drawn) for each in ground.unit_ids))


def _terms(text: str, languages: Sequence[Language]) -> frozenset[str]:
    """Return the stems of content words in a text, and its numbers."""
    language = language_of(text, languages)
    return content_stems(text, language) | numbers(text, language)


def _name_words(text: str, languages: Sequence[Language]) -> frozenset[str]:
    language = language_of(text, languages)
    spotter = NameSpotter([text], people=(), aliases=(), languages=languages)
    words = (word for name in spotter.names_in(text) for word in _WORD.findall(name.text.casefold()))
    return frozenset(language.stem(word) for word in words)


def _union(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset[str]().union(*sets)


_MARKS = re.compile(r"[\[\]()#\s]+|^(?:memory|fact|observation)\b", re.IGNORECASE)
_SEVERAL = re.compile(r"[,;]")


@dataclass(frozen=True, slots=True)
class CitationIndex:
    """The memories shown to the model, by number.

    Attributes:
        memories: facts and observations: "1", "2", ...
        models: mental models: "M1", "M2", ...
        beliefs: opinions of the agent: "B1", "B2", ...
        turns: turns without a valid memory; they share the number series of `memories`.
        quoted: shown texts of turns and passages, each with the ids of the memories that were made from it.
    """

    memories: dict[str, RecalledUnit]
    models: dict[str, MentalModel]
    beliefs: dict[str, RecalledUnit]
    turns: dict[str, SourceTurn] = field(default_factory=dict)
    quoted: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, tiers: MemoryTiers) -> CitationIndex:
        """Index the memories shown in a prompt with these tiers."""
        return cls(citable(tiers), modelled(tiers), believed(tiers))

    def copy(self) -> CitationIndex:
        """Return a copy that can be extended."""
        return CitationIndex(
            dict(self.memories), dict(self.models), dict(self.beliefs), dict(self.turns), dict(self.quoted)
        )


@dataclass(frozen=True, slots=True)
class References:
    """The memories cited by an answer or by one of its opinions.

    Attributes:
        units: the cited memories, without duplicates, in the order cited.
        models: the cited mental models, without duplicates, in the order cited.
        beliefs: references to beliefs, which are not evidence.
        unknown: references to numbers or ids that were not shown.
        turns: cited turns without a valid memory.
    """

    units: tuple[RecalledUnit, ...]
    models: tuple[MentalModel, ...]
    beliefs: tuple[str, ...]
    unknown: tuple[str, ...]
    turns: tuple[SourceTurn, ...] = ()

    @property
    def none(self) -> bool:
        """True if no memory, mental model or turn is cited."""
        return not (self.units or self.models or self.turns)


def references(marks: Iterable[str], shown: CitationIndex) -> References:
    """Resolve references such as "3", "[3]", "M1", or the full id of a memory or mental model."""
    by_id = {item.unit.id: item for item in shown.memories.values()}
    models_by_id = {model.id: model for model in shown.models.values()}
    belief_ids = {item.unit.id for item in shown.beliefs.values()}
    units: dict[str, RecalledUnit] = {}
    models: dict[str, MentalModel] = {}
    beliefs: list[str] = []
    unknown: list[str] = []
    turns: list[SourceTurn] = []
    for reference in _single(marks):
        number = reference.upper()
        if item := shown.memories.get(number) or by_id.get(reference):
            units.setdefault(item.unit.id, item)
        elif model := shown.models.get(number) or models_by_id.get(reference):
            models.setdefault(model.id, model)
        elif turn := shown.turns.get(number):
            turns.append(turn)
        elif number in shown.beliefs or reference in belief_ids:
            beliefs.append(reference)
        else:
            unknown.append(reference)
    return References(
        tuple(units.values()),
        tuple(models.values()),
        tuple(beliefs),
        tuple(unknown),
        tuple(dict.fromkeys(turns)),
    )


def reference_faults(cited: References, shown: CitationIndex) -> Iterator[str]:
    """Describe the faults of references for the model."""
    if cited.unknown:
        named = ", ".join(each[:40] for each in cited.unknown[:5])
        yield f"based_on names {named}, and there are {_range(shown)}"
    if cited.beliefs:
        yield f"based_on names {', '.join(cited.beliefs[:5])}: beliefs are no evidence, name the memories"


def _single(given: Iterable[str]) -> Iterator[str]:
    for reference in given:
        for part in _SEVERAL.split(reference):
            if plain := _MARKS.sub("", part.strip()):
                yield plain


def _range(shown: CitationIndex) -> str:
    parts = [f"{first} to {last}" for first, last in (_ends(shown.memories), _ends(shown.models)) if first]
    return "memories " + " and ".join(parts) if parts else "no memories"


def _ends(numbered: Mapping[str, object]) -> tuple[str, str]:
    numbers = list(numbered)
    return (numbers[0], numbers[-1]) if numbers else ("", "")


async def citations(cited: References, context: ReflectContext) -> tuple[Citation, ...]:
    """Return the citations of an answer: each memory with its turns, and each observation with the turns of its facts."""
    ids = [item.unit.id for item in cited.units]
    turns = await context.services.workers.read(
        source_turns, context.projector.ledger, context.projector.name, ids
    )
    units = (Citation(item, turns.get(item.unit.id, ())) for item in cited.units)
    models = (Citation(mental_model=model.id) for model in cited.models)
    return (*units, *(Citation(turns=(turn,)) for turn in cited.turns), *models)


def source_turns(
    ledger: LedgerReader, bank: str, unit_ids: Sequence[str]
) -> dict[str, tuple[SourceTurn, ...]]:
    """Return the turns each memory was made from, oldest first; omit memories without turns."""
    rows = ledger.units.row_ids(bank, unit_ids)
    grounds = ledger.observations.grounds_of(bank, np.array(sorted(rows.values()), np.int64))
    facts = ledger.units.row_ids(bank, [fact for made in grounds.values() for fact in made])
    turns = ledger.turns.of_units(bank, np.array(sorted({*rows.values(), *facts.values()}), np.int64))
    sources = {}
    for unit_id, row in rows.items():
        made_from = [facts[fact] for fact in grounds.get(row, ()) if fact in facts]
        said = {
            (turn.thread, turn.message_id): turn for each in (row, *made_from) for turn in turns.get(each, ())
        }
        if said:
            sources[unit_id] = tuple(sorted(said.values(), key=lambda turn: (turn.said_at, turn.message_id)))
    return sources
