"""Determine the memories and items that a retain invalidates or restores, and the documents that it adds to.

Memories that a fact names are processed first. Then come memories whose text equals a statement in
`invalidates`, and those that a model selected as what such a statement means. The result is a list of
validity events; nothing is written here.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import numpy as np

from hindsight_integrations.errors import ModelError
from hindsight_integrations.indexes.bank_view import BankView
from hindsight_integrations.indexes.columns import mentioned_by, of_types, tagged, valid_at
from hindsight_integrations.indexes.embedding import passage_cosine
from hindsight_integrations.indexes.hybrid import Selection, hybrid_search
from hindsight_integrations.ledger.ledger import LedgerReader
from hindsight_integrations.model.arrays import BoolArray, Vector
from hindsight_integrations.model.embedder import Thresholds
from hindsight_integrations.model.facts import ExtractedChange, MemoryChange, NamedMemory
from hindsight_integrations.model.requests import TagsMatch
from hindsight_integrations.model.results import EXCERPT_CHARACTERS, NO_USAGE, Dropped, RetainResult, Usage
from hindsight_integrations.model.text import normalised_text
from hindsight_integrations.model.time import next_instant, no_later
from hindsight_integrations.model.units import FactType, MemoryUnit, UnitKind, ValidityEvent, ValidityKind
from hindsight_integrations.model.writes import Ambiguity, ForgetRequest, Place, Withdrawal
from hindsight_integrations.prompts.end_memories import (
    MOST_CANDIDATES,
    MOST_STATEMENTS,
    OpenStatement,
    numbered_candidates,
)
from hindsight_integrations.retain.drafts import Forgetting, UnitDraft
from hindsight_integrations.retain.extraction import LLMExtractor
from hindsight_integrations.retain.replacing import (
    names_of_entities,
    names_of_mentions,
    problem_of_replacing,
    told_texts,
    untold,
)
from hindsight_integrations.validation.intake import document_thread

MESSAGE_EDITED = "message edited"
DOCUMENT_CHANGED = "document changed"
FORKED = "dropped by a fork"


def units_of(
    ledger: LedgerReader,
    bank: str,
    places: Sequence[Place],
    *,
    closed: bool = False,
    waiting: bool = False,
) -> list[MemoryUnit]:
    """Return the valid (or invalid) units made from any version of these messages.

    Args:
        ledger: the ledger.
        bank: the bank's name.
        places: the messages.
        closed: return invalid units instead of valid ones.
        waiting: also return the units of messages that wait for extraction.
    """
    rows = ledger.units.of_messages(bank, places, closed=closed, waiting=waiting)
    return list(ledger.units.get(bank, rows).values())


def sharing_units(units: Iterable[MemoryUnit], edited: Iterable[Place]) -> frozenset[Place]:
    """Return the messages that share a unit with an edited message.

    The unit becomes invalid, so they must be extracted again.
    """
    return frozenset((unit.thread, source) for unit in units for source in unit.sources) - set(edited)


def left_without_units(
    ledger: LedgerReader, bank: str, closing: Sequence[MemoryUnit], edited: set[Place]
) -> set[Place]:
    """Return the unchanged messages whose valid units all become invalid."""
    others = sharing_units(closing, edited)
    if not others:
        return set()
    ending = {unit.id for unit in closing}
    staying = (unit for unit in units_of(ledger, bank, sorted(others)) if unit.id not in ending)
    return set(others - {(unit.thread, source) for unit in staying for source in unit.sources})


def superseding_events(
    ledger: LedgerReader,
    bank: str,
    units: Iterable[MemoryUnit],
    moments: Mapping[Place, datetime],
    *,
    gone: Collection[Place] = (),
) -> list[ValidityEvent]:
    """Return events that invalidate units made from an earlier version of a message or document.

    Args:
        ledger: the ledger, with the validity logs of the units.
        bank: the bank's name.
        units: the units to invalidate; all are valid.
        moments: timestamp of each new version; the key of a document is (`document_thread`, "").
        gone: messages that a fork dropped; their entry in `moments` is the time of the fork.
    """
    events = []
    for unit in units:
        document = (document_thread(unit.document_id), "") if unit.document_id else None
        places = [document] if document else [(unit.thread, source) for source in unit.sources]
        moment = max(moments[place] for place in places if place in moments)
        dropped = not set(gone).isdisjoint(places)
        reason = DOCUMENT_CHANGED if document else FORKED if dropped else MESSAGE_EDITED
        at = _after(ledger.units.validity(bank, unit.id), max(moment, unit.mentioned_at))
        events.append(ValidityEvent(unit.id, ValidityKind.CLOSED, at, reason=reason))
    return events


def restoring_events(ledger: LedgerReader, bank: str, units: Sequence[MemoryUnit]) -> list[ValidityEvent]:
    """Return events that restore units: an edit had invalidated them, and a later edit repeats them word for word."""
    stored = _units_by_row(ledger, bank, [unit.id for unit in units])
    moments = {unit.id: unit.mentioned_at for unit in units}
    events = []
    for unit in stored.values():
        log = ledger.units.validity(bank, unit.id) if unit.closed_at else []
        if log and log[-1].kind is ValidityKind.CLOSED and log[-1].reason == MESSAGE_EDITED:
            at = _after(log, moments[unit.id])
            events.append(ValidityEvent(unit.id, ValidityKind.RESTORED, at, reason=MESSAGE_EDITED))
    return events


def returning_events(
    ledger: LedgerReader, bank: str, back: Sequence[Place], *, gone: Collection[Place], at: datetime
) -> list[ValidityEvent]:
    """Return events that restore the units of messages that are part of the conversation again.

    A unit that also has a source outside the conversation stays invalid.

    Args:
        ledger: the ledger, with the validity logs of the units.
        bank: the bank's name.
        back: messages that a fork had dropped and that are part of the conversation again.
        gone: messages that are not part of the conversation.
        at: the time of their return.
    """
    events = []
    for unit in units_of(ledger, bank, back, closed=True, waiting=True):
        if _is_gone(unit, gone):
            continue
        log = ledger.units.validity(bank, unit.id)
        if log and log[-1].kind is ValidityKind.CLOSED and log[-1].reason == FORKED:
            events.append(ValidityEvent(unit.id, ValidityKind.RESTORED, _after(log, at), reason=FORKED))
    return events


def undone_events(
    ledger: LedgerReader,
    bank: str,
    units: Sequence[MemoryUnit],
    *,
    gone: Collection[Place],
    at: datetime,
    reason: str,
) -> list[ValidityEvent]:
    """Return events that restore the memories and items that units of edited or dropped messages had invalidated.

    A memory stays invalid if another statement invalidated it as well, or if its own message was dropped. In the second
    case, an event records the drop as the new reason, so that the memory is restored when its message returns.

    Args:
        ledger: the ledger, with the validity logs of the units.
        bank: the bank's name.
        units: the units of the edited or dropped messages.
        gone: messages that are not part of the conversation.
        at: the time of the edit or drop.
        reason: the reason of the events, such as `MESSAGE_EDITED`.
    """
    events = []
    for unit, log in _ended_by(ledger, bank, units):
        kind, by = ValidityKind.RESTORED, log[-1].by_unit
        if _is_gone(unit, gone):
            kind, by = ValidityKind.CLOSED, None
        events.append(ValidityEvent(unit.id, kind, _after(log, at), by, reason))
    return events


def undone_by(
    ledger: LedgerReader, bank: str, edited: Sequence[Place], *, gone: Collection[Place]
) -> list[MemoryUnit]:
    """Return the memories and items that `undone_events` restores when these messages are edited or dropped.

    Args:
        ledger: the ledger, with the validity logs of the units.
        bank: the bank's name.
        edited: the edited or dropped messages.
        gone: messages that are not part of the conversation.
    """
    units = units_of(ledger, bank, edited) if edited else []
    return [unit for unit, _ in _ended_by(ledger, bank, units) if not _is_gone(unit, gone)]


def _ended_by(
    ledger: LedgerReader, bank: str, units: Sequence[MemoryUnit]
) -> list[tuple[MemoryUnit, list[ValidityEvent]]]:
    """Return the invalid memories and items that one of these units invalidated last, with their logs."""
    ending = {unit.id for unit in units}
    ended = {event.unit_id for event in _closings(ledger, bank, sorted(ending))}
    stored = _units_by_row(ledger, bank, sorted(ended)).values()
    logs = [(unit, ledger.units.validity(bank, unit.id)) for unit in stored]
    return [
        (unit, log) for unit, log in logs if log[-1].kind is ValidityKind.CLOSED and log[-1].by_unit in ending
    ]


def _is_gone(unit: MemoryUnit, gone: Collection[Place]) -> bool:
    """Return whether a message that the unit was made from is not part of the conversation."""
    return any((unit.thread, source) in gone for source in unit.sources)


def stated_again_events(
    ledger: LedgerReader, bank: str, units: Sequence[str], *, at: datetime
) -> list[ValidityEvent]:
    """Return events that invalidate again the memories that the restored units had invalidated."""
    events = []
    for stated in _closings(ledger, bank, sorted(units)):
        log = ledger.units.validity(bank, stated.unit_id)
        if log[-1].reason == FORKED:
            events.append(replace(stated, effective_at=_after(log, at)))
    return events


def _closings(ledger: LedgerReader, bank: str, units: Sequence[str]) -> list[ValidityEvent]:
    """Return the events by which these units invalidated others, one for each pair of units."""
    closings = {
        (event.unit_id, event.by_unit): event
        for event in ledger.units.stated_by(bank, units)
        if event.kind is ValidityKind.CLOSED
    }
    return list(closings.values())


def extracted_too_late(ledger: LedgerReader, bank: str, units: Sequence[MemoryUnit]) -> list[ValidityEvent]:
    """Return events that invalidate units that a task made from messages dropped by a fork before the task ran."""
    places = sorted({(unit.thread, source) for unit in units for source in unit.sources})
    dropped = ledger.turns.dropped(bank, places) if places else frozenset()
    return [
        ValidityEvent(unit.id, ValidityKind.CLOSED, unit.mentioned_at, reason=FORKED)
        for unit in units
        if _is_gone(unit, dropped)
    ]


def _units_by_row(ledger: LedgerReader, bank: str, unit_ids: Sequence[str]) -> Mapping[int, MemoryUnit]:
    rows = ledger.units.row_ids(bank, unit_ids)
    return ledger.units.get(bank, np.array(sorted(rows.values()), np.int64)) if rows else {}


def _after(log: Sequence[ValidityEvent], moment: datetime) -> datetime:
    """Return `moment`, or the next instant after the log's last entry if that is later.

    This keeps the order of edits with equal timestamps.
    """
    return max(moment, next_instant(log[-1].effective_at)) if log else moment


RETRACTABLE = (FactType.WORLD, FactType.EXPERIENCE)  # evidence revises opinions; observations are derived
SEARCHED = 20  # number of nearest memories retrieved for each statement; one with the same text ranks first


@dataclass(frozen=True, slots=True, eq=False)
class SimilarMemory:
    """A memory and its cosine similarity to the query text."""

    unit: MemoryUnit
    cosine: float


@dataclass(frozen=True, slots=True, eq=False)
class ChangeScope:
    """The memories that the facts of one commit may invalidate or change.

    Attributes:
        drafts: the drafts of the commit, in order.
        view: a view of the bank.
        changed: the event by which the commit invalidates or restores a memory or item after an edit or fork, by its id.
        ended: the memories and items that the commit has invalidated so far, by id.
        moved: the items of the commit that were added to a document of the bank or of another draft, by id.
    """

    drafts: Sequence[UnitDraft]
    view: BankView
    changed: Mapping[str, ValidityEvent] = field(default_factory=dict)
    ended: dict[str, MemoryUnit] = field(default_factory=dict)
    moved: dict[str, MemoryUnit] = field(default_factory=dict)

    def items_of(self, document: MemoryUnit) -> dict[int, MemoryUnit]:
        """Return all items of a document by number, including invalid items and items added by the commit."""
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
        """Return the ids of a draft's items, which the draft may add to another document."""
        return frozenset(draft.unit.id for draft in self.drafts if draft.unit.part_of == by.id)

    def move_items(self, by: MemoryUnit, document: MemoryUnit) -> None:
        """Add the items of a draft to a document; their numbers follow those of the document's items."""
        last = max((document.number, *self.items_of(document)))
        own = (draft.unit for draft in self.drafts if draft.unit.part_of == by.id)
        for number, item in enumerate(own, last + 1):
            self.moved[item.id] = replace(item, part_of=document.id, number=number)

    def earlier(self, position: int) -> Iterator[tuple[int, MemoryUnit]]:
        """Yield the earlier drafts of the commit that the draft at `position` may change, with their positions."""
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
        """Return whether a memory was invalid when `by` was mentioned."""
        if unit.id in self.ended:
            return True
        if change := self.changed.get(unit.id):
            return change.kind is ValidityKind.CLOSED
        return ended_by(unit.closed_at, by.mentioned_at)

    def stored(self, unit_ids: Sequence[str]) -> list[MemoryUnit]:
        """Return the memories with these ids; ids that are not in the bank are ignored."""
        rows = self.view.ledger.units.row_ids(self.view.bank, list(unit_ids))
        ids = np.fromiter(rows.values(), np.int64, len(rows))
        return list(self.view.ledger.units.get(self.view.bank, ids).values()) if len(ids) else []

    def restored(self) -> list[MemoryUnit]:
        """Return the memories that the commit restores."""
        return self.stored(
            [name for name, event in self.changed.items() if event.kind is ValidityKind.RESTORED]
        )

    def nearest(
        self, text: str, vector: Vector, position: int, *, valid: bool = True
    ) -> Iterator[SimilarMemory]:
        """Yield the valid (or invalid) memories nearest to a text by meaning and words: drafts first, then those of the bank.

        Args:
            text: the text.
            vector: the vector of the text.
            position: the position of the draft that may change them.
            valid: False searches invalid memories.
        """
        by = self.drafts[position].unit
        drafts = {
            place: unit for place, unit in self.earlier(position) if self.is_ended(unit, by) is not valid
        }
        if drafts:
            cosines = np.stack([self.drafts[place].vector for place in drafts]) @ vector
            units = list(drafts.values())
            for place in np.argsort(-cosines, kind="stable")[:SEARCHED].tolist():
                yield SimilarMemory(units[place], float(cosines[place]))
        known = {unit.id for unit in drafts.values()}
        for candidate in self._stored(text, vector, by, valid=valid):
            if candidate.unit.id not in known:
                yield candidate

    def _stored(self, text: str, vector: Vector, by: MemoryUnit, *, valid: bool) -> Iterator[SimilarMemory]:
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
                yield SimilarMemory(unit, float(vectors[row] @ vector))


