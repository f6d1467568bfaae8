"""The second half of a retain, which runs on the writer thread and is based on one revision of the bank.

It resolves entities, links units, determines the memories to invalidate, and commits.
"""

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

HELD_ALREADY = "the agent already holds this opinion"


@dataclass(frozen=True, slots=True, eq=False)
class StatedOpinion:
    """An opinion to compare with another.

    Attributes:
        unit: the unit with the opinion's wording.
        vector: the vector of the wording, (dimension,).
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
    """Remove from `fresh` the positions of opinions that the agent already holds or that an earlier draft states.

    Args:
        fresh: the positions of the new drafts, ascending.
        drafts: all drafts.
        view: a view of the bank.
        duplicate: the embedder's similarity threshold for equal statements.
        languages: the languages of the texts.
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
    """Return whether two opinions are equal: the same words, or similar words with the same names, numbers and polarity.

    Opinions with different tags are not equal. Units with the same id are one opinion retained twice, not a repetition.
    """
    if one.unit.tags != other.unit.tags or one.unit.id == other.unit.id:
        return False
    texts = (one.unit.text, other.unit.text)
    if normalised_text(texts[0]) == normalised_text(texts[1]):
        return True
    if float(one.vector @ other.vector) < duplicate:
        return False
    first, second = (_particulars(text, languages) for text in texts)
    return first == second


def formations(drafts: Sequence[UnitDraft], revision: int) -> OpinionsWrite | None:
    """Return a formation, without evidence, for each opinion among new drafts; None if no draft is an opinion.

    Args:
        drafts: the new drafts.
        revision: the bank's revision; facts of later revisions, including this retain's, will be assessed as evidence.
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
    """Return the current wordings of the bank's opinions, except those without a readable vector."""
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
    """Return whether a text is negated, with its numbers and its names."""
    language = language_of(text, languages)
    spotter = NameSpotter([text], people=(), aliases=(), languages=languages)
    names = frozenset(name.text.casefold() for name in spotter.names_in(text))
    return language.negation.search(text) is not None, numbers(text, language), names


def _is_opinion(unit: MemoryUnit) -> bool:
    return unit.fact_type is FactType.OPINION


def resolve_categories(
    drafts: Sequence[UnitDraft], lookup: Callable[[], Sequence[RecordCategory]]
) -> list[UnitDraft]:
    """Replace the category of each record by the bank's name for it; `stated` keeps the original category.

    The order of the drafts affects only the name of a new category, not which records share it. Categories that a user merged
    or split are respected.

    Args:
        drafts: the drafts, in order.
        lookup: a function that reads the bank's categories, the most used of a kind first; called only if a draft has records.
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


ATTEMPTS = 8  # maximum number of attempts; a RevisionConflict occurs only if another process commits


def commit(
    proposal: Proposal,
    projector: Projector,
    services: Services,
    judgement: Judgement = NOT_ASKED,
) -> tuple[Receipt, WriteSet, Retraction, tuple[str, ...]]:
    """Decide what to write, commit it, and update every index; if the bank changed in between, decide again.

    Returns:
        The receipt, the write set, the retraction, and the names of the indexes that are out of date.
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
    """Compute the write set and the retraction of a proposal from one view of its bank. Nothing is written.

    Args:
        proposal: the proposal, after `measured`.
        view: a view of the bank.
        services: the services that provide the languages of the drafts and the embedder's thresholds.
        judgement: a model's answer about statements without an equal memory.

    Raises:
        RevisionConflict: a document changed since its passages were compared.
        EmbedderMismatch: another embedder made the bank's vectors.
    """
    # Another process may have changed the embedder.
    view.check_embedder(services.embedder.identity)
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
    """Yield the events by which edits and forks invalidate and restore units.

    Args:
        proposal: the proposal to commit.
        units: the units of the proposal.
        closing: the units made from earlier versions of messages, and from dropped messages.
        fork: the fork that dropped the messages.
        view: a view of the bank.
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
    """Return the document or messages that a unit was made from."""
    if unit.document_id:
        return [(document_thread(unit.document_id), "")]
    return [(unit.thread, source) for source in unit.sources]


def _fork(followed: FollowedThread, view: BankView) -> Fork:
    """Compare a followed thread with its log.

    Raises:
        RevisionConflict: the log changed after the new messages were determined.
    """
    if view.ledger.turns.thread_mark(view.bank, followed.thread, followed.namespace) != followed.before:
        raise RevisionConflict(view.bank, view.revision, view.revision)
    return read_fork(followed, view.ledger, view.bank)


def _new_drafts(proposal: Proposal, fresh: IntArray, view: BankView, services: Services) -> list[UnitDraft]:
    """Return the new drafts with the bank's record categories, without opinions that the agent already holds."""
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
    """Return the new and changed documents.

    Raises:
        RevisionConflict: a stored version changed after the comparison.
    """
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
    """Return the units to invalidate, and the unchanged messages that lose all their units because of this.

    Units are invalidated if they were made from earlier versions of messages or documents, or from dropped
    messages.
    """
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
    """Return the tasks to enqueue, except for passages that another process has retained in the meantime."""
    if not proposal.completed and not set(proposal.keys) - known:
        return ()
    return tuple(
        passage.task for passage in proposal.waiting if not passage.keys or not passage.keys <= known
    )


def _waiting(proposal: Proposal, known: frozenset[MessageKey], reread: set[Place]) -> list[UnitWrite]:
    """Return the waiting turns of messages that have no memory: new messages, and unchanged ones whose units are invalidated."""
    places = {key.place for key in proposal.keys if key not in known} | reread
    turns = (turn for passage in proposal.waiting for turn in passage.turns)
    return [turn for turn in turns if (turn.unit.thread, *turn.unit.sources) in places]


def _latest(proposal: Proposal, known: frozenset[MessageKey], view: BankView) -> list[TurnWrite]:
    """Return the turns to store.

    A retain stores the turns of new message versions. A task stores those of its messages that were not edited in the
    meantime.
    """
    if not proposal.completed:
        return [turn for turn in proposal.turns if turn.key not in known]
    latest = view.ledger.turns.known(view.bank, [turn.key for turn in proposal.turns])
    return [turn for turn in proposal.turns if turn.key in latest]


def _fresh(proposal: Proposal, known: frozenset[MessageKey], reread: set[Place]) -> IntArray:
    """Return the positions of new drafts: those with a source message that is new, edited or extracted again.

    A draft without sources is new if its thread has such a message. All drafts of a task are new, since its messages were
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
