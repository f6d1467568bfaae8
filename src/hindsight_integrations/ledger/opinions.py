"""Opinions: formed, reworded and given evidence by a commit, and closed with the last of the facts they were worded from.

Nothing here computes a confidence: it is replayed from what is written (decision 129).
"""

from __future__ import annotations

import json
import logging
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from math import isfinite

import numpy as np
from sqlalchemy import Connection

from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.ledger.databases import SqliteDatabase
from hindsight_integrations.ledger.rows import (
    IS_FACT,
    IS_OPINION,
    BankReads,
    Row,
    Target,
    batches,
    fetched,
    marks,
    unit_rows,
)
from hindsight_integrations.ledger.rules import check_known
from hindsight_integrations.ledger.sql import raw
from hindsight_integrations.ledger.tasks import enqueue_keys
from hindsight_integrations.ledger.units import sound_units
from hindsight_integrations.model.opinions import (
    UNKNOWN_CONFIDENCE,
    Assessment,
    Evidence,
    EvidenceStrength,
    EvidenceWrite,
    FormationWrite,
    OpinionLog,
    OpinionOrigin,
    OpinionsWrite,
    OpinionVersion,
    RewordingWrite,
    UpdateRule,
    ValidityChange,
)
from hindsight_integrations.model.tasks import REINFORCED, TaskKind, TaskWrite
from hindsight_integrations.model.time import from_micros, to_micros
from hindsight_integrations.model.units import OBSERVED_NETWORKS, MemoryUnit, ValidityKind
from hindsight_integrations.model.writes import WriteSet
from hindsight_integrations.ports.arrays import IntArray

NO_PAYLOAD = "{}"  # what is to be assessed, the opinions themselves say

_UNSEEN = f"""
SELECT EXISTS (SELECT 1 FROM units WHERE bank = :bank AND closed_at IS NULL AND {IS_FACT} AND changed > (
    SELECT min(assessed_to) FROM opinions WHERE bank = :bank AND EXISTS (
        SELECT 1 FROM opinion_wordings JOIN units AS wording ON wording.id = opinion_wordings.unit
        WHERE opinion = opinions.unit AND wording.closed_at IS NULL
    )
))
"""


def brings_evidence(writes: WriteSet) -> bool:
    """Whether a write set brings or restores facts, or opinions that may not have seen all of them."""
    formed = writes.opinions is not None and bool(writes.opinions.formed)
    restored = any(event.kind is ValidityKind.RESTORED for event in writes.events)
    return formed or restored or any(each.unit.fact_type in OBSERVED_NETWORKS for each in writes.units)


def enqueue_reinforcement(database: SqliteDatabase, connection: Connection, bank: int) -> None:
    """Enqueue the assessment of a bank's new facts, if an opinion is held that has not seen one of them.

    Args:
        database: the ledger's, with its clock and how long facts are collected.
        connection: the writer, inside the transaction that brings the facts.
        bank: row id of the bank.
    """
    (unseen,) = raw(connection).execute(_UNSEEN, {"bank": bank}).fetchone()
    if unseen:
        write = TaskWrite(TaskKind.REINFORCE, NO_PAYLOAD, database.reinforcing, key=REINFORCED)
        enqueue_keys(connection, bank, [write], database.clock.now())


logger = logging.getLogger("hindsight_integrations")

