"""The second half of a retain: resolve, link, invalidate and commit, decided on one revision on the writer thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hindsight_integrations.errors import RevisionConflict
from hindsight_integrations.indexes.bank_view import BankView, Projector
from hindsight_integrations.language.categories import KnownCategories
from hindsight_integrations.language.language import Language, language_of
from hindsight_integrations.language.names import NameSpotter
from hindsight_integrations.language.stems import numbers
from hindsight_integrations.ledger.values import Receipt
from hindsight_integrations.model.arrays import IntArray, Vector
from hindsight_integrations.model.opinions import (
    UNKNOWN_CONFIDENCE,
    FormationWrite,
    OpinionOrigin,
    OpinionsWrite,
)
from hindsight_integrations.model.records import Record, RecordCategory
from hindsight_integrations.model.tasks import TaskWrite
from hindsight_integrations.model.text import normalised_text
from hindsight_integrations.model.units import FactType, MemoryUnit, UnitKind, ValidityEvent
from hindsight_integrations.model.writes import MessageKey, Place, TurnWrite, UnitWrite, WriteSet
from hindsight_integrations.retain.changes import (
    DOCUMENT_CHANGED,
    MESSAGE_EDITED,
    NOT_ASKED,
    Judgement,
    Retraction,
    extracted_too_late,
    left_without_units,
    restoring_events,
    retract,
    superseding_events,
    undone_events,
    units_of,
)
from hindsight_integrations.retain.documents import DocumentPlan
from hindsight_integrations.retain.drafts import FollowedThread, Proposal, UnitDraft, selected
from hindsight_integrations.retain.linking import links_of
from hindsight_integrations.retain.resolution import CANDIDATES, resolve
from hindsight_integrations.retain.threads import NO_FORK, Fork, read_fork
from hindsight_integrations.retain.turns import kept_turns
from hindsight_integrations.services import Services
from hindsight_integrations.validation.intake import document_thread

HELD_ALREADY = "the agent holds this opinion already"


@dataclass(frozen=True, slots=True, eq=False)
class StatedOpinion:
    """An opinion to compare.

    Attributes:
        unit: its wording.
        vector: of the wording, (dimension,).
    """

    unit: MemoryUnit
    vector: Vector


def without_known_opinions(
    fresh: IntArray,
    drafts: Sequence[UnitDraft],
    view: BankView,
    *,
    duplicate: float,
    languages: Sequence[Language],
) -> IntArray:
    """The positions without those of opinions that are held already, or that an earlier draft states.

    Args:
        fresh: positions of the drafts that are new, ascending.
        drafts: all of them.
        view: of the bank.
        duplicate: the embedder's threshold for equal statements.
        languages: of the texts.
    """
    if not any(_is_opinion(drafts[place].unit) for place in fresh):
        return fresh
    known, kept = _held(view), []
    for place in fresh.tolist():
        unit = drafts[place].unit
        if _is_opinion(unit):
            stated = StatedOpinion(unit, drafts[place].vector)
            if any(says_the_same(stated, each, duplicate=duplicate, languages=languages) for each in known):
                continue
            known.append(stated)
        kept.append(place)
    return np.array(kept, np.int64)


def says_the_same(
    one: StatedOpinion, other: StatedOpinion, *, duplicate: float, languages: Sequence[Language]
) -> bool:
    """Whether two opinions say the same: in the same words, or similar ones with the same names, numbers and polarity.

    Opinions with different tags differ, and a unit with the same id is the same retain, not a repetition.
    """
    if one.unit.tags != other.unit.tags or one.unit.id == other.unit.id:
        return False
    texts = (one.unit.text, other.unit.text)
    if normalised_text(texts[0]) == normalised_text(texts[1]):
        return True
    if float(one.vector @ other.vector) < duplicate:
        return False
    said, held = (_particulars(text, languages) for text in texts)
    return said == held


def formations(drafts: Sequence[UnitDraft], revision: int) -> OpinionsWrite | None:
    """The opinions among new drafts, each formed without evidence; None if there are none.

    Args:
        drafts: the new drafts.
        revision: of the bank; facts of later revisions, including this retain's, are to be assessed as evidence.
    """
    formed = tuple(
        FormationWrite(
            unit_id=draft.unit.id,
            confidence=UNKNOWN_CONFIDENCE if draft.unit.confidence is None else draft.unit.confidence,
            formed_at=draft.unit.mentioned_at,
            origin=OpinionOrigin.GIVEN if draft.given else OpinionOrigin.EXTRACTION,
            assessed_to=revision,
        )
        for draft in drafts
        if _is_opinion(draft.unit)
    )
    return OpinionsWrite(formed=formed) if formed else None


def _held(view: BankView) -> list[StatedOpinion]:
    """Current wordings of the bank's opinions; those without a readable vector are left out."""
    wordings = [
        version.unit_id
        for log in view.ledger.opinions.get(view.bank)
        for version in log.versions
        if version.closed_at is None
    ]
    rows = np.array(sorted(view.ledger.units.row_ids(view.bank, wordings).values()), np.int64)
    units, vectors = view.ledger.units.get(view.bank, rows), view.ledger.units.vectors(view.bank, rows)
    return [StatedOpinion(unit, vectors[row]) for row, unit in units.items() if row in vectors]


