"""Amendments in recall: a unit of which a part was taken back is never served without what took it back (design section 7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from hindsight_integrations.model.requests import RecallQuery
from hindsight_integrations.model.results import RecalledUnit
from hindsight_integrations.ports.arrays import IntArray
from hindsight_integrations.tempr.columns import no_later, valid_at
from hindsight_integrations.tempr.recall.packing import pack, pack_with_needs
from hindsight_integrations.tempr.recall.scoring import Float64Array
from hindsight_integrations.tempr.view import BankView


@dataclass(frozen=True, slots=True)
class Kept:
    """What fits the budget.

    Attributes:
        ids: row ids of the units, best first, (n,).
        scores: theirs; a unit that took the place of its amendment takes its score, (n,).
        tokens: what they and their amendments cost together.
        amendments: rows of the amendments of each amended unit, oldest first.
    """

    ids: IntArray
    scores: Float64Array
    tokens: int
    amendments: Mapping[int, tuple[int, ...]]


def pack_ranked(ids: IntArray, scores: Float64Array, view: BankView, query: RecallQuery) -> Kept:
    """The ranked units that fit the query's budget, each amended one with its amendments (paper eq. 8; design section 6).

    Args:
        ids: row ids, best first, (n,).
        scores: falling, (n,).
        view: the bank; its ledger is asked only where one of the units is amended.
        query: the budget, and the moment asked about: later amendments do not count.
    """
    tokens = view.columns.tokens[view.columns.positions(ids)]
    amended = np.intersect1d(ids, view.amended)
    found = _valid_amendments(amended, view, query.as_of) if len(amended) else {}
    if not found:
        kept = pack(tokens.tolist(), query.max_tokens, k=query.k)
        return Kept(ids[kept], scores[kept], int(tokens[kept].sum()), {})
    needs = {row: _all_needed(row, found) for row in found}
    packed = pack_with_needs(
        ids.tolist(), _costs(ids, needs, view), needs, max_tokens=query.max_tokens, k=query.k
    )
    rows = np.array(packed.rows, np.int64)
    return Kept(rows, scores[np.array(packed.places, np.int64)], packed.tokens, needs)


def _all_needed(row: int, found: Mapping[int, Sequence[int]]) -> tuple[int, ...]:
    """A unit's amendments, and theirs, each once."""
    needed: dict[int, None] = {}
    waiting = list(found.get(row, ()))
    while waiting:
        by = waiting.pop(0)
        if by not in needed and by != row:
            needed[by] = None
            waiting += found.get(by, ())
    return tuple(needed)


def _costs(ids: IntArray, needs: Mapping[int, Sequence[int]], view: BankView) -> dict[int, int]:
    rows = np.union1d(ids, np.array([by for bys in needs.values() for by in bys], np.int64))
    tokens = view.columns.tokens[view.columns.positions(rows)]
    return dict(zip(rows.tolist(), tokens.tolist(), strict=True))


def _valid_amendments(ids: IntArray, view: BankView, as_of: datetime | None) -> dict[int, tuple[int, ...]]:
    """For each unit the rows of its amendments that hold at the moment and are themselves valid then."""
    log = view.ledger.amendments(view.bank, ids)
    valid = valid_at(view.columns, as_of)
    rows = np.array([item.by for item in log], np.int64)
    stands = view.columns.allowed(rows, valid) if len(rows) else np.zeros(0, bool)
    found: dict[int, tuple[int, ...]] = {}
    for item, standing in zip(log, stands.tolist(), strict=True):
        by_then = as_of is None or no_later(item.effective_at, as_of)
        if standing and by_then:
            found[item.row] = (*found.get(item.row, ()), item.by)
    return found


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
