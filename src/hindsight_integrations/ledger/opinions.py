"""Opinions: formed, reworded and given evidence by a commit, and closed with the last of the facts they were worded from.

Nothing here computes a confidence: it is replayed from what is written.
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
from hindsight_integrations.ledger.sql import Values, among, insert, numbers, run_many, unindexed
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

NO_PAYLOAD = "{}"  # what is to be assessed, the opinions themselves say

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
    .join(opinion_wordings, opinion_wordings.c.opinion == opinions.c.unit)
    .join(_own, _own.c.id == opinion_wordings.c.unit)
    .where(opinions.c.bank == bindparam("bank"), _own.c.closed_at.is_(None))
)
_UNSEEN = _VALID_FACTS.order_by(None).where(units.c.changed > _ASSESSED.scalar_subquery()).limit(1)


def brings_evidence(writes: WriteSet) -> bool:
    """Whether a write set brings or restores facts, or opinions that may not have seen all of them."""
    formed = writes.opinions is not None and bool(writes.opinions.formed)
    restored = any(event.kind is ValidityKind.RESTORED for event in writes.events)
    return formed or restored or any(each.unit.fact_type in OBSERVED_NETWORKS for each in writes.units)


def enqueue_reinforcement(schedule: Schedule, connection: Connection, bank: int) -> None:
    """Enqueue the assessment of a bank's new facts, if an opinion is held that has not seen one of them.

    Args:
        schedule: when the task falls due.
        connection: the writer, inside the transaction that brings the facts.
        bank: row id of the bank.
    """
    if connection.scalar(_UNSEEN, {"bank": bank}) is not None:
        write = TaskWrite(TaskKind.REINFORCE, NO_PAYLOAD, schedule.reinforcing, key=REINFORCED)
        enqueue_keys(connection, bank, [write], schedule.clock.now())


_OPINIONS = (
    select(
        opinions.c.unit,
        units.c.unit_id,
        *opinions.c["confidence", "formed_at", "recorded_at", "revision", "origin"],
        *opinions.c["operation", "profile", "reasoning", "assessed_to"],
    )
    .join(units, units.c.id == opinions.c.unit)
    .order_by(opinions.c.formed_at, opinions.c.unit)
)
_ALL_OPINIONS = _OPINIONS.where(opinions.c.bank == bindparam("bank"))
_OPINIONS_BY_ID = _OPINIONS.where(units.c.bank == bindparam("bank"), among(units.c.unit_id, "ids"))
_OPINIONS_OF = (
    select(opinion_wordings.c.unit, units.c.unit_id)
    .join(units, units.c.id == opinion_wordings.c.opinion)
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
            opinions.c.operation != literal("", literal_execute=True),  # as the partial index says
        ),
    )
    .outerjoin(units, units.c.id == opinions.c.unit)
    .where(opinion_operations.c.bank == bindparam("bank"), opinion_operations.c.key == bindparam("operation"))
    .order_by(opinions.c.unit)
)
_WORDINGS = (
    select(*opinion_wordings.c["opinion", "unit", "reason", "revision"])
    .where(among(opinion_wordings.c.opinion, "rows"))
    .order_by(opinion_wordings.c.opinion, opinion_wordings.c.number)
)
_GROUNDS = (
    select(opinion_grounds.c.wording, units.c.unit_id)
    .join(units, units.c.id == opinion_grounds.c.fact)
    .where(among(opinion_grounds.c.wording, "rows"))
    .order_by(opinion_grounds.c.wording, opinion_grounds.c.fact)
)
_ENTITIES = (
    select(opinion_wordings.c.opinion, entities.c.name)
    .join(mentions, mentions.c.unit == opinion_wordings.c.unit)
    .join(entities, entities.c.id == mentions.c.entity)
    .where(among(opinion_wordings.c.opinion, "rows"))
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
    .join(_fact, _fact.c.id == evidence.c.fact)
    .join(_judged, _judged.c.id == evidence.c.version)
    .where(among(evidence.c.opinion, "rows"))
    .order_by(evidence.c.opinion, evidence.c.effective_at, _fact.c.unit_id)
)
_VALIDITY = (
    select(*validity_events.c["unit", "kind", "effective_at", "revision"])
    .where(
        among(validity_events.c.unit, "rows"),
        validity_events.c.kind.in_(
            [literal(ValidityKind.CLOSED.value), literal(ValidityKind.RESTORED.value)]
        ),
    )
    .order_by(validity_events.c.id)
)
_UNIT_IDS = select(units.c.id, units.c.unit_id).where(among(units.c.id, "rows"))


class OpinionReader(Reader):
    """Reads of opinions."""

    def get(self, bank: str, opinion_ids: Sequence[str] | None = None) -> list[OpinionLog]:
        """These opinions, or all, in the order they were formed; those without a valid wording too.

        Unknown ids and opinions that cannot be read are left out.
        """
        with self._at(bank) as (connection, row):
            if opinion_ids is None:
                rows = fetched(connection, _ALL_OPINIONS, {"bank": row})
            else:
                rows = fetched(connection, _OPINIONS_BY_ID, {"bank": row, "ids": opinion_ids})
            return _logs(connection, bank, row, rows) if rows else []

    def of_units(self, bank: str, ids: IntArray) -> dict[int, str]:
        """Opinion id of each of these units (by row id) that is a wording of one; others are left out."""
        with self._at(bank) as (connection, row):
            return dict(connection.execute(_OPINIONS_OF, {"rows": ids.tolist(), "bank": row}).all())

    def formed_by(self, bank: str, operation: str) -> tuple[str, ...] | None:
        """Ids of the opinions a reflection formed, by its operation key; None if none of that key was recorded."""
        with self._at(bank) as (connection, row):
            ids = connection.scalars(_FORMED_BY, {"bank": row, "operation": operation}).all()
            return tuple(opinion for opinion in ids if opinion is not None) if ids else None

    def facts_since(self, bank: str, revision: int) -> IntArray:
        """Row ids of the valid world and experience memories that came, or were corrected, after a revision, ascending."""
        with self._at(bank) as (connection, row):
            facts = connection.scalars(_FACTS_SINCE, {"bank": row, "revision": revision})
            return np.fromiter(facts, np.int64)


def _logs(connection: Connection, bank: str, row: int, rows: Sequence[Row]) -> list[OpinionLog]:
    """The opinions of these rows with all that hangs on them; those that damage made unreadable are left out, and named."""
    values = {"rows": [opinion for opinion, *_ in rows]}
    wordings, log = fetched(connection, _WORDINGS, values), fetched(connection, _EVIDENCE, values)
    sound = sound_units(connection, bank, row, np.array([unit for _, unit, *_ in wordings], np.int64))
    validity = _validity(connection, {*sound, *(fact for _, fact, *_ in log)})
    versions = _versions(connection, wordings, sound, validity)
    restated = unit_lists(connection, _UNIT_IDS, {restates for _, _, restates, *_ in log})
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
                    evidence=tuple(_evidence_from(each, restated, validity) for each in assessed[opinion]),
                    assessed_to=assessed_to,
                )
            )
        except (ValueError, TypeError, KeyError, OverflowError):
            logger.warning("an opinion that cannot be read is left out: %s", unit_id)
    return logs


def _versions(
    connection: Connection,
    wordings: Sequence[Row],
    sound: Mapping[int, MemoryUnit],
    validity: Mapping[int, tuple[ValidityChange, ...]],
) -> dict[int, list[OpinionVersion]]:
    """Wordings by opinion, oldest first; damaged ones are left out."""
    grounds = grouped(connection.execute(_GROUNDS, {"rows": sound}))
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
    """A row of evidence, of what `_EVIDENCE` selects after the opinion, with what became of its fact."""
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


def _validity(connection: Connection, rows: Collection[int]) -> defaultdict[int, tuple[ValidityChange, ...]]:
    """What became of units, in the order recorded."""
    changes: defaultdict[int, tuple[ValidityChange, ...]] = defaultdict(tuple)
    for unit, kind, moment, revision in connection.execute(_VALIDITY, {"rows": rows}):
        changes[unit] += (ValidityChange(ValidityKind(kind), from_micros(moment), revision),)
    return changes


_CREATED = select(units.c.id, units.c.confidence, units.c.mentioned_at).where(
    units.c.bank == bindparam("bank"),
    units.c.created == bindparam("revision"),
    units.c.kind == UnitKind.MEMORY.value,
    units.c.fact_type == FactType.OPINION.value,
    ~exists().where(opinion_wordings.c.unit == units.c.id),
)
_UNIT = (
    select(units.c.unit_id, units.c.id, units.c.kind, units.c.fact_type, opinion_wordings.c.opinion)
    .outerjoin(opinion_wordings, opinion_wordings.c.unit == units.c.id)
    .where(units.c.bank == bindparam("bank"), units.c.unit_id == bindparam("unit"))
)
_NEWEST = (
    select(opinion_wordings.c.unit, opinion_wordings.c.number)
    .where(opinion_wordings.c.opinion == bindparam("opinion"))
    .order_by(opinion_wordings.c.number.desc())
    .limit(1)
)
_CLOSED_BY = select(validity_events.c.id).where(
    validity_events.c.unit == bindparam("unit"),
    validity_events.c.kind == ValidityKind.CLOSED.value,
    validity_events.c.by_unit == bindparam("wording"),
)
_ROWS = (
    select(units.c.unit_id, opinions.c.unit)
    .join(opinions, opinions.c.unit == units.c.id)
    .where(units.c.bank == bindparam("bank"), among(units.c.unit_id, "ids"))
)
_FACTS_UNDER = select(opinion_grounds.c.fact).where(among(opinion_grounds.c.wording, "rows"))
_based_on = numbers("rows")
_BASED_ON = (
    select(func.coalesce(observation_facts.c.fact, opinion_grounds.c.fact, _based_on.c.value))
    .select_from(_based_on)
    .outerjoin(observation_facts, observation_facts.c.observation == _based_on.c.value)
    .outerjoin(opinion_grounds, opinion_grounds.c.wording == _based_on.c.value)
)
_VERSIONS = (
    select(opinion_wordings.c.opinion, units.c.unit_id, opinion_wordings.c.unit)
    .join(units, units.c.id == opinion_wordings.c.unit)
    .where(among(opinion_wordings.c.opinion, "rows"))
)
_NOTE_ASSESSED = (
    update(opinions)
    .where(opinions.c.unit == bindparam("row"), opinions.c.assessed_to < bindparam("to"))
    .values(assessed_to=bindparam("to"))
)


def write_opinions(target: CommitTarget, writes: WriteSet, recorded_at: int) -> None:
    """Write what becomes of a bank's opinions. Its units are there already, its events too.

    A unit of the opinion network that comes without a formation or a rewording becomes an opinion that was given.

    Args:
        target: the commit under way.
        writes: the write set.
        recorded_at: microseconds.

    Raises:
        InvalidRequest: it refers to what is not there, or what it says cannot be an opinion or evidence of one.
    """
    write = writes.opinions or OpinionsWrite()
    for formed in write.formed:
        _form(target, writes.bank, formed, write.operation, recorded_at)
    for reworded in write.reworded:
        _reword(target, writes.bank, reworded)
    if any(each.unit.fact_type is FactType.OPINION for each in writes.units):
        _take_over(target, recorded_at)
    _write_evidence(target, writes.bank, write.evidence, recorded_at)
    assessed = _opinions(target, writes.bank, write.assessed)
    run_many(
        target.connection,
        _NOTE_ASSESSED,
        [{"row": assessed[key], "to": min(to, target.revision)} for key, to in write.assessed.items()],
    )
    keys = {write.operation, *(formed.operation for formed in write.formed)} - {""}
    run_many(
        target.connection,
        insert(opinion_operations).on_conflict_do_nothing(),
        [{"bank": target.bank, "key": key} for key in sorted(keys)],
    )


def _take_over(target: CommitTarget, recorded_at: int) -> None:
    """Make opinions of this commit's units of the opinion network that word none."""
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
    """A row of `opinion_wordings`: of the unit's own opinion, unless one is given."""
    return {
        "unit": unit,
        "opinion": opinion or unit,
        "number": number,
        "reason": reason,
        "revision": target.revision,
    }


