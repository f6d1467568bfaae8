"""The extraction prompt (paper A.1, in our own words) and its answer schema (A.5.1)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from hindsight_integrations.config import ExtractionMode, GeneralKnowledge
from hindsight_integrations.model.records import RecordKind
from hindsight_integrations.model.requests import Message
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.models.protocols import Prompt
from hindsight_integrations.prompts.answered_facts import ExtractedFacts
from hindsight_integrations.prompts.rendering import fenced, one_line, prompt_messages, template

QUOTED_CHARACTERS = 80  # maximum number of characters of a fact quoted in a problem

_BESIDE = frozenset(RecordKind) - {RecordKind.DOCUMENT_ITEM, RecordKind.OTHER}
"""Record kinds shown after a memory's text; items of a document have separate lines."""


@dataclass(frozen=True, slots=True)
class Passage:
    """The input of one extraction.

    Attributes:
        messages: the messages to extract, with ids and times.
        before: earlier messages, only to resolve pronouns and references.
        context: the caller's description of the source.
        memories: the bank's memories that the model may invalidate, numbered from 1.
        items: the items of shown documents, by document id, in serving order.
        hidden: number of items that did not fit, by document id.
        categories: existing category names by record kind.
        names: all names of each memory's entities, by memory id. Not shown; a replacing fact must keep them.
    """

    messages: Sequence[Message]
    before: Sequence[Message] = ()
    context: str = ""
    memories: Sequence[MemoryUnit] = ()
    items: Mapping[str, Sequence[MemoryUnit]] = field(default_factory=dict)
    hidden: Mapping[str, int] = field(default_factory=dict)
    categories: Mapping[RecordKind, Sequence[str]] = field(default_factory=dict)
    names: Mapping[str, Sequence[Sequence[str]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Instructions:
    """How to write facts.

    Attributes:
        mode: NARRATIVE, CONCISE (`concise_facts.py`) or CUSTOM (narrative with guidelines); AUTO means narrative.
        guidelines: the user's guidelines, for CUSTOM.
        general_knowledge: how to treat general knowledge.
    """

    mode: ExtractionMode = ExtractionMode.NARRATIVE
    guidelines: str = ""
    general_knowledge: GeneralKnowledge = GeneralKnowledge.BRIEF


NARRATIVE = Instructions()


def extract_facts_prompt(passage: Passage, instructions: Instructions = NARRATIVE) -> Prompt[ExtractedFacts]:
    """Render the extraction prompt for one passage.

    The system message is the same for every passage, so that services can cache it; variable parts follow it.
    """
    parts = shown_with(passage)
    if passage.before:
        parts.append("Context, already remembered:\n" + fenced("CONTEXT", map(_line, passage.before)))
    parts.append("The passage:\n" + fenced("PASSAGE", map(_line, passage.messages)))
    return Prompt(
        name="extract_facts",
        messages=prompt_messages(_system(instructions), parts),
        schema=ExtractedFacts,
        temperature=0.1,  # as in the authors' server
    )


def untold_problem(fact: str, memory: int, missing: str) -> str:
    """Describe to the model which details a fact omits from the memory that it replaces.

    Args:
        fact: the fact's text.
        memory: the memory's number.
        missing: description of the omission.
    """
    told = {"{memory}": str(memory), "{missing}": missing, "{fact}": fact[:QUOTED_CHARACTERS]}
    problem = " ".join(template("extract_untold").split())
    for name, value in told.items():
        problem = problem.replace(name, value)
    return problem


def shown_with(passage: Passage) -> list[str]:
    """Build the part of the prompt that precedes a passage's messages: source, categories and memories."""
    parts = [f"About the source: {passage.context}"] if passage.context else []
    if passage.categories:
        lines = (f"{kind}: {', '.join(names)}" for kind, names in passage.categories.items())
        parts.append("Categories in use:\n" + fenced("CATEGORIES", lines))
    if passage.memories:
        lines = (
            line
            for number, unit in enumerate(passage.memories, 1)
            for line in _numbered(
                number, unit, passage.items.get(unit.id, ()), passage.hidden.get(unit.id, 0)
            )
        )
        parts.append("Memories of the bank, numbered:\n" + fenced("MEMORIES", lines))
    return parts


def records_beside(unit: MemoryUnit) -> str:
    """Format a memory's records that its text does not contain, to follow the text: " {task; expense, lunch: 12.50 USD}".

    Values in words are assumed to be in the text, possibly in other words.
    """
    text = unit.text.replace(",", "")
    told = []
    for record in unit.records:
        if record.kind not in _BESIDE:
            continue
        category = "" if _says(text, record.category) else f", {record.category}"
        said = isinstance(record.value, str) or _says(text, str(record.value))
        told.append(f"{record.kind}{category}" if said else f"{record.kind}{category}: {record.words}")
    return f" {{{' '.join('; '.join(dict.fromkeys(told)).split())}}}" if told else ""


def _says(text: str, words: str) -> bool:
    """Return whether a text without commas contains these consecutive words, ignoring case; "3" is not in "3.41"."""
    wanted = re.escape(words.replace(",", ""))
    return not words or re.search(rf"(?<!\w)(?<!\d\.){wanted}(?!\w|\.\d)", text, re.IGNORECASE) is not None


def _system(instructions: Instructions) -> str:
    system = template("extract_facts").replace("{style}", template("extract_style_narrative"))
    general = template(f"extract_general_{instructions.general_knowledge}")
    system = system.replace("{general_knowledge}", general)
    if not instructions.guidelines:
        return system
    return f"{system}\n\n{template('extract_guidelines')}\n\n{fenced('GUIDELINES', [instructions.guidelines.strip()])}"


def _numbered(number: int, unit: MemoryUnit, items: Sequence[MemoryUnit], hidden: int) -> Iterator[str]:
    """Format a memory with its records on one line, and each item of a document on its own line."""
    yield f"[{number}] ({unit.mentioned_at:%A, %B %d, %Y}) {one_line(unit.text)}{records_beside(unit)}"
    for item in items:
        yield f"[{number}.{item.number}] {one_line(item.text)}"
    if hidden:
        yield f"[{number}] has {hidden} more {'item' if hidden == 1 else 'items'}, not shown"


def _line(message: Message) -> str:
    when = message.timestamp
    stamp = f"{when:%A, %B %d, %Y %H:%M}" if isinstance(when, datetime) else "no date"
    return f"[{message.id}] ({stamp}) {message.speaker}: {message.text}"
