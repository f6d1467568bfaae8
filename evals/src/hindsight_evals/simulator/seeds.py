"""Seed data: personas, possible memories, and the wordings in which they are stated and asked for (Memora 3.1, A.1)."""

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
    """A simulated person.

    Attributes:
        id: for file names and the command line.
        role: the person's occupation.
        tastes: names of the person's pools, by domain.
    """

    id: str
    role: str
    tastes: Mapping[str, tuple[str, ...]]


class Range(_Seed):
    """A range of amounts of money."""

    low: float = Field(alias="from", gt=0)
    high: float = Field(alias="to", gt=0)


class Artifact(_Seed):
    """A document that a person writes with an assistant: its title, and the possible values of its fields."""

    title: str
    fields: Mapping[str, tuple[str, ...]]


class Pools(_Seed):
    """The possible memories.

    Attributes:
        pools: items by domain, group and pool.
        todos: tasks, personal or for work.
        events: events, personal or for work.
        expenses: price ranges by category.
        documents: documents by kind.
    """

    pools: Mapping[str, Mapping[str, Mapping[str, tuple[str, ...]]]]
    todos: Mapping[str, tuple[str, ...]]
    events: Mapping[str, tuple[str, ...]]
    expenses: Mapping[str, Range]
    documents: Mapping[str, tuple[Artifact, ...]]


class Family(_Seed):
    """One phrasing of one operation on one kind of memory.

    Attributes:
        id: unique among families.
        memory: the kind of memory.
        operation: the operation.
        held_out: whether it is used only for reports, and not during development of the engine.
        lead_in: preceding lines, the last one by the assistant; may be empty.
        user: wordings of the turn that states it.
        reply: wordings of the assistant's answer.
        fact: wordings of the fact that a strong model would extract.
        invalidates: wordings of the invalidated statement that it would name.
        liking: for preferences, whether it states a like; None for both.
        domains: for preferences, the domains it fits; none for all.
        groups: for preferences, the groups it fits; none for all.
        reason: for deletions, the reason; None for any.
        kinds: for documents, the kinds it fits; none for all.
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
        """Return whether it can state a memory with these values."""
        wanted = {"liking": self.liking, "reason": self.reason}
        sets = {"domain_id": self.domains, "group_id": self.groups, "kind_id": self.kinds}
        return all(one in {None, values.get(name, one)} for name, one in wanted.items()) and all(
            not some or values.get(name) in some for name, some in sets.items()
        )


class Exchange(_Seed):
    """An exchange about a general topic, the assistant's line first, without statements about the user."""

    topic: str
    lines: tuple[str, ...]


class Neutral(_Seed):
    """Lines that do not change memory: openings and closings of sessions (assistant, user), and general topics."""

    openings: tuple[tuple[str, str], ...]
    closings: tuple[tuple[str, str], ...]
    exchange: tuple[Exchange, ...]


class QuestionFamily(_Seed):
    """One phrasing of a question.

    Attributes:
        id: unique among question families.
        task: remembering, reasoning or recommending.
        target: the kind of value it asks for.
        held_out: whether it is used only for reports.
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
        """Return the persona with this id.

        Raises:
            KeyError: there is none; the message lists the existing ones.
        """
        for persona in self.personas:
            if persona.id == name:
                return persona
        raise KeyError(f"no persona {name!r}; there are {', '.join(persona.id for persona in self.personas)}")

    def of(self, *, held_out: bool) -> Seeds:
        """Return the seeds with only the held-out phrasings, or only the others."""
        families = tuple(family for family in self.families if family.held_out is held_out)
        questions = tuple(family for family in self.questions if family.held_out is held_out)
        return self.model_copy(update={"families": families, "questions": questions})


@cache
def load_seeds(folder: Traversable = LANGUAGE) -> Seeds:
    """Load the seed data of a folder; by default, the package's."""
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
