"""LlamaIndex's chat messages as the plain dicts of a conversation. Told by their class's name: LlamaIndex is not imported."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

ROLES = {"model": "assistant", "chatbot": "assistant", "function": "tool"}
"""LlamaIndex's names of roles that others call otherwise; the rest are the same."""


def plain(items: Iterable[Any]) -> list[Any]:
    """The items of a conversation, with LlamaIndex's messages as dicts and all others as they are."""
    return [as_dict(item) if is_chat_message(item) else item for item in items]


def is_chat_message(item: object) -> bool:
    """Whether this is LlamaIndex's ChatMessage, or of a class of the user's own made from it."""
    return any(
        kind.__name__ == "ChatMessage" and kind.__module__.startswith("llama_index.")
        for kind in type(item).__mro__
    )


def as_dict(message: Any) -> dict[str, Any]:  # noqa: ANN401 - LlamaIndex's, which is not imported
    """Role, text, tool calls and what says which call a result answers.

    Only what was said is text: reasoning, images, files and citations are not. Of what is beside the text
    (`additional_kwargs`) id, name, timestamp and tool_call_id count; LlamaIndex's memory writes its session id there,
    which is no part of the message.
    """
    beside = getattr(message, "additional_kwargs", None)
    beside = beside if isinstance(beside, Mapping) else {}
    role = str(getattr(message.role, "value", message.role)).lower()
    blocks = list(getattr(message, "blocks", None) or ())
    said = [{"type": "text", "text": block.text} for block in blocks if _kind(block) == "text"]
    calls = [*_calls(blocks)] or beside.get("tool_calls")
    told = {name: beside[name] for name in ("id", "name", "timestamp", "tool_call_id") if beside.get(name)}
    return {
        "role": ROLES.get(role, role),
        "content": said,
        **told,
        **({"tool_calls": calls} if calls else {}),
    }


def _calls(blocks: Iterable[Any]) -> Iterator[dict[str, Any]]:
    for block in blocks:
        if _kind(block) == "tool_call":
            yield {"id": block.tool_call_id, "name": block.tool_name, "args": block.tool_kwargs}


def _kind(block: object) -> object:
    return getattr(block, "block_type", None)
