"""Hypothesis strategies for this package's values. Imports hypothesis, so it is for tests only."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

from hypothesis import strategies as st

from hindsight_integrations.model.metadata import MetadataValue
from hindsight_integrations.model.profile import BankProfile, BigFive, Disposition
from hindsight_integrations.model.records import Record, RecordKind
from hindsight_integrations.model.text import is_storable
from hindsight_integrations.model.time import Interval
from hindsight_integrations.model.units import FactType, MemoryUnit

EARLIEST, LATEST = datetime(1900, 1, 1), datetime(2100, 1, 1)  # noqa: DTZ001 - hypothesis wants naive bounds
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Pacific/Auckland")
WORDS = (
    "alice", "bob", "dog", "moved", "paris", "coffee", "likes", "hates", "budget", "june", "flight", "cello",
)  # fmt: skip


def texts(*, least: int = 1, most: int = 200) -> st.SearchStrategy[str]:
    """Non-empty texts: sentences of common words, or any Unicode that UTF-8 can encode."""
    sentences = st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(" ".join)
    anything = st.text(st.characters(exclude_categories=["Cs"]), min_size=least, max_size=most)
    return (sentences | anything).filter(lambda text: least <= len(text) <= most and bool(text.strip()))


def aware_datetimes() -> st.SearchStrategy[datetime]:
    """Aware instants from 1900 to 2100 in several time zones, without daylight saving's gaps."""
    zones = st.sampled_from(ZONES).map(ZoneInfo)
    return st.datetimes(EARLIEST, LATEST, timezones=zones, allow_imaginary=False)


def utc_datetimes() -> st.SearchStrategy[datetime]:
    """Aware UTC instants from 1900 to 2100, as stored by the engine."""
    return st.datetimes(EARLIEST, LATEST, timezones=st.just(UTC))


def intervals(*, longest: timedelta = timedelta(days=4000)) -> st.SearchStrategy[Interval]:
    """Half-open, non-empty UTC intervals."""
    lengths = st.timedeltas(timedelta(microseconds=1), longest)
    return st.builds(lambda start, length: Interval(start, start + length), utc_datetimes(), lengths)


def records() -> st.SearchStrategy[Record]:
    """Numbers to add up, and texts to list."""
    numbers = st.decimals(Decimal(-10_000), Decimal(10_000), places=2)
    return st.builds(
        lambda kind, value, category: Record(kind, value, category, stated=category),
        st.sampled_from(RecordKind),
        numbers | texts(most=40),
        st.sampled_from(("", "coffee")),
    )


def profiles() -> st.SearchStrategy[BankProfile]:
    """Valid profiles of both kinds."""
    levels, shares = st.integers(1, 5), st.floats(0.0, 1.0)
    characters = st.builds(Disposition, levels, levels, levels) | st.builds(BigFive, *[shares] * 5)
    names = texts(most=40).filter(lambda text: is_storable(text) and len(text.splitlines()) == 1)
    backgrounds = texts().filter(is_storable)
    return st.builds(BankProfile, st.just("") | names, st.just("") | backgrounds, characters, shares)


def metadata_values() -> st.SearchStrategy[MetadataValue]:
    """Values whose type metadata keep."""
    scalars = (
        texts(most=20) | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    )
    return scalars | st.lists(scalars, max_size=3)


@st.composite
def memory_units(draw: st.DrawFn, *, bank: str = "bank") -> MemoryUnit:
    """Units of one bank with distinct ids; only opinions have a confidence."""
    fact_type = draw(st.sampled_from(list(FactType)))
    text = draw(texts())
    return MemoryUnit(
        id=str(draw(st.uuids(version=4))),
        bank=bank,
        text=text,
        fact_type=fact_type,
        mentioned_at=draw(utc_datetimes()),
        occurred=draw(st.none() | intervals()),
        context=draw(st.just("") | texts(most=40)),
        confidence=draw(st.floats(0.0, 1.0)) if fact_type is FactType.OPINION else None,
        metadata=draw(st.dictionaries(texts(most=10), metadata_values(), max_size=3)),
        tags=tuple(sorted(draw(st.sets(st.sampled_from(("home", "work", "user:1")), max_size=3)))),
        thread=draw(st.sampled_from(("", "thread-1"))),
        tokens=-(-len(text) // 4),
        records=tuple(draw(st.lists(records(), max_size=3))),
    )