def _form(target: CommitTarget, bank: str, formed: FormationWrite, operation: str, recorded_at: int) -> None:
    """A new opinion; one whose unit is a wording already stays as it is."""
    if not 0.0 <= formed.confidence <= 1.0:
        raise _unfit(f"confidence {formed.confidence} is not between 0 and 1", "Give a share of certainty.")
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
    """A new wording, which stands on all that the one before stands on as well; what is the newest already stays so."""
    (opinion,) = _opinions(target, bank, [reworded.opinion_id]).values()
    unit, worded = _opinion_unit(target, bank, reworded.unit_id)
    newest, number = target.connection.execute(_NEWEST, {"opinion": opinion}).one()
    if newest == unit:
        return
    if worded is not None:
        raise _unfit(
            f"{reworded.unit_id!r} is another wording already", "Write the new wording as a unit of its own."
        )
    grounds = _based_on_rows(target, bank, unit, reworded.based_on)
    grounds.update(select_ids(target.connection, _FACTS_UNDER, [newest]))
    if target.connection.scalar(_CLOSED_BY, {"unit": newest, "wording": unit}) is None:
        raise _unfit(
            f"nothing says that {reworded.unit_id!r} closes the wording before it",
            "Close that one by an event of the same write set, with the new wording as `by_unit`.",
        )
    _write_wording(target, _wording(target, unit, opinion, number + 1, reworded.reason), grounds)


