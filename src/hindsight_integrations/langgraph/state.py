"""What nodes read from a state: the messages of people and agents, and the last question."""

# No `from __future__ import annotations`: see memories.py.

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import (
    BaseMessage,
    BaseMessageChunk,
    HumanMessage,
    convert_to_messages,
    message_chunk_to_message,
)

from hindsight_integrations import InvalidRequest
from hindsight_integrations.langgraph.bank_finder import value_of
from hindsight_integrations.model.options import RecallOptions
from hindsight_integrations.model.text import clean_text
from hindsight_integrations.validation.limits import MAX_QUERY, checked_moment

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
