"""mem0: what `get_all` gives, of its library and of its platform, and files of that."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

from hindsight_integrations.bank import AsyncMemoryBank
from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.migration.fields import moment
from hindsight_integrations.migration.importing import (
    Memory,
    aimport_records,
    checked_memory,
    import_records,
)
from hindsight_integrations.migration.records import ImportReport, LeftOut, Record
from hindsight_integrations.sync import MemoryBank

Given: TypeAlias = str | PathLike[str] | Mapping[str, Any] | Iterable[Mapping[str, Any]]
BankOf = Callable[[Mapping[str, Any]], str | None]

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
    memories: Given, memory: Memory, *, bank_of: BankOf | None = None, dry_run: bool = False
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
    memories: Given, memory: Memory, *, bank_of: BankOf | None = None, dry_run: bool = False
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


def mem0_records(memories: Given, memory: Memory, bank_of: BankOf | None) -> list[Record | LeftOut]:
    """Each of mem0's memories as a record."""
    one = memory.name if isinstance(memory, MemoryBank | AsyncMemoryBank) else None

    def bank(given: Mapping[str, Any]) -> str | None:
        if one is not None or bank_of is not None:
            return one or (bank_of(given) if bank_of else None)
        owner = next((given[each] for each in OWNERS if given.get(each)), None)
        return None if owner is None else str(owner)

    now = datetime.now(UTC)
    return [mem0_record(given, place, bank, now) for place, given in enumerate(_listed(memories))]


def mem0_record(given: object, place: int, bank_of: BankOf, now: datetime) -> Record | LeftOut:
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
    return Record(name, bank, text, said_at, _tags(given), _metadata(given))


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
