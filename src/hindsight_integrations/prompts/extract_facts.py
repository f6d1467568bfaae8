"""The extraction prompt (paper A.1, in our own words) and its answer schema (A.5.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

from hindsight_integrations.model.facts import ExtractedFact
from hindsight_integrations.model.requests import Message
from hindsight_integrations.ports.language_model import Prompt, PromptMessage, Role
from hindsight_integrations.prompts.rendering import fenced, template


class ExtractedFacts(BaseModel):
    """The answer to the extraction prompt."""

    model_config = ConfigDict(frozen=True)

    facts: list[ExtractedFact] = Field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Passage:
    """What one extraction is about.

    Attributes:
        messages: to be extracted, with ids and times.
        before: messages already remembered, for pronouns and references only.
        context: what the caller said about the source.
    """

    messages: Sequence[Message]
    before: Sequence[Message] = ()
    context: str = ""


def extract_facts_prompt(passage: Passage) -> Prompt[ExtractedFacts]:
    """Render the extraction prompt for one passage."""
    parts = [f"About the source: {passage.context}"] if passage.context else []
    if passage.before:
        parts.append("Context, already remembered:\n" + fenced("CONTEXT", map(_line, passage.before)))
    parts.append("The passage:\n" + fenced("PASSAGE", map(_line, passage.messages)))
    return Prompt(
        name="extract_facts",
        messages=(
            PromptMessage(Role.SYSTEM, template("extract_facts")),
            PromptMessage(Role.USER, "\n\n".join(parts)),
        ),
        schema=ExtractedFacts,
        temperature=0.1,  # [notes/upstream 1.2]
    )


def _line(message: Message) -> str:
    stamp = f"{message.timestamp:%A, %B %d, %Y %H:%M}" if message.timestamp else "no date"
    return f"[{message.id}] ({stamp}) {message.speaker}: {message.text}"