def precedes(unit: MemoryUnit, by: MemoryUnit) -> bool:
    """Return whether `by` may invalidate `unit`: `unit` was mentioned no later, and in other messages or another passage."""
    same_messages = unit.thread == by.thread and bool(set(unit.sources) & set(by.sources))
    same_passage = not by.sources and unit.document_id == by.document_id and unit.chunk == by.chunk
    mentioned_before = no_later(unit.mentioned_at, by.mentioned_at)
    return unit.id != by.id and mentioned_before and not same_messages and not same_passage


def same_tags(unit: MemoryUnit, by: MemoryUnit) -> bool:
    """Return whether two memories have the same visibility tags."""
    return set(unit.tags) == set(by.tags)


def ended_by(moment: datetime | None, by: datetime) -> bool:
    """Return whether `moment` is not later than `by`, at a precision of one second."""
    return moment is not None and no_later(moment, by)


logger = logging.getLogger("hindsight_integrations")


@dataclass(frozen=True, slots=True)
class Judgement:
    """A model's answer about the memories that statements end.

    Attributes:
        ends: the ids of the ended memories, by statement and id of the memory that states it; contains only statements
            that the model was asked about.
        usage: the cost of the model calls.
    """

    ends: Mapping[tuple[str, str], frozenset[str]] = field(default_factory=dict)
    usage: Usage = NO_USAGE


