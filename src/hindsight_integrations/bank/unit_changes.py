"""Look up, edit, invalidate and restore one memory. These functions block; the bank's methods run them on a worker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from hindsight_integrations.bank.context import BankContext
from hindsight_integrations.errors import InvalidRequest, MemoryDamaged, shown
from hindsight_integrations.indexes.embedding import embed_units
from hindsight_integrations.indexes.held_opinions import as_held
from hindsight_integrations.ledger.ledger import LedgerReader
from hindsight_integrations.ledger.values import UnitEdit
from hindsight_integrations.model.links import LinkType
from hindsight_integrations.model.time import next_instant
from hindsight_integrations.model.units import FactType, MemoryUnit, UnitKind, ValidityEvent, ValidityKind
from hindsight_integrations.model.writes import WriteSet
from hindsight_integrations.retain.drafts import UnitDraft
from hindsight_integrations.retain.linking import links_of

RESTORED_BY_HAND = "restored"
WITHDRAWN_BY_HAND = "withdrawn"


def stored_unit(bank: BankContext, unit_id: str) -> MemoryUnit:
    """Get a memory by its id, whether it is valid or not. An opinion has its current confidence.

    Raises:
        InvalidRequest: the bank has no memory with this id.
        MemoryDamaged: the stored memory does not match its checksum.
    """
    ledger = bank.services.ledger
    rows = ledger.units.row_ids(bank.name, [unit_id])
    stored = ledger.units.get(bank.name, np.array(list(rows.values()), np.int64))
    for unit in as_held(stored, ledger, bank.name).values():
        return unit
    if rows:
        raise MemoryDamaged(bank.name, (unit_id,))
    raise InvalidRequest("unit_id", f"{shown(unit_id)} is not in bank {bank.name!r}", "Check the id.")


def corrected(bank: BankContext, unit_id: str, changes: Mapping[str, Any]) -> MemoryUnit:
    """Edit a memory, commit and index the change, and return the edited memory.

    Raises:
        InvalidRequest: the bank has no memory with that id, or the memory is a turn that waits for extraction, belongs to a
            store item, or was derived from facts.
        EmbedderMismatch: another embedder made the bank's vectors.
        ModelError: the text could not be embedded, or its vector is invalid; the memory is unchanged.
    """
    bank.check_embedder()
    unit = replace(stored_unit(bank, unit_id), **changes)
    if unit.kind is UnitKind.TURN:
        raise InvalidRequest(
            "unit_id",
            f"{unit_id!r} is a turn that waits for extraction",
            "Retain the message again in its new wording, or edit its memories after tasks.settle().",
        )
    if unit.kind is UnitKind.ITEM:
        raise InvalidRequest(
            "unit_id",
            f"{unit_id!r} belongs to a store item and cannot be edited separately",
            "Write the item to its store again, with the new value.",
        )
    if grounds := _grounds(bank, unit_id):
        raise InvalidRequest(
            "unit_id",
            f"{unit_id!r} is derived from facts, so an edit would be overwritten",
            f"Edit or forget its source facts: {', '.join(grounds)}.",
        )
    if "text" in changes:
        unit = replace(unit, tokens=bank.services.tokens.count([unit.text])[0])
    if changes.keys() & {"text", "occurred"}:  # the compact form depends on the changed values
        unit = replace(unit, compact=None)
    if unit.kind is UnitKind.DOCUMENT_ITEM:
        unit = _as_an_item(unit, changes)
    edit = UnitEdit(unit, None, None, tuple(changes), records=unit.kind is UnitKind.DOCUMENT_ITEM)
    if changes.keys() & {"text", "occurred"}:
        edit = _with_vector_and_links(bank, edit)
    bank.services.ledger.units.edit(bank.name, edit, bank.services.clock.now())
    bank.catch_up()
    return stored_unit(bank, unit_id)


def _as_an_item(unit: MemoryUnit, changes: Mapping[str, Any]) -> MemoryUnit:
    """Return an item after an edit, with its record updated if the text changed.

    Raises:
        InvalidRequest: tags were given for an item of a document, whose tags come from the document.
    """
    if "tags" in changes and unit.part_of:
        raise InvalidRequest(
            "tags", f"{unit.id!r} is an item and has the tags of its document", f"Edit {unit.part_of!r}."
        )
    if "text" not in changes:
        return unit
    (record,) = unit.records
    value = unit.text.removeprefix(f"{record.stated}: ") if record.stated else unit.text
    return replace(unit, records=(replace(record, value=value, unit=""),))


def _grounds(bank: BankContext, unit_id: str) -> tuple[str, ...]:
    """Return the ids of an observation's source facts; empty for other memories."""
    ledger = bank.services.ledger
    rows = np.array(list(ledger.units.row_ids(bank.name, [unit_id]).values()), np.int64)
    return next(iter(ledger.observations.grounds_of(bank.name, rows).values()), ())


def _with_vector_and_links(bank: BankContext, edit: UnitEdit) -> UnitEdit:
    """Return the edit with a new vector and new temporal and semantic links."""
    unit, embedder = edit.unit, bank.services.embedder
    vectors = embed_units([unit], embedder)
    threshold = embedder.identity.thresholds.semantic_link
    view = bank.projection.view()
    links = (
        links_of([UnitDraft(unit, vector=vectors[0])], view, threshold)
        if unit.kind is UnitKind.MEMORY
        else []
    )
    kept = tuple(link for link in links if link.type is not LinkType.CAUSAL and link.source != link.target)
    return replace(edit, vector=vectors[0].astype("<f4").tobytes(), links=kept)


