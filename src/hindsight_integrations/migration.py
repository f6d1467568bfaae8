"""Import of memories from other systems: langmem stores and mem0.

Each record becomes a document with one verbatim fact; records are imported in chronological order.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from hindsight_integrations.bank import AsyncMemoryBank
from hindsight_integrations.engine.assembly import AsyncHindsight
from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.model.requests import Document, RetainItem
from hindsight_integrations.model.results import BulkResult
from hindsight_integrations.retain.verbatim import VerbatimExtractor
from hindsight_integrations.sync import Hindsight, MemoryBank
from hindsight_integrations.validation.limits import checked_moment

__all__ = ["ImportReport", "LeftOut", "aimport_langmem", "aimport_mem0", "import_langmem", "import_mem0"]


@dataclass(frozen=True, slots=True)
class MigratedMemory:
    """A memory of another system.

    Attributes:
        id: the system's name and the record's id there; becomes the document's id.
        bank: name of the bank to import it into.
        text: the memory's text.
        said_at: when the text was last changed; None if unknown.
        tags: visibility tags.
        metadata: its other fields.
    """

    id: str
    bank: str
    text: str
    said_at: datetime | None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A record that was not imported.

    Attributes:
        id: its id, or its position in the input.
        reason: why it was not imported.
    """

    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class ImportReport:
    """The result of an import, or the forecast of a dry run.

    Attributes:
        banks: number of records by bank, including unchanged ones.
        created: number of new memories.
        known: number of records that had been imported before and are unchanged.
        left_out: records that were not imported, with reasons.
        dry_run: whether nothing was written. `created` and `known` are then 0.
    """

    banks: Mapping[str, int]
    created: int = 0
    known: int = 0
    left_out: tuple[LeftOut, ...] = ()
    dry_run: bool = False


def moment(given: object) -> datetime | None:
    """Parse a time as `retain` does; return None if it is not a time. A time without a zone is taken as UTC."""
    try:
        found = checked_moment(given, "time")
    except InvalidRequest:
        return None
    return found if found is None or found.tzinfo else found.replace(tzinfo=UTC)


def statement(value: object) -> str:
    """Format a value as readable text: a string unchanged, a mapping as "name: value" lines."""
    if isinstance(value, str):
        return value.strip()
    return "\n".join(f"{name}: {text}" if name else text for name, text in _leaves(value, ""))


