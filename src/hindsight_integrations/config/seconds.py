"""Times a model is given to answer in."""

from __future__ import annotations

from hindsight_integrations.errors import InvalidRequest, shown

TOO_LONG = 10**9  # seconds: thirty years


def check_seconds(name: str, value: float) -> None:
    """Refuse a time limit that no model could keep.

    Raises:
        InvalidRequest: it is not positive, or no number.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < TOO_LONG:
        raise InvalidRequest(name, f"{shown(value)} seconds is no time to answer in", "Give 60 or more.")
