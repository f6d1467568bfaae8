"""Chat messages: argument checks, cleaning for retain, trimming to a token limit, and inserting memories."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any, Literal
from uuid import uuid4

from llama_index.core.base.llms.types import ChatMessage, TextBlock, ThinkingBlock, ToolCallBlock
from llama_index.core.storage.chat_store.base import BaseChatStore
from llama_index.core.storage.chat_store.base_db import AsyncDBChatStore
from llama_index.core.utils import get_tokenizer

from hindsight_integrations import InvalidRequest
from hindsight_integrations.errors import shown
from hindsight_integrations.prompts.recalled import HEADING
from hindsight_integrations.validation.limits import checked_list, checked_name
from hindsight_integrations.validation.llamaindex_documents import as_dict


def checked_session(given: object) -> str:
    """Validate a chat's id; None creates one.

    Raises:
        InvalidRequest: the id is not a string, is blank, has several lines, or has characters that cannot be stored.
    """
    if given is None:
        return uuid4().hex
    if checked_name(given, "session_id") != given:
        reason = f"{shown(given)} contains, or is surrounded by, characters that cannot be stored"
        raise InvalidRequest("session_id", reason, "Remove them, or pass None for a new chat.")
    return str(given)


def checked_insert_method(given: object) -> str:
    """Validate the place where memories are inserted: "user" or "system", or LlamaIndex's InsertMethod.

    Raises:
        InvalidRequest: the value is not one of these.
    """
    named = getattr(given, "value", given)
    if named not in ("user", "system"):
        raise InvalidRequest(
            "insert_method", f"{shown(given)} is not an insert method", "Use 'user' or 'system'."
        )
    return str(named)


def checked_messages(given: object) -> list[ChatMessage]:
    """Validate messages for a chat's history.

    Raises:
        InvalidRequest: the value is not a list of ChatMessages.
    """
    messages = checked_list(given, "messages")
    for at, message in enumerate(messages):
        if not isinstance(message, ChatMessage):
            raise InvalidRequest(
                f"messages[{at}]",
                f"{type(message).__name__} is not a ChatMessage",
                "Pass LlamaIndex ChatMessages.",
            )
    return messages


def checked_chat_store(
    given: object, kinds: tuple[type, ...] = (BaseChatStore, AsyncDBChatStore)
) -> BaseChatStore | AsyncDBChatStore | None:
    """Validate a LlamaIndex chat store; None stays None.

    Args:
        given: the value to check.
        kinds: the accepted store classes.

    Raises:
        InvalidRequest: the value is not a store of these classes.
    """
    if given is None or isinstance(given, kinds):
        return given
    named = " or ".join(kind.__name__ for kind in kinds)
    raise InvalidRequest("chat_store", f"{shown(given)} is not a chat store", f"Pass a {named}, or None.")


def checked_tokenizer(given: object) -> Callable[[str], Sequence[Any]]:
    """Validate a tokenizer function; None means LlamaIndex's global one.

    Raises:
        InvalidRequest: the value is not callable.
    """
    if given is None:
        return get_tokenizer()  # type: ignore[no-any-return] # see bank.py
    if not callable(given):
        raise InvalidRequest(
            "tokenizer_fn", f"{shown(given)} is not callable", "Pass a function from a text to its tokens."
        )
    return given


_TRACE = re.compile(r"\s*Thought:.*\n\s*(Action|Answer):", re.DOTALL)
# Returned by LlamaIndex's synthesizers if the model was not called or returned no text.
_NO_ANSWER = "Empty Response"
_ANSWER = re.compile(r"(?:^|\n)\s*Answer:\s*")


def spoken(messages: Iterable[ChatMessage]) -> list[ChatMessage]:
    """Reduce ReAct traces (thoughts, actions, observations) to their last answer, and drop placeholder answers.

    ReActAgent stores the whole trace as one assistant message; traces without an answer are dropped. LlamaIndex's
    "Empty Response" is dropped because a chat engine over an empty bank would otherwise retain it.
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


