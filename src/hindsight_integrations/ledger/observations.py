"""Observations made from facts: writing them in a commit, and removing them when their facts change.

Every transaction that changes an entity's valid facts also records the change here. From that revision on, the entity's
observations are stale. Observations based on an invalidated, corrected or erased fact are removed in the same
transaction, so that no summary repeats an outdated statement.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress

import numpy as np
from sqlalchemy import (
    Connection,
    Executable,
    Row,
    Select,
    bindparam,
    delete,
    exists,
    literal,
    select,
    update,
)

from hindsight_integrations.errors import InvalidRequest, RevisionConflict
from hindsight_integrations.ledger.databases import Database
from hindsight_integrations.ledger.rows import CommitTarget, Reader, entity_rows, is_fact, unit_rows
from hindsight_integrations.ledger.rules import check_known
from hindsight_integrations.ledger.sql import among, in_bank, insert, key_of, refers, run_many, unindexed
from hindsight_integrations.ledger.tables import (
    banks,
    entities,
    mentions,
    observation_facts,
    observations,
    observed_left_out,
    removed,
    tasks,
    units,
    unobserved,
    validity_events,
)
from hindsight_integrations.ledger.tasks import Schedule, enqueue_keys
from hindsight_integrations.ledger.values import Observed
from hindsight_integrations.model.arrays import IntArray
from hindsight_integrations.model.tasks import TaskKind, TaskState, TaskWrite
from hindsight_integrations.model.units import FactType
from hindsight_integrations.model.writes import ObservedWrite, WriteSet

NO_PAYLOAD = "{}"  # empty, because the task's key identifies the entity


# The same condition as in the partial index, which contains only entities that wait for observations.
_WAITING = select(entities.c.entity_id).where(
    entities.c.bank == bindparam("bank"), entities.c.facts_changed > entities.c.observed_at
)
CHANGED = _WAITING.where(entities.c.facts_changed == bindparam("revision"))
"""The entities whose facts changed at a revision."""
_WITHOUT_TASK = _WAITING.where(
    ~exists().where(
        tasks.c.bank == entities.c.bank,
        tasks.c.kind == TaskKind.OBSERVE.value,
        tasks.c.key
        != literal("", literal_execute=True),  # implied by the key, but needed for the partial index
        tasks.c.key == entities.c.entity_id,
        tasks.c.state != TaskState.DONE.value,
    )
)


def observe_changed(schedule: Schedule, connection: Connection, bank: int, revision: int) -> None:
    """Enqueue tasks for the entities whose facts changed at this revision. If observing is off, mark the bank as unobserved.

    Args:
        schedule: delays of the tasks.
        connection: the writer, in the transaction that creates the revision.
        bank: row id of the bank.
        revision: the revision being created.
    """
    keys = connection.scalars(CHANGED, {"bank": bank, "revision": revision}).all()
    enqueue_observed(schedule, connection, bank, keys)


def observe_bank(schedule: Schedule, connection: Connection, bank: int) -> None:
    """Enqueue tasks for the bank's waiting entities that have none, for example after an import."""
    keys = connection.scalars(_WITHOUT_TASK, {"bank": bank}).all()
    enqueue_observed(schedule, connection, bank, keys)


_UNOBSERVED = select(unobserved.c.bank, banks.c.name).join_from(unobserved, banks)


def observe_unobserved(schedule: Schedule, database: Database) -> None:
    """Enqueue tasks for the waiting entities of all banks marked as unobserved. Called when the ledger is opened."""
    if schedule.observing is None:
        return
    with database.reading() as connection:
        waiting = connection.execute(_UNOBSERVED).all()
    for bank, name in waiting:
        with database.writing(name) as connection:
            observe_bank(schedule, connection, bank)
            connection.execute(delete(unobserved).where(unobserved.c.bank == bank))