_OPINIONS = (
    "SELECT opinions.unit, unit_id, opinions.confidence, formed_at, recorded_at, revision, origin, operation, profile, "
    "reasoning, assessed_to FROM opinions CROSS JOIN units ON units.id = unit"
)
_WORDINGS = (
    "SELECT opinion, unit, reason, revision FROM json_each(?) AS given "
    "CROSS JOIN opinion_wordings ON opinion = given.value ORDER BY opinion, number"
)
_GROUNDS = (
    "SELECT wording, unit_id FROM json_each(?) AS given CROSS JOIN opinion_grounds ON wording = given.value "
    "CROSS JOIN units ON units.id = fact ORDER BY wording, fact"
)
_ENTITIES = (
    "SELECT DISTINCT opinion, name FROM json_each(?) AS given CROSS JOIN opinion_wordings ON opinion = given.value "
    "CROSS JOIN mentions ON mentions.unit = opinion_wordings.unit CROSS JOIN entities ON entities.id = entity "
    "ORDER BY opinion, name"
)
_EVIDENCE = (
    "SELECT opinion, fact, told.unit_id, evidence.sources, assessment, strength, rule, step, reason, judged.unit_id, effective_at, "
    "recorded_at, revision, (SELECT json_group_array(unit_id) FROM (SELECT unit_id FROM json_each(restates) AS other "
    "CROSS JOIN units ON units.id = other.value ORDER BY units.id)) "
    "FROM json_each(?) AS given CROSS JOIN evidence ON opinion = given.value "
    "CROSS JOIN units AS told ON told.id = fact CROSS JOIN units AS judged ON judged.id = version "
    "ORDER BY opinion, effective_at, told.unit_id"
)
_VALIDITY = (
    "SELECT event.unit, kind, effective_at, revision FROM json_each(?) AS given "
    "CROSS JOIN validity_events AS event ON event.unit = given.value "
    f"WHERE kind IN ('{ValidityKind.CLOSED.value}', '{ValidityKind.RESTORED.value}') ORDER BY event.id"
)


class OpinionReads(BankReads):
    """The part of `LedgerReader` about opinions."""

    def opinions(self, bank: str, opinion_ids: Sequence[str] | None = None) -> list[OpinionLog]:
        """These opinions, or all, in the order they were formed."""
        with self._at(bank) as (connection, row):
            where, given = "", None
            if opinion_ids is not None:
                where, given = (
                    "AND unit_id IN (SELECT value FROM json_each(?))",
                    json.dumps(list(opinion_ids)),
                )
            found = fetched(
                connection,
                f"{_OPINIONS} WHERE opinions.bank = ? {where} ORDER BY formed_at, unit",
                (row,) if given is None else (row, given),
            )
            return _logs(connection, bank, row, found)

    def opinions_of(self, bank: str, ids: IntArray) -> dict[int, str]:
        """Opinion id of each of these units that is a wording of one."""
        with self._at(bank) as (connection, row):
            found = raw(connection).execute(
                "SELECT wording.unit, unit_id FROM json_each(?) AS given CROSS JOIN opinion_wordings AS wording "
                "ON wording.unit = given.value CROSS JOIN units ON units.id = opinion WHERE bank = ?",
                (json.dumps(ids.tolist()), row),
            )
            return dict(found.fetchall())

    def formed_by(self, bank: str, operation: str) -> tuple[str, ...] | None:
        """Ids of the opinions a reflection formed; None if none of that key was recorded."""
        with self._at(bank) as (connection, row):
            known = (
                raw(connection)
                .execute("SELECT 1 FROM opinion_operations WHERE bank = ? AND key = ?", (row, operation))
                .fetchone()
            )
            if not known:
                return None
            found = raw(connection).execute(
                "SELECT unit_id FROM opinions CROSS JOIN units ON units.id = unit "
                "WHERE opinions.bank = ? AND operation = ? ORDER BY unit",
                (row, operation),
            )
            return tuple(opinion for (opinion,) in found)

    def facts_since(self, bank: str, revision: int) -> IntArray:
        """Row ids of the valid facts that came, or were corrected, after a revision."""
        with self._at(bank) as (connection, row):
            found = raw(connection).execute(
                f"SELECT id FROM units WHERE bank = ? AND changed > ? AND closed_at IS NULL AND {IS_FACT} ORDER BY id",
                (row, revision),
            )
            return np.fromiter((fact for (fact,) in found), np.int64)


