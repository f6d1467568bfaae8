"""Observations made from facts: what they stand on, written by a commit, and ended with whatever they stood on.

Whoever changes the valid facts of an entity says so here, inside the transaction that does it: the entity's observations
are out of date from that revision on, and those that stand on a fact which was withdrawn, corrected or erased are gone with
it, so that no summary brings back what the fact no longer says (decision 124).
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np
from sqlalchemy import Connection

from hindsight_integrations.errors import InvalidRequest, RevisionConflict
from hindsight_integrations.ledger.databases import SqliteDatabase
from hindsight_integrations.ledger.rows import IS_FACT, BankReads, Target, entity_rows, unit_rows
from hindsight_integrations.ledger.rules import check_known
from hindsight_integrations.ledger.sql import raw
from hindsight_integrations.ledger.tasks import enqueue_keys
from hindsight_integrations.model.tasks import TaskKind, TaskState, TaskWrite
from hindsight_integrations.model.units import FactType
from hindsight_integrations.model.writes import ObservedWrite, WriteSet
from hindsight_integrations.ports.arrays import IntArray
from hindsight_integrations.ports.ledger import Observed

NO_PAYLOAD = "{}"  # all there is to know of it is the entity, its key

# By the index of those that wait alone: a hub that is touched by every turn is one row.
_CHANGED = (
    "SELECT entity_id FROM entities WHERE bank = ? AND facts_changed = ? AND facts_changed > observed_at"
)
_WITHOUT_TASK = f"""
SELECT entity_id FROM entities WHERE bank = ? AND facts_changed > observed_at AND NOT EXISTS (
    SELECT 1 FROM tasks WHERE tasks.bank = entities.bank AND kind = '{TaskKind.OBSERVE.value}' AND key <> ''
    AND key = entity_id AND state <> '{TaskState.DONE.value}'
)
"""


def observe_changed(database: SqliteDatabase, connection: Connection, bank: int, revision: int) -> None:
    """Enqueue the entities whose facts this revision changes; a ledger that enqueues none notes that they wait.

    Args:
        database: the ledger's, with its clock and how long changes are collected.
        connection: the writer, inside the transaction that makes the revision.
        bank: row id of the bank.
        revision: the one being made.
    """
    keys = [entity for (entity,) in raw(connection).execute(_CHANGED, (bank, revision))]
    _enqueue(database, connection, bank, keys)


def observe_bank(database: SqliteDatabase, connection: Connection, bank: int) -> None:
    """Enqueue the entities of a bank that wait and have no task, as after an archive came in."""
    keys = [entity for (entity,) in raw(connection).execute(_WITHOUT_TASK, (bank,))]
    _enqueue(database, connection, bank, keys)


def observe_unobserved(database: SqliteDatabase) -> None:
    """The same of all banks with changes that enqueued nobody; for who opens the ledger."""
    if database.observing is None:
        return
    with database.reading() as connection:
        banks = raw(connection).execute("SELECT bank FROM unobserved").fetchall()
    if not banks:
        return
    with database.writing() as connection:
        for (bank,) in banks:
            observe_bank(database, connection, bank)
        raw(connection).execute("DELETE FROM unobserved")


def _enqueue(database: SqliteDatabase, connection: Connection, bank: int, keys: list[str]) -> None:
    if not keys:
        return
    if database.observing is None:
        raw(connection).execute("INSERT INTO unobserved VALUES (?) ON CONFLICT DO NOTHING", (bank,))
        return
    now, delay = database.clock.now(), database.observing
    writes = [TaskWrite(TaskKind.OBSERVE, NO_PAYLOAD, delay, key=key) for key in keys]
    enqueue_keys(connection, bank, writes, now)


_FACTS_OF = (
    "SELECT unit FROM mentions CROSS JOIN units ON units.id = unit "
    f"WHERE entity = ? AND closed_at IS NULL AND {IS_FACT} ORDER BY unit"
)


class ObservationReads(BankReads):
    """The part of `LedgerReader` about observations."""

    def entity_facts(self, bank: str, entity_id: str) -> IntArray:
        """Row ids of an entity's valid facts, ascending."""
        with self._at(bank) as (connection, row):
            entity = entity_rows(connection, row, [entity_id]).get(entity_id)
            return np.fromiter((fact for (fact,) in raw(connection).execute(_FACTS_OF, (entity,))), np.int64)

    def observed(self, bank: str, entity_ids: Sequence[str]) -> dict[str, Observed]:
        """What was made of these entities."""
        with self._at(bank) as (connection, row):
            entities = (
                raw(connection)
                .execute(
                    "SELECT entities.id, entity_id, observed_at, facts_changed > observed_at FROM json_each(?) AS given "
                    "CROSS JOIN entities ON entity_id = given.value WHERE bank = ?",
                    (json.dumps(list(dict.fromkeys(entity_ids))), row),
                )
                .fetchall()
            )
            rows = json.dumps([entity for entity, *_ in entities])
            units = _grouped(
                connection,
                "SELECT entity, unit_id FROM json_each(?) AS given CROSS JOIN observations ON entity = given.value "
                "JOIN units ON units.id = unit ORDER BY entity, unit",
                rows,
            )
            left_out = _grouped(
                connection,
                "SELECT entity, unit_id FROM json_each(?) AS given CROSS JOIN observed_left_out ON entity = given.value "
                "CROSS JOIN json_each(facts) AS fact CROSS JOIN units ON units.id = fact.value "
                "WHERE closed_at IS NULL ORDER BY entity, units.id",
                rows,
            )
        return {
            entity_id: Observed(entity_id, revision, bool(stale), left_out[entity], units[entity])
            for entity, entity_id, revision, stale in entities
        }

    def facts_changed(self, bank: str, entity_ids: Sequence[str]) -> frozenset[str]:
        """Those of these entities that wait for observations."""
        with self._at(bank) as (connection, row):
            found = raw(connection).execute(
                "SELECT entity_id FROM json_each(?) AS given CROSS JOIN entities ON entity_id = given.value "
                "WHERE bank = ? AND facts_changed > observed_at",
                (json.dumps(list(entity_ids)), row),
            )
            return frozenset(entity for (entity,) in found)

    def grounds_of(self, bank: str, ids: IntArray) -> dict[int, tuple[str, ...]]:
        """Ids of the facts each of these observations was made from."""
        with self._at(bank) as (connection, row):
            found = raw(connection).execute(
                "SELECT observation, unit_id FROM json_each(?) AS given CROSS JOIN observation_facts "
                "ON observation = given.value JOIN units ON units.id = fact WHERE bank = ? ORDER BY observation, fact",
                (json.dumps(ids.tolist()), row),
            )
            grounds: dict[int, list[str]] = {}
            for observation, fact in found:
                grounds.setdefault(observation, []).append(fact)
        return {observation: tuple(facts) for observation, facts in grounds.items()}


