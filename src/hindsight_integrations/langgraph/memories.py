"""Memories as they travel in a graph: plain dicts, which every checkpointer can store, and as they stand in a prompt."""

# No `from __future__ import annotations` in this package's modules: LangGraph reads the annotations of node functions
# and of state schemas, and finds only strings otherwise: a state key is then dropped without a word.

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NotRequired, TypedDict

from langchain_core.messages import BaseMessage, HumanMessage, convert_to_messages
from langgraph.graph import MessagesState

from hindsight_integrations.model.recalled import RecalledUnit
from hindsight_integrations.model.record_digest import TABLE, RecordDigest
from hindsight_integrations.model.results import RecallResult
from hindsight_integrations.model.time import Interval, readable_time
from hindsight_integrations.prompts.recalled import HEADING, marked_line, memories_block, shown_time


class Memory(TypedDict):
    """One recalled memory in the state of a graph.

    Attributes:
        id: the unit's id, the same every time.
        kind: memory; turn: a message that waits for extraction; or table: the records that the question asks over, in front.
        text: what is remembered; of a table its lines.
        fact_type: world, experience, opinion or observation.
        occurred_start: when what it describes began (ISO 8601, UTC); None if it has no time of its own.
        occurred_end: the first instant after it.
        mentioned_at: when it was said or learned.
        score: higher is better, comparable within one recall only.
        channels: its rank, from 1, in each channel that found it: semantic, keyword, graph, temporal.
        valid: False for history, of a recall `as_of` an earlier time: it does not hold now.
        confidence: of an opinion, in [0, 1]; None for others.
        when: its date in words, seen from the question; empty where none is shown.
        reason: why it is there: found, core, request, overview or small_bank; see `RecallReason`.
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
    valid: NotRequired[bool]
    confidence: NotRequired[float | None]
    when: NotRequired[str]
    reason: NotRequired[str]


class MemoryState(MessagesState):
    """State of a graph with memory: `messages` as LangGraph's `MessagesState` has them, and what `create_recall_node` writes.

    Attributes:
        memories: of this turn, best first.
    """

    memories: list[Memory]


def as_memory(recalled: RecalledUnit) -> Memory:
    """A recalled unit as a plain dict."""
    unit = recalled.unit
    return Memory(
        id=unit.id,
        kind=unit.kind.value,
        text=recalled.beside_date,
        fact_type=unit.fact_type.value,
        occurred_start=unit.occurred.start.isoformat() if unit.occurred else None,
        occurred_end=unit.occurred.end.isoformat() if unit.occurred else None,
        mentioned_at=unit.mentioned_at.isoformat(),
        score=float(recalled.score),
        channels={channel.value: hit.rank for channel, hit in recalled.channels.items()},
        valid=recalled.valid and unit.closed_at is None,
        confidence=unit.confidence,
        when=shown_time(recalled),
        reason=recalled.reason.value,
    )


def as_memories(found: RecallResult) -> list[Memory]:
    """What was recalled as plain dicts: the table of records, if there is one, and the memories."""
    return [*map(_table, found.records), *map(as_memory, found.units)]


def _table(table: RecordDigest) -> Memory:
    return Memory(
        id=table.id,
        kind=TABLE,
        text=table.text,
        fact_type="world",
        occurred_start=None,
        occurred_end=None,
        mentioned_at=table.rows[-1].at.isoformat() if table.rows else "",
        score=0.0,
        channels={},
        valid=True,
        confidence=None,
    )


def told_of(memories: list[Memory]) -> Mapping[str, Any]:
    """Of the memories what an event may tell: no text."""
    units = [memory for memory in memories if memory["kind"] != TABLE]
    return {
        "units": [memory["id"] for memory in units],
        "scores": [memory["score"] for memory in units],
        "channels": [memory["channels"] for memory in units],
        "tables": [memory["id"] for memory in memories if memory["kind"] == TABLE],
    }


def format_memories(memories: Iterable[Memory]) -> str:
    """Memories for a prompt: one line each, a table as its lines, in their order, with its date, and what a reader must know of it.

    An opinion is marked as the agent's, with how firmly it is held; what holds no more is marked as history. Empty if
    there are none.
    """
    return "\n".join(map(_line, memories))


def with_memories(
    messages: Sequence[Any], memories: Iterable[Memory], *, heading: str = HEADING
) -> list[BaseMessage]:
    """The messages for a model, with memories beside the last one of the user; without memories as they are.

    The system message stays as it is, so that services can keep the prefix of the prompt. The messages given are not changed, and
    what this returns belongs into a prompt alone, never into the state: there it would be remembered itself.

    Args:
        messages: of the conversation, in any form LangChain takes.
        memories: as recalled.
        heading: what the model is told about them.
    """
    given = convert_to_messages(messages)
    lines = [_line(memory) for memory in memories]
    place = next((at for at in reversed(range(len(given))) if isinstance(given[at], HumanMessage)), None)
    if not lines or place is None:
        return given
    asked, block = given[place], memories_block(lines, heading)
    content: str | list[Any]
    if isinstance(asked.content, str):
        content = f"{block}\n\n{asked.content}"
    else:
        content = [{"type": "text", "text": block}, *asked.content]
    return [*given[:place], asked.model_copy(update={"content": content}), *given[place + 1 :]]


def _line(memory: Memory) -> str:
    if memory["kind"] == TABLE:
        return memory["text"]
    start, end, read = memory["occurred_start"], memory["occurred_end"], datetime.fromisoformat
    occurred = None if start is None or end is None else Interval(read(start), read(end))
    return marked_line(
        memory["text"],
        memory.get("when", readable_time(occurred, read(memory["mentioned_at"]))),
        opinion=memory["fact_type"] == "opinion",
        confidence=memory.get("confidence"),
        valid=memory.get("valid", True),
    )
