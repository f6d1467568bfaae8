"""Memories of other systems, brought over with their times: langmem's stores and mem0.

Each record becomes a document of one fact, word for word, in the order in which they were said.
"""

from __future__ import annotations

import json
import re
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
from hindsight_integrations.errors import HindsightError, InvalidRequest
from hindsight_integrations.model.requests import Document, RetainItem
from hindsight_integrations.model.results import BulkResult
from hindsight_integrations.retain.verbatim import VerbatimExtractor
from hindsight_integrations.sync import Hindsight, MemoryBank

__all__ = ["ImportReport", "LeftOut", "aimport_langmem", "aimport_mem0", "import_langmem", "import_mem0"]


@dataclass(frozen=True, slots=True)
class MigratedMemory:
    """A memory of another system.

    Attributes:
        id: its own there, with the system's name before it; the id of the document it becomes.
        bank: of which bank it is to be.
        text: what it says.
        said_at: when it got this text; None where nothing says so.
        tags: visibility tags.
        metadata: what else came with it.
    """

    id: str
    bank: str
    text: str
    said_at: datetime | None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What did not come along.

    Attributes:
        id: its own id, or its place among what was given.
        reason: why.
    """

    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did, or would do.

    Attributes:
        banks: records by bank, those that were there already included.
        created: memories that are new.
        known: records that were there already, as they are.
        left_out: what did not come along, and why.
        dry_run: nothing was written; `created` and `known` are 0.
    """

    banks: Mapping[str, int]
    created: int = 0
    known: int = 0
    left_out: tuple[LeftOut, ...] = ()
    dry_run: bool = False


_FRACTION = re.compile(r"(\.\d{6})\d+")
_MILLISECONDS_FROM = 1e11  # seconds until the year 5138; a larger number is of milliseconds


def moment(given: object) -> datetime | None:
    """A time as text (ISO 8601) or a number (seconds or milliseconds since 1970); UTC where it names no zone; None if it is none."""
    if isinstance(given, datetime):
        return given if given.tzinfo else given.replace(tzinfo=UTC)
    if isinstance(given, bool) or given is None:
        return None
    try:
        if isinstance(given, int | float):
            return datetime.fromtimestamp(given / 1000 if given > _MILLISECONDS_FROM else given, UTC)
        found = datetime.fromisoformat(_FRACTION.sub(r"\1", str(given).strip()))
    except (ValueError, OverflowError, OSError):
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def statement(value: object) -> str:
    """What a value says, in readable text: a text as it is, a mapping as "name: value" in a line each."""
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
    """An engine or bank of either face.

    Raises:
        InvalidRequest: it is none.
    """
    if not isinstance(memory, Destination):
        raise InvalidRequest(
            "memory", f"{type(memory).__name__} is not a memory", "Pass an engine or a bank."
        )
    return memory


def sorted_out(
    found: Iterable[MigratedMemory | LeftOut],
) -> tuple[dict[str, list[MigratedMemory]], list[LeftOut]]:
    """Records by bank, the earliest first, since what was said later may end what was said before; and what was left out."""
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
    found: Iterable[MigratedMemory | LeftOut], memory: Destination, *, dry_run: bool
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


def as_item(record: MigratedMemory) -> RetainItem:
    """A record as a document of one fact: no model is asked to say it again."""
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
                failed.append(LeftOut(record.id, _told(outcome.error)))
                continue
            counts[record.bank] += 1
            known += bool(outcome.result and not outcome.result.created)
    created = sum(result.created for _, result in done)
    banks = {name: counts[name] for name in by_bank}
    return ImportReport(banks, created, known, tuple(chain(left, failed)))


def _told(error: HindsightError) -> str:
    return f"{type(error).__name__}: {error}"


PAGE = 500  # items read at once

Namespace = tuple[str, ...]
BankOfNamespace = Callable[[Namespace], str]


