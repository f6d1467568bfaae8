"""Times a model is given to answer in."""

from __future__ import annotations

from hindsight_integrations.errors import InvalidRequest


def check_seconds(name: str, value: float) -> None:
    """Refuse a time limit that no model could keep.

    Raises:
        InvalidRequest: it is not positive, or no number.
    """
    if not value > 0:
        raise InvalidRequest(name, f"{value} seconds is no time to answer in", "Give 60 or more.")