def observations_on(connection: Connection, facts: Collection[int]) -> list[int]:
    """Row ids of the observations made from any of these facts, ascending."""
    found = raw(connection).execute(
        "SELECT DISTINCT observation FROM json_each(?) AS given CROSS JOIN observation_facts ON fact = given.value "
        "ORDER BY observation",
        (json.dumps(list(facts)),),
    )
    return [observation for (observation,) in found]


def _grouped(connection: Connection, query: str, parameter: str) -> defaultdict[int, tuple[str, ...]]:
    """The second column of a select, by the first."""
    found: dict[int, list[str]] = defaultdict(list)
    for key, value in raw(connection).execute(query, (parameter,)):
        found[key].append(value)
    return defaultdict(tuple, {key: tuple(values) for key, values in found.items()})


def write_observed(target: Target, writes: WriteSet) -> None:
    """Put what was made of an entity in place of what was made before; units and mentions are there already.

    Raises:
        RevisionConflict: one of the facts it stands on was withdrawn, corrected, erased or taken from the entity since.
        InvalidRequest: it refers to what is not there, or an observation stands on no fact of the entity, or is none.
    """
    if (observed := writes.observed) is None:
        return
    connection = target.connection
    entities = entity_rows(connection, target.bank, [observed.entity_id])
    check_known("observed", [observed.entity_id], entities, writes.bank)
    entity = entities[observed.entity_id]
    facts = _grounds(target, writes.bank, entity, observed)
    made = {
        row for (row,) in raw(connection).execute("SELECT unit FROM observations WHERE entity = ?", (entity,))
    }
    _check_observations(target, facts.keys() - made)
    remove_units(target, made - facts.keys())
    raw(connection).executemany(
        "INSERT INTO observations (unit, entity) VALUES (?, ?)",
        [(row, entity) for row in sorted(facts.keys() - made)],
    )
    _write_grounds(connection, facts)
    _write_left_out(target, entity, observed.left_out)
    raw(connection).execute(
        "UPDATE entities SET observed_at = :revision WHERE id = :entity AND observed_at <> :revision",
        {"revision": observed.at_revision, "entity": entity},
    )


