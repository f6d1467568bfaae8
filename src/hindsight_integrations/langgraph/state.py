"""What nodes read from a state and write into it: messages, the last question, and memories as plain dicts and in a prompt."""

# No `from __future__ import annotations` in this package's modules: LangGraph reads the annotations of node functions
# and of state schemas, and finds only strings otherwise: a state key is then dropped without a word.

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NotRequired, TypedDict

from langchain_core.messages import (
    BaseMessage,
    BaseMessageChunk,
    HumanMessage,
    convert_to_messages,
    message_chunk_to_message,
)
from langgraph.graph import MessagesState

from hindsight_integrations import InvalidRequest
from hindsight_integrations.langgraph.bank_finder import value_of
from hindsight_integrations.model.options import RecallOptions
from hindsight_integrations.model.recalled import RecalledUnit
from hindsight_integrations.model.record_digest import TABLE, RecordDigest
from hindsight_integrations.model.results import RecallResult
from hindsight_integrations.model.text import clean_text
from hindsight_integrations.model.time import Interval, readable_time
from hindsight_integrations.prompts.recalled import HEADING, marked_line, memories_block, shown_time
from hindsight_integrations.validation.limits import MAX_QUERY, checked_moment


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


USER = "user"  # who speaks where a message has no name


@dataclass(frozen=True, slots=True)
class Question:
    """The last question of the user.

    Attributes:
        text: as much of it as a query may have.
        timestamp: when, if the message says so.
        message_id: of the message; None where it has none, or the question is a text by itself.
        speaker: who asks: the message's name.
    """

    text: str
    timestamp: str | float | None
    message_id: str | None = None
    speaker: str = USER

    @property
    def asked(self) -> RecallOptions:
        """What `bank.recall` is told of it beside its text."""
        return {"query_timestamp": self.timestamp, "speaker": self.speaker}


def messages_in(state: object, key: str) -> list[Any]:
    """What was said, as it is: none is converted that need not be, since there may be thousands of them.

    A summary in their place was said by nobody, and is left out.

    Raises:
        InvalidRequest: the state has no messages under this key, or an item is none.
    """
    return [_message(item) for item in _held(state, key) if not is_summary(item)]


def conversation(state: object, key: str) -> list[BaseMessage]:
    """All messages of a state, each converted; none where the state has none.

    Raises:
        InvalidRequest: an item is no message.
    """
    return [] if value_of(state, key) is None else [_converted(item) for item in _held(state, key)]


def _held(state: object, key: str) -> Sequence[Any]:
    found = value_of(state, key)
    if found is None:
        raise InvalidRequest(
            "messages_key", f"the state has no {key!r}", "Name the key of the state that holds the messages."
        )
    if isinstance(found, str | Mapping | BaseMessage):
        return [found]
    if not isinstance(found, Iterable):
        raise _no_message(found)
    return found if isinstance(found, Sequence) else list(found)


def _message(item: Any) -> Any:  # noqa: ANN401 - whatever a state holds as a message
    """A dict or a whole message as it is; a piece of one, a (role, text) pair or a text as a message."""
    if isinstance(item, BaseMessageChunk):
        return message_chunk_to_message(item)
    return item if isinstance(item, BaseMessage | Mapping) else _converted(item)


def _converted(item: Any) -> BaseMessage:  # noqa: ANN401 - whatever a state holds as a message
    try:
        (message,) = convert_to_messages([item])
    except (NotImplementedError, ValueError):
        raise _no_message(item) from None
    return message


def _no_message(item: object) -> InvalidRequest:
    return InvalidRequest(
        "messages",
        f"{type(item).__name__} is not a message",
        "Pass LangChain messages, dicts with role and content, (role, text) pairs or texts.",
    )


def is_summary(message: object) -> bool:
    """Whether LangChain's SummarizationMiddleware wrote this in place of messages; it looks like one of the user."""
    extra = value_of(message, "additional_kwargs")
    return isinstance(extra, Mapping) and extra.get("lc_source") == "summarization"


def last_question(state: object, key: str) -> Question | None:
    """The user's last message, cut to what a query may have; None if there is none.

    Looked for from the end, so that a long conversation is not read whole. A summary is one of these only where it stands
    for everything that the user said.

    Raises:
        InvalidRequest: the state has no messages under this key, or one that is read is none.
    """
    for given in reversed(_held(state, key)):
        message = _converted(given)
        text = clean_text(str(message.text)) if isinstance(message, HumanMessage) else ""
        if text:
            timestamp = read_or_none(message.additional_kwargs.get("timestamp"))
            return Question(text[:MAX_QUERY], timestamp, message.id, message.name or USER)
    return None


def read_or_none(timestamp: object) -> str | float | None:
    """A timestamp that can be read, as it is; None for any other: retaining tells of it."""
    try:
        checked_moment(timestamp, "timestamp")
    except InvalidRequest:
        return None
    return timestamp if isinstance(timestamp, str | int | float) and timestamp else None


def question(given: object) -> Question | None:
    """A question that the state holds as a text; None if it is empty.

    Raises:
        InvalidRequest: it is no text.
    """
    if given is None:
        return None
    if not isinstance(given, str):
        raise InvalidRequest("query_key", f"{type(given).__name__} is not a question", "Give a str there.")
    text = clean_text(given)
    return Question(text[:MAX_QUERY], None) if text else None
