"""What waits in `worker_kills`: five kinds of work, a model that answers from the text it is given, and what must stand."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

from pydantic import BaseModel

from hindsight_integrations import (
    AsyncMemoryBank,
    Document,
    ExtractedFact,
    MalformedOutput,
    Message,
    ModelUnavailable,
)
from hindsight_integrations.model.entities import EntityType
from hindsight_integrations.model.facts import ExtractedEntity
from hindsight_integrations.models.protocols import Completion, Prompt

T = TypeVar("T", bound=BaseModel)

SAID = re.compile(r"^\[(?P<id>[^\]]+)\] \([^)]*\) (?:[^:\n]+: )?(?P<text>.+)$", re.MULTILINE)
NUMBERED = re.compile(r"^\[\d+\] (.+)$", re.MULTILINE)
WHEN = "2024-06-02T12:00"


class Work(StrEnum):
    """Kinds of waiting work."""

    PARKED = "a message the model gave no usable answer for"
    QUEUED = "a message the model was down for"
    DOCUMENT = "a passage of a document the model was down for"
    OBSERVE = "the observations of an entity"
    BACKGROUND = "a sentence of the agent's background"


TROUBLE: ContextVar[Work | None] = ContextVar("TROUBLE", default=None)
"""What ails the model of whoever retains; nothing ails that of whoever does the tasks."""


@dataclass(frozen=True, slots=True)
class Item:
    """One input that leaves a task behind.

    Attributes:
        number: of the item; part of every sentence it leads to, and of no other.
        bank: where it goes.
        work: what its task does.
    """

    number: int
    bank: str
    work: Work

    @property
    def sentence(self) -> str:
        """What its task is to bring about, once."""
        match self.work:
            case Work.OBSERVE:
                return f"Keeper{self.number} owns kayak k{self.number}k."
            case Work.BACKGROUND:
                return f"I look after kayak k{self.number}k."
            case _:
                return f"The club lent kayak k{self.number}k in June."


def items(count: int, banks: int) -> list[Item]:
    """So many inputs over so many banks, every bank with every kind in time."""
    kinds = list(Work)
    return [
        Item(number, f"bank {number % banks}", kinds[(number + number // banks) % len(kinds)])
        for number in range(count)
    ]


class ReadingModel:
    """Answers from the text it is given: each sentence is a fact, each entity's facts are one observation.

    Args:
        seed: of how long each answer takes.
        slowest: seconds an answer takes at most, so that kills strike while the model is asked.
        asked: called whenever it is asked and nothing ails it.
    """

    name = "reading"

    def __init__(self, seed: int, slowest: float, asked: Callable[[], None]) -> None:
        self._rng, self._slowest, self._asked = random.Random(seed), slowest, asked

    async def complete(self, prompt: Prompt[T]) -> Completion[T]:
        """Answer after a moment, unless something ails it.

        Raises:
            MalformedOutput: whoever asks retains what is to be parked.
            ModelUnavailable: whoever asks retains what is to be queued.
        """
        match TROUBLE.get():
            case Work.PARKED:
                raise MalformedOutput(self.name, "no json", "it is no JSON")
            case Work.QUEUED | Work.DOCUMENT:
                raise ModelUnavailable(self.name, "down")
        self._asked()
        await asyncio.sleep(self._rng.uniform(0, self._slowest))
        answer = ANSWERS[prompt.name](prompt.messages[-1].text)
        return Completion(prompt.schema.model_validate(answer))


def _facts(text: str) -> dict[str, Any]:
    return {"facts": [{"what": said, "sources": [place]} for place, said in SAID.findall(text)]}


def _observations(text: str) -> dict[str, Any]:
    facts = [(int(number), said) for number, said in SAID.findall(text)]
    return {"observations": [{"text": facts[0][1], "facts": [number for number, _ in facts]}]}


def _background(text: str) -> dict[str, Any]:
    return {"background": " ".join(NUMBERED.findall(text))}


ANSWERS: dict[str, Callable[[str], dict[str, Any]]] = {
    "extract_facts": _facts,
    "observe": _observations,
    "merge_background": _background,
}


async def retain(item: Item, bank: AsyncMemoryBank) -> None:
    """Retain an item so that its task is left, due at once; the same item again changes nothing."""
    trouble = TROUBLE.set(item.work)
    try:
        match item.work:
            case Work.PARKED | Work.QUEUED:
                await bank.retain([Message(item.sentence, "Ann", WHEN, id=f"m{item.number}")])
            case Work.DOCUMENT:
                await bank.retain(Document(item.sentence, f"d{item.number}", WHEN))
            case Work.OBSERVE:
                await _retain_facts(item, bank)
            case Work.BACKGROUND:
                told = Document(item.sentence, f"a{item.number}", WHEN, about_agent=True)
                await bank.retain(told, facts=[ExtractedFact(what=item.sentence)])
        if item.work is Work.PARKED:  # rests a minute
            await bank.tasks.retry()
    finally:
        TROUBLE.reset(trouble)


async def _retain_facts(item: Item, bank: AsyncMemoryBank) -> None:
    keeper = f"Keeper{item.number}"
    facts = [
        ExtractedFact(
            what=what,
            entities=[ExtractedEntity(text=keeper, type=EntityType.PERSON)],
            sources=[f"m{item.number}"],
        )
        for what in (item.sentence, f"{keeper} rows on Sundays.")
    ]
    told = Message(" ".join(fact.what for fact in facts), "Ann", WHEN, id=f"m{item.number}")
    await bank.retain([told], facts=facts)
