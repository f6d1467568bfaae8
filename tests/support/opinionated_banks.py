"""Banks whose agent holds opinions, for tests: a scripted model, and facts for and against."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import isawaitable
from typing import Any, TypeVar
from zlib import crc32

from pydantic import BaseModel, ValidationError

from hindsight_integrations import HindsightConfig, MalformedOutput, MemoryBank, Message
from hindsight_integrations.config import (
    KeywordBackend,
    ObservationConfig,
    OpinionConfig,
    StorageConfig,
    VectorBackend,
)
from hindsight_integrations.model.opinions import Opinion, OpinionLog
from hindsight_integrations.model.reflections import Reflection
from hindsight_integrations.model.turns import Role
from hindsight_integrations.models.protocols import Completion, Prompt, answer_problem

T = TypeVar("T", bound=BaseModel)

LINE = re.compile(r"^\[([BM]?\d+)\] (?:\((?:[^()]|\([^()]*\))*\) )?(.*)$", re.MULTILINE)
PAIRED = re.compile(r"fact (\d+)")
BELIEF = "I believe the Sorrel ferry is reliable, because it sails on time even in a storm."
GROUND = "The Sorrel ferry sails on time in rough weather."
SORREL = ("Sorrel",)
QUESTION = "Is the Sorrel ferry reliable?"
STORAGE = StorageConfig(vectors=VectorBackend.EXACT, keywords=KeywordBackend.FTS5)

Answer = Callable[[str], object]
"""From what a prompt shows, the system message aside, to an answer or what is to be awaited for it."""


def config(**opinions: Any) -> HindsightConfig:
    """Settings with which new facts are assessed at the next settle, and nothing else calls the model."""
    return HindsightConfig(
        storage=STORAGE,
        observations=ObservationConfig("off"),
        opinions=OpinionConfig(**{"delay_s": 0.0, **opinions}),
    )


@dataclass
class Agent:
    """A model with scripted answers by name of the prompt; it records its prompts.

    Attributes:
        answers: answers by name of the prompt; other prompts are an error.
        asked: every prompt, in order of arrival.
    """

    answers: Mapping[str, Answer]
    name: str = "scripted"
    asked: list[Prompt[Any]] = field(default_factory=list)

    async def complete(self, prompt: Prompt[T]) -> Completion[T]:
        """Return the scripted answer; one that does not match the schema is malformed, like a real model's."""
        self.asked.append(prompt)
        shown = prompt.messages[1].text  # a repair repeats the prompt with the faults of the first answer
        answer = self.answers[prompt.name](shown)
        if isawaitable(answer):
            answer = await answer
        try:
            return Completion(prompt.schema.model_validate(answer), text=str(answer))
        except ValidationError as error:
            raise MalformedOutput(self.name, str(answer), answer_problem(error)) from error

    def shown(self, name: str) -> list[str]:
        """The content of the prompts with a name, without system messages."""
        return [
            "\n".join(message.text for message in prompt.messages[1:])
            for prompt in self.asked
            if prompt.name == name
        ]


def lines(shown: str, label: str) -> dict[str, str]:
    """The text of each line between the markers of a label, by its number."""
    inside = shown.partition(f"<<<{label}\n")[2].partition(f"\n{label}>>>")[0]
    return {match[1]: match[2] for match in LINE.finditer(inside)}


def assessing(verdict: Callable[[str, str], tuple[str, str] | Mapping[str, Any]]) -> Answer:
    """Assesses each requested pair by a function of the opinion's and the fact's text."""

    def answer(shown: str) -> object:
        opinions, facts = lines(shown, "OPINIONS"), lines(shown, "FACTS")
        found: list[dict[str, Any]] = []
        for number, opinion in opinions.items():
            pairs = re.search(rf"^opinion {number}: (.*)$", shown, re.MULTILINE)
            assert pairs is not None
            for fact in PAIRED.findall(pairs[1]):
                said = verdict(opinion, facts[fact])
                more = said if isinstance(said, Mapping) else {"assessment": said[0], "strength": said[1]}
                found.append(
                    {"opinion": int(number), "fact": int(fact), "reason": "as the script has it", **more}
                )
        return {"assessments": found}

    return answer


def always(assessment: str = "reinforce", strength: str = "strong") -> Answer:
    """Gives every fact the same assessment."""
    return assessing(lambda opinion, fact: (assessment, strength))


def say(
    bank: MemoryBank,
    what: str,
    *,
    by: str = "Ann",
    day: int = 1,
    role: Role = Role.USER,
    fact_type: str = "world",
    entities: Sequence[str] = (),
    invalidates: Sequence[str] = (),
    **options: Any,
) -> str:
    """Retain one message with one fact; return the fact's id, or nothing if it was retained before."""
    # Without its text, because ids of messages survive an erasure.
    known = f"{by} {day} {crc32(what.encode())}"
    message = Message(what, by, f"2024-{3 + day // 28:02d}-{1 + day % 28:02d}T10:00", known, role=role)
    fact = {
        "what": what,
        "sources": [known],
        "fact_type": fact_type,
        "entities": list(entities),
        "invalidates": list(invalidates),
    }
    return next(iter(bank.retain([message], facts=[fact], **options).unit_ids), "")


def answering(
    opinion: str, confidence: float, *, ground: str = GROUND, entities: Sequence[str] = SORREL
) -> Answer:
    """Answers a question, and proposes one opinion based on the memory with these words."""

    def answer(shown: str) -> object:
        memories = {**lines(shown, "OBSERVATIONS"), **lines(shown, "MEMORIES")}
        grounds = [number for number, memory in memories.items() if ground in memory]
        candidate = {
            "opinion": opinion,
            "confidence": confidence,
            "reasoning": "As far as is known.",
            "based_on": grounds,
            "entities": list(entities),
        }
        return {"text": "It is.", "based_on": grounds, "sufficient": True, "opinions": [candidate]}

    return answer


def form(bank: MemoryBank, *, operation: str | None = "first question") -> Reflection:
    """Retain the opinion's grounds, and answer the question with which it is formed."""
    say(bank, GROUND, by="the harbour master", entities=SORREL)
    bank.tasks.settle()
    return bank.reflect(QUESTION, operation=operation)


def held(bank: MemoryBank) -> Opinion:
    """The only opinion of the bank's agent."""
    (opinion,) = bank.opinions.list()
    return opinion


def log_of(bank: MemoryBank, opinion_id: str | None = None) -> OpinionLog:
    """The ledger's log of an opinion, by its id, or of the only one."""
    (log,) = bank.asynchronous._context.ledger.opinions.get(
        bank.name, None if opinion_id is None else [opinion_id]
    )
    return log