NOT_ASKED = Judgement()


async def judgement_on(statements: Sequence[OpenStatement], llm: LLMExtractor) -> Judgement:
    """Ask a model in one request which memories the first `MOST_STATEMENTS` of these statements end; return `NOT_ASKED` if it fails.

    Args:
        statements: the open statements of one commit, with their candidates.
        llm: the extractor that calls the model.
    """
    open_statements = [statement for statement in statements if statement.candidates][:MOST_STATEMENTS]
    if not open_statements:
        return NOT_ASKED
    try:
        answer = await llm.endings(open_statements)
    except ModelError as error:
        logger.warning(
            "the model gave no usable answer about %d statements: %s",
            len(open_statements),
            type(error).__name__,
        )
        return NOT_ASKED
    if answer.output is None:
        return Judgement({}, answer.usage)
    units = numbered_candidates(open_statements)
    named = {
        number: {units[memory].id for ending in answer.output.endings if ending.statement == number
                 for memory in ending.memories if memory in units}
        for number in range(1, len(open_statements) + 1)
    }  # fmt: skip
    ends = {
        (statement.text, statement.by.id): frozenset(unit.id for unit in statement.candidates) & named[number]
        for number, statement in enumerate(open_statements, 1)
    }
    return Judgement(ends, answer.usage)


