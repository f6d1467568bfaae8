"""Whether a statement of withdrawal can be about a unit at all: people, names, numbers, and what is said (decision 115). Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from hindsight_integrations.model.identifiers import in_one_spelling
from hindsight_integrations.model.records import RecordKind
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.tempr.retain.retraction.similarity import Candidate, Statement, unit_words
from hindsight_integrations.text.designations import Naming, designations, naming
from hindsight_integrations.text.language import Frame, Language
from hindsight_integrations.text.part_whole import account
from hindsight_integrations.text.statement_frames import Reading, clauses, read, sentences
from hindsight_integrations.text.stems import content_stems, numbers

HALF = 0.5  # of what the nearest clause shares with a statement: a clause that shares as much may be the one it means

_YEAR = re.compile(r"(?<![\w.-])(?:19|20)\d\d(?![\w-])")
_TASTES = frozenset({Frame.LIKED, Frame.DISLIKED})


@dataclass(frozen=True, slots=True)
class Agreement:
    """How a unit agrees with a statement.

    Attributes:
        frames: what the unit says of the statement's content, in whatever words.
        naming: how it names what the statement names: by another or a longer name, if it does so for one of the things.
    """

    frames: frozenset[Frame]
    naming: Naming


def agreement(statement: Statement, reading: Reading, candidate: Candidate) -> Agreement | None:
    """How the unit agrees with the statement; None if it cannot be what is meant.

    Args:
        statement: what is taken back.
        reading: of it.
        candidate: a unit it may mean.
    """
    unit, language = candidate.unit, statement.language
    if not is_about(statement, candidate) or _of_somebody_else(reading, candidate, language):
        return None
    told = _nearest(sentences(unit.text, language), reading)
    said = frozenset(frame for each in told for frame in each.frames)
    if _opposite(reading, said) or _negates(reading, said, unit, language):
        return None
    if reading.frames and unit.records and all(isinstance(r.value, Decimal) for r in unit.records):
        return None
    named = _naming(statement, unit)
    return Agreement(said | _kept(unit, said), named) if named != Naming.OTHERWISE else None


def is_about(statement: Statement, candidate: Candidate) -> bool:
    """Whether people, things and numbers of the statement agree with the unit.

    A statement that names somebody is about that person's memories; a unit about named things must share one with the
    statement or with the unit that makes it; two units with other numbers throughout are different items.
    """
    language = statement.language
    words = content_stems(statement.text, language)
    people = {name for name in statement.people if content_stems(name, language) <= words}
    if people and candidate.people and not people & candidate.people:
        return False
    if candidate.names and not (
        candidate.names & statement.names or any(_named(n, words, language) for n in candidate.names)
    ):
        return False
    told = frozenset(_YEAR.findall(statement.text)), frozenset(_YEAR.findall(account(candidate.unit.text)))
    if all(told) and not told[0] & told[1]:
        return False
    given, own = numbers(statement.text, language), numbers(unit_words(candidate.unit, language), language)
    return not given or not numbers(in_one_spelling(candidate.unit.text), language) or bool(given & own)


def _named(name: str, statement: frozenset[str], language: Language) -> bool:
    """Whether half of a name's words or more are in the statement."""
    words = content_stems(name, language)
    return bool(words) and 2 * len(words & statement) >= len(words)


def _nearest(told: Sequence[Reading], reading: Reading, share: float = 1.0) -> list[Reading]:
    """The readings with the most of the statement's content, or that share of it; none if no reading has any."""
    shared = [len(each.content & reading.content) for each in told]
    most = max(shared, default=0)
    return [each for each, count in zip(told, shared, strict=True) if most and count >= share * most]


def _kept(unit: MemoryUnit, said: frozenset[Frame]) -> frozenset[Frame]:
    """What a unit's records say of their items; which taste a preference is, only the text tells."""
    kinds = {record.kind for record in unit.records}
    task = {Frame.TO_DO} if RecordKind.TASK in kinds else set()
    tastes = _TASTES if RecordKind.PREFERENCE in kinds and not said & _TASTES else frozenset()
    return tastes | task


def _opposite(reading: Reading, said: frozenset[Frame]) -> bool:
    """Whether one is a liking and the other a dislike."""
    stated, tastes = reading.frames & _TASTES, said & _TASTES
    return bool(stated and tastes) and not stated & tastes


def _negates(reading: Reading, said: frozenset[Frame], unit: MemoryUnit, language: Language) -> bool:
    """Whether only one of the two says that it is not so; "does not like" is a taste and no negation."""
    if (said | reading.frames) & _TASTES:
        return False
    told = _nearest([read(clause, language) for clause in clauses(unit.text, language)], reading, HALF)
    return bool(told) and all(each.negated != reading.negated for each in told)


def _of_somebody_else(reading: Reading, candidate: Candidate, language: Language) -> bool:
    """Whether one of the two is about a person around the user whom the other does not name."""
    unit = candidate.unit
    words = content_stems(
        " ".join((unit_words(unit, language), *candidate.names, *candidate.people)), language
    )
    if reading.kin - words or reading.owner - words:
        return True
    told = [] if reading.owner else _nearest(sentences(unit.text, language), reading)
    stated = reading.kin | reading.content
    return bool(told) and all(e.about_kin and not (e.kin | e.kin_names) & stated for e in told)


def _naming(statement: Statement, unit: MemoryUnit) -> Naming:
    own = designations(unit_words(unit, statement.language), statement.language)
    named = {naming(each, own) for each in designations(statement.text, statement.language)}
    order = (Naming.OTHERWISE, Naming.LONGER, Naming.SAME, Naming.SHORTER)
    return next((each for each in order if each in named), Naming.UNNAMED)
