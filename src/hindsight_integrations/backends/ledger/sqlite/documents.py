"""Documents, chunks and message keys: written with a commit, and the reads that lead from them to units."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from sqlite3 import Connection

import numpy as np

from hindsight_integrations.backends.ledger.sqlite.entity_writing import Target
from hindsight_integrations.backends.ledger.sqlite.reading import PARAMETERS, batches
from hindsight_integrations.backends.ledger.sqlite.rows import mapping_text
from hindsight_integrations.model.time import to_micros
from hindsight_integrations.model.writes import NOWHERE, ChunkWrite, MessageKey, UnitWrite, WriteSet
from hindsight_integrations.ports.arrays import IntArray
from hindsight_integrations.ports.document_shelf import StoredDocument

# Each upsert touches a row only where something differs: a write set retained twice must not raise the revision.
_DOCUMENT = """
INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
    content_hash = excluded.content_hash, context = excluded.context, mentioned_at = excluded.mentioned_at,
    metadata = excluded.metadata, tags = excluded.tags
WHERE (content_hash, context, mentioned_at, metadata, tags) IS NOT
    (excluded.content_hash, excluded.context, excluded.mentioned_at, excluded.metadata, excluded.tags)
"""
_CHUNK = """
INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET position = excluded.position
WHERE position <> excluded.position
"""
_MESSAGE = """
INSERT INTO message_keys VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET revision = excluded.revision
WHERE revision < (
    SELECT max(version.revision) FROM message_keys AS version
    WHERE version.bank = excluded.bank AND version.thread = excluded.thread AND version.message = excluded.message
)
"""


def write_sources(target: Target, writes: WriteSet) -> None:
    """Store documents, chunks and message keys; known ones are brought up to date."""
    target.connection.executemany(
        _DOCUMENT,
        [
            (
                target.bank,
                d.id,
                d.content_hash,
                d.context,
                to_micros(d.mentioned_at),
                mapping_text(d.metadata),
                json.dumps(d.tags),
            )
            for d in writes.documents
        ],
    )
    target.connection.executemany(
        _CHUNK,
        [(target.bank, c.document_id, c.ordinal, c.text, c.content_hash, c.position) for c in writes.chunks],
    )
    target.connection.executemany(
        _MESSAGE,
        [
            (target.bank, key.thread, key.message_id, key.content_hash, target.revision)
            for key in writes.messages
        ],
    )


def write_unit_sources(target: Target, created: Mapping[str, int], units: Sequence[UnitWrite]) -> None:
    """Make new units findable by the messages they stand on."""
    target.connection.executemany(
        "INSERT INTO unit_sources (bank, thread, message, unit) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
        [
            (target.bank, write.unit.thread, message, created[write.unit.id])
            for write in units
            if write.unit.id in created
            for message in write.unit.sources
        ],
    )


def known_messages(connection: Connection, bank: int, keys: Sequence[MessageKey]) -> frozenset[MessageKey]:
    """Which of the messages are in the ledger, with no other version of them retained later."""
    found: set[MessageKey] = set()
    for some in batches(keys, PARAMETERS // 3):
        values = ",".join(["(?,?,?)"] * len(some))
        rows = connection.execute(
            f"WITH given (thread, message, content_hash) AS (VALUES {values}) "
            "SELECT thread, message, content_hash FROM given CROSS JOIN message_keys AS known "
            "USING (thread, message, content_hash) WHERE bank = ? AND NOT EXISTS ("
            "SELECT 1 FROM message_keys AS later WHERE later.bank = known.bank AND later.thread = known.thread "
            "AND later.message = known.message AND later.revision > known.revision)",
            (*(part for key in some for part in (key.thread, key.message_id, key.content_hash)), bank),
        )
        found.update(MessageKey(*row) for row in rows)
    return frozenset(found)


def document(connection: Connection, bank: int, document_id: str) -> StoredDocument | None:
    """A document and its present chunks, in order."""
    found = connection.execute(
        "SELECT content_hash, (SELECT coalesce(max(ordinal), -1) + 1 FROM chunks "
        "WHERE chunks.bank = documents.bank AND chunks.document = documents.id) "
        "FROM documents WHERE bank = ? AND id = ?",
        (bank, document_id),
    ).fetchone()
    if found is None:
        return None
    rows = connection.execute(
        "SELECT document, ordinal, text, content_hash, position FROM chunks "
        "WHERE bank = ? AND document = ? AND position <> ? ORDER BY position",
        (bank, document_id, NOWHERE),
    )
    return StoredDocument(document_id, found[0], tuple(ChunkWrite(*row) for row in rows), found[1])


def units_of_chunks(connection: Connection, bank: int, document_id: str, ordinals: Sequence[int]) -> IntArray:
    """Row ids of the valid units made from these chunks, ascending."""
    rows = connection.execute(
        "SELECT id FROM units WHERE bank = ? AND document = ? AND closed_at IS NULL "
        "AND chunk IN (SELECT value FROM json_each(?)) ORDER BY id",
        (bank, document_id, json.dumps(list(ordinals))),
    )
    return np.fromiter((row[0] for row in rows), np.int64)


def units_of_messages(connection: Connection, bank: int, messages: Sequence[tuple[str, str]]) -> IntArray:
    """Row ids of the valid units that stand on one of these (thread, message id), ascending."""
    found: set[int] = set()
    for some in batches(messages, PARAMETERS // 2):
        values = ",".join(["(?,?)"] * len(some))
        rows = connection.execute(
            f"WITH given (thread, message) AS (VALUES {values}) "
            "SELECT unit FROM given CROSS JOIN unit_sources USING (thread, message) "
            "JOIN units ON units.id = unit WHERE unit_sources.bank = ? AND closed_at IS NULL",
            (*(part for pair in some for part in pair), bank),
        )
        found.update(row[0] for row in rows)
    return np.array(sorted(found), np.int64)
