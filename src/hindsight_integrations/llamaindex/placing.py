"""Where a block of memories stands among the messages for a model. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from llama_index.core.base.llms.types import ChatMessage, TextBlock

from hindsight_integrations.prompts.recalled import HEADING

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
