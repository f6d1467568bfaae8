"""The second half of a retain: resolve, link, withdraw, commit - decided on one revision, on the engine's writer thread."""

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
    """An opinion as it is compared.

    Attributes:
        unit: its wording.
        vector: of that (dimension,).
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
    """The positions of the drafts without those of opinions that are held already, or that stand among them before.

    Args:
        fresh: positions of the drafts that are new, ascending.
        drafts: all of them.
        view: of the bank.
        duplicate: the embedder's cosine from which on two texts say the same.
        languages: all may be in.
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
    """Whether an opinion is one that is held: in the same words, or in others of the same names, numbers and polarity.

    Opinions that not the same people may see are two, and so is what was retained before under the same id.
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
    """The opinions among units that are new, each formed without evidence; None if there are none.

    Args:
        drafts: of the units.
        revision: of the bank; facts of later ones, this retain's own among them, are evidence to be assessed.
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
    """The wordings in which the bank's opinions are held; one without a readable vector is left out."""
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
    """Whether a text denies something, its numbers and its names."""
    language = language_of(text, languages)
    spotter = NameSpotter([text], people=(), aliases=(), languages=languages)
    names = frozenset(name.text.casefold() for name in spotter.names_in(text))
    return language.negation.search(text) is not None, numbers(text, language), names


def _is_opinion(unit: MemoryUnit) -> bool:
    return unit.fact_type is FactType.OPINION


# Category resolution: the categories that records state to the bank's.
def resolve_categories(
    drafts: Sequence[UnitDraft], lookup: Callable[[], Sequence[RecordCategory]]
) -> list[UnitDraft]:
    """The drafts, the category of each record being the bank's name for it; what was stated stays in `stated`.

    Which records share a category does not depend on the order of the drafts, only what a new category is called does. What
    was merged or parted by hand before stays so.

    Args:
        drafts: in order.
        lookup: the bank's categories, the most used of a kind first; asked where a draft has records.
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


ATTEMPTS = 8  # decisions taken anew after RevisionConflict; in one process there is no conflict at all


def commit(
    proposal: Proposal,
    projector: Projector,
    services: Services,
    judgement: Judgement = NOT_ASKED,
) -> tuple[Receipt, WriteSet, Retraction, tuple[str, ...]]:
    """Decide and commit; decide again when the bank moved on in between. Then every index catches up.

    Returns:
        The commit's receipt, what it wrote, what it withdrew, and the indexes that are behind.
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
    """The write set of a proposal on one view of its bank, and what it withdraws. Reads, but changes nothing.

    Args:
        proposal: what is to be written, `measured`.
        view: of the bank.
        services: the languages of the drafts, and the embedder's thresholds.
        judgement: what a model said of statements that say no memory's very words.

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
    """What ends because its messages were edited or dropped, and what holds again because they came back, or with what ended it.

    Args:
        proposal: what is committed.
        units: its units.
        closing: units of earlier versions, and of dropped messages.
        fork: what dropped them.
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
    """What a unit was made from: a document, or messages."""
    if unit.document_id:
        return [(document_thread(unit.document_id), "")]
    return [(unit.thread, source) for source in unit.sources]


def _fork(followed: FollowedThread, view: BankView) -> Fork:
    """What a followed thread does to its log, which must be as it was when what is new was found out."""
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
    """The documents that are new or changed, each still as it was when its passages were compared."""
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
    """Units of earlier versions, and unchanged messages that would be left without a unit once those are closed."""
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
    """The tasks of passages that nobody else has retained meanwhile."""
    if not set(proposal.keys) - known:
        return ()
    return tuple(
        passage.task for passage in proposal.waiting if not passage.keys or not passage.keys <= known
    )


def _waiting(proposal: Proposal, known: frozenset[MessageKey], reread: set[Place]) -> list[UnitWrite]:
    """The turns that wait, of messages of which the bank has no memory: those it does not know, and those left without."""
    places = {key.place for key in proposal.keys if key not in known} | reread
    turns = (turn for passage in proposal.waiting for turn in passage.turns)
    return [turn for turn in turns if (turn.unit.thread, *turn.unit.sources) in places]


def _latest(proposal: Proposal, known: frozenset[MessageKey], view: BankView) -> list[TurnWrite]:
    """The turns to be kept: of messages not known in this wording, or, after a task, of those not edited since."""
    if not proposal.completed:
        return [turn for turn in proposal.turns if turn.key not in known]
    latest = view.ledger.turns.known(view.bank, [turn.key for turn in proposal.turns])
    return [turn for turn in proposal.turns if turn.key in latest]


def _fresh(proposal: Proposal, known: frozenset[MessageKey], reread: set[Place]) -> IntArray:
    """Positions of drafts not yet retained: those with a source the bank does not know in this wording.

    All of them where they are a task's outcome: its messages became known when it was made.
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
