"""Memories that a fact names: by number where a model was shown them, by id or source where a caller says so (decision 110).

A name is checked: the memory is there, was mentioned earlier, and has the same tags; what replaces a memory tells all of it that
still holds. A change that fails a check is reported and does nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hindsight_integrations.model.embedder import Thresholds
from hindsight_integrations.model.facts import MemoryChange
from hindsight_integrations.model.units import MemoryUnit, UnitKind
from hindsight_integrations.ports.arrays import Vector
from hindsight_integrations.search.reference_scale import passage_cosine
from hindsight_integrations.tempr.retain.drafts import Draft, NamedChange
from hindsight_integrations.tempr.retain.replacing import (
    names_of_entities,
    names_of_mentions,
    problem_of_replacing,
    told_texts,
    untold,
)
from hindsight_integrations.tempr.retain.retraction.reach import RETRACTABLE, Reach, precedes, same_tags
from hindsight_integrations.text.part_whole import account


@dataclass(frozen=True, slots=True)
class Named:
    """A memory as a fact names it, checked.

    Attributes:
        unit: the memory; None where there is none, or more than one.
        change: what becomes of it.
        part: which part, in words.
        similarity: of the fact and the memory, on the reference scale.
        refused: why nothing becomes of it; empty if it stands.
        candidates: ids of the memories that its sources name, where they name more than one.
    """

    unit: MemoryUnit | None
    change: MemoryChange
    part: str
    similarity: float
    refused: str = ""
    candidates: tuple[str, ...] = ()

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


def named_memories(position: int, reach: Reach, thresholds: Thresholds) -> Iterator[Named]:
    """The memories that the draft at `position` names, each with why nothing becomes of it, if so.

    What has ended already is left out.

    Args:
        position: of the draft.
        reach: the memories that it may change.
        thresholds: of the embedder.
    """
    draft = reach.drafts[position]
    for change in draft.changes:
        found = (
            _made_from(change.sources, position, reach) if change.sources else _of_id(change.unit_id, reach)
        )
        valid = [unit for unit in found if not reach.is_ended(unit, draft.unit)]
        if not found:
            yield Named(None, change.change, change.part, 0.0, _missing(change, draft))
        elif valid:
            similar = _similarities(valid, reach, reach.vectors[position], thresholds)
            yield _checked(draft, change, similar, reach)


def _checked(
    draft: Draft, change: NamedChange, similar: Sequence[tuple[MemoryUnit, float]], reach: Reach
) -> Named:
    """The one memory that can be meant; why none can, or which ones could."""
    refused = [refusal(draft.unit, unit) for unit, _ in similar]
    fitting = [each for each, problem in zip(similar, refused, strict=True) if not problem]
    if len(fitting) > 1:
        several = tuple(unit.id for unit, _ in fitting)
        words = change.part or f"what was made from {', '.join(change.sources)}"
        return Named(None, change.change, words, 1.0, candidates=several)
    (unit, similarity), problem = (fitting[0], "") if fitting else (similar[0], refused[0])
    part = change.part
    if not problem and change.change is MemoryChange.PART and not part:
        problem = "it says that a part ended, and not which"
    if not problem and change.change is MemoryChange.REPLACES:
        problem = _problem_of_replacing(draft, change, unit, reach)
    return Named(unit, change.change, part, similarity, problem)


def _problem_of_replacing(draft: Draft, change: NamedChange, unit: MemoryUnit, reach: Reach) -> str:
    """What of the memory the draft neither tells nor says was removed, for people."""
    names = [mention.text for mention in draft.mentions]
    told = told_texts(draft.unit.text, names, draft.unit.records, change.removed)
    return problem_of_replacing(untold(unit, _names_of(unit, reach), told))


def _names_of(unit: MemoryUnit, reach: Reach) -> list[tuple[str, ...]]:
    """The names of a memory's entities; of a draft's, those it was given with."""
    for draft in reach.drafts:
        if draft.unit.id == unit.id:
            return names_of_mentions(draft.mentions)
    rows = np.array(list(reach.view.ledger.row_ids(reach.view.bank, [unit.id]).values()), np.int64)
    entities = reach.view.ledger.entities_of(reach.view.bank, rows)
    return names_of_entities(entity for each in entities.values() for entity in each)


def _of_id(unit_id: str, reach: Reach) -> list[MemoryUnit]:
    rows = reach.view.ledger.row_ids(reach.view.bank, [unit_id])
    return _stored(rows.values(), reach)


def _made_from(sources: Sequence[str], position: int, reach: Reach) -> list[MemoryUnit]:
    """The memories made from exactly these messages, else those made from them and others; of the fact's own thread first."""
    ledger, bank, thread = reach.view.ledger, reach.view.bank, reach.drafts[position].unit.thread
    wanted = set(sources)
    drafts = [draft.unit for draft in reach.drafts[:position] if wanted & set(draft.unit.sources)]
    own = [(thread, source) for source in sources]
    for places in (own, ledger.places_of_messages(bank, sources)):
        threads = {place[0] for place in places}
        rows = {
            row
            for closed in (False, True)
            for row in ledger.units_of_messages(bank, places, closed=closed).tolist()
        }
        near = [
            *_stored(rows, reach),
            *(unit for unit in drafts if places is not own or unit.thread in threads),
        ]
        units = {unit.id: unit for unit in near if wanted <= set(unit.sources)}
        exact = [unit for unit in units.values() if wanted == set(unit.sources)]
        if found := exact or list(units.values()):
            return found
    return []


def _stored(rows: Iterable[int], reach: Reach) -> list[MemoryUnit]:
    ids = np.array(sorted(rows), np.int64)
    return list(reach.view.ledger.units(reach.view.bank, ids).values()) if len(ids) else []


def _similarities(
    units: Sequence[MemoryUnit], reach: Reach, vector: Vector, thresholds: Thresholds
) -> list[tuple[MemoryUnit, float]]:
    """Each memory with how similar the vector is to it; those without a vector, which were not written whole, are left out."""
    ledger, bank = reach.view.ledger, reach.view.bank
    own = {draft.unit.id: place for place, draft in enumerate(reach.drafts)}
    rows = ledger.row_ids(bank, [unit.id for unit in units if unit.id not in own])
    vectors = ledger.vectors_of(bank, np.fromiter(rows.values(), np.int64, len(rows)))
    vectors_of = {unit_id: vectors[row] for unit_id, row in rows.items() if row in vectors}
    vectors_of |= {unit.id: reach.vectors[own[unit.id]] for unit in units if unit.id in own}
    return [
        (
            unit,
            passage_cosine(float(vectors_of[unit.id] @ vector), thresholds) if unit.id in vectors_of else 0.0,
        )
        for unit in units
    ]


def _missing(change: NamedChange, draft: Draft) -> str:
    if not change.sources:
        return "the memory it names is not in this bank"
    if set(change.sources) <= set(draft.unit.sources):
        return "it names its own messages"
    return f"no memory was made from {', '.join(change.sources)}"


def refusal(by: MemoryUnit, unit: MemoryUnit) -> str:
    """Why a fact cannot end or change a memory, for people; empty if it can. Pure.

    Args:
        by: the fact.
        unit: the memory.
    """
    if unit.kind is not UnitKind.MEMORY:
        return f"what it names is of kind {unit.kind}, which no message ends"
    if unit.fact_type not in RETRACTABLE:
        return f"the memory it names is of type {unit.fact_type}, which no message ends"
    if not precedes(unit, by):
        return "the memory it names was mentioned later, or in the same messages"
    if not same_tags(unit, by):
        return "the memory it names has other tags"
    return ""
