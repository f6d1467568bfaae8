"""Opinions: forming, rewording, adding evidence in a commit, and closing an opinion with its last source fact.

Confidence is not stored: it is computed by replaying the stored evidence.
"""

from __future__ import annotations

import json
import logging
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from math import isfinite

import numpy as np
from sqlalchemy import Connection, and_, bindparam, delete, exists, func, literal, select, union, update

from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.ledger.checksums import closing
from hindsight_integrations.ledger.observations import FACTS_AMONG, grouped, select_ids, unit_lists
from hindsight_integrations.ledger.rows import CommitTarget, Reader, Row, fetched, is_fact, unit_rows
from hindsight_integrations.ledger.rules import check_known
from hindsight_integrations.ledger.sql import (
    Values,
    among,
    in_bank,
    insert,
    numbers,
    refers,
    run_many,
    same_bank,
    unindexed,
)
from hindsight_integrations.ledger.tables import (
    Int,
    entities,
    evidence,
    mentions,
    observation_facts,
    opinion_grounds,
    opinion_operations,
    opinion_wordings,
    opinions,
    units,
    validity_events,
)
from hindsight_integrations.ledger.tasks import Schedule, enqueue_keys
from hindsight_integrations.ledger.units import sound_units
from hindsight_integrations.model.arrays import IntArray
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
from hindsight_integrations.model.units import (
    OBSERVED_NETWORKS,
    FactType,
    MemoryUnit,
    UnitKind,
    ValidityKind,
)
from hindsight_integrations.model.writes import WriteSet

NO_PAYLOAD = "{}"  # empty, because the task looks up the facts to assess

logger = logging.getLogger("hindsight_integrations")

_own, _fact, _judged = units.alias("own"), units.alias("fact_unit"), units.alias("judged")
_later, _gone = opinion_wordings.alias("later"), opinion_wordings.alias("gone")
_standing = opinion_grounds.alias("standing")

_VALID_FACTS = (
    select(units.c.id)
    .where(units.c.bank == bindparam("bank"), units.c.closed_at.is_(None), is_fact)
    .order_by(units.c.id)
)
_FACTS_SINCE = _VALID_FACTS.where(units.c.changed > bindparam("revision"))
_ASSESSED = (
    select(func.min(opinions.c.assessed_to))
    .join(opinion_wordings, refers(opinion_wordings.c.opinion, opinions))
    .join(_own, refers(opinion_wordings.c.unit, _own))
    .where(opinions.c.bank == bindparam("bank"), _own.c.closed_at.is_(None))
)
UNSEEN = (
    _VALID_FACTS.order_by(None)
    .where(units.c.changed > _ASSESSED.scalar_subquery())
    .order_by(units.c.changed.desc())  # uses the index; otherwise PostgreSQL reads the whole bank
    .limit(1)
)
"""Condition: a fact was not yet assessed for some valid opinion."""


def brings_evidence(writes: WriteSet) -> bool:
    """Return whether a write set adds or restores facts, or forms opinions that may not take all facts into account."""
    formed = writes.opinions is not None and bool(writes.opinions.formed)
    restored = any(event.kind is ValidityKind.RESTORED for event in writes.events)
    return formed or restored or any(write.unit.fact_type in OBSERVED_NETWORKS for write in writes.units)


def enqueue_reinforcement(schedule: Schedule, connection: Connection, bank: int) -> None:
    """Enqueue the assessment of a bank's new facts."""
    write = TaskWrite(TaskKind.REINFORCE, NO_PAYLOAD, schedule.reinforcing, key=REINFORCED)
    enqueue_keys(connection, bank, [write], schedule.clock.now())