class StoredItem(Protocol):
    """What is read of an item of LangGraph's stores."""

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
    """Bring what langmem keeps in a store into banks, word for word, with the times of its items.

    Memories of its tools (`{"content": ...}`), of its managers (`{"kind": ..., "content": {...}}`) and profiles of your own
    schema are read; other items come along as readable text. The same import twice is one memory; an item that changed
    since takes the place of its earlier text.

    Args:
        store: the store langmem writes to.
        memory: an engine, whose banks `bank_of` names, or one bank for all of it.
        namespace: labels with which the namespaces begin that are to come along; none means all.
        bank_of: the bank of a namespace; None takes its last label, the user in ("memories", "alice").
        dry_run: say what would come along, and write nothing.

    Raises:
        InvalidRequest: `memory` is none, or `bank_of` gives no name.
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
    """As `import_langmem`, by the async methods of the store and of the memory.

    Args:
        store: as there.
        memory: as there.
        namespace: as there.
        bank_of: as there.
        dry_run: as there.
    """
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
    """An item as a record; what says nothing is left out."""
    namespace = tuple(item.namespace)
    name = f"langmem:{'/'.join(namespace)}/{item.key}"
    kind, content = item.value.get("kind"), item.value.get("content", item.value)
    if isinstance(content, Mapping) and content.keys() == {"content"}:  # langmem's own schema, Memory
        content = content["content"]
    text = statement(content)
    if not text:
        return LeftOut(name, "it says nothing")
    bank = bank_of(namespace)
    if not isinstance(bank, str) or not bank.strip():
        raise InvalidRequest(
            "bank_of", f"it gave {bank!r} for {namespace}", "Let it give the name of a bank."
        )
    metadata = {
        "source": "langmem",
        "namespace": "/".join(namespace),
        "key": item.key,
        **({"kind": kind} if isinstance(kind, str) else {}),
        **_created(item),
    }
    return MigratedMemory(
        name, bank, text, moment(item.updated_at) or moment(item.created_at), metadata=metadata
    )


def _created(item: StoredItem) -> dict[str, str]:
    created = moment(item.created_at)
    return {"created_at": created.isoformat()} if created else {}


Given: TypeAlias = str | PathLike[str] | Mapping[str, Any] | Iterable[Mapping[str, Any]]
BankOfRecord = Callable[[Mapping[str, Any]], str | None]

OWNERS = ("user_id", "agent_id", "run_id", "app_id")
"""Of whom a memory may be, the likeliest first: the name of its bank where nothing else says it."""

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
    """Bring mem0's memories into banks, word for word, with their times.

    import_mem0(Memory().get_all(user_id="alice"), engine)
    import_mem0("export.json", engine)

    Expired ones are left out, and so is what has no text or no owner: the report says which. The same import twice is one
    memory; one that changed since takes the place of its earlier text.

    Args:
        memories: what `get_all` gave (a list, or a mapping with "results"), or a file of it: JSON, or a record a line.
        memory: an engine, whose banks `bank_of` names, or one bank for all of it.
        bank_of: the bank of a record, None to leave it out; not given, its user_id, else agent_id, run_id or app_id.
        dry_run: say what would come along, and write nothing.

    Raises:
        InvalidRequest: `memory` is none, or what was given is no such list or file.
        OSError: the file cannot be read.
    """
    checked_memory(memory)
    return import_records(mem0_records(memories, memory, bank_of), memory, dry_run=dry_run)


async def aimport_mem0(
    memories: Given, memory: Destination, *, bank_of: BankOfRecord | None = None, dry_run: bool = False
) -> ImportReport:
    """As `import_mem0`, by the async methods of the memory.

    Args:
        memories: as there.
        memory: as there.
        bank_of: as there.
        dry_run: as there.
    """
    checked_memory(memory)
    return await aimport_records(mem0_records(memories, memory, bank_of), memory, dry_run=dry_run)


def mem0_records(
    memories: Given, memory: Destination, bank_of: BankOfRecord | None
) -> list[MigratedMemory | LeftOut]:
    """Each of mem0's memories as a record."""
    one = memory.name if isinstance(memory, MemoryBank | AsyncMemoryBank) else None

    def bank(given: Mapping[str, Any]) -> str | None:
        if one is not None or bank_of is not None:
            return one or (bank_of(given) if bank_of else None)
        owner = next((given[each] for each in OWNERS if given.get(each)), None)
        return None if owner is None else str(owner)

    now = datetime.now(UTC)
    return [mem0_record(given, place, bank, now) for place, given in enumerate(_listed(memories))]


def mem0_record(given: object, place: int, bank_of: BankOfRecord, now: datetime) -> MigratedMemory | LeftOut:
    """One of mem0's memories as a record, or why it is none.

    Args:
        given: a member of what `get_all` gave.
        place: where it stood.
        bank_of: names its bank.
        now: what expired before it is left out.
    """
    if not isinstance(given, Mapping):
        return LeftOut(f"number {place}", f"it is {type(given).__name__}, no mapping")
    name = f"mem0:{given['id']}" if given.get("id") else f"number {place}"
    text = next((given[each] for each in _TEXTS if isinstance(given.get(each), str)), "").strip()
    bank, ends = bank_of(given), moment(given.get("expiration_date"))
    if not text:
        return LeftOut(name, "it has no text")
    if "id" not in given or not given["id"]:
        return LeftOut(name, "it has no id, so that the next import could not know it again")
    if ends is not None and ends <= now:
        return LeftOut(name, f"it expired on {ends:%Y-%m-%d}")
    if not bank:
        return LeftOut(name, f"nothing says whose it is ({', '.join(OWNERS)})")
    said_at = moment(given.get("updated_at")) or moment(given.get("created_at"))
    return MigratedMemory(name, bank, text, said_at, _tags(given), _metadata(given))


def _metadata(given: Mapping[str, Any]) -> dict[str, Any]:
    own = given.get("metadata")
    created = moment(given.get("created_at"))
    return {
        **(own if isinstance(own, Mapping) else {}),
        **{key: value for key, value in given.items() if key not in _OURS and value is not None},
        "source": "mem0",
        **({"created_at": created.isoformat()} if created else {}),
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
            'Pass what get_all() gave: a list, or a mapping with "results".',
        )
    return list(given)


def _read(path: Path) -> object:
    """The JSON of a file, or of each of its lines."""
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
            f"{path} is neither JSON nor JSON in lines ({error})",
            "Write get_all() with json.dump.",
        ) from error
