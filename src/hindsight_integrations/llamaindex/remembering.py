"""What a chat's memory asks of its bank, as lines of a prompt and events of LlamaIndex's instrumentation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llama_index.core.base.llms.types import ChatMessage

from hindsight_integrations import AsyncMemoryBank, RecallResult, Reflection, RetainResult
from hindsight_integrations.llamaindex.events import (
    MemoryRecalled,
    MemoryRetained,
    MemoryWarning,
    OpinionChanged,
    dispatcher,
)
from hindsight_integrations.prompts.recalled import memory_line
from hindsight_integrations.tolerance import Tolerated
from hindsight_integrations.validation.options import PROMPT_DEFAULTS, checked_recall_options, with_defaults

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
