"""Shared parts of the LlamaIndex components: the bank field, memories as prompt lines, and instrumentation events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.events import BaseEvent
from pydantic import Field, PlainSerializer, PlainValidator, WithJsonSchema

from hindsight_integrations import (
    AsyncMemoryBank,
    BankReference,
    InvalidRequest,
    MemoryBank,
    RecallResult,
    Reflection,
    RetainResult,
    bank_at,
)
from hindsight_integrations.errors import shown
from hindsight_integrations.model.results import retained_values
from hindsight_integrations.prompts.recalled import memory_line
from hindsight_integrations.tolerance import Tolerated
from hindsight_integrations.validation.options import PROMPT_DEFAULTS, checked_recall_options, with_defaults


def open_bank(given: object) -> AsyncMemoryBank:
    """Return a component's bank as an async bank.

    Args:
        given: a sync or async bank, or its reference, also in JSON form.

    Raises:
        InvalidRequest: the value is not a bank or a reference.
        BankNotOpen: no engine in this process has the reference's directory open.
        BankNotFound: the bank does not exist or was deleted.
    """
    if isinstance(given, MemoryBank):
        return given.asynchronous
    if isinstance(given, AsyncMemoryBank):
        return given
    if isinstance(given, Mapping) and set(given) == {"place", "bank"}:
        given = BankReference(str(given["place"]), str(given["bank"]))
    if isinstance(given, BankReference):
        return bank_at(given)
    raise InvalidRequest(
        "bank", f"{shown(given)} is not a bank", "Pass engine.bank(name), awaited if the engine is async."
    )


def reference_of(bank: AsyncMemoryBank) -> dict[str, str]:
    """Return a bank's reference in JSON form, for serialised components."""
    reference = bank.reference
    return {"place": reference.place, "bank": reference.bank}


BankField = Annotated[
    Any,
    PlainValidator(open_bank),
    PlainSerializer(reference_of),
    WithJsonSchema(
        {"type": "object", "properties": {"place": {"type": "string"}, "bank": {"type": "string"}}}
    ),
]
"""Pydantic field that accepts a sync or async bank or its reference, holds the async bank and serialises to the reference."""


dispatcher = get_dispatcher("hindsight_integrations.llamaindex")


class MemoryEvent(BaseEvent):  # type: ignore[misc] # mypy does not follow imports of LlamaIndex
    """Base class of memory events.

    Attributes:
        bank: the bank's id.
    """

    bank: str

    @classmethod
    def class_name(cls) -> str:
        """Return the event's name in traces."""
        return f"Hindsight{cls.__name__}"


class MemoryRetained(MemoryEvent):
    """A turn was retained.

    Attributes:
        units: ids of the memories made from the turn's new messages.
        created: the number of new memories, including those of earlier messages that waited for extraction.
        superseded: ids of memories made invalid because their messages were edited or discarded.
        restored: ids of memories made valid again.
        queued: number of passages waiting for extraction.
        calls: number of model calls.
        tokens_in: prompt tokens reported by the model.
        tokens_out: completion tokens reported by the model.
        tokens_cached: prompt tokens that the model read from its cache, as reported by it.
    """

    units: list[str]
    created: int
    superseded: list[str] = Field(default_factory=list)
    restored: list[str] = Field(default_factory=list)
    queued: int = 0
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0


class MemoryRecalled(MemoryEvent):
    """Memories were recalled.

    Attributes:
        units: memory ids, in the order recalled.
        scores: one score per memory; comparable within one recall only.
        channels: for each memory, its rank, from 1, in each channel that found it.
    """

    units: list[str]
    scores: list[float]
    channels: list[dict[str, int]]


class MemoryWarning(MemoryEvent):
    """Memory failed, and the agent continued.

    Attributes:
        where: the component that failed.
        error: the error's class.
        missing: what the agent continues without.
        remedy: advice.
    """

    where: str
    error: str
    missing: str
    remedy: str


class OpinionChanged(MemoryEvent):
    """An opinion in an answer was assessed.

    Attributes:
        outcome: an `OpinionOutcome`: formed, known, changed, refused ...
        opinion: the opinion's id; None if it was refused.
        confidence: the confidence in [0, 1] that the answer states; None if it states none.
    """

    outcome: str
    opinion: str | None = None
    confidence: float | None = None


# The bank's limit in characters. Longer texts lose their beginning, because the question is usually last.
LONGEST_QUERY = 8_000


def chat_recall_options(recall_options: object) -> dict[str, Any]:
    """Validate a chat memory's recall options and add the prompt defaults, without max_tokens, which is set separately.

    Raises:
        InvalidRequest: an option is unknown or invalid.
    """
    options = with_defaults(checked_recall_options(recall_options), PROMPT_DEFAULTS)
    return {name: value for name, value in options.items() if name != "max_tokens"}


async def recalled_lines(
    bank: AsyncMemoryBank,
    query: str,
    max_tokens: int,
    options: Mapping[str, Any],
    *,
    asker: ChatMessage | None,
) -> list[str]:
    """Recall memories, emit the event, and return the record tables followed by one line per memory.

    Args:
        bank: the bank to recall from.
        query: the question.
        max_tokens: token limit of the memories.
        options: further options of `bank.recall`.
        asker: a message of the user who asks; the name in it selects the core memory to include.
    """
    named = {"speaker": str(name)} if asker and (name := asker.additional_kwargs.get("name")) else {}
    found = await bank.recall(query[-LONGEST_QUERY:], max_tokens=max_tokens, **{**named, **options})
    return lines_of(bank.name, found)


def lines_of(bank: str, found: RecallResult) -> list[str]:
    """Emit the recall event and return the record tables followed by one line per memory."""
    dispatcher.event(recalled(bank, found))
    return [*(table.text for table in found.records), *map(memory_line, found.units)]


def recalled(bank: str, found: RecallResult) -> MemoryRecalled:
    """Build the event of a recall."""
    return MemoryRecalled(
        bank=bank,
        units=[each.unit.id for each in found.units],
        scores=[float(each.score) for each in found.units],
        channels=[
            {channel.value: hit.rank for channel, hit in each.channels.items()} for each in found.units
        ],
    )


def retained(bank: str, result: RetainResult) -> MemoryRetained:
    """Build the event of a retain."""
    return MemoryRetained(bank=bank, **retained_values(result))


def emit_warning(met: Tolerated) -> None:
    """Emit the event of a failure after which the agent continues."""
    dispatcher.event(
        MemoryWarning(bank=met.bank, where=met.where, error=met.error, missing=met.missing, remedy=met.remedy)
    )


def emit_reflection(bank: str, reflection: Reflection) -> None:
    """Emit the events of a reflection: its recall and its opinions."""
    dispatcher.event(recalled(bank, reflection.recalled))
    for change in reflection.opinions:
        dispatcher.event(
            OpinionChanged(
                bank=bank,
                outcome=change.outcome.value,
                opinion=change.opinion_id,
                confidence=change.confidence,
            )
        )
