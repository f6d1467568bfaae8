"""Drafts of units made from facts, and the proposal of a retain. Neither has been compared with the bank yet."""

from __future__ import annotations

import logging
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import MAXYEAR, datetime
from typing import TypeVar
from zoneinfo import ZoneInfo

import numpy as np

from hindsight_integrations.errors import ModelError
from hindsight_integrations.indexes.embedding import embed_units, embedded
from hindsight_integrations.language.records import canonical_record
from hindsight_integrations.model.arrays import Vector
from hindsight_integrations.model.documents import item_text
from hindsight_integrations.model.entities import EntityMention
from hindsight_integrations.model.facts import (
    ExtractedCausalRelation,
    ExtractedChange,
    ExtractedFact,
    NamedMemory,
    renumbered,
)
from hindsight_integrations.model.metadata import Metadata
from hindsight_integrations.model.opinions import UNKNOWN_CONFIDENCE
from hindsight_integrations.model.records import Record, RecordKind
from hindsight_integrations.model.requests import Message
from hindsight_integrations.model.results import EXCERPT_CHARACTERS, NO_USAGE, Dropped, Usage
from hindsight_integrations.model.tasks import TaskClaim, TaskWrite
from hindsight_integrations.model.text import normalised_text
from hindsight_integrations.model.time import MICROSECOND
from hindsight_integrations.model.turns import OnFork, Role, ThreadMark
from hindsight_integrations.model.units import (
    NAMESPACE,
    OBSERVED_NETWORKS,
    CompactText,
    FactType,
    MemoryUnit,
    UnitKind,
)
from hindsight_integrations.model.writes import ForgetRequest, MessageKey, Place, TurnWrite, UnitWrite
from hindsight_integrations.models.protocols import Embedder, TokenCounter
from hindsight_integrations.retain.documents import DocumentPlan
from hindsight_integrations.retain.extraction import Extraction, occurrence
from hindsight_integrations.retain.verbatim import LONGEST_MESSAGE
from hindsight_integrations.validation.messages import role_of

N = TypeVar("N", bound=NamedMemory)

NONE_SHOWN = "it names a memory by number, but no memories were shown"


def _no_vector() -> Vector:
    return np.empty(0, np.float32)