def with_distinct_call_ids(messages: Iterable[ChatMessage]) -> list[dict[str, Any]]:
    """Convert messages to plain dicts, with unique ids for tool calls and their results.

    If a model service provides no call ids, LlamaIndex's clients use the tool's name as the id of every call.
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


InsertMethod = Literal["user", "system"]

GAP = "\n\n"  # between the block and the following text


def placed(
    messages: Sequence[ChatMessage], block: str, method: InsertMethod, question: str | None = None
) -> list[ChatMessage]:
    """Return a copy of the messages with a block of text inserted.

    A block in the user's last message leaves the start of the prompt unchanged, so that prompt caching works, and is kept
    by agents that replace the system message (ReActAgent). If the question is not among the messages yet, the block becomes a
    system message at the start.

    Args:
        messages: a prompt's messages, oldest first.
        block: the text to insert.
        method: "user": before the text of the user's last message; "system": at the start of the system message.
        question: the user's current question, if known.
    """
    role = method
    last = next((at for at in reversed(range(len(messages))) if messages[at].role == "user"), None)
    if method == "user" and (
        last is None
        or (question is not None and str(messages[last].content or "").strip() != question.strip())
    ):
        role = "system"
    at = (
        last
        if role == "user"
        else next((at for at, each in enumerate(messages) if each.role == "system"), None)
    )
    if at is None:
        return [ChatMessage(block, role="system"), *messages]
    there = messages[at]
    beside = there.model_copy(update={"blocks": [TextBlock(text=f"{block}{GAP}"), *there.blocks]})
    return [*messages[:at], beside, *messages[at + 1 :]]


def without_memories(messages: Iterable[ChatMessage]) -> list[ChatMessage]:
    """Remove the blocks that `placed` inserted; messages without other content are dropped.

    The result of `get` may come back as chat history (`agent.run(chat_history=memory.get())`), and the memories of one
    turn must not become part of the next.
    """
    kept = []
    for message in messages:
        said = [block for block in message.blocks if not _is_memories(block)]
        if len(said) == len(message.blocks):
            kept.append(message)
        elif said:
            kept.append(message.model_copy(update={"blocks": said}))
    return kept


def _is_memories(block: object) -> bool:
    if not isinstance(block, TextBlock):
        return False
    text = str(block.text).rstrip()
    return text.startswith(f"{HEADING}\n<<<MEMORIES\n") and text.endswith("\nMEMORIES>>>")


TOKENS_OF_BLOCK = {"image": 256, "audio": 256, "video": 256, "document": 2_048}
"""Estimated tokens of a non-text block, as in LlamaIndex's own Memory."""

INSTRUCTIONS = ("system", "developer")
RESULTS = ("tool", "function")
ANSWERS = ("assistant", "model", "chatbot")

Count = Callable[[str], int]

MessageStep = list[ChatMessage]
"""One message, or a message with tool calls followed by their results."""


def message_tokens(message: ChatMessage, count: Count) -> int:
    """Count a message's tokens: text, reasoning, tool calls with arguments, additional_kwargs and non-text blocks."""
    texts = [_text(block) for block in message.blocks]
    if message.additional_kwargs:
        texts.append(str(message.additional_kwargs))
    fixed = sum(TOKENS_OF_BLOCK.get(block.block_type, 0) for block in message.blocks)
    return fixed + sum(count(text) for text in texts if text)


def messages_tokens(messages: Iterable[ChatMessage], count: Count) -> int:
    """Count the tokens of several messages."""
    return sum(message_tokens(message, count) for message in messages)