_OPINIONS = (
    select(
        opinions.c.unit,
        units.c.unit_id,
        *opinions.c["confidence", "formed_at", "recorded_at", "revision", "origin"],
        *opinions.c["operation", "profile", "reasoning", "assessed_to"],
    )
    .join(units, refers(opinions.c.unit, units))
    .order_by(opinions.c.formed_at, opinions.c.unit)
)
_ALL_OPINIONS = _OPINIONS.where(opinions.c.bank == bindparam("bank"))
_OPINIONS_BY_ID = _OPINIONS.where(units.c.bank == bindparam("bank"), among(units.c.unit_id, "ids"))
_OPINIONS_OF = (
    select(opinion_wordings.c.unit, units.c.unit_id)
    .join(units, refers(opinion_wordings.c.opinion, units))
    .where(among(opinion_wordings.c.unit, "rows"), unindexed(units.c.bank) == bindparam("bank"))
)
_FORMED_BY = (
    select(units.c.unit_id)
    .select_from(opinion_operations)
    .outerjoin(
        opinions,
        and_(
            opinions.c.bank == opinion_operations.c.bank,
            opinions.c.operation == opinion_operations.c.key,
            opinions.c.operation
            != literal("", literal_execute=True),  # implied by the key, but needed for the partial index
        ),
    )
    .outerjoin(units, refers(opinions.c.unit, units))
    .where(opinion_operations.c.bank == bindparam("bank"), opinion_operations.c.key == bindparam("operation"))
    .order_by(opinions.c.unit)
)
_WORDINGS = (
    select(*opinion_wordings.c["opinion", "unit", "reason", "revision"])
    .where(in_bank(opinion_wordings), among(opinion_wordings.c.opinion, "rows"))
    .order_by(opinion_wordings.c.opinion, opinion_wordings.c.number)
)
_GROUNDS = (
    select(opinion_grounds.c.wording, units.c.unit_id)
    .join(units, refers(opinion_grounds.c.fact, units))
    .where(in_bank(opinion_grounds), among(opinion_grounds.c.wording, "rows"))
    .order_by(opinion_grounds.c.wording, opinion_grounds.c.fact)
)
_ENTITIES = (
    select(opinion_wordings.c.opinion, entities.c.name)
    .join(mentions, refers(mentions.c.unit, opinion_wordings))
    .join(entities, refers(mentions.c.entity, entities))
    .where(in_bank(opinion_wordings), among(opinion_wordings.c.opinion, "rows"))
    .distinct()
    .order_by(opinion_wordings.c.opinion, entities.c.name)
)
_EVIDENCE = (
    select(
        evidence.c.opinion,
        evidence.c.fact,
        evidence.c.restates,
        _fact.c.unit_id,
        *evidence.c["sources", "assessment", "strength", "rule", "step", "reason"],
        _judged.c.unit_id,
        *evidence.c["effective_at", "recorded_at", "revision"],
    )
    .join(_fact, refers(evidence.c.fact, _fact))
    .join(_judged, refers(evidence.c.version, _judged))
    .where(in_bank(evidence), among(evidence.c.opinion, "rows"))
    .order_by(evidence.c.opinion, evidence.c.effective_at, _fact.c.unit_id)
)
_VALIDITY = (
    select(*validity_events.c["unit", "kind", "effective_at", "revision"])
    .where(
        in_bank(validity_events),
        among(validity_events.c.unit, "rows"),
        validity_events.c.kind.in_(
            [literal(ValidityKind.CLOSED.value), literal(ValidityKind.RESTORED.value)]
        ),
    )
    .order_by(validity_events.c.id)
)
_UNIT_IDS = select(units.c.id, units.c.unit_id).where(in_bank(units), among(units.c.id, "rows"))


class OpinionReader(Reader):
    """Reads of opinions."""

    def get(self, bank: str, opinion_ids: Sequence[str] | None = None) -> list[OpinionLog]:
        """Return these opinions, or all, in the order they were formed, including opinions without a valid wording.

        Unknown ids and unreadable opinions are omitted.
        """
        with self._at(bank) as (connection, row):
            if opinion_ids is None:
                rows = fetched(connection, _ALL_OPINIONS, {"bank": row})
            else:
                rows = fetched(connection, _OPINIONS_BY_ID, {"bank": row, "ids": opinion_ids})
            return _logs(connection, bank, row, rows) if rows else []

    def of_units(self, bank: str, ids: IntArray) -> dict[int, str]:
        """Return the opinion id of each unit (by row id) that is a wording of an opinion; other units are omitted."""
        with self._at(bank) as (connection, row):
            return dict(connection.execute(_OPINIONS_OF, {"rows": ids.tolist(), "bank": row}).all())

    def formed_by(self, bank: str, operation: str) -> tuple[str, ...] | None:
        """Return the ids of the opinions that a reflection formed, by its operation key; None for an unknown key."""
        with self._at(bank) as (connection, row):
            ids = connection.scalars(_FORMED_BY, {"bank": row, "operation": operation}).all()
            return tuple(opinion for opinion in ids if opinion is not None) if ids else None

    def facts_since(self, bank: str, revision: int) -> IntArray:
        """Return the row ids of valid facts that were added or corrected after a revision, ascending.

        Facts are world and experience memories.
        """
        with self._at(bank) as (connection, row):
            facts = connection.scalars(_FACTS_SINCE, {"bank": row, "revision": revision})
            return np.fromiter(facts, np.int64)


