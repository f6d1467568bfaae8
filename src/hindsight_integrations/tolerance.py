"""When the memory fails: which errors an agent's run shall see, and how the others are told without costing the user the answer."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum

from hindsight_integrations.errors import (
    BankNotFound,
    BankNotOpen,
    HindsightError,
    InvalidRequest,
    MissingDependency,
    ModelError,
    SchemaMismatch,
)

MISTAKES = (InvalidRequest, MissingDependency, BankNotFound, BankNotOpen, SchemaMismatch)
"""Mistakes of the program, which every run would meet again: they are raised whatever `on_error` says."""


class OnError(StrEnum):
    """What is done when the memory fails for a reason that is no mistake of the program."""

    QUEUE = "queue"
    """The turn is kept for later where that can be done, and the run goes on with a warning."""
    SKIP = "skip"
    """The run goes on with a warning."""
    RAISE = "raise"
    """The error is raised."""


@dataclass(frozen=True, slots=True)
class Tolerated:
    """A failure that a run went on with. Holds no memory text.

    Attributes:
        where: the part of the agent that met it.
        bank: whose memory; empty where it could not be told.
        error: the error's class; of a model's error no more is told, since its words may quote what was read.
        missing: what the run goes on without.
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
    """Let a run go on when the memory fails: the error is told once and becomes one line of the log.

    Args:
        on_error: RAISE lets every error pass.
        tell: how the framework at hand tells whoever watches the run.
        where: the part of the agent that works.
        bank: whose memory; empty where it could not be told.
        missing: what the run goes on without.
        remedy: what to do beside what the error says.
        log: the door's.

    Raises:
        HindsightError: a mistake of the program, or any error under RAISE.
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
        log.warning("%s of bank %r: %s; %s (%s)", where, bank, missing, reason, met.error)