def enqueue_observed(schedule: Schedule, connection: Connection, bank: int, keys: Sequence[str]) -> None:
    """Enqueue tasks for entities by id. If observing is off, mark the bank as unobserved."""
    if not keys:
        return
    if schedule.observing is None:
        connection.execute(insert(unobserved).on_conflict_do_nothing(), {"bank": bank})
        return
    now, delay = schedule.clock.now(), schedule.observing
    writes = [TaskWrite(TaskKind.OBSERVE, NO_PAYLOAD, delay, key=key) for key in keys]
    enqueue_keys(connection, bank, writes, now)


_FACTS_OF = (
    select(mentions.c.unit)
    .join(entities, refers(mentions.c.entity, entities))
    .join(units, refers(mentions.c.unit, units))
    .where(
        entities.c.bank == bindparam("bank"),
        entities.c.entity_id == bindparam("entity"),
        units.c.closed_at.is_(None),
        is_fact,
    )
    .order_by(mentions.c.unit)
)
_ENTITIES = select(
    entities.c.id,
    entities.c.entity_id,
    entities.c.observed_at,
    entities.c.facts_changed > entities.c.observed_at,
).where(entities.c.bank == bindparam("bank"), among(entities.c.entity_id, "ids"))
_MADE = (
    select(observations.c.entity, units.c.unit_id)
    .join(units, refers(observations.c.unit, units))
    .where(in_bank(observations), among(observations.c.entity, "rows"))
    .order_by(observations.c.entity, observations.c.unit)
)
_LEFT_OUT = select(observed_left_out.c.entity, observed_left_out.c.facts).where(
    in_bank(observed_left_out), among(observed_left_out.c.entity, "rows")
)
_OPEN_UNITS = select(units.c.id, units.c.unit_id).where(
    in_bank(units), among(units.c.id, "rows"), units.c.closed_at.is_(None)
)
_WAITING_AMONG = _WAITING.where(among(entities.c.entity_id, "ids"))
_FACTS_UNDER = (
    select(observation_facts.c.observation, units.c.unit_id)
    .join(units, refers(observation_facts.c.fact, units))
    .where(among(observation_facts.c.observation, "rows"), unindexed(units.c.bank) == bindparam("bank"))
    .order_by(observation_facts.c.observation, observation_facts.c.fact)
)


class ObservationReader(Reader):
    """Reads of observations."""

    def entity_facts(self, bank: str, entity_id: str) -> IntArray:
        """Return the row ids of the valid facts that mention an entity, ascending (F_e in paper eq. 6)."""
        with self._at(bank) as (connection, row):
            facts = connection.scalars(_FACTS_OF, {"bank": row, "entity": entity_id})
            return np.fromiter(facts, np.int64)

    def get(self, bank: str, entity_ids: Sequence[str]) -> dict[str, Observed]:
        """Return the observations of these entities. An unreadable list of omitted facts counts as empty."""
        with self._at(bank) as (connection, row):
            known = connection.execute(_ENTITIES, {"bank": row, "ids": entity_ids}).all()
            rows = {"bank": row, "rows": [entity for entity, *_ in known]}
            made = grouped(connection.execute(_MADE, rows))
            texts = dict(connection.execute(_LEFT_OUT, rows).all())
            facts = unit_lists(connection, row, _OPEN_UNITS, texts.values())
        return {
            entity_id: Observed(
                entity_id, revision, bool(stale), facts.get(texts.get(entity, ""), ()), made[entity]
            )
            for entity, entity_id, revision, stale in known
        }

    def facts_changed(self, bank: str, entity_ids: Sequence[str]) -> frozenset[str]:
        """Return which of these entities have facts that changed since their last summary."""
        with self._at(bank) as (connection, row):
            return frozenset(connection.scalars(_WAITING_AMONG, {"bank": row, "ids": entity_ids}))

    def grounds_of(self, bank: str, ids: IntArray) -> dict[int, tuple[str, ...]]:
        """Return the ids of the facts that each observation (by row id) was made from, in retention order.

        Units that were not made from facts are omitted.
        """
        with self._at(bank) as (connection, row):
            return dict(grouped(connection.execute(_FACTS_UNDER, {"rows": ids.tolist(), "bank": row})))


