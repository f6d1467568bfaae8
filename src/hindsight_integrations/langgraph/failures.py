"""When the memory fails: which errors a run shall see, and how the others are told without costing the user the answer."""

# No `from __future__ import annotations`: see memories.py.

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum

from hindsight_integrations import (
    BankNotFound,
    HindsightError,
    InvalidRequest,
    MissingDependency,
    ModelError,
    SchemaMismatch,
)
from hindsight_integrations.langgraph.events import EventKind, emit

MISTAKES = (InvalidRequest, MissingDependency, BankNotFound, SchemaMismatch)
"""Mistakes of the program, which every run would meet again: they are raised whatever `on_error` says."""

_log = logging.getLogger("hindsight_integrations.langgraph")


class OnError(StrEnum):
    """What a node does when the memory fails for a reason that is no mistake of the program."""

    QUEUE = "queue"
    """The turn is kept for later where that can be done, and the run goes on with a warning."""
    SKIP = "skip"
    """The run goes on with a warning."""
    RAISE = "raise"
    """The error is raised; the node's retry policy, if any, then decides."""


@contextmanager
def tolerated(on_error: OnError, *, node: str, bank: str, missing: str, remedy: str = "") -> Iterator[None]:
    """Let a run go on when the memory fails: the error becomes one warning event and one line of the log.

    Neither holds memory text: of a model's error only its class is told, since its words may quote what was read.

    Args:
        on_error: RAISE lets every error pass.
        node: the node's name.
        bank: whose memory; empty where it could not be told.
        missing: what the run goes on without.
        remedy: what to do beside what the error says.

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
        kind = type(error).__name__
        reason = "the model failed" if isinstance(error, ModelError) else str(error)
        emit(
            EventKind.WARNING,
            bank,
            node=node,
            error=kind,
            missing=missing,
            remedy=" ".join(filter(None, (reason, remedy))),
        )
        _log.warning("%s of bank %r: %s; %s (%s)", node, bank, missing, reason, kind)
