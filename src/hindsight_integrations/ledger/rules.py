"""Rules that do not depend on the database: keys, name blocks, and validation of write sets."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable

import numpy as np

from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.model.arrays import IntArray, Matrix
from hindsight_integrations.model.entities import EntityRole
from hindsight_integrations.model.links import LINK_CODES, Link
from hindsight_integrations.model.units import UnitKind, ValidityKind
from hindsight_integrations.model.writes import EntityWrite, WriteSet

# Number of an entity's latest units that are searched for neighbours, to limit the cost for frequent entities.
NEIGHBOUR_UNITS = 50
NEIGHBOUR_LIMIT = 50  # number of neighbours returned, most frequent first
_FLOAT_BYTES = 4
COMMON_BLOCK = 500  # name tokens with more entities than this are ignored in lookups; exact names never are


def bank_key(name: str) -> str:
    """Return a key for a bank name that is safe in file names: the first 32 hex digits of the SHA-256 of its UTF-8.

    Raises:
        InvalidRequest: the name cannot be encoded as UTF-8 (it has lone surrogates).
    """
    try:
        return hashlib.sha256(name.encode()).hexdigest()[:32]
    except UnicodeEncodeError:
        raise InvalidRequest(
            "bank", f"{name!r} is not valid Unicode", "Use a name without surrogates."
        ) from None


def link_code(link: Link) -> int:
    """Return the LINK_CODES value of a link.

    Raises:
        InvalidRequest: the link is an entity link, a causal link without a relation, or a link of another type with a relation.
    """
    try:
        return LINK_CODES[link.type, link.relation]
    except KeyError:
        raise InvalidRequest(
            "links",
            f"{link.type} with relation {link.relation} cannot be stored",
            "Store only temporal, semantic and causal links; causal links have a relation, others have none.",
        ) from None


def check_shape(writes: WriteSet, dimension: int | None) -> None:
    """Reject a write set that cannot be stored, before anything is written.

    Args:
        writes: the write set.
        dimension: length of the bank's existing vectors; None if it has none.

    Raises:
        InvalidRequest: the write set has units of another bank, vectors of the wrong length, or links that are not stored.
    """
    for write in writes.units:
        if write.unit.bank != writes.bank:
            raise InvalidRequest(
                "units",
                f"unit {write.unit.id!r} belongs to bank {write.unit.bank!r}, not {writes.bank!r}",
                "Use a separate write set for each bank.",
            )
    for link in writes.links:
        link_code(link)
    # A turn that waits for extraction may have no vector: if the embedder failed, only words and dates find it.
    lengths = {
        len(write.vector) for write in writes.units if write.vector or write.unit.kind is UnitKind.MEMORY
    }
    expected = {dimension * _FLOAT_BYTES} if dimension else lengths
    if (
        not lengths <= expected
        or len(expected) > 1
        or any(not size or size % _FLOAT_BYTES for size in lengths)
    ):
        raise InvalidRequest(
            "vectors",
            f"vectors of {sorted(lengths)} bytes do not fit a bank of {dimension or 'one'}-d float32 vectors",
            "Embed all units of a bank with one embedder.",
        )


def check_known(field: str, wanted: Iterable[str], known: Collection[str], bank: str) -> None:
    """Reject references to units or entities that the bank does not contain.

    Raises:
        InvalidRequest: an id in `wanted` is not in `known`.
    """
    for identity in wanted:
        if identity not in known:
            raise InvalidRequest(
                field,
                f"{identity!r} is not in bank {bank!r}",
                "Write the unit or entity in the same write set, or in an earlier one.",
            )


def check_vectors(ids: IntArray, vectors: Matrix, dimension: int, *, covers_bank: bool) -> None:
    """Reject new vectors that would leave a bank with vectors of two embedders.

    Args:
        ids: row ids of units (n,).
        vectors: their new vectors (n, dimension).
        dimension: the new embedder's dimension.
        covers_bank: whether all other units with a vector have vectors of that dimension.

    Raises:
        InvalidRequest: the shapes do not agree, or units would keep vectors of another dimension.
    """
    if len(ids) and vectors.shape != (len(ids), dimension):
        raise InvalidRequest(
            "vectors",
            f"an array of shape {vectors.shape} is not {len(ids)} vectors of {dimension} numbers",
            "Pass one row per id.",
        )
    if not covers_bank:
        raise InvalidRequest(
            "vectors",
            f"other units of the bank would keep vectors that are not {dimension}-d",
            "Pass new vectors for all units of the bank.",
        )


def past_gaps(log: Iterable[tuple[int, ValidityKind, int]]) -> IntArray:
    """Compute the past time spans in which units were closed, in the format of UnitColumns.gaps.

    The log is replayed with the rule for `closed_at`: of the closings since the last restoration, the earliest counts. A
    restoration that takes effect before the closing leaves no gap.

    Args:
        log: (row id, kind, effective_at in microseconds) of all events of these units, in the order recorded.
    """
    closed: dict[int, int] = {}
    gaps: list[tuple[int, int, int]] = []
    for row, kind, moment in log:
        if kind is ValidityKind.CLOSED:
            closed[row] = min(closed.get(row, moment), moment)
        elif kind is ValidityKind.RESTORED and (began := closed.pop(row, moment)) < moment:
            gaps.append((row, began, moment))
    return np.array(sorted(gaps), np.int64).reshape(-1, 3)


def unit_references(writes: WriteSet) -> dict[str, set[str]]:
    """Return the unit ids that a write set refers to, by field."""
    return {
        "mentions": {mention.unit_id for mention in writes.mentions},
        "links": {end for link in writes.links for end in (link.source, link.target)},
        "events": {
            unit for event in writes.events for unit in (event.unit_id, event.by_unit) if unit is not None
        },
        "part_of": {write.unit.part_of for write in writes.units if write.unit.part_of},
        "turns": {turn.unit_id for turn in writes.turns if turn.unit_id},
    }


def merged_entities(entities: Iterable[EntityWrite]) -> dict[str, EntityWrite]:
    """Merge the writes of each entity: all its names in order, and the last role that is set."""
    merged: dict[str, EntityWrite] = {}
    for write in entities:
        first = merged.get(write.id, write)
        merged[write.id] = EntityWrite(
            id=first.id,
            name=first.name,
            type=first.type,
            names=merged_names(first.names, write.names),
            role=merged_role(first.role, write.role),
        )
    return merged


def merged_names(known: Iterable[str], more: Iterable[str]) -> tuple[str, ...]:
    """Return all names once, in order of first appearance."""
    return tuple(dict.fromkeys((*known, *more)))


def merged_role(known: EntityRole, given: EntityRole) -> EntityRole:
    """Return the role after writing `given`. NONE does not remove an existing role."""
    return known if given is EntityRole.NONE else given


def changes_nothing(writes: WriteSet) -> bool:
    """Return whether a write set is empty."""
    return writes.empty and not writes.mentions and not writes.links