# number of candidate memories for a statement that equals the text of none; a person or a model chooses
LISTED = MOST_CANDIDATES
RELATED = 0.3  # minimum similarity, on the reference scale, at which a memory is listed as a candidate

WHEN = " | When: "
"""The separator between a memory's main text and its dimensions (`ExtractedFact.narrative`)."""

_END = " .!\u3002"
"""Final punctuation that does not change the meaning of a sentence. (A question mark would.)"""


@dataclass(frozen=True, slots=True)
class StatementEffect:
    """The effect of a statement in `invalidates`: it ends the valid memory with the same text, if there is exactly one.

    Attributes:
        ended: the memory that the statement ends; None if it ends no memory.
        candidates: the memories that the statement may mean if it ends none, the nearest first.
        similarity: the similarity of the nearest candidate, on the reference scale; 1 if several memories
            have the text of the statement.
        known: True if a memory with this text is invalid already.
    """

    ended: MemoryUnit | None = None
    candidates: tuple[MemoryUnit, ...] = ()
    similarity: float = 0.0
    known: bool = False


def statement_effect(
    text: str, vector: Vector, position: int, reach: ChangeScope, thresholds: Thresholds
) -> StatementEffect:
    """Determine the effect of one statement of the draft at `position`.

    Args:
        text: the statement that is no longer true.
        vector: the vector of the statement.
        position: the position of the draft.
        reach: the memories that the draft may change.
        thresholds: the similarity thresholds of the embedder.
    """
    by = reach.drafts[position].unit
    near = list(reach.nearest(text, vector, position))
    equal = {unit.id: unit for _, unit in reach.earlier(position) if not reach.is_ended(unit, by)}
    equal = {key: unit for key, unit in equal.items() if says(unit, text, by)}
    equal |= {each.unit.id: each.unit for each in near if says(each.unit, text, by)}
    equal |= {
        unit.id: unit for unit in reach.restored() if says(unit, text, by) and not reach.is_ended(unit, by)
    }
    if len(equal) == 1:
        return StatementEffect(ended=next(iter(equal.values())))
    if equal:
        return StatementEffect(candidates=tuple(equal.values())[:LISTED], similarity=1.0)
    if any(says(unit, text, by) for unit in reach.ended.values()):
        return StatementEffect(known=True)
    before = (
        each.unit
        for each in reach.nearest(text, vector, position, valid=False)
        if reach.is_ended(each.unit, by)
    )
    # The memory with this text is invalid already: the statement repeats this, or means a later, similar memory.
    return replace(_related(near, thresholds), known=any(says(unit, text, by) for unit in before))


