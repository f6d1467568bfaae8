"""The content of a bank, read from its archive, for tests of data that no method returns, such as links and the ledger's order."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Iterable
from typing import IO, Any

from hindsight_integrations.ledger.tables import Content, archived_columns, metadata
from hindsight_integrations.ledger.values import ArchiveRow

Line = list[Any]

KEYS = {
    "units": ("unit_id",),
    "entities": ("entity_id",),
    "record_categories": ("kind", "name"),
    "mental_models": ("model_id",),
    "items": ("namespace", "key"),
}
"""What names the rows that have a number."""


def archived_rows(export: Callable[[IO[str]], object], kind: str) -> list[dict[str, Any]]:
    """All rows of one kind, in the ledger's order.

    Args:
        export: `bank.archive.export` of a bank.
        kind: a table: "units", "links", "mentions", ...
    """
    return [fields for row_kind, fields in archived_lines(export) if row_kind == kind]


def archived_lines(export: Callable[[IO[str]], object]) -> list[Line]:
    """The lines of a bank's archive, without header and seal."""
    file = io.StringIO()
    export(file)
    return [json.loads(line) for line in file.getvalue().splitlines()[1:-1]]


def sealed(lines: Iterable[Line], header: Any = None) -> str:
    """An archive of these lines, with a valid seal."""
    lines = list(lines)
    head = {"format": "hindsight-memory-archive", "version": 1} if header is None else header
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in (head, *lines))
    seal = {
        "rows": len(lines),
        "units": sum(map(is_memory, lines)),
        "sha256": hashlib.sha256(text.encode()).hexdigest(),
    }
    return text + json.dumps(seal) + "\n"


def is_memory(line: Any) -> bool:
    """Whether the seal counts a line as a memory."""
    match line:
        case ["units", {"kind": "memory"}]:
            return True
    return False


def without_numbers(rows: Iterable[ArchiveRow]) -> list[str]:
    """Rows in a form that is equal in two ledgers: row ids replaced by identifying values, sorted."""
    lines: list[tuple[str, dict[str, Any]]] = [(row.kind, dict(row.fields)) for row in rows]
    names = {
        (kind, fields["id"]): "/".join(fields[key] for key in KEYS[kind])
        for kind, fields in lines
        if kind in KEYS
    }
    for kind, fields in lines:
        if kind in KEYS:
            del fields["id"]
        for column in archived_columns(metadata.tables[kind]):
            if column.info["holds"] is Content.UNIT_ROWS:
                fields[column.name] = sorted(names["units", row] for row in fields[column.name])
            for key in column.foreign_keys:
                # An observation, an opinion and a wording have the id of the unit that they extend.
                table = key.column.table.name
                named = names.get((table if table in KEYS else "units", fields[column.name]))
                fields[column.name] = named
    return sorted(map(repr, lines))