def _particulars(text: str, languages: Sequence[Language]) -> tuple[bool, frozenset[str], frozenset[str]]:
    """Whether a text is negated, its numbers and its names."""
    language = language_of(text, languages)
    spotter = NameSpotter([text], people=(), aliases=(), languages=languages)
    names = frozenset(name.text.casefold() for name in spotter.names_in(text))
    return language.negation.search(text) is not None, numbers(text, language), names


def _is_opinion(unit: MemoryUnit) -> bool:
    return unit.fact_type is FactType.OPINION


# Category resolution: the categories stated in records become those of the bank.
def resolve_categories(
    drafts: Sequence[UnitDraft], lookup: Callable[[], Sequence[RecordCategory]]
) -> list[UnitDraft]:
    """The drafts with the bank's name for the category of each record; the stated one is kept in `stated`.

    The order of the drafts does not decide which records share a category, only the name of a new one. Merges and splits by
    hand are respected.

    Args:
        drafts: in order.
        lookup: reads the bank's categories, the most used of a kind first; called if a draft has records.
    """
    if not any(draft.unit.records for draft in drafts):
        return [*drafts]
    known = KnownCategories(lookup())

    def resolved(record: Record) -> Record:
        stated = record.stated or record.category
        return replace(record, category=known.resolved(stated, record.kind)) if stated else record

    return [
        replace(draft, unit=replace(draft.unit, records=tuple(map(resolved, draft.unit.records))))
        if draft.unit.records
        else draft
        for draft in drafts
    ]


ATTEMPTS = 8  # decisions after RevisionConflict; within one process there is no conflict


def commit(
    proposal: Proposal,
    projector: Projector,
    services: Services,
    judgement: Judgement = NOT_ASKED,
) -> tuple[Receipt, WriteSet, Retraction, tuple[str, ...]]:
    """Decide and commit; decide again if the bank changed in between. Then let every index catch up.

    Returns:
        The receipt, the write set, the retraction, and the indexes that are behind.
    """
    for attempt in range(ATTEMPTS):
        try:
            with projector.transaction() as (view, transaction):
                writes, retraction = decide(proposal, view, services, judgement)
                receipt = transaction.commit(writes)
        except RevisionConflict:
            if attempt == ATTEMPTS - 1:
                raise
            continue
        projector.catch_up()
        behind = tuple(sorted(projector.problems()))
        return receipt, writes, retraction, behind
    raise AssertionError("unreachable: the loop returns or raises")


