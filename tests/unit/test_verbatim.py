"""The model-free extractor: verbatim messages with time, speaker and names by rules."""

from __future__ import annotations

from datetime import UTC, datetime

from table import every_row

from hindsight_integrations.model.entities import EntityType
from hindsight_integrations.model.facts import ExtractedFact
from hindsight_integrations.model.requests import Message
from hindsight_integrations.model.units import FactType
from hindsight_integrations.retain.verbatim import VerbatimExtractor, passages

SUNDAY = datetime(2025, 3, 2, 10, 15, tzinfo=UTC)


def _extract(*turns: tuple[str, str], aliases: tuple[str, ...] = ()) -> list[ExtractedFact]:
    messages = [Message(text, speaker, SUNDAY, f"m{n}") for n, (speaker, text) in enumerate(turns)]
    return VerbatimExtractor().extract(messages, aliases=aliases)


def _names(text: str, *more: str, aliases: tuple[str, ...] = ()) -> list[str]:
    facts = _extract(("Nora", text), *(("Desmond", other) for other in more), aliases=aliases)
    return [entity.text for entity in facts[0].entities[1:]]


def test_every_message_is_one_fact_word_for_word() -> None:
    """Each message becomes one verbatim fact that refers to it."""
    turns = (("Nora", "I like figs; not dates!"), ("Desmond", "Noted.\n  Twice."))
    facts = _extract(*turns)
    assert [fact.what for fact in facts] == ["Nora: I like figs; not dates!", "Desmond: Noted.\n  Twice."]
    assert [fact.sources for fact in facts] == [["m0"], ["m1"]]
    assert [fact.entities[0].text for fact in facts] == ["Nora", "Desmond"]
    assert all(fact.entities[0].type is EntityType.PERSON for fact in facts)


@every_row(
    ("speaker", "kind"),
    [
        ("assistant", FactType.EXPERIENCE),
        ("AI", FactType.EXPERIENCE),
        ("agent", FactType.EXPERIENCE),
        ("user", FactType.WORLD),
        ("Nora", FactType.WORLD),
    ],
)
def test_what_the_agent_says_is_its_experience(speaker: str, kind: FactType) -> None:
    """The agent's messages are experiences, all others world facts."""
    assert _extract((speaker, "The pond is frozen."))[0].fact_type is kind


@every_row(
    ("text", "start", "end"),
    [
        ("I met her yesterday.", "2025-03-01", "2025-03-01"),
        ("I started there in June 2022.", "2022-06", "2022-06"),
        ("We moved here in 2019.", "2019", "2019"),
        ("Last week was hard.", "2025-02-17", "2025-02-23"),
        ("I like figs.", None, None),
    ],
)
def test_times_count_from_the_message(text: str, start: str | None, end: str | None) -> None:
    """ "Yesterday" is the day before the message was sent."""
    fact = _extract(("Nora", text))[0]
    assert (fact.occurred_start, fact.occurred_end) == (start, end)


@every_row(
    ("text", "names"),
    [
        ("I met Priya Shah at the University of Leeds.", ["Priya Shah", "University of Leeds"]),
        ("We flew to Lisbon in May with Mr. Okafor.", ["Lisbon", "Okafor"]),
        ("Visited Paris. It rained.", ["Paris"]),
        ("He works at NASA, says @green_thumb.", ["NASA", "@green_thumb"]),
        ("WE WON THE CUP! AMAZING DAY", []),
        ("Hello! Thanks, I'm fine. Mondays are hard in January.", []),
        ("write to me@foo.com", []),
        ("Bob's right, says Ann's sister.", ["Ann"]),
    ],
)
def test_names_are_found_and_mere_capitals_are_not(text: str, names: list[str]) -> None:
    """People and places become entities; greetings, months, shouting and first words of sentences do not."""
    assert _names(text) == names


def test_a_sentence_may_begin_with_a_name_seen_elsewhere() -> None:
    """ "Priya called" has a name if another message says "I met Priya"."""
    assert _names("Priya called me.") == []
    assert _names("Priya called me.", "I met Priya at the fair.") == ["Priya"]


def test_known_names_are_found_in_any_case() -> None:
    """A name of the bank is found however it is typed, but not inside another word."""
    assert _names("i went to maple street nursery", aliases=("Maple Street Nursery",)) == [
        "maple street nursery"
    ]
    assert _names("the annual fair", aliases=("Ann",)) == []


def test_types_follow_plain_cues() -> None:
    """A university is an organisation, another speaker a person, other types stay open."""
    facts = _extract(("Nora", "Then Desmond left Fernhill Ltd for Leeds."), ("Desmond", "True."))
    types = {entity.text: entity.type for entity in facts[0].entities}
    assert types["Desmond"] is EntityType.PERSON
    assert types["Fernhill Ltd"] is EntityType.ORGANIZATION
    assert types["Leeds"] is EntityType.OTHER


def test_a_document_becomes_passages() -> None:
    """A text without speakers is split into short passages."""
    sentences = "The roses were pruned with care. " * 40
    text = f"Maple Street opened in June 2019.\n\n{sentences}\n\n\nThe end."
    pieces = [piece for piece in passages(text) if piece.strip()]
    facts = VerbatimExtractor().extract_passages(pieces, timestamp=SUNDAY)
    assert all(len(fact.what) <= 500 and fact.sources == [] for fact in facts)
    assert " ".join(" ".join(fact.what for fact in facts).split()) == " ".join(text.split())
    assert (facts[0].what, facts[0].occurred_start) == ("Maple Street opened in June 2019.", "2019-06")