def _logs(connection: Connection, bank: str, row: int, rows: Sequence[Row]) -> list[OpinionLog]:
    """Build the opinions of these rows with wordings and evidence. Unreadable opinions are logged and omitted."""
    values = {"bank": row, "rows": [opinion for opinion, *_ in rows]}
    wordings, log = fetched(connection, _WORDINGS, values), fetched(connection, _EVIDENCE, values)
    sound = sound_units(connection, bank, row, np.array([unit for _, unit, *_ in wordings], np.int64))
    validity = _validity(connection, row, {*sound, *(fact for _, fact, *_ in log)})
    versions = _versions(connection, row, wordings, sound, validity)
    restated = unit_lists(connection, row, _UNIT_IDS, {restates for _, _, restates, *_ in log})
    assessed: dict[int, list[Row]] = defaultdict(list)
    for opinion, *rest in log:
        assessed[opinion].append(tuple(rest))
    names = grouped(connection.execute(_ENTITIES, values))
    newest = {opinion: sound[unit] for opinion, unit, *_ in wordings if unit in sound}
    logs = []
    for opinion, unit_id, confidence, formed_at, recorded_at, revision, origin, *rest in rows:
        operation, profile, reasoning, assessed_to = rest
        try:
            logs.append(
                OpinionLog(
                    id=unit_id,
                    confidence=confidence,
                    formed_at=from_micros(formed_at),
                    recorded_at=from_micros(recorded_at),
                    revision=revision,
                    origin=OpinionOrigin(origin),
                    operation=operation,
                    profile=profile,
                    reasoning=reasoning,
                    tags=newest[opinion].tags,
                    entities=names[opinion],
                    versions=tuple(versions[opinion]),
                    evidence=tuple(_evidence_from(entry, restated, validity) for entry in assessed[opinion]),
                    assessed_to=assessed_to,
                )
            )
        except (ValueError, TypeError, KeyError, OverflowError):
            logger.warning("skipped an opinion that cannot be read: %s", unit_id)
    return logs


def _versions(
    connection: Connection,
    bank: int,
    wordings: Sequence[Row],
    sound: Mapping[int, MemoryUnit],
    validity: Mapping[int, tuple[ValidityChange, ...]],
) -> dict[int, list[OpinionVersion]]:
    """Return the wordings of each opinion (by row id), oldest first; damaged wordings are omitted."""
    grounds = grouped(connection.execute(_GROUNDS, {"bank": bank, "rows": sound}))
    versions: dict[int, list[OpinionVersion]] = defaultdict(list)
    for opinion, row, reason, revision in wordings:
        if unit := sound.get(row):
            versions[opinion].append(
                OpinionVersion(
                    unit_id=unit.id,
                    text=unit.text,
                    since=unit.mentioned_at,
                    reason=reason,
                    based_on=grounds[row],
                    revision=revision,
                    closed_at=unit.closed_at,
                    validity=validity[row],
                )
            )
    return versions


def _evidence_from(
    row: Row, restated: Mapping[str, tuple[str, ...]], validity: Mapping[int, tuple[ValidityChange, ...]]
) -> Evidence:
    """Build evidence from a row of `_EVIDENCE` (without the opinion), with the validity changes of its fact."""
    fact, restates, unit_id, sources, assessment, strength, rule, step, reason, version, *rest = row
    effective_at, recorded_at, revision = rest
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
        restates=restated[restates],
        validity=validity[fact],
    )


def _validity(
    connection: Connection, bank: int, rows: Collection[int]
) -> defaultdict[int, tuple[ValidityChange, ...]]:
    """Return the validity changes of units, in recording order."""
    changes: defaultdict[int, tuple[ValidityChange, ...]] = defaultdict(tuple)
    for unit, kind, moment, revision in connection.execute(_VALIDITY, {"bank": bank, "rows": rows}):
        changes[unit] += (ValidityChange(ValidityKind(kind), from_micros(moment), revision),)
    return changes