def _grounds(target: Target, bank: str, entity: int, observed: ObservedWrite) -> dict[int, frozenset[int]]:
    """Row ids of the facts, by the row id of the observation that stands on them."""
    connection, wanted = target.connection, {fact for facts in observed.facts.values() for fact in facts}
    observations = unit_rows(connection, target.bank, list(observed.facts))
    check_known("observed", observed.facts, observations, bank)
    if groundless := [unit for unit, facts in observed.facts.items() if not facts]:
        raise _unfit(f"observation {groundless[0]!r} stands on nothing", "Name the facts it was made from.")
    rows = unit_rows(connection, target.bank, sorted(wanted))
    sound = _unchanged(connection, entity, rows.values(), observed.at_revision)
    if bad := sorted(fact for fact in wanted if rows.get(fact) not in sound):
        if _changed_at(connection, entity) > observed.at_revision:
            raise RevisionConflict(bank, observed.at_revision, target.revision - 1)
        raise _unfit(f"{bad[0]!r} is no valid fact of the entity", "Make observations from entity_facts.")
    return {
        observations[unit]: frozenset(rows[fact] for fact in facts) for unit, facts in observed.facts.items()
    }


def _unchanged(connection: Connection, entity: int, facts: Iterable[int], revision: int) -> set[int]:
    """Those of the units that are valid facts of the entity, and say what they said at a revision."""
    found = raw(connection).execute(
        "SELECT units.id FROM json_each(:facts) AS given CROSS JOIN mentions ON unit = given.value AND entity = :entity "
        f"CROSS JOIN units ON units.id = given.value WHERE closed_at IS NULL AND changed <= :revision AND {IS_FACT} "
        "AND NOT EXISTS (SELECT 1 FROM validity_events WHERE unit = given.value AND revision > :revision)",
        {"facts": json.dumps(list(facts)), "entity": entity, "revision": revision},
    )
    return {row for (row,) in found}


def _changed_at(connection: Connection, entity: int) -> int:
    query = "SELECT facts_changed FROM entities WHERE id = ?"
    return int(raw(connection).execute(query, (entity,)).fetchone()[0])


def _check_observations(target: Target, new: Collection[int]) -> None:
    """Refuse to take for an observation made here what is none, or was there before."""
    given = (
        raw(target.connection)
        .execute(
            "SELECT unit_id FROM json_each(?) AS given CROSS JOIN units ON units.id = given.value "
            "WHERE fact_type <> ? OR created <> ?",
            (json.dumps(sorted(new)), FactType.OBSERVATION, target.revision),
        )
        .fetchone()
    )
    if given:
        raise _unfit(
            f"{given[0]!r} is no observation made of this entity", "Write its unit in the same write set."
        )


def _unfit(reason: str, remedy: str) -> InvalidRequest:
    return InvalidRequest("observed", reason, remedy)


def _write_grounds(connection: Connection, facts: Mapping[int, frozenset[int]]) -> None:
    """Make the observations stand on exactly these facts; rows are touched only where something differs."""
    known: dict[int, set[int]] = defaultdict(set)
    query = "SELECT observation, fact FROM json_each(?) AS given CROSS JOIN observation_facts ON observation = given.value"
    for observation, fact in raw(connection).execute(query, (json.dumps(sorted(facts)),)):
        known[observation].add(fact)
    raw(connection).executemany(
        "DELETE FROM observation_facts WHERE observation = ? AND fact = ?",
        [(row, fact) for row, before in known.items() for fact in sorted(before - facts[row])],
    )
    raw(connection).executemany(
        "INSERT INTO observation_facts (observation, fact) VALUES (?, ?)",
        [(row, fact) for row, after in facts.items() for fact in sorted(after - known[row])],
    )


