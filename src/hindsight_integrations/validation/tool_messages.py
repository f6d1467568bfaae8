"""The messages of a conversation that are listened to: of some roles, tool results with the calls they answer, long ones cut. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hindsight_integrations.choices import choice
from hindsight_integrations.errors import InvalidRequest, shown
from hindsight_integrations.model.requests import Message
from hindsight_integrations.model.text import clean_text
from hindsight_integrations.model.turns import Role
from hindsight_integrations.validation.limits import MAX_TEXT, checked_list
from hindsight_integrations.validation.messages import TOOL_ROLES, as_message, id_of, role_named, text_of
from hindsight_integrations.validation.roles import role_of

MAX_TOOL_RESULT = 4_000  # characters, call and result together
MAX_ARGUMENTS = 1_000  # characters of a call's arguments

Calls = Mapping[str, tuple[str, object]]
"""Name and arguments of each tool call by its id."""


def checked_roles(roles: Iterable[Role | str]) -> frozenset[Role]:
    """The roles that are listened to.

    Raises:
        InvalidRequest: one is none, or there is none.
    """
    given = (roles,) if isinstance(roles, str) else checked_list(roles, "roles")
    if not given:
        raise InvalidRequest("roles", "there is none", "Name user, assistant or tool, or several of them.")
    return frozenset(choice(Role, role, "roles") for role in given)


def heard(items: Sequence[Any], roles: frozenset[Role]) -> list[Message]:
    """The messages of these roles, in order, without those that say nothing.

    A tool result says what was called as well; the call is looked for among the items. An assistant's message that only
    calls tools says nothing. What is over the limit of a message is cut, since no turn shall be lost for its length.

    Args:
        items: Message, dicts with role and content, or LangChain messages.
        roles: whose messages; those of the system are nobody's here.

    Raises:
        InvalidRequest: an item is no message.
    """
    calls = dict(_calls(items)) if Role.TOOL in roles else {}
    messages = (_heard(item, calls) for item in items)
    return [
        message
        for message in messages
        if message is not None and role_of(message) in roles and clean_text(message.text)
    ]


def _heard(item: Any, calls: Calls) -> Message | None:  # noqa: ANN401 - a Message, dict or LangChain message
    if role_named(item) in TOOL_ROLES:
        return _tool_result(item, calls)
    message = as_message(item)
    return message if message is None else replace(message, text=cut(message.text, MAX_TEXT))


def _tool_result(item: Any, calls: Calls) -> Message:  # noqa: ANN401 - a dict or LangChain message
    """What a tool gave back, and what had been asked of it; no text where it gave back none."""
    called, arguments = calls.get(_word(_field(item, "tool_call_id")), ("", None))
    name = _word(_field(item, "name")) or called or "unnamed"
    result = clean_text(text_of(_field(item, "content") or ""))
    outcome = "failed" if _field(item, "status") == "error" else "returned"
    text = f"{name}({cut(_written(arguments), MAX_ARGUMENTS)}) {outcome}: {result}" if result else ""
    beside = _field(item, "additional_kwargs")
    stamp = _field(item, "timestamp") or (beside.get("timestamp") if isinstance(beside, Mapping) else None)
    return Message(cut(text, MAX_TOOL_RESULT), f"tool {name}", stamp, id_of(item), Role.TOOL)


def _calls(items: Sequence[Any]) -> Iterator[tuple[str, tuple[str, object]]]:
    for item in items:
        made = _field(item, "tool_calls")
        for call in made if isinstance(made, Sequence) else ():
            if isinstance(call, Mapping):
                function = call.get("function")
                written = function if isinstance(function, Mapping) else call  # OpenAI's form, or LangChain's
                arguments = written.get("args", written.get("arguments"))
                yield _word(call.get("id")), (_word(written.get("name")), arguments)


def _word(value: object) -> str:
    """A name or id of a call; of what is no text, none."""
    return value if isinstance(value, str) else ""


def _written(arguments: object) -> str:
    """Arguments of a call as they stand in code: names and JSON values."""
    if not isinstance(arguments, Mapping):
        return _word(arguments)
    try:
        return ", ".join(
            f"{name}={json.dumps(value, ensure_ascii=False, default=shown)}"
            for name, value in arguments.items()
        )
    except (TypeError, ValueError):  # keys that JSON has not, or a number of more digits than Python writes
        return shown(arguments)


def _field(item: Any, name: str) -> Any:  # noqa: ANN401 - a Message, dict or LangChain message
    return item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)


def cut(text: str, limit: int) -> str:
    """A text of at most `limit` characters; where it was longer its end says how long."""
    if len(text) <= limit:
        return text
    mark = f" ... [cut: {len(text):,} characters]"
    return text[: limit - len(mark)] + mark
