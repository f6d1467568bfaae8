"""What the memory tells LlamaIndex's instrumentation: events of its dispatcher, without the text of memories."""

from __future__ import annotations

from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.events import BaseEvent
from pydantic import Field

dispatcher = get_dispatcher("hindsight_integrations.llamaindex")


class MemoryEvent(BaseEvent):  # type: ignore[misc] # mypy is told to skip LlamaIndex, whose types it cannot follow
    """Something a bank did.

    Attributes:
        bank: the bank's id.
    """

    bank: str

    @classmethod
    def class_name(cls) -> str:
        """The event's name in traces."""
        return f"Hindsight{cls.__name__}"


class MemoryRetained(MemoryEvent):
    """What a turn changed.

    Attributes:
        units: ids of the memories that stand for its new messages.
        created: how many of them are new.
        superseded: ids of memories that hold no more, since their messages were edited or dropped.
        restored: ids of memories that hold again.
        queued: passages that wait for the model.
        calls: how often the model was called.
        tokens_in: prompt tokens it reported.
        tokens_out: completion tokens it reported.
    """

    units: list[str]
    created: int
    superseded: list[str] = Field(default_factory=list)
    restored: list[str] = Field(default_factory=list)
    queued: int = 0
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0


class MemoryRecalled(MemoryEvent):
    """What was found.

    Attributes:
        units: ids, in the order recalled.
        scores: of each; comparable within one recall only.
        channels: of each its rank, from 1, in every channel that found it.
    """

    units: list[str]
    scores: list[float]
    channels: list[dict[str, int]]


class MemoryWarning(MemoryEvent):
    """The memory failed, and the agent went on.

    Attributes:
        where: the part that met it.
        error: the error's class.
        missing: what the agent goes on without.
        remedy: what to do.
    """

    where: str
    error: str
    missing: str
    remedy: str


class OpinionChanged(MemoryEvent):
    """What became of an opinion that an answer put forward.

    Attributes:
        outcome: as `OpinionOutcome`: formed, known, changed, refused ...
        opinion: its id; None where it was refused.
        confidence: as it was put forward, in [0, 1]; None where it had none.
    """

    outcome: str
    opinion: str | None = None
    confidence: float | None = None
