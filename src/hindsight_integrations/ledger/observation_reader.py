"""Reads of observations: what they were made from, and whose are out of date."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Sequence

import numpy as np
from sqlalchemy import Connection

from hindsight_integrations.ledger.reader import BankReads
from hindsight_integrations.ledger.rows import IS_FACT, entity_rows
from hindsight_integrations.ledger.sql import raw
from hindsight_integrations.ports.arrays import IntArray
from hindsight_integrations.ports.ledger import Observed

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