def says(unit: MemoryUnit, statement: str, by: MemoryUnit) -> bool:
    """Return whether a memory equals a statement, ignoring case, white space and the final full stop.

    Dimensions after the memory's main text are ignored. The speaker's name before a message is ignored unless another person
    makes the statement, because "I live in Graz" means different things from two people.
    """
    said = _folded(statement)
    texts = [unit.text, unit.what, unit.text.split(WHEN, 1)[0]]
    if unit.speaker and by.speaker in {"", unit.speaker}:
        texts.append(unit.text.removeprefix(f"{unit.speaker}: "))
    return bool(said) and said in map(_folded, texts)


def _folded(text: str) -> str:
    return normalised_text(text).rstrip(_END)


def _related(near: list[SimilarMemory], thresholds: Thresholds) -> StatementEffect:
    """Return the effect of a statement with no equal memory, with the similar memories as candidates."""
    ranked = sorted(near, key=lambda each: -each.cosine)[:LISTED]
    similar = [(each.unit, passage_cosine(each.cosine, thresholds)) for each in ranked]
    similar = [(unit, similarity) for unit, similarity in similar if similarity >= RELATED]
    return StatementEffect(
        candidates=tuple(unit for unit, _ in similar), similarity=similar[0][1] if similar else 0.0
    )


