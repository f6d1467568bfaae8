"""Superseding: units of an earlier version are closed, and restored when their wording comes back.

The version retained last wins. Units of the earlier one are closed from the new version's timestamp on; an editor who
keeps the message's own time so states that the earlier wording never held.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

import numpy as np

from hindsight_integrations.ledger.ledger import LedgerReader
from hindsight_integrations.model.time import next_instant
from hindsight_integrations.model.units import MemoryUnit, ValidityEvent, ValidityKind
from hindsight_integrations.model.writes import Place
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
    """Valid (or closed) units that stand on these messages, in whatever wording; none for messages never retained.

    Args:
        ledger: of the bank.
        bank: the bank.
        places: the messages.
        closed: those that hold no more, instead of those that do.
        waiting: also the messages themselves, where they wait for extraction.
    """
    rows = ledger.units.of_messages(bank, places, closed=closed, waiting=waiting)
    return list(ledger.units.get(bank, rows).values())


def sharing_units(units: Iterable[MemoryUnit], edited: Iterable[Place]) -> frozenset[Place]:
    """Messages that share a unit with an edited one: that unit ends, so what they add to it must be read again."""
    return frozenset((unit.thread, source) for unit in units for source in unit.sources) - set(edited)


def left_without_units(
    ledger: LedgerReader, bank: str, closing: Sequence[MemoryUnit], edited: set[Place]
) -> set[Place]:
    """Messages all of whose valid units are about to be closed, though they themselves did not change."""
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
    """Close units that stood on an earlier version of a message or document.

    Args:
        ledger: whose log is continued.
        bank: the bank.
        units: what is to be closed, valid now.
        moments: timestamp of each new version; a document's under (`document_thread`, "").
        gone: messages that a fork dropped; their moment is when it was made.
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
    """Restore units an edit had closed and another edit brings back in the very words; other closed units stay closed."""
    stored = _stored(ledger, bank, [unit.id for unit in units])
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
    """Restore units of messages that are part of the conversation again, unless they stand on one that is not.

    Args:
        ledger: whose log is continued.
        bank: the bank.
        back: messages that a fork had dropped.
        gone: those that are not part of it.
        at: when they came back.
    """
    absent, events = set(gone), []
    for unit in units_of(ledger, bank, back, closed=True, waiting=True):
        if not absent.isdisjoint((unit.thread, source) for source in unit.sources):
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
    """Restore what units of edited or dropped messages had ended, memories and items: it was never said that it ended.

    What another statement ended as well, or was closed otherwise since, stays closed. So does a unit that was dropped
    itself: it is closed for that reason from now on, which its own return undoes.

    Args:
        ledger: whose log is continued.
        bank: the bank.
        units: those of the messages.
        gone: messages that are not part of the conversation.
        at: when they were edited or dropped.
        reason: which of the two.
    """
    ending, absent, events = {unit.id for unit in units}, set(gone), []
    for stated in _closings(ledger, bank, sorted(ending)):
        log = ledger.units.validity(bank, stated.unit_id)
        last = log[-1]
        if last.kind is ValidityKind.RESTORED or last.by_unit not in ending:
            continue
        stored = _stored(ledger, bank, [stated.unit_id])
        for unit in stored.values():
            dropped = not absent.isdisjoint((unit.thread, source) for source in unit.sources)
            kind = ValidityKind.CLOSED if dropped else ValidityKind.RESTORED
            by = None if kind is ValidityKind.CLOSED else last.by_unit
            events.append(ValidityEvent(stated.unit_id, kind, _after(log, at), by, reason))
    return events


def undone_by(ledger: LedgerReader, bank: str, edited: Sequence[Place]) -> list[MemoryUnit]:
    """Memories and items that hold again once these messages have another wording: their units had ended them."""
    if not edited:
        return []
    ending = {unit.id for unit in units_of(ledger, bank, edited)}
    ended = {stated.unit_id for stated in _closings(ledger, bank, sorted(ending))}
    last = {unit_id: ledger.units.validity(bank, unit_id)[-1] for unit_id in sorted(ended)}
    held = [
        unit_id
        for unit_id, event in last.items()
        if event.kind is ValidityKind.CLOSED and event.by_unit in ending
    ]
    return list(_stored(ledger, bank, held).values())


def stated_again_events(
    ledger: LedgerReader, bank: str, units: Sequence[str], *, at: datetime
) -> list[ValidityEvent]:
    """Close again what units that are restored had closed, and what was restored, or dropped itself, for want of them."""
    events = []
    for stated in _closings(ledger, bank, sorted(units)):
        log = ledger.units.validity(bank, stated.unit_id)
        if log[-1].reason == FORKED:
            events.append(replace(stated, effective_at=_after(log, at)))
    return events


def _closings(ledger: LedgerReader, bank: str, units: Sequence[str]) -> list[ValidityEvent]:
    """What these units closed, each unit once."""
    found = {
        (event.unit_id, event.by_unit): event
        for event in ledger.units.stated_by(bank, units)
        if event.kind is ValidityKind.CLOSED
    }
    return list(found.values())


def extracted_too_late(ledger: LedgerReader, bank: str, units: Sequence[MemoryUnit]) -> list[ValidityEvent]:
    """Close units that a task made of messages which a fork dropped while they waited."""
    places = sorted({(unit.thread, source) for unit in units for source in unit.sources})
    dropped = ledger.turns.dropped(bank, places) if places else frozenset()
    return [
        ValidityEvent(unit.id, ValidityKind.CLOSED, unit.mentioned_at, reason=FORKED)
        for unit in units
        if not dropped.isdisjoint((unit.thread, source) for source in unit.sources)
    ]


def _stored(ledger: LedgerReader, bank: str, unit_ids: Sequence[str]) -> Mapping[int, MemoryUnit]:
    rows = ledger.units.row_ids(bank, unit_ids)
    return ledger.units.get(bank, np.array(sorted(rows.values()), np.int64)) if rows else {}


def _after(log: Sequence[ValidityEvent], moment: datetime) -> datetime:
    """`moment`, or just after the last entry of the log: edits back and forth under one timestamp keep their order."""
    return max(moment, next_instant(log[-1].effective_at)) if log else moment
