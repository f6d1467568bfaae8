"""Retraction: the memories and items that a retain ends, as validity events, and the documents that it adds to (design 2.1, 2.2).

First what its facts name, then what says the very words of an `invalidates` statement, or what a model named of those it may
mean. Runs where the commit is decided, on vectors made before it. Changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from hindsight_integrations.model.facts import MemoryChange
from hindsight_integrations.model.results import EXCERPT_CHARACTERS, Dropped, RetainResult
from hindsight_integrations.model.time import next_instant
from hindsight_integrations.model.units import MemoryUnit, UnitKind, ValidityEvent, ValidityKind
from hindsight_integrations.model.withdrawals import Ambiguity, ForgetRequest, Withdrawal
from hindsight_integrations.prompts.end_memories import OpenStatement
from hindsight_integrations.search.bank_view import BankView
from hindsight_integrations.tempr.retain.drafts import Draft, NamedChange
from hindsight_integrations.tempr.retain.embedding import Vectors
from hindsight_integrations.tempr.retain.proposal import Forgetting
from hindsight_integrations.tempr.retain.retraction.judged import NOT_ASKED, Judgement
from hindsight_integrations.tempr.retain.retraction.named import (
    Named,
    named_document,
    named_memories,
    refusal,
)
from hindsight_integrations.tempr.retain.retraction.reach import Reach
from hindsight_integrations.tempr.retain.retraction.stated import Stated, stated

FORGET_REQUESTED = "somebody asked to forget it"
CERTAIN = 1.0  # score of memories that are named, of which only one can be meant


@dataclass(slots=True)
class Retraction:
    """What the facts of a commit ended and added to: events to commit, and the same for people to read."""

    reach: Reach
    events: list[ValidityEvent] = field(default_factory=list)
    closed: list[Withdrawal] = field(default_factory=list)
    removed: list[Withdrawal] = field(default_factory=list)
    ambiguous: list[Ambiguity] = field(default_factory=list)
    open: list[OpenStatement] = field(default_factory=list)
    """Statements that a model may be asked about."""
    forgotten: list[ForgetRequest] = field(default_factory=list)
    """What people asked to forget, with what was closed for it."""
    refused: dict[str, list[Dropped]] = field(default_factory=dict)
    """By the unit that named a memory: why nothing became of it."""

    def note_stated(self, draft: Draft, statement: str, found: Stated, judgement: Judgement) -> None:
        """Add what one statement does: what is equal ends, else what a model named of those it may mean."""
        by = draft.unit
        ends = judgement.ends.get((statement, by.id))
        if found.ended is not None:
            self._end(found.ended, by, statement)
        elif found.known:
            return
        elif ends is not None:
            for unit in found.candidates:
                if unit.id in ends:
                    self._end(unit, by, statement)
        else:
            candidates = tuple(unit.id for unit in found.candidates)
            self.ambiguous.append(Ambiguity(statement, by.id, candidates, found.similarity))
            if draft.said_by_person and not draft.given:
                self.open.append(OpenStatement(statement, by, found.candidates))

    def note_named(self, by: MemoryUnit, change: NamedChange, named: Named) -> None:
        """Add what becomes of one memory that a unit names."""
        if named.candidates:
            words = f"what was made from {', '.join(change.memory.sources)}"
            self.ambiguous.append(Ambiguity(words, by.id, named.candidates, CERTAIN))
        elif named.refused or named.unit is None:
            self._refuse(by, f"changes: {named.refused}")
        elif change.change is MemoryChange.REMOVES:
            self._remove(named.unit, by, change.items)
        else:
            self._end(named.unit, by, named.unit.text)

    def note_forgotten(self, forgettings: Sequence[Forgetting]) -> None:
        """Close what people asked to forget; a memory that they cannot change stays."""
        for each in forgettings:
            units = [
                unit for unit in self.reach.stored(each.request.unit_ids) if not refusal(each.asked, unit)
            ]
            closed = [unit for unit in units if not self.reach.is_ended(unit, each.asked)]
            for unit in closed:
                self._close_whole(unit, each.asked, FORGET_REQUESTED)
            self.forgotten.append(replace(each.request, unit_ids=tuple(unit.id for unit in closed)))

    def note_added(self, by: MemoryUnit, named: Named) -> None:
        """Move the items of a unit behind those of the document that it adds to; where it cannot, they stay its own."""
        if named.unit is not None and not named.refused:
            self.reach.move_items(by, named.unit)
        elif named.candidates:
            several = "adds_to: its messages name more than one document; name it by `unit_id`"
            self._refuse(by, several)
        else:
            self._refuse(by, f"adds_to: {named.refused}")

    def _refuse(self, by: MemoryUnit, reason: str) -> None:
        self.refused.setdefault(by.id, []).append(Dropped(by.text[:EXCERPT_CHARACTERS], reason))

    def _end(self, unit: MemoryUnit, by: MemoryUnit, text: str) -> None:
        """Close what a fact ends; one that the commit has ended already stays so."""
        if unit.id not in self.reach.ended:
            self._close_whole(unit, by, text)
            self.closed.append(Withdrawal(unit.id, by.id, text))

    def _close_whole(self, unit: MemoryUnit, by: MemoryUnit, text: str) -> None:
        """Close a memory, and the items that hold if it is a document."""
        self._close(unit, by, text)
        for item in self.reach.items_of(unit).values():
            if not self.reach.is_ended(item, by):
                self._close(item, by, text)

    def _remove(self, document: MemoryUnit, by: MemoryUnit, numbers: Sequence[int]) -> None:
        """Close items of a document; one that has ended already stays so, one that is not there is reported."""
        items = self.reach.items_of(document)
        if not numbers:
            self._refuse(by, "changes: it removes items and names none in `items`")
        for number in dict.fromkeys(numbers):
            item = items.get(number)
            if item is None:
                self._refuse(by, f"changes: the document has no item {number}; the last one is {max(items)}")
            elif item.id in self.reach.own_items(by):
                self._refuse(by, f"changes: item {number} is one that it adds itself")
            elif not self.reach.is_ended(item, by):
                self._close(item, by, item.text)
                self.removed.append(Withdrawal(item.id, by.id, item.text))

    def _close(self, unit: MemoryUnit, by: MemoryUnit, text: str) -> None:
        moments = [by.mentioned_at, unit.mentioned_at]
        if back := self.reach.changed.get(unit.id):
            moments.append(next_instant(back.effective_at))
        moment = max(moments)
        self.events.append(ValidityEvent(unit.id, ValidityKind.CLOSED, moment, by.id or None, text))
        self.reach.ended[unit.id] = unit


def retract(
    drafts: Sequence[Draft],
    vectors: Vectors,
    view: BankView,
    judgement: Judgement = NOT_ASKED,
    versions: Sequence[ValidityEvent] = (),
) -> Retraction:
    """What each draft names, then what its statements say, in order; what one ends, the next finds ended.

    Args:
        drafts: the commit's, in order.
        vectors: of the drafts and of their statements.
        view: the bank.
        judgement: what a model said of statements that say no memory's very words.
        versions: what the commit closes and restores because messages were edited or dropped.
    """
    reach = Reach(drafts, vectors.drafts, view, changed={event.unit_id: event for event in versions})
    retraction = Retraction(reach)
    for position, draft in enumerate(drafts):
        if draft.unit.kind is UnitKind.DOCUMENT_ITEM:
            continue
        for change, named in list(named_memories(position, reach)):
            retraction.note_named(draft.unit, change, named)
        # Behind what it ends: a document that it replaces takes no items.
        if document := named_document(position, reach):
            retraction.note_added(draft.unit, document)
        for text in dict.fromkeys(draft.invalidates):
            found = stated(text, vectors.statements[text], position, reach, vectors.thresholds)
            retraction.note_stated(draft, text, found, judgement)
    return retraction


def with_withdrawals(result: RetainResult, retraction: Retraction) -> RetainResult:
    """The result with what its own units withdrew; a commit may hold several retains."""
    own = set(result.unit_ids)
    return replace(
        result,
        closed=tuple(done for done in retraction.closed if done.by_unit in own),
        removed=tuple(done for done in retraction.removed if done.by_unit in own),
        ambiguous=tuple(doubt for doubt in retraction.ambiguous if doubt.by_unit in own),
        dropped=(
            *result.dropped,
            *(item for unit in result.unit_ids for item in retraction.refused.get(unit, ())),
        ),
    )
