"""The prompt that asks which memories each verbatim message invalidates, and its answer schema."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field

from hindsight_integrations.model.facts import bare
from hindsight_integrations.model.requests import Message
from hindsight_integrations.models.protocols import Prompt
from hindsight_integrations.prompts.extract_facts import Passage, shown_with
from hindsight_integrations.prompts.rendering import fenced, one_line, prompt_messages, template

MOST_MESSAGES = 32  # maximum number per answer; a passage of 3,000 characters rarely has more
MOST_ENDED = 8  # maximum number of memories per message, the same as for a fact
MOST_TOKENS = 2_048  # token limit of an answer, which usually takes under 50; the rest is for reasoning


class AnsweredMessageEnding(BaseModel):
    """The memories that one message ends."""

    model_config = ConfigDict(frozen=True, json_schema_extra=bare)

    message: int = Field(description="number of the message")
    memories: list[int] = Field(
        description="numbers of the memories it ends", json_schema_extra={"maxItems": MOST_ENDED}
    )


class AnsweredMessageEndings(BaseModel):
    """The answer to the prompt."""

    model_config = ConfigDict(frozen=True, json_schema_extra=bare)

    endings: list[AnsweredMessageEnding] = Field(
        description="one for each message that ends a memory", json_schema_extra={"maxItems": MOST_MESSAGES}
    )


def message_endings_prompt(passage: Passage, asked: Collection[str]) -> Prompt[AnsweredMessageEndings]:
    """Render the prompt. Its system message is the same for every bank, so that services can cache it.

    Args:
        passage: the passage with the shown memories, numbered from 1.
        asked: ids of the messages to judge, which are numbered (`numbered_messages`); others are context.
    """
    numbers = {id(message): number for number, message in numbered_messages(passage, asked).items()}
    parts = shown_with(passage)
    if passage.before:
        parts.append(
            "Said before, known already:\n"
            + fenced("CONTEXT", (f"- {_line(each)}" for each in passage.before))
        )
    lines = (
        f"{numbers[id(message)]}. {_line(message)}" if id(message) in numbers else f"- {_line(message)}"
        for message in passage.messages
    )
    parts.append("The messages:\n" + fenced("MESSAGES", lines))
    return Prompt(
        name="message_endings",
        messages=prompt_messages(template("message_endings"), parts),
        schema=AnsweredMessageEndings,
        temperature=0.1,
        most_tokens=MOST_TOKENS,
    )


def numbered_messages(passage: Passage, asked: Collection[str]) -> dict[int, Message]:
    """Return the messages to judge by number, from 1."""
    return dict(enumerate((message for message in passage.messages if message.id in asked), 1))


def _line(message: Message) -> str:
    """Format a message on one line, so that it cannot imitate another's start."""
    when = message.timestamp
    stamp = f"{when:%A, %B %d, %Y}" if isinstance(when, datetime) else "no date"
    return f"({stamp}) {message.speaker}: {one_line(message.text)}"
