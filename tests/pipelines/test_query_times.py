"""Time expressions in recall: the configured languages, and the caller's parser if they find none."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo

import pytest

from hindsight_integrations import Hindsight, HindsightConfig, InvalidRequest
from hindsight_integrations.config import StorageConfig
from hindsight_integrations.language.packs import LANGUAGES
from hindsight_integrations.model.time import Interval
from hindsight_integrations.models.protocols import TimeParser
from hindsight_integrations.testing.doubles import HashEmbedder

QUESTION = datetime(2024, 6, 12, 10, tzinfo=UTC)
FEAST = Interval(datetime(2023, 11, 12, tzinfo=UTC), datetime(2023, 11, 13, tzinfo=UTC))


def opened(parser: TimeParser | None = None, languages: tuple[str, ...] = ("en",)) -> Hindsight:
    settings = HindsightConfig(
        storage=StorageConfig(vectors="exact", keywords="fts5"),
        languages=languages,
    )
    return Hindsight.open(
        ":memory:", embeddings=HashEmbedder(), reranker=None, config=settings, time_parser=parser
    )


def feasts(text: str, reference: datetime, zone: tzinfo, /) -> Interval | None:
    return FEAST if "Diwali" in text else None


def test_a_caller_can_teach_recall_a_time() -> None:
    """A holiday that the grammar does not know gives the parser's window; other questions get none."""
    with opened(feasts) as hindsight:
        bank = hindsight.bank("ann")
        bank.retain("Ann lit lamps.")
        assert bank.recall("What did Ann do at Diwali?", query_timestamp=QUESTION).window == FEAST
        assert bank.recall("What did Ann light?", query_timestamp=QUESTION).window is None


def test_the_grammar_goes_first() -> None:
    """The caller's parser is not called for a time that the built-in grammar reads."""

    def refuses(text: str, reference: datetime, zone: tzinfo, /) -> Interval | None:
        raise AssertionError(text)

    with opened(refuses) as hindsight:
        bank = hindsight.bank("ann")
        bank.retain("Ann lit lamps.")
        window = bank.recall("What did Ann do yesterday?", query_timestamp=QUESTION).window
        assert window is not None
        assert window.start == datetime(2024, 6, 11, tzinfo=UTC)


def test_a_failing_parser_costs_the_window_only() -> None:
    """Recall answers without a window, and its trace says that the parser failed."""

    def fails(text: str, reference: datetime, zone: tzinfo, /) -> Interval | None:
        raise RuntimeError("no weights")

    with opened(fails) as hindsight:
        bank = hindsight.bank("ann")
        bank.retain("Ann lit lamps.")
        found = bank.recall("What did Ann light?", query_timestamp=QUESTION)
        assert found.window is None
        assert found.units
        assert "time_parser: failed, no window (RuntimeError: no weights)" in found.trace.notes


def test_languages_are_read_in_turn() -> None:
    """With German configured after English, questions in both are restricted to their time."""
    with opened(languages=("en", "de")) as hindsight:
        bank = hindsight.bank("ann")
        bank.retain("Ann lit lamps.")
        windows = [
            bank.recall(text, query_timestamp=QUESTION).window
            for text in ("What was last week?", "Was war letzte Woche?")
        ]
        assert windows[0] == windows[1] is not None


def test_retain_reads_the_configured_languages() -> None:
    """A German message is dated by its own words; with English alone it has no date."""
    for languages, first in ((("en", "de"), datetime(2024, 6, 11, tzinfo=UTC)), (("en",), None)):
        with opened(languages=languages) as hindsight:
            bank = hindsight.bank("ann")
            bank.retain("Gestern war ich beim Zahnarzt.", timestamp=QUESTION)
            (found,) = bank.recall("Zahnarzt").units
            occurred = found.unit.occurred
            assert (occurred.start if occurred else None) == first


def test_dates_of_a_language_without_a_grammar_are_read() -> None:
    """In French, which has no pack, a full date restricts the question and dates the message; nothing else does."""
    with opened(languages=("fr",)) as hindsight:
        bank = hindsight.bank("ann")
        bank.retain("Le dentiste m'a appel\u00e9 le 8 mai 2023.", timestamp=QUESTION)
        found = bank.recall("Qu'a fait le dentiste en mai 2023 ?", query_timestamp=QUESTION)
        assert found.window == Interval(datetime(2023, 5, 1, tzinfo=UTC), datetime(2023, 6, 1, tzinfo=UTC))
        occurred = found.units[0].unit.occurred
        assert occurred == Interval(datetime(2023, 5, 8, tzinfo=UTC), datetime(2023, 5, 9, tzinfo=UTC))
        assert bank.recall("Qu'a fait le dentiste hier ?", query_timestamp=QUESTION).window is None


def test_a_grammar_goes_before_written_dates() -> None:
    """With French after Spanish, a question that the Spanish grammar reads is not passed to the date parser."""
    with opened(languages=("es", "fr")) as hindsight:
        bank = hindsight.bank("ann")
        bank.retain("Ana llam\u00f3 al dentista.")
        window = bank.recall("\u00bfQu\u00e9 hizo Ana desde mayo de 2023?", query_timestamp=QUESTION).window
        assert window == Interval(datetime(2023, 5, 1, tzinfo=UTC), datetime(2024, 6, 13, tzinfo=UTC))


def test_unknown_languages_are_refused() -> None:
    """A misspelt language raises at open, not at the first question."""
    with pytest.raises(
        InvalidRequest, match=r"languages: 'klingon' is not a known language. Use one of: de, en"
    ):
        opened(languages=("klingon",))
    with pytest.raises(InvalidRequest, match="languages: the list is empty"):
        HindsightConfig(languages=())


def test_every_language_can_be_configured() -> None:
    """A pack is enough: its code opens an engine."""
    for code in LANGUAGES:
        with opened(languages=(code,)) as hindsight:
            hindsight.bank("ann").retain("Ann lit lamps.")