def grouped(pairs: Iterable[Row[int, str]]) -> defaultdict[int, tuple[str, ...]]:
    """Group the second column of a result by the first."""
    groups: dict[int, list[str]] = defaultdict(list)
    for key, value in pairs:
        groups[key].append(value)
    return defaultdict(tuple, {key: tuple(values) for key, values in groups.items()})


def unit_lists(
    connection: Connection, bank: int, statement: Select[int, str], texts: Iterable[str]
) -> dict[str, tuple[str, ...]]:
    """Convert JSON lists of row ids to unit ids, in row order; the result is keyed by the list's text.

    Args:
        connection: any connection.
        bank: row id of the bank.
        statement: selects row id and unit id of the units in the bound list `rows`, optionally filtered.
        texts: the JSON lists. Unreadable lists are omitted from the result.
    """
    lists: dict[str, list[int]] = {}
    for text in texts:
        with suppress(ValueError, TypeError, OverflowError):
            lists[text] = sorted(map(int, json.loads(text)))
    rows = sorted(set().union(*lists.values()))
    names = dict(connection.execute(statement, {"bank": bank, "rows": rows}).all()) if rows else {}
    return {text: tuple(names[row] for row in rows if row in names) for text, rows in lists.items()}


def select_ids(connection: Connection, bank: int, statement: Executable, rows: Collection[int]) -> list[int]:
    """Execute a select with the bound list `rows`; return distinct row ids, ascending."""
    return sorted(set(connection.scalars(statement, {"bank": bank, "rows": rows}))) if rows else []


_MADE_OF = select(observations.c.unit).where(in_bank(observations), among(observations.c.entity, "rows"))
_UNCHANGED = (
    select(units.c.id)
    .join(mentions, refers(mentions.c.unit, units))
    .where(
        in_bank(units),
        among(units.c.id, "rows"),
        mentions.c.entity == bindparam("entity"),
        units.c.closed_at.is_(None),
        units.c.changed <= bindparam("revision"),
        is_fact,
        ~exists().where(
            refers(validity_events.c.unit, units), validity_events.c.revision > bindparam("revision")
        ),
    )
)
# Units that cannot be written as observations: of another type, or from an earlier commit.
_UNFIT = select(units.c.unit_id).where(
    in_bank(units),
    among(units.c.id, "rows"),
    (units.c.fact_type != FactType.OBSERVATION.value) | (units.c.created != bindparam("revision")),
)
_OBSERVE = (
    update(entities)
    .where(
        in_bank(entities, "of"),
        entities.c.id == bindparam("entity"),
        entities.c.observed_at != bindparam("revision"),
    )
    .values(observed_at=bindparam("revision"))
)
_GROUNDS = select(observation_facts.c.observation, observation_facts.c.fact).where(
    in_bank(observation_facts), among(observation_facts.c.observation, "rows")
)
_DROP_GROUND = delete(observation_facts).where(
    in_bank(observation_facts),
    observation_facts.c.observation == bindparam("row"),
    observation_facts.c.fact == bindparam("ground"),
)
_LEAVE_OUT = insert(observed_left_out)
_LEAVE_OUT = _LEAVE_OUT.on_conflict_do_update(
    constraint=key_of(observed_left_out),
    set_={"facts": _LEAVE_OUT.excluded.facts},
    where=observed_left_out.c.facts != _LEAVE_OUT.excluded.facts,
)


