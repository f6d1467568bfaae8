"""Memories as they travel in a graph's state: plain dicts, which every checkpointer can store."""

# No `from __future__ import annotations` in this package's modules: LangGraph reads the annotations of node functions
# and of state schemas, and finds only strings otherwise: a state key is then dropped without a word.

from collections.abc import Iterable
from datetime import datetime
from typing import TypedDict

from hindsight_integrations.model.recalled import RecalledUnit
from hindsight_integrations.model.time import Interval, readable_time


class Memory(TypedDict):
    """One recalled memory in the state of a graph.

    Attributes:
        id: the unit's id, the same every time.
        kind: memory, or turn: a message that waits for extraction.
        text: what is remembered.
        fact_type: world, experience, opinion or observation.
        occurred_start: when what it describes began (ISO 8601, UTC); None if it has no time of its own.
        occurred_end: the first instant after it.
        mentioned_at: when it was said or learned.
        score: higher is better, comparable within one recall only.
        channels: its rank, from 1, in each channel that found it: semantic, keyword, graph, temporal.
    """

    id: str
    kind: str
    text: str
    fact_type: str
    occurred_start: str | None
    occurred_end: str | None
    mentioned_at: str
    score: float
    channels: dict[str, int]


def as_memory(recalled: RecalledUnit) -> Memory:
    """A recalled unit as a plain dict."""
    unit = recalled.unit
    return Memory(
        id=unit.id,
        kind=unit.kind.value,
        text=recalled.text,
        fact_type=unit.fact_type.value,
        occurred_start=unit.occurred.start.isoformat() if unit.occurred else None,
        occurred_end=unit.occurred.end.isoformat() if unit.occurred else None,
        mentioned_at=unit.mentioned_at.isoformat(),
        score=float(recalled.score),
        channels={channel.value: hit.rank for channel, hit in recalled.channels.items()},
    )


def format_memories(memories: Iterable[Memory]) -> str:
    """Memories for a prompt: one line each, best first, with its date; empty if there are none."""
    return "\n".join(map(_line, memories))


def _line(memory: Memory) -> str:
    text = " ".join(memory["text"].split())  # on one line, so that no memory can pass for two
    start, end, read = memory["occurred_start"], memory["occurred_end"], datetime.fromisoformat
    occurred = None if start is None or end is None else Interval(read(start), read(end))
    return f"- {text} ({readable_time(occurred, read(memory['mentioned_at']))})"
