"""Which records of a memory a withdrawn part means (decision 116). Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime

from hindsight_integrations.model.records import Record
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.text.item_places import Likeness, likeness
from hindsight_integrations.text.language import Language
from hindsight_integrations.text.part_whole import LONGEST_TEXT, NamedItem, account, named_items
from hindsight_integrations.text.side_by_side import Layout, side_by_side
from hindsight_integrations.text.statement_frames import clauses
from hindsight_integrations.text.stems import content_stems, numbers

CLAUSE_CONTENT = 3  # content words of a clause with content of its own: "and how it swings" has none
NAMED = 0.6  # share of a record's words that must be named for it to be meant, as for a unit's only record
SPOKEN_OF = 0.5  # share of the part's words that must be the records' own: "Bo's telephone number" is not Bo
CLAUSE_WORDS = 2  # content words of a clause that tells of something beside the records


def withdrawn_records(part: str, unit: MemoryUnit, language: Language) -> tuple[int, ...]:
    """Ordinals of the records that a withdrawn part means; empty if none fits, or two fit that cannot be told apart.

    Args:
        part: what no longer holds, in the memory's words or as a statement ("Bo Chen is a recipient of the email").
        unit: the memory; its records closed before are not meant again.
        language: of both.
    """
    standing = {n: record for n, record in enumerate(unit.records) if record.closed_at is None}
    if found := _word_for_word(part, standing, language):
        return found
    leading = leading_words(unit, language)
    for item in named_items(part, language):
        if found := _by_words(item, standing, leading, language):
            return found
    return _by_field(part, standing, language)


def leaves_nothing(unit: MemoryUnit, withdrawn: Collection[int], language: Language) -> bool:
    """Whether a memory without these records tells nothing more: all are gone, and its text has nothing but what led up to them.

    A document that has a subject, a date or a second field stays, without its items.

    Args:
        unit: the memory, with the records closed before.
        withdrawn: ordinals of the records now taken back.
        language: of its text.
    """
    if any(record.closed_at is None for n, record in enumerate(unit.records) if n not in withdrawn):
        return False
    text = account(unit.text)
    if len(text) > LONGEST_TEXT:
        return False
    return not any(
        _tells_more(text[slice(*sentence)], unit.records, language)
        for layer in side_by_side(text, language)
        if layer.layout is Layout.SENTENCES
        for sentence in layer.items
    )


def _tells_more(sentence: str, records: Collection[Record], language: Language) -> bool:
    """Whether a sentence tells of anything but records and, in front of them, of what they are."""
    whole = content_stems(sentence, language)
    if not any(content_stems(record.words, language) <= whole for record in records):
        return len(whole) >= CLAUSE_WORDS and not sentence.endswith(":")
    gone = frozenset(word for record in records for word in _all_words(record, language))
    clauses = [content_stems(clause, language) for clause in language.parts.clause_end.split(sentence)]
    return any(
        len(clause - gone) >= CLAUSE_WORDS and 2 * len(clause & gone) < len(clause) for clause in clauses[1:]
    )


def has_more(stated: frozenset[str], unit: MemoryUnit, language: Language) -> bool:
    """Whether a unit without records has a clause that a statement does not speak of; one of a single clause has none.

    A narrative covers a whole exchange (paper 4.1.2): that the camping trip is no longer only planned does not take back
    how the children looked forward to it.

    Args:
        stated: content words of the statement.
        unit: that it means.
        language: of both.
    """
    told = [
        clause
        for clause in clauses(unit.text.removeprefix(f"{unit.speaker}: "), language)
        if not language.frames.dependent.match(clause) and not language.frames.history.search(clause)
    ]
    own = [words for clause in told if len(words := content_stems(clause, language)) >= CLAUSE_CONTENT]
    return len(own) > 1 and any(2 * len(words & stated) < len(words) for words in own)


def without_records(unit: MemoryUnit, ordinals: Collection[int], moment: datetime) -> MemoryUnit:
    """The unit with these records closed."""
    records = tuple(
        replace(record, closed_at=record.closed_at or moment) if n in ordinals else record
        for n, record in enumerate(unit.records)
    )
    return replace(unit, records=records)


def leading_words(unit: MemoryUnit, language: Language) -> frozenset[str]:
    """Content words of a memory that are no record's: what it says its items belong to."""
    recorded = (word for record in unit.records for word in content_stems(record.words, language))
    return content_stems(unit.text, language) - frozenset(recorded)


