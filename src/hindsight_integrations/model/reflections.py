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
        unit: the memory as shown to the model; None for a mental model, and for a turn without a memory.
        turns: the turns from which it was made, oldest first; empty if turns are not stored, or it was made from a
            document.
        mental_model: the id of the mental model; None for a memory.
    """

    unit: RecalledUnit | None = None
    turns: tuple[SourceTurn, ...] = ()
    mental_model: str | None = None


@dataclass(frozen=True, slots=True)
class MemoryTiers:
    """The sources of an answer, most processed first (reference, "Retrieval Priority").

    Attributes:
        recalled: the recall, which includes the facts and observations below.
        mental_models: the mental models near the question.
        observations: the recalled observations and those of the entities that the facts mention, in order of time.
        facts: the world and experience facts, in order of time.
        beliefs: the agent's relevant opinions, in order of time; never used as facts.
    """

    recalled: RecallResult
    mental_models: tuple[MentalModel, ...] = ()
    observations: tuple[RecalledUnit, ...] = ()
    facts: tuple[RecalledUnit, ...] = ()
    beliefs: tuple[RecalledUnit, ...] = ()


class OpinionOutcome(StrEnum):
    """The outcome of an opinion that an answer proposed."""

    FORMED = "formed"
    """It became a new opinion."""
    KNOWN = "known"
    """The agent already held it, and it has no new evidence."""
    EVIDENCE = "evidence"
    """The agent already held it or a related opinion; its facts became evidence for or against that one."""
    REWORDED = "reworded"
    """It became the new wording of an existing opinion."""
    REFUSED = "refused"
    """Nothing was stored."""


@dataclass(frozen=True, slots=True)
class OpinionChange:
    """An opinion that an answer proposed, and its outcome.

    Attributes:
        outcome: the outcome.
        text: the proposed text.
        confidence: the proposed confidence, in [0, 1]; None if missing or invalid.
        opinion_id: the id of the formed, known or changed opinion; None if it was refused.
        reason: the reason for the outcome; empty if it was formed.
    """

    outcome: OpinionOutcome
    text: str
    confidence: float | None = None
    opinion_id: str | None = None
    reason: str = ""


class OpinionMovement(StrEnum):
    """The effect of a proposed opinion on an existing one (paper section 5.5)."""

    FORM = "form"
    """It is new."""
    REINFORCE = "reinforce"
    """Its facts support an existing opinion."""
    WEAKEN = "weaken"
    """Its facts are evidence against an existing opinion."""
    CONTRADICT = "contradict"
    """Its facts contradict an existing opinion."""
    NEUTRAL = "neutral"
    """It has no effect, because it is known or refused."""


@dataclass(frozen=True, slots=True)
class OpinionMove:
    """The actual or predicted effect of a proposed opinion on the confidence of an opinion.

    Attributes:
        change: the proposed opinion and its outcome.
        movement: the effect on the opinion.
        before: the opinion's confidence before the effect, in [0, 1]; None if it is new.
        after: the confidence after the effect; None if nothing is stored.
        held: the existing wording of the opinion; empty if it is new.
        evidence: the ids of the facts added to its log.
    """

    change: OpinionChange
    movement: OpinionMovement
    before: float | None = None
    after: float | None = None
    held: str = ""
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReflectStep:
    """One step of a reflection: a tool call.

    Attributes:
        tool: the name of the tool.
        arguments: the arguments of the call.
        thought: the model's reason for the call.
        found: the ids of the returned memories.
        problem: the reason why nothing was returned; empty otherwise.
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
        units: the cited memories, in order of citation; without a model, best first.
        extractive: True if no model was configured, so that the text consists of recalled memories.
        recalled: all results recalled for the answer.
        based_on: all its sources, in order of citation, with the turns from which they were made.
        opinions: the opinions that the answer proposed, with their outcomes.
        structured: the answer as an instance of `response_schema`, if one was passed; `structured_as(schema)` returns it
            with its type.
        sufficient: True if memory was sufficient for an answer.
        steps: the tool calls, in order; empty with the strategy SINGLE.
        mental_models: the ids of the mental models shown to the model.
        calls: the number of model calls.
        tokens_in: the prompt tokens reported by the model.
        tokens_out: the completion tokens reported by the model.
        notes: the notes for the reader about omitted, cut or unanswered parts.
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
        """Return the structured answer as an instance of its schema.

        Args:
            schema: the `response_schema` passed to `reflect`.

        Raises:
            LookupError: the reflection has no structured answer, for example because memory has no answer.
        """
        if isinstance(self.structured, schema):
            return self.structured
        raise LookupError(
            f"the reflection has no {schema.__name__}; check `sufficient` to see whether memory had an answer"
        )

    @property
    def records(self) -> tuple[RecordDigest, ...]:
        """The exact figures of the relevant records, as shown to the model."""
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
    """A tool call."""
    TEXT = "text"
    """A piece of the answer's text."""
    REFLECTION = "reflection"
    """The complete answer; the last event."""


@dataclass(frozen=True, slots=True)
class ReflectEvent:
    """One event of a streamed reflection.

    Attributes:
        kind: the kind of the event.
        text: with TEXT, a piece of the answer; the concatenated pieces are the whole answer.
        step: with STEP, the tool call.
        reflection: with REFLECTION, the complete answer.
    """

    kind: ReflectEventKind
    text: str = ""
    step: ReflectStep | None = None
    reflection: Reflection | None = None