def decide(
    proposal: Proposal,
    view: BankView,
    services: Services,
    judgement: Judgement = NOT_ASKED,
) -> tuple[WriteSet, Retraction]:
    """The write set of a proposal on one view of its bank, and what it retracts. Only reads.

    Args:
        proposal: what is to be written, `measured`.
        view: of the bank.
        services: the languages of the drafts, and the embedder's thresholds.
        judgement: of a model, about statements without an equal memory.

    Raises:
        RevisionConflict: a document changed since its passages were compared.
    """
    known = view.ledger.turns.known(view.bank, proposal.keys)
    documents = _changed_documents(proposal, known, view)
    fork = _fork(proposal.followed, view) if proposal.followed else NO_FORK
    closing, reread = _superseded(proposal, known, documents, view, fork.gone)
    waiting = _waiting(proposal, known, reread)
    drafts = _new_drafts(proposal, _fresh(proposal, known, reread), view, services)
    thresholds = services.embedder.identity.thresholds
    resolution = resolve(
        drafts,
        lambda names: view.ledger.entities.candidates(view.bank, names, CANDIDATES),
        lambda entity_ids: view.ledger.entities.neighbours(view.bank, entity_ids),
        bank=view.bank,
        speakers=proposal.speakers,
    )
    versions = list(_version_events(proposal, [draft.unit for draft in drafts], closing, fork, view))
    retraction = retract(drafts, view, thresholds, judgement, versions)
    retraction.note_forgotten(proposal.forget)
    units = [retraction.reach.moved.get(draft.unit.id, draft.unit) for draft in drafts]
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
                UnitWrite(unit, draft.vector.astype("<f4").tobytes())
                for unit, draft in zip(units, drafts, strict=True)
            ),
            *waiting,
        ),
        entities=resolution.entities,
        mentions=resolution.mentions,
        links=tuple(links_of(drafts, view, thresholds.semantic_link)),
        events=(*versions, *retraction.events),
        opinions=formations(drafts, view.revision),
        thread=fork.write,
        tasks=_still_waiting(proposal, frozenset(key for key in known if key.place not in reread)),
        completed_tasks=proposal.completed,
    )
    return writes, retraction


def _version_events(
    proposal: Proposal, units: Sequence[MemoryUnit], closing: Sequence[MemoryUnit], fork: Fork, view: BankView
) -> Iterator[ValidityEvent]:
    """What edits and forks invalidate, and what they restore.

    Args:
        proposal: to commit.
        units: its units.
        closing: units of earlier versions, and of dropped messages.
        fork: that dropped them.
        view: of the bank.
    """
    repeated = {unit.id for unit in units}
    ending = [unit for unit in closing if unit.id not in repeated]
    moments = {**fork.moments, **proposal.moments}
    yield from superseding_events(view.ledger, view.bank, ending, moments, gone=fork.gone)
    yield from fork.events(ending, view)
    dropped = set(fork.gone)
    for unit in closing:
        places = _places(unit)
        if dropped.isdisjoint(places):
            at = max(moments[place] for place in places if place in moments)
            reason = DOCUMENT_CHANGED if unit.document_id else MESSAGE_EDITED
            yield from undone_events(view.ledger, view.bank, [unit], gone=fork.absent, at=at, reason=reason)
    yield from restoring_events(view.ledger, view.bank, [unit for unit in units if unit.sources])
    if proposal.completed:
        yield from extracted_too_late(view.ledger, view.bank, units)


def _places(unit: MemoryUnit) -> list[Place]:
    """The document or messages that a unit was made from."""
    if unit.document_id:
        return [(document_thread(unit.document_id), "")]
    return [(unit.thread, source) for source in unit.sources]


def _fork(followed: FollowedThread, view: BankView) -> Fork:
    """Compare a followed thread with its log, which must not have changed since its new messages were determined."""
    if view.ledger.turns.thread_mark(view.bank, followed.thread, followed.namespace) != followed.before:
        raise RevisionConflict(view.bank, view.revision, view.revision)
    return read_fork(followed, view.ledger, view.bank)


def _new_drafts(proposal: Proposal, fresh: IntArray, view: BankView, services: Services) -> list[UnitDraft]:
    """The drafts that are new, without opinions that are held already, in the bank's categories."""
    kept = without_known_opinions(
        fresh,
        proposal.drafts,
        view,
        duplicate=services.embedder.identity.thresholds.duplicate,
        languages=services.languages,
    )
    return resolve_categories(
        selected(proposal.drafts, kept.tolist()), lambda: view.ledger.records.categories(view.bank)
    )


