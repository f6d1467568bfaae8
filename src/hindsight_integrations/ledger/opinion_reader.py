"""Reads of opinions: their wordings, what these were made from, and the evidence from which confidence is replayed."""

from __future__ import annotations

import json
import logging
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np
from sqlalchemy import Connection

from hindsight_integrations.ledger.reader import BankReads, sound_units
from hindsight_integrations.ledger.rows import IS_FACT, Row, fetched
from hindsight_integrations.ledger.sql import raw
from hindsight_integrations.model.opinions import (
    Assessment,
    Evidence,
    EvidenceStrength,
    OpinionLog,
    OpinionOrigin,
    OpinionVersion,
    UpdateRule,
    ValidityChange,
)
from hindsight_integrations.model.time import from_micros
from hindsight_integrations.model.units import MemoryUnit, ValidityKind
from hindsight_integrations.ports.arrays import IntArray

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
