"""Names that go with forgotten units: entities nothing mentions any more, and names only they used."""

from __future__ import annotations

import json
from collections.abc import Callable
from sqlite3 import Connection

from hindsight_integrations.backends.ledger.rules import blocks


def erase_names(
    connection: Connection, bank: int, rows: list[int], *, named: str | None, normalise: Callable[[str], str]
) -> tuple[tuple[str, ...], int]:
    """Erase what only these units knew of entities, while they are still there.

    Args:
        connection: the writer.
        bank: row id of the bank.
        rows: row ids of the units about to go.
        named: id of an entity to erase in any case.
        normalise: how names are compared.

    Returns:
        Ids of the entities erased, and how many names surviving ones lost.
    """
    gone = set(rows)
    orphans, lost, forgotten = [], 0, set()
    for entity, entity_id, mentions in _touched(connection, rows):
        left = [(unit, text) for unit, text in mentions if unit not in gone]
        if not left or entity_id == named:
            orphans.append((entity, entity_id))
            continue
        erased = {normalise(text) for unit, text in mentions if unit in gone}
        dropped = erased - {normalise(text) for _, text in left}
        lost += _drop_names(connection, entity, dropped, left[-1][1], normalise)
        forgotten |= dropped
        _recount(connection, entity, gone)
    if named is not None and not any(entity_id == named for _, entity_id in orphans):
        query = "SELECT id, entity_id FROM entities WHERE bank = ? AND entity_id = ?"
        orphans += connection.execute(query, (bank, named)).fetchall()
    forgotten |= {entity_id for _, entity_id in orphans}
    _drop_audit(connection, bank, forgotten)
    connection.executemany("DELETE FROM entities WHERE id = ?", [(entity,) for entity, _ in orphans])
    return tuple(entity_id for _, entity_id in orphans), lost


def _touched(connection: Connection, rows: list[int]) -> list[tuple[int, str, list[tuple[int, str]]]]:
    """(row, id, mentions as (unit, text)) of the entities these units mention."""
    entities = connection.execute(
        "SELECT DISTINCT entities.id, entity_id FROM mentions JOIN entities ON entities.id = entity "
        "WHERE unit IN (SELECT value FROM json_each(?)) ORDER BY entities.id",
        (json.dumps(rows),),
    ).fetchall()
    query = "SELECT unit, text FROM mentions WHERE entity = ? ORDER BY unit"
    return [(row, key, connection.execute(query, (row,)).fetchall()) for row, key in entities]


def _drop_names(
    connection: Connection, entity: int, dropped: set[str], spare: str, normalise: Callable[[str], str]
) -> int:
    """Take names away from an entity; a canonical name among them is replaced by one still in use."""
    name, known = connection.execute("SELECT name, names FROM entities WHERE id = ?", (entity,)).fetchone()
    names = json.loads(known)
    kept = [each for each in names if each not in dropped] or [normalise(spare)]
    if kept == names:
        return 0
    connection.execute(
        "UPDATE entities SET name = ?, names = ? WHERE id = ?",
        (spare if normalise(name) in dropped else name, json.dumps(kept), entity),
    )
    connection.executemany(
        "DELETE FROM entity_names WHERE entity = ? AND name = ?", [(entity, each) for each in dropped]
    )
    stale = {key for each in dropped for key in blocks(each)} - {key for each in kept for key in blocks(each)}
    connection.executemany(
        "DELETE FROM entity_blocks WHERE entity = ? AND block = ?", [(entity, key) for key in sorted(stale)]
    )
    return len(names) - len([each for each in names if each in kept])


def _recount(connection: Connection, entity: int, gone: set[int]) -> None:
    """How often and when last the units that stay mention the entity."""
    connection.execute(
        "UPDATE entities SET (mentions, last_seen) = (SELECT count(*), max(mentioned_at) FROM mentions "
        "JOIN units ON units.id = unit WHERE entity = ?1 AND unit NOT IN (SELECT value FROM json_each(?2))) "
        "WHERE id = ?1",
        (entity, json.dumps(sorted(gone))),
    )


def _drop_audit(connection: Connection, bank: int, forgotten: set[str]) -> None:
    """Audit entries that name what is forgotten: they would keep the name alive, and can no longer be undone."""
    rows = connection.execute("SELECT id, detail FROM entity_changes WHERE bank = ?", (bank,)).fetchall()
    stale = [
        (change,) for change, detail in rows if any(json.dumps(word) in detail for word in sorted(forgotten))
    ]
    connection.executemany("DELETE FROM entity_changes WHERE id = ?", stale)