@dataclass(frozen=True, slots=True)
class UnitDraft:
    """A unit to write, with references that the commit resolves against the bank.

    Attributes:
        unit: the unit; its tokens are counted by `measured`.
        mentions: the entities as extraction wrote them.
        causes: the causal claims; a target is a position in the list of drafts.
        invalidates: the statements that this fact makes obsolete.
        changes: the memories that the fact ends or changes, by `unit_id` or `sources`.
        adds_to: the document that receives the fact's items, by `unit_id` or `sources`; None if the fact is the document.
        given: True if the caller supplied the fact, False if it was extracted.
        said_by_person: True if one of its sources is a user message.
        vector: the vector of the text, unit norm, (dimension,); empty until `measured`.
        statements: the vectors of the statements in `invalidates`, by text; empty until `measured`.
    """

    unit: MemoryUnit
    mentions: tuple[EntityMention, ...] = ()
    causes: tuple[ExtractedCausalRelation, ...] = ()
    invalidates: tuple[str, ...] = ()
    changes: tuple[ExtractedChange, ...] = ()
    adds_to: NamedMemory | None = None
    given: bool = False
    said_by_person: bool = False
    vector: Vector = field(default_factory=_no_vector, compare=False)
    statements: Mapping[str, Vector] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of the facts of one extraction; all their units share it.

    Attributes:
        bank: the bank's name.
        zone: the IANA name of the bank's time zone.
        mentioned_at: the mention time of facts without a known source.
        moments: the mention time of each message, by id; empty for a document.
        thread: the id of the conversation.
        document_id: the id of the document; None for a conversation.
        context: the caller's description of the source.
        tags: the visibility tags.
        metadata: the caller's metadata.
        entities: the entities that every unit mentions, as supplied by the caller.
    """

    bank: str
    zone: str
    mentioned_at: datetime
    moments: Mapping[str, datetime] = field(default_factory=dict)
    thread: str = ""
    document_id: str | None = None
    context: str = ""
    tags: tuple[str, ...] = ()
    metadata: Metadata = field(default_factory=dict)
    entities: tuple[EntityMention, ...] = ()


def unit_id(origin: Origin, *, sources: Sequence[str], chunk: int, ordinal: int, text: str) -> str:
    """Return the id of a unit: uuid5 of bank, place, ordinal and normalised text, so that repeated retains write the same rows."""
    place = "\x1f".join((origin.thread, *sources)) if sources else f"{origin.document_id}\x1f{chunk}"
    return str(uuid.uuid5(NAMESPACE, "\x1e".join((origin.bank, place, str(ordinal), normalised_text(text)))))


def draft_facts(
    extraction: Extraction,
    origin: Origin,
    *,
    ordinals: Sequence[int] = (),
    messages: Mapping[str, Message] | None = None,
) -> tuple[list[UnitDraft], list[Dropped]]:
    """Convert facts to drafts in order, followed by the items of facts that are documents.

    Facts that cannot become units are dropped with a reason. Causal targets of the facts are positions within their chunk.

    Args:
        extraction: the extracted facts.
        origin: the origin of the facts.
        ordinals: the ordinal of each chunk within its document; empty means 0, 1, 2 ...
        messages: the messages by id, to recognise verbatim facts and the roles of their speakers.
    """
    drafts: list[UnitDraft] = []
    dropped: list[Dropped] = []
    seen: dict[tuple[str, ...], int] = {}
    for place, facts in enumerate(extraction.chunks):
        number = ordinals[place] if ordinals else place
        kept: dict[int, int] = {}
        for index, fact in enumerate(facts):
            problem = _problem(fact, origin)
            if problem:
                dropped.append(Dropped(fact.what[:EXCERPT_CHARACTERS], problem))
                continue
            kept[index] = len(drafts)
            if not extraction.given:
                fact = as_extracted(fact, messages or {})  # noqa: PLW2901 - the checked fact replaces it
            draft = _draft(fact, origin, chunk=number, seen=seen, messages=messages or {})
            shown = extraction.shown[place] if extraction.shown else ()
            if extraction.given:
                changes, adds_to, refused = _named_by_caller(fact)
            else:
                changes, adds_to, refused = _named_by_model(fact, draft.unit.sources, shown, messages or {})
            dropped.extend(refused)
            person = _said_by_person(draft.unit.sources, messages or {})
            drafts.append(
                replace(
                    draft, changes=changes, adds_to=adds_to, given=extraction.given, said_by_person=person
                )
            )
        _connect(drafts, facts, kept)
    return _with_items(in_order(drafts)), dropped


def _with_items(drafts: Sequence[UnitDraft]) -> list[UnitDraft]:
    """Append the items of documents as separate drafts, numbered from 1 in each document."""
    heads, items = [], []
    for draft in drafts:
        own = [record for record in draft.unit.records if record.kind is RecordKind.DOCUMENT_ITEM]
        if not own or draft.unit.fact_type not in OBSERVED_NETWORKS:
            heads.append(draft)
            continue
        others = tuple(record for record in draft.unit.records if record.kind is not RecordKind.DOCUMENT_ITEM)
        heads.append(replace(draft, unit=replace(draft.unit, records=others, number=len(own))))
        items += [
            UnitDraft(_item(draft.unit, record, number), given=draft.given)
            for number, record in enumerate(own, 1)
        ]
    return [*heads, *items]


def _item(head: MemoryUnit, record: Record, number: int) -> MemoryUnit:
    text = item_text(record)
    name = "\x1e".join((head.id, str(number), normalised_text(text)))
    return replace(
        head,
        id=str(uuid.uuid5(NAMESPACE, name)),
        text=text,
        compact=None,
        records=(record,),
        speaker="",
        kind=UnitKind.DOCUMENT_ITEM,
        part_of=head.id,
        number=number,
    )


def as_extracted(fact: ExtractedFact, messages: Mapping[str, Message]) -> ExtractedFact:
    """Restrict an extracted opinion: a model may not set its confidence, nor attribute other people's opinions to the agent.

    A fact whose sources are only messages of people or tools belongs to the world network, even if it is phrased as an
    opinion.

    Args:
        fact: the fact as the model wrote it.
        messages: the messages that the fact may cite, by id.
    """
    if fact.fact_type is not FactType.OPINION:
        return fact
    cited = [messages[source] for source in fact.sources if source in messages]
    theirs = bool(cited) and all(role_of(message) is not Role.ASSISTANT for message in cited)
    kind = FactType.WORLD if theirs else FactType.OPINION
    return fact.model_copy(update={"fact_type": kind, "confidence": None})


def selected(drafts: Sequence[UnitDraft], places: Sequence[int]) -> list[UnitDraft]:
    """Return the drafts at some positions, with causal targets renumbered; claims about omitted drafts are dropped."""
    moved = {place: position for position, place in enumerate(places)}
    return [
        replace(
            drafts[place],
            causes=tuple(renumbered(drafts[place].causes, moved)),
        )
        for place in places
    ]


def in_order(drafts: Sequence[UnitDraft]) -> list[UnitDraft]:
    """Spread equal mention times by a microsecond each, so that the facts of one message keep their order."""
    met: Counter[datetime] = Counter()
    ordered = []
    for draft in drafts:
        moment = draft.unit.mentioned_at
        apart = moment + met[moment] * MICROSECOND if moment.year < MAXYEAR else moment
        ordered.append(replace(draft, unit=replace(draft.unit, mentioned_at=apart)))
        met[moment] += 1
    return ordered


def _problem(fact: ExtractedFact, origin: Origin) -> str:
    if not fact.what.strip():
        return "`what` is empty"
    if origin.moments and fact.sources and not any(source in origin.moments for source in fact.sources):
        return f"`sources` names messages that are not in this retain: {', '.join(fact.sources[:3])}"
    return ""


def _draft(
    fact: ExtractedFact,
    origin: Origin,
    *,
    chunk: int,
    seen: dict[tuple[str, ...], int],
    messages: Mapping[str, Message],
) -> UnitDraft:
    sources = tuple(source for source in fact.sources if source in origin.moments)
    place = sources or (str(chunk),)
    ordinal = seen[place] = seen.get(place, -1) + 1
    text = fact.narrative
    unit = MemoryUnit(
        id=unit_id(origin, sources=sources, chunk=chunk, ordinal=ordinal, text=text),
        bank=origin.bank,
        text=text,
        fact_type=fact.fact_type,
        confidence=_confidence(fact),
        mentioned_at=max((origin.moments[source] for source in sources), default=origin.mentioned_at),
        occurred=occurrence(fact.occurred_start, fact.occurred_end, ZoneInfo(origin.zone)),
        context=origin.context,
        metadata=origin.metadata,
        tags=origin.tags,
        document_id=origin.document_id,
        chunk=chunk,
        thread=origin.thread,
        sources=sources,
        speaker=_speaker(text, sources, messages),
        compact=CompactText(len(fact.what)) if text != fact.what else None,
        records=tuple(canonical_record(r.kind, r.category, r.value, r.unit) for r in fact.records),
        lasting=fact.lasting,
    )
    named = (EntityMention(entity.text, entity.type) for entity in fact.entities if entity.text.strip())
    return UnitDraft(unit, (*named, *origin.entities), (), tuple(fact.invalidates))


def _confidence(fact: ExtractedFact) -> float | None:
    """Return the initial confidence of an opinion; None for facts."""
    if fact.fact_type is not FactType.OPINION:
        return None
    return UNKNOWN_CONFIDENCE if fact.confidence is None else fact.confidence


def _named_by_caller(
    fact: ExtractedFact,
) -> tuple[tuple[ExtractedChange, ...], NamedMemory | None, list[Dropped]]:
    """Return the changes, the document to add to, and the rejected names of a caller's fact, which uses ids or sources."""
    changes = tuple(_distinct(change) for change in fact.changes if change.memory is None)
    adds_to = _distinct(fact.adds_to) if fact.adds_to and fact.adds_to.memory is None else None
    refused = [Dropped(fact.what[:EXCERPT_CHARACTERS], f"{field}: {NONE_SHOWN}") for field in _numbered(fact)]
    return changes, adds_to, refused


