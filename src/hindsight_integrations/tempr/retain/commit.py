"""The write turn: resolve, link, assemble, commit, project - decided on one revision, on the engine's writer thread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from hindsight_integrations.errors import RevisionConflict
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.model.writes import MessageKey, UnitWrite, WriteSet
from hindsight_integrations.ports.arrays import IntArray, Matrix
from hindsight_integrations.ports.ledger import Receipt
from hindsight_integrations.search.bank_view import BankView, Projector
from hindsight_integrations.tempr.retain.drafts import Draft
from hindsight_integrations.tempr.retain.linking import links_of
from hindsight_integrations.tempr.retain.resolution import CANDIDATES, resolve
from hindsight_integrations.tempr.retain.retraction.retraction import Batch, Retraction, Withdrawn, retract
from hindsight_integrations.tempr.retain.superseding import (
    DocumentChange,
    Place,
    edited_places,
    left_untold,
    restoring_events,
    said_before,
    superseding_events,
)
from hindsight_integrations.tempr.retain.waiting import WaitingTask, still_waiting
from hindsight_integrations.validation.intake import document_thread

ATTEMPTS = 8  # decisions taken anew after RevisionConflict; in one process there is no conflict at all


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a retain wants to write, as far as it can be decided without the bank.

    Attributes:
        drafts: units to be, in order.
        vectors: their vectors, (n, dimension).
        keys: the messages they came from, all of them.
        speakers: speakers of the conversation.
        semantic_threshold: theta_s of paper eq. 5 on the embedder's scale.
        revision: the bank revision documents were compared at.
        documents: the documents they came from, and what changed in them.
        moments: when each message, by (thread, id), was said in this wording; a document under (its thread, "").
        waiting: tasks for passages not extracted yet.
        completed: tasks whose outcome this is; their messages are known already, so `keys` is empty.
        withdrawn: the drafts' statements of what is obsolete, embedded; None if they make none.
    """

    drafts: Sequence[Draft]
    vectors: Matrix
    keys: tuple[MessageKey, ...]
    speakers: frozenset[str]
    semantic_threshold: float
    revision: int = 0
    documents: tuple[DocumentChange, ...] = ()
    moments: Mapping[Place, datetime] = field(default_factory=dict)
    waiting: tuple[WaitingTask, ...] = ()
    completed: tuple[int, ...] = ()
    withdrawn: Withdrawn | None = None


def write_turn(proposal: Proposal, projector: Projector) -> tuple[Receipt, tuple[str, ...], Retraction]:
    """Decide and commit; decide again when the bank moved on in between. Then every index catches up.

    Returns:
        The commit's receipt, the ids of all units the input stands for, and what it withdrew.
    """
    for attempt in range(ATTEMPTS):
        try:
            with projector.transaction() as (view, transaction):
                writes, retraction = decide(proposal, view)
                receipt = transaction.commit(writes)
        except RevisionConflict:
            if attempt == ATTEMPTS - 1:
                raise
            continue
        projector.catch_up()
        return receipt, tuple(item.unit.id for item in writes.units), retraction
    raise AssertionError("unreachable: the loop returns or raises")


def decide(proposal: Proposal, view: BankView) -> tuple[WriteSet, Retraction]:
    """The write set of a proposal on one view of its bank, and what it withdraws. Reads, but changes nothing.

    Raises:
        RevisionConflict: a document changed since its passages were compared.
    """
    known = view.ledger.known_messages(view.bank, proposal.keys)
    documents = _changes(proposal, known, view)
    closing, untold = _overtaken(proposal, known, documents, view)
    fresh = _fresh(proposal, known, untold)
    drafts = [proposal.drafts[i] for i in fresh]
    vectors = proposal.vectors[fresh]
    resolution = resolve(
        drafts,
        lambda names: view.ledger.entity_candidates(view.bank, names, CANDIDATES),
        lambda entity_ids: view.ledger.entity_neighbours(view.bank, entity_ids),
        bank=view.bank,
        speakers=proposal.speakers,
    )
    units = [draft.unit for draft in drafts]
    said_again = {unit.id for unit in units}
    gone = (unit for unit in closing if unit.id not in said_again)
    retraction = retract(Batch(drafts, vectors, proposal.speakers, proposal.withdrawn), view)
    writes = WriteSet(
        bank=view.bank,
        expected_revision=view.revision,
        documents=tuple(change.write for change in documents),
        chunks=tuple(chunk for change in documents for chunk in change.plan.chunks),
        messages=tuple(key for key in proposal.keys if key not in known),
        units=tuple(
            UnitWrite(d.unit, v.astype("<f4").tobytes()) for d, v in zip(drafts, vectors, strict=True)
        ),
        entities=resolution.entities,
        mentions=resolution.mentions,
        links=tuple(links_of(drafts, vectors, view, proposal.semantic_threshold)),
        events=(
            *superseding_events(view.ledger, view.bank, gone, proposal.moments),
            *restoring_events(view.ledger, view.bank, [unit for unit in units if unit.sources]),
            *retraction.events,
        ),
        tasks=still_waiting(proposal.waiting, known) if set(proposal.keys) - known else (),
        completed_tasks=proposal.completed,
    )
    return writes, retraction


def _changes(proposal: Proposal, known: frozenset[MessageKey], view: BankView) -> list[DocumentChange]:
    """The documents that are new or changed, each still as it was when its passages were compared."""
    kept = []
    for change in proposal.documents:
        thread = document_thread(change.write.id)
        if all(key in known for key in proposal.keys if key.thread == thread):
            continue
        stored = view.ledger.document(view.bank, change.write.id)
        if (stored.content_hash if stored else None) != change.plan.basis:
            raise RevisionConflict(view.bank, proposal.revision, view.revision)
        kept.append(change)
    return kept


def _overtaken(
    proposal: Proposal, known: frozenset[MessageKey], documents: Sequence[DocumentChange], view: BankView
) -> tuple[list[MemoryUnit], set[Place]]:
    """Units of earlier versions, and unchanged messages that would be left without a unit once those are closed."""
    ledger, edited = view.ledger, edited_places(proposal.keys, known)
    closing = said_before(ledger, view.bank, edited)
    untold = left_untold(ledger, view.bank, closing, set(edited))
    for change in documents:
        gone = [chunk.ordinal for chunk in change.plan.gone]
        rows = ledger.units_of_chunks(view.bank, change.write.id, gone) if gone else np.empty(0, np.int64)
        closing += ledger.units(view.bank, rows).values() if len(rows) else ()
    return closing, untold


def _fresh(proposal: Proposal, known: frozenset[MessageKey], untold: set[Place]) -> IntArray:
    """Positions of drafts not yet retained: those with a source the bank does not know in this wording.

    All of them where they are a task's outcome: its messages became known when it was made.
    """
    if not proposal.keys:
        return np.arange(len(proposal.drafts), dtype=np.int64)
    done = {(key.thread, key.message_id) for key in known} - untold
    open_threads = {key.thread for key in proposal.keys if key not in known}

    def new(unit: MemoryUnit) -> bool:
        thread = document_thread(unit.document_id) if unit.document_id else unit.thread
        if not unit.sources or thread not in open_threads:
            return thread in open_threads
        return any((unit.thread, source) not in done for source in unit.sources)

    kept = (index for index, draft in enumerate(proposal.drafts) if new(draft.unit))
    return np.fromiter(kept, np.int64)
