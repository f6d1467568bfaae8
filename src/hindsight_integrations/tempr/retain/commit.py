"""The second half of a retain: resolve, link, withdraw, commit - decided on one revision, on the engine's writer thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hindsight_integrations.errors import RevisionConflict
from hindsight_integrations.model.tasks import TaskWrite
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.model.writes import MessageKey, Place, TurnWrite, UnitWrite, WriteSet
from hindsight_integrations.ports.arrays import IntArray
from hindsight_integrations.ports.ledger import Receipt
from hindsight_integrations.search.bank_view import BankView, Projector
from hindsight_integrations.tempr.retain.agent_opinions import formations, without_known_opinions
from hindsight_integrations.tempr.retain.category_resolution import resolve_categories
from hindsight_integrations.tempr.retain.documents import DocumentPlan
from hindsight_integrations.tempr.retain.drafts import Draft, selected
from hindsight_integrations.tempr.retain.embedding import Vectors
from hindsight_integrations.tempr.retain.linking import links_of
from hindsight_integrations.tempr.retain.proposal import Proposal
from hindsight_integrations.tempr.retain.resolution import CANDIDATES, resolve
from hindsight_integrations.tempr.retain.retraction.retract import Retraction, retract
from hindsight_integrations.tempr.retain.superseding import (
    left_without_units,
    restoring_events,
    superseding_events,
    units_of,
)
from hindsight_integrations.tempr.retain.turns import kept_turns
from hindsight_integrations.text.language import Language
from hindsight_integrations.validation.intake import document_thread

ATTEMPTS = 8  # decisions taken anew after RevisionConflict; in one process there is no conflict at all


def commit(
    proposal: Proposal, vectors: Vectors, projector: Projector, languages: Sequence[Language]
) -> tuple[Receipt, tuple[str, ...], Retraction, tuple[str, ...]]:
    """Decide and commit; decide again when the bank moved on in between. Then every index catches up.

    Returns:
        The commit's receipt, the ids of all units the input stands for, what it withdrew, and the indexes that are behind.
    """
    for attempt in range(ATTEMPTS):
        try:
            with projector.transaction() as (view, transaction):
                writes, retraction = decide(proposal, vectors, view, languages)
                receipt = transaction.commit(writes)
        except RevisionConflict:
            if attempt == ATTEMPTS - 1:
                raise
            continue
        projector.catch_up()
        behind = tuple(sorted(projector.problems()))
        return receipt, tuple(item.unit.id for item in writes.units), retraction, behind
    raise AssertionError("unreachable: the loop returns or raises")


def decide(
    proposal: Proposal, vectors: Vectors, view: BankView, languages: Sequence[Language]
) -> tuple[WriteSet, Retraction]:
    """The write set of a proposal on one view of its bank, and what it withdraws. Reads, but changes nothing.

    Raises:
        RevisionConflict: a document changed since its passages were compared.
    """
    known = view.ledger.known_messages(view.bank, proposal.keys)
    documents = _changed_documents(proposal, known, view)
    closing, reread = _superseded(proposal, known, documents, view)
    waiting = _waiting(proposal, vectors, known, reread)
    drafts, vectors = _new_drafts(proposal, vectors, _fresh(proposal, known, reread), view, languages)
    resolution = resolve(
        drafts,
        lambda names: view.ledger.entity_candidates(view.bank, names, CANDIDATES),
        lambda entity_ids: view.ledger.entity_neighbours(view.bank, entity_ids),
        bank=view.bank,
        speakers=proposal.speakers,
    )
    units = [draft.unit for draft in drafts]
    repeated = {unit.id for unit in units}
    ending = (unit for unit in closing if unit.id not in repeated)
    retraction = retract(drafts, vectors, proposal.speakers, view, languages)
    writes = WriteSet(
        bank=view.bank,
        expected_revision=view.revision,
        documents=tuple(plan.write for plan in documents),
        chunks=tuple(chunk for plan in documents for chunk in plan.chunks),
        messages=tuple(key for key in proposal.keys if key not in known),
        turns=kept_turns(_latest(proposal, known, view), [*units, *(write.unit for write in waiting)]),
        extracted=proposal.extracted,
        units=(
            *(
                UnitWrite(unit, vector.astype("<f4").tobytes())
                for unit, vector in zip(units, vectors.drafts, strict=True)
            ),
            *waiting,
        ),
        entities=resolution.entities,
        mentions=resolution.mentions,
        links=tuple(links_of(drafts, vectors.drafts, view, vectors.thresholds.semantic_link)),
        events=(
            *superseding_events(view.ledger, view.bank, ending, proposal.moments),
            *restoring_events(view.ledger, view.bank, [unit for unit in units if unit.sources]),
            *retraction.events,
        ),
        opinions=formations(drafts, view.revision),
        tasks=_still_waiting(proposal, known),
        completed_tasks=proposal.completed,
    )
    return writes, retraction


def _new_drafts(
    proposal: Proposal, vectors: Vectors, fresh: IntArray, view: BankView, languages: Sequence[Language]
) -> tuple[list[Draft], Vectors]:
    """The drafts that are new, without opinions that are held already, in the bank's categories; and their vectors."""
    kept = without_known_opinions(
        fresh,
        proposal.drafts,
        vectors.drafts,
        view,
        duplicate=vectors.thresholds.duplicate,
        languages=languages,
    )
    drafts = resolve_categories(
        selected(proposal.drafts, kept.tolist()), lambda: view.ledger.categories(view.bank)
    )
    return drafts, replace(vectors, drafts=vectors.drafts[kept])


