"""Banks with observations for tests: a scripted model, and the ledger's content."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hindsight_integrations import Hindsight, HindsightConfig, MemoryBank
from hindsight_integrations.config import KeywordBackend, ObservationConfig, StorageConfig, VectorBackend
from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.ledger.values import Observed
from hindsight_integrations.model.tasks import Task, TaskKind, TaskState
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.testing.scripted_model import ScriptedModel

REAL = StorageConfig(vectors=VectorBackend.CHROMA, keywords=KeywordBackend.LUCENE)
LIGHT = StorageConfig(vectors=VectorBackend.EXACT, keywords=KeywordBackend.FTS5)

# The example of the earlier paper 2.6.2, and its observations.
ALICE = (
    "Alice works at Google",
    "Alice is a software engineer",
    "Alice specializes in ML and deep learning",
    "Alice joined Google in 2023",
    "Alice is detail-oriented and methodical",
)
OBSERVED = (
    ("Alice is a software engineer at Google specializing in machine learning and deep learning", [1, 2, 3]),
    ("Alice joined Google in 2023", [4]),
    ("Alice is detail-oriented and methodical in her approach", [5]),
)


@dataclass
class Asked:
    """A model that answers the prompt of observations from a script, and records its prompts.

    Attributes:
        answers: the answers in order; the last one is repeated. A function is called and returns the answer.
        shown: the last message of each call.
        systems: the first message of each call.
    """

    answers: Sequence[Any]
    shown: list[str] = field(default_factory=list)
    systems: list[str] = field(default_factory=list)

    def __call__(self, messages: Sequence[Any]) -> Any:
        self.systems.append(str(messages[0].content))
        self.shown.append("\n".join(str(message.content) for message in messages[1:]))
        answer = self.answers[min(len(self.shown), len(self.answers)) - 1]
        return answer() if callable(answer) else answer


def said(*observations: tuple[str, Sequence[int]]) -> dict[str, Any]:
    """A model's answer."""
    return {"observations": [{"text": text, "facts": list(facts)} for text, facts in observations]}


Opened = Callable[..., MemoryBank]


def bank_opener(opener: Callable[..., Hindsight]) -> Opened:
    """Opens a bank with a scripted model."""

    def open_bank(
        asked: Asked | None = None,
        storage: StorageConfig = LIGHT,
        path: str | Path = ":memory:",
        **settings: Any,
    ) -> MemoryBank:
        config = HindsightConfig(storage=storage, observations=ObservationConfig(**settings))
        model = None if asked is None else ScriptedModel(asked)
        return opener(path, model=model, config=config).bank("team")

    return open_bank


def tell(
    bank: MemoryBank, *facts: str | dict[str, Any], entity: str = "Alice", **options: Any
) -> tuple[str, ...]:
    """Retain facts about an entity, one day each; return their ids."""
    start = bank.count()
    ids: list[str] = []
    for day, fact in enumerate(facts, start + 1):
        given = fact if isinstance(fact, dict) else {"what": fact}
        whole = {"entities": [{"text": entity, "type": "PERSON"}], "sources": [f"m{day}"], **given}
        message = {"role": "user", "content": whole["what"], "id": f"m{day}"}
        moment = f"2024-{1 + day // 28:02d}-{1 + day % 28:02d}T10:00"
        ids += bank.retain([message], timestamp=moment, facts=[whole], **options).unit_ids
    return tuple(ids)


def observations(bank: MemoryBank) -> dict[str, MemoryUnit]:
    """Every observation of the bank, by its text."""
    return {unit.text: unit for unit in bank.iterate_units(types=["observation"])}


def ledger_of(bank: MemoryBank) -> Ledger:
    ledger: Ledger = bank.asynchronous._context.ledger
    return ledger


def observed(bank: MemoryBank, entity: str = "Alice") -> Observed:
    """The ledger's observations of an entity."""
    ledger = ledger_of(bank)
    (found,) = ledger.entities.find(bank.name, entity.casefold())
    made: Observed = ledger.observations.get(bank.name, [found.id])[found.id]
    return made


def grounds(bank: MemoryBank) -> dict[str, frozenset[str]]:
    """The facts on which each observation is based, by its text."""
    ledger = ledger_of(bank)
    units = observations(bank)
    rows = ledger.units.row_ids(bank.name, [unit.id for unit in units.values()])
    stored = ledger.observations.grounds_of(bank.name, np.array(sorted(rows.values()), np.int64))
    return {text: frozenset(stored[rows[unit.id]]) for text, unit in units.items() if rows[unit.id] in stored}


def waiting(bank: MemoryBank) -> list[Task]:
    return [
        task
        for task in bank.tasks.list()
        if task.kind is TaskKind.OBSERVE and task.state is TaskState.PENDING
    ]


def covered(bank: MemoryBank, entity: str = "Alice") -> tuple[set[str], set[str]]:
    """Facts with an observation, and facts listed as omitted."""
    made = observed(bank, entity)
    own = {unit.id: text for text, unit in observations(bank).items() if unit.id in made.units}
    found = grounds(bank)
    return {fact for text in own.values() for fact in found[text]}, set(made.left_out)