def _all_words(record: Record, language: Language) -> frozenset[str]:
    return content_stems(f"{record.category} {record.stated} {record.words}", language)


def _field_words(records: Mapping[int, Record], language: Language) -> frozenset[str]:
    """Words that say of what field an item is, or that it is an item of anything."""
    fields = " ".join(f"{record.category} {record.stated}" for record in records.values())
    return content_stems(f"{fields} {' '.join(language.parts.words.item_nouns)}", language)


def _word_for_word(part: str, records: Mapping[int, Record], language: Language) -> tuple[int, ...]:
    """The record whose words the part is; of two of the same words the one of the field the part speaks of."""
    named = [(item.text, item.field) for item in named_items(part, language)]
    for text, field in ((part, part), *named):
        alike = {n: likeness(text, record.words, language) for n, record in records.items()}
        best = max(alike.values(), default=Likeness.OTHER)
        found = [n for n, how in alike.items() if how is best]
        if best is not Likeness.OTHER and (chosen := _of_field(found, field, records, language)):
            return chosen
    return ()


def _of_field(
    found: list[int], field: str, records: Mapping[int, Record], language: Language
) -> tuple[int, ...]:
    """The only one, or the only one whose category is named; all, where they are the same item of the same field."""
    if len({(records[n].category, records[n].words) for n in found}) == 1:
        return tuple(found)
    words = content_stems(field, language)
    named = [n for n in found if content_stems(records[n].category, language) & words]
    return tuple(named) if len(named) == 1 else ()


def _by_words(
    item: NamedItem, records: Mapping[int, Record], leading: frozenset[str], language: Language
) -> tuple[int, ...]:
    """The records most of whose words an item has; or the only one that has all of the item's."""
    named = content_stems(item.text, language)
    spoken = named - _field_words(records, language) - leading
    given = numbers(item.text, language)
    values = {
        n: stems
        for n, record in records.items()
        if (stems := content_stems(record.words, language))
        and _numbers_agree(given, numbers(record.words, language))
    }
    if not spoken:
        return ()
    holding = [n for n, value in values.items() if spoken <= value]
    if len(holding) == 1:
        return (holding[0],)
    shares = {n: len(value & named) / len(value) for n, value in values.items()}
    fitting = [n for n, share in shares.items() if share >= NAMED]
    best = [n for n in fitting if not any(_names_better(n, m, values, shares, named) for m in fitting)]
    if len({values[n] & named for n in best}) < len(best):
        return _of_field(best, f"{item.text} {item.field}", records, language)
    explained = frozenset(word for n in best for word in values[n])
    return tuple(best) if best and len(spoken & explained) >= SPOKEN_OF * len(spoken) else ()


def _numbers_agree(given: frozenset[str], own: frozenset[str]) -> bool:
    return not given or not own or bool(given & own)


def _names_better(
    one: int,
    other: int,
    values: Mapping[int, frozenset[str]],
    shares: Mapping[int, float],
    named: frozenset[str],
) -> bool:
    """Whether the part names another record by the same words and more, or a larger share of its words."""
    first, second = values[one] & named, values[other] & named
    return one != other and first <= second and (first < second or shares[one] < shares[other])


def _by_field(part: str, records: Mapping[int, Record], language: Language) -> tuple[int, ...]:
    """The only record of a field the part names, or all of it where the part says so ("both agenda items")."""
    small = language.parts.words.every
    words = part.casefold().split()
    named = content_stems(" ".join(word for word in words if word not in small), language)
    if not named or not named <= _field_words(records, language):
        return ()
    found = [n for n, record in records.items() if content_stems(record.category, language) & named]
    return tuple(found) if len(found) == 1 or small & set(words) else ()
