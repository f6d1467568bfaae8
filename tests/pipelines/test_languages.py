"""The configured languages from retain to recall; a new language needs only a new value."""

from __future__ import annotations

from hindsight_integrations import Hindsight, HindsightConfig
from hindsight_integrations.config import StorageConfig


def opened(*languages: str) -> Hindsight:
    storage = StorageConfig(vectors="exact", keywords="fts5")
    config = HindsightConfig(storage=storage, languages=languages)
    return Hindsight.open(":memory:", reranker=None, config=config)


def test_names_are_those_of_the_language() -> None:
    """A bank of German messages has people and places as entities, not every noun."""
    with opened("de") as hindsight:
        bank = hindsight.bank("ann")
        bank.retain("Ich war mit Mehmet in Hamburg, das Wetter und das Essen waren gut.")
        names = {entity.name for entity in bank.entities.list()}
        assert {"Mehmet", "Hamburg"} <= names
        assert not names & {"Wetter", "Essen", "das Wetter"}


def test_an_owner_in_a_question_is_found() -> None:
    """A question about "Mehmets Schwester" starts from the entity Mehmet."""
    with opened("de") as hindsight:
        bank = hindsight.bank("ann")
        bank.retain("Ich war mit Mehmet in Hamburg.")
        bank.retain("Das Wetter war gut.")
        notes = bank.recall("Wo wohnt Mehmets Schwester?").trace.notes
        assert not any(note.startswith("graph:") for note in notes)
        assert any(note.startswith("graph:") for note in bank.recall("Wo wohnt Olgas Schwester?").trace.notes)


def test_a_language_with_nothing_but_a_code_breaks_nothing() -> None:
    """Retain and recall work in a language without known times, names, cues or stop words."""
    with opened("cy") as hindsight:
        bank = hindsight.bank("worf")
        bank.retain([{"role": "user", "content": "tlhIngan maH, wo' Qo'noS."}], timestamp="2024-05-01T10:00")
        bank.retain(
            [{"role": "user", "content": "No longer 8,000 wo', Qo'noS."}], timestamp="2024-05-02T10:00"
        )
        found = bank.recall("nuqneH Qo'noS yesterday? why", query_timestamp="2024-06-01T10:00")
        assert found.window is None
        assert len(found.units) == 2
