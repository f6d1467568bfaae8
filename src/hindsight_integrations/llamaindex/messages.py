"""Messages of a chat: arguments checked, what was said of them, which fit a token limit, and where memories stand among them."""

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
    """The id of a chat; a new one for None.

    Raises:
        InvalidRequest: it is no text, blank, of several lines, or nothing that can be stored.
    """
    if given is None:
        return uuid4().hex
    if checked_name(given, "session_id") != given:
        reason = f"{shown(given)} has characters around or in it that cannot be stored"
        raise InvalidRequest("session_id", reason, "Pass a text without them, or None for a new chat.")
    return str(given)


def checked_insert_method(given: object) -> str:
    """Where memories are put: "user" or "system"; LlamaIndex's InsertMethod names them too.

    Raises:
        InvalidRequest: it is neither.
    """
    named = getattr(given, "value", given)
    if named not in ("user", "system"):
        raise InvalidRequest("insert_method", f"{shown(given)} is not known", "Use 'user' or 'system'.")
    return str(named)


def checked_messages(given: object) -> list[ChatMessage]:
    """Messages to keep in a chat's history.

    Raises:
        InvalidRequest: it is not a list of ChatMessages; nothing of it was kept.
    """
    messages = checked_list(given, "messages")
    for at, message in enumerate(messages):
        if not isinstance(message, ChatMessage):
            raise InvalidRequest(
                f"messages[{at}]", f"it is {type(message).__name__}", "Pass ChatMessages of LlamaIndex."
            )
    return messages


def checked_chat_store(
    given: object, kinds: tuple[type, ...] = (BaseChatStore, AsyncDBChatStore)
) -> BaseChatStore | AsyncDBChatStore | None:
    """A chat store of LlamaIndex; None stays None.

    Args:
        given: anything.
        kinds: the kinds of stores that serve.

    Raises:
        InvalidRequest: it is none of them.
    """
    if given is None or isinstance(given, kinds):
        return given
    named = " or ".join(kind.__name__ for kind in kinds)
    raise InvalidRequest("chat_store", f"{shown(given)} is none", f"Pass LlamaIndex's {named}, or None.")


def checked_tokenizer(given: object) -> Callable[[str], Sequence[Any]]:
    """What makes a text into tokens; LlamaIndex's global one for None.

    Raises:
        InvalidRequest: it cannot be called.
    """
    if given is None:
        return get_tokenizer()  # type: ignore[no-any-return] # see bank.py
    if not callable(given):
        raise InvalidRequest(
            "tokenizer_fn", f"{shown(given)} cannot be called", "Pass a function of a text to its tokens."
        )
    return given


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


InsertMethod = Literal["user", "system"]

GAP = "\n\n"  # between the block and what stands beside it


def placed(
    messages: Sequence[ChatMessage], block: str, method: InsertMethod, question: str | None = None
) -> list[ChatMessage]:
    """The messages with a block of text put in; those given are not changed.

    Beside the last message of the user the beginning of the prompt stays as it was, so that services can keep it, and
    agents that replace the system message (ReActAgent) do not lose the block. Where the question is not among the
    messages yet, no message is the right one, and the block becomes a system message in front.

    Args:
        messages: of a prompt, oldest first.
        block: what is put in.
        method: "user": before the text of the user's last message; "system": in front of the system message.
        question: what the user asks now, if the caller was told.
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
    """The messages without the blocks that `placed` put in; one that held nothing else is left out.

    What `get` gave may come back as the chat (`agent.run(chat_history=memory.get())`): the prompt of one turn is no part
    of the next.
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
"""What a block that is no text is taken to cost, as LlamaIndex's own Memory estimates it."""

INSTRUCTIONS = ("system", "developer")
RESULTS = ("tool", "function")
ANSWERS = ("assistant", "model", "chatbot")

Count = Callable[[str], int]

MessageStep = list[ChatMessage]
"""One message, or a message that calls tools with their results."""


def message_tokens(message: ChatMessage, count: Count) -> int:
    """What a message costs: texts, reasoning, tool calls with their arguments, and what lies beside the text.

    Args:
        message: of any role.
        count: tokens of a text.
    """
    told = [_text(block) for block in message.blocks]
    if message.additional_kwargs:
        told.append(str(message.additional_kwargs))
    fixed = sum(TOKENS_OF_BLOCK.get(block.block_type, 0) for block in message.blocks)
    return fixed + sum(count(text) for text in told if text)


def messages_tokens(messages: Iterable[ChatMessage], count: Count) -> int:
    """What messages cost together."""
    return sum(message_tokens(message, count) for message in messages)


def fitting(messages: Sequence[ChatMessage], limit: int, count: Count) -> list[ChatMessage]:
    """The newest turns that cost at most `limit` tokens together, after the system messages in front, which always stay.

    Where earlier ones were left out, what remains begins with a message of the user; a chat that begins with a greeting
    of the assistant keeps it as long as all of it fits. A call that lacks a result is left out, and so is a result
    without its call: services refuse both. If the newest turn alone is too long, its user message stays with the newest
    of its steps that fit, at least the last one, whatever that costs.

    Args:
        messages: the whole history, oldest first.
        limit: tokens.
        count: tokens of a text.
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
    """The system messages in front, and what was said since the user's last message, that included."""
    front, turns = _divided(messages)
    return [*front, *_joined(turns[-1])] if turns else front


def last_turn_end(messages: Sequence[ChatMessage]) -> int:
    """How many messages there are up to the last answer: an assistant's message that calls no tools. 0 without one."""
    ends = (at + 1 for at in reversed(range(len(messages))) if ends_turn(messages[at]))
    return next(ends, 0)


def ends_turn(message: ChatMessage) -> bool:
    """Whether this is an answer: a message of the assistant that calls no tool."""
    return message.role in ANSWERS and not calls(message)


def calls(message: ChatMessage) -> list[object]:
    """The tool calls of a message, in blocks, or beside the text as older integrations put them."""
    made = [block for block in message.blocks if isinstance(block, ToolCallBlock)]
    beside = message.additional_kwargs.get("tool_calls")
    return [*made] or (list(beside) if isinstance(beside, list) else [])


def _divided(messages: Sequence[ChatMessage]) -> tuple[list[ChatMessage], list[list[MessageStep]]]:
    """The system messages in front, and the turns after them, each but perhaps the first begun by the user."""
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
    """Whether a result belongs to a step: its call is there and has none yet. Where ids are missing, places count."""
    asked = [_call_id(call) for call in calls(step[0])]
    told = [each.additional_kwargs.get("tool_call_id") for each in step[1:]]
    answers = result.additional_kwargs.get("tool_call_id")
    if answers is None or None in asked:
        return len(told) < len(asked)
    return told.count(answers) < asked.count(answers)


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
