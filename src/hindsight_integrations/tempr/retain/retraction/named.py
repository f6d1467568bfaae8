"""Withdrawals by name: memories a model was shown and says are ended, replaced or partly so (decision 110).

What it names is checked and never trusted blindly: the memory is there and still valid, was mentioned earlier, lies within
the sight of the retain's tags, and its meaning has to do with the fact that names it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hindsight_integrations.model.embedder import Thresholds
from hindsight_integrations.model.facts import MemoryChange
from hindsight_integrations.model.records import RecordKind
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.ports.arrays import Vector
from hindsight_integrations.search.bank_view import BankView
from hindsight_integrations.search.reference_scale import passage_cosine
from hindsight_integrations.tempr.retain.drafts import Draft
from hindsight_integrations.tempr.retain.retraction.candidates import (
    RETRACTABLE,
    can_see,
    ended_by,
    precedes,
)
from hindsight_integrations.text.part_whole import account

LEAST_SIMILARITY = (
    0.45  # on the reference scale, of a fact and the memory it ends; unrelated ones lie at 0.4 and below
)
KEPT_ITEMS = (
    0.5  # share of a document's items that a new version has; a fact with fewer is news about the document
)


@dataclass(frozen=True, slots=True)
class Named:
    """A memory as a fact names it, checked.

    Attributes:
        unit: the memory; None where it is no more.
        change: what becomes of it.
        part: which part, in words.
        similarity: of the fact and the memory, on the reference scale.
        refused: why nothing becomes of it; empty if it stands.
    """

    unit: MemoryUnit | None
    change: MemoryChange
    part: str
    similarity: float
    refused: str = ""

    @property
    def ends(self) -> bool:
        """Whether the whole memory is closed."""
        return not self.refused and self.change is not MemoryChange.PART

    @property
    def statement(self) -> str:
        """What no longer holds, in words."""
        if self.change is MemoryChange.PART or self.unit is None:
            return self.part
        return account(self.unit.text)


def named_memories(
    draft: Draft, vector: Vector, view: BankView, closed: frozenset[str], thresholds: Thresholds
) -> list[Named]:
    """The memories a draft names, each with why nothing becomes of it, if so. What was withdrawn already is left out.

    Args:
        draft: the fact.
        vector: its own.
        view: the bank.
        closed: ids of units closed in this commit so far.
        thresholds: of the embedder.
    """
    rows = view.ledger.row_ids(view.bank, [change.unit_id for change in draft.changes])
    ids = np.fromiter(rows.values(), np.int64, len(rows))
    units = {unit.id: unit for unit in view.ledger.units(view.bank, ids).values()}
    vectors = view.ledger.vectors_of(view.bank, ids)
    found = []
    for change in draft.changes:
        unit = units.get(change.unit_id)
        own = vectors.get(rows.get(change.unit_id, -1))
        if unit is None or own is None:
            found.append(Named(None, change.change, change.part, 0.0, "the memory it names is no more"))
        elif unit.id not in closed and not ended_by(unit.closed_at, draft.unit.mentioned_at):
            similarity = passage_cosine(float(own @ vector), thresholds)
            refused = refusal(draft.unit, unit, change.change, similarity)
            found.append(Named(unit, change.change, change.part, similarity, refused))
    return found


def refusal(by: MemoryUnit, unit: MemoryUnit, change: MemoryChange, similarity: float) -> str:
    """Why a fact cannot end or change a memory, for people; empty if it can. Pure.

    Args:
        by: the fact.
        unit: the memory.
        change: what the fact does to it.
        similarity: of the two, on the reference scale.
    """
    if unit.fact_type not in RETRACTABLE:
        return f"the memory it names is of type {unit.fact_type}, which no message ends"
    if not precedes(unit, by):
        return "the memory it names was mentioned later, or in the same messages"
    if not can_see(by, unit):
        return "the memory it names has other tags"
    if similarity < LEAST_SIMILARITY:
        return f"the memory it names is about something else (similarity {similarity:.2f})"
    if change is MemoryChange.REPLACES and _items(by) < KEPT_ITEMS * _items(unit):
        return "it has too few of the document's items to stand in its place"
    return ""


def _items(unit: MemoryUnit) -> int:
    """How many items of a document it still keeps."""
    return sum(record.kind is RecordKind.DOCUMENT_ITEM and not record.closed_at for record in unit.records)