def _numbered(fact: ExtractedFact) -> list[str]:
    """Return the names of the fact's fields that refer to memories by number."""
    fields = ["changes"] if any(change.memory is not None for change in fact.changes) else []
    return [*fields, "adds_to"] if fact.adds_to and fact.adds_to.memory is not None else fields


def _distinct(named: N) -> N:
    """Remove duplicate sources from the name of a memory."""
    return named.model_copy(update={"sources": list(dict.fromkeys(named.sources))})


def _by_id(named: N, shown: Sequence[str]) -> N | None:
    """Replace the number of a memory by its id; return None if no memory with that number was shown."""
    if named.memory is None or named.memory > len(shown):
        return None
    return named.model_copy(update={"memory": None, "unit_id": shown[named.memory - 1]})


def _named_by_model(
    fact: ExtractedFact, sources: Sequence[str], shown: Sequence[str], messages: Mapping[str, Message]
) -> tuple[tuple[ExtractedChange, ...], NamedMemory | None, list[Dropped]]:
    """Return the changes, the document to add to, and the rejected names of a model's fact, which uses numbers.

    Only a user message may end or change a memory.
    """
    fields = _numbered(fact)
    if not fields:
        return (), None, []
    if not shown:
        return (
            (),
            None,
            [Dropped(fact.what[:EXCERPT_CHARACTERS], f"{field}: {NONE_SHOWN}") for field in fields],
        )
    dropped = []
    changes: tuple[ExtractedChange, ...] = ()
    if _said_by_person(sources, messages):
        changes = tuple(named for change in fact.changes if (named := _by_id(change, shown)))
    elif fact.changes:
        dropped.append(
            Dropped(fact.what[:EXCERPT_CHARACTERS], "changes: only a user message can end or change a memory")
        )
    number = fact.adds_to.memory if fact.adds_to else None
    adds_to = _by_id(fact.adds_to, shown) if fact.adds_to else None
    if number is not None and adds_to is None:
        dropped.append(
            Dropped(
                fact.what[:EXCERPT_CHARACTERS],
                f"adds_to: memory {number} does not exist; {len(shown)} were shown",
            )
        )
    return changes, adds_to, dropped


