"""The waiting work of `worker_kills`: five kinds, the model that does it, and the expected results."""

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
"""The failure of the model for the caller that retains; the model does not fail for the worker."""


@dataclass(frozen=True, slots=True)
class Item:
    """One input that creates a task.

    Attributes:
        number: number of the item, contained in all its sentences and in no others.
        bank: its bank.
        work: the kind of its task.
    """

    number: int
    bank: str
    work: Work

    @property
    def sentence(self) -> str:
        """The sentence that its task must produce exactly once."""
        match self.work:
            case Work.OBSERVE:
                return f"Keeper{self.number} owns kayak k{self.number}k."
            case Work.BACKGROUND:
                return f"I look after kayak k{self.number}k."
            case _:
                return f"The club lent kayak k{self.number}k in June."


def items(count: int, banks: int) -> list[Item]:
    """Return `count` items spread over the banks, so that each bank gets every kind."""
    kinds = list(Work)
    return [
        Item(number, f"bank {number % banks}", kinds[(number + number // banks) % len(kinds)])
        for number in range(count)
    ]


class ReadingModel:
    """A model that derives its answers from the prompt: each sentence is a fact, and each entity's facts are one observation.

    Args:
        seed: seed of the delays.
        slowest: maximum seconds of an answer, so that kills happen during requests.
        asked: called for each request that does not fail.
    """

    name = "reading"

    def __init__(self, seed: int, slowest: float, asked: Callable[[], None]) -> None:
        self._rng, self._slowest, self._asked = random.Random(seed), slowest, asked

    async def complete(self, prompt: Prompt[T]) -> Completion[T]:
        """Answer after a delay, or fail as TROUBLE says.

        Raises:
            MalformedOutput: the caller retains an item that must be parked.
            ModelUnavailable: the caller retains an item that must be queued.
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
    """Retain an item so that its task is due immediately; retaining it again changes nothing."""
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
        if item.work is Work.PARKED:  # waits for a minute
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
