"""Where a block of memories stands among the messages for a model. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from llama_index.core.base.llms.types import ChatMessage, TextBlock

InsertMethod = Literal["user", "system"]


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
    beside = there.model_copy(update={"blocks": [TextBlock(text=f"{block}\n\n"), *there.blocks]})
    return [*messages[:at], beside, *messages[at + 1 :]]
