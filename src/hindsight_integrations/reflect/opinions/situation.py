"""What the opinions of an answer meet with: the memories they stand on, the opinions held, and who the agent is."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import numpy as np

from hindsight_integrations.indexes.bank_view import Projector
from hindsight_integrations.indexes.embedding import embed_units
from hindsight_integrations.ledger.ledger import LedgerReader
from hindsight_integrations.model.arrays import Vector
from hindsight_integrations.model.embedder import Thresholds
from hindsight_integrations.model.entities import Entity
from hindsight_integrations.model.names import names_any, normalise_name
from hindsight_integrations.model.opinions import OpinionLog, confidence_of
from hindsight_integrations.model.profile import BankProfile
from hindsight_integrations.model.reflections import OpinionChange, OpinionOutcome
from hindsight_integrations.model.text import normalised_text
from hindsight_integrations.model.units import NAMESPACE, FactType, MemoryUnit
from hindsight_integrations.models.protocols import TokenCounter
from hindsight_integrations.reflect.opinions.candidates import HeldOpinion, about, find_near, held_opinions
from hindsight_integrations.reflect.opinions.evidence import Fact, read_facts, weighed
from hindsight_integrations.reflect.opinions.proposed import ProposedOpinion
from hindsight_integrations.services import Services

GONE = "a memory it stands on was forgotten meanwhile"
NO_LONGER_TRUE = "what it stands on is no longer true"
TAGS_DIFFER = (
    "it stands on memories with different tags, and whoever may see one of them may not see the others"
)


@dataclass(frozen=True, slots=True)
class Occasion:
    """A reflection, as far as its opinions are concerned.

    Attributes:
        question: that was answered.
        at: when (aware UTC).
        operation: key under which a retry forms nothing twice; empty for none.
        revision: of the bank, whose memories the answer was made from.
    """

    question: str
    at: datetime
    operation: str
    revision: int


@dataclass(frozen=True, slots=True)
class Grounds:
    """What an opinion stands on, as it is when the opinion is formed.

    Attributes:
        units: the memories.
        entities: that they mention.
    """

    units: tuple[MemoryUnit, ...]
    entities: tuple[Entity, ...]

    @property
    def tags(self) -> tuple[str, ...]:
        """Those of its tagged memories, if `fault` finds nothing."""
        return next((unit.tags for unit in self.units if unit.tags), ())

    def fault(self, named: Collection[str]) -> str:
        """What keeps an opinion from standing on them; "" if nothing does.

        Args:
            named: ids of all it stands on.
        """
        if len(self.units) < len(set(named)):
            return GONE
        if not any(unit.closed_at is None for unit in self.units):
            return NO_LONGER_TRUE
        return TAGS_DIFFER if len({unit.tags for unit in self.units if unit.tags}) > 1 else ""


def read_grounds(reader: LedgerReader, bank: str, unit_ids: Sequence[str]) -> Grounds:
    """These memories as they are now; what is gone or damaged is left out."""
    rows = np.array(sorted(reader.units.row_ids(bank, unit_ids).values()), np.int64)
    mentioned = reader.entities.of_units(bank, rows)
    entities = {entity.id: entity for found in mentioned.values() for entity in found}
    return Grounds(tuple(reader.units.get(bank, rows).values()), tuple(entities.values()))


def entities_of(given: ProposedOpinion, grounds: Grounds, known: Mapping[str, Entity]) -> list[Entity]:
    """The known entities that the opinion is said to be about, and those of its grounds that it names.

    Args:
        given: the opinion.
        grounds: what it stands on.
        known: the bank's entities by those of `names_given` that it knows.
    """
    listed = {normalise_name(name) for name in given.entities}
    found = {
        entity.id: entity
        for entity in grounds.entities
        if listed & _names(entity) or names_any(given.text, _names(entity))
    }
    met = frozenset[str]().union(*(_names(entity) for entity in found.values()))
    found |= {known[name].id: known[name] for name in sorted(listed - met) if name in known}
    return list(found.values())


def names_given(given: Sequence[ProposedOpinion]) -> list[str]:
    """Normalised names of whom and what opinions are said to be about."""
    return sorted({normalise_name(name) for each in given for name in each.entities} - {""})


def opinion_unit(
    given: ProposedOpinion, occasion: Occasion, bank: str, *, position: int, tags: tuple[str, ...]
) -> MemoryUnit:
    """The unit of an opinion, but for its tokens: the same reflection again gives the same one.

    Args:
        given: the opinion.
        occasion: the reflection.
        bank: its bank.
        position: of the opinion among those of the answer.
        tags: that it has.
    """
    asked = occasion.operation or normalised_text(occasion.question)
    seed = ("opinion", bank, asked, str(position), normalised_text(given.text))
    return MemoryUnit(
        id=str(uuid.uuid5(NAMESPACE, "\x1e".join(seed))),
        bank=bank,
        text=given.text,
        fact_type=FactType.OPINION,
        mentioned_at=occasion.at,
        confidence=given.confidence,
        tags=tags,
    )


def _names(entity: Entity) -> frozenset[str]:
    return frozenset((normalise_name(entity.name), *entity.names))


FORMED_BEFORE = "formed by the same operation before"


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """An opinion put forward, and what it meets with.

    Attributes:
        given: it.
        fault: why it cannot be kept; empty if it can.
        unit: the memory unit it would be.
        vector: of that (dimension,).
        entities: whom and what it is about.
        same: the opinion that is held in the very same words.
        near: opinions that may be about the same matter; none where `same` is one.
    """

    given: ProposedOpinion
    fault: str
    unit: MemoryUnit
    vector: Vector
    entities: tuple[Entity, ...]
    same: HeldOpinion | None = None
    near: tuple[HeldOpinion, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Situation:
    """What the opinions of one answer meet with, as it was at one revision.

    Attributes:
        revision: the bank's, when it was read.
        profile: who the agent is.
        profile_number: of the change of profile in force, 0 for none.
        drafts: the opinions put forward.
        logs: all opinions of the bank.
        grounds: what the drafts stand on.
        facts: what they cite, and what opinions near them were weighed by, by unit id.
        before: what became of the opinions the first time, where the operation was recorded already.
    """

    revision: int
    profile: BankProfile
    profile_number: int
    drafts: tuple[Draft, ...] = ()
    logs: tuple[OpinionLog, ...] = ()
    grounds: tuple[Grounds, ...] = ()
    facts: Mapping[str, Fact] = field(default_factory=dict)
    before: tuple[OpinionChange, ...] | None = None


def read_situation(
    given: Sequence[ProposedOpinion], occasion: Occasion, projector: Projector, services: Services
) -> Situation:
    """Read what opinions put forward meet with; embeds them."""
    ledger, bank = projector.ledger, projector.name
    revision = ledger.revision(bank)
    with ledger.snapshot(bank) as reader:
        changes = reader.profiles.changes(bank)
        profile = changes[-1].profile if changes else BankProfile()
        found = Situation(revision, profile, changes[-1].number if changes else 0)
        if occasion.operation and (formed := reader.opinions.formed_by(bank, occasion.operation)) is not None:
            return replace(found, before=_formed_before(reader.opinions.get(bank, formed)))
        logs = tuple(reader.opinions.get(bank))
        held = held_opinions(reader, bank, logs)
        grounds = tuple(read_grounds(reader, bank, each.grounds) for each in given)
        units = _units(given, grounds, occasion, reader, bank, services.tokens)
        known = reader.entities.named(bank, names_given(given))
        memories = reader.units.count(bank)
        vectors = embed_units(units, services.embedder) if units else np.empty((0, 0), np.float32)
        drafts = []
        for each, stands_on, unit, vector in zip(given, grounds, units, vectors, strict=True):
            entities = tuple(entities_of(each, stands_on, known))
            draft = Draft(each, stands_on.fault(each.grounds), unit, vector, entities)
            drafts.append(
                draft
                if draft.fault
                else _with_near(draft, held, memories, services.embedder.identity.thresholds)
            )
        facts = read_facts(reader, bank, _weighed(drafts), services.languages)
    return replace(found, drafts=tuple(drafts), logs=logs, grounds=grounds, facts=facts)


def unchanged(found: Situation, occasion: Occasion, ledger: LedgerReader, bank: str) -> bool:
    """Whether the bank holds the same opinions, and what the drafts stand on is as it was."""
    if occasion.operation and ledger.opinions.formed_by(bank, occasion.operation) is not None:
        return False
    if tuple(ledger.opinions.get(bank)) != found.logs:
        return False
    return all(
        read_grounds(ledger, bank, draft.given.grounds).units == grounds.units
        for draft, grounds in zip(found.drafts, found.grounds, strict=True)
    )


def _with_near(draft: Draft, held: Sequence[HeldOpinion], memories: int, thresholds: Thresholds) -> Draft:
    """The draft with the opinions near it, among those with its tags."""
    seen = [each for each in held if each.log.tags == draft.unit.tags]
    text = normalised_text(draft.unit.text)
    same = next((each for each in seen if normalised_text(each.wording.text) == text), None)
    if same is not None:
        return replace(draft, same=same)
    found = find_near(about(draft.entities, draft.vector, memories), seen, thresholds)
    return replace(draft, near=tuple(found))


def _units(
    given: Sequence[ProposedOpinion],
    grounds: Sequence[Grounds],
    occasion: Occasion,
    reader: LedgerReader,
    bank: str,
    tokens: TokenCounter,
) -> list[MemoryUnit]:
    """The units that opinions would be. One whose id is taken, by a wording that ended or has other tags, gets another."""
    counts = tokens.count([each.text for each in given])
    units = []
    for place, (each, stands_on, count) in enumerate(zip(given, grounds, counts, strict=True)):
        unit = opinion_unit(each, occasion, bank, position=place, tags=stands_on.tags)
        while reader.units.row_ids(bank, [unit.id]):
            place += len(given)  # noqa: PLW2901 - the next place that is free
            unit = opinion_unit(each, occasion, bank, position=place, tags=stands_on.tags)
        units.append(replace(unit, tokens=count))
    return units


def _weighed(drafts: Sequence[Draft]) -> list[str]:
    logs = {each.log.id: each.log for draft in drafts for each in (*draft.near, *filter(None, [draft.same]))}
    cited = (unit_id for draft in drafts for unit_id in draft.given.cited)
    return sorted({*cited, *(unit_id for log in logs.values() for unit_id in weighed(log))})


def _formed_before(logs: Sequence[OpinionLog]) -> tuple[OpinionChange, ...]:
    return tuple(
        OpinionChange(OpinionOutcome.FORMED, log.versions[-1].text, confidence_of(log), log.id, FORMED_BEFORE)
        for log in logs
    )