_CREATED = select(units.c.id, units.c.confidence, units.c.mentioned_at).where(
    units.c.bank == bindparam("bank"),
    units.c.created == bindparam("revision"),
    units.c.kind == UnitKind.MEMORY.value,
    units.c.fact_type == FactType.OPINION.value,
    ~exists().where(refers(opinion_wordings.c.unit, units)),
)
_UNIT = (
    select(units.c.unit_id, units.c.id, units.c.kind, units.c.fact_type, opinion_wordings.c.opinion)
    .outerjoin(opinion_wordings, refers(opinion_wordings.c.unit, units))
    .where(units.c.bank == bindparam("bank"), units.c.unit_id == bindparam("unit"))
)
_NEWEST = (
    select(opinion_wordings.c.unit, opinion_wordings.c.number)
    .where(in_bank(opinion_wordings), opinion_wordings.c.opinion == bindparam("opinion"))
    .order_by(opinion_wordings.c.number.desc())
    .limit(1)
)
_CLOSED_BY = select(validity_events.c.id).where(
    in_bank(validity_events),
    validity_events.c.unit == bindparam("unit"),
    validity_events.c.kind == ValidityKind.CLOSED.value,
    validity_events.c.by_unit == bindparam("wording"),
)
_ROWS = (
    select(units.c.unit_id, opinions.c.unit)
    .join(opinions, refers(opinions.c.unit, units))
    .where(units.c.bank == bindparam("bank"), among(units.c.unit_id, "ids"))
)
_FACTS_UNDER = select(opinion_grounds.c.fact).where(
    in_bank(opinion_grounds), among(opinion_grounds.c.wording, "rows")
)
_based_on = numbers("rows")
_BASED_ON = (
    select(func.coalesce(observation_facts.c.fact, opinion_grounds.c.fact, _based_on.c.value))
    .select_from(_based_on)
    .outerjoin(
        observation_facts,
        and_(in_bank(observation_facts), observation_facts.c.observation == _based_on.c.value),
    )
    .outerjoin(
        opinion_grounds, and_(in_bank(opinion_grounds), opinion_grounds.c.wording == _based_on.c.value)
    )
)
_VERSIONS = (
    select(opinion_wordings.c.opinion, units.c.unit_id, opinion_wordings.c.unit)
    .join(units, refers(opinion_wordings.c.unit, units))
    .where(in_bank(opinion_wordings), among(opinion_wordings.c.opinion, "rows"))
)
_NOTE_ASSESSED = (
    update(opinions)
    .where(
        in_bank(opinions, "of"),
        opinions.c.unit == bindparam("row"),
        opinions.c.assessed_to < bindparam("to"),
    )
    .values(assessed_to=bindparam("to"))
)


def write_opinions(target: CommitTarget, writes: WriteSet, recorded_at: int) -> None:
    """Write the changes of a bank's opinions. Its units and events must already be stored.

    An opinion unit without a formation or rewording in the write set is stored as a given opinion.

    Args:
        target: the current commit.
        writes: the write set.
        recorded_at: current time in microseconds since the epoch.

    Raises:
        InvalidRequest: the write set refers to something that does not exist, or an opinion or evidence is invalid.
    """
    write = writes.opinions or OpinionsWrite()
    for formed in write.formed:
        _form(target, writes.bank, formed, write.operation, recorded_at)
    for reworded in write.reworded:
        _reword(target, writes.bank, reworded)
    if any(unit_write.unit.fact_type is FactType.OPINION for unit_write in writes.units):
        _add_given_opinions(target, recorded_at)
    _write_evidence(target, writes.bank, write.evidence, recorded_at)
    assessed = _opinions(target, writes.bank, write.assessed)
    run_many(
        target.connection,
        _NOTE_ASSESSED,
        [
            {"of": target.bank, "row": assessed[key], "to": min(to, target.revision)}
            for key, to in write.assessed.items()
        ],
    )
    keys = {write.operation, *(formed.operation for formed in write.formed)} - {""}
    run_many(
        target.connection,
        insert(opinion_operations).on_conflict_do_nothing(),
        [{"bank": target.bank, "key": key} for key in sorted(keys)],
    )


def _add_given_opinions(target: CommitTarget, recorded_at: int) -> None:
    """Store the opinion units that a caller retained in this commit, which were not formed by a reflection."""
    created = target.connection.execute(_CREATED, {"bank": target.bank, "revision": target.revision}).all()
    run_many(
        target.connection,
        insert(opinions),
        [
            {
                "unit": row,
                "bank": target.bank,
                "confidence": UNKNOWN_CONFIDENCE if confidence is None else min(1.0, max(0.0, confidence)),
                "formed_at": mentioned_at,
                "recorded_at": recorded_at,
                "revision": target.revision,
                "origin": OpinionOrigin.GIVEN.value,
                "operation": "",
                "profile": 0,
                "reasoning": "",
                "assessed_to": target.revision - 1,
            }
            for row, confidence, mentioned_at in created
        ],
    )
    run_many(target.connection, insert(opinion_wordings), [_wording(target, row) for row, *_ in created])


def _wording(
    target: CommitTarget, unit: int, opinion: int | None = None, number: int = 1, reason: str = ""
) -> Values:
    """Build a row of `opinion_wordings`; by default, the first wording of the unit's own opinion."""
    return {
        "unit": unit,
        "bank": target.bank,
        "opinion": opinion or unit,
        "number": number,
        "reason": reason,
        "revision": target.revision,
    }


