"""Opinions: formed, reworded and given evidence by a commit, and closed with the last of the facts they were worded from.

Nothing here computes a confidence: it is replayed from what is written (decision 129).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import isfinite

from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.ledger.entity_writing import Target
from hindsight_integrations.ledger.rows import IS_FACT, IS_OPINION, batches, marks, unit_rows
from hindsight_integrations.ledger.rules import check_known
from hindsight_integrations.ledger.sql import raw
from hindsight_integrations.model.opinions import (
    UNKNOWN_CONFIDENCE,
    EvidenceWrite,
    FormationWrite,
    OpinionOrigin,
    OpinionsWrite,
    RewordingWrite,
)
from hindsight_integrations.model.time import to_micros
from hindsight_integrations.model.units import ValidityKind
from hindsight_integrations.model.writes import WriteSet

GROUNDS_WITHDRAWN = "its grounds were withdrawn"
"""Why a wording is closed with the last of the facts it stands on; by it the ledger knows its own closings again."""


_UNWORDED = f"""
FROM units WHERE bank = :bank AND created = :revision AND {IS_OPINION}
AND NOT EXISTS (SELECT 1 FROM opinion_wordings WHERE opinion_wordings.unit = units.id)
"""
_GIVEN = f"""
INSERT INTO opinions SELECT id, bank, min(1.0, max(0.0, coalesce(confidence, {UNKNOWN_CONFIDENCE}))), mentioned_at,
    :recorded_at, :revision, '{OpinionOrigin.GIVEN.value}', '', 0, '', :revision - 1 {_UNWORDED}
