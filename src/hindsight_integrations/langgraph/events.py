"""What the nodes tell whoever streams a graph with `stream_mode="custom"`: plain dicts, without the text of memories."""

# No `from __future__ import annotations`: see memories.py.

from enum import StrEnum
from typing import Any

from hindsight_integrations.langgraph.node import current_runtime


class EventKind(StrEnum):
    """What an event of the memory tells of."""

    RETAINED = "retained"
    """What a turn changed: `units` that stand for its new messages, `superseded`, `restored` (ids), `created` of the units,
    `queued` (passages that wait for the model)."""
    RECALLED = "recalled"
    """What was found: `units` (ids), `scores`, `channels`."""
    SETTLED = "settled"
    """What of the waiting work was done: `done`, `failed` (tasks), `created` (memories)."""
    OPINION = "opinion"
    """What became of an opinion: `outcome`, `opinion` (id), `before`, `after` (confidence)."""
    WARNING = "warning"
    """The memory failed and the run went on: `node`, `error` (class), `missing`, `remedy`."""


def emit(kind: EventKind, bank: str, **values: Any) -> None:  # noqa: ANN401 - whatever JSON holds
    """Send one event to the run's stream: {"type": "hindsight", "kind": ..., "bank": ..., ...}.

    Nothing happens where nobody streams, or outside a graph.

    Args:
        kind: what it tells of.
        bank: whose memory; empty where it could not be told.
        values: more of it, JSON-able.
    """
    current_runtime().stream_writer({"type": "hindsight", "kind": kind.value, "bank": bank, **values})