# A memory is named by its number in the prompt (by a model), or by id or sources (by a caller).
@dataclass(frozen=True, slots=True)
class ResolvedName:
    """The memory that a fact names, or the reason why it cannot be changed.

    The memory must exist, have been mentioned earlier and have the same tags; a fact that replaces it must
    repeat every detail that is still valid. A change that fails a check is reported and has no effect.

    Attributes:
        unit: the memory; None if none or several match.
        refused: the reason why the change is refused; empty if it is allowed.
        candidates: the ids of the matching memories, if the sources match several.
    """

    unit: MemoryUnit | None
    refused: str = ""
    candidates: tuple[str, ...] = ()


def resolve_changes(position: int, reach: ChangeScope) -> Iterator[tuple[ExtractedChange, ResolvedName]]:
    """Yield each change of the draft at `position` with the memory that it names, or the reason why it has no effect.

    Changes of memories that are invalid already are omitted.

    Args:
        position: the position of the draft.
        reach: the memories that the draft may change.
    """
    for change in reach.drafts[position].changes:
        named = _resolve(change, position, reach, documents=change.change is MemoryChange.REMOVES)
        if named is None:
            continue
        if change.change is MemoryChange.REPLACES and named.unit is not None and not named.refused:
            draft = reach.drafts[position]
            named = replace(named, refused=_problem_of_replacing(draft, change, named.unit, reach))
        yield change, named


def resolve_document(position: int, reach: ChangeScope) -> ResolvedName | None:
    """Resolve the document to which the draft at `position` adds its items; return None if the draft names no document."""
    draft = reach.drafts[position]
    if draft.adds_to is None:
        return None
    resolved = _resolve(draft.adds_to, position, reach, documents=True)
    return resolved or ResolvedName(None, "the named document is no longer valid")


def _resolve(name: NamedMemory, position: int, reach: ChangeScope, *, documents: bool) -> ResolvedName | None:
    """Resolve a name to a memory, a reason, or several candidates; return None if all matches are invalid already."""
    draft = reach.drafts[position]
    matches = (
        _made_from(name.sources, position, reach) if name.sources else _of_id(name.unit_id, position, reach)
    )
    if not matches:
        return ResolvedName(None, _missing(name, draft))
    valid = [unit for unit in matches if not reach.is_ended(unit, draft.unit)]
    if not valid:
        return None
    refused = [
        refusal(draft.unit, unit) or ("" if not documents or reach.items_of(unit) else NO_DOCUMENT)
        for unit in valid
    ]
    fitting = [unit for unit, problem in zip(valid, refused, strict=True) if not problem]
    if len(fitting) > 1:
        return ResolvedName(None, candidates=tuple(unit.id for unit in fitting))
    return ResolvedName(fitting[0]) if fitting else ResolvedName(valid[0], refused[0])


def _problem_of_replacing(
    draft: UnitDraft, change: ExtractedChange, unit: MemoryUnit, reach: ChangeScope
) -> str:
    """Describe the details of the replaced memory that the draft omits; empty if it omits none."""
    names = [mention.text for mention in draft.mentions]
    own = [item.records[0] for item in reach.items_of(draft.unit).values()]
    texts = told_texts(draft.unit.text, names, [*draft.unit.records, *own], change.removed)
    items = reach.items_of(unit).values()
    valid = [item.records[0] for item in items if not reach.is_ended(item, draft.unit)]
    whole = replace(unit, records=(*unit.records, *valid))
    return problem_of_replacing(untold(whole, _names_of(unit, reach), texts))


def _names_of(unit: MemoryUnit, reach: ChangeScope) -> list[tuple[str, ...]]:
    """Return the names of a memory's entities; for a draft, the names of its mentions."""
    for draft in reach.drafts:
        if draft.unit.id == unit.id:
            return names_of_mentions(draft.mentions)
    rows = np.array(list(reach.view.ledger.units.row_ids(reach.view.bank, [unit.id]).values()), np.int64)
    entities = reach.view.ledger.entities.of_units(reach.view.bank, rows)
    return names_of_entities(entity for each in entities.values() for entity in each)


def _of_id(unit_id: str, position: int, reach: ChangeScope) -> list[MemoryUnit]:
    return reach.stored([unit_id]) or [
        draft.unit for draft in reach.drafts[:position] if draft.unit.id == unit_id
    ]


