"""Rules every ledger keeps, whatever it stores in: keys, blocking, and what a write set must not contain."""

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

NEIGHBOUR_UNITS = 50  # an entity's neighbours are read from its latest units only, so that a hub stays cheap
NEIGHBOUR_LIMIT = 50  # the most often co-mentioned are kept
_FLOAT_BYTES = 4
COMMON_BLOCK = 500  # a token that more entities share does not tell them apart and is not looked up (an exact name always is)
# Letters of names in which one edit is forgiven; longer ones cost too many keys.
_EDITABLE = range(5, 41)


def bank_key(name: str) -> str:
    """A file-name-safe key for any bank name: the first 32 hex digits of sha256 over its UTF-8.

    Raises:
        InvalidRequest: the name is not encodable as UTF-8 (lone surrogates).
    """
    try:
        return hashlib.sha256(name.encode()).hexdigest()[:32]
    except UnicodeEncodeError:
        raise InvalidRequest(
            "bank", f"{name!r} is not valid Unicode", "Use a name without surrogates."
        ) from None


def blocks(name: str) -> frozenset[str]:
    """Blocking keys of a normalised name: its whole tokens, and keys any name one edit away shares.

    Two names are one edit apart only if the longer one with a letter left out, or each with the same letter left out,
    are equal. Trigrams meet the same pairs among hundreds of others: at 100k facts finding candidates took
    two thirds of a retain.
    """
    shortened = {name[:at] + name[at + 1 :] for at in range(len(name))} if len(name) in _EDITABLE else set()
    return frozenset(name.split()) | {f"\x01{key}" for key in (name, *shortened)}


def link_code(link: Link) -> int:
    """The link's LINK_CODES value.

    Raises:
        InvalidRequest: it is an entity link, a causal one without relation, or another one with a relation.
    """
    try:
        return LINK_CODES[link.type, link.relation]
    except KeyError:
        raise InvalidRequest(
            "links",
            f"{link.type} with relation {link.relation} cannot be stored",
            "Store temporal, semantic, and causal links, a relation for the causal ones only.",
        ) from None


def check_shape(writes: WriteSet, dimension: int | None) -> None:
    """Refuse what no ledger can hold, before anything is written.

    Args:
        writes: the write set.
        dimension: length of the vectors the bank holds already; None if it holds none.

    Raises:
        InvalidRequest: a unit of another bank, vectors of the wrong length, or links that are not stored.
    """
    for write in writes.units:
        if write.unit.bank != writes.bank:
            raise InvalidRequest(
                "units",
                f"unit {write.unit.id!r} belongs to bank {write.unit.bank!r}, not {writes.bank!r}",
                "Write each bank's units with a write set of its own.",
            )
    for link in writes.links:
        link_code(link)
    # A turn that waits may have none: the embedder failed, and it is found by words and date alone.
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
    """Refuse a reference to a unit or entity the bank does not hold.

    Raises:
        InvalidRequest: an id in `wanted` is not in `known`.
    """
    for identity in wanted:
        if identity not in known:
            raise InvalidRequest(
                field,
                f"{identity!r} is not in bank {bank!r}",
                "Write the unit or entity in the same or an earlier write set.",
            )


def check_vectors(ids: IntArray, vectors: Matrix, dimension: int, *, covers_bank: bool) -> None:
    """Refuse new vectors that would leave a bank with two embedders' vectors.

    Args:
        ids: row ids (n,).
        vectors: their new vectors (n, dimension).
        dimension: what the new embedder makes.
        covers_bank: whether the units left out (if any) have vectors of that dimension.

    Raises:
        InvalidRequest: shapes do not agree, or units would keep vectors of another dimension.
    """
    if len(ids) and vectors.shape != (len(ids), dimension):
        raise InvalidRequest(
            "vectors",
            f"an array of shape {vectors.shape} is not {len(ids)} vectors of {dimension} numbers",
            "Pass one row an id.",
        )
    if not covers_bank:
        raise InvalidRequest(
            "vectors",
            f"other units of the bank would keep vectors that are not {dimension}-d",
            "Pass new vectors for all units of the bank.",
        )


def past_gaps(log: Iterable[tuple[int, ValidityKind, int]]) -> IntArray:
    """The spans in which units were closed and are no longer, as UnitColumns.gaps has them.

    The log is replayed as `closed_at` follows it: the earliest closing since the last restoring counts. A restoring
    that takes effect before it leaves no gap.

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
    """Unit ids the write set refers to, by the field that does."""
    return {
        "mentions": {mention.unit_id for mention in writes.mentions},
        "links": {end for link in writes.links for end in (link.source, link.target)},
        "events": {
            unit for event in writes.events for unit in (event.unit_id, event.by_unit) if unit is not None
        },
        "part_of": {write.unit.part_of for write in writes.units if write.unit.part_of},
    }


def merged_entities(entities: Iterable[EntityWrite]) -> dict[str, EntityWrite]:
    """The writes by entity id, several of one id folded into one: names in order, the last role given."""
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
    """All names once, in the order they came."""
    return tuple(dict.fromkeys((*known, *more)))


def merged_role(known: EntityRole, given: EntityRole) -> EntityRole:
    """The role an entity has after `given` was written: NONE never takes a role away."""
    return known if given is EntityRole.NONE else given


def changes_nothing(writes: WriteSet) -> bool:
    """Whether the write set holds nothing at all."""
    return writes.empty and not writes.mentions and not writes.links