def _form(target: CommitTarget, bank: str, formed: FormationWrite, operation: str, recorded_at: int) -> None:
    """Insert a new opinion. Do nothing if its unit is already a wording."""
    if not 0.0 <= formed.confidence <= 1.0:
        raise _unfit(f"confidence {formed.confidence} is not between 0 and 1", "Pass a number from 0 to 1.")
    unit, opinion = _opinion_unit(target, bank, formed.unit_id)
    grounds = _based_on_rows(target, bank, unit, formed.based_on)
    if opinion is not None:
        return
    target.connection.execute(
        insert(opinions),
        {
            "unit": unit,
            "bank": target.bank,
            "confidence": formed.confidence,
            "formed_at": to_micros(formed.formed_at),
            "recorded_at": recorded_at,
            "revision": target.revision,
            "origin": formed.origin.value,
            "operation": formed.operation or operation,
            "profile": formed.profile,
            "reasoning": formed.reasoning,
            "assessed_to": min(formed.assessed_to, target.revision),
        },
    )
    _write_wording(target, _wording(target, unit), grounds)


def _reword(target: CommitTarget, bank: str, reworded: RewordingWrite) -> None:
    """Add a wording, which keeps the source facts of the wording before it. Do nothing if it is already the newest."""
    (opinion,) = _opinions(target, bank, [reworded.opinion_id]).values()
    unit, worded = _opinion_unit(target, bank, reworded.unit_id)
    newest, number = target.connection.execute(_NEWEST, {"bank": target.bank, "opinion": opinion}).one()
    if newest == unit:
        return
    if worded is not None:
        raise _unfit(
            f"{reworded.unit_id!r} is already another wording", "Write the new wording as a separate unit."
        )
    grounds = _based_on_rows(target, bank, unit, reworded.based_on)
    grounds.update(select_ids(target.connection, target.bank, _FACTS_UNDER, [newest]))
    closing_event = {"bank": target.bank, "unit": newest, "wording": unit}
    if target.connection.scalar(_CLOSED_BY, closing_event) is None:
        raise _unfit(
            f"no event closes the wording before {reworded.unit_id!r}",
            "Close the earlier wording by an event in the same write set, with the new wording as `by_unit`.",
        )
    _write_wording(target, _wording(target, unit, opinion, number + 1, reworded.reason), grounds)


def _opinion_unit(target: CommitTarget, bank: str, unit_id: str) -> tuple[int, int | None]:
    """Return the row id of an opinion unit, and the row id of the opinion of which it is a wording, if any."""
    rows = target.connection.execute(_UNIT, {"bank": target.bank, "unit": unit_id}).all()
    check_known("opinions", [unit_id], [known for known, *_ in rows], bank)
    ((_, unit, kind, fact_type, opinion),) = rows
    if kind != UnitKind.MEMORY.value or fact_type != FactType.OPINION.value:
        raise _unfit(f"{unit_id!r} is not an opinion", "Write it with type FactType.OPINION.")
    return unit, opinion


def _opinions(target: CommitTarget, bank: str, opinion_ids: Collection[str]) -> dict[str, int]:
    """Return the row ids of opinions by id."""
    if not opinion_ids:
        return {}
    rows = dict(target.connection.execute(_ROWS, {"bank": target.bank, "ids": list(opinion_ids)}).all())
    check_known("opinions", opinion_ids, rows, bank)
    return rows


def _based_on_rows(target: CommitTarget, bank: str, unit: int, based_on: Sequence[str]) -> set[int]:
    """Return the row ids of the facts that a wording is based on. Observations and wordings are replaced by their facts.

    Observations are rewritten often, but the erasure of a fact must still find the opinions that are based on it.
    """
    rows = unit_rows(target.connection, target.bank, based_on)
    check_known("opinions", based_on, rows, bank)
    return {*select_ids(target.connection, target.bank, _BASED_ON, rows.values())} - {unit}


def _write_wording(target: CommitTarget, wording: Values, facts: Collection[int]) -> None:
    target.connection.execute(insert(opinion_wordings), wording)
    run_many(
        target.connection,
        insert(opinion_grounds),
        [{"wording": wording["unit"], "fact": fact, "bank": target.bank} for fact in sorted(facts)],
    )