def write_observed(target: CommitTarget, writes: WriteSet) -> None:
    """Replace an entity's observations. The new units and mentions must already be stored.

    Raises:
        RevisionConflict: one of the source facts was invalidated, corrected, erased or moved to another entity in the meantime.
        InvalidRequest: the write refers to something that does not exist, or a unit is not an observation with valid facts.
    """
    if (observed := writes.observed) is None:
        return
    connection, bank = target.connection, target.bank
    entity_ids = entity_rows(connection, bank, [observed.entity_id])
    check_known("observed", [observed.entity_id], entity_ids, writes.bank)
    entity = entity_ids[observed.entity_id]
    facts = _grounds(target, writes.bank, entity, observed)
    made = set(observations_of(connection, bank, [entity]))
    new = sorted(facts.keys() - made)
    values = {"bank": bank, "rows": new, "revision": target.revision}
    if new and (unit := connection.scalar(_UNFIT, values)):
        raise _unfit(
            f"{unit!r} is not an observation of this entity", "Write its unit in the same write set."
        )
    remove_units(target, made - facts.keys())
    added = [{"unit": row, "bank": bank, "entity": entity} for row in new]
    run_many(connection, insert(observations), added)
    # Update rows only if something differs.
    stored = connection.execute(_GROUNDS, {"bank": bank, "rows": sorted(facts)})
    before = {(row, fact) for row, fact in stored}
    after = {(row, fact) for row, grounds in facts.items() for fact in grounds}
    dropped = [{"bank": bank, "row": row, "ground": fact} for row, fact in sorted(before - after)]
    run_many(connection, _DROP_GROUND, dropped)
    grounds = [{"bank": bank, "observation": row, "fact": fact} for row, fact in sorted(after - before)]
    run_many(connection, insert(observation_facts), grounds)
    # Facts that were erased in the meantime are dropped from the list.
    left_out = sorted(unit_rows(connection, bank, observed.left_out).values())
    connection.execute(_LEAVE_OUT, {"bank": bank, "entity": entity, "facts": json.dumps(left_out)})
    connection.execute(_OBSERVE, {"of": bank, "revision": observed.at_revision, "entity": entity})


def _grounds(
    target: CommitTarget, bank: str, entity: int, observed: ObservedWrite
) -> dict[int, frozenset[int]]:
    """Return the row ids of each observation's facts, by the observation's row id."""
    connection, wanted = target.connection, {fact for facts in observed.facts.values() for fact in facts}
    made = unit_rows(connection, target.bank, list(observed.facts))
    check_known("observed", observed.facts, made, bank)
    if groundless := [unit for unit, facts in observed.facts.items() if not facts]:
        raise _unfit(f"observation {groundless[0]!r} has no source facts", "Cite the facts it was made from.")
    rows = unit_rows(connection, target.bank, sorted(wanted))
    values = {
        "bank": target.bank,
        "rows": sorted(rows.values()),
        "entity": entity,
        "revision": observed.at_revision,
    }
    unchanged = set(connection.scalars(_UNCHANGED, values)) if rows else set()
    if bad := sorted(fact for fact in wanted if rows.get(fact) not in unchanged):
        if connection.scalars(_FACTS_CHANGED, values).one() > observed.at_revision:
            raise RevisionConflict(bank, observed.at_revision, target.revision - 1)
        raise _unfit(f"{bad[0]!r} is not a valid fact of the entity", "Make observations from entity_facts.")
    return {made[unit]: frozenset(rows[fact] for fact in facts) for unit, facts in observed.facts.items()}


def _unfit(reason: str, remedy: str) -> InvalidRequest:
    return InvalidRequest("observed", reason, remedy)


