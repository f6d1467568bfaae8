"""Graph state: MemoryState, memories as plain dicts and prompt text, and functions that read messages and questions."""

# Without `from __future__ import annotations`: LangGraph drops state keys whose annotation is a string.

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
        id: the unit's stable id.
        kind: "memory"; "turn" for a message that waits for extraction; or "table" for the records that the question is
            about, which come first.
        text: the memory's text; the lines of a table.
        fact_type: world, experience, opinion or observation.
        occurred_start: start of the event (ISO 8601, UTC); None if the memory has no event time.
        occurred_end: end of the event, exclusive.
        mentioned_at: time at which it was said or learned.
        score: higher is better; comparable within one recall only.
        channels: rank, from 1, in each channel that found it: semantic, keyword, graph, temporal.
        valid: False if the memory is no longer valid, as a recall with `as_of` may return.
        confidence: an opinion's confidence in [0, 1]; else None.
        when: the date in words, relative to the question; empty if none is shown.
        reason: the reason why it was returned: found, core, request, listed, overview or small_bank; see `RecallReason`.
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
    """State of a graph with memory: LangGraph's `messages` and the output of `create_recall_node`.

    Attributes:
        memories: the turn's memories, best first.
    """

    memories: list[Memory]


def as_memory(recalled: RecalledUnit) -> Memory:
    """Convert a recalled unit to a plain dict."""
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
    """Convert a recall result to plain dicts: the record tables first, then the memories."""
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


def recall_values(memories: list[Memory]) -> Mapping[str, Any]:
    """Return the fields of a recall event: ids, scores and channels, without text."""
    units = [memory for memory in memories if memory["kind"] != TABLE]
    return {
        "units": [memory["id"] for memory in units],
        "scores": [memory["score"] for memory in units],
        "channels": [memory["channels"] for memory in units],
        "tables": [memory["id"] for memory in memories if memory["kind"] == TABLE],
    }


def format_memories(memories: Iterable[Memory]) -> str:
    """Format memories for a prompt, one dated line each, in the given order; tables keep their lines.

    Opinions are marked as the agent's, with their confidence; memories that are no longer valid are marked as history.
    No memories give an empty string.
    """
    return "\n".join(map(_line, memories))


def with_memories(
    messages: Sequence[Any], memories: Iterable[Memory], *, heading: str = HEADING
) -> list[BaseMessage]:
    """Return a copy of the messages with the memories inserted before the text of the user's last message.

    The system message is unchanged, so that prompt caching keeps working. Use the result in a prompt only: in the state,
    the memories would be retained as part of the conversation. Without memories the messages are returned unchanged.

    Args:
        messages: the conversation, in any form LangChain accepts.
        memories: the recalled memories.
        heading: introduces the memories to the model.
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


USER = "user"  # the speaker of messages without a name


@dataclass(frozen=True, slots=True)
class Question:
    """The user's last question.

    Attributes:
        text: its text, cut to the maximum length of a query.
        timestamp: the message's timestamp, if it has one.
        message_id: the message's id; None if it has none, or if the question is not from a message.
        speaker: the message's name.
    """

    text: str
    timestamp: str | float | None
    message_id: str | None = None
    speaker: str = USER

    @property
    def asked(self) -> RecallOptions:
        """Return the options of `bank.recall` that the question determines."""
        return {"query_timestamp": self.timestamp, "speaker": self.speaker}


def messages_in(state: object, key: str) -> list[Any]:
    """Return the state's messages without summaries. Most are not converted, because there may be thousands.

    Raises:
        InvalidRequest: the state has no messages under this key, or an item is not a message.
    """
    return [_message(item) for item in _held(state, key) if not is_summary(item)]


def conversation(state: object, key: str) -> list[BaseMessage]:
    """Return all messages of the state as LangChain messages; empty if the key is missing.

    Raises:
        InvalidRequest: an item is not a message.
    """
    return [] if value_of(state, key) is None else [_converted(item) for item in _held(state, key)]


def _held(state: object, key: str) -> Sequence[Any]:
    found = value_of(state, key)
    if found is None:
        raise InvalidRequest(
            "messages_key", f"the state has no {key!r}", "Pass the state key that holds the messages."
        )
    if isinstance(found, str | Mapping | BaseMessage):
        return [found]
    if not isinstance(found, Iterable):
        raise _no_message(found)
    return found if isinstance(found, Sequence) else list(found)


def _message(item: Any) -> Any:  # noqa: ANN401 - any form of a message
    """Return dicts and complete messages unchanged; convert chunks, (role, text) pairs and strings to messages."""
    if isinstance(item, BaseMessageChunk):
        return message_chunk_to_message(item)
    return item if isinstance(item, BaseMessage | Mapping) else _converted(item)


def _converted(item: Any) -> BaseMessage:  # noqa: ANN401 - any form of a message
    try:
        (message,) = convert_to_messages([item])
    except (NotImplementedError, ValueError):
        raise _no_message(item) from None
    return message


def _no_message(item: object) -> InvalidRequest:
    return InvalidRequest(
        "messages",
        f"{type(item).__name__} is not a message",
        "Pass LangChain messages, dicts with role and content, (role, text) pairs or strings.",
    )


def is_summary(message: object) -> bool:
    """Return whether this message is a summary by LangChain's SummarizationMiddleware; its role is "user"."""
    extra = value_of(message, "additional_kwargs")
    return isinstance(extra, Mapping) and extra.get("lc_source") == "summarization"


def last_question(state: object, key: str) -> Question | None:
    """Return the user's last message as a question, cut to the maximum query length; None if it has no text.

    An image without text is not a question; the question of an earlier turn is never returned in its place.

    Raises:
        InvalidRequest: the state has no messages under this key, or an item that was read is not a message.
    """
    message = last_user_message(state, key)
    text = "" if message is None else clean_text(str(message.text))
    if message is None or not text:
        return None
    timestamp = read_or_none(message.additional_kwargs.get("timestamp"))
    return Question(text[:MAX_QUERY], timestamp, message.id, message.name or USER)


def last_user_message(state: object, key: str) -> HumanMessage | None:
    """Return the user's last message, or the last summary if summaries have replaced all user messages.

    Messages are read from the end, so that a long conversation is not converted whole.

    Raises:
        InvalidRequest: the state has no messages under this key, or an item that was read is not a message.
    """
    summary = None
    for item in reversed(_held(state, key)):
        message = _converted(item)
        if isinstance(message, HumanMessage) and not is_summary(message):
            return message
        if isinstance(message, HumanMessage) and summary is None:
            summary = message
    return summary


def read_or_none(timestamp: object) -> str | float | None:
    """Return a readable timestamp unchanged, else None; the retain node warns about unreadable timestamps."""
    try:
        checked_moment(timestamp, "timestamp")
    except InvalidRequest:
        return None
    return timestamp if isinstance(timestamp, str | int | float) and timestamp else None


def question(given: object) -> Question | None:
    """Convert a string to a question; None if it is empty.

    Raises:
        InvalidRequest: the value is not a string.
    """
    if given is None:
        return None
    if not isinstance(given, str):
        raise InvalidRequest(
            "query_key", f"must name a string, not {type(given).__name__}", "Store the question as a str."
        )
    text = clean_text(given)
    return Question(text[:MAX_QUERY], None) if text else None
