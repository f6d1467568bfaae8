"""What the ledger keeps of opinions and of the evidence they rest on: part of version 9 of the schema (decision 130)."""

from __future__ import annotations

from sqlite3 import Connection

from hindsight_integrations.model.opinions import UNKNOWN_CONFIDENCE, OpinionOrigin
from hindsight_integrations.model.units import FactType

IS_OPINION = f"kind = 'memory' AND fact_type = '{FactType.OPINION.value}'"
"""Of a unit; written out, so that it can stand in a statement of the schema."""

_GIVEN = f"""
INSERT INTO opinions SELECT id, bank, min(1.0, max(0.0, coalesce(confidence, {UNKNOWN_CONFIDENCE}))), mentioned_at,
    coalesce(:recorded_at, CAST(strftime('%s', 'now') AS INTEGER) * 1000000), created, '{OpinionOrigin.GIVEN.value}',
    '', 0, '', :assessed_to
FROM units WHERE bank = :bank AND created >= :since AND {IS_OPINION}
AND NOT EXISTS (SELECT 1 FROM opinion_wordings WHERE opinion_wordings.unit = units.id)
"""
_FIRST_WORDINGS = f"""
INSERT INTO opinion_wordings SELECT id, id, 1, '', created FROM units
WHERE bank = :bank AND created >= :since AND {IS_OPINION}
AND NOT EXISTS (SELECT 1 FROM opinion_wordings WHERE opinion_wordings.unit = units.id)
"""


def take_opinions(
    connection: Connection, bank: int, *, since: int, recorded_at: int | None, assessed_to: int
) -> None:
    """Make opinions that were given of a bank's units of the opinion network that are nobody's wording.

    Args:
        connection: the writer.
        bank: row id.
        since: revision; units of it and later ones are looked at.
        recorded_at: microseconds; None takes the machine's time.
        assessed_to: revision whose facts are taken to have been looked at as evidence.
    """
    values = {"bank": bank, "since": since, "recorded_at": recorded_at, "assessed_to": assessed_to}
    connection.execute(_GIVEN, values)
    connection.execute(_FIRST_WORDINGS, values)


def _take_all(connection: Connection) -> None:
    """The same of every bank. A migration asks no model: only facts that come from here on are looked at as evidence."""
    for bank, revision in connection.execute("SELECT id, revision FROM banks").fetchall():
        take_opinions(connection, bank, since=0, recorded_at=None, assessed_to=revision)


OPINIONS = (
    "DROP INDEX evidence_unit",
    "DROP TABLE evidence",  # no version of this package wrote to it
    # An opinion is named by its first wording and goes with it: what is worded later is worded from what was before.
    """
CREATE TABLE opinions (
    unit INTEGER PRIMARY KEY REFERENCES units ON DELETE CASCADE,
    bank INTEGER NOT NULL REFERENCES banks ON DELETE CASCADE,
    confidence REAL NOT NULL,
    formed_at INTEGER NOT NULL,
    recorded_at INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    origin TEXT NOT NULL,
    operation TEXT NOT NULL,
    profile INTEGER NOT NULL,
    reasoning TEXT NOT NULL,
    assessed_to INTEGER NOT NULL
)
""",
    "CREATE INDEX opinions_bank ON opinions (bank, formed_at, unit)",
    "CREATE INDEX opinions_operation ON opinions (bank, operation) WHERE operation <> ''",
    "CREATE INDEX opinions_revision ON opinions (bank, revision)",
    """
CREATE TABLE opinion_wordings (
    unit INTEGER PRIMARY KEY REFERENCES units ON DELETE CASCADE,
    opinion INTEGER NOT NULL REFERENCES opinions ON DELETE CASCADE,
    number INTEGER NOT NULL,
    reason TEXT NOT NULL,
    revision INTEGER NOT NULL,
    UNIQUE (opinion, number)
)
""",
    """
CREATE TABLE opinion_grounds (
    wording INTEGER NOT NULL REFERENCES opinion_wordings ON DELETE CASCADE,
    fact INTEGER NOT NULL REFERENCES units ON DELETE CASCADE,
    PRIMARY KEY (wording, fact)
) WITHOUT ROWID
""",
    "CREATE INDEX opinion_grounds_fact ON opinion_grounds (fact)",
    # `sources` is JSON, and so is `restates`: row ids, which are never given again. `version` is the wording judged.
    """
CREATE TABLE evidence (
    opinion INTEGER NOT NULL REFERENCES opinions ON DELETE CASCADE,
    fact INTEGER NOT NULL REFERENCES units ON DELETE CASCADE,
    sources TEXT NOT NULL,
    restates TEXT NOT NULL,
    assessment TEXT NOT NULL,
    strength TEXT NOT NULL,
    rule TEXT NOT NULL,
    step REAL NOT NULL,
    reason TEXT NOT NULL,
    version INTEGER NOT NULL REFERENCES opinion_wordings ON DELETE CASCADE,
    effective_at INTEGER NOT NULL,
    recorded_at INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    PRIMARY KEY (opinion, fact)
) WITHOUT ROWID
""",
    "CREATE INDEX evidence_fact ON evidence (fact)",
    "CREATE INDEX evidence_version ON evidence (version)",
    # Reflections whose outcome is here, those that formed nothing included.
    """
CREATE TABLE opinion_operations (
    bank INTEGER NOT NULL REFERENCES banks ON DELETE CASCADE,
    key TEXT NOT NULL,
    PRIMARY KEY (bank, key)
) WITHOUT ROWID
""",
    _take_all,
)
