"""The steps of `opinion_kills` in many banks, its scripted model, and the expected content of a bank after each step."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

from pydantic import BaseModel

from hindsight_integrations import AsyncMemoryBank, ExtractedFact, Message
from hindsight_integrations.models.protocols import Completion, Prompt

T = TypeVar("T", bound=BaseModel)

NUMBERED = re.compile(r"^\[(\d+)\] \([^)]*\) (.*)$", re.MULTILINE)
VERDICTS = ("reinforce", "weaken", "contradict", "neutral")
CONFIDENCE = 0.6
ROUNDS = 2  # number of rounds of facts in each bank, each assessed by its own settle


class Verb(StrEnum):
    """The operation of a step."""

    RETAIN = "retain"
    REFLECT = "reflect"
    SETTLE = "settle"


@dataclass(frozen=True, slots=True)
class Step:
    """One call.

    Attributes:
        bank: number of the bank.
        verb: the operation.
        round: 0 before the opinion is formed; each later round brings evidence.
    """

    bank: int
    verb: Verb
    round: int

    @property
    def name(self) -> str:
        """The name of the bank."""
        return f"believing {self.bank:03}."

    @property
    def keeper(self) -> str:
        """The person whom the bank's opinion is about."""
        return f"Keeper{self.bank:03}"


@dataclass(frozen=True, slots=True)
class Held:
    """The content of a bank.

    Attributes:
        memories: texts of its facts, sorted.
        opinions: the text, confidence and assessments (by fact) of each opinion.
    """

    memories: tuple[str, ...]
    opinions: tuple[tuple[str, float, tuple[tuple[str, str, str, bool], ...]], ...]

    def within(self, later: Held) -> bool:
        """Return whether all of this content is also in the later one."""
        rows = {(text, row) for text, _, log in self.opinions for row in log}
        others = {(text, row) for text, _, log in later.opinions for row in log}
        return (
            set(self.memories) <= set(later.memories)
            and len(self.opinions) <= len(later.opinions)
            and {row[:2] for _, row in rows} <= {row[:2] for _, row in others}
        )


def plan(banks: int) -> list[Step]:
    """Return the steps for each bank: facts, an opinion formed from them, and rounds of evidence with their assessment."""
    steps = []
    for bank in range(banks):
        steps += [Step(bank, Verb.RETAIN, 0), Step(bank, Verb.REFLECT, 0)]
        for number in range(1, ROUNDS + 1):
            steps += [Step(bank, Verb.RETAIN, number), Step(bank, Verb.SETTLE, number)]
    return steps


async def take(step: Step, bank: AsyncMemoryBank) -> None:
    """Run a step. Odd banks pass a key with their reflections; in the others, a retry is recognised by its content."""
    match step.verb:
        case Verb.RETAIN:
            said = [
                Message(text, speaker, f"2024-0{1 + step.round}-0{day}T10:00", id=f"{step.round}/{day}")
                for day, (speaker, text) in enumerate(_told(step), 1)
            ]
            facts = [
                ExtractedFact.model_validate(
                    {"what": each.text, "sources": [str(each.id)], "entities": [step.keeper]}
                )
                for each in said
            ]
            await bank.retain(said, thread="talk", facts=facts)
        case Verb.REFLECT:
            operation = f"question of {step.name}" if step.bank % 2 else None
            await bank.reflect(f"Is {step.keeper} careful?", operation=operation)
        case Verb.SETTLE:
            await bank.tasks.settle()


async def held(bank: AsyncMemoryBank) -> Held:
    """Read a bank's content through the public API."""
    memories = {unit.id: unit.text async for unit in bank.iterate_units(types=["world"])}
    opinions = []
    for opinion in await bank.opinions.list(include_closed=True):
        history = await bank.opinions.history(opinion.id)
        rows = sorted(
            (memories[row.unit_id], row.assessment.value, row.strength.value, entry.counts)
            for entry in history.entries
            for row in [entry.evidence]
        )
        opinions.append((opinion.text, round(opinion.confidence, 9), tuple(rows)))
    return Held(tuple(sorted(memories.values())), tuple(sorted(opinions)))


class BelievingModel:
    """A model that derives its answers from the prompt's text, and reports shortly before each answer.

    Args:
        answered: called at that moment.
    """

    name = "believing"

    def __init__(self, answered: Callable[[], None]) -> None:
        self._answered = answered

    async def complete(self, prompt: Prompt[T]) -> Completion[T]:
        """Return an answer depending on the prompt's name."""
        answer = prompt.schema.model_validate(ANSWERS[prompt.name](prompt.messages[1].text))
        self._answered()
        return Completion(answer)


def _told(step: Step) -> Sequence[tuple[str, str]]:
    """Return the speakers and statements of a round: two new speakers, and one who repeats a statement of the previous round."""
    keeper, number = step.keeper, step.round
    if not number:
        return [("Ann", f"{keeper} is careful with the ropes.")]
    tested = f"{keeper} was careful in test {{}} of {step.bank * 7 + 3}."
    return [
        (f"guest {number}", tested.format(2 * number)),
        (f"visitor {number}", tested.format(2 * number + 1)),
        ("Bob", f"{keeper} was careful at the {'first' if step.bank % 3 else 'last'} gate of the lock."),
    ]


def _answered(shown: str) -> Mapping[str, Any]:
    keeper = re.search(r"Keeper\d+", shown.rpartition("Question:")[2])
    assert keeper is not None
    grounds = [number for number, text in NUMBERED.findall(shown) if "ropes" in text]
    opinion = {
        "opinion": f"I think {keeper[0]} is careful, because the ropes are in order.",
        "confidence": CONFIDENCE,
        "reasoning": "The ropes are in order.",
        "based_on": grounds,
        "entities": [keeper[0]],
    }
    return {"text": "Yes.", "based_on": grounds, "sufficient": True, "opinions": [opinion]}


def _assessed(shown: str) -> Mapping[str, Any]:
    facts = dict(NUMBERED.findall(shown.partition("<<<FACTS")[2]))
    asked = re.findall(r"fact (\d+)", shown.rpartition("Assess these pairs")[2])
    found = []
    for number in asked:
        weight = sum(map(ord, facts[number]))
        strength = "strong" if weight % 3 else "mild"
        verdict = {"assessment": VERDICTS[weight % 4], "strength": strength, "reason": "It says so."}
        found.append({"opinion": 1, "fact": int(number), **verdict})
    return {"assessments": found}


ANSWERS: Mapping[str, Callable[[str], Mapping[str, Any]]] = {
    "answer": _answered,
    "assess_evidence": _assessed,
}
