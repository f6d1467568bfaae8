"""Amendments in recall: a unit of which a part was taken back is never served without what took it back (design section 7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from hindsight_integrations.model.results import RecalledUnit
from hindsight_integrations.model.time import to_micros
from hindsight_integrations.ports.arrays import IntArray
from hindsight_integrations.tempr.columns import SECOND, valid_at
from hindsight_integrations.tempr.recall.scoring import Float64Array
from hindsight_integrations.tempr.view import BankView


@dataclass(frozen=True, slots=True)
class Items:
    """Ranked units as they are packed: each with its amendments, which cost tokens too. Arrays of length n.

    Attributes:
        ids: row ids of the units, best first.
        scores: theirs; an amendment that ranked better lends its own.
        tokens: of the unit and its amendments together.
        amendments: rows of the amendments of each amended unit, oldest first.
    """

    ids: IntArray
    scores: Float64Array
    tokens: IntArray
    amendments: Mapping[int, tuple[int, ...]]


def with_amendments(ids: IntArray, scores: Float64Array, view: BankView, as_of: datetime | None) -> Items:
    """The ranked units as items; an amendment found by itself joins the first unit it amends.

    Args:
        ids: row ids, best first, (n,).
        scores: falling, (n,).
        view: the bank; its ledger is asked only where one of the units is amended.
        as_of: the moment of conversation time asked about; later amendments do not count. None means now.
    """
    amended = np.intersect1d(ids, view.amended)
    found = _valid_amendments(amended, view, as_of) if len(amended) else {}
    order, lent = _merged(ids.tolist(), found)
    ranks = np.array([lent[row] for row in order], np.int64)
    rows = np.array(order, np.int64)
    costs = _tokens(rows, view)
    for place in np.flatnonzero(np.isin(rows, amended)).tolist():
        costs[place] += _tokens(np.array(found.get(order[place], ()), np.int64), view).sum()
    return Items(rows, scores[ranks], costs, found)


def _tokens(rows: IntArray, view: BankView) -> IntArray:
    tokens: IntArray = view.columns.tokens[view.columns.positions(rows)]
    return tokens


def _valid_amendments(ids: IntArray, view: BankView, as_of: datetime | None) -> dict[int, tuple[int, ...]]:
    """For each unit the rows of its amendments that hold at the moment and are themselves valid then."""
    log = view.ledger.amendments(view.bank, ids)
    valid = valid_at(view.columns, as_of)
    rows = np.array([item.by for item in log], np.int64)
    stands = view.columns.allowed(rows, valid) if len(rows) else np.zeros(0, bool)
    found: dict[int, tuple[int, ...]] = {}
    for item, standing in zip(log, stands.tolist(), strict=True):
        by_then = as_of is None or to_micros(item.effective_at) // SECOND <= to_micros(as_of) // SECOND
        if standing and by_then:
            found[item.row] = (*found.get(item.row, ()), item.by)
    return found


def _merged(ids: Sequence[int], found: Mapping[int, tuple[int, ...]]) -> tuple[list[int], dict[int, int]]:
    """Units in the order of their items' best rank, without those that travel with another; and each item's rank."""
    places = {row: rank for rank, row in enumerate(ids)}
    travelling: dict[int, int] = {}
    for row in ids:
        for by in found.get(row, ()):
            if by in places and by not in found and by not in travelling:
                travelling[by] = row
    ranks = {row: rank for row, rank in places.items() if row not in travelling}
    for by, row in travelling.items():
        ranks[row] = min(ranks[row], places[by])
    return sorted(ranks, key=lambda row: (ranks[row], places[row])), ranks


def amended_units(
    units: Sequence[RecalledUnit], amendments: Mapping[int, tuple[int, ...]], view: BankView
) -> tuple[RecalledUnit, ...]:
    """The units with their amendments read: one read of the ledger, none where nothing kept is amended."""
    rows = view.ledger.row_ids(view.bank, [item.unit.id for item in units]) if amendments else {}
    kept = {unit_id: amendments[row] for unit_id, row in rows.items() if row in amendments}
    if not kept:
        return tuple(units)
    wanted = sorted({by for bys in kept.values() for by in bys})
    stored = view.ledger.units(view.bank, np.array(wanted, np.int64))
    return tuple(
        replace(item, amendments=tuple(stored[by] for by in kept.get(item.unit.id, ()) if by in stored))
        for item in units
    )