def _changed_documents(
    proposal: Proposal, known: frozenset[MessageKey], view: BankView
) -> list[DocumentPlan]:
    """New and changed documents; the stored versions must not have changed since the comparison."""
    kept = []
    for plan in proposal.documents:
        thread = document_thread(plan.write.id)
        if all(key in known for key in proposal.keys if key.thread == thread):
            continue
        stored = view.ledger.units.document(view.bank, plan.write.id)
        if (stored.content_hash if stored else None) != plan.basis:
            raise RevisionConflict(view.bank, proposal.revision, view.revision)
        kept.append(plan)
    return kept


def _superseded(
    proposal: Proposal,
    known: frozenset[MessageKey],
    documents: Sequence[DocumentPlan],
    view: BankView,
    gone: Sequence[Place],
) -> tuple[list[MemoryUnit], set[Place]]:
    """Units of earlier versions, and unchanged messages that would have no unit without these."""
    ledger, edited = view.ledger, [*(key.place for key in proposal.keys if key not in known), *gone]
    closing = units_of(ledger, view.bank, edited)
    waiting = units_of(ledger, view.bank, gone, waiting=True) if gone else []
    closing += [unit for unit in waiting if unit.kind is UnitKind.TURN]
    reread = left_without_units(ledger, view.bank, closing, set(edited))
    for plan in documents:
        removed = [chunk.ordinal for chunk in plan.removed]
        rows = ledger.units.of_chunks(view.bank, plan.write.id, removed) if removed else np.empty(0, np.int64)
        closing += ledger.units.get(view.bank, rows).values() if len(rows) else ()
    return closing, reread


def _still_waiting(proposal: Proposal, known: frozenset[MessageKey]) -> tuple[TaskWrite, ...]:
    """The tasks of passages that were not retained by another process meanwhile."""
    if not set(proposal.keys) - known:
        return ()
    return tuple(
        passage.task for passage in proposal.waiting if not passage.keys or not passage.keys <= known
    )


def _waiting(proposal: Proposal, known: frozenset[MessageKey], reread: set[Place]) -> list[UnitWrite]:
    """Turns that wait, of messages without a memory: unknown ones, and those left without a unit."""
    places = {key.place for key in proposal.keys if key not in known} | reread
    turns = (turn for passage in proposal.waiting for turn in passage.turns)
    return [turn for turn in turns if (turn.unit.thread, *turn.unit.sources) in places]


def _latest(proposal: Proposal, known: frozenset[MessageKey], view: BankView) -> list[TurnWrite]:
    """The turns to store: of new versions of messages, or, after a task, of messages not edited since."""
    if not proposal.completed:
        return [turn for turn in proposal.turns if turn.key not in known]
    latest = view.ledger.turns.known(view.bank, [turn.key for turn in proposal.turns])
    return [turn for turn in proposal.turns if turn.key in latest]


def _fresh(proposal: Proposal, known: frozenset[MessageKey], reread: set[Place]) -> IntArray:
    """Return the positions of new drafts: those with a source message whose current version is not in the bank, or is read again.

    A draft without sources is new if its thread has such a message. For the result of a task all drafts are new: its messages were
    recorded when it was enqueued.
    """
    if not proposal.keys:
        return np.arange(len(proposal.drafts), dtype=np.int64)
    done = {key.place for key in known} - reread
    open_threads = {key.thread for key in proposal.keys if key not in known or key.place in reread}

    def new(unit: MemoryUnit) -> bool:
        thread = document_thread(unit.document_id) if unit.document_id else unit.thread
        if not unit.sources or thread not in open_threads:
            return thread in open_threads
        return any((unit.thread, source) not in done for source in unit.sources)

    kept = (index for index, draft in enumerate(proposal.drafts) if new(draft.unit))
    return np.fromiter(kept, np.int64)
