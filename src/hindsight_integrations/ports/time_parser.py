"""TimeParser: a second reader of times, for what the grammar does not know."""

from __future__ import annotations

from datetime import datetime, tzinfo
from typing import Protocol

from hindsight_integrations.model.time import Interval


class TimeParser(Protocol):
    """A callable that reads the time of a question in which the grammar found none. Safe from many threads.

    It costs every timeless question its running time, and a wrong window hides the right memories: better None than
    a guess. If it raises a HindsightError, ValueError, LookupError, RuntimeError or OSError, recall goes on without a
    window and its trace says so.
    """

    def __call__(self, text: str, reference: datetime, zone: tzinfo, /) -> Interval | None:
        """The window of time that the question is about, or None.

        Args:
            text: the question.
            reference: the query's timestamp, aware.
            zone: the time zone of its days.
        """
        ...
