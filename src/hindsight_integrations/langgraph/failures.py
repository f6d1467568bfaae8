"""When the memory fails in a graph: the run goes on with a warning in its stream, unless it shall see the error."""

# No `from __future__ import annotations`: see memories.py.

import logging
from contextlib import AbstractContextManager

from hindsight_integrations.langgraph.events import EventKind, emit
from hindsight_integrations.tolerance import OnError, Tolerated
from hindsight_integrations.tolerance import tolerated as tolerated_anywhere

_log = logging.getLogger("hindsight_integrations.langgraph")


def tolerated(
    on_error: OnError, *, node: str, bank: str, missing: str, remedy: str = ""
) -> AbstractContextManager[None]:
    """Let a run go on when the memory fails: the error becomes one warning event and one line of the log.

    Args:
        on_error: RAISE lets every error pass; the node's retry policy, if any, then decides.
        node: the node's name.
        bank: whose memory; empty where it could not be told.
        missing: what the run goes on without.
        remedy: what to do beside what the error says.

    Raises:
        HindsightError: a mistake of the program, or any error under RAISE.
    """
    return tolerated_anywhere(
        on_error, _warn, where=node, bank=bank, missing=missing, remedy=remedy, log=_log
    )


def _warn(met: Tolerated) -> None:
    emit(EventKind.WARNING, met.bank, node=met.where, error=met.error, missing=met.missing, remedy=met.remedy)
