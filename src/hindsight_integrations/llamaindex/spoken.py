"""What of an agent's messages was said, as the bank follows it. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any

from llama_index.core.base.llms.types import ChatMessage

from hindsight_integrations.validation.llamaindex_documents import as_dict

_TRACE = re.compile(r"\s*Thought:.*\n\s*(Action|Answer):", re.DOTALL)
_NO_ANSWER = (
    "Empty Response"  # what LlamaIndex's synthesizers say for a model that was not asked, or said nothing
)
_ANSWER = re.compile(r"(?:^|\n)\s*Answer:\s*")


def spoken(messages: Iterable[ChatMessage]) -> list[ChatMessage]:
    """The messages, each ReAct trace (thoughts, actions, observations) cut to its last answer, or left out without one.

    ReActAgent puts the whole trace into memory as one message of the assistant. What LlamaIndex puts there in place of an
    answer nobody said: a chat engine over an empty bank would teach it that to begin with.
    """
    said = []
    for message in messages:
        text = str(message.content or "")
        if message.role == "assistant" and text == _NO_ANSWER:
            continue
        if message.role != "assistant" or not _TRACE.match(text):
            said.append(message)
        elif len(parts := _ANSWER.split(text)) > 1:
            said.append(
                ChatMessage(parts[-1], role=message.role, additional_kwargs=message.additional_kwargs)
            )
    return said


def told_apart(messages: Iterable[ChatMessage]) -> list[dict[str, Any]]:
    """The messages as plain dicts, each tool call with an id that tells it from all others, and so its result.

    Where a model's service gives calls no ids, LlamaIndex's clients name them all as the tool.
    """
    said, calls = [], dict[str, str]()
    for message in messages:
        plain = as_dict(message)
        if made := plain.get("tool_calls"):
            plain["tool_calls"] = [_named(call, calls) for call in made]
        if of := str(plain.get("tool_call_id", "")):
            plain = {"id": f"{of}:{_digest(str(message.content or ''))}", **plain}
            plain["tool_call_id"] = calls.get(of, of)
        said.append(plain)
    return said


def _named(call: object, calls: dict[str, str]) -> object:
    if not isinstance(call, Mapping) or not call.get("id"):
        return call
    own = calls[str(call["id"])] = f"{call['id']}:{_digest(json.dumps(call, default=str))}"
    return {**call, "id": own}


def _digest(text: str) -> str:
    return sha256(text.encode(errors="replace")).hexdigest()[:16]