def _said_by_person(sources: Sequence[str], messages: Mapping[str, Message]) -> bool:
    return any(source in messages and role_of(messages[source]) is Role.USER for source in sources)


def _speaker(text: str, sources: Sequence[str], messages: Mapping[str, Message]) -> str:
    """Return the speaker if the text is a verbatim message or a piece of a long one; otherwise an empty string."""
    message = messages.get(sources[0]) if len(sources) == 1 else None
    if message is None:
        return ""
    said = text.removeprefix(f"{message.speaker}: ")
    if len(message.text) > LONGEST_MESSAGE:
        return message.speaker if said != text and said in message.text else ""
    return message.speaker if normalised_text(text) == normalised_text(message.spoken) else ""


def _connect(drafts: list[UnitDraft], facts: Sequence[ExtractedFact], kept: Mapping[int, int]) -> None:
    for index, position in kept.items():
        others = {other: place for other, place in kept.items() if other != index}
        if claims := renumbered(facts[index].causal_relations, others):
            drafts[position] = replace(drafts[position], causes=tuple(claims))


@dataclass(frozen=True, slots=True)
class WaitingPassage:
    """A passage that waits for extraction, or a snippet that waits to be merged into the background.

    Attributes:
        task: the task that will process it.
        keys: the keys of its messages; empty for a passage of a document.
        turns: the messages as units that recall finds until the task is done; empty for a document. They have no vectors
            before `measured`, or if the embedder fails.
    """

    task: TaskWrite
    keys: frozenset[MessageKey] = frozenset()
    turns: tuple[UnitWrite, ...] = ()


