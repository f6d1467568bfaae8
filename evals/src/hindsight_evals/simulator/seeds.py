"""Seed data: who is simulated, what can be remembered, and in which words it is told and asked (Memora 3.1, A.1)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from hindsight_evals.simulator.memories import MemoryKind, Operation

LANGUAGE = files("hindsight_evals.simulator") / "language"


class _Seed(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Persona(_Seed):
    """Somebody to simulate.

    Attributes:
        id: for file names and the command line.
        role: what they do for a living.
        tastes: names of the pools they draw from, by domain.
    """

    id: str
    role: str
    tastes: Mapping[str, tuple[str, ...]]


class Range(_Seed):
    """Amounts of money from, and to."""

    low: float = Field(alias="from", gt=0)
    high: float = Field(alias="to", gt=0)


class Artifact(_Seed):
    """A document that somebody writes with an assistant: its title, and what each of its fields may say."""

    title: str
    fields: Mapping[str, tuple[str, ...]]


class Pools(_Seed):
    """What can be remembered.

    Attributes:
        pools: items by domain, group and pool.
        todos: tasks, by whether they are personal or of work.
        events: likewise.
        expenses: what a purchase of each category costs.
        documents: by kind.
    """

    pools: Mapping[str, Mapping[str, Mapping[str, tuple[str, ...]]]]
    todos: Mapping[str, tuple[str, ...]]
    events: Mapping[str, tuple[str, ...]]
    expenses: Mapping[str, Range]
    documents: Mapping[str, tuple[Artifact, ...]]


class Family(_Seed):
    """One manner of telling one operation on one kind of memory.

    Attributes:
        id: unique among families.
        memory: the kind of memory.
        operation: what is done to it.
        held_out: used in reports only, never in what the engine is worked on with.
        lead_in: lines before it, the last of which the assistant says; may be empty.
        user: wordings of the turn that tells it.
        reply: wordings of the assistant's answer.
        fact: wordings of what a strong model would extract.
        invalidates: wordings of what it would say no longer holds.
        liking: of preferences, which it tells; None for either.
        domains: of preferences, which it fits; none for all.
        groups: likewise.
        reason: of deletions, why; None for either.
        kinds: of documents, which it fits; none for all.
    """

    id: str
    memory: MemoryKind
    operation: Operation
    held_out: bool = False
    lead_in: tuple[str, ...] = ()
    user: tuple[str, ...]
    reply: tuple[str, ...]
    fact: tuple[str, ...]
    invalidates: tuple[str, ...] = ()
    liking: str | None = None
    domains: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    reason: str | None = None
    kinds: tuple[str, ...] = ()

    def fits(self, values: Mapping[str, str]) -> bool:
        """Whether it can tell a memory with these values."""
        wanted = {"liking": self.liking, "reason": self.reason}
        sets = {"domain_id": self.domains, "group_id": self.groups, "kind_id": self.kinds}
        return all(one in {None, values.get(name, one)} for name, one in wanted.items()) and all(
            not some or values.get(name) in some for name, some in sets.items()
        )


class Exchange(_Seed):
    """A piece of talk about a general topic, the assistant's line first, in which nothing is told about the user."""

    topic: str
    lines: tuple[str, ...]


class Neutral(_Seed):
    """Talk that leaves memory as it is: how sessions open and close (assistant, user), and what they speak of between."""

    openings: tuple[tuple[str, str], ...]
    closings: tuple[tuple[str, str], ...]
    exchange: tuple[Exchange, ...]


class QuestionFamily(_Seed):
    """One manner of asking for one thing.

    Attributes:
        id: unique among them.
        task: remembering, reasoning or recommending.
        target: what is asked for.
        held_out: as of families.
        text: wordings.
    """

    id: str
    task: str
    target: str
    held_out: bool = False
    text: tuple[str, ...]


class Seeds(_Seed):
    """All seed data."""

    personas: tuple[Persona, ...]
    pools: Pools
    families: tuple[Family, ...]
    neutral: Neutral
    questions: tuple[QuestionFamily, ...]

    def persona(self, name: str) -> Persona:
        """The persona of that id.

        Raises:
            KeyError: there is none; names those there are.
        """
        for persona in self.personas:
            if persona.id == name:
                return persona
        raise KeyError(f"no persona {name!r}; there are {', '.join(persona.id for persona in self.personas)}")

    def of(self, *, held_out: bool) -> Seeds:
        """With the held-out manners of telling and asking alone, or without them."""
        families = tuple(family for family in self.families if family.held_out is held_out)
        questions = tuple(family for family in self.questions if family.held_out is held_out)
        return self.model_copy(update={"families": families, "questions": questions})


@cache
def load_seeds(folder: Traversable = LANGUAGE) -> Seeds:
    """The seed data of a folder; that of the package if left out."""
    families = [
        family
        for file in sorted((folder / "families").iterdir(), key=lambda file: file.name)
        if file.name.endswith(".toml")
        for family in _read(file)["family"]
    ]
    return Seeds.model_validate(
        {
            "personas": _read(folder / "personas.toml")["persona"],
            "pools": _read(folder / "pools.toml"),
            "families": families,
            "neutral": _read(folder / "neutral.toml"),
            "questions": _read(folder / "questions.toml")["question"],
        }
    )


def _read(file: Traversable) -> dict[str, Any]:
    return tomllib.loads(file.read_text(encoding="utf-8"))