def _made_from(sources: Sequence[str], position: int, reach: ChangeScope) -> list[MemoryUnit]:
    """Return the memories made from exactly these messages; if there are none, those made from these and other messages.

    The fact's own thread is searched first, the other threads only if it contains no match.
    """
    ledger, bank, thread = reach.view.ledger, reach.view.bank, reach.drafts[position].unit.thread
    wanted = set(sources)
    drafts = [draft.unit for draft in reach.drafts[:position] if wanted & set(draft.unit.sources)]
    own = [(thread, source) for source in sources]
    for places in (own, ledger.turns.places(bank, sources)):
        threads = {place[0] for place in places}
        rows = {
            row
            for closed in (False, True)
            for row in ledger.units.of_messages(bank, places, closed=closed).tolist()
        }
        near = [
            *_stored(rows, reach),
            *(unit for unit in drafts if places is not own or unit.thread in threads),
        ]
        units = {
            unit.id: unit for unit in near if wanted <= set(unit.sources) and unit.kind is UnitKind.MEMORY
        }
        exact = [unit for unit in units.values() if wanted == set(unit.sources)]
        if matches := exact or list(units.values()):
            return matches
    return []


def _stored(rows: Iterable[int], reach: ChangeScope) -> list[MemoryUnit]:
    ids = np.array(sorted(rows), np.int64)
    return list(reach.view.ledger.units.get(reach.view.bank, ids).values()) if len(ids) else []


def _missing(name: NamedMemory, draft: UnitDraft) -> str:
    if not name.sources:
        return "the named memory is not in this bank"
    if set(name.sources) <= set(draft.unit.sources):
        return "`sources` are the fact's own messages"
    return f"no memory was made from {', '.join(name.sources)}"


NO_DOCUMENT = "the named memory is not a document: it has no items"


def refusal(by: MemoryUnit, unit: MemoryUnit) -> str:
    """Return the reason why the fact `by` may not end or change the memory `unit`; empty if it may."""
    if unit.kind is UnitKind.DOCUMENT_ITEM:
        return (
            "the named memory is an item of a document; name the document, and the item's number in `items`"
        )
    if unit.kind is not UnitKind.MEMORY:
        return f"the named memory is of kind {unit.kind}, which a fact cannot change"
    if unit.fact_type not in RETRACTABLE:
        return f"the named memory is of type {unit.fact_type}, which a fact cannot change"
    if not precedes(unit, by):
        return "the named memory was mentioned later, or in the same messages"
    if not same_tags(unit, by):
        return "the named memory has different tags"
    return ""


FORGET_REQUESTED = "a person asked to forget it"
CERTAIN = 1.0  # score of each candidate if several memories were made from the same `sources`


