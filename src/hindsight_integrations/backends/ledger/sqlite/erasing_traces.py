"""What a unit leaves behind outside its own row: chunks, documents, waiting tasks, reasons in other units' logs."""

from __future__ import annotations

import json
from sqlite3 import Connection

from hindsight_integrations.backends.ledger.task_erasing import Traces, without
from hindsight_integrations.model.erasure import Erasure
from hindsight_integrations.model.units import ValidityKind


def erase_traces(connection: Connection, bank: int, rows: list[int], erasure: Erasure) -> dict[str, int]:
    """Erase them for these units (and a whole document, if one is named); rows erased per kind."""
    given, document = json.dumps(rows), erasure.document
    counts = {"chunks": _erase_chunks(connection, bank, given, document)}
    counts["documents"] = _erase_documents(connection, bank, given, document)
    counts["tasks"] = _erase_tasks(connection, bank, given, erasure)
    counts["amendments"] = connection.execute(
        "DELETE FROM validity_events WHERE kind = ? AND by_unit IN (SELECT value FROM json_each(?))",
        (ValidityKind.AMENDED.value, given),
    ).rowcount
    # OR REPLACE: two statements that differ by author and reason alone become one event.
    counts["reasons"] = connection.execute(
        "UPDATE OR REPLACE validity_events SET by_unit = NULL, reason = '' "
        "WHERE by_unit IN (SELECT value FROM json_each(?))",
        (given,),
    ).rowcount
    return counts


def _erase_chunks(connection: Connection, bank: int, given: str, document: str | None) -> int:
    """The passages the units came from. Their hash stays, so that the same passage is not extracted again."""
    named = connection.execute(
        "DELETE FROM chunks WHERE bank = ? AND document = ?", (bank, document)
    ).rowcount
    return (
        named
        + connection.execute(
            "UPDATE chunks SET text = '' WHERE bank = ? AND (document, ordinal) IN "
            "(SELECT document, chunk FROM units WHERE id IN (SELECT value FROM json_each(?)))",
            (bank, given),
        ).rowcount
    )


def _erase_documents(connection: Connection, bank: int, given: str, document: str | None) -> int:
    """The document named; of those whose last unit goes, what the caller said about them."""
    named = connection.execute("DELETE FROM documents WHERE bank = ? AND id = ?", (bank, document)).rowcount
    return (
        named
        + connection.execute(
            "UPDATE documents SET context = '', metadata = '{}', tags = '[]' WHERE bank = ?1 AND id IN "
            "(SELECT document FROM units WHERE id IN (SELECT value FROM json_each(?2))) AND NOT EXISTS "
            "(SELECT 1 FROM units WHERE units.bank = ?1 AND units.document = documents.id "
            "AND units.id NOT IN (SELECT value FROM json_each(?2)))",
            (bank, given),
        ).rowcount
    )


def _erase_tasks(connection: Connection, bank: int, given: str, erasure: Erasure) -> int:
    """What waiting tasks carry of the units; how many tasks that changed or ended."""
    traces = _traces(connection, given, erasure)
    tasks = connection.execute(
        "SELECT id, payload FROM tasks WHERE bank = ? AND payload <> ''", (bank,)
    ).fetchall()
    after = [(task, payload, without(payload, traces)) for task, payload in tasks]
    changed = [(kept, task) for task, payload, kept in after if kept != payload]
    # What a task failed with may quote what it was about.
    connection.executemany(
        "UPDATE tasks SET payload = ?, last_error = '' WHERE id = ?", [pair for pair in changed if pair[0]]
    )
    connection.executemany("DELETE FROM tasks WHERE id = ?", [(task,) for kept, task in changed if not kept])
    return len(changed)


def _traces(connection: Connection, given: str, erasure: Erasure) -> Traces:
    rows = connection.execute(
        "SELECT unit_id, text, thread, sources FROM units WHERE id IN (SELECT value FROM json_each(?))",
        (given,),
    ).fetchall()
    words = {word for unit, text, _, _ in rows for word in (unit, text)} | {erasure.document or ""}
    messages = {(thread, source) for _, _, thread, sources in rows for source in json.loads(sources)}
    return Traces(frozenset(words), frozenset(messages), erasure.window)