def fitting(messages: Sequence[ChatMessage], limit: int, count: Count) -> list[ChatMessage]:
    """Return the leading system messages and the newest turns that fit in `limit` tokens.

    If turns are left out, the remaining messages start with a user message; an initial greeting by the assistant is
    kept only if the whole chat fits. Tool calls without results and results without calls are dropped, because model
    services reject them. If the newest turn alone is too long, its user message is kept with as many of its newest
    steps as fit, but at least one.
    """
    front, turns = _divided(messages)
    left = limit - messages_tokens(front, count)
    kept = len(turns)
    while kept and (left := left - messages_tokens(_joined(turns[kept - 1]), count)) >= 0:
        kept -= 1
    if turns and kept == len(turns):
        left += messages_tokens(_joined(turns[-1]), count)
        return [*front, *_newest_steps(turns[-1], left, count)]
    return [*front, *(message for turn in turns[kept:] for message in _joined(turn))]


def newest_turn(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Return the leading system messages and the messages from the user's last one on."""
    front, turns = _divided(messages)
    return [*front, *_joined(turns[-1])] if turns else front


def last_turn_end(messages: Sequence[ChatMessage]) -> int:
    """Return the number of messages up to and including the last answer; 0 if there is none."""
    ends = (at + 1 for at in reversed(range(len(messages))) if ends_turn(messages[at]))
    return next(ends, 0)


def ends_turn(message: ChatMessage) -> bool:
    """Return whether this is an answer: an assistant message without tool calls."""
    return message.role in ANSWERS and not calls(message)


def calls(message: ChatMessage) -> list[object]:
    """Return a message's tool calls, from its blocks or, for older integrations, from additional_kwargs."""
    made = [block for block in message.blocks if isinstance(block, ToolCallBlock)]
    beside = message.additional_kwargs.get("tool_calls")
    return [*made] or (list(beside) if isinstance(beside, list) else [])


def _divided(messages: Sequence[ChatMessage]) -> tuple[list[ChatMessage], list[list[MessageStep]]]:
    """Split into leading system messages and turns; each turn but possibly the first starts with a user message."""
    front = next((at for at, each in enumerate(messages) if each.role not in INSTRUCTIONS), len(messages))
    turns: list[list[MessageStep]] = []
    for step in _steps(messages[front:]):
        if step[0].role == "user" or not turns:
            turns.append([])
        turns[-1].append(step)
    return list(messages[:front]), turns


def _steps(messages: Sequence[ChatMessage]) -> list[MessageStep]:
    steps: list[MessageStep] = []
    for message in messages:
        if message.role not in RESULTS:
            steps.append([message])
        elif steps and _awaits(steps[-1], message):
            steps[-1].append(message)
    return [step for step in steps if len(step) > len(calls(step[0]))]


def _awaits(step: MessageStep, result: ChatMessage) -> bool:
    """Return whether a step has an unanswered tool call that this result answers. Without call ids, results match in order."""
    asked = [_call_id(call) for call in calls(step[0])]
    answered = [result.additional_kwargs.get("tool_call_id") for result in step[1:]]
    answers = result.additional_kwargs.get("tool_call_id")
    if answers is None or None in asked:
        return len(answered) < len(asked)
    return answered.count(answers) < asked.count(answers)


def _call_id(call: object) -> object:
    if isinstance(call, ToolCallBlock):
        return call.tool_call_id
    return call.get("id") if isinstance(call, Mapping) else getattr(call, "id", None)


def _newest_steps(turn: list[MessageStep], left: int, count: Count) -> list[ChatMessage]:
    asked = turn[:1] if turn[0][0].role == "user" else []
    kept: list[MessageStep] = []
    left -= messages_tokens(_joined(asked), count)
    for step in reversed(turn[len(asked) :]):
        left -= messages_tokens(step, count)
        if left < 0 and kept:
            break
        kept.append(step)
    return [*_joined(asked), *_joined(kept[::-1])]


def _joined(steps: Iterable[MessageStep]) -> list[ChatMessage]:
    return [message for step in steps for message in step]


def _text(block: object) -> str:
    if isinstance(block, TextBlock):
        return str(block.text)
    if isinstance(block, ThinkingBlock):
        return str(block.content or "")
    if isinstance(block, ToolCallBlock):
        return f"{block.tool_name} {block.tool_kwargs}"
    return ""
