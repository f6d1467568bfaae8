"""Reflections: an answer shaped by a profile, what it stands on, and which opinions were formed with it (paper eq. 34)."""

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
    """One thing an answer stands on: a memory, or a mental model.

    Attributes:
        unit: the memory, as it was shown; None for a mental model, and for a turn of which no memory was made.
        turns: what was said of which it was made, oldest first; none where turns are not kept, or it came from a document.
        mental_model: id of the mental model; None for a memory.
    """

    unit: RecalledUnit | None = None
    turns: tuple[SourceTurn, ...] = ()
    mental_model: str | None = None


@dataclass(frozen=True, slots=True)
class MemoryTiers:
    """What an answer is made from, the most worked-out first (reference, "Retrieval Priority").

    Attributes:
        recalled: what was recalled, the facts and observations below among it.
        mental_models: near the question.
        observations: of the entities the facts mention, and those recalled; in order of time.
        facts: of the world and of the agent's experience, in order of time.
        beliefs: the agent's opinions on the matter, in order of time; never facts to stand on.
    """

    recalled: RecallResult
    mental_models: tuple[MentalModel, ...] = ()
    observations: tuple[RecalledUnit, ...] = ()
    facts: tuple[RecalledUnit, ...] = ()
    beliefs: tuple[RecalledUnit, ...] = ()


class OpinionOutcome(StrEnum):
    """What became of an opinion that an answer put forward."""

    FORMED = "formed"
    """It is a new opinion of the bank's."""
    KNOWN = "known"
    """The agent held it already, and nothing is new about it."""
    EVIDENCE = "evidence"
    """The agent held it, or one that it bears on; the facts it stands on became evidence of that."""
    REWORDED = "reworded"
    """It is the new wording of an opinion the agent held."""
    REFUSED = "refused"
    """Nothing was stored."""


@dataclass(frozen=True, slots=True)
class OpinionChange:
    """An opinion that an answer put forward, and what became of it.

    Attributes:
        outcome: what became of it.
        text: as it was put forward.
        confidence: likewise, in [0, 1]; None where it had none that can be.
        opinion_id: the opinion formed, known or changed; None where it was refused.
        reason: why, in words; empty for one that was formed.
    """

    outcome: OpinionOutcome
    text: str
    confidence: float | None = None
    opinion_id: str | None = None
    reason: str = ""


class OpinionMovement(StrEnum):
    """Which way an opinion of an answer moves what is held (paper section 5.5)."""

    FORM = "form"
    """It is new."""
    REINFORCE = "reinforce"
    """What it stands on speaks for an opinion that is held."""
    WEAKEN = "weaken"
    """It speaks against one."""
    CONTRADICT = "contradict"
    """It speaks strongly against one."""
    NEUTRAL = "neutral"
    """It moves nothing: it is known, or refused."""


@dataclass(frozen=True, slots=True)
class OpinionMove:
    """What an opinion of an answer does to the confidence of what is held, or would do.

    Attributes:
        change: what becomes of it.
        movement: which way it moves the opinion it is about.
        before: that one's confidence, in [0, 1]; None where there is none yet.
        after: likewise with what this adds; None where nothing is stored.
        held: how that opinion is worded before; empty where there is none.
        evidence: ids of the facts that join its log.
    """

    change: OpinionChange
    movement: OpinionMovement
    before: float | None = None
    after: float | None = None
    held: str = ""
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReflectStep:
    """One step of a reflection: a tool used on the way to the answer.

    Attributes:
        tool: its name.
        arguments: what it was given.
        thought: why, in the model's words.
        found: ids of the memories it gave.
        problem: why it gave nothing; empty if it did.
    """

    tool: str
    arguments: Mapping[str, object] = field(default_factory=dict)
    thought: str = ""
    found: tuple[str, ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class Reflection(Displayed):
    """An answer shaped by a profile, and what it stands on.

    Attributes:
        text: the answer.
        units: the memories it stands on, in the order cited; without a model, best first.
        extractive: True when no model was configured and the text is recalled memory, not prose.
        recalled: everything recalled for it.
        based_on: all it stands on, in the order of the answer's citations, with what was said of which it was made.
        opinions: the opinions the answer put forward, and what became of each.
        structured: the answer in the form of `response_schema`, if one was given; `structured_as(schema)` gives it typed.
        sufficient: whether memory had what the answer needs.
        steps: the tools used on the way, in order; none of a single call.
        mental_models: ids of the mental models that were shown.
        calls: how often the model was called.
        tokens_in: prompt tokens it reported.
        tokens_out: completion tokens it reported.
        notes: what a reader should know: what was cut, left out or not in the answer.
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
        """The structured answer, typed.

        Args:
            schema: the `response_schema` that was given.

        Raises:
            LookupError: there is no such answer; where memory has nothing to say, a reflection has none.
        """
        if isinstance(self.structured, schema):
            return self.structured
        raise LookupError(
            f"the reflection has no {schema.__name__}; `sufficient` says whether memory had an answer"
        )

    @property
    def records(self) -> tuple[RecordDigest, ...]:
        """Exact figures of the records that the question touches; what the answer was given to go by."""
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
    """What an event of a streamed reflection tells."""

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
        kind: what it tells.
        text: of TEXT the piece; the pieces together are the answer's text.
        step: of STEP.
        reflection: of REFLECTION.
    """

    kind: ReflectEventKind
    text: str = ""
    step: ReflectStep | None = None
    reflection: Reflection | None = None