def _changed_documents(
    proposal: Proposal, known: frozenset[MessageKey], view: BankView
) -> list[DocumentPlan]:
    """The documents that are new or changed, each still as it was when its passages were compared."""
    kept = []
    for plan in proposal.documents:
        thread = document_thread(plan.write.id)
        if all(key in known for key in proposal.keys if key.thread == thread):
            continue
        stored = view.ledger.document(view.bank, plan.write.id)
        if (stored.content_hash if stored else None) != plan.basis:
            raise RevisionConflict(view.bank, proposal.revision, view.revision)
        kept.append(plan)
    return kept


def _superseded(
    proposal: Proposal, known: frozenset[MessageKey], documents: Sequence[DocumentPlan], view: BankView
) -> tuple[list[MemoryUnit], set[Place]]:
    """Units of earlier versions, and unchanged messages that would be left without a unit once those are closed."""
    ledger, edited = view.ledger, [key.place for key in proposal.keys if key not in known]
    closing = units_of(ledger, view.bank, edited)
    reread = left_without_units(ledger, view.bank, closing, set(edited))
    for plan in documents:
        removed = [chunk.ordinal for chunk in plan.removed]
        rows = ledger.units_of_chunks(view.bank, plan.write.id, removed) if removed else np.empty(0, np.int64)
        closing += ledger.units(view.bank, rows).values() if len(rows) else ()
    return closing, reread


def _still_waiting(proposal: Proposal, known: frozenset[MessageKey]) -> tuple[TaskWrite, ...]:
    """The tasks of passages that nobody else has retained meanwhile."""
    if not set(proposal.keys) - known:
        return ()
    return tuple(
        passage.task for passage in proposal.waiting if not passage.keys or not passage.keys <= known
    )


def _waiting(
    proposal: Proposal, vectors: Vectors, known: frozenset[MessageKey], reread: set[Place]
) -> list[UnitWrite]:
    """The turns that wait, of messages of which the bank has no memory: those it does not know, and those left without."""
    places = {key.place for key in proposal.keys if key not in known} | reread
    return [write for write in vectors.waiting if (write.unit.thread, *write.unit.sources) in places]


def _latest(proposal: Proposal, known: frozenset[MessageKey], view: BankView) -> list[TurnWrite]:
    """The turns to be kept: of messages not known in this wording, or, after a task, of those not edited since."""
    if not proposal.completed:
        return [turn for turn in proposal.turns if turn.key not in known]
    latest = view.ledger.known_messages(view.bank, [turn.key for turn in proposal.turns])
    return [turn for turn in proposal.turns if turn.key in latest]


def _fresh(proposal: Proposal, known: frozenset[MessageKey], reread: set[Place]) -> IntArray:
    """Positions of drafts not yet retained: those with a source the bank does not know in this wording.

    All of them where they are a task's outcome: its messages became known when it was made.
    """
    if not proposal.keys:
        return np.arange(len(proposal.drafts), dtype=np.int64)
    done = {key.place for key in known} - reread
    open_threads = {key.thread for key in proposal.keys if key not in known}

    def new(unit: MemoryUnit) -> bool:
        thread = document_thread(unit.document_id) if unit.document_id else unit.thread
        if not unit.sources or thread not in open_threads:
            return thread in open_threads
        return any((unit.thread, source) not in done for source in unit.sources)

    kept = (index for index, draft in enumerate(proposal.drafts) if new(draft.unit))
    return np.fromiter(kept, np.int64)
