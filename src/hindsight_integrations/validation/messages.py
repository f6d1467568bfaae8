"""Conversion of messages: Message, dicts, and those of LangChain and LlamaIndex, without importing either framework."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from hindsight_integrations.choices import choice
from hindsight_integrations.errors import InvalidRequest, shown
from hindsight_integrations.language.names import AGENT_NAMES
from hindsight_integrations.model.requests import Message
from hindsight_integrations.model.text import clean_text, content_hash
from hindsight_integrations.model.turns import Role
from hindsight_integrations.validation.limits import MAX_TEXT, checked_list, checked_words
from hindsight_integrations.validation.llamaindex_documents import plain

ROLES = {"human": Role.USER, "ai": Role.ASSISTANT, "user": Role.USER, "assistant": Role.ASSISTANT}
TOOL_ROLES = frozenset({"tool", "function"})
NOT_CONVERSATION = TOOL_ROLES | {"system", "developer", "remove"}


def role_of(message: Message) -> Role:
    """Return a message's role. If it has none, the role is derived from the speaker's name."""
    if message.role is not None:
        return Role(message.role)
    return Role.ASSISTANT if message.speaker.casefold() in AGENT_NAMES else Role.USER


def identified(items: Sequence[Any]) -> list[Any]:
    """Give each item of a conversation an id. A missing id is derived from the text and how often it occurred before.

    Unlike a position, this id stays the same when earlier messages are trimmed.
    """
    # Fast path for a LangGraph state, which may have thousands of messages with ids.
    if all(getattr(item, "id", None) for item in items):
        return list(items)
    said: Counter[str] = Counter()
    return [_identified(item, said) for item in plain(items)]


def _identified(item: Any, said: Counter[str]) -> Any:  # noqa: ANN401 - a Message, dict or LangChain message
    if id_of(item) is not None or role_named(item) in NOT_CONVERSATION - TOOL_ROLES:
        return item
    message = read_message(item)
    digest = content_hash(checked_words(message.speaker, "speaker"), checked_words(message.text, "text"))[:16]
    said[digest] += 1
    derived = f"{digest}:{said[digest]}"
    if isinstance(item, Mapping):
        return {**item, "id": derived}
    if isinstance(item, Message):
        return replace(item, id=derived)
    return item.model_copy(update={"id": derived})  # a LangChain message; a copy keeps its tool calls


def id_of(item: Any) -> str | None:  # noqa: ANN401 - a Message, dict or LangChain message
    """Return a message's id, or else the id of the tool call that it answers; None if it has neither."""
    read = item.get if isinstance(item, Mapping) else partial(getattr, item)
    named = (read("id", None), read("tool_call_id", None))
    identity = next((name for name in named if name is not None and name != ""), None)
    if identity is None:
        return None
    try:
        return str(identity)
    except ValueError as error:  # a number with more digits than Python converts to text
        raise InvalidRequest(
            "messages", f"an id cannot be converted to text: {error}", "Pass it as a str."
        ) from None


def as_message(item: Any) -> Message | None:  # noqa: ANN401 - accepts any caller's message type
    """Convert a Message, dict or LangChain message to a Message; None for system and tool messages.

    Raises:
        InvalidRequest: the item has another type.
    """
    return None if role_named(item) in NOT_CONVERSATION else read_message(item)


def role_named(item: Any) -> str:  # noqa: ANN401 - a Message, dict or LangChain message
    """Return the lower-case role of a dict or a LangChain message; empty for a Message."""
    if isinstance(item, Mapping):
        return checked_words(item.get("role") or item.get("type") or "user", "role").lower()
    return "" if isinstance(item, Message) else str(getattr(item, "type", ""))


def read_message(item: Any) -> Message:  # noqa: ANN401 - a Message, dict or LangChain message
    """Convert an item of a conversation with any role to a Message.

    Raises:
        InvalidRequest: the item is not a message.
    """
    if isinstance(item, Message):
        return item
    if isinstance(item, Mapping):
        return _from_dict(item)
    if hasattr(item, "content") and hasattr(item, "type"):
        return _from_langchain(item)
    raise InvalidRequest(
        "messages",
        f"{type(item).__name__} is not a message",
        "Pass Message, a dict with role and content, or a message of LangChain or LlamaIndex.",
    )


def _from_dict(item: Mapping[str, Any]) -> Message:
    role, text = role_named(item), item.get("content", item.get("text"))
    if text is None and ("content" in item or "text" in item or item.get("tool_calls")):
        text = ""  # as in OpenAI's refusals and in messages with only tool calls
    if text is None:
        raise InvalidRequest(
            "messages", f"a dict with keys {sorted(item)} has no content", "Add a 'content' key."
        )
    names = (name for name in (item.get("speaker"), item.get("name")) if isinstance(name, str) and name)
    speaker = next(names, ROLES.get(role, role))  # names that are not text are ignored
    identity = item.get("id") if isinstance(item.get("id"), str | int) else id_of(item)
    return Message(text_of(text), speaker, item.get("timestamp"), identity, ROLES.get(role))


