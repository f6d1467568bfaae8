"""A chat's history under a token limit: whole turns, newest first to stay, and no tool call without its results. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from llama_index.core.base.llms.types import ChatMessage, TextBlock, ThinkingBlock, ToolCallBlock

TOKENS_OF_BLOCK = {"image": 256, "audio": 256, "video": 256, "document": 2_048}
"""What a block that is no text is taken to cost, as LlamaIndex's own Memory estimates it."""

Count = Callable[[str], int]


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


def fitting(messages: Sequence[ChatMessage], limit: int, count: Count) -> list[ChatMessage]:
    """The newest turns that cost at most `limit` tokens together, after the system messages in front, which always stay.

    Whatever was left out, what remains begins with a message of the user. A call whose results are missing is left out
    unless it is the last message, and so is a result without its call: services refuse both. If the newest turn alone is
    too long, its user message stays with the newest of its steps that fit, at least the last one, whatever that costs.

    Args:
        messages: the whole history, oldest first.
        limit: tokens.
        count: tokens of a text.
    """
    front = next((at for at, message in enumerate(messages) if message.role != "system"), len(messages))
    system, turns = list(messages[:front]), _turns(messages[front:])
    left = limit - sum(message_tokens(message, count) for message in system)
    costs = [sum(message_tokens(message, count) for step in turn for message in step) for turn in turns]
    kept = len(turns)
    while kept and costs[kept - 1] <= left:
        left -= costs[kept - 1]
        kept -= 1
    if kept == 0:
        return [*system, *_joined(turns)]
    if kept == len(turns):
        return [*system, *_newest_steps(turns[-1], left, count)]
    first = next((at for at in range(kept, len(turns)) if turns[at][0][0].role == "user"), len(turns))
    return [*system, *_joined(turns[first:])]


Step = list[ChatMessage]
"""One message, or a message that calls tools with their results."""


def _turns(messages: Sequence[ChatMessage]) -> list[list[Step]]:
    turns: list[list[Step]] = []
    for step in _steps(messages):
        if step[0].role == "user" or not turns:
            turns.append([])
        turns[-1].append(step)
    return turns


def _steps(messages: Sequence[ChatMessage]) -> list[Step]:
    steps: list[Step] = []
    for message in messages:
        if message.role not in ("tool", "function"):
            steps.append([message])
        elif steps and calls(steps[-1][0]):
            steps[-1].append(message)
    return [step for step in steps if step is steps[-1] or len(step) > len(calls(step[0]))]


def calls(message: ChatMessage) -> list[object]:
    """The tool calls of a message, in blocks, or beside the text as older integrations put them."""
    made = [block for block in message.blocks if isinstance(block, ToolCallBlock)]
    beside = message.additional_kwargs.get("tool_calls")
    return [*made] or (list(beside) if isinstance(beside, list) else [])


def ends_turn(message: ChatMessage) -> bool:
    """Whether this is an answer: a message of the assistant that calls no tool."""
    return message.role in ("assistant", "model", "chatbot") and not calls(message)


def _newest_steps(turn: list[Step], left: int, count: Count) -> list[ChatMessage]:
    asked = turn[:1] if turn[0][0].role == "user" else []
    steps = turn[len(asked) :]
    kept: list[Step] = []
    left -= sum(message_tokens(message, count) for step in asked for message in step)
    for step in reversed(steps):
        left -= sum(message_tokens(message, count) for message in step)
        if left < 0 and kept:
            break
        kept.append(step)
    return _joined([asked, kept[::-1]])


def _joined(turns: Iterable[list[Step]]) -> list[ChatMessage]:
    return [message for turn in turns for step in turn for message in step]


def _text(block: object) -> str:
    if isinstance(block, TextBlock):
        return str(block.text)
    if isinstance(block, ThinkingBlock):
        return str(block.content or "")
    if isinstance(block, ToolCallBlock):
        return f"{block.tool_name} {block.tool_kwargs}"
    return ""