@dataclass(frozen=True, slots=True)
class FollowedThread:
    """The current messages of a conversation, to be compared with its log in the commit.

    Attributes:
        thread: the id of the conversation.
        namespace: the name of one of the thread's message lists.
        messages: (id, content hash) of the messages to retain, in order; only the new ones unless `whole`.
        asked: the ids of the messages that a user wrote.
        whole: True if `messages` is the whole list, False if it contains only the messages added since the last call.
        before: the position up to which the thread was read before.
        seen: the number of messages in the list.
        digest: the hash of the list.
        at: the latest possible time of a fork (aware UTC).
        on_fork: what happens to memories made from dropped messages.
    """

    thread: str
    namespace: str
    messages: tuple[tuple[str, str], ...]
    whole: bool
    before: ThreadMark
    seen: int
    digest: str
    at: datetime
    on_fork: OnFork = OnFork.SUPERSEDE
    asked: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Forgetting:
    """A request to forget, with a unit that decides which memories it may invalidate.

    Attributes:
        request: the request.
        asked: a unit with thread, tags and time of the requesting messages; it is not written.
    """

    request: ForgetRequest
    asked: MemoryUnit


@dataclass(frozen=True, slots=True)
class Proposal:
    """The data that one retain, or several in one commit, will write.

    Attributes:
        drafts: the units to write, in order.
        keys: the keys of all source messages.
        speakers: the names of the conversation's speakers.
        moments: the time of this version of each message, or of the document.
        documents: the source documents, with their changed passages.
        turns: the texts of the source messages; empty if they are not stored.
        waiting: the passages that are not extracted yet.
        completed: the leases of the tasks that produced this proposal; their messages are known, so `keys` is
            empty.
        extracted: the ids of the turns that waited for these tasks.
        revision: the bank's revision at which the documents were compared.
        skipped: the number of messages whose version is already stored.
        dropped: the rejected texts, and the reason of each.
        forget: the requests to forget.
        followed: the conversation that these messages continue, if the caller passed its whole list.
        usage: the cost of the extraction.
    """

    drafts: Sequence[UnitDraft]
    keys: tuple[MessageKey, ...] = ()
    speakers: frozenset[str] = frozenset()
    moments: Mapping[Place, datetime] = field(default_factory=dict)
    documents: tuple[DocumentPlan, ...] = ()
    turns: tuple[TurnWrite, ...] = ()
    waiting: tuple[WaitingPassage, ...] = ()
    completed: tuple[TaskClaim, ...] = ()
    extracted: tuple[str, ...] = ()
    revision: int = 0
    skipped: int = 0
    dropped: tuple[Dropped, ...] = ()
    forget: tuple[Forgetting, ...] = ()
    followed: FollowedThread | None = None
    usage: Usage = NO_USAGE


def joined(proposals: Sequence[Proposal]) -> Proposal:
    """Join proposals that share no message or document into one for a single commit."""
    return Proposal(
        drafts=_joined_drafts([proposal.drafts for proposal in proposals]),
        keys=tuple(key for proposal in proposals for key in proposal.keys),
        speakers=frozenset().union(*(proposal.speakers for proposal in proposals)),
        moments={place: at for proposal in proposals for place, at in proposal.moments.items()},
        documents=tuple(plan for proposal in proposals for plan in proposal.documents),
        turns=tuple(turn for proposal in proposals for turn in proposal.turns),
        waiting=tuple(passage for proposal in proposals for passage in proposal.waiting),
        completed=tuple(task for proposal in proposals for task in proposal.completed),
        extracted=tuple(unit for proposal in proposals for unit in proposal.extracted),
        revision=max(proposal.revision for proposal in proposals),
        forget=tuple(each for proposal in proposals for each in proposal.forget),
        followed=next((each.followed for each in proposals if each.followed), None),
    )