def _opinion_unit(target: CommitTarget, bank: str, unit_id: str) -> tuple[int, int | None]:
    """Row id of a unit that may word an opinion, and that of the opinion it words already."""
    rows = target.connection.execute(_UNIT, {"bank": target.bank, "unit": unit_id}).all()
    check_known("opinions", [unit_id], [known for known, *_ in rows], bank)
    ((_, unit, kind, fact_type, opinion),) = rows
    if kind != UnitKind.MEMORY.value or fact_type != FactType.OPINION.value:
        raise _unfit(f"{unit_id!r} is not a unit of the opinion network", "Write one as FactType.OPINION.")
    return unit, opinion


def _opinions(target: CommitTarget, bank: str, opinion_ids: Collection[str]) -> dict[str, int]:
    """Row ids of opinions."""
    if not opinion_ids:
        return {}
    rows = dict(target.connection.execute(_ROWS, {"bank": target.bank, "ids": list(opinion_ids)}).all())
    check_known("opinions", opinion_ids, rows, bank)
    return rows


def _based_on_rows(target: CommitTarget, bank: str, unit: int, based_on: Sequence[str]) -> set[int]:
    """Row ids of what a wording stands on: for what was itself made from facts, or worded from them, those facts.

    Observations are made anew all the time; who forgets a fact must find what was worded from it nevertheless.
    """
    rows = unit_rows(target.connection, target.bank, based_on)
    check_known("opinions", based_on, rows, bank)
    return {*select_ids(target.connection, _BASED_ON, rows.values())} - {unit}


