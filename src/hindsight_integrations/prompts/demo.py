"""The prompt of the demo's assistant: an application's own, with what was recalled beside the question."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from pydantic import BaseModel, Field

from hindsight_integrations.ports.language_model import Prompt, PromptMessage, Role
from hindsight_integrations.prompts.recalled import memories_block
from hindsight_integrations.prompts.rendering import template


class Reply(BaseModel):
    """What the assistant says."""

    text: str = Field(min_length=1, description="the answer to the user")


def demo_prompt(question: str, memories: Sequence[str], *, moment: datetime) -> Prompt[Reply]:
    """Render a question to the assistant.

    Args:
        question: what the user asks.
        memories: lines recalled for it; none for an assistant without memory.
        moment: when it is asked.
    """
    parts = [f"Today is {moment.day} {moment:%B} {moment.year}.", question]
    if memories:
        parts.insert(1, memories_block(memories))
    return Prompt(
        name="demo",
        messages=(
            PromptMessage(Role.SYSTEM, template("demo")),
            PromptMessage(Role.USER, "\n\n".join(parts)),
        ),
        schema=Reply,
    )
