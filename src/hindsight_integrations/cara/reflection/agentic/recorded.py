"""records and aggregate: what can be added up or listed, complete and exact."""

from __future__ import annotations

from collections import Counter

from pydantic import Field

from hindsight_integrations.cara.reflection.agentic.showing import MOST_LISTED, NOTHING, note_on
from hindsight_integrations.cara.reflection.agentic.tool import Bench, Dated, MemoryTool, ToolResult
from hindsight_integrations.cara.reflection.reads import ANY_TIME, RecordWords
from hindsight_integrations.model.aggregates import Aggregation
from hindsight_integrations.prompts.reflect_tools import record_line, sorts_line

MOST_SORTS = 30  # kinds and categories named where nothing matches

CITED = "An answer that uses this value gives the numbers of the memories that entered in `based_on`."


class RecordsArguments(Dated):
    """Which records, of which time."""

    kind: str | None = Field(None, min_length=1, max_length=512)
    category: str | None = Field(None, min_length=1, max_length=512)
    unit: str | None = Field(None, min_length=1, max_length=512)
    entity: str | None = Field(None, min_length=1, max_length=512)

    @property
    def words(self) -> RecordWords:
        """Which records are meant."""
        return RecordWords(self.kind, self.category, self.unit, self.entity)


class AggregateArguments(RecordsArguments):
    """What to compute, over which records."""

    how: Aggregation


async def records(given: RecordsArguments, bench: Bench) -> ToolResult:
    """Every record of this sort, in order of time."""
    found = await bench.reads.records(given.words, period=given.period)
    if not found:
        return ToolResult(await _sorts(given.words, bench), note=NOTHING)
    kept = found[:MOST_LISTED]
    lines = tuple(record_line(bench.numbers.memory(item), entry) for entry, item in kept)
    ids = tuple(dict.fromkeys(item.unit.id for _, item in kept))
    return ToolResult(lines, ids, note_on(len(kept), len(found)))


async def aggregate(given: AggregateArguments, bench: Bench) -> ToolResult:
    """One exact value, with the numbers of the memories that entered it."""
    found, entered = await bench.reads.aggregate(given.how, given.words, period=given.period)
    marks = [f"[{bench.numbers.memory(item)}]" for item in entered]
    value = "none" if found.value is None else f"{found.value} {found.unit}".strip()
    lines = [f"{given.how} = {value}, from {len(marks)} memories"]
    if marks:
        lines.append(f"entered: {' '.join(marks)}")
    if found.left_out:
        lines.append(f"left out: {len(found.left_out)} memories whose records cannot be added up")
    if not marks and not found.left_out:
        lines += await _sorts(given.words, bench)
    return ToolResult(tuple(lines), tuple(item.unit.id for item in entered), CITED if marks else NOTHING)


async def _sorts(words: RecordWords, bench: Bench) -> tuple[str, ...]:
    """Which kinds and categories there are, where none that match: as near to what was asked for as there are any."""
    for wider in (
        RecordWords(words.kind, entity=words.entity),
        RecordWords(entity=words.entity),
        RecordWords(),
    ):
        if found := await bench.reads.records(wider, period=ANY_TIME):
            sorts = Counter((entry.record.kind, entry.record.category) for entry, _ in found).most_common()
            return (sorts_line(sorts[:MOST_SORTS], entity=wider.entity, more=len(sorts) > MOST_SORTS),)
    return ()


RECORDS = MemoryTool("records", RecordsArguments, records)
AGGREGATE = MemoryTool("aggregate", AggregateArguments, aggregate)