"""
_FIRST_WORDINGS = f"INSERT INTO opinion_wordings SELECT id, id, 1, '', :revision {_UNWORDED}"


def write_opinions(target: Target, writes: WriteSet, recorded_at: int) -> None:
    """Write what becomes of a bank's opinions. Its units are there already, its events too.

    A unit of the opinion network that comes without a formation or a rewording becomes an opinion that was given.

    Args:
        target: the commit under way.
        writes: the write set.
        recorded_at: microseconds.

    Raises:
        InvalidRequest: it refers to what is not there, or what it says cannot be an opinion or evidence of one.
    """
    opinions = writes.opinions or OpinionsWrite()
    for formed in opinions.formed:
        _form(target, writes.bank, formed, opinions.operation, recorded_at)
    for reworded in opinions.reworded:
        _reword(target, writes.bank, reworded)
    values = {"bank": target.bank, "revision": target.revision, "recorded_at": recorded_at}
    raw(target.connection).execute(_GIVEN, values)
    raw(target.connection).execute(_FIRST_WORDINGS, values)
    _write_evidence(target, writes.bank, opinions.evidence, recorded_at)
    _note_assessed(target, writes.bank, opinions.assessed)
    keys = {opinions.operation, *(formed.operation for formed in opinions.formed)} - {""}
    raw(target.connection).executemany(
        "INSERT INTO opinion_operations VALUES (?, ?) ON CONFLICT DO NOTHING",
        [(target.bank, key) for key in sorted(keys)],
    )


def _form(target: Target, bank: str, formed: FormationWrite, operation: str, recorded_at: int) -> None:
    """A new opinion; one whose unit is a wording already stays as it is."""
    if not 0.0 <= formed.confidence <= 1.0:
        raise _unfit(f"confidence {formed.confidence} is not between 0 and 1", "Give a share of certainty.")
    (unit,) = _opinion_units(target, bank, [formed.unit_id])
    grounds = _grounds(target, bank, unit, formed.based_on)
    written = raw(target.connection).execute(
        "INSERT INTO opinions SELECT :unit, :bank, :confidence, :formed_at, :recorded_at, :revision, :origin, :operation, "
        ":profile, :reasoning, :assessed_to WHERE NOT EXISTS (SELECT 1 FROM opinion_wordings WHERE unit = :unit)",
        {
            "unit": unit,
            "bank": target.bank,
            "confidence": formed.confidence,
            "formed_at": to_micros(formed.formed_at),
            "recorded_at": recorded_at,
            "revision": target.revision,
            "origin": formed.origin,
            "operation": formed.operation or operation,
            "profile": formed.profile,
            "reasoning": formed.reasoning,
            "assessed_to": min(formed.assessed_to, target.revision),
        },
    )
    if written.rowcount:
        _write_wording(target, unit, unit, 1, "")
        _write_grounds(target, unit, grounds)


def _reword(target: Target, bank: str, reworded: RewordingWrite) -> None:
    """A new wording, which stands on all that the one before stands on as well; what is the newest already stays so."""
    (opinion,) = _opinions(target, bank, [reworded.opinion_id]).values()
    (unit,) = _opinion_units(target, bank, [reworded.unit_id])
    newest, number = (
        raw(target.connection)
        .execute("SELECT unit, max(number) FROM opinion_wordings WHERE opinion = ?", (opinion,))
        .fetchone()
    )
    if newest == unit:
        return
    query = "SELECT 1 FROM opinion_wordings WHERE unit = ?"
    if raw(target.connection).execute(query, (unit,)).fetchone():
        raise _unfit(
            f"{reworded.unit_id!r} is another wording already", "Write the new wording as a unit of its own."
        )
    _write_wording(target, opinion, unit, number + 1, reworded.reason)
    before = raw(target.connection).execute("SELECT fact FROM opinion_grounds WHERE wording = ?", (newest,))
    grounds = {fact for (fact,) in before} | _grounds(target, bank, unit, reworded.based_on)
    _write_grounds(target, unit, grounds)
    closing = (
        raw(target.connection)
        .execute(
            "SELECT 1 FROM validity_events WHERE unit = ? AND kind = ? AND by_unit = ?",
            (newest, ValidityKind.CLOSED.value, unit),
        )
        .fetchone()
    )
    if closing is None:
        raise _unfit(
            f"nothing says that {reworded.unit_id!r} closes the wording before it",
            "Close that one by an event of the same write set, with the new wording as `by_unit`.",
        )


def _opinion_units(target: Target, bank: str, unit_ids: Sequence[str]) -> list[int]:
    """Row ids of units that may word an opinion."""
    rows = unit_rows(target.connection, target.bank, unit_ids)
    check_known("opinions", unit_ids, rows, bank)
    given = _among(target, rows.values(), IS_OPINION)
    if wrong := [unit for unit in unit_ids if rows[unit] not in given]:
        raise _unfit(f"{wrong[0]!r} is no unit of the opinion network", "Write one as FactType.OPINION.")
    return [rows[unit] for unit in unit_ids]


def _among(target: Target, rows: Iterable[int], condition: str) -> set[int]:
    """Those of these units of which a condition holds."""
    query = f"SELECT units.id FROM json_each(?) AS given CROSS JOIN units ON units.id = given.value WHERE {condition}"
    return {row for (row,) in raw(target.connection).execute(query, (json.dumps(list(rows)),))}


def _opinions(target: Target, bank: str, opinion_ids: Sequence[str]) -> dict[str, int]:
    """Row ids of opinions."""
    found: dict[str, int] = {}
    for some in batches(opinion_ids):
        found.update(
            raw(target.connection).execute(
                "SELECT unit_id, units.id FROM units JOIN opinions ON unit = units.id "
                f"WHERE units.bank = ? AND unit_id IN ({marks(len(some))})",
                (target.bank, *some),
            )
        )
    check_known("opinions", opinion_ids, found, bank)
    return found


def _grounds(target: Target, bank: str, unit: int, based_on: Sequence[str]) -> set[int]:
    """Row ids of what a wording stands on: for what was itself made from facts, or worded from them, those facts.

    Observations are made anew all the time; who forgets a fact must find what was worded from it nevertheless.
    """
    rows = unit_rows(target.connection, target.bank, based_on)
    check_known("opinions", based_on, rows, bank)
    found = raw(target.connection).execute(
        "SELECT DISTINCT coalesce(made.fact, worded.fact, given.value) FROM json_each(?) AS given "
        "LEFT JOIN observation_facts AS made ON observation = given.value "
        "LEFT JOIN opinion_grounds AS worded ON wording = given.value",
        (json.dumps(sorted(rows.values())),),
    )
    return {fact for (fact,) in found} - {unit}


def _write_wording(target: Target, opinion: int, unit: int, number: int, reason: str) -> None:
    raw(target.connection).execute(
        "INSERT INTO opinion_wordings (unit, opinion, number, reason, revision) VALUES (?, ?, ?, ?, ?)",
        (unit, opinion, number, reason, target.revision),
    )


def _write_grounds(target: Target, wording: int, facts: Collection[int]) -> None:
    raw(target.connection).executemany(
        "INSERT INTO opinion_grounds (wording, fact) VALUES (?, ?)",
        [(wording, fact) for fact in sorted(facts)],
    )


def _write_evidence(target: Target, bank: str, rows: Sequence[EvidenceWrite], recorded_at: int) -> None:
    """Append to evidence logs; a fact that is in one already stays there as it is."""
    if not rows:
        return
    opinions = _opinions(target, bank, [row.opinion_id for row in rows])
    facts = unit_rows(target.connection, target.bank, [row.unit_id for row in rows])
    check_known("opinions", [row.unit_id for row in rows], facts, bank)
    sound = _among(target, facts.values(), IS_FACT)
    versions = _versions_of(target, opinions)
    others = unit_rows(target.connection, target.bank, [other for row in rows for other in row.restates])
    for row in rows:
        if facts[row.unit_id] not in sound:
            raise _unfit(f"{row.unit_id!r} is no world or experience memory", "Only facts are evidence.")
        if (row.opinion_id, row.version) not in versions:
            raise _unfit(f"{row.version!r} is no wording of {row.opinion_id!r}", "Name the wording judged.")
        if not row.sources or not (isfinite(row.step) and 0.0 < row.step < 1.0):
            raise _unfit(
                f"evidence {row.unit_id!r} has step {row.step} and {len(row.sources)} sources",
                "Give a step between 0 and 1, and who said it.",
            )
    raw(target.connection).executemany(
        "INSERT INTO evidence (opinion, fact, sources, restates, assessment, strength, rule, step, reason, version, "
        "effective_at, recorded_at, revision) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        [
            (
                opinions[row.opinion_id],
                facts[row.unit_id],
                json.dumps(row.sources),
                json.dumps(
                    sorted({others[each] for each in row.restates if each in others} - {facts[row.unit_id]})
                ),
                row.assessment.value,
                row.strength.value,
                row.rule.value,
                row.step,
                row.reason,
                versions[row.opinion_id, row.version],
                to_micros(row.effective_at),
                recorded_at,
                target.revision,
            )
            for row in rows
        ],
    )


def _versions_of(target: Target, opinions: Mapping[str, int]) -> dict[tuple[str, str], int]:
    """Row ids of the wordings of opinions, by (opinion id, unit id)."""
    names = {row: opinion for opinion, row in opinions.items()}
    found = raw(target.connection).execute(
        "SELECT opinion, unit_id, unit FROM json_each(?) AS given CROSS JOIN opinion_wordings ON opinion = given.value "
        "CROSS JOIN units ON units.id = unit",
        (json.dumps(list(names)),),
    )
    return {(names[opinion], unit_id): unit for opinion, unit_id, unit in found}


def _note_assessed(target: Target, bank: str, assessed: Mapping[str, int]) -> None:
    """How far the bank's facts were looked at; what was looked at once stays looked at."""
    rows = _opinions(target, bank, list(assessed))
    raw(target.connection).executemany(
        "UPDATE opinions SET assessed_to = :to WHERE unit = :row AND assessed_to < :to",
        [{"row": rows[opinion], "to": min(to, target.revision)} for opinion, to in assessed.items()],
    )


