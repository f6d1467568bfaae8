"""A chat's history under a token limit: whole turns, newest first to stay, and no tool call without its results. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from llama_index.core.base.llms.types import ChatMessage, TextBlock, ThinkingBlock, ToolCallBlock

TOKENS_OF_BLOCK = {"image": 256, "audio": 256, "video": 256, "document": 2_048}
"""What a block that is no text is taken to cost, as LlamaIndex's own Memory estimates it."""

INSTRUCTIONS = ("system", "developer")
RESULTS = ("tool", "function")
ANSWERS = ("assistant", "model", "chatbot")

Count = Callable[[str], int]

Step = list[ChatMessage]
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


def _divided(messages: Sequence[ChatMessage]) -> tuple[list[ChatMessage], list[list[Step]]]:
    """The system messages in front, and the turns after them, each but perhaps the first begun by the user."""
    front = next((at for at, each in enumerate(messages) if each.role not in INSTRUCTIONS), len(messages))
    turns: list[list[Step]] = []
    for step in _steps(messages[front:]):
        if step[0].role == "user" or not turns:
            turns.append([])
        turns[-1].append(step)
    return list(messages[:front]), turns


def _steps(messages: Sequence[ChatMessage]) -> list[Step]:
    steps: list[Step] = []
    for message in messages:
        if message.role not in RESULTS:
            steps.append([message])
        elif steps and _awaits(steps[-1], message):
            steps[-1].append(message)
    return [step for step in steps if len(step) > len(calls(step[0]))]


def _awaits(step: Step, result: ChatMessage) -> bool:
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


def _newest_steps(turn: list[Step], left: int, count: Count) -> list[ChatMessage]:
    asked = turn[:1] if turn[0][0].role == "user" else []
    kept: list[Step] = []
    left -= messages_tokens(_joined(asked), count)
    for step in reversed(turn[len(asked) :]):
        left -= messages_tokens(step, count)
        if left < 0 and kept:
            break
        kept.append(step)
    return [*_joined(asked), *_joined(kept[::-1])]


def _joined(steps: Iterable[Step]) -> list[ChatMessage]:
    return [message for step in steps for message in step]


def _text(block: object) -> str:
    if isinstance(block, TextBlock):
        return str(block.text)
    if isinstance(block, ThinkingBlock):
        return str(block.content or "")
    if isinstance(block, ToolCallBlock):
        return f"{block.tool_name} {block.tool_kwargs}"
    return ""