def _write_wording(target: CommitTarget, wording: Values, facts: Collection[int]) -> None:
    target.connection.execute(insert(opinion_wordings), wording)
    run_many(
        target.connection,
        insert(opinion_grounds),
        [{"wording": wording["unit"], "fact": fact} for fact in sorted(facts)],
    )


def _write_evidence(target: CommitTarget, bank: str, rows: Sequence[EvidenceWrite], recorded_at: int) -> None:
    """Append to evidence logs; a fact that is in one already stays there as it is."""
    if not rows:
        return
    known = _opinions(target, bank, [row.opinion_id for row in rows])
    wanted = [row.unit_id for row in rows]
    facts = unit_rows(
        target.connection, target.bank, [*wanted, *(each for row in rows for each in row.restates)]
    )
    check_known("opinions", wanted, facts, bank)
    sound = select_ids(target.connection, FACTS_AMONG, {facts[unit] for unit in wanted})
    names = {row: opinion for opinion, row in known.items()}
    versions = {
        (names[opinion], unit_id): unit
        for opinion, unit_id, unit in target.connection.execute(_VERSIONS, {"rows": list(names)})
    }
    for row in rows:
        if facts[row.unit_id] not in sound:
            raise _unfit(f"{row.unit_id!r} is not a world or experience memory", "Only facts are evidence.")
        if (row.opinion_id, row.version) not in versions:
            raise _unfit(
                f"{row.version!r} is not a wording of {row.opinion_id!r}", "Name the wording judged."
            )
        if not row.sources or not (isfinite(row.step) and 0.0 < row.step < 1.0):
            raise _unfit(
                f"evidence {row.unit_id!r} has step {row.step} and {len(row.sources)} sources",
                "Give a step between 0 and 1, and who said it.",
            )
    run_many(
        target.connection,
        insert(evidence).on_conflict_do_nothing(),
        [
            {
                "opinion": known[row.opinion_id],
                "fact": facts[row.unit_id],
                "sources": json.dumps(row.sources),
                "restates": json.dumps(
                    sorted({facts[each] for each in row.restates if each in facts} - {facts[row.unit_id]})
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
"""Why a wording is closed with the last of the facts it stands on; by it the ledger knows its own closings again."""

_restored = validity_events.alias("restored")
# The newest wordings that stand on these facts: when closed, how many valid grounds (only 0 is exact), when the last ground was
# closed, whether the ledger closed the wording, and from when on a ground is valid that this revision restored.
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
        .where(validity_events.c.unit == _own.c.id)
        .order_by(validity_events.c.id.desc())
        .limit(1)
        .scalar_subquery(),
        func.min(_restored.c.effective_at),
    )
    .join(opinion_wordings, opinion_wordings.c.unit == _own.c.id)
    .join(opinion_grounds, opinion_grounds.c.wording == _own.c.id)
    .join(_fact, _fact.c.id == opinion_grounds.c.fact)
    .outerjoin(
        _restored,
        and_(
            _restored.c.unit == _fact.c.id,
            _restored.c.kind == ValidityKind.RESTORED.value,
            _restored.c.revision == bindparam("revision"),
            _fact.c.closed_at.is_(None),
        ),
    )
    .where(
        _own.c.id.in_(select(_standing.c.wording).where(among(_standing.c.fact, "rows"))),
        ~exists().where(
            _later.c.opinion == opinion_wordings.c.opinion, _later.c.number > opinion_wordings.c.number
        ),
    )
    .group_by(_own.c.id, _own.c.closed_at)
    .order_by(_own.c.id)
)
_DROP_EVENT = delete(validity_events).where(
    validity_events.c.unit == bindparam("unit"),
    validity_events.c.kind == bindparam("kind"),
    validity_events.c.effective_at == bindparam("effective_at"),
    validity_events.c.by_unit.is_(None),
    validity_events.c.reason == bindparam("reason"),
)
_SET_CLOSED = (
    update(units)
    .where(units.c.id == bindparam("row"))
    .values(changed=bindparam("revision"), **closing(bindparam("moment", type_=Int)))
)


def follow_grounds(target: CommitTarget, rows: Collection[int]) -> None:
    """Close the opinions whose last ground was closed, and restore those of which the ledger did so and one is back.

    Args:
        target: the commit that closed or restored units, under way.
        rows: their row ids.
    """
    waiting, seen, revision = set(rows), set(rows), target.revision
    while waiting:
        standing = target.connection.execute(_STANDING, {"rows": waiting, "revision": revision})
        moves: dict[int, tuple[int, int | None]] = {}  # when, and `closed_at` from then on
        for wording, closed_at, valid, withdrawn_at, ours, back_at in standing:
            if not valid and closed_at is None:
                moves[wording] = withdrawn_at, withdrawn_at
            elif valid and closed_at is not None and ours:
                moves[wording] = closed_at if back_at is None else back_at, None
        events = [
            {
                "unit": wording,
                "kind": (ValidityKind.RESTORED if closed_at is None else ValidityKind.CLOSED).value,
                "effective_at": moment,
                "revision": revision,
                "reason": GROUNDS_WITHDRAWN,
            }
            for wording, (moment, closed_at) in moves.items()
        ]
        # Closed again at the same moment is the newest event, not the old one.
        run_many(target.connection, _DROP_EVENT, events)
        run_many(target.connection, insert(validity_events), events)
        _set_closed(target, {wording: closed_at for wording, (_, closed_at) in moves.items()})
        waiting = moves.keys() - seen
        seen |= waiting


def _set_closed(target: CommitTarget, moments: Mapping[int, int | None]) -> None:
    """From when on units are closed."""
    run_many(
        target.connection,
        _SET_CLOSED,
        [{"row": row, "moment": moment, "revision": target.revision} for row, moment in moments.items()],
    )


_FIRST = select(opinion_wordings.c.opinion).where(among(opinion_wordings.c.unit, "rows"))
_TELLING = union(
    select(opinion_grounds.c.wording).where(among(opinion_grounds.c.fact, "rows")),
    select(_later.c.unit)
    .join(
        opinion_wordings,
        and_(opinion_wordings.c.opinion == _later.c.opinion, opinion_wordings.c.number < _later.c.number),
    )
    .where(among(opinion_wordings.c.unit, "rows")),
)
# Of an opinion in whose log, or under whose wordings, an erased unit stands; and of all that was written with one of these.
_READERS = union(
    select(evidence.c.opinion, evidence.c.revision).where(among(evidence.c.fact, "rows")),
    select(opinion_wordings.c.opinion, opinion_wordings.c.revision).where(
        among(opinion_wordings.c.unit, "rows")
    ),
    select(opinions.c.unit, opinions.c.revision).where(among(opinions.c.unit, "rows")),
)
_BLANK_REASONS = tuple(
    update(table)
    .where(
        table.c.reason != "",
        table.c.opinion.in_(select(opinions.c.unit).where(opinions.c.bank == bindparam("bank"))),
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
        opinion_wordings.c.opinion.in_(select(_gone.c.opinion).where(among(_gone.c.unit, "rows"))),
        ~among(opinion_wordings.c.unit, "rows"),
    )
    .order_by(opinion_wordings.c.opinion, opinion_wordings.c.number)
)
_REOPEN = delete(validity_events).where(
    among(validity_events.c.unit, "newest"),
    validity_events.c.kind == ValidityKind.CLOSED.value,
    among(validity_events.c.by_unit, "rows"),
)
_FORMED = select(opinions.c.unit).where(among(opinions.c.unit, "rows"))
_assessed = (
    select(evidence.c.opinion, (func.min(units.c.changed) - 1).label("to"))
    .join(units, units.c.id == evidence.c.fact)
    .where(among(evidence.c.version, "rows"))
    .group_by(evidence.c.opinion)
    .subquery("assessed")
)
_LOOK_AGAIN = (
    update(opinions)
    .where(opinions.c.unit == _assessed.c.opinion, opinions.c.assessed_to > _assessed.c.to)
    .values(assessed_to=_assessed.c.to)
)
_DROP_JUDGED = delete(evidence).where(among(evidence.c.fact, "rows") | among(evidence.c.version, "rows"))
_CLOSINGS = (
    select(validity_events.c.kind, validity_events.c.effective_at)
    .where(validity_events.c.unit == bindparam("unit"))
    .order_by(validity_events.c.id)
)


def with_wordings(connection: Connection, rows: Collection[int], *, whole: bool) -> list[int]:
    """The units to be erased, and the wordings that tell of one of them, ascending.

    A wording tells of what it stands on, and of the wordings before it.

    Args:
        connection: the writer.
        rows: row ids of the units.
        whole: with a wording among them goes its opinion, whatever of it was worded before.
    """
    waiting = {*rows, *(select_ids(connection, _FIRST, rows) if whole else ())}
    telling = set(waiting)
    while waiting:
        waiting = set(select_ids(connection, _TELLING, waiting)) - telling
        telling |= waiting
    return sorted(telling)


def erase_opinions(
    target: CommitTarget, rows: Collection[int], documents: Collection[int] = ()
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
    connection = target.connection
    _blank_reasons(target, {*rows, *documents})
    judge_corrected(connection, *documents)
    connection.execute(_LOOK_AGAIN, {"rows": rows})
    newest = list(dict(connection.execute(_LEFT, {"rows": rows}).all()).values())
    if newest:
        connection.execute(_REOPEN, {"newest": newest, "rows": rows})
        _set_closed(target, {wording: closed_by_log(connection, wording) for wording in newest})
    return len(select_ids(connection, _FORMED, rows)), newest


def follow_own_grounds(target: CommitTarget, wordings: Collection[int]) -> None:
    """Close those wordings, which are the newest again, of which all grounds were closed meanwhile."""
    follow_grounds(target, select_ids(target.connection, _FACTS_UNDER, wordings))


def judge_corrected(connection: Connection, *rows: int) -> None:
    """Delete the evidence that was judged by words which were corrected: of these facts, or against these wordings.

    The facts judged against a wording, of which the evidence goes, are to be looked at again.
    """
    if rows:
        connection.execute(_LOOK_AGAIN, {"rows": rows})
        connection.execute(_DROP_JUDGED, {"rows": rows})


def _blank_reasons(target: CommitTarget, rows: Collection[int]) -> None:
    """Blank the reasons of the opinions that tell of these units, and those written with them."""
    readers = target.connection.execute(_READERS, {"rows": rows}).all()
    if not readers:
        return
    revisions = sorted({revision for _, revision in readers})
    values = {"bank": target.bank, "readers": [opinion for opinion, _ in readers], "revisions": revisions}
    for statement in _BLANK_REASONS:
        target.connection.execute(statement, values)
    target.connection.execute(_BLANK_REASONING, {"row": target.bank, "revisions": revisions})


def closed_by_log(connection: Connection, unit: int) -> int | None:
    """From when on a unit is closed, by its log: the earliest closing since the last restoring counts."""
    closed: int | None = None
    for kind, moment in connection.execute(_CLOSINGS, {"unit": unit}):
        if kind == ValidityKind.CLOSED:
            closed = moment if closed is None else min(closed, moment)
        elif kind == ValidityKind.RESTORED:
            closed = None
    return closed