def _write_evidence(target: CommitTarget, bank: str, rows: Sequence[EvidenceWrite], recorded_at: int) -> None:
    """Append rows to the evidence logs of opinions. A fact that is already in a log keeps its row."""
    if not rows:
        return
    known = _opinions(target, bank, [row.opinion_id for row in rows])
    wanted = [row.unit_id for row in rows]
    facts = unit_rows(
        target.connection, target.bank, [*wanted, *(restated for row in rows for restated in row.restates)]
    )
    check_known("opinions", wanted, facts, bank)
    sound = select_ids(target.connection, target.bank, FACTS_AMONG, {facts[unit] for unit in wanted})
    names = {row: opinion for opinion, row in known.items()}
    versions = {
        (names[opinion], unit_id): unit
        for opinion, unit_id, unit in target.connection.execute(
            _VERSIONS, {"bank": target.bank, "rows": list(names)}
        )
    }
    for row in rows:
        if facts[row.unit_id] not in sound:
            raise _unfit(
                f"{row.unit_id!r} is not a world or experience memory", "Pass only facts as evidence."
            )
        if (row.opinion_id, row.version) not in versions:
            raise _unfit(
                f"{row.version!r} is not a wording of {row.opinion_id!r}",
                "Pass the id of the wording that was assessed.",
            )
        if not row.sources or not (isfinite(row.step) and 0.0 < row.step < 1.0):
            raise _unfit(
                f"evidence {row.unit_id!r} has step {row.step} and {len(row.sources)} sources",
                "Pass a step between 0 and 1, exclusive, and at least one source.",
            )
    run_many(
        target.connection,
        insert(evidence).on_conflict_do_nothing(),
        [
            {
                "opinion": known[row.opinion_id],
                "fact": facts[row.unit_id],
                "bank": target.bank,
                "sources": json.dumps(row.sources),
                "restates": json.dumps(
                    sorted(
                        {facts[restated] for restated in row.restates if restated in facts}
                        - {facts[row.unit_id]}
                    )
                ),
                "assessment": row.assessment.value,
                "strength": row.strength.value,
                "rule": row.rule.value,
                "step": row.step,
                "reason": row.reason,
                "version": versions[row.opinion_id, row.version],
                "effective_at": to_micros(row.effective_at),
                "recorded_at": recorded_at,
                "revision": target.revision,
            }
            for row in rows
        ],
    )


def _unfit(reason: str, remedy: str) -> InvalidRequest:
    return InvalidRequest("opinions", reason, remedy)


GROUNDS_WITHDRAWN = "its grounds were withdrawn"
"""Reason for closing a wording together with its last source fact. Identifies closings made by the ledger."""

_restored = validity_events.alias("restored")
# For each newest wording that is based on these facts: its state, and that of its source facts.
_STANDING = (
    select(
        _own.c.id,
        _own.c.closed_at,
        func.count() - func.count(_fact.c.closed_at),
        func.max(_fact.c.closed_at),
        select(
            and_(
                validity_events.c.kind == ValidityKind.CLOSED.value,
                validity_events.c.reason == GROUNDS_WITHDRAWN,
            )
        )
        .where(in_bank(validity_events), validity_events.c.unit == _own.c.id)
        .order_by(validity_events.c.id.desc())
        .limit(1)
        .scalar_subquery(),
        func.min(_restored.c.effective_at),
    )
    .join(opinion_wordings, refers(opinion_wordings.c.unit, _own))
    .join(opinion_grounds, refers(opinion_grounds.c.wording, _own))
    .join(_fact, refers(opinion_grounds.c.fact, _fact))
    .outerjoin(
        _restored,
        and_(
            refers(_restored.c.unit, _fact),
            _restored.c.kind == ValidityKind.RESTORED.value,
            _restored.c.revision == bindparam("revision"),
            _fact.c.closed_at.is_(None),
        ),
    )
    .where(
        in_bank(_own),
        _own.c.id.in_(select(_standing.c.wording).where(in_bank(_standing), among(_standing.c.fact, "rows"))),
        ~exists().where(
            same_bank(_later, opinion_wordings),
            _later.c.opinion == opinion_wordings.c.opinion,
            _later.c.number > opinion_wordings.c.number,
        ),
    )
    .group_by(_own.c.id, _own.c.closed_at)
    .order_by(_own.c.id)
)
_DROP_EVENT = delete(validity_events).where(
    in_bank(validity_events),
    validity_events.c.unit == bindparam("unit"),
    validity_events.c.kind == bindparam("kind"),
    validity_events.c.effective_at == bindparam("effective_at"),
    validity_events.c.by_unit.is_(None),
    validity_events.c.reason == bindparam("reason"),
)
_SET_CLOSED = (
    update(units)
    .where(in_bank(units, "of"), units.c.id == bindparam("row"))
    .values(changed=bindparam("revision"), **closing(bindparam("moment", type_=Int)))
)


