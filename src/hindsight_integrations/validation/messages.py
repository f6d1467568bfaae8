"""Messages as callers have them: our own, dicts, LangChain's and LlamaIndex's, read without importing either framework. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.model.requests import Message
from hindsight_integrations.model.text import content_hash
from hindsight_integrations.model.turns import Role
from hindsight_integrations.validation.limits import checked_words
from hindsight_integrations.validation.llamaindex_messages import plain

ROLES = {"human": Role.USER, "ai": Role.ASSISTANT, "user": Role.USER, "assistant": Role.ASSISTANT}
TOOL_ROLES = frozenset({"tool", "function"})
NOT_CONVERSATION = TOOL_ROLES | {"system", "developer", "remove"}


def identified(items: Sequence[Any]) -> list[Any]:
    """The items of a conversation, each with an id: one without gets it from its text, and how often that was said before it.

    Unlike a position, that stays when earlier messages are trimmed.
    """
    if all(
        getattr(item, "id", None) for item in items
    ):  # as in a state that LangGraph keeps, of thousands perhaps
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
    return item.model_copy(update={"id": derived})  # LangChain's; the tool calls of a message stay with it


def id_of(item: Any) -> str | None:  # noqa: ANN401 - a Message, dict or LangChain message
    """The id that the caller gave a message, or that of the call whose result it is; None if there is neither."""
    read = item.get if isinstance(item, Mapping) else partial(getattr, item)
    named = (read("id", None), read("tool_call_id", None))
    found = next((given for given in named if given is not None and given != ""), None)
    if found is None:
        return None
    try:
        return str(found)
    except ValueError as error:  # a number of more digits than Python writes
        raise InvalidRequest("messages", f"an id cannot be written: {error}", "Give it as a text.") from None


def as_message(item: Any) -> Message | None:  # noqa: ANN401 - this is the door where any caller's message type comes in
    """A Message, dict or LangChain message as a Message; None for system and tool messages.

    Raises:
        InvalidRequest: it is none of these.
    """
    return None if role_named(item) in NOT_CONVERSATION else read_message(item)


def role_named(item: Any) -> str:  # noqa: ANN401 - a Message, dict or LangChain message
    """The role of a dict or a LangChain message, in small letters; a Message takes part in any role."""
    if isinstance(item, Mapping):
        return checked_words(item.get("role") or item.get("type") or "user", "role").lower()
    return "" if isinstance(item, Message) else str(getattr(item, "type", ""))


def read_message(item: Any) -> Message:  # noqa: ANN401 - a Message, dict or LangChain message
    """An item of a conversation as a Message, whatever its role.

    Raises:
        InvalidRequest: it is none.
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
        text = ""  # as OpenAI writes a message that only calls tools, or refuses
    if text is None:
        raise InvalidRequest(
            "messages", f"a dict with keys {sorted(item)} has no content", "Give it a 'content' key."
        )
    names = (name for name in (item.get("speaker"), item.get("name")) if isinstance(name, str) and name)
    speaker = next(names, ROLES.get(role, role))  # a name that is no text costs the name
    identity = item.get("id") if isinstance(item.get("id"), str | int) else id_of(item)
    return Message(text_of(text), speaker, item.get("timestamp"), identity, ROLES.get(role))


def _from_langchain(item: Any) -> Message:  # noqa: ANN401 - duck-typed, so that langchain need not be imported
    speaker = getattr(item, "name", None) or ROLES.get(item.type, item.type)
    stamp = getattr(item, "additional_kwargs", {}).get("timestamp")
    role = ROLES.get(item.type)
    return Message(text_of(item.content), str(speaker), stamp, getattr(item, "id", None), role)


def text_of(content: Any) -> str:  # noqa: ANN401 - content blocks are provider-shaped dicts
    """The text of a message's content, which may come in blocks; images and other blocks have none.

    Raises:
        InvalidRequest: it is neither text nor blocks.
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
