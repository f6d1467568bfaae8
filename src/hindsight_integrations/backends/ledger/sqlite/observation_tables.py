"""What the ledger keeps of observations made from facts: part of version 8 of the schema (decision 124)."""

from __future__ import annotations

from hindsight_integrations.model.units import OBSERVED_NETWORKS, FactType

IS_FACT = f"kind = 'memory' AND fact_type IN ({', '.join(repr(each.value) for each in OBSERVED_NETWORKS)})"
"""Of a unit; written out, so that it can stand in a statement of the schema."""
NOT_OBSERVED = f"fact_type <> '{FactType.OBSERVATION.value}'"
"""Of a unit: it is no observation, and so counts among the mentions of an entity."""

OBSERVATIONS = (
    # Revisions: the last that changed the entity's valid facts, and the one whose facts were summed up.
    "ALTER TABLE entities ADD COLUMN facts_changed INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE entities ADD COLUMN observed_at INTEGER NOT NULL DEFAULT 0",
    # The observations made; a unit of that network which is not here was retained by the caller.
    """
CREATE TABLE observations (
    unit INTEGER PRIMARY KEY REFERENCES units ON DELETE CASCADE,
    entity INTEGER NOT NULL REFERENCES entities ON DELETE CASCADE
)
""",
    "CREATE INDEX observations_entity ON observations (entity, unit)",
    """
CREATE TABLE observation_facts (
    observation INTEGER NOT NULL REFERENCES observations ON DELETE CASCADE,
    fact INTEGER NOT NULL REFERENCES units ON DELETE CASCADE,
    PRIMARY KEY (observation, fact)
) WITHOUT ROWID
""",
    "CREATE INDEX observation_facts_fact ON observation_facts (fact)",
    # `facts` is JSON: row ids, which are never given again. A row each would make two thousand of a hub's facts.
    """
CREATE TABLE observed_left_out (
    entity INTEGER PRIMARY KEY REFERENCES entities ON DELETE CASCADE,
    facts TEXT NOT NULL
)
""",
    # Of ledgers that know no observations: every entity with a fact waits for its first.
    f"""
UPDATE entities SET facts_changed = (SELECT max(revision, 1) FROM banks WHERE banks.id = entities.bank)
WHERE EXISTS (
    SELECT 1 FROM mentions JOIN units ON units.id = unit
    WHERE entity = entities.id AND closed_at IS NULL AND {IS_FACT}
)
""",
    # Banks with changes that enqueued nobody: of earlier versions, or made while observations were switched off.
    "CREATE TABLE unobserved (bank INTEGER PRIMARY KEY REFERENCES banks ON DELETE CASCADE)",
    "INSERT INTO unobserved SELECT DISTINCT bank FROM entities WHERE facts_changed > 0",
    "CREATE INDEX entities_unobserved ON entities (bank, facts_changed) WHERE facts_changed > observed_at",
)
