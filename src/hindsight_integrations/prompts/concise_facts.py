"""The short extraction prompt for small models: few flat fields, numbers for ids, one worked example."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, TypeAlias

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.config import JsonDict

from hindsight_integrations.model.facts import ExtractedRecord, FactPart, Text, list_of, texts_of
from hindsight_integrations.model.requests import Message
from hindsight_integrations.models.protocols import Prompt
from hindsight_integrations.prompts.answered_facts import AnsweredItem, ReadLeniently, some_fit
from hindsight_integrations.prompts.extract_facts import Instructions, Passage, shown_with
from hindsight_integrations.prompts.rendering import fenced, prompt_messages, template

# Token limit of an answer: eight facts take about 600; the rest is for reasoning.
MOST_TOKENS = 4_096

# Local servers' grammars enforce these bounds, which stops repetitive models.
MOST_FACTS = 12  # maximum for a passage of 1,000 characters; the prompt asks for eight
MOST_PARTS = 8  # maximum number of items in each list of a fact
MOST_CHARACTERS = 400  # maximum for a fact; a text of this length without an end of sentence was cut
MOST_NAME_CHARACTERS = 80

_PARTS: JsonDict = {"maxItems": MOST_PARTS}

_Numbers = Annotated[list[int], BeforeValidator(list_of)]

_Name = Annotated[str, Field(json_schema_extra={"maxLength": MOST_NAME_CHARACTERS})]


class ConciseFact(FactPart):
    """One fact of the short prompt; `retain/extraction.py` makes an ExtractedFact of it."""

    lines: _Numbers = Field(default_factory=list, json_schema_extra=_PARTS)
    fact: str = Field(min_length=1, json_schema_extra={"maxLength": MOST_CHARACTERS})
    date: Text = Field(default="", json_schema_extra={"maxLength": 24})
    names: Annotated[list[_Name], BeforeValidator(texts_of)] = Field(
        default_factory=list, json_schema_extra=_PARTS
    )
    by_assistant: bool = False
    ends: _Numbers = Field(default_factory=list, json_schema_extra=_PARTS)
    records: Annotated[list[ExtractedRecord], BeforeValidator(list_of)] = Field(
        default_factory=list, json_schema_extra=_PARTS
    )


AnsweredConciseFact: TypeAlias = Annotated[AnsweredItem[ConciseFact], ReadLeniently(ConciseFact)]


class ConciseFacts(BaseModel):
    """The answer to the short prompt, read fact by fact."""

    model_config = ConfigDict(frozen=True)

    facts: Annotated[list[AnsweredConciseFact], AfterValidator(some_fit)] = Field(
        json_schema_extra={"maxItems": MOST_FACTS}
    )
    forget: _Numbers = Field(default_factory=list, json_schema_extra=_PARTS)


def concise_facts_prompt(passage: Passage, instructions: Instructions) -> Prompt[ConciseFacts]:
    """Render the short prompt for one passage; the system message is the same for every passage."""
    parts = shown_with(passage)
    if passage.before:
        parts.append("Said before, known already:\n" + fenced("CONTEXT", map(_line, passage.before)))
    lines = (f"[{number}] {_line(message)}" for number, message in enumerate(passage.messages, 1))
    parts.append("The passage:\n" + fenced("PASSAGE", lines))
    general = template(f"concise_general_{instructions.general_knowledge}")
    system = template("concise_facts").replace("{general_knowledge}", general)
    return Prompt(
        name="concise_facts",
        messages=prompt_messages(system, parts),
        schema=ConciseFacts,
        temperature=0.1,
        most_tokens=MOST_TOKENS,
    )


def _line(message: Message) -> str:
    when = message.timestamp
    stamp = f"{when:%A %Y-%m-%d}" if isinstance(when, datetime) else "no date"
    return f"({stamp}) {message.speaker}: {message.text}"
