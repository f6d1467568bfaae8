"""What a unit leaves outside its own row: chunks, documents, waiting tasks, reasons in other logs, names of entities."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from sqlite3 import Connection

from hindsight_integrations.backends.ledger.rules.commits import blocks
from hindsight_integrations.backends.ledger.rules.erased_names import kept_names
from hindsight_integrations.backends.ledger.rules.task_payloads import Traces, without
from hindsight_integrations.backends.ledger.sqlite.rows import NOT_OBSERVED
from hindsight_integrations.model.erasure import Erasure
from hindsight_integrations.model.tasks import TaskKind
from hindsight_integrations.model.time import Interval
from hindsight_integrations.model.whole_names import WholeNames
from hindsight_integrations.model.writes import Place

EARLIEST = datetime.min.replace(tzinfo=UTC)


def erase_traces(
    connection: Connection, bank: int, rows: list[int], erasure: Erasure, traces: Traces
) -> dict[str, int]:
    """Erase them for these units (and a whole document, if one is named); rows erased per kind."""
    given, document = json.dumps(rows), erasure.document
    counts = {"chunks": _erase_chunks(connection, bank, given, document)}
    counts["documents"] = _erase_documents(connection, bank, given, document)
    counts["tasks"] = _erase_tasks(connection, bank, traces)
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
    emptied = connection.execute(
        "UPDATE chunks SET text = '' WHERE bank = ? AND (document, ordinal) IN "
        "(SELECT document, chunk FROM units WHERE id IN (SELECT value FROM json_each(?)))",
        (bank, given),
    ).rowcount
    return named + emptied


def _erase_documents(connection: Connection, bank: int, given: str, document: str | None) -> int:
    """The document named; of those whose last unit goes, what the caller gave with them."""
    named = connection.execute("DELETE FROM documents WHERE bank = ? AND id = ?", (bank, document)).rowcount
    emptied = connection.execute(
        "UPDATE documents SET context = '', metadata = '{}', tags = '[]' WHERE bank = :bank AND id IN "
        "(SELECT document FROM units WHERE id IN (SELECT value FROM json_each(:given))) AND NOT EXISTS "
        "(SELECT 1 FROM units WHERE units.bank = :bank AND units.document = documents.id "
        "AND units.id NOT IN (SELECT value FROM json_each(:given)))",
        {"bank": bank, "given": given},
    ).rowcount
    return named + emptied


def _erase_tasks(connection: Connection, bank: int, traces: Traces) -> int:
    """What waiting tasks carry of what is forgotten; how many tasks that changed or ended."""
    tasks = connection.execute(
        "SELECT id, payload FROM tasks WHERE bank = ? AND payload NOT IN ('', '{}')", (bank,)
    ).fetchall()
    after = [(task, payload, without(payload, traces)) for task, payload in tasks]
    changed = [(kept, task) for task, payload, kept in after if kept != payload]
    # What a task failed with may quote what it was about.
    connection.executemany(
        "UPDATE tasks SET payload = ?, last_error = '' WHERE id = ?", [pair for pair in changed if pair[0]]
    )
    connection.executemany("DELETE FROM tasks WHERE id = ?", [(task,) for kept, task in changed if not kept])
    return len(changed)


def traces_of(
    connection: Connection, rows: list[int], erasure: Erasure, messages: set[Place], names: WholeNames
) -> Traces:
    """By what waiting tasks are known that carry these units, messages or names."""
    found = connection.execute(
        "SELECT unit_id, text FROM units WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(rows),)
    )
    words = {word for pair in found for word in pair} | {erasure.document or ""}
    thread = erasure.thread if erasure.message is None else None
    window = erasure.window
    if erasure.before is not None and not erasure.tags:
        window = Interval(EARLIEST, erasure.before)
    return Traces(frozenset(words), frozenset(messages), window, thread, names, erasure.identifiers)


@dataclass(frozen=True, slots=True)
class ErasedNames:
    """What an erasure took away of who is who.

    Attributes:
        entities: ids of the entities erased.
        names: normalised names that went, of entities erased and of those that stay, sorted.
        lost: how many names the entities that stay lost.
    """

    entities: tuple[str, ...]
    names: tuple[str, ...]
    lost: int


def erase_names(connection: Connection, bank: int, rows: list[int], erasure: Erasure) -> ErasedNames:
    """Erase what only these units knew of entities, while they are still there.

    Args:
        connection: the writer.
        bank: row id of the bank.
        rows: row ids of the units about to go.
        erasure: names the entity, or some of its names, that go in any case.
    """
    erased = set(rows)
    orphans: dict[int, str] = {}
    names: set[str] = set()
    forgotten: set[str] = set()
    lost = 0
    for entity, entity_id, known, mentions in _touched(connection, bank, rows, erasure.entity):
        left = [text for unit, text in mentions if unit not in erased]
        named = entity_id == erasure.entity
        if not left or (named and not erasure.names):
            orphans[entity] = entity_id
            names |= set(known)
            forgotten.add(entity_id)
            continue
        going = [text for unit, text in mentions if unit in erased]
        dropped, fewer = _drop_names(connection, entity, [*going, *(erasure.names if named else ())], left)
        names |= dropped
        forgotten |= dropped
        lost += fewer
        _recount(connection, entity, erased)
    _drop_audit(connection, bank, forgotten)
    connection.executemany("DELETE FROM entities WHERE id = ?", [(entity,) for entity in orphans])
    connection.executemany(
        "DELETE FROM tasks WHERE bank = ? AND kind = ? AND key = ? AND key <> ''",
        [(bank, TaskKind.OBSERVE, entity_id) for entity_id in orphans.values()],
    )
    return ErasedNames(tuple(orphans.values()), tuple(sorted(names)), lost)


def _touched(
    connection: Connection, bank: int, rows: list[int], named: str | None
) -> list[tuple[int, str, list[str], list[tuple[int, str]]]]:
    """(row, id, names, mentions as (unit, text)) of the entities these units mention, and of the one named."""
    entities = connection.execute(
        "SELECT id, entity_id, names FROM entities WHERE id IN (SELECT entity FROM mentions "
        "WHERE unit IN (SELECT value FROM json_each(?))) OR (bank = ? AND entity_id = ?) ORDER BY id",
        (json.dumps(rows), bank, named),
    ).fetchall()
    query = "SELECT unit, text FROM mentions WHERE entity = ? ORDER BY unit"
    return [
        (row, key, json.loads(names), connection.execute(query, (row,)).fetchall())
        for row, key, names in entities
    ]


def _drop_names(
    connection: Connection, entity: int, erased: list[str], left: list[str]
) -> tuple[frozenset[str], int]:
    """Take away the names nothing else uses: the names that go, and how many of them the entity had."""
    name, known = connection.execute("SELECT name, names FROM entities WHERE id = ?", (entity,)).fetchone()
    names = json.loads(known)
    kept = kept_names(name, names, erased, left)
    if list(kept.names) == names:
        return kept.dropped, 0
    connection.execute(
        "UPDATE entities SET name = ?, names = ? WHERE id = ?", (kept.name, json.dumps(kept.names), entity)
    )
    connection.executemany(
        "DELETE FROM entity_names WHERE entity = ? AND name = ?", [(entity, each) for each in kept.dropped]
    )
    stale = {key for each in kept.dropped for key in blocks(each)}
    stale -= {key for each in kept.names for key in blocks(each)}
    connection.executemany(
        "DELETE FROM entity_blocks WHERE entity = ? AND block = ?", [(entity, key) for key in sorted(stale)]
    )
    return kept.dropped, len(names) - len([each for each in names if each in kept.names])


def _recount(connection: Connection, entity: int, erased: set[int]) -> None:
    """How often and when last the units that stay mention the entity."""
    connection.execute(
        "UPDATE entities SET (mentions, last_seen) = (SELECT count(*), max(mentioned_at) FROM mentions "
        f"JOIN units ON units.id = unit WHERE entity = :entity AND {NOT_OBSERVED} AND unit NOT IN (SELECT value FROM json_each(:erased))) "
        "WHERE id = :entity",
        {"entity": entity, "erased": json.dumps(sorted(erased))},
    )


def _drop_audit(connection: Connection, bank: int, forgotten: set[str]) -> None:
    """Audit entries that name what is forgotten: they would keep the name alive, and can no longer be undone."""
    rows = connection.execute("SELECT id, detail FROM entity_changes WHERE bank = ?", (bank,)).fetchall()
    stale = [
        (change,) for change, detail in rows if any(json.dumps(word) in detail for word in sorted(forgotten))
    ]
    connection.executemany("DELETE FROM entity_changes WHERE id = ?", stale)
