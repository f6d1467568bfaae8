"""The clock protocol and the system clock."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """A source of the current time; the package reads the time only through it."""

    def now(self) -> datetime:
        """Return the current instant, aware UTC."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """Return the current instant, aware UTC."""
        return datetime.now(UTC)
