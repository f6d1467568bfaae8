"""Whether a statement of withdrawal takes back a unit, or only a part of what it tells (decisions 010 and 115). Pure."""

from __future__ import annotations

from collections.abc import Sequence

from hindsight_integrations.model.records import Record
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.tempr.retain.retraction.parts import (
    leading_words,
    leaves_nothing,
    record_words,
    withdrawn_records,
)
from hindsight_integrations.tempr.retain.retraction.similarity import Statement, unit_words
from hindsight_integrations.text.conjuncts import without_conjunct
from hindsight_integrations.text.language import Language
from hindsight_integrations.text.part_whole import PartOf, names_one_of_a_list, part_of
from hindsight_integrations.text.statement_frames import Reading, clauses, names_one_of_two, read
from hindsight_integrations.text.stems import content_stems
from hindsight_integrations.text.titles import titles

COVERED = 0.6  # share of a record's or a whole's words that must be named for it to be what is spoken of
CLAUSE_WORDS = 3  # content words of a clause with content of its own: "and how it swings" has none


def names_a_part(statement: Statement, reading: Reading, unit: MemoryUnit) -> bool:
    """Whether the statement takes back a part of the unit and the rest stays.

    Either it names some of several records; or it says of something that it belongs to what the unit is about, and a clause
    of the unit speaks of something else; or it names one item of a plain list. A unit whose only record is that part falls
    as a whole, and so does a document with its items where only the document is named (decision 116).

    Args:
        statement: what is taken back.
        reading: of it.
        unit: that it means.
    """
    language = statement.language
    people = frozenset(word for name in statement.people for word in content_stems(name, language))
    item = sole_record(unit)
    if item is None and (meant := withdrawn_records(statement.text, unit, language)):
        return not leaves_nothing(unit, meant, language)
    record = read(str(item.value), language).content if item else frozenset()
    whole = item is None and reading.content <= leading_words(unit, language)
    items = record_words(unit, language) if whole else frozenset()
    relation = relation_of(statement, reading)
    if (
        relation is not None
        and not relation.part <= people
        and _tells_of(relation.whole, unit, language)
        and not (not unit.records and len(clauses(unit.text, language)) == 1)
    ):
        if record and len(record & relation.part) >= COVERED * len(record):
            return False
        named = relation.part | (relation.whole - _titles_untold(statement, unit))
        return any(
            2 * len(clause & named) < len(clause)
            for clause in _clauses(clauses(unit.text, language), items, language)
        )
    stated = content_stems(statement.text, language)
    if record and len(record & stated) >= COVERED * len(record):
        return False
    if names_one_of_a_list(reading.content, unit.text, language) or names_one_of_two(
        reading.content, unit.text, language
    ):
        return True
    return item is None and (
        without_conjunct(unit.text, statement.text, language) is not None
        or has_more(stated | people, unit, language, items)
    )


def relation_of(statement: Statement, reading: Reading) -> PartOf | None:
    """What the statement calls a part, and of what. An open task is no part of the list of tasks, nor a taste of anything."""
    return None if reading.frames else part_of(statement.text, statement.language)


def _tells_of(whole: frozenset[str], unit: MemoryUnit, language: Language) -> bool:
    return len(whole & content_stems(unit_words(unit, language), language)) >= COVERED * len(whole)


def _titles_untold(statement: Statement, unit: MemoryUnit) -> frozenset[str]:
    """Words of titles that the statement quotes and the unit does not: there they tell what the document is for."""
    told = unit.text.casefold()
    untold = [title for title in titles(statement.text) if title.casefold().rstrip(".") not in told]
    return frozenset(word for title in untold for word in content_stems(title, statement.language))


def has_more(
    stated: frozenset[str], unit: MemoryUnit, language: Language, items: frozenset[str] = frozenset()
) -> bool:
    """Whether a narrative unit has a clause the statement does not speak of; one of a single clause has none.

    A record makes a unit the memory of one item, which falls with it. A narrative covers a whole exchange (paper 4.1.2):
    that the camping trip is no longer only planned does not take back how the children looked forward to it.

    Args:
        stated: content words of the statement.
        unit: that it means.
        language: of both.
        items: words of the records that fall with the unit; clauses of them are no more.
    """
    said = unit.text.removeprefix(f"{unit.speaker}: ")
    told = [
        clause
        for clause in clauses(said, language)
        if not language.frames.dependent.match(clause) and not language.frames.history.search(clause)
    ]
    own = [clause for clause in _clauses(told, items, language) if len(clause) >= CLAUSE_WORDS]
    several = len(own) > 1 or bool(items)
    return several and any(2 * len(clause & stated) < len(clause) for clause in own)


def _clauses(told: Sequence[str], items: frozenset[str], language: Language) -> list[frozenset[str]]:
    """Content words of each clause but those of items that fall with the unit."""
    own = (content_stems(clause, language) for clause in told)
    return [clause for clause in own if not items or 2 * len(clause & items) < len(clause)]


def same_record(first: MemoryUnit, second: MemoryUnit) -> bool:
    """Whether both keep the same items; equal numbers are two (two coffees of one price), equal texts one."""
    kept, others = ([(r.kind, r.category, r.value) for r in unit.records] for unit in (first, second))
    return bool(kept) and kept == others and all(isinstance(value, str) for _, _, value in kept)


def sole_record(unit: MemoryUnit) -> Record | None:
    """The record of a unit that is the memory of one item, which falls with it; None where it keeps several, or none."""
    return unit.records[0] if len(unit.records) == 1 else None
