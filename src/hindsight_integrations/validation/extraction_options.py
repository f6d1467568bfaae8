"""The options that one retain may give its extraction. Pure."""

from __future__ import annotations

from hindsight_integrations.choices import choice
from hindsight_integrations.config import ExtractionOptions, OnModelFailure, check_seconds


def checked_options(
    on_model_failure: OnModelFailure | str | None, background: bool, timeout_s: float | None
) -> ExtractionOptions:
    """The options of one retain, checked.

    Args:
        on_model_failure: "raise", "queue", or None.
        background: whether no model is asked now.
        timeout_s: seconds, or None.

    Raises:
        InvalidRequest: one is out of range.
    """
    if timeout_s is not None:
        check_seconds("extraction_timeout_s", timeout_s)
    failing = (
        None if on_model_failure is None else choice(OnModelFailure, on_model_failure, "on_model_failure")
    )
    return ExtractionOptions(failing, bool(background), timeout_s)