def follow_grounds(target: CommitTarget, rows: Collection[int]) -> None:
    """Close opinions whose last source fact was closed. Restore opinions closed in this way when a source fact is restored.

    Args:
        target: the commit that closed or restored units.
        rows: row ids of these units.
    """
    waiting, seen, revision = set(rows), set(rows), target.revision
    while waiting:
        values = {"bank": target.bank, "rows": waiting, "revision": revision}
        standing = target.connection.execute(_STANDING, values)
        # Effective time and new `closed_at` of each wording.
        moves: dict[int, tuple[int, int | None]] = {}
        for wording, closed_at, valid, withdrawn_at, ours, back_at in standing:
            if not valid and closed_at is None:
                moves[wording] = withdrawn_at, withdrawn_at
            elif valid and closed_at is not None and ours:
                moves[wording] = closed_at if back_at is None else back_at, None
        events = [
            {
                "bank": target.bank,
                "unit": wording,
                "kind": (ValidityKind.RESTORED if closed_at is None else ValidityKind.CLOSED).value,
                "effective_at": moment,
                "revision": revision,
                "reason": GROUNDS_WITHDRAWN,
            }
            for wording, (moment, closed_at) in moves.items()
        ]
        # An equal earlier event is deleted first, because the event must be the newest.
        run_many(target.connection, _DROP_EVENT, events)
        run_many(target.connection, insert(validity_events), events)
        _set_closed(target, {wording: closed_at for wording, (_, closed_at) in moves.items()})
        waiting = moves.keys() - seen
        seen |= waiting


def _set_closed(target: CommitTarget, moments: Mapping[int, int | None]) -> None:
    """Set `closed_at` of units."""
    run_many(
        target.connection,
        _SET_CLOSED,
        [
            {"of": target.bank, "row": row, "moment": moment, "revision": target.revision}
            for row, moment in moments.items()
        ],
    )


_FIRST = select(opinion_wordings.c.opinion).where(
    in_bank(opinion_wordings), among(opinion_wordings.c.unit, "rows")
)
_BASED_ON_UNITS = union(
    select(opinion_grounds.c.wording).where(in_bank(opinion_grounds), among(opinion_grounds.c.fact, "rows")),
    select(_later.c.unit)
    .join(
        opinion_wordings,
        and_(
            same_bank(_later, opinion_wordings),
            opinion_wordings.c.opinion == _later.c.opinion,
            opinion_wordings.c.number < _later.c.number,
        ),
    )
    .where(in_bank(opinion_wordings), among(opinion_wordings.c.unit, "rows")),
)
# Opinions with an erased unit among their evidence or wordings, and the revisions that wrote these.
_READERS = union(
    select(evidence.c.opinion, evidence.c.revision).where(in_bank(evidence), among(evidence.c.fact, "rows")),
    select(opinion_wordings.c.opinion, opinion_wordings.c.revision).where(
        in_bank(opinion_wordings), among(opinion_wordings.c.unit, "rows")
    ),
    select(opinions.c.unit, opinions.c.revision).where(in_bank(opinions), among(opinions.c.unit, "rows")),
)
_BLANK_REASONS = tuple(
    update(table)
    .where(
        in_bank(table, "row"),
        table.c.reason != "",
        table.c.opinion.in_(select(opinions.c.unit).where(opinions.c.bank == bindparam("row"))),
        among(table.c.opinion, "readers") | among(table.c.revision, "revisions"),
    )
    .values(reason="")
    for table in (evidence, opinion_wordings)
)
_BLANK_REASONING = (
    update(opinions)
    .where(
        opinions.c.bank == bindparam("row"),
        opinions.c.reasoning != "",
        among(opinions.c.revision, "revisions"),
    )
    .values(reasoning="")
)
_LEFT = (
    select(opinion_wordings.c.opinion, opinion_wordings.c.unit)
    .where(
        in_bank(opinion_wordings),
        opinion_wordings.c.opinion.in_(
            select(_gone.c.opinion).where(in_bank(_gone), among(_gone.c.unit, "rows"))
        ),
        ~among(opinion_wordings.c.unit, "rows"),
    )
    .order_by(opinion_wordings.c.opinion, opinion_wordings.c.number)
)
_REOPEN = delete(validity_events).where(
    in_bank(validity_events),
    among(validity_events.c.unit, "newest"),
    validity_events.c.kind == ValidityKind.CLOSED.value,
    among(validity_events.c.by_unit, "rows"),
)
_FORMED = select(opinions.c.unit).where(in_bank(opinions), among(opinions.c.unit, "rows"))
_assessed = (
    select(evidence.c.opinion, (func.min(units.c.changed) - 1).label("to"))
    .join(units, refers(evidence.c.fact, units))
    .where(in_bank(evidence, "of"), among(evidence.c.version, "rows"))
    .group_by(evidence.c.opinion)
    .subquery("assessed")
)
_REASSESS = (
    update(opinions)
    .where(
        in_bank(opinions, "of"),
        opinions.c.unit == _assessed.c.opinion,
        opinions.c.assessed_to > _assessed.c.to,
    )
    .values(assessed_to=_assessed.c.to)
)
_DROP_JUDGED = delete(evidence).where(
    in_bank(evidence, "of"), among(evidence.c.fact, "rows") | among(evidence.c.version, "rows")
)
_CLOSINGS = (
    select(validity_events.c.kind, validity_events.c.effective_at)
    .where(in_bank(validity_events), validity_events.c.unit == bindparam("unit"))
    .order_by(validity_events.c.id)
)