@dataclass(slots=True)
class Retraction:
    """The changes that the facts of a commit make: validity events to commit, and the entries of the result."""

    reach: ChangeScope
    events: list[ValidityEvent] = field(default_factory=list)
    closed: list[Withdrawal] = field(default_factory=list)
    removed: list[Withdrawal] = field(default_factory=list)
    ambiguous: list[Ambiguity] = field(default_factory=list)
    open: list[OpenStatement] = field(default_factory=list)
    """The statements whose effect a model has to decide."""
    forgotten: list[ForgetRequest] = field(default_factory=list)
    """The requests to forget, with the memories that they invalidated."""
    refused: dict[str, list[Dropped]] = field(default_factory=dict)
    """The changes without effect and their reasons, by the id of the unit that made them."""

    def note_stated(
        self, draft: UnitDraft, statement: str, effect: StatementEffect, judgement: Judgement
    ) -> None:
        """Apply one statement: end the memory with its text; if there is none, end the candidates that the model selected."""
        by = draft.unit
        ends = judgement.ends.get((statement, by.id))
        if effect.ended is not None:
            self._end(effect.ended, by, statement)
        elif ends is not None:
            for unit in effect.candidates:
                if unit.id in ends:
                    self._end(unit, by, statement)
        else:
            if not effect.known:
                candidates = tuple(unit.id for unit in effect.candidates)
                self.ambiguous.append(Ambiguity(statement, by.id, candidates, effect.similarity))
            if draft.said_by_person and not draft.given:
                self.open.append(OpenStatement(statement, by, effect.candidates))

    def note_named(self, by: MemoryUnit, change: ExtractedChange, named: ResolvedName) -> None:
        """Apply one change to the memory that a unit names."""
        if named.candidates:
            words = f"memories made from {', '.join(change.sources)}"
            self.ambiguous.append(Ambiguity(words, by.id, named.candidates, CERTAIN))
        elif named.refused or named.unit is None:
            self._refuse(by, f"changes: {named.refused}")
        elif change.change is MemoryChange.REMOVES:
            self._remove(named.unit, by, change.items)
        else:
            self._end(named.unit, by, named.unit.text)

    def note_forgotten(self, forgettings: Sequence[Forgetting]) -> None:
        """Invalidate the memories that people asked to forget, except those that a message may not change."""
        for forgetting in forgettings:
            request, by = forgetting.request, forgetting.asked
            units = [unit for unit in self.reach.stored(request.unit_ids) if not refusal(by, unit)]
            closed = [unit for unit in units if not self.reach.is_ended(unit, by)]
            for unit in closed:
                self._close_whole(unit, by, FORGET_REQUESTED)
            self.forgotten.append(replace(request, unit_ids=tuple(unit.id for unit in closed)))

    def note_added(self, by: MemoryUnit, named: ResolvedName) -> None:
        """Add the items of a unit to the document that it names. If that fails, they stay with the unit."""
        if named.unit is not None and not named.refused:
            self.reach.move_items(by, named.unit)
        elif named.candidates:
            several = "adds_to: several documents were made from these messages; name one by `unit_id`"
            self._refuse(by, several)
        else:
            self._refuse(by, f"adds_to: {named.refused}")

    def _refuse(self, by: MemoryUnit, reason: str) -> None:
        self.refused.setdefault(by.id, []).append(Dropped(by.text[:EXCERPT_CHARACTERS], reason))

    def _end(self, unit: MemoryUnit, by: MemoryUnit, text: str) -> None:
        """Invalidate a memory, unless the commit has already invalidated it."""
        if unit.id not in self.reach.ended:
            self._close_whole(unit, by, text)
            self.closed.append(Withdrawal(unit.id, by.id, text))

    def _close_whole(self, unit: MemoryUnit, by: MemoryUnit, text: str) -> None:
        """Invalidate a memory and, if it is a document, its valid items."""
        self._close(unit, by, text)
        for item in self.reach.items_of(unit).values():
            if not self.reach.is_ended(item, by):
                self._close(item, by, text)

    def _remove(self, document: MemoryUnit, by: MemoryUnit, numbers: Sequence[int]) -> None:
        """Invalidate items of a document; report numbers that do not exist."""
        items = self.reach.items_of(document)
        if not numbers:
            self._refuse(by, "changes: `items` is empty; list the numbers of the items to remove")
        for number in dict.fromkeys(numbers):
            item = items.get(number)
            if item is None:
                self._refuse(by, f"changes: the document has no item {number}; the last one is {max(items)}")
            elif item.id in self.reach.own_items(by):
                self._refuse(by, f"changes: item {number} is added by the same fact")
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
    drafts: Sequence[UnitDraft],
    view: BankView,
    thresholds: Thresholds,
    judgement: Judgement = NOT_ASKED,
    versions: Sequence[ValidityEvent] = (),
) -> Retraction:
    """Apply each draft's changes in order: first changes of memories that it names, then those that follow from its statements.

    Args:
        drafts: the drafts of the commit, in order.
        view: a view of the bank.
        thresholds: the similarity thresholds of the embedder.
        judgement: a model's answer about the statements without an equal memory.
        versions: the events by which the commit invalidates and restores memories after edits and forks.
    """
    reach = ChangeScope(drafts, view, changed={event.unit_id: event for event in versions})
    retraction = Retraction(reach)
    for position, draft in enumerate(drafts):
        if draft.unit.kind is UnitKind.DOCUMENT_ITEM:
            continue
        for change, named in list(resolve_changes(position, reach)):
            retraction.note_named(draft.unit, change, named)
        # Afterwards, so that a document that the draft replaces does not receive its items.
        if document := resolve_document(position, reach):
            retraction.note_added(draft.unit, document)
        for text in dict.fromkeys(draft.invalidates):
            effect = statement_effect(text, draft.statements[text], position, reach, thresholds)
            retraction.note_stated(draft, text, effect, judgement)
    return retraction


def with_withdrawals(result: RetainResult, retraction: Retraction) -> RetainResult:
    """Add to a result the changes that its own units made; a commit may contain several retains."""
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
