"""langmem: items that its tools and managers keep in a LangGraph store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from hindsight_integrations.bank import AsyncMemoryBank
from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.migration.fields import moment, statement
from hindsight_integrations.migration.importing import (
    Memory,
    aimport_records,
    checked_memory,
    import_records,
)
from hindsight_integrations.migration.records import ImportReport, LeftOut, Record
from hindsight_integrations.sync import MemoryBank

PAGE = 500  # items read at once

Namespace = tuple[str, ...]
BankOf = Callable[[Namespace], str]


class StoredItem(Protocol):
    """What is read of an item of LangGraph's stores."""

    namespace: Sequence[str]
    key: str
    value: Mapping[str, Any]
    created_at: Any
    updated_at: Any


def import_langmem(
    store: Any,  # noqa: ANN401 - any BaseStore; LangGraph is not imported here
    memory: Memory,
    *,
    namespace: Namespace = (),
    bank_of: BankOf | None = None,
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
    found: list[Record | LeftOut] = []
    page, bank = None, _bank_of(memory, bank_of)
    while page is None or len(page) == PAGE:
        page = store.search(namespace, limit=PAGE, offset=len(found))
        found += [langmem_record(item, bank) for item in page]
    return import_records(found, memory, dry_run=dry_run)


async def aimport_langmem(
    store: Any,  # noqa: ANN401
    memory: Memory,
    *,
    namespace: Namespace = (),
    bank_of: BankOf | None = None,
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
    found: list[Record | LeftOut] = []
    page, bank = None, _bank_of(memory, bank_of)
    while page is None or len(page) == PAGE:
        page = await store.asearch(namespace, limit=PAGE, offset=len(found))
        found += [langmem_record(item, bank) for item in page]
    return await aimport_records(found, memory, dry_run=dry_run)


def _bank_of(memory: Memory, bank_of: BankOf | None) -> BankOf:
    if isinstance(memory, MemoryBank | AsyncMemoryBank):
        name = memory.name
        return lambda _: name
    return bank_of or (lambda namespace: namespace[-1])


def langmem_record(item: StoredItem, bank_of: BankOf) -> Record | LeftOut:
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
    return Record(name, bank, text, moment(item.updated_at) or moment(item.created_at), metadata=metadata)


def _created(item: StoredItem) -> dict[str, str]:
    created = moment(item.created_at)
    return {"created_at": created.isoformat()} if created else {}