def _from_langchain(item: Any) -> Message:  # noqa: ANN401 - duck-typed, so that langchain need not be imported
    speaker = getattr(item, "name", None) or ROLES.get(item.type, item.type)
    stamp = getattr(item, "additional_kwargs", {}).get("timestamp")
    role = ROLES.get(item.type)
    return Message(text_of(item.content), str(speaker), stamp, getattr(item, "id", None), role)


def text_of(content: Any) -> str:  # noqa: ANN401 - content blocks are provider-shaped dicts
    """Return the text of a message's content, which may consist of blocks. Images and other blocks are ignored.

    Raises:
        InvalidRequest: the content is neither text nor a list of blocks.
    """
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, Sequence) and not isinstance(content, bytes) else None
    if blocks is not None and all(isinstance(block, str | Mapping) for block in blocks):
        parts = (block if isinstance(block, str) else block.get("text", "") for block in blocks)
        return "\n".join(part for part in parts if isinstance(part, str) and part)
    raise InvalidRequest(
        "messages", f"content of type {type(content).__name__} is not text", "Pass text or content blocks."
    )


MAX_TOOL_RESULT = 4_000  # maximum characters of a call and its result
MAX_ARGUMENTS = 1_000  # maximum characters of a call's arguments

Calls = Mapping[str, tuple[str, object]]
"""The name and arguments of each tool call, by its id."""


def checked_roles(roles: Iterable[Role | str]) -> frozenset[Role]:
    """Validate the roles to retain.

    Raises:
        InvalidRequest: a role is unknown, or the list is empty.
    """
    names = (roles,) if isinstance(roles, str) else checked_list(roles, "roles")
    if not names:
        raise InvalidRequest("roles", "it is empty", "Pass one or more of user, assistant and tool.")
    return frozenset(choice(Role, role, "roles") for role in names)


def heard(items: Sequence[Any], roles: frozenset[Role]) -> list[Message]:
    """Return the non-empty messages with these roles, in order.

    The text of a tool result includes its call, which must be one of the items. An assistant message with only tool calls
    counts as empty. Messages over the limit are truncated.

    Args:
        items: Message, dicts with role and content, or LangChain messages.
        roles: roles to keep. System messages are never kept.

    Raises:
        InvalidRequest: an item is not a message.
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
    """Build a message from a tool's call and result. Its text is empty if the result is empty."""
    called, arguments = calls.get(_word(_field(item, "tool_call_id")), ("", None))
    name = _word(_field(item, "name")) or called or "unnamed"
    result = clean_text(text_of(_field(item, "content") or ""))
    outcome = "failed" if _field(item, "status") == "error" else "returned"
    text = f"{name}({cut(_written(arguments), MAX_ARGUMENTS)}) {outcome}: {result}" if result else ""
    extra = _field(item, "additional_kwargs")
    stamp = _field(item, "timestamp") or (extra.get("timestamp") if isinstance(extra, Mapping) else None)
    return Message(cut(text, MAX_TOOL_RESULT), f"tool {name}", stamp, id_of(item), Role.TOOL)


def _calls(items: Sequence[Any]) -> Iterator[tuple[str, tuple[str, object]]]:
    for item in items:
        made = _field(item, "tool_calls")
        for call in made if isinstance(made, Sequence) else ():
            if isinstance(call, Mapping):
                function = call.get("function")
                written = (
                    function if isinstance(function, Mapping) else call
                )  # OpenAI's form, else LangChain's
                arguments = written.get("args", written.get("arguments"))
                yield _word(call.get("id")), (_word(written.get("name")), arguments)


def _word(value: object) -> str:
    """Return a call's name or id; empty if the value is not text."""
    return value if isinstance(value, str) else ""


def _written(arguments: object) -> str:
    """Format the arguments of a call as `name=value`, with JSON values."""
    if not isinstance(arguments, Mapping):
        return _word(arguments)
    try:
        return ", ".join(
            f"{name}={json.dumps(value, ensure_ascii=False, default=shown)}"
            for name, value in arguments.items()
        )
    except (
        TypeError,
        ValueError,
    ):  # keys that JSON does not allow, or an integer with too many digits
        return shown(arguments)


def _field(item: Any, name: str) -> Any:  # noqa: ANN401 - a Message, dict or LangChain message
    return item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)


def cut(text: str, limit: int) -> str:
    """Truncate a text to at most `limit` characters, including a note of its original length."""
    if len(text) <= limit:
        return text
    mark = f" ... [cut: {len(text):,} characters]"
    return text[: limit - len(mark)] + mark
