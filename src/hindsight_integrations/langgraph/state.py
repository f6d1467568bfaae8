"""What nodes read from a state: the messages of people and agents, and the last question."""

# No `from __future__ import annotations`: see memories.py.

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    convert_to_messages,
    message_chunk_to_message,
)

from hindsight_integrations import InvalidRequest
from hindsight_integrations.langgraph.bank_finder import value_of
from hindsight_integrations.model.text import clean_text
from hindsight_integrations.validation.limits import MAX_QUERY

MESSAGES_OF_ROLE: dict[str, type[BaseMessage]] = {"user": HumanMessage, "assistant": AIMessage}


@dataclass(frozen=True, slots=True)
class Question:
    """The last question of the user.

    Attributes:
        text: as much of it as a query may have.
        timestamp: when, if the message says so.
    """

    text: str
    timestamp: str | float | None


def checked_roles(roles: Iterable[str]) -> tuple[type[BaseMessage], ...]:
    """The message classes of some roles.

    Raises:
        InvalidRequest: a role is neither "user" nor "assistant", or there is none.
    """
    chosen = (roles,) if isinstance(roles, str) else tuple(roles)
    if not chosen or not set(chosen) <= set(MESSAGES_OF_ROLE):
        raise InvalidRequest(
            "roles", f"{chosen!r} has other roles, or none", "Use 'user', 'assistant' or both."
        )
    return tuple(MESSAGES_OF_ROLE[role] for role in chosen)


def messages_of_roles(state: object, key: str, kinds: tuple[type[BaseMessage], ...]) -> list[BaseMessage]:
    """Messages of these kinds with text, in order: tool calls and tool results without words are left out.

    Raises:
        InvalidRequest: the state has no messages under this key.
    """
    found = value_of(state, key)
    if found is None:
        raise InvalidRequest(
            "messages_key", f"the state has no {key!r}", "Name the key of the state that holds the messages."
        )
    messages = map(message_chunk_to_message, convert_to_messages(found))
    return [message for message in messages if isinstance(message, kinds) and clean_text(str(message.text))]


def last_question(state: object, key: str) -> Question | None:
    """The user's last message, cut to what a query may have; None if there is none.

    Looked for from the end, so that a long conversation is not read whole.

    Raises:
        InvalidRequest: the state has no messages under this key.
    """
    found = value_of(state, key)
    if found is None:
        raise InvalidRequest(
            "messages_key", f"the state has no {key!r}", "Name the key of the state that holds the messages."
        )
    for given in reversed(found if isinstance(found, Sequence) else list(found)):
        (message,) = convert_to_messages([given])
        text = clean_text(str(message.text)) if isinstance(message, HumanMessage) else ""
        if text:
            return Question(text[:MAX_QUERY], message.additional_kwargs.get("timestamp"))
    return None


def question(given: object) -> Question | None:
    """A question that the state holds as a text; None if it is empty.

    Raises:
        InvalidRequest: it is no text.
    """
    if given is None:
        return None
    if not isinstance(given, str):
        raise InvalidRequest("query_key", f"{type(given).__name__} is no question", "Give a str there.")
    text = clean_text(given)
    return Question(text[:MAX_QUERY], None) if text else None