def _write_left_out(target: Target, entity: int, left_out: Sequence[str]) -> None:
    """Facts that are gone since they were looked at are left out of it."""
    rows = unit_rows(target.connection, target.bank, left_out)
    raw(target.connection).execute(
        "INSERT INTO observed_left_out (entity, facts) VALUES (?, ?) "
        "ON CONFLICT DO UPDATE SET facts = excluded.facts WHERE facts <> excluded.facts",
        (entity, json.dumps(sorted(rows.values()))),
    )


def change_facts(target: Target, units: Collection[int]) -> None:
    """Some facts no longer say what they said: what was made of them ends, and their entities wait for observations.

    Args:
        target: the commit that closed, restored or corrected them, or items of theirs, under way.
        units: row ids of the units concerned; those that are no facts change nothing.
    """
    if not units:
        return
    found = raw(target.connection).execute(
        f"SELECT units.id FROM json_each(?) AS given CROSS JOIN units ON units.id = given.value WHERE {IS_FACT}",
        (json.dumps(sorted(units)),),
    )
    facts = [row for (row,) in found]
    remove_units(target, observations_on(target.connection, facts))
    note_changed(target, entities_of_facts(target.connection, facts))


def documents_of(connection: Connection, units: Collection[int]) -> list[int]:
    """Row ids of the documents whose items are among these units, ascending; documents among the units are left out."""
    found = raw(connection).execute(
        "SELECT DISTINCT head FROM json_each(?) AS given CROSS JOIN units ON units.id = given.value "
        "WHERE head IS NOT NULL ORDER BY head",
        (json.dumps(sorted(units)),),
    )
    given = frozenset(units)
    return [head for (head,) in found if head not in given]


def move_documents(target: Target, units: Collection[int]) -> list[int]:
    """Row ids of the documents whose items are among these units; their rows say that they changed."""
    documents = documents_of(target.connection, units)
    raw(target.connection).executemany(
        "UPDATE units SET changed = ? WHERE id = ?", [(target.revision, row) for row in documents]
    )
    return documents


def entities_of_facts(connection: Connection, units: Collection[int]) -> list[int]:
    """Row ids of the entities mentioned by those of the units that are facts, ascending."""
    found = raw(connection).execute(
        "SELECT DISTINCT entity FROM json_each(?) AS given CROSS JOIN units ON units.id = given.value "
        f"CROSS JOIN mentions ON unit = given.value WHERE {IS_FACT} ORDER BY entity",
        (json.dumps(sorted(units)),),
    )
    return [entity for (entity,) in found]


def with_observations(connection: Connection, units: Collection[int]) -> list[int]:
    """The units to be erased, and all that was made of an entity which one of them tells of, ascending.

    Not only what stands on them: whoever made the others was shown these facts too, and may have used a word of them.
    """
    entities = entities_of_facts(connection, units)
    return sorted({*units, *observations_on(connection, units), *observations_of(connection, entities)})


def entities_to_sum_up(connection: Connection, units: Collection[int]) -> list[int]:
    """Row ids of the entities that wait for observations once these units are erased, ascending."""
    found = raw(connection).execute(
        "SELECT DISTINCT entity FROM json_each(?) AS given CROSS JOIN observations ON unit = given.value",
        (json.dumps(sorted(units)),),
    )
    return sorted({*entities_of_facts(connection, units), *(entity for (entity,) in found)})


def observations_of(connection: Connection, entities: Collection[int]) -> list[int]:
    """Row ids of the observations made of these entities, ascending."""
    found = raw(connection).execute(
        "SELECT unit FROM json_each(?) AS given CROSS JOIN observations ON entity = given.value ORDER BY unit",
        (json.dumps(sorted(entities)),),
    )
    return [unit for (unit,) in found]


def note_changed(target: Target, entities: Collection[int]) -> None:
    """The facts of these entities (by row id) are others from this revision on."""
    raw(target.connection).executemany(
        "UPDATE entities SET facts_changed = ? WHERE id = ?", [(target.revision, row) for row in entities]
    )


def remove_units(target: Target, rows: Collection[int]) -> None:
    """Remove units that were derived, or waited, as no erasure: what they were made of lives on."""
    gone = sorted(rows)
    raw(target.connection).executemany(
        "INSERT INTO removed (unit, bank, revision) VALUES (?, ?, ?)",
        [(row, target.bank, target.revision) for row in gone],
    )
    raw(target.connection).executemany("DELETE FROM units WHERE id = ?", [(row,) for row in gone])