def _logs(connection: Connection, bank: str, row: int, found: Sequence[Row]) -> list[OpinionLog]:
    """The opinions of these rows with all that hangs on them; those that damage made unreadable are left out, and named."""
    opinions = json.dumps([opinion for opinion, *_ in found])
    worded = fetched(connection, _WORDINGS, (opinions,))
    units = sound_units(connection, bank, row, np.array([unit for _, unit, *_ in worded], np.int64))
    versions = _versions(connection, worded, units)
    evidence: dict[int, list[Row]] = defaultdict(list)
    for opinion, *rest in fetched(connection, _EVIDENCE, (opinions,)):
        evidence[opinion].append(tuple(rest))
    validity = _validity(connection, {fact for rows in evidence.values() for fact, *_ in rows})
    names: dict[int, list[str]] = defaultdict(list)
    for opinion, name in raw(connection).execute(_ENTITIES, (opinions,)):
        names[opinion].append(name)
    newest = {opinion: units[unit] for opinion, unit, *_ in worded if unit in units}
    logs = []
    for opinion, *fields in found:
        try:
            logs.append(
                replace(
                    _formed(tuple(fields), tuple(versions[opinion]), newest[opinion].tags),
                    entities=tuple(names[opinion]),
                    evidence=tuple(_evidence_from(each, validity) for each in evidence[opinion]),
                )
            )
        except (ValueError, TypeError, KeyError, OverflowError):
            logger.warning("an opinion that cannot be read is left out: %s", fields[0])
    return logs


def _formed(fields: Row, versions: tuple[OpinionVersion, ...], tags: tuple[str, ...]) -> OpinionLog:
    """An opinion without its evidence, of what `_OPINIONS` selects."""
    (
        unit_id,
        confidence,
        formed_at,
        recorded_at,
        revision,
        origin,
        operation,
        profile,
        reasoning,
        assessed_to,
    ) = fields
    return OpinionLog(
        id=unit_id,
        confidence=confidence,
        formed_at=from_micros(formed_at),
        recorded_at=from_micros(recorded_at),
        revision=revision,
        origin=OpinionOrigin(origin),
        operation=operation,
        profile=profile,
        reasoning=reasoning,
        tags=tags,
        entities=(),
        versions=versions,
        assessed_to=assessed_to,
    )


def _versions(
    connection: Connection, worded: Sequence[Row], units: dict[int, MemoryUnit]
) -> dict[int, list[OpinionVersion]]:
    """Wordings by opinion, oldest first; damaged ones are left out."""
    grounds: dict[int, list[str]] = defaultdict(list)
    for wording, fact in raw(connection).execute(_GROUNDS, (json.dumps(list(units)),)):
        grounds[wording].append(fact)
    validity = _validity(connection, units)
    versions: dict[int, list[OpinionVersion]] = defaultdict(list)
    for opinion, row, reason, revision in worded:
        if unit := units.get(row):
            versions[opinion].append(
                OpinionVersion(
                    unit_id=unit.id,
                    text=unit.text,
                    since=unit.mentioned_at,
                    reason=reason,
                    based_on=tuple(grounds[row]),
                    revision=revision,
                    closed_at=unit.closed_at,
                    validity=validity[row],
                )
            )
    return versions


def _evidence_from(row: Row, validity: Mapping[int, tuple[ValidityChange, ...]]) -> Evidence:
    """A row of evidence, of what `_EVIDENCE` selects after the opinion, with what became of its fact."""
    fact, unit_id, sources, assessment, strength, rule, step, reason, version, *rest = row
    effective_at, recorded_at, revision, restates = rest
    return Evidence(
        unit_id=unit_id,
        sources=tuple(json.loads(sources)),
        assessment=Assessment(assessment),
        strength=EvidenceStrength(strength),
        rule=UpdateRule(rule),
        step=step,
        reason=reason,
        version=version,
        effective_at=from_micros(effective_at),
        recorded_at=from_micros(recorded_at),
        revision=revision,
        restates=tuple(json.loads(restates)),
        validity=validity[fact],
    )


def _validity(connection: Connection, units: Collection[int]) -> defaultdict[int, tuple[ValidityChange, ...]]:
    """What became of units, in the order recorded."""
    found: dict[int, list[ValidityChange]] = defaultdict(list)
    for unit, kind, moment, revision in raw(connection).execute(_VALIDITY, (json.dumps(sorted(units)),)):
        found[unit].append(ValidityChange(ValidityKind(kind), from_micros(moment), revision))
    return defaultdict(tuple, {unit: tuple(log) for unit, log in found.items()})


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
