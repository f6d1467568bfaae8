"""Reflections: answers shaped by a profile, their citations, and the opinions formed with them (paper eq. 34)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

from pydantic import BaseModel

from hindsight_integrations.model.display import Displayed, Table, count
from hindsight_integrations.model.mental_models import MentalModel
from hindsight_integrations.model.recalled import RecalledUnit
from hindsight_integrations.model.record_digest import RecordDigest
from hindsight_integrations.model.results import RecallResult
from hindsight_integrations.model.turns import SourceTurn

SchemaT = TypeVar("SchemaT", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Citation:
    """One source of an answer: a memory, or a mental model.

    Attributes:
        unit: the memory, as shown; None for a mental model, and for a turn from which no memory was made.
        turns: the turns it was made from, oldest first; empty if turns are not kept, or it came from a
            document.
        mental_model: id of the mental model; None for a memory.
    """

    unit: RecalledUnit | None = None
    turns: tuple[SourceTurn, ...] = ()
    mental_model: str | None = None


@dataclass(frozen=True, slots=True)
class MemoryTiers:
    """The sources of an answer, most processed first (reference, "Retrieval Priority").

    Attributes:
        recalled: the recall, which includes the facts and observations below.
        mental_models: those near the question.
        observations: those of the entities the facts mention, and those recalled; in order of time.
        facts: world and experience facts, in order of time.
        beliefs: the agent's opinions on the matter, in order of time; never used as facts.
    """

    recalled: RecallResult
    mental_models: tuple[MentalModel, ...] = ()
    observations: tuple[RecalledUnit, ...] = ()
    facts: tuple[RecalledUnit, ...] = ()
    beliefs: tuple[RecalledUnit, ...] = ()


class OpinionOutcome(StrEnum):
    """What happened to an opinion that an answer proposed."""

    FORMED = "formed"
    """It became a new opinion."""
    KNOWN = "known"
    """The agent already held it, and nothing about it is new."""
    EVIDENCE = "evidence"
    """The agent already held it or a related one; its facts became evidence of that."""
    REWORDED = "reworded"
    """It became the new wording of an existing opinion."""
    REFUSED = "refused"
    """Nothing was stored."""


@dataclass(frozen=True, slots=True)
class OpinionChange:
    """An opinion that an answer proposed, and its outcome.

    Attributes:
        outcome: what happened to it.
        text: as proposed.
        confidence: as proposed, in [0, 1]; None if missing or invalid.
        opinion_id: the opinion formed, known or changed; None if it was refused.
        reason: why, in words; empty if it was formed.
    """

    outcome: OpinionOutcome
    text: str
    confidence: float | None = None
    opinion_id: str | None = None
    reason: str = ""


class OpinionMovement(StrEnum):
    """How a proposed opinion affects an existing one (paper section 5.5)."""

    FORM = "form"
    """It is new."""
    REINFORCE = "reinforce"
    """Its facts support an existing opinion."""
    WEAKEN = "weaken"
    """They speak against one."""
    CONTRADICT = "contradict"
    """They speak strongly against one."""
    NEUTRAL = "neutral"
    """It has no effect: it is known, or refused."""


@dataclass(frozen=True, slots=True)
class OpinionMove:
    """The effect of a proposed opinion on the confidence of an opinion, done or predicted.

    Attributes:
        change: the outcome.
        movement: how it affects the opinion.
        before: that opinion's confidence, in [0, 1]; None if it is new.
        after: the confidence with this effect; None if nothing is stored.
        held: the existing wording of that opinion; empty if it is new.
        evidence: ids of the facts added to its log.
    """

    change: OpinionChange
    movement: OpinionMovement
    before: float | None = None
    after: float | None = None
    held: str = ""
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReflectStep:
    """One step of a reflection: the use of a tool.

    Attributes:
        tool: its name.
        arguments: its arguments.
        thought: the model's reason.
        found: ids of the memories it returned.
        problem: why it returned nothing; empty if it did.
    """

    tool: str
    arguments: Mapping[str, object] = field(default_factory=dict)
    thought: str = ""
    found: tuple[str, ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class Reflection(Displayed):
    """An answer shaped by a profile, with its sources.

    Attributes:
        text: the answer.
        units: the memories it cites, in order of citation; without a model, best first.
        extractive: True if no model was configured and the text is recalled memory, not prose.
        recalled: everything recalled for it.
        based_on: all its sources, in order of citation, with the turns they were made from.
        opinions: the opinions the answer proposed, with their outcomes.
        structured: the answer as a `response_schema`, if one was given; `structured_as(schema)` returns it
            typed.
        sufficient: whether memory contained what the answer needs.
        steps: the tools used, in order; empty for a single call.
        mental_models: ids of the mental models shown to the model.
        calls: number of model calls.
        tokens_in: prompt tokens reported by the model.
        tokens_out: completion tokens reported by the model.
        notes: remarks for the reader: what was cut, left out or not answered.
    """

    text: str
    units: tuple[RecalledUnit, ...]
    extractive: bool
    recalled: RecallResult
    based_on: tuple[Citation, ...] = ()
    opinions: tuple[OpinionChange, ...] = ()
    structured: BaseModel | None = None
    sufficient: bool = True
    steps: tuple[ReflectStep, ...] = ()
    mental_models: tuple[str, ...] = ()
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    notes: tuple[str, ...] = ()

    def structured_as(self, schema: type[SchemaT]) -> SchemaT:
        """Return the structured answer, typed.

        Args:
            schema: the `response_schema` that was given.

        Raises:
            LookupError: there is none, for example because memory has no answer.
        """
        if isinstance(self.structured, schema):
            return self.structured
        raise LookupError(
            f"the reflection has no {schema.__name__}; `sufficient` says whether memory had an answer"
        )

    @property
    def records(self) -> tuple[RecordDigest, ...]:
        """Exact figures of the records the question is about, as shown to the model."""
        return self.recalled.records

    def _display_text(self) -> str:
        return self.text

    def _display_facts(self) -> tuple[str, ...]:
        return (
            f"from {count(len(self.units), 'memory', 'memories')}",
            count(len(self.opinions), "opinion") if self.opinions else "",
            "extractive" if self.extractive else "",
            "" if self.sufficient else "memory was not sufficient",
        )

    def _display_tables(self) -> tuple[Table, ...]:
        units = [(unit.text, unit.when) for unit in self.units]
        opinions = [
            (opinion.outcome.value, opinion.text, opinion.confidence, opinion.reason)
            for opinion in self.opinions
        ]
        return (
            Table((), [(self.text,)], full=True),
            Table(("based on", "when"), units),
            Table(("opinion", "text", "confidence", "reason"), opinions),
            Table(("note",), [(note,) for note in self.notes]),
        )


class ReflectEventKind(StrEnum):
    """The kind of an event of a streamed reflection."""

    STEP = "step"
    """A tool was used."""
    TEXT = "text"
    """A piece of the answer's text."""
    REFLECTION = "reflection"
    """The answer is complete; the last event."""


@dataclass(frozen=True, slots=True)
class ReflectEvent:
    """One event of a streamed reflection.

    Attributes:
        kind: its kind.
        text: for TEXT, a piece of the answer; joined, the pieces are the whole answer.
        step: for STEP.
        reflection: for REFLECTION.
    """

    kind: ReflectEventKind
    text: str = ""
    step: ReflectStep | None = None
    reflection: Reflection | None = None