def _leaves(value: object, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _leaves(each, f"{name} {key}".strip().replace("_", " "))
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _leaves(each, name)
    elif value is not None and value != "":
        yield name, str(value).strip()


Destination = Hindsight | AsyncHindsight | MemoryBank | AsyncMemoryBank

_BEGINNING = datetime.min.replace(tzinfo=UTC)


def checked_memory(memory: object) -> Destination:
    """Validate a sync or async engine or bank.

    Raises:
        InvalidRequest: it is neither.
    """
    if not isinstance(memory, Destination):
        raise InvalidRequest(
            "memory", f"{type(memory).__name__} is neither an engine nor a bank", "Pass an engine or a bank."
        )
    return memory


def sorted_out(
    found: Iterable[MigratedMemory | LeftOut],
) -> tuple[dict[str, list[MigratedMemory]], list[LeftOut]]:
    """Group valid records by bank and collect the rejected ones. Earlier records come first: later ones may end them."""
    by_bank: dict[str, list[MigratedMemory]] = {}
    left = []
    for each in found:
        if isinstance(each, LeftOut):
            left.append(each)
        else:
            by_bank.setdefault(each.bank, []).append(each)
    for records in by_bank.values():
        records.sort(key=lambda record: (record.said_at or _BEGINNING, record.id))
    return by_bank, left


def import_records(
    found: Iterable[MigratedMemory | LeftOut], memory: Destination, *, dry_run: bool
) -> ImportReport:
    """Import records into their banks; unchanged records are skipped."""
    by_bank, left = sorted_out(found)
    if dry_run:
        return _foreseen(by_bank, left)
    done = [
        (records, _bank(memory, name).retain_many(list(map(as_item, records))))
        for name, records in by_bank.items()
    ]
    return _report(by_bank, left, done)


async def aimport_records(
    found: Iterable[MigratedMemory | LeftOut], memory: Destination, *, dry_run: bool
) -> ImportReport:
    """Import records, asynchronously; see `import_records`."""
    by_bank, left = sorted_out(found)
    if dry_run:
        return _foreseen(by_bank, left)
    done = []
    for name, records in by_bank.items():
        bank = await _abank(memory, name)
        done.append((records, await bank.retain_many(list(map(as_item, records)))))
    return _report(by_bank, left, done)


def as_item(record: MigratedMemory) -> RetainItem:
    """Convert a record to a document with one given fact, so that no extraction is needed."""
    facts = VerbatimExtractor().extract_passages([record.text], timestamp=record.said_at)
    return RetainItem(
        Document(record.text, id=record.id),
        timestamp=record.said_at,
        tags=record.tags,
        metadata=record.metadata,
        facts=facts,
    )


def _bank(memory: Destination, name: str) -> MemoryBank:
    if isinstance(memory, MemoryBank | AsyncMemoryBank):
        return memory if isinstance(memory, MemoryBank) else MemoryBank.over(memory)
    return (memory if isinstance(memory, Hindsight) else Hindsight.over(memory)).bank(name)


async def _abank(memory: Destination, name: str) -> AsyncMemoryBank:
    if isinstance(memory, MemoryBank | AsyncMemoryBank):
        return memory if isinstance(memory, AsyncMemoryBank) else memory.asynchronous
    return await (memory if isinstance(memory, AsyncHindsight) else memory.asynchronous).bank(name)


def _foreseen(by_bank: Mapping[str, Sequence[MigratedMemory]], left: Sequence[LeftOut]) -> ImportReport:
    return ImportReport(
        {name: len(records) for name, records in by_bank.items()}, left_out=tuple(left), dry_run=True
    )


def _report(
    by_bank: Mapping[str, Sequence[MigratedMemory]],
    left: Sequence[LeftOut],
    done: Sequence[tuple[Sequence[MigratedMemory], BulkResult]],
) -> ImportReport:
    counts, known, failed = Counter[str](), 0, []
    for records, result in done:
        for record, outcome in zip(records, result.items, strict=True):
            if outcome.error is not None:
                error = outcome.error
                failed.append(LeftOut(record.id, f"{type(error).__name__}: {error}"))
                continue
            counts[record.bank] += 1
            known += bool(outcome.result and not outcome.result.created)
    created = sum(result.created for _, result in done)
    banks = {name: counts[name] for name in by_bank}
    return ImportReport(banks, created, known, tuple(chain(left, failed)))


PAGE = 500  # items per search

Namespace = tuple[str, ...]
BankOfNamespace = Callable[[Namespace], str]


class StoredItem(Protocol):
    """The fields read from an item of a LangGraph store."""

    namespace: Sequence[str]
    key: str
    value: Mapping[str, Any]
    created_at: Any
    updated_at: Any


def import_langmem(
    store: Any,  # noqa: ANN401 - any BaseStore; LangGraph is not imported here
    memory: Destination,
    *,
    namespace: Namespace = (),
    bank_of: BankOfNamespace | None = None,
    dry_run: bool = False,
) -> ImportReport:
    """Import langmem's memories from a store into banks, verbatim, with their times.

    Supports memories of langmem's tools (`{"content": ...}`), of its managers (`{"kind": ..., "content": {...}}`) and
    profiles with your own schema; other items are imported as readable text. Repeating an import adds nothing; a changed
    item replaces its earlier text.

    Args:
        store: the store that langmem writes to.
        memory: an engine, whose banks `bank_of` names, or one bank for all items.
        namespace: prefix of the namespaces to import; empty means all.
        bank_of: function from a namespace to a bank's name; None uses the last label, such as the
            user's name in ("memories", "alice").
        dry_run: report what would be imported, and write nothing.

    Raises:
        InvalidRequest: `memory` is neither an engine nor a bank, or `bank_of` returns an invalid name.
    """
    checked_memory(memory)
    found: list[MigratedMemory | LeftOut] = []
    page, bank = None, _bank_of(memory, bank_of)
    while page is None or len(page) == PAGE:
        page = store.search(namespace, limit=PAGE, offset=len(found))
        found += [langmem_record(item, bank) for item in page]
    return import_records(found, memory, dry_run=dry_run)


async def aimport_langmem(
    store: Any,  # noqa: ANN401
    memory: Destination,
    *,
    namespace: Namespace = (),
    bank_of: BankOfNamespace | None = None,
    dry_run: bool = False,
) -> ImportReport:
    """Import langmem's memories with the store's async methods; arguments and errors are those of `import_langmem`."""
    checked_memory(memory)
    found: list[MigratedMemory | LeftOut] = []
    page, bank = None, _bank_of(memory, bank_of)
    while page is None or len(page) == PAGE:
        page = await store.asearch(namespace, limit=PAGE, offset=len(found))
        found += [langmem_record(item, bank) for item in page]
    return await aimport_records(found, memory, dry_run=dry_run)


def _bank_of(memory: Destination, bank_of: BankOfNamespace | None) -> BankOfNamespace:
    if isinstance(memory, MemoryBank | AsyncMemoryBank):
        name = memory.name
        return lambda _: name
    return bank_of or (lambda namespace: namespace[-1])


def langmem_record(item: StoredItem, bank_of: BankOfNamespace) -> MigratedMemory | LeftOut:
    """Convert an item to a record; an empty item is rejected."""
    namespace = tuple(item.namespace)
    name = f"langmem:{'/'.join(namespace)}/{item.key}"
    kind, content = item.value.get("kind"), item.value.get("content", item.value)
    if isinstance(content, Mapping) and content.keys() == {"content"}:  # langmem's own schema `Memory`
        content = content["content"]
    text = statement(content)
    if not text:
        return LeftOut(name, "it is empty")
    bank = bank_of(namespace)
    if not isinstance(bank, str) or not bank.strip():
        raise InvalidRequest("bank_of", f"it returned {bank!r} for {namespace}", "Return a bank name.")
    metadata = {
        "source": "langmem",
        "namespace": "/".join(namespace),
        "key": item.key,
        **({"kind": kind} if isinstance(kind, str) else {}),
        **_created(item.created_at),
    }
    return MigratedMemory(
        name, bank, text, moment(item.updated_at) or moment(item.created_at), metadata=metadata
    )


def _created(given: object) -> dict[str, str]:
    created = moment(given)
    return {"created_at": created.isoformat()} if created else {}


Given: TypeAlias = str | PathLike[str] | Mapping[str, Any] | Iterable[Mapping[str, Any]]
BankOfRecord = Callable[[Mapping[str, Any]], str | None]

OWNERS = ("user_id", "agent_id", "run_id", "app_id")
"""Fields of mem0 that name a memory's owner, in order of preference. The first one present names the default bank."""

_LISTS = ("results", "memories", "data")
_TEXTS = ("memory", "data", "text")
_OURS = {
    "id",
    "hash",
    "score",
    "metadata",
    "created_at",
    "updated_at",
    "categories",
    "expiration_date",
    *_TEXTS,
}


def import_mem0(
    memories: Given, memory: Destination, *, bank_of: BankOfRecord | None = None, dry_run: bool = False
) -> ImportReport:
    """Import mem0's memories into banks, verbatim, with their times.

    import_mem0(Memory().get_all(user_id="alice"), engine)
    import_mem0("export.json", engine)

    Expired memories and memories without text or owner are not imported; the report lists them. Repeating an import adds
    nothing. A changed memory replaces its earlier text.

    Args:
        memories: the result of `get_all` (a list, or a mapping with "results"), or the path of a JSON or JSON Lines file.
        memory: an engine, whose banks `bank_of` names, or one bank for all memories.
        bank_of: function from a record to a bank's name, or to None to skip it; the default uses user_id, else agent_id,
            run_id or app_id.
        dry_run: report what would be imported, and write nothing.

    Raises:
        InvalidRequest: `memory` is neither an engine nor a bank, or `memories` is not such a list or file.
        OSError: the file cannot be read.
    """
    checked_memory(memory)
    return import_records(mem0_records(memories, memory, bank_of), memory, dry_run=dry_run)


async def aimport_mem0(
    memories: Given, memory: Destination, *, bank_of: BankOfRecord | None = None, dry_run: bool = False
) -> ImportReport:
    """Import mem0's memories, asynchronously; arguments and errors are those of `import_mem0`."""
    checked_memory(memory)
    return await aimport_records(mem0_records(memories, memory, bank_of), memory, dry_run=dry_run)


def mem0_records(
    memories: Given, memory: Destination, bank_of: BankOfRecord | None
) -> list[MigratedMemory | LeftOut]:
    """Convert mem0's memories to records."""
    one = memory.name if isinstance(memory, MemoryBank | AsyncMemoryBank) else None

    def bank(given: Mapping[str, Any]) -> str | None:
        if one is not None or bank_of is not None:
            return one or (bank_of(given) if bank_of else None)
        owner = next((given[each] for each in OWNERS if given.get(each)), None)
        return None if owner is None else str(owner)

    now = datetime.now(UTC)
    return [mem0_record(given, place, bank, now) for place, given in enumerate(_listed(memories))]


def mem0_record(given: object, place: int, bank_of: BankOfRecord, now: datetime) -> MigratedMemory | LeftOut:
    """Convert one of mem0's memories to a record, or return why it is not imported.

    Args:
        given: an element of the result of `get_all`.
        place: its position.
        bank_of: function that names its bank.
        now: the current time; memories expired before it are skipped.
    """
    if not isinstance(given, Mapping):
        return LeftOut(f"number {place}", f"{type(given).__name__} is not a mapping")
    name = f"mem0:{given['id']}" if given.get("id") else f"number {place}"
    text = next((given[each] for each in _TEXTS if isinstance(given.get(each), str)), "").strip()
    bank, ends = bank_of(given), moment(given.get("expiration_date"))
    if not text:
        return LeftOut(name, "it has no text")
    if "id" not in given or not given["id"]:
        return LeftOut(name, "it has no id, so a repeated import could not recognise it")
    if ends is not None and ends <= now:
        return LeftOut(name, f"it expired on {ends:%Y-%m-%d}")
    if not bank:
        return LeftOut(name, f"it has no owner ({', '.join(OWNERS)})")
    said_at = moment(given.get("updated_at")) or moment(given.get("created_at"))
    return MigratedMemory(name, bank, text, said_at, _tags(given), _metadata(given))


def _metadata(given: Mapping[str, Any]) -> dict[str, Any]:
    own = given.get("metadata")
    return {
        **(own if isinstance(own, Mapping) else {}),
        **{key: value for key, value in given.items() if key not in _OURS and value is not None},
        "source": "mem0",
        **_created(given.get("created_at")),
    }


def _tags(given: Mapping[str, Any]) -> tuple[str, ...]:
    categories = given.get("categories")
    return tuple(each for each in categories if isinstance(each, str)) if isinstance(categories, list) else ()


def _listed(memories: Given) -> list[Any]:
    given: Any = _read(Path(memories)) if isinstance(memories, str | PathLike) else memories
    if isinstance(given, Mapping):
        given = next((given[key] for key in _LISTS if isinstance(given.get(key), list)), None)
    if given is None or isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise InvalidRequest(
            "memories",
            "it is not a list of mem0's memories",
            'Pass the result of get_all(): a list, or a mapping with "results".',
        )
    return list(given)


def _read(path: Path) -> object:
    """Read a file as JSON or JSON Lines."""
    text = path.read_text(encoding="utf-8")
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        pass
    try:
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    except json.JSONDecodeError as error:
        raise InvalidRequest(
            "memories",
            f"{path} is neither JSON nor JSON Lines ({error})",
            "Write the result of get_all() with json.dump.",
        ) from error
