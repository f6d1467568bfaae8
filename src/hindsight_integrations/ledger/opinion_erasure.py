"""What erasures and corrections take along of opinions: wordings with what they stand on, evidence with the words it judged."""

from __future__ import annotations

import json
from collections.abc import Collection

from sqlalchemy import Connection

from hindsight_integrations.ledger.entity_writing import Target
from hindsight_integrations.ledger.opinions import follow_grounds
from hindsight_integrations.ledger.sql import raw
from hindsight_integrations.model.units import ValidityKind

_GROUNDED = "SELECT wording FROM json_each(?) AS given CROSS JOIN opinion_grounds ON fact = given.value"
_LATER = (
    "SELECT later.unit FROM json_each(?) AS given CROSS JOIN opinion_wordings AS own ON own.unit = given.value "
    "CROSS JOIN opinion_wordings AS later ON later.opinion = own.opinion AND later.number > own.number"
)
_FIRST = (
    "SELECT opinion FROM json_each(?) AS given CROSS JOIN opinion_wordings AS own ON own.unit = given.value"
)

# Of an opinion in whose log, or under whose wordings, an erased unit stands; and of all that was written with one of these.
_READERS = """
SELECT opinion, revision FROM json_each(:rows) AS given CROSS JOIN evidence ON fact = given.value
UNION SELECT opinion, revision FROM json_each(:rows) AS given CROSS JOIN opinion_wordings ON unit = given.value
UNION SELECT unit, revision FROM json_each(:rows) AS given CROSS JOIN opinions ON unit = given.value
"""


def with_wordings(connection: Connection, units: Collection[int], *, whole: bool) -> list[int]:
    """The units to be erased, and the wordings that tell of one of them, ascending.

    A wording tells of what it stands on, and of the wordings before it.

    Args:
        connection: the writer.
        units: row ids.
        whole: with a wording among them goes its opinion, whatever of it was worded before.
    """
    found = set(units)
    waiting = set(units)
    if whole:
        waiting |= _column(connection, _FIRST, waiting)
        found |= waiting
    while waiting:
        waiting = (_column(connection, _GROUNDED, waiting) | _column(connection, _LATER, waiting)) - found
        found |= waiting
    return sorted(found)


def erase_opinions(
    target: Target, rows: Collection[int], documents: Collection[int] = ()
) -> tuple[int, list[int]]:
    """Erase what these units leave in opinions, while they are still there.

    Reasons are a model's words, and it had read what is erased; they go, where they may retell it.

    Args:
        target: the erasure under way.
        rows: row ids of the units about to go, with all wordings that tell of them.
        documents: of which items go; what was judged by them is judged again.

    Returns:
        How many opinions go, and the wordings that are the newest of their opinions again.
    """
    connection, given = target.connection, json.dumps(sorted(rows))
    told = json.dumps(sorted({*rows, *documents}))
    readers = raw(connection).execute(_READERS, {"rows": told}).fetchall()
    _blank_reasons(target, {opinion for opinion, _ in readers}, {revision for _, revision in readers})
    for document in documents:
        judge_corrected(connection, document)
    _look_again(connection, rows)
    newest = (
        raw(connection)
        .execute(
            "SELECT max(number), unit FROM opinion_wordings WHERE opinion IN (SELECT opinion FROM json_each(:rows) AS given "
            "CROSS JOIN opinion_wordings AS gone ON gone.unit = given.value) "
            "AND unit NOT IN (SELECT value FROM json_each(:rows)) GROUP BY opinion",
            {"rows": given},
        )
        .fetchall()
    )
    for _, wording in newest:
        raw(connection).execute(
            "DELETE FROM validity_events WHERE unit = ? AND kind = ? AND by_unit IN (SELECT value FROM json_each(?))",
            (wording, ValidityKind.CLOSED.value, given),
        )
        raw(connection).execute(
            "UPDATE units SET closed_at = ?, changed = ? WHERE id = ?",
            (closed_by_log(connection, wording), target.revision, wording),
        )
    opinions = len(_column(connection, "SELECT unit FROM json_each(?) JOIN opinions ON unit = value", rows))
    return opinions, [wording for _, wording in newest]


def follow_own_grounds(target: Target, wordings: Collection[int]) -> None:
    """Close those wordings, which are the newest again, of which all grounds were closed meanwhile."""
    query = "SELECT fact FROM json_each(?) AS given CROSS JOIN opinion_grounds ON wording = given.value"
    follow_grounds(target, _column(target.connection, query, wordings))


def judge_corrected(connection: Connection, unit: int) -> None:
    """Delete the evidence that was judged by words which were corrected: of the fact, or against the opinion."""
    _look_again(connection, [unit])
    raw(connection).execute("DELETE FROM evidence WHERE fact = :unit OR version = :unit", {"unit": unit})


def _look_again(connection: Connection, wordings: Collection[int]) -> None:
    """The facts judged against these wordings, of which the evidence goes, are to be looked at again."""
    raw(connection).execute(
        "UPDATE opinions SET assessed_to = min(assessed_to, judged.since - 1) FROM (SELECT opinion, min(changed) AS since "
        "FROM json_each(?) AS given CROSS JOIN evidence ON version = given.value CROSS JOIN units ON units.id = fact "
        "GROUP BY opinion) AS judged WHERE judged.opinion = opinions.unit",
        (json.dumps(sorted(wordings)),),
    )


def _blank_reasons(target: Target, opinions: Collection[int], revisions: Collection[int]) -> None:
    values = {
        "bank": target.bank,
        "opinions": json.dumps(sorted(opinions)),
        "revisions": json.dumps(sorted(revisions)),
    }
    written_then = "revision IN (SELECT value FROM json_each(:revisions))"
    of_the_bank = "opinion IN (SELECT unit FROM opinions WHERE bank = :bank)"
    for table in ("evidence", "opinion_wordings"):
        raw(target.connection).execute(
            f"UPDATE {table} SET reason = '' WHERE reason <> '' AND (opinion IN (SELECT value FROM json_each(:opinions)) "
            f"OR ({written_then} AND {of_the_bank}))",
            values,
        )
    raw(target.connection).execute(
        f"UPDATE opinions SET reasoning = '' WHERE bank = :bank AND reasoning <> '' AND {written_then}",
        values,
    )


def closed_by_log(connection: Connection, unit: int) -> int | None:
    """From when on a unit is closed, by its log: the earliest closing since the last restoring counts."""
    closed: int | None = None
    log = raw(connection).execute(
        "SELECT kind, effective_at FROM validity_events WHERE unit = ? ORDER BY id",
        (unit,),
    )
    for kind, moment in log:
        if kind == ValidityKind.CLOSED:
            closed = moment if closed is None else min(closed, moment)
        elif kind == ValidityKind.RESTORED:
            closed = None
    return closed


def _column(connection: Connection, query: str, rows: Collection[int]) -> set[int]:
    """What a query of one column finds for these row ids."""
    return {row for (row,) in raw(connection).execute(query, (json.dumps(sorted(rows)),))}