def withdrawn(bank: BankContext, unit_id: str, reason: str) -> bool:
    """Invalidate a memory or item; a document includes its items. Return False, without writing, if it is already invalid.

    Raises:
        InvalidRequest: the bank has no such memory; or the memory is a turn that waits for extraction, belongs to a store item,
            is an opinion, or is derived from facts, from which it would be derived again.
    """
    with bank.services.ledger.transaction(bank.name) as transaction:
        unit = stored_unit(bank, unit_id)
        _check_stands_alone(bank, unit)
        if unit.closed_at is not None:
            return False
        log = transaction.units.validity(bank.name, unit_id)
        # After the mention and the last event, even if the clock is behind the conversation's time.
        moments = [unit.mentioned_at, *(next_instant(event.effective_at) for event in log)]
        (row,) = transaction.units.row_ids(bank.name, [unit_id]).values()
        items = _items_of(transaction, bank.name, row)
        # After items that were removed earlier, because `restored` selects the items to restore by time.
        moments += [next_instant(item.closed_at) for item in items if item.closed_at is not None]
        at, why = max(bank.services.clock.now(), *moments), reason or WITHDRAWN_BY_HAND
        ending = [unit_id, *(item.id for item in items if item.closed_at is None)]
        events = (ValidityEvent(each, ValidityKind.CLOSED, at, reason=why) for each in ending)
        transaction.commit(WriteSet(bank.name, transaction.feed.revision, events=tuple(events)))
    bank.catch_up()
    return True


def _check_stands_alone(bank: BankContext, unit: MemoryUnit) -> None:
    """Reject a turn, a text of a store item, or a memory whose validity depends on its source facts."""
    if unit.kind is UnitKind.TURN:
        raise InvalidRequest(
            "unit_id",
            f"{unit.id!r} is a turn that waits for extraction",
            "Withdraw its memories after tasks.settle(), or forget the message.",
        )
    if unit.kind is UnitKind.ITEM:
        raise InvalidRequest(
            "unit_id",
            f"{unit.id!r} belongs to a store item and cannot be invalidated separately",
            "Delete the item from its store.",
        )
    grounds = _grounds(bank, unit.id)
    if unit.fact_type is FactType.OPINION:
        source_facts = f"its source facts ({', '.join(grounds)})" if grounds else "its source facts"
        raise InvalidRequest(
            "unit_id",
            f"{unit.id!r} is an opinion, which is valid while its source facts are",
            f"Withdraw {source_facts}, or erase it with opinions.forget.",
        )
    if grounds:
        raise InvalidRequest(
            "unit_id",
            f"{unit.id!r} is derived from facts, so it would be derived again",
            f"Withdraw its source facts: {', '.join(grounds)}.",
        )


def restored(bank: BankContext, unit_id: str) -> bool:
    """Restore an invalid memory or item; a document includes the items that ended with it. Return False if it is already valid.

    Raises:
        InvalidRequest: the bank has no such memory, or it is an opinion that was reworded.
    """
    with bank.services.ledger.transaction(bank.name) as transaction:
        log = transaction.units.validity(bank.name, unit_id)
        rows = transaction.units.row_ids(bank.name, [unit_id])
        if unit_id not in rows:
            raise InvalidRequest(
                "unit_id", f"the bank has no memory {shown(unit_id)}", "Pass an id that recall returned."
            )
        if not log or log[-1].kind is not ValidityKind.CLOSED:
            return False
        _check_newest(transaction, bank.name, rows[unit_id], unit_id)
        # After the invalidation, even if the clock is behind the conversation's time.
        effective_at = max(bank.services.clock.now(), next_instant(log[-1].effective_at))
        back = [unit_id, *_ended_with(transaction, bank.name, rows[unit_id], log[-1])]
        events = (
            ValidityEvent(each, ValidityKind.RESTORED, effective_at, reason=RESTORED_BY_HAND) for each in back
        )
        transaction.commit(WriteSet(bank.name, transaction.feed.revision, events=tuple(events)))
    bank.catch_up()
    return True


def _items_of(ledger: LedgerReader, bank: str, document: int) -> list[MemoryUnit]:
    """Return all items of the document with this row id; empty if the memory is not a document."""
    rows = [row for some in ledger.units.items_of(bank, np.array([document])).values() for row in some]
    return list(ledger.units.get(bank, np.array(rows, np.int64)).values()) if rows else []


def _ended_with(ledger: LedgerReader, bank: str, document: int, closing: ValidityEvent) -> list[str]:
    """Return the ids of items that became invalid together with their document, but not of items removed earlier."""
    items = _items_of(ledger, bank, document)
    last = {item.id: ledger.units.validity(bank, item.id)[-1] for item in items if item.closed_at is not None}
    return [
        item
        for item, event in last.items()
        if (event.kind, event.by_unit, event.reason) == (closing.kind, closing.by_unit, closing.reason)
        and (event.by_unit or event.effective_at == closing.effective_at)
    ]


def _check_newest(ledger: LedgerReader, bank: str, row: int, unit_id: str) -> None:
    """Reject an opinion's wording that is not its newest."""
    opinions = ledger.opinions.of_units(bank, np.array([row], np.int64))
    for log in ledger.opinions.get(bank, list(opinions.values())):
        if (newest := log.versions[-1].unit_id) != unit_id:
            raise InvalidRequest(
                "unit_id",
                f"{shown(unit_id)} is an opinion that was reworded",
                f"Restore {newest!r}, its newest wording. `opinions.history` lists all wordings.",
            )
