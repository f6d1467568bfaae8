"""How similar a statement of withdrawal and a unit are: words, numbers, names, part and whole (decision 010). Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hindsight_integrations.model.records import Record
from hindsight_integrations.model.time import readable_time
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.ports.arrays import Vector
from hindsight_integrations.text.language import Language
from hindsight_integrations.text.languages.en import ENGLISH
from hindsight_integrations.text.part_whole import clauses, names_one_of_a_list, part_of
from hindsight_integrations.text.stems import content_stems, numbers

SAME_KIND = 0.1  # a to-do is withdrawn by a finished to-do rather than by an expense of the same words
COVERED = 0.6  # share of a record's or a whole's words that must be named for it to be what is spoken of
CLAUSE_WORDS = 3  # content words of a clause with content of its own: "and how it swings" has none
STAYING_CLAUSES = 1  # clauses a partial withdrawal leaves untouched, at least


@dataclass(frozen=True, slots=True)
class Bar:
    """What a match must reach. Scores and shares in [0, 1].

    Attributes:
        similarity: cosine on the reference scale.
        coverage: share of the statement's words the unit has, rare words counting more.
        score: both together, see `match_score`.
        margin: lead over the next different item, below which the match is ambiguous.
    """

    similarity: float
    coverage: float
    score: float
    margin: float


# Set by hand on one Memora week (closings and amendments there score 0.85 to 1.0) and on four LoCoMo conversations,
# where 0.6 drops two wrong matches (0.54, 0.56) and one right one (0.56), as judged by eye. No data was held out.
# In verbatim mode units are chatty, and a false closing is worse than a miss.
FACTS = Bar(similarity=0.45, coverage=0.34, score=0.6, margin=0.05)
VERBATIM = Bar(similarity=0.5, coverage=0.6, score=0.6, margin=0.1)


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A unit a statement may mean.

    Attributes:
        unit: the unit.
        cosine: of the statement with it.
        vector: its own, unit norm.
        names: normalised names of the entities it mentions that are neither user, agent nor speaker.
        people: normalised names of those who are.
        closed: whether it was withdrawn before; it can then only explain why nothing is left to close.
        closed_by: ids of the units that withdrew it.
    """

    unit: MemoryUnit
    cosine: float
    vector: Vector
    names: frozenset[str] = frozenset()
    people: frozenset[str] = frozenset()
    closed: bool = False
    closed_by: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of what is obsolete.

    Attributes:
        text: of the statement.
        by: the unit that makes it.
        names: as a candidate's.
        people: as a candidate's.
        language: in which it and the candidates are compared.
    """

    text: str
    by: MemoryUnit
    names: frozenset[str] = frozenset()
    people: frozenset[str] = frozenset()
    language: Language = ENGLISH


def coverage(statement: frozenset[str], unit: frozenset[str], weights: Mapping[str, float]) -> float:
    """Share of the statement's words that the unit has, by weight, in [0, 1]."""
    whole = sum(weights[word] for word in statement)
    return sum(weights[word] for word in statement & unit) / whole if whole else 0.0


def word_weights(words: frozenset[str], texts: Sequence[frozenset[str]]) -> dict[str, float]:
    """Smoothed inverse document frequency among the candidates: 1 + ln((n + 1) / (df + 1))."""
    return {
        word: 1.0 + math.log((len(texts) + 1) / (sum(word in text for text in texts) + 1)) for word in words
    }


def match_score(similarity: float, covered: float, same_kind: bool) -> float:
    """Mean of meaning and wording, and a little for the same kind of record, in [0, 1] (decision 010)."""
    return min(1.0, (similarity + covered) / 2 + (SAME_KIND if same_kind else 0.0))


def unit_words(unit: MemoryUnit) -> str:
    """The words a unit is compared by: its text, its records and its time."""
    kept = " ".join(f"{record.kind} {record.category} {record.value}" for record in unit.records)
    return f"{unit.text} {kept} {readable_time(unit.occurred, unit.mentioned_at)}"


def is_about(statement: Statement, candidate: Candidate) -> bool:
    """Whether people, things and numbers of the statement agree with the unit at all.

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
    given, own = numbers(statement.text, language), numbers(unit_words(candidate.unit), language)
    return not given or not numbers(candidate.unit.text, language) or bool(given & own)


def _named(name: str, statement: frozenset[str], language: Language) -> bool:
    """Whether half of a name's words or more are in the statement."""
    words = content_stems(name, language)
    return bool(words) and 2 * len(words & statement) >= len(words)


def same_record(first: MemoryUnit, second: MemoryUnit) -> bool:
    """Whether both keep the same items; equal numbers are two (two coffees of one price), equal texts one."""
    kept, others = ([(r.kind, r.category, r.value) for r in unit.records] for unit in (first, second))
    return bool(kept) and kept == others and all(isinstance(value, str) for _, _, value in kept)


def sole_record(unit: MemoryUnit) -> Record | None:
    """The record of a unit that is the memory of one item, which falls with it; None where it keeps several, or none."""
    return unit.records[0] if len(unit.records) == 1 else None


def names_a_part(statement: Statement, unit: MemoryUnit) -> bool:
    """Whether the statement takes back a part of the unit and the rest stays (decision 010).

    Either it says of something that it belongs to what the unit is about, and a clause of the unit speaks of something
    else; or it names one item of a plain list. A unit whose only record is that part falls as a whole.
    """
    language = statement.language
    stated = content_stems(statement.text, language)
    relation = part_of(statement.text, language)
    people = frozenset(word for name in statement.people for word in content_stems(name, language))
    item = sole_record(unit)
    record = content_stems(str(item.value), language) if item else frozenset()
    if relation is not None and not relation.part <= people:
        words = content_stems(unit_words(unit), language)
        if len(relation.whole & words) < COVERED * len(relation.whole):
            return False
        if record and len(record & relation.part) >= COVERED * len(record):
            return False
        named = relation.part | relation.whole
        staying = [clause for clause in clauses(unit.text, language) if 2 * len(clause & named) < len(clause)]
        return len(staying) >= STAYING_CLAUSES
    if record and len(record & stated) >= COVERED * len(record):
        return False
    if names_one_of_a_list(stated, unit.text, language):
        return True
    return item is None and has_more(stated | people, unit, language)


def has_more(stated: frozenset[str], unit: MemoryUnit, language: Language) -> bool:
    """Whether a narrative unit has a clause the statement does not speak of.

    A record makes a unit the memory of one item, which falls with it. A narrative covers a whole exchange (paper 4.1.2):
    that the camping trip is no longer only planned does not take back how the children looked forward to it.
    """
    own = (clause for clause in clauses(unit.text, language) if len(clause) >= CLAUSE_WORDS)
    return any(2 * len(clause & stated) < len(clause) for clause in own)
