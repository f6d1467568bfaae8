"""Which records of a memory a withdrawn part means, and when a memory without them tells nothing more."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from table import every_row

from hindsight_integrations.model.records import Record, RecordKind
from hindsight_integrations.model.units import FactType, MemoryUnit
from hindsight_integrations.search.standing_texts import standing_text
from hindsight_integrations.tempr.retain.retraction.parts import (
    leaves_nothing,
    withdrawn_records,
    without_records,
)
from hindsight_integrations.text.language import Language
from hindsight_integrations.text.languages import LANGUAGES

MAY = datetime(2024, 5, 1, tzinfo=UTC)
EN, DE, ES = (LANGUAGES[code] for code in ("en", "de", "es"))


def document(text: str, *items: tuple[str, str]) -> MemoryUnit:
    """A memory of a document with its items: (field, value)."""
    records = tuple(Record(RecordKind.DOCUMENT_ITEM, value, field, stated=field) for field, value in items)
    return MemoryUnit("document", "bank", text, FactType.WORLD, MAY, records=records)


AGENDA = document(
    "User's agenda for the platform meeting: cache migration, new office plants and parking budget.",
    ("agenda", "cache migration"),
    ("agenda", "new office plants"),
    ("agenda", "parking budget"),
)
LETTER = document(
    "User drafted a letter to the landlord. Recipients: Mia Kern and Tom Vale. Key points: roof; stairs.",
    ("recipient", "Mia Kern"),
    ("recipient", "Tom Vale"),
    ("key point", "roof"),
    ("key point", "stairs"),
)
TEAM = document(
    "User wrote a plan. Recipients: Mia, Tom. Speakers: Mia, Lou.",
    ("recipient", "Mia"),
    ("recipient", "Tom"),
    ("speaker", "Mia"),
    ("speaker", "Lou"),
)
TALKS = document(
    "User's plan: review of phase 1 on Monday; review of phase 2 on Friday; lunch; long lunch outside.",
    ("plan", "review of phase 1 on Monday"),
    ("plan", "review of phase 2 on Friday"),
    ("plan", "lunch"),
    ("plan", "long lunch outside"),
)

MEANT: list[tuple[MemoryUnit, str, tuple[int, ...]]] = [
    (AGENDA, "cache migration", (0,)),
    (AGENDA, "Cache Migration.", (0,)),
    (AGENDA, "migrating the cache", (0,)),
    (AGENDA, "the agenda item 'parking budget'", (2,)),
    (AGENDA, "Parking budget is an item of the agenda for the platform meeting", (2,)),
    (AGENDA, "The agenda of the platform meeting includes 'new office plants'", (1,)),
    (AGENDA, "the plants", (1,)),
    (AGENDA, "cache migration and the parking budget", (0, 2)),
    (AGENDA, "all agenda items", (0, 1, 2)),
    (AGENDA, "an agenda item", ()),
    (AGENDA, "the catering", ()),
    (AGENDA, "the meeting's date", ()),
    (AGENDA, "", ()),
    (LETTER, "Tom Vale", (1,)),
    (LETTER, "Tom Vale is a recipient of the letter to the landlord", (1,)),
    (LETTER, "Tom", (1,)),
    (LETTER, "Tom's telephone number", ()),
    (LETTER, "both recipients", (0, 1)),
    (LETTER, "Mia Kern and Tom Vale", (0, 1)),
    (LETTER, "the key point about the stairs", (3,)),
    (LETTER, "Ida Vale", ()),
    (TEAM, "Mia", ()),
    (TEAM, "Mia is a recipient of the plan", (0,)),
    (TEAM, "the speaker Mia", (2,)),
    (TEAM, "Lou", (3,)),
    (TALKS, "review of phase 2", (1,)),
    (TALKS, "review", ()),
    (TALKS, "lunch", (2,)),
    (TALKS, "long lunch outside", (3,)),
    (TALKS, "review of phase 3", ()),
]


@every_row(("unit", "part", "meant"), MEANT, ids=[part or "nothing" for _, part, _ in MEANT])
def test_a_part_means_the_records_whose_words_it_has(
    unit: MemoryUnit, part: str, meant: tuple[int, ...]
) -> None:
    """One item, several, all of a field, or none: what cannot be told apart is not guessed."""
    assert withdrawn_records(part, unit, EN) == meant


def test_other_languages_name_items_their_own_way() -> None:
    """German and Spanish statements of part and whole name an item, "alle" and "ambos" all of a field."""
    agenda = document(
        "Tagesordnung: Lüftung, Aufzug und Fahrräder.",
        ("Punkt", "Lüftung"),
        ("Punkt", "Aufzug"),
        ("Punkt", "Fahrräder"),
    )
    guests = document("Invitados: Ana Ruiz y Leo Sanz.", ("invitado", "Ana Ruiz"), ("invitado", "Leo Sanz"))
    assert withdrawn_records("Der Aufzug steht auf der Tagesordnung", agenda, DE) == (1,)
    assert withdrawn_records("alle Punkte", agenda, DE) == (0, 1, 2)
    assert withdrawn_records("Leo Sanz es parte de la lista", guests, ES) == (1,)
    assert withdrawn_records("ambos invitados", guests, ES) == (0, 1)


def test_a_number_is_named_by_itself_or_by_its_field() -> None:
    """Of a proposal with two numbers, "14 months" and "the term" mean the one, 20 months neither."""
    term = Record(RecordKind.DOCUMENT_ITEM, Decimal(14), "term", "months")
    fee = Record(RecordKind.DOCUMENT_ITEM, Decimal(900), "fee", "EUR")
    unit = MemoryUnit(
        "u", "bank", "Proposal: 14 months for 900 EUR.", FactType.WORLD, MAY, records=(term, fee)
    )
    assert withdrawn_records("The term of the proposal is 14 months", unit, EN) == (0,)
    assert withdrawn_records("the term", unit, EN) == (0,)
    assert withdrawn_records("20 months", unit, EN) == ()


def test_what_was_withdrawn_is_not_meant_again() -> None:
    """The same part taken back twice means nothing the second time; "both" then means the one that is left."""
    once = without_records(LETTER, {1}, MAY)
    assert withdrawn_records("Tom Vale", once, EN) == ()
    assert withdrawn_records("both recipients", once, EN) == (0,)


def test_what_stands_of_a_memory_is_cut_or_noted() -> None:
    """A withdrawn item is left out of the text; one told in the middle of a sentence is noted behind it."""
    without = without_records(AGENDA, (1,), MAY)
    assert standing_text(without, EN) == (
        "User's agenda for the platform meeting: cache migration and parking budget."
    )
    told = document("User asked Mia Kern, who keeps the roof, for tea.", ("recipient", "Mia Kern"))
    assert standing_text(without_records(told, (0,), MAY), EN) == (
        "User asked Mia Kern, who keeps the roof, for tea. [Partly withdrawn later: Mia Kern]"
    )
    assert standing_text(AGENDA, EN) == AGENDA.text


def test_a_memory_of_nothing_but_items_ends_with_the_last() -> None:
    """An agenda whose three points are all struck is no memory any more; a letter with a subject is."""
    assert leaves_nothing(AGENDA, {0, 1, 2}, EN)
    assert not leaves_nothing(AGENDA, {0, 1}, EN)
    assert leaves_nothing(without_records(AGENDA, {0, 1}, MAY), {2}, EN)
    assert not leaves_nothing(LETTER, {0, 1, 2, 3}, EN)
    more = document(
        "User's list: tea and rice, because the guests come on Friday.", ("list", "tea"), ("list", "rice")
    )
    assert not leaves_nothing(more, {0, 1}, EN)
    alone = document("User needs to water the ferns.", ("", "water the ferns"))
    assert leaves_nothing(alone, {0}, EN)


@pytest.mark.parametrize(
    ("language", "statement"),
    [
        (EN, "Head of Housing is a recipient of the e-mail 'Winter rota proposal'."),
        (ES, "La jefa de Vivienda es una destinataria del correo 'Winter rota proposal'."),
    ],
)
def test_a_name_with_of_is_no_property_and_the_title_of_the_whole_no_item(
    language: Language, statement: str
) -> None:
    """Who is taken off an e-mail is the recipient of that name, and the e-mail keeps its title."""
    head = {EN: "Head of Housing", ES: "La jefa de Vivienda"}[language]
    mail = document(
        f"The user is writing an e-mail 'Winter rota proposal'. Recipients: {head}, Housing Team.",
        ("title", "Winter rota proposal"),
        ("recipient", "Housing Team"),
        ("recipient", head),
    )
    assert withdrawn_records(statement, mail, language) == (2,)
