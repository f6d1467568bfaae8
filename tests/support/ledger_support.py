"""Shared helpers of the ledger's tests: fixtures, a write set with every kind of content, and short forms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TypeAlias

import numpy as np
from builders import (
    BANK,
    DIMENSION,
    at,
    make_entity,
    make_event,
    make_units,
    make_write_set,
)

from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.ledger.values import Receipt, UnitColumns
from hindsight_integrations.model.arrays import IntArray, Matrix
from hindsight_integrations.model.links import CausalRelation, Edges, Link, LinkType, Mentions
from hindsight_integrations.model.units import ValidityKind
from hindsight_integrations.model.writes import ChunkWrite, DocumentWrite, MessageKey, WriteSet

NO_IDS: IntArray = np.empty(0, np.int64)
NO_VECTORS: Matrix = np.empty((0, DIMENSION), np.float32)
Passes: TypeAlias = Callable[[timedelta], object]
"""Lets so much time pass."""

CLOSED, RESTORED = ValidityKind.CLOSED, ValidityKind.RESTORED


@dataclass(frozen=True, slots=True)
class Changes:
    """Every part of a feed, read with one `since`."""

    revision: int
    graph_epoch: int
    count: int
    vector_count: int
    columns: UnitColumns
    vectors: tuple[IntArray, Matrix]
    texts: tuple[IntArray, list[str]]
    graph: tuple[IntArray, Edges, Mentions]
    removed: IntArray
    erased: bool
    roles: IntArray


def changes(ledger: Ledger, bank: str = BANK, since: int = 0) -> Changes:
    """Everything committed to a bank after a revision."""
    with ledger.feed(bank) as feed:
        return Changes(
            revision=feed.revision,
            graph_epoch=feed.graph_epoch,
            count=feed.count(),
            vector_count=feed.vector_count(),
            columns=feed.columns(since),
            vectors=feed.vectors_of(feed.embedded(since)),
            texts=feed.texts(since),
            graph=feed.graph(since),
            removed=feed.removed(since),
            erased=feed.erased(since),
            roles=feed.roles(),
        )


def commit(ledger: Ledger, writes: WriteSet) -> Receipt:
    """Commit a prepared write set."""
    with ledger.transaction(writes.bank) as transaction:
        return transaction.commit(writes)


def everything_of(ledger: Ledger, bank: str = BANK) -> tuple[object, ...]:
    """The whole content of the bank's feed, comparable with ==."""
    new = changes(ledger, bank)
    columns, (ids, vectors), (units, edges, mentions) = new.columns, new.vectors, new.graph
    arrays = (columns.ids, columns.starts, columns.closed, ids, vectors, units, edges.sources, edges.targets)
    more = (edges.codes, edges.weights, mentions.units, mentions.entities, columns.gaps)
    return new.revision, new.texts[1], columns.tags, *(array.tolist() for array in (*arrays, *more))


def rich_write_set(revision: int = 0, bank: str = BANK) -> WriteSet:
    """A write set with every kind of content."""
    return replace(
        make_write_set(
            revision,
            bank=bank,
            units=make_units("u1", "u2", bank=bank),
            entities=[make_entity("e1", "alice", "alice chen"), make_entity("e2", "acme")],
            mentions=[("u1", "e1"), ("u1", "e2"), ("u2", "e1")],
            events=[make_event("u1", CLOSED, 5, by_unit="u2", reason="she left")],
        ),
        documents=(DocumentWrite("d1", "hash", "a chat", at(0), {"k": "v"}, ("t",)),),
        chunks=(ChunkWrite("d1", 0, "the passage", "hash"),),
        messages=(MessageKey("thread", "m1", "h1"),),
        links=(Link("u1", "u2", LinkType.CAUSAL, 0.5, CausalRelation.ENABLES),),
    )
