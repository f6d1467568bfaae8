"""Drafts: extracted facts as memory units, before anything of the bank is known. Pure."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import MAXYEAR, datetime
from zoneinfo import ZoneInfo

from hindsight_integrations.model.entities import EntityMention
from hindsight_integrations.model.facts import ExtractedFact, MemoryChange
from hindsight_integrations.model.links import CausalRelation
from hindsight_integrations.model.metadata import Metadata
from hindsight_integrations.model.opinions import UNKNOWN_CONFIDENCE
from hindsight_integrations.model.requests import Message
from hindsight_integrations.model.results import Dropped
from hindsight_integrations.model.text import normalised_text
from hindsight_integrations.model.time import MICROSECOND
from hindsight_integrations.model.turns import Role
from hindsight_integrations.model.units import NAMESPACE, CompactText, FactType, MemoryUnit
from hindsight_integrations.tempr.retain.extraction.result import Extraction
from hindsight_integrations.tempr.retain.time_normalisation import occurrence
from hindsight_integrations.text.vocabulary.records import canonical_record
from hindsight_integrations.validation.roles import role_of


@dataclass(frozen=True, slots=True)
class CausalClaim:
    """Draft `target` of the same list stands in `relation` to this one."""

    target: int
    relation: CausalRelation
    strength: float


@dataclass(frozen=True, slots=True)
class NamedChange:
    """A memory that a fact ends, replaces or takes a part of, as a model that was shown it, or a caller, names it.

    Attributes:
        unit_id: the memory; empty where it is named by its sources.
        sources: ids of the messages that it was made from; none where it is named by its id.
        change: what becomes of it.
        part: what no longer holds of it, in words; only of a part.
        removed: what no longer holds of a replaced memory, in words.
    """

    change: MemoryChange
    unit_id: str = ""
    sources: tuple[str, ...] = ()
    part: str = ""
    removed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Draft:
    """A unit to be, with what must be resolved against the bank.

    Attributes:
        unit: everything but its tokens, which are counted in one batch.
        mentions: entities as extraction wrote them.
        causes: causal claims, by position in the list of drafts.
        invalidates: statements of what this fact makes obsolete.
        changes: memories it ends or changes, by name.
        given: whether the caller stated the fact; else it was extracted.
        said_by_person: whether it stands on a message of a person, not only of an assistant, a tool or a document.
    """

    unit: MemoryUnit
    mentions: tuple[EntityMention, ...] = ()
    causes: tuple[CausalClaim, ...] = ()
    invalidates: tuple[str, ...] = ()
    changes: tuple[NamedChange, ...] = ()
    given: bool = False
    said_by_person: bool = False


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the facts of one extraction come from: what all their units share.

    Attributes:
        bank: the bank's name.
        zone: IANA name of the bank's time zone.
        mentioned_at: mention time of facts without a known source.
        moments: mention time of each message id; empty for a document.
        thread: the conversation.
        document_id: the document, None for a conversation.
        context: about the source.
        tags: visibility tags.
        metadata: the caller's values.
        entities: what the caller says every unit mentions.
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
    """The id that makes the same retain twice the same rows: uuid5 of bank, place, ordinal and normalised text."""
    place = "\x1f".join((origin.thread, *sources)) if sources else f"{origin.document_id}\x1f{chunk}"
    return str(uuid.uuid5(NAMESPACE, "\x1e".join((origin.bank, place, str(ordinal), normalised_text(text)))))


def draft_facts(
    extraction: Extraction,
    origin: Origin,
    *,
    ordinals: Sequence[int] = (),
    messages: Mapping[str, Message] | None = None,
) -> tuple[list[Draft], list[Dropped]]:
    """Facts, chunk by chunk, as drafts in order; what cannot become a unit is dropped with its reason.

    Causal indexes count within a chunk, as the extraction that wrote them did.

    Args:
        extraction: the facts.
        origin: where they come from.
        ordinals: ordinal of each chunk within its document; empty means 0, 1, 2 ...
        messages: by id, to see which facts are one of them word for word, and whose they are.
    """
    drafts: list[Draft] = []
    dropped: list[Dropped] = []
    seen: dict[tuple[str, ...], int] = {}
    for place, facts in enumerate(extraction.chunks):
        number = ordinals[place] if ordinals else place
        kept: dict[int, int] = {}
        for index, fact in enumerate(facts):
            problem = _problem(fact, origin)
            if problem:
                dropped.append(Dropped(fact.what[:200], problem))
                continue
            kept[index] = len(drafts)
            if not extraction.given:
                fact = as_extracted(fact, messages or {})  # noqa: PLW2901 - what a model may say of it
            draft = _draft(fact, origin, chunk=number, seen=seen, messages=messages or {})
            shown = extraction.shown[place] if extraction.shown else ()
            if extraction.given:
                changes, refused = _changes_of_caller(fact)
            else:
                changes, refused = _changes_of_model(fact, draft.unit.sources, shown, messages or {})
            dropped.extend(refused)
            person = _said_by_person(draft.unit.sources, messages or {})
            drafts.append(replace(draft, changes=changes, given=extraction.given, said_by_person=person))
        _connect(drafts, facts, kept)
    return in_order(drafts), dropped


def as_extracted(fact: ExtractedFact, messages: Mapping[str, Message]) -> ExtractedFact:
    """A fact as a model may state it: how firmly the agent believes something it does not say, nor what a person believes.

    What only people or tools said is of the world, even if it is put as an opinion: the agent's own are said by the agent.

    Args:
        fact: as the model wrote it.
        messages: by id, those the fact may cite.
    """
    if fact.fact_type is not FactType.OPINION:
        return fact
    cited = [messages[source] for source in fact.sources if source in messages]
    theirs = bool(cited) and all(role_of(message) is not Role.ASSISTANT for message in cited)
    kind = FactType.WORLD if theirs else FactType.OPINION
    return fact.model_copy(update={"fact_type": kind, "confidence": None})


def selected(drafts: Sequence[Draft], places: Sequence[int]) -> list[Draft]:
    """Some of the drafts; causal claims point at the same ones as before, and those at others are left out."""
    moved = {place: position for position, place in enumerate(places)}
    return [
        replace(
            drafts[place],
            causes=tuple(
                replace(claim, target=moved[claim.target])
                for claim in drafts[place].causes
                if claim.target in moved
            ),
        )
        for place in places
    ]


def in_order(drafts: Sequence[Draft]) -> list[Draft]:
    """The drafts, mention times that tie set apart by a microsecond each, so that facts of one message keep their order."""
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
        return "it says nothing"
    if origin.moments and fact.sources and not any(source in origin.moments for source in fact.sources):
        return f"it cites messages that were not given: {', '.join(fact.sources[:3])}"
    return ""


def _draft(
    fact: ExtractedFact,
    origin: Origin,
    *,
    chunk: int,
    seen: dict[tuple[str, ...], int],
    messages: Mapping[str, Message],
) -> Draft:
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
    )
    named = (EntityMention(entity.text, entity.type) for entity in fact.entities if entity.text.strip())
    return Draft(unit, (*named, *origin.entities), (), tuple(fact.invalidates))


def _confidence(fact: ExtractedFact) -> float | None:
    """With which an opinion is formed; facts have none."""
    if fact.fact_type is not FactType.OPINION:
        return None
    return UNKNOWN_CONFIDENCE if fact.confidence is None else fact.confidence


def _changes_of_caller(fact: ExtractedFact) -> tuple[tuple[NamedChange, ...], list[Dropped]]:
    """The memories that a caller says the fact ends or changes, by id or source."""
    changes = tuple(
        NamedChange(
            change.change,
            change.unit_id,
            tuple(dict.fromkeys(change.sources)),
            change.part,
            tuple(change.removed),
        )
        for change in fact.changes
        if change.memory is None
    )
    if len(changes) == len(fact.changes):
        return changes, []
    return changes, [Dropped(fact.what[:200], "changes: it names memories by number, and none were shown")]


def _changes_of_model(
    fact: ExtractedFact, sources: Sequence[str], shown: Sequence[str], messages: Mapping[str, Message]
) -> tuple[tuple[NamedChange, ...], list[Dropped]]:
    """The memories the fact names, if a person said so: neither an assistant nor a document ends what somebody told."""
    if not fact.changes:
        return (), []
    if not shown:
        return (), [Dropped(fact.what[:200], "changes: it names memories by number, and none were shown")]
    if not _said_by_person(sources, messages):
        return (), [Dropped(fact.what[:200], "changes: only what a person says ends a memory")]
    return tuple(
        NamedChange(change.change, shown[change.memory - 1], part=change.part, removed=tuple(change.removed))
        for change in fact.changes
        if change.memory is not None and change.memory <= len(shown)
    ), []


def _said_by_person(sources: Sequence[str], messages: Mapping[str, Message]) -> bool:
    return any(source in messages and role_of(messages[source]) is Role.USER for source in sources)


def _speaker(text: str, sources: Sequence[str], messages: Mapping[str, Message]) -> str:
    """Whose message it is, where the text is one message word for word."""
    message = messages.get(sources[0]) if len(sources) == 1 else None
    if message is None or normalised_text(text) != normalised_text(message.spoken):
        return ""
    return message.speaker


def _connect(drafts: list[Draft], facts: Sequence[ExtractedFact], kept: Mapping[int, int]) -> None:
    for index, position in kept.items():
        claims = tuple(
            CausalClaim(kept[claim.target_fact_index], claim.relation_type, claim.strength)
            for claim in facts[index].causal_relations
            if claim.target_fact_index in kept and claim.target_fact_index != index
        )
        if claims:
            drafts[position] = replace(drafts[position], causes=claims)
