"""What the bank's records say to a question, for reflect (decision 135)."""

from __future__ import annotations

from hindsight_integrations.bank.context import BankContext
from hindsight_integrations.bank.records import AsyncRecords
from hindsight_integrations.cara.reflection.exact import RecordTools, exact_answer
from hindsight_integrations.cara.reflection.periods import Calendar
from hindsight_integrations.model.aggregates import RecordEntry
from hindsight_integrations.model.record_answers import RecordAnswer
from hindsight_integrations.model.records import RecordKind
from hindsight_integrations.model.requests import RecallQuery
from hindsight_integrations.tempr.listing.aggregation import aggregate


async def exact_answer_for(context: BankContext, query: RecallQuery) -> RecordAnswer | None:
    """The exact answer to a question from the records that it may see; None where it is not known for one of records."""
    tools, records = context.tools, AsyncRecords(context)

    async def entries(kind: RecordKind, category: str | None) -> list[RecordEntry]:
        return await records.list(
            kind=kind,
            category=category,
            as_of=query.as_of,
            tags=query.tags,
            tags_match=query.tags_match,
            tag_groups=query.tag_groups,
        )

    access = RecordTools(
        categories=records.categories,
        entries=entries,
        aggregate=aggregate,
        dates=tools.dates,
        languages=tools.languages,
        calendar=Calendar(tools.dates.zone, tools.dates.week_starts),
    )
    return await exact_answer(query.text, query.query_timestamp, access, window=query.window)
