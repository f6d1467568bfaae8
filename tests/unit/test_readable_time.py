"""The displayed time of a memory: when it happened or is planned, relative to the question."""

from __future__ import annotations

from datetime import UTC, datetime

from table import every_row

from hindsight_integrations.model.time import Interval, readable_time

SAID = datetime(2025, 11, 26, 10, tzinfo=UTC)
FRIDAY = Interval(datetime(2025, 11, 28, tzinfo=UTC), datetime(2025, 11, 29, tzinfo=UTC))
DECEMBER = Interval(datetime(2025, 12, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC))
TODAY = Interval(datetime(2025, 11, 26, tzinfo=UTC), datetime(2025, 11, 27, tzinfo=UTC))


@every_row(
    ("occurred", "asked", "words"),
    [
        (FRIDAY, "2025-11-27T09:00", "planned for Friday, November 28, 2025"),
        (FRIDAY, "2025-11-28T09:00", "planned for Friday, November 28, 2025"),
        (FRIDAY, "2025-11-29T09:00", "was planned for Friday, November 28, 2025"),
        (FRIDAY, None, "happened on Friday, November 28, 2025"),
        (DECEMBER, "2025-11-27T09:00", "planned for December 2025"),
        (DECEMBER, "2026-02-01T09:00", "was planned for December 2025"),
        (TODAY, "2025-11-26T12:00", "happened on Wednesday, November 26, 2025"),
        (None, "2025-11-27T09:00", "mentioned on Wednesday, November 26, 2025"),
    ],
)
def test_what_lies_ahead_is_planned(occurred: Interval | None, asked: str | None, words: str) -> None:
    """A future event is "planned" until its day is over, then "was planned"; an event told on its day "happened"."""
    seen_from = None if asked is None else datetime.fromisoformat(asked).replace(tzinfo=UTC)
    assert readable_time(occurred, SAID, seen_from) == words
