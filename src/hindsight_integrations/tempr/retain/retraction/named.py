"""Memories that a fact names: by number where a model was shown them, by id or source where a caller says so (decision 110).

A name is checked: the memory is there, was mentioned earlier, and has the same tags; what replaces a memory tells all of it that
still holds. A change that fails a check is reported and does nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hindsight_integrations.model.facts import MemoryChange
from hindsight_integrations.model.units import MemoryUnit, UnitKind
from hindsight_integrations.tempr.retain.drafts import Draft, MemoryName, NamedChange
from hindsight_integrations.tempr.retain.replacing import (
    names_of_entities,
    names_of_mentions,
    problem_of_replacing,
    told_texts,
    untold,
)
from hindsight_integrations.tempr.retain.retraction.reach import RETRACTABLE, Reach, precedes, same_tags


@dataclass(frozen=True, slots=True)
class Named:
    """A memory as a fact names it, checked.

    Attributes:
        unit: the memory; None where there is none, or more than one.
        refused: why nothing becomes of it; empty if it stands.
        candidates: ids of the memories that its sources name, where they name more than one.
    """

    unit: MemoryUnit | None
    refused: str = ""
    candidates: tuple[str, ...] = ()


def named_memories(position: int, reach: Reach) -> Iterator[tuple[NamedChange, Named]]:
    """Each change of the draft at `position` with the memory that it names, or why nothing becomes of it.

    What has ended already is left out.

    Args:
        position: of the draft.
        reach: the memories that it may change.
    """
    for change in reach.drafts[position].changes:
        named = _found(change.memory, position, reach, documents=change.change is MemoryChange.REMOVES)
        if named is None:
            continue
        if change.change is MemoryChange.REPLACES and named.unit is not None and not named.refused:
            draft = reach.drafts[position]
            named = replace(named, refused=_problem_of_replacing(draft, change, named.unit, reach))
        yield change, named


def named_document(position: int, reach: Reach) -> Named | None:
    """The document that the draft at `position` adds its items to, or why it cannot; None where it names none."""
    draft = reach.drafts[position]
    if draft.adds_to is None:
        return None
    found = _found(draft.adds_to, position, reach, documents=True)
    return found or Named(None, "the document it names has ended")


def _found(name: MemoryName, position: int, reach: Reach, *, documents: bool) -> Named | None:
    """The one memory that is meant; why none can be, or which ones could; None where all that could be have ended."""
    draft = reach.drafts[position]
    found = (
        _made_from(name.sources, position, reach) if name.sources else _of_id(name.unit_id, position, reach)
    )
    if not found:
        return Named(None, _missing(name, draft))
    valid = [unit for unit in found if not reach.is_ended(unit, draft.unit)]
    if not valid:
        return None
    refused = [
        refusal(draft.unit, unit) or ("" if not documents or reach.items_of(unit) else NO_DOCUMENT)
        for unit in valid
    ]
    fitting = [unit for unit, problem in zip(valid, refused, strict=True) if not problem]
    if len(fitting) > 1:
        return Named(None, candidates=tuple(unit.id for unit in fitting))
    return Named(fitting[0]) if fitting else Named(valid[0], refused[0])


def _problem_of_replacing(draft: Draft, change: NamedChange, unit: MemoryUnit, reach: Reach) -> str:
    """What of the memory the draft neither tells nor says was removed, for people."""
    names = [mention.text for mention in draft.mentions]
    own = [item.records[0] for item in reach.items_of(draft.unit).values()]
    told = told_texts(draft.unit.text, names, [*draft.unit.records, *own], change.removed)
    items = reach.items_of(unit).values()
    held = [item.records[0] for item in items if not reach.is_ended(item, draft.unit)]
    whole = replace(unit, records=(*unit.records, *held))
    return problem_of_replacing(untold(whole, _names_of(unit, reach), told))


def _names_of(unit: MemoryUnit, reach: Reach) -> list[tuple[str, ...]]:
    """The names of a memory's entities; of a draft's, those it was given with."""
    for draft in reach.drafts:
        if draft.unit.id == unit.id:
            return names_of_mentions(draft.mentions)
    rows = np.array(list(reach.view.ledger.row_ids(reach.view.bank, [unit.id]).values()), np.int64)
    entities = reach.view.ledger.entities_of(reach.view.bank, rows)
    return names_of_entities(entity for each in entities.values() for entity in each)


def _of_id(unit_id: str, position: int, reach: Reach) -> list[MemoryUnit]:
    return reach.stored([unit_id]) or [
        draft.unit for draft in reach.drafts[:position] if draft.unit.id == unit_id
    ]


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
        units = {
            unit.id: unit for unit in near if wanted <= set(unit.sources) and unit.kind is UnitKind.MEMORY
        }
        exact = [unit for unit in units.values() if wanted == set(unit.sources)]
        if found := exact or list(units.values()):
            return found
    return []


def _stored(rows: Iterable[int], reach: Reach) -> list[MemoryUnit]:
    ids = np.array(sorted(rows), np.int64)
    return list(reach.view.ledger.units(reach.view.bank, ids).values()) if len(ids) else []


def _missing(name: MemoryName, draft: Draft) -> str:
    if not name.sources:
        return "the memory it names is not in this bank"
    if set(name.sources) <= set(draft.unit.sources):
        return "it names its own messages"
    return f"no memory was made from {', '.join(name.sources)}"


NO_DOCUMENT = "the memory it names is not a document: it has no items"


def refusal(by: MemoryUnit, unit: MemoryUnit) -> str:
    """Why a fact cannot end or change a memory, for people; empty if it can. Pure.

    Args:
        by: the fact.
        unit: the memory.
    """
    if unit.kind is UnitKind.DOCUMENT_ITEM:
        return "it names an item; name the document, and the number of the item in `items`"
    if unit.kind is not UnitKind.MEMORY:
        return f"what it names is of kind {unit.kind}, which no message ends"
    if unit.fact_type not in RETRACTABLE:
        return f"the memory it names is of type {unit.fact_type}, which no message ends"
    if not precedes(unit, by):
        return "the memory it names was mentioned later, or in the same messages"
    if not same_tags(unit, by):
        return "the memory it names has other tags"
    return ""