def _unfit(reason: str, remedy: str) -> InvalidRequest:
    return InvalidRequest("opinions", reason, remedy)


_STANDING_ON = """
SELECT DISTINCT own.id, own.closed_at,
    (SELECT count(*) FROM opinion_grounds AS ground JOIN units AS told ON told.id = ground.fact
        WHERE ground.wording = own.id AND told.closed_at IS NULL),
    (SELECT max(told.closed_at) FROM opinion_grounds AS ground JOIN units AS told ON told.id = ground.fact
        WHERE ground.wording = own.id),
    (SELECT event.kind = 'closed' AND event.reason = :reason FROM validity_events AS event
        WHERE event.unit = own.id ORDER BY event.id DESC LIMIT 1),
    (SELECT min(event.effective_at) FROM opinion_grounds AS ground JOIN units AS told ON told.id = ground.fact
        JOIN validity_events AS event ON event.unit = told.id
        WHERE ground.wording = own.id AND told.closed_at IS NULL AND event.kind = 'restored'
        AND event.revision = :revision)
FROM json_each(:rows) AS given CROSS JOIN opinion_grounds AS standing ON standing.fact = given.value
CROSS JOIN opinion_wordings AS worded ON worded.unit = standing.wording CROSS JOIN units AS own ON own.id = worded.unit
WHERE worded.number = (SELECT max(other.number) FROM opinion_wordings AS other WHERE other.opinion = worded.opinion)
ORDER BY own.id
"""


def follow_grounds(target: Target, units: Collection[int]) -> None:
    """Close the opinions whose last ground was closed, and restore those of which the ledger did so and one is back.

    Args:
        target: the commit that closed or restored units, under way.
        units: their row ids.
    """
    waiting, seen = sorted(units), set(units)
    while waiting:
        values = {"rows": json.dumps(waiting), "reason": GROUNDS_WITHDRAWN, "revision": target.revision}
        moved = []
        for wording, closed_at, valid, withdrawn_at, ours, back_at in (
            raw(target.connection).execute(_STANDING_ON, values).fetchall()
        ):
            if not valid and closed_at is None:
                _move(target, wording, ValidityKind.CLOSED, withdrawn_at)
                moved.append(wording)
            elif valid and closed_at is not None and ours:
                _move(target, wording, ValidityKind.RESTORED, closed_at if back_at is None else back_at)
                moved.append(wording)
        waiting = [row for row in moved if row not in seen]
        seen.update(moved)


def _move(target: Target, wording: int, kind: ValidityKind, moment: int) -> None:
    """Append to a wording's validity log. OR REPLACE: closed again at the same moment is the newest event, not the old one."""
    raw(target.connection).execute(
        "INSERT OR REPLACE INTO validity_events (unit, kind, effective_at, revision, reason) VALUES (?, ?, ?, ?, ?)",
        (wording, kind.value, moment, target.revision, GROUNDS_WITHDRAWN),
    )
    raw(target.connection).execute(
        "UPDATE units SET closed_at = ?, changed = ? WHERE id = ?",
        (moment if kind is ValidityKind.CLOSED else None, target.revision, wording),
    )