def forgettings(requests: Iterable[ForgetRequest], origin: Origin) -> tuple[Forgetting, ...]:
    """Pair each request of one conversation with a unit that represents its messages."""
    return tuple(
        Forgetting(
            request,
            MemoryUnit(
                id="",
                bank=origin.bank,
                text=request.what,
                fact_type=FactType.WORLD,
                mentioned_at=max(
                    (origin.moments[each] for each in request.sources if each in origin.moments),
                    default=origin.mentioned_at,
                ),
                tags=origin.tags,
                thread=origin.thread,
                sources=request.sources,
            ),
        )
        for request in requests
    )


def _joined_drafts(lists: Sequence[Sequence[UnitDraft]]) -> list[UnitDraft]:
    """Concatenate lists of drafts, with causal targets renumbered."""
    together: list[UnitDraft] = []
    for drafts in lists:
        places = {place: place + len(together) for place in range(len(drafts))}
        together += [replace(draft, causes=tuple(renumbered(draft.causes, places))) for draft in drafts]
    return together


logger = logging.getLogger("hindsight_integrations")


def measured(proposal: Proposal, embedder: Embedder, tokens: TokenCounter) -> Proposal:
    """Compute the vectors and token counts of a proposal's texts, in few batches.

    Waiting turns are embedded separately. If the embedder fails on them, they are stored without vectors, so that no message
    is lost.

    Raises:
        ModelError: the embedder failed on the drafts, or returned invalid vectors.
    """
    drafts = with_vectors(proposal.drafts, embedder)
    waiting = _measured_turns(proposal.waiting, embedder, tokens) if proposal.waiting else ()
    return replace(proposal, drafts=with_tokens(drafts, tokens), waiting=waiting)


def with_vectors(drafts: Sequence[UnitDraft], embedder: Embedder) -> list[UnitDraft]:
    """Add the vectors of the drafts, computed in one batch, and those of their statements, computed in another."""
    if not drafts:
        return []
    vectors = embed_units([draft.unit for draft in drafts], embedder)
    stated = list(dict.fromkeys(text for draft in drafts for text in draft.invalidates))
    of_texts = dict(zip(stated, embedded(stated, embedder), strict=True)) if stated else {}
    return [
        replace(draft, vector=vector, statements={text: of_texts[text] for text in draft.invalidates})
        for draft, vector in zip(drafts, vectors, strict=True)
    ]


def with_tokens(drafts: Sequence[UnitDraft], tokens: TokenCounter) -> list[UnitDraft]:
    """Add the token counts of each unit's full and compact text (paper eq. 8), counted in one batch."""
    units = [draft.unit for draft in drafts]
    counts = iter(tokens.count([text for unit in units for text in _forms(unit)]))
    return [replace(draft, unit=_counted(draft.unit, counts)) for draft in drafts]


def _forms(unit: MemoryUnit) -> tuple[str, ...]:
    return (unit.text, unit.compact_text) if unit.compact else (unit.text,)


def _counted(unit: MemoryUnit, counts: Iterator[int]) -> MemoryUnit:
    """Set the unit's token counts to the next values of `counts`, and remove a compact form that saves no tokens."""
    whole = next(counts)
    if not unit.compact:
        return replace(unit, tokens=whole)
    short = next(counts)
    return replace(unit, tokens=whole, compact=replace(unit.compact, tokens=short) if short < whole else None)


def _measured_turns(
    passages: Sequence[WaitingPassage], embedder: Embedder, tokens: TokenCounter
) -> tuple[WaitingPassage, ...]:
    units = [turn.unit for passage in passages for turn in passage.turns]
    costs = tokens.count([unit.text for unit in units])
    try:
        vectors = [row.astype("<f4").tobytes() for row in embed_units(units, embedder)]
    except ModelError as error:
        logger.warning("%d waiting turns were stored without a vector: %s", len(units), type(error).__name__)
        vectors = [b""] * len(units)
    turns = iter(
        UnitWrite(replace(unit, tokens=cost), vector)
        for unit, cost, vector in zip(units, costs, vectors, strict=True)
    )
    return tuple(replace(passage, turns=tuple(next(turns) for _ in passage.turns)) for passage in passages)
