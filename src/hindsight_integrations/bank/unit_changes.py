"""How one memory is looked up, corrected in place, and made valid again. Blocking; the bank's verbs run it on a worker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hindsight_integrations.bank.context import BankContext
from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.model.links import LinkType
from hindsight_integrations.model.time import MICROSECOND, Interval
from hindsight_integrations.model.units import MemoryUnit, ValidityEvent, ValidityKind
from hindsight_integrations.model.writes import WriteSet
from hindsight_integrations.ports.ledger import LedgerReader, UnitEdit
from hindsight_integrations.tempr.retain.drafts import Draft
from hindsight_integrations.tempr.retain.embedding import embedding_text
from hindsight_integrations.tempr.retain.linking import links_of

RESTORED_BY_HAND = "restored"


@dataclass(frozen=True, slots=True)
class UnitChanges:
    """What is to be changed of a memory; None leaves it."""

    text: str | None
    occurred: Interval | None
    tags: tuple[str, ...] | None
    metadata: Mapping[str, str] | None

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of the fields that change."""
        names = ("text", "occurred", "tags", "metadata")
        return tuple(name for name in names if getattr(self, name) is not None)


def stored_unit(bank: BankContext, unit_id: str) -> MemoryUnit:
    """One memory by its id, valid or not.

    Raises:
        InvalidRequest: the bank holds none of that id.
    """
    ledger = bank.tools.ledger
    rows = ledger.row_ids(bank.name, [unit_id])
    for unit in ledger.units(bank.name, np.array(list(rows.values()), np.int64)).values():
        return unit
    raise InvalidRequest("unit_id", f"{unit_id!r} is not in bank {bank.name!r}", "Check the id.")


def corrected(bank: BankContext, unit_id: str, changes: UnitChanges) -> MemoryUnit:
    """The memory as it is after a correction, which is committed and indexed.

    Raises:
        InvalidRequest: the bank holds none of that id.
        EmbedderMismatch: another embedder made the bank's vectors.
        ModelError: the text could not be embedded; the memory is unchanged.
    """
    bank.check_embedder()
    changed = {name: getattr(changes, name) for name in changes.fields}
    unit = replace(stored_unit(bank, unit_id), **changed)
    if changes.text is not None:
        unit = replace(unit, tokens=bank.tools.tokens.count([unit.text])[0])
    edit = UnitEdit(unit, None, None, changes.fields)
    if changed.keys() & {"text", "occurred"}:
        edit = _with_vector_and_links(bank, edit)
    bank.tools.ledger.edit_unit(bank.name, edit, bank.tools.clock.now())
    bank.projection.catch_up()
    return unit


def _with_vector_and_links(bank: BankContext, edit: UnitEdit) -> UnitEdit:
    """The edit with a new vector and new temporal and semantic links."""
    unit, embedder = edit.unit, bank.tools.embedder
    vectors = embedder.embed_documents([embedding_text(unit.text, unit.occurred, unit.mentioned_at)])
    threshold = embedder.identity.thresholds.semantic_link
    links = links_of([Draft(unit)], vectors, bank.projection.view(), threshold)
    kept = tuple(link for link in links if link.type is not LinkType.CAUSAL and link.source != link.target)
    return replace(edit, vector=vectors[0].astype("<f4").tobytes(), links=kept)


def restored(bank: BankContext, unit_id: str) -> bool:
    """Make a closed memory valid again; False, and nothing is written, if it is valid.

    Raises:
        InvalidRequest: the bank has no such memory.
    """
    with bank.tools.ledger.transaction(bank.name) as transaction:
        event = _restoring_event(bank, unit_id, transaction)
        if event is None:
            return False
        transaction.commit(WriteSet(bank.name, transaction.feed.revision, events=(event,)))
    bank.projection.catch_up()
    return True


def _restoring_event(bank: BankContext, unit_id: str, ledger: LedgerReader) -> ValidityEvent | None:
    log = ledger.validity(bank.name, unit_id)
    if unit_id not in ledger.row_ids(bank.name, [unit_id]):
        raise InvalidRequest("unit_id", f"there is no memory {unit_id!r}", "Use an id that recall returned.")
    if not _is_closed(log):
        return None
    # A clock behind the conversation must not put the restoring before the closing.
    effective_at = max(bank.tools.clock.now(), log[-1].effective_at + MICROSECOND)
    return ValidityEvent(unit_id, ValidityKind.RESTORED, effective_at, reason=RESTORED_BY_HAND)


def _is_closed(log: Sequence[ValidityEvent]) -> bool:
    """Whether a validity log ends with a closing, amendments aside."""
    kinds = [event.kind for event in log if event.kind is not ValidityKind.AMENDED]
    return bool(kinds) and kinds[-1] is ValidityKind.CLOSED
