"""Observations made from facts, as a recall may show them: what they stand on, and whether it stood at the moment asked about."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import numpy as np

from hindsight_integrations.model.units import FactType
from hindsight_integrations.ports.arrays import BoolArray, IntArray
from hindsight_integrations.search.bank_view import BankView
from hindsight_integrations.search.columns import of_types, valid_at

OBSERVED = (FactType.OBSERVATION,)


def observations_among(view: BankView, rows: IntArray) -> IntArray:
    """Those of the units (by row id) that are observations, in their order."""
    return rows[view.columns.allowed(rows, of_types(view.columns, OBSERVED))]


def grounds_of(view: BankView, observations: IntArray) -> dict[int, IntArray]:
    """Row ids of the facts each of these observations was made from, ascending; those a caller gave are left out."""
    grounds = view.ledger.observations.grounds_of(view.bank, observations)
    rows = view.ledger.units.row_ids(
        view.bank, sorted({fact for facts in grounds.values() for fact in facts})
    )
    return {
        observation: np.array(sorted(rows[fact] for fact in facts if fact in rows), np.int64)
        for observation, facts in grounds.items()
    }


def stood(view: BankView, rows: IntArray, as_of: datetime | None) -> BoolArray:
    """Which of the units (by row id) a recall as of a moment may show, (n,): of observations those whose facts all held then.

    An observation is no older than the newest of its facts, but one of them may have been closed at that moment and valid
    again since.
    """
    if as_of is None or not len(rows):
        return np.ones(len(rows), bool)
    held = valid_at(view.columns, as_of)
    fallen = [
        observation
        for observation, facts in grounds_of(view, observations_among(view, rows)).items()
        if not view.columns.allowed(facts, held).all()
    ]
    return ~np.isin(rows, np.array(fallen, np.int64))


def proof_counts(view: BankView, rows: IntArray) -> IntArray:
    """How many facts each of the units (by row id) was made from, (n,); 0 for what was made from none."""
    found: Mapping[int, IntArray] = grounds_of(view, observations_among(view, rows))
    return np.array([len(found.get(row, ())) for row in rows.tolist()], np.int64)
