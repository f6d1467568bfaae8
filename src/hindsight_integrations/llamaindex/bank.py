"""The bank of a component: the field that holds it, what it recalls as lines of a prompt, and the events that tell of it."""

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
from hindsight_integrations.prompts.recalled import memory_line
from hindsight_integrations.tolerance import Tolerated
from hindsight_integrations.validation.options import PROMPT_DEFAULTS, checked_recall_options, with_defaults


def open_bank(given: object) -> AsyncMemoryBank:
    """The bank a component was given, in its async face.

    Args:
        given: a bank of either face, or its reference, also as the mapping that JSON has of it.

    Raises:
        InvalidRequest: it is none of these.
        BankNotOpen: no open engine of this process has the directory that a reference means.
        BankNotFound: the directory has no such bank (any more).
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
        "bank", f"{shown(given)} is not a bank", "Pass engine.bank(name), awaited if it is async."
    )


def reference_of(bank: AsyncMemoryBank) -> dict[str, str]:
    """What a serialised component keeps of its bank, as JSON has it."""
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
"""A pydantic field that takes either face of a bank or its reference, holds the async face, and is stored as the reference."""


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


LONGEST_QUERY = (
    8_000  # characters; the bank refuses longer ones, and what a user writes last is what is asked
)


def chat_recall_options(recall_options: object) -> dict[str, Any]:
    """The options of a chat memory's recalls, with the defaults of a prompt; the tokens are a setting of their own.

    Raises:
        InvalidRequest: as of `checked_recall_options`.
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
    """The memories of a question, a line each, in its order, behind the lines of a table of records; watchers are told of them.

    Args:
        bank: to recall from.
        query: the question.
        max_tokens: what the memories may cost.
        options: of `bank.recall` beside these.
        asker: a message of the user who asks; its name says whose core memory is shown.
    """
    named = {"speaker": str(name)} if asker and (name := asker.additional_kwargs.get("name")) else {}
    found = await bank.recall(query[-LONGEST_QUERY:], max_tokens=max_tokens, **{**named, **options})
    return lines_of(bank.name, found)


def lines_of(bank: str, found: RecallResult) -> list[str]:
    """What was found, a line each, in its order; watchers are told of it."""
    dispatcher.event(recalled(bank, found))
    return [*(table.text for table in found.records), *map(memory_line, found.units)]


def recalled(bank: str, found: RecallResult) -> MemoryRecalled:
    """The event of a recall."""
    return MemoryRecalled(
        bank=bank,
        units=[each.unit.id for each in found.units],
        scores=[float(each.score) for each in found.units],
        channels=[
            {channel.value: hit.rank for channel, hit in each.channels.items()} for each in found.units
        ],
    )


def retained(bank: str, result: RetainResult) -> MemoryRetained:
    """The event of a retain."""
    return MemoryRetained(
        bank=bank,
        units=list(result.unit_ids),
        created=result.created,
        superseded=list(result.superseded),
        restored=list(result.restored),
        queued=len(result.queued),
        calls=result.calls,
        tokens_in=result.tokens_in,
        tokens_out=result.tokens_out,
    )


def told(met: Tolerated) -> None:
    """Tell watchers of a failure that the agent goes on with."""
    dispatcher.event(
        MemoryWarning(bank=met.bank, where=met.where, error=met.error, missing=met.missing, remedy=met.remedy)
    )


def tell_of(bank: str, reflection: Reflection) -> None:
    """Tell watchers what an answer was made from, and what became of the opinions it put forward."""
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
