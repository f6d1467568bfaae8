"""What an edited message or a changed document said before: closed, and restored when it is said again (design section 5).

The version retained last wins. What the earlier one said is closed from the new version's timestamp on; an editor who
keeps the message's own time so says that the earlier wording never held.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from hindsight_integrations.model.time import MICROSECOND
from hindsight_integrations.model.units import MemoryUnit, ValidityEvent, ValidityKind
from hindsight_integrations.model.writes import DocumentWrite, MessageKey
from hindsight_integrations.ports.ledger import LedgerReader
from hindsight_integrations.tempr.retain.documents import DocumentPlan
from hindsight_integrations.validation.intake import document_thread

MESSAGE_EDITED = "message edited"
DOCUMENT_CHANGED = "document changed"

Place = tuple[str, str]
"""A message by (thread, message id)."""


@dataclass(frozen=True, slots=True)
class DocumentChange:
    """A document to store, and what that changes of the version stored before."""

    write: DocumentWrite
    plan: DocumentPlan


def said_before(ledger: LedgerReader, bank: str, places: Sequence[Place]) -> list[MemoryUnit]:
    """Valid units that stand on an earlier version of these messages; none for messages never retained."""
    return list(ledger.units(bank, ledger.units_of_messages(bank, places)).values())


def partners(units: Iterable[MemoryUnit], edited: Iterable[Place]) -> frozenset[Place]:
    """Messages that share a unit with an edited one: that unit goes, so what they add to it must be read again."""
    return frozenset((unit.thread, source) for unit in units for source in unit.sources) - set(edited)


def left_untold(
    ledger: LedgerReader, bank: str, closing: Sequence[MemoryUnit], edited: set[Place]
) -> set[Place]:
    """Messages all of whose valid units are about to be closed, though they themselves did not change."""
    others = partners(closing, edited)
    if not others:
        return set()
    gone = {unit.id for unit in closing}
    staying = (unit for unit in said_before(ledger, bank, sorted(others)) if unit.id not in gone)
    return set(others - {(unit.thread, source) for unit in staying for source in unit.sources})


def superseding_events(
    ledger: LedgerReader,
    bank: str,
    units: Iterable[MemoryUnit],
    moments: Mapping[Place, datetime],
) -> list[ValidityEvent]:
    """Close units that stood on an earlier version of a message or document.

    Args:
        ledger: whose log is continued.
        bank: the bank.
        units: what is to be closed, valid now.
        moments: timestamp of each new version; a document's under (`document_thread`, "").
    """
    events = []
    for unit in units:
        document = (document_thread(unit.document_id), "") if unit.document_id else None
        places = [document] if document else [(unit.thread, source) for source in unit.sources]
        moment = max(moments[place] for place in places if place in moments)
        reason = DOCUMENT_CHANGED if document else MESSAGE_EDITED
        at = _after(ledger.validity(bank, unit.id), max(moment, unit.mentioned_at))
        events.append(ValidityEvent(unit.id, ValidityKind.CLOSED, at, reason=reason))
    return events


def restoring_events(ledger: LedgerReader, bank: str, units: Sequence[MemoryUnit]) -> list[ValidityEvent]:
    """Restore units an edit had closed and another edit says again in the very words; other closed units stay closed."""
    rows = ledger.row_ids(bank, [unit.id for unit in units])
    stored = ledger.units(bank, np.array(sorted(rows.values()), np.int64)) if rows else {}
    moments = {unit.id: unit.mentioned_at for unit in units}
    events = []
    for unit in stored.values():
        log = ledger.validity(bank, unit.id) if unit.closed_at else []
        if log and log[-1].kind is ValidityKind.CLOSED and log[-1].reason == MESSAGE_EDITED:
            at = _after(log, moments[unit.id])
            events.append(ValidityEvent(unit.id, ValidityKind.RESTORED, at, reason=MESSAGE_EDITED))
    return events


def _after(log: Sequence[ValidityEvent], moment: datetime) -> datetime:
    """`moment`, or just after what the log says last: edits back and forth under one timestamp keep their order."""
    return max(moment, log[-1].effective_at + MICROSECOND) if log else moment


def edited_places(keys: Iterable[MessageKey], known: frozenset[MessageKey]) -> list[Place]:
    """Messages given in a version that is not the known one; most were simply never retained."""
    return [(key.thread, key.message_id) for key in keys if key not in known]
