"""What nodes read from a state: the messages of people and agents, and the last question."""

# No `from __future__ import annotations`: see memories.py.

from collections.abc import Iterable
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
    """The user's last message, cut to what a query may have; None if there is none."""
    spoken = messages_of_roles(state, key, (HumanMessage,))
    if not spoken:
        return None
    return Question(
        clean_text(str(spoken[-1].text))[:MAX_QUERY], spoken[-1].additional_kwargs.get("timestamp")
    )
