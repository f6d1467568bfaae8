"""Records into banks: each is a document of one fact, word for word, in the order in which they were said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain

from hindsight_integrations.bank import AsyncMemoryBank
from hindsight_integrations.engine.assembly import AsyncHindsight
from hindsight_integrations.errors import HindsightError, InvalidRequest
from hindsight_integrations.migration.records import ImportReport, LeftOut, Record
from hindsight_integrations.model.requests import Document, RetainItem
from hindsight_integrations.model.results import BulkResult
from hindsight_integrations.sync import Hindsight, MemoryBank
from hindsight_integrations.tempr.retain.extraction.verbatim import VerbatimExtractor

Memory = Hindsight | AsyncHindsight | MemoryBank | AsyncMemoryBank

_BEGINNING = datetime.min.replace(tzinfo=UTC)


def checked_memory(memory: object) -> Memory:
    """An engine or bank of either face.

    Raises:
        InvalidRequest: it is none.
    """
    if not isinstance(memory, Memory):
        raise InvalidRequest(
            "memory", f"{type(memory).__name__} is not a memory", "Pass an engine or a bank."
        )
    return memory


def sorted_out(found: Iterable[Record | LeftOut]) -> tuple[dict[str, list[Record]], list[LeftOut]]:
    """Records by bank, the earliest first, since what was said later may end what was said before; and what was left out."""
    by_bank: dict[str, list[Record]] = {}
    left = []
    for each in found:
        if isinstance(each, LeftOut):
            left.append(each)
        else:
            by_bank.setdefault(each.bank, []).append(each)
    for records in by_bank.values():
        records.sort(key=lambda record: (record.said_at or _BEGINNING, record.id))
    return by_bank, left


def import_records(found: Iterable[Record | LeftOut], memory: Memory, *, dry_run: bool) -> ImportReport:
    """Bring records into their banks; a record that is there already, unchanged, is left as it is."""
    by_bank, left = sorted_out(found)
    if dry_run:
        return _foreseen(by_bank, left)
    done = [
        (records, _bank(memory, name).retain_many(list(map(as_item, records))))
        for name, records in by_bank.items()
    ]
    return _report(by_bank, left, done)


async def aimport_records(
    found: Iterable[Record | LeftOut], memory: Memory, *, dry_run: bool
) -> ImportReport:
    """As `import_records`."""
    by_bank, left = sorted_out(found)
    if dry_run:
        return _foreseen(by_bank, left)
    done = []
    for name, records in by_bank.items():
        bank = await _abank(memory, name)
        done.append((records, await bank.retain_many(list(map(as_item, records)))))
    return _report(by_bank, left, done)


def as_item(record: Record) -> RetainItem:
    """A record as a document of one fact: no model is asked to say it again."""
    facts = VerbatimExtractor().extract_passages([record.text], timestamp=record.said_at)
    return RetainItem(
        Document(record.text, id=record.id),
        timestamp=record.said_at,
        tags=record.tags,
        metadata=record.metadata,
        facts=facts,
    )


def _bank(memory: Memory, name: str) -> MemoryBank:
    if isinstance(memory, MemoryBank | AsyncMemoryBank):
        return memory if isinstance(memory, MemoryBank) else MemoryBank.over(memory)
    return (memory if isinstance(memory, Hindsight) else Hindsight.over(memory)).bank(name)


async def _abank(memory: Memory, name: str) -> AsyncMemoryBank:
    if isinstance(memory, MemoryBank | AsyncMemoryBank):
        return memory if isinstance(memory, AsyncMemoryBank) else memory.asynchronous
    return await (memory if isinstance(memory, AsyncHindsight) else memory.asynchronous).bank(name)


def _foreseen(by_bank: Mapping[str, Sequence[Record]], left: Sequence[LeftOut]) -> ImportReport:
    return ImportReport(
        {name: len(records) for name, records in by_bank.items()}, left_out=tuple(left), dry_run=True
    )


def _report(
    by_bank: Mapping[str, Sequence[Record]],
    left: Sequence[LeftOut],
    done: Sequence[tuple[Sequence[Record], BulkResult]],
) -> ImportReport:
    counts, known, failed = Counter[str](), 0, []
    for records, result in done:
        for record, outcome in zip(records, result.items, strict=True):
            if outcome.error is not None:
                failed.append(LeftOut(record.id, _told(outcome.error)))
                continue
            counts[record.bank] += 1
            known += bool(outcome.result and not outcome.result.created)
    created = sum(result.created for _, result in done)
    banks = {name: counts[name] for name in by_bank}
    return ImportReport(banks, created, known, tuple(chain(left, failed)))


def _told(error: HindsightError) -> str:
    return f"{type(error).__name__}: {error}"
