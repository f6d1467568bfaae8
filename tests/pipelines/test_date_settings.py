"""`languages` and `date_order` of the configuration in retain and recall."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from hindsight_integrations import Hindsight, HindsightConfig, InvalidRequest, Message
from hindsight_integrations.config import KeywordBackend, StorageConfig, VectorBackend

LIGHT = HindsightConfig(storage=StorageConfig(VectorBackend.EXACT, KeywordBackend.FTS5))
Opener = Callable[..., Hindsight]


def settings(**changes: object) -> HindsightConfig:
    return replace(LIGHT, **changes)  # type: ignore[arg-type] # names of settings, by keyword


def test_an_exported_timestamp_is_read_in_the_configured_order(opener: Opener) -> None:
    """In a German and an American export, the same figures are different days."""
    said = Message("The boat is repaired.", "Alice", "05.06.2023, 13:56", id="m1")
    for order, day in (("dmy", 5), ("mdy", 6)):
        bank = opener(":memory:", config=settings(date_order=order)).bank("boats")
        bank.retain([said])
        assert bank.units().units[0].mentioned_at.day == day


def test_an_ambiguous_timestamp_is_not_guessed_and_the_setting_is_named(opener: Opener) -> None:
    """Whether 05/06 is in May or June is not guessed: a message is stored with its time of arrival, a window is rejected."""
    bank = opener(":memory:", config=settings()).bank("boats")
    result = bank.retain([Message("The boat is repaired.", "Alice", "05/06/2023, 13:56", id="m0")])
    assert result.created == 1
    assert "date_order" in result.dropped[0].reason
    bank.forget(everything=True)
    with pytest.raises(InvalidRequest, match="date_order"):
        bank.recall("boat", window=("05/06/2023", "07/06/2023"))
    bank.retain([Message("The boat is repaired.", "Alice", "31/12/2022 09:00", id="m1")])
    assert bank.units().units[0].mentioned_at.day == 31


def test_written_dates_of_a_language_without_a_folder_narrow_the_search(opener: Opener) -> None:
    """A French question for a day finds that day, and retain dates the events in messages."""
    bank = opener(":memory:", config=settings(languages=("fr",))).bank("bateaux")
    bank.retain([Message("Le bateau est arrivé le 8 mai 2023.", "Alice", "2023-06-01T10:00", id="m1")])
    (unit,) = bank.units().units
    assert unit.occurred is not None
    assert unit.occurred.start.isoformat() == "2023-05-08T00:00:00+00:00"
    window = bank.recall("Qu'est-ce qui est arrivé le 8 mai 2023 ?").window
    assert window is not None
    assert window.start.isoformat() == "2023-05-08T00:00:00+00:00"
    assert bank.recall("Où est le bateau depuis le temps ?").window is None


def test_unknown_languages_and_orders_are_refused_when_the_engine_opens(opener: Opener) -> None:
    """A misspelt setting raises at open instead of being ignored."""
    with pytest.raises(InvalidRequest, match="languages"):
        opener(":memory:", config=settings(languages=("xx",)))
    with pytest.raises(InvalidRequest, match="date_order"):
        settings(date_order="day first")