def with_wordings(connection: Connection, bank: int, rows: Collection[int], *, whole: bool) -> list[int]:
    """Add the wordings that are based on units to be erased; row ids, ascending.

    A wording is based on its source facts and on the wordings before it.

    Args:
        connection: the writer.
        bank: row id of the bank.
        rows: row ids of the units.
        whole: whether to include all wordings of an opinion if one of them is among the units.
    """
    waiting = {*rows, *(select_ids(connection, bank, _FIRST, rows) if whole else ())}
    telling = set(waiting)
    while waiting:
        waiting = set(select_ids(connection, bank, _BASED_ON_UNITS, waiting)) - telling
        telling |= waiting
    return sorted(telling)


def erase_opinions(
    target: CommitTarget, rows: Collection[int], documents: Collection[int] = ()
) -> tuple[int, list[int]]:
    """Erase the traces of units in opinions. Call it before the units are deleted.

    Reasons may repeat an erased text, because a model that may have read it wrote them; such reasons are blanked.

    Args:
        target: the current erasure.
        rows: row ids of the units to be erased, including all wordings based on them.
        documents: documents that lose items; evidence that was judged by their text will be judged again.

    Returns:
        The number of erased opinions, and the wordings that become the newest of their opinions again.
    """
    connection, bank = target.connection, target.bank
    _blank_reasons(target, {*rows, *documents})
    judge_corrected(connection, bank, *documents)
    connection.execute(_REASSESS, {"of": bank, "rows": rows})
    newest = list(dict(connection.execute(_LEFT, {"bank": bank, "rows": rows}).all()).values())
    if newest:
        connection.execute(_REOPEN, {"bank": bank, "newest": newest, "rows": rows})
        _set_closed(target, {wording: closed_by_log(connection, bank, wording) for wording in newest})
    return len(select_ids(connection, bank, _FORMED, rows)), newest


def follow_own_grounds(target: CommitTarget, wordings: Collection[int]) -> None:
    """Close wordings that became the newest again but whose source facts are all closed."""
    follow_grounds(target, select_ids(target.connection, target.bank, _FACTS_UNDER, wordings))


def judge_corrected(connection: Connection, bank: int, *rows: int) -> None:
    """Delete evidence that was judged by the old text of these facts or wordings, so that it is judged again.

    Facts that were judged against a corrected wording are assessed again.
    """
    if rows:
        connection.execute(_REASSESS, {"of": bank, "rows": rows})
        connection.execute(_DROP_JUDGED, {"of": bank, "rows": rows})


def _blank_reasons(target: CommitTarget, rows: Collection[int]) -> None:
    """Blank the reasons in opinions based on these units, and all reasons written in the same commits."""
    readers = target.connection.execute(_READERS, {"bank": target.bank, "rows": rows}).all()
    if not readers:
        return
    revisions = sorted({revision for _, revision in readers})
    values = {"row": target.bank, "readers": [opinion for opinion, _ in readers], "revisions": revisions}
    for statement in _BLANK_REASONS:
        target.connection.execute(statement, values)
    target.connection.execute(_BLANK_REASONING, {"row": target.bank, "revisions": revisions})


def closed_by_log(connection: Connection, bank: int, unit: int) -> int | None:
    """Return when a unit's log closes it: the earliest closing since the last restoration; None if it is valid."""
    closed: int | None = None
    for kind, moment in connection.execute(_CLOSINGS, {"bank": bank, "unit": unit}):
        if kind == ValidityKind.CLOSED:
            closed = moment if closed is None else min(closed, moment)
        elif kind == ValidityKind.RESTORED:
            closed = None
    return closed
