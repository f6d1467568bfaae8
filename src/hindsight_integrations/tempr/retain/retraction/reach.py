"""The memories that a fact may end or change: earlier drafts of its commit, and units of the bank. Reads the bank, changes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import numpy as np

from hindsight_integrations.model.requests import TagsMatch
from hindsight_integrations.model.time import no_later
from hindsight_integrations.model.units import FactType, MemoryUnit, UnitKind, ValidityEvent, ValidityKind
from hindsight_integrations.ports.arrays import BoolArray, Matrix, Vector
from hindsight_integrations.search.bank_view import BankView
from hindsight_integrations.search.channels.selection import Selection
from hindsight_integrations.search.columns import mentioned_by, of_types, tagged, valid_at
from hindsight_integrations.search.hybrid import hybrid_search
from hindsight_integrations.tempr.retain.drafts import Draft

RETRACTABLE = (FactType.WORLD, FactType.EXPERIENCE)  # opinions are revised by evidence, observations derived
SEARCHED = 20  # memories looked at for one statement; one that says the same comes first


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A memory and its cosine with what was searched for."""

    unit: MemoryUnit
    cosine: float


@dataclass(frozen=True, slots=True, eq=False)
class Reach:
    """Where the memories are that the facts of one commit end or change.

    Attributes:
        drafts: the commit's, in order.
        vectors: theirs, (n, dimension).
        view: the bank.
        changed: of memories and items that the commit closes or restores because messages were edited or dropped, the event.
        ended: the memories and items that the commit has ended so far, by id.
        moved: items of the commit that belong to a document of the bank, or of another draft, by id.
    """

    drafts: Sequence[Draft]
    vectors: Matrix
    view: BankView
    changed: Mapping[str, ValidityEvent] = field(default_factory=dict)
    ended: dict[str, MemoryUnit] = field(default_factory=dict)
    moved: dict[str, MemoryUnit] = field(default_factory=dict)

    def items_of(self, document: MemoryUnit) -> dict[int, MemoryUnit]:
        """The items of a document by number, those of the commit included; closed ones too."""
        ledger, bank = self.view.ledger, self.view.bank
        heads = np.fromiter(ledger.units.row_ids(bank, [document.id]).values(), np.int64)
        rows = (
            [row for rows in ledger.units.items_of(bank, heads).values() for row in rows]
            if len(heads)
            else []
        )
        stored = ledger.units.get(bank, np.array(rows, np.int64)).values() if rows else ()
        own = (self.moved.get(draft.unit.id, draft.unit) for draft in self.drafts)
        return {item.number: item for item in (*stored, *own) if item.part_of == document.id}

    def own_items(self, by: MemoryUnit) -> frozenset[str]:
        """Ids of the items that a draft brings, whatever document they belong to."""
        return frozenset(draft.unit.id for draft in self.drafts if draft.unit.part_of == by.id)

    def move_items(self, by: MemoryUnit, document: MemoryUnit) -> None:
        """Number the items of a draft behind those of a document."""
        last = max((document.number, *self.items_of(document)))
        own = (draft.unit for draft in self.drafts if draft.unit.part_of == by.id)
        for number, item in enumerate(own, last + 1):
            self.moved[item.id] = replace(item, part_of=document.id, number=number)

    def earlier(self, position: int) -> Iterator[tuple[int, MemoryUnit]]:
        """The earlier drafts of the commit that the draft at `position` may change, with their positions."""
        by = self.drafts[position].unit
        for place in range(position):
            unit = self.drafts[place].unit
            if (
                unit.kind is UnitKind.MEMORY
                and unit.fact_type in RETRACTABLE
                and precedes(unit, by)
                and same_tags(unit, by)
            ):
                yield place, unit

    def is_ended(self, unit: MemoryUnit, by: MemoryUnit) -> bool:
        """Whether a memory had ended when another one was mentioned."""
        if unit.id in self.ended:
            return True
        if change := self.changed.get(unit.id):
            return change.kind is ValidityKind.CLOSED
        return ended_by(unit.closed_at, by.mentioned_at)

    def stored(self, unit_ids: Sequence[str]) -> list[MemoryUnit]:
        """The memories of these ids that the bank holds."""
        rows = self.view.ledger.units.row_ids(self.view.bank, list(unit_ids))
        ids = np.fromiter(rows.values(), np.int64, len(rows))
        return list(self.view.ledger.units.get(self.view.bank, ids).values()) if len(ids) else []

    def restored(self) -> list[MemoryUnit]:
        """The memories that the commit makes valid again."""
        return self.stored(
            [name for name, event in self.changed.items() if event.kind is ValidityKind.RESTORED]
        )

    def nearest(self, text: str, vector: Vector, position: int, *, valid: bool = True) -> Iterator[Candidate]:
        """Valid memories (or those that have ended) nearest to a text by meaning and words: drafts, then the bank's.

        Args:
            text: searched for.
            vector: its own.
            position: of the draft that may change them.
            valid: False finds memories that have ended.
        """
        by = self.drafts[position].unit
        drafts = {
            place: unit for place, unit in self.earlier(position) if self.is_ended(unit, by) is not valid
        }
        if drafts:
            cosines = self.vectors[list(drafts)] @ vector
            units = list(drafts.values())
            for place in np.argsort(-cosines, kind="stable")[:SEARCHED].tolist():
                yield Candidate(units[place], float(cosines[place]))
        known = {unit.id for unit in drafts.values()}
        for candidate in self._stored(text, vector, by, valid=valid):
            if candidate.unit.id not in known:
                yield candidate

    def _stored(self, text: str, vector: Vector, by: MemoryUnit, *, valid: bool) -> Iterator[Candidate]:
        view, columns = self.view, self.view.columns
        standing = valid_at(columns, by.mentioned_at)
        mask: BoolArray = (
            mentioned_by(columns, by.mentioned_at)
            & of_types(columns, RETRACTABLE)
            & tagged(columns, by.tags, TagsMatch.EXACT)
            & (standing if valid else ~standing)
        )
        selected = Selection(mask, int(mask.sum()))
        rows = hybrid_search(view, selected, text, vector, limit=SEARCHED)[0]
        units, vectors = view.ledger.units.get(view.bank, rows), view.ledger.units.vectors(view.bank, rows)
        for row in rows.tolist():
            unit = units.get(row)
            if unit is None or row not in vectors or not precedes(unit, by):
                continue
            if self.is_ended(unit, by) is not valid:
                yield Candidate(unit, float(vectors[row] @ vector))


def precedes(unit: MemoryUnit, by: MemoryUnit) -> bool:
    """Whether a memory can be what another one ends: mentioned no later, and not of the same messages."""
    same_messages = unit.thread == by.thread and bool(set(unit.sources) & set(by.sources))
    same_passage = not by.sources and unit.document_id == by.document_id and unit.chunk == by.chunk
    mentioned_before = no_later(unit.mentioned_at, by.mentioned_at)
    return unit.id != by.id and mentioned_before and not same_messages and not same_passage


def same_tags(unit: MemoryUnit, by: MemoryUnit) -> bool:
    """Whether two memories are seen by the same recalls."""
    return set(unit.tags) == set(by.tags)


def ended_by(moment: datetime | None, by: datetime) -> bool:
    """Whether something ended by a moment, the moment's own second included."""
    return moment is not None and no_later(moment, by)
