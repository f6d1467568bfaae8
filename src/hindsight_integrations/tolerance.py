"""Error policy of the integrations: which memory errors fail an agent's run and which become warnings."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum

from hindsight_integrations.errors import (
    AccessDenied,
    BankNotFound,
    BankNotOpen,
    HindsightError,
    InvalidRequest,
    MissingDependency,
    ModelError,
    SchemaMismatch,
)

MISTAKES = (AccessDenied, InvalidRequest, MissingDependency, BankNotFound, BankNotOpen, SchemaMismatch)
"""Programming errors. They are raised regardless of `on_error`, because every run would fail in the same way."""


class OnError(StrEnum):
    """What to do when memory fails for a reason other than a programming error."""

    QUEUE = "queue"
    """Queue the turn for later if possible; the run continues with a warning."""
    SKIP = "skip"
    """The run continues with a warning."""
    RAISE = "raise"
    """The error is raised."""


@dataclass(frozen=True, slots=True)
class Tolerated:
    """A failure despite which the run continued. Contains no memory text.

    Attributes:
        where: the part of the agent that failed.
        bank: the bank's name; empty if unknown.
        error: the error's class; a model error's message is omitted, because it may quote the prompt.
        missing: what the run continues without.
        remedy: what to do.
    """

    where: str
    bank: str
    error: str
    missing: str
    remedy: str


@contextmanager
def tolerated(
    on_error: OnError,
    tell: Callable[[Tolerated], object],
    *,
    where: str,
    bank: str,
    missing: str,
    remedy: str = "",
    log: logging.Logger,
) -> Iterator[None]:
    """Let a run continue when memory fails: report the error once and write one log line.

    Args:
        on_error: RAISE re-raises every error.
        tell: reports the failure through the agent framework.
        where: the part of the agent that is running.
        bank: the bank's name; empty if unknown.
        missing: what the run continues without.
        remedy: advice in addition to the error's own.
        log: the integration's logger.

    Raises:
        HindsightError: a programming error, or any error under RAISE.
    """
    try:
        yield
    except MISTAKES:
        raise
    except HindsightError as error:
        if on_error is OnError.RAISE:
            raise
        reason = "the model failed" if isinstance(error, ModelError) else str(error)
        met = Tolerated(where, bank, type(error).__name__, missing, " ".join(filter(None, (reason, remedy))))
        tell(met)
        log.warning("%s on bank %r: %s; %s (%s)", where, bank, missing, reason, met.error)