FACTS_AMONG = select(units.c.id).where(in_bank(units), among(units.c.id, "rows"), is_fact)
_FACTS_CHANGED = select(entities.c.facts_changed).where(
    in_bank(entities), entities.c.id == bindparam("entity")
)
_OBSERVATIONS_ON = select(observation_facts.c.observation).where(
    in_bank(observation_facts), among(observation_facts.c.fact, "rows")
)
_DOCUMENTS = select(units.c.head).where(in_bank(units), among(units.c.id, "rows"), units.c.head.is_not(None))
_MENTIONED = (
    select(mentions.c.entity)
    .join(units, refers(mentions.c.unit, units))
    .where(in_bank(mentions), among(mentions.c.unit, "rows"), is_fact)
)
_OBSERVED = select(observations.c.entity).where(in_bank(observations), among(observations.c.unit, "rows"))
_MOVE_UNITS = (
    update(units).where(in_bank(units, "of"), among(units.c.id, "rows")).values(changed=bindparam("revision"))
)
_MOVE_ENTITIES = (
    update(entities)
    .where(in_bank(entities, "of"), among(entities.c.id, "rows"))
    .values(facts_changed=bindparam("revision"))
)
_DELETE_UNITS = delete(units).where(in_bank(units), among(units.c.id, "rows"))


def observations_of(connection: Connection, bank: int, entity_rows: Collection[int]) -> list[int]:
    """Return the row ids of these entities' observations, ascending."""
    return select_ids(connection, bank, _MADE_OF, entity_rows)


def change_facts(target: CommitTarget, rows: Collection[int]) -> None:
    """Remove observations based on changed facts, and mark the facts' entities as waiting for new observations.

    Args:
        target: the commit that closed, restored or corrected the facts or their items.
        rows: row ids of the changed units; units that are not facts are ignored.
    """
    connection, bank = target.connection, target.bank
    facts = select_ids(connection, bank, FACTS_AMONG, rows)
    remove_units(target, select_ids(connection, bank, _OBSERVATIONS_ON, facts))
    note_changed(target, entities_of_facts(connection, bank, facts))


def documents_of(connection: Connection, bank: int, rows: Collection[int]) -> list[int]:
    """Return the row ids of documents that have items among these units, without documents in `rows`; ascending."""
    return sorted({*select_ids(connection, bank, _DOCUMENTS, rows)}.difference(rows))


def move_documents(target: CommitTarget, rows: Collection[int]) -> list[int]:
    """Mark the documents that have items among these units as changed; return the documents' row ids."""
    documents = documents_of(target.connection, target.bank, rows)
    if documents:
        moved = {"of": target.bank, "rows": documents, "revision": target.revision}
        target.connection.execute(_MOVE_UNITS, moved)
    return documents


def entities_of_facts(connection: Connection, bank: int, rows: Collection[int]) -> list[int]:
    """Return the row ids of the entities that the facts among these units mention, ascending."""
    return select_ids(connection, bank, _MENTIONED, rows)


def with_observations(connection: Connection, bank: int, rows: Collection[int]) -> list[int]:
    """Return the row ids of these units and of all observations about the entities they mention, ascending.

    The units are to be erased, and so are observations that do not cite them: the model saw all facts of the
    entity when it wrote them, and may have used any.
    """
    citing = select_ids(connection, bank, _OBSERVATIONS_ON, rows)
    mentioned = entities_of_facts(connection, bank, rows)
    return sorted({*rows, *citing, *observations_of(connection, bank, mentioned)})


def entities_to_sum_up(connection: Connection, bank: int, rows: Collection[int]) -> list[int]:
    """Return the row ids of entities that need new observations after these units are erased, ascending."""
    observed = select_ids(connection, bank, _OBSERVED, rows)
    return sorted({*entities_of_facts(connection, bank, rows), *observed})


def note_changed(target: CommitTarget, rows: Collection[int]) -> None:
    """Mark the facts of these entities (by row id) as changed at this revision."""
    if rows:
        moved = {"of": target.bank, "rows": rows, "revision": target.revision}
        target.connection.execute(_MOVE_ENTITIES, moved)


def remove_units(target: CommitTarget, rows: Collection[int]) -> None:
    """Remove derived or waiting units. This is not an erasure, because the texts they were made from are kept."""
    if not rows:
        return
    gone = [{"unit": row, "bank": target.bank, "revision": target.revision} for row in sorted(rows)]
    run_many(target.connection, insert(removed), gone)
    target.connection.execute(_DELETE_UNITS, {"bank": target.bank, "rows": rows})
