"""Form opinions: store new ones, and use the facts behind repeated ones as evidence for held opinions (paper section 5.4.2).

Forming reads the bank, compares and decides the opinions, and commits the result once. If the bank changes
before the commit, the opinions are decided again.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime

import numpy as np

from hindsight_integrations.errors import ModelError, RevisionConflict
from hindsight_integrations.indexes.bank_view import BankView, Projector
from hindsight_integrations.indexes.embedding import embed_units
from hindsight_integrations.language.language import language_of
from hindsight_integrations.language.specifics import specifics, told_apart
from hindsight_integrations.ledger.ledger import LedgerReader
from hindsight_integrations.model.arrays import Vector
from hindsight_integrations.model.embedder import Thresholds
from hindsight_integrations.model.entities import Entity
from hindsight_integrations.model.names import names_any, normalise_name
from hindsight_integrations.model.opinions import (
    Assessment,
    Evidence,
    EvidenceStrength,
    EvidenceWrite,
    FormationWrite,
    OpinionLog,
    OpinionOrigin,
    OpinionsWrite,
    RewordingWrite,
    UpdateRule,
    ValidityChange,
    confidence_of,
)
from hindsight_integrations.model.profile import BankProfile
from hindsight_integrations.model.reflections import (
    OpinionChange,
    OpinionMove,
    OpinionMovement,
    OpinionOutcome,
)
from hindsight_integrations.model.results import NO_USAGE, Usage
from hindsight_integrations.model.text import normalised_text
from hindsight_integrations.model.time import next_instant
from hindsight_integrations.model.units import NAMESPACE, FactType, MemoryUnit, ValidityEvent, ValidityKind
from hindsight_integrations.model.writes import MentionWrite, UnitWrite, WriteSet
from hindsight_integrations.models.protocols import LanguageModel, TokenCounter
from hindsight_integrations.prompts.relate_opinions import (
    AnsweredRelation,
    AnsweredRelations,
    NewOpinion,
    Relation,
    relate_opinions_prompt,
)
from hindsight_integrations.prompts.repair import complete_with_repair
from hindsight_integrations.reflect.opinions.evidence import (
    AssessedFact,
    Fact,
    HeldOpinion,
    evidence_rows,
    find_near,
    held_opinions,
    held_wording,
    read_facts,
    step_of,
    topic_of,
    weighed,
)
from hindsight_integrations.reflect.opinions.proposed import ProposedOpinion
from hindsight_integrations.services import Services

GONE = "a memory it is based on has been erased"
NO_LONGER_TRUE = "all memories it is based on have become invalid"
TAGS_DIFFER = "it is based on memories with different tags, which may not be visible to the same readers"


@dataclass(frozen=True, slots=True)
class Occasion:
    """The reflection that forms opinions.

    Attributes:
        question: the question.
        at: time of the question (aware UTC).
        operation: idempotency key; may be empty.
        revision: revision of the bank before recall.
    """

    question: str
    at: datetime
    operation: str
    revision: int


@dataclass(frozen=True, slots=True)
class Grounds:
    """The memories a proposed opinion is based on.

    Attributes:
        units: the memories.
        entities: entities they mention.
    """

    units: tuple[MemoryUnit, ...]
    entities: tuple[Entity, ...]

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of the memories; only meaningful if `fault` returns ""."""
        return next((unit.tags for unit in self.units if unit.tags), ())

    def fault(self, named: Collection[str]) -> str:
        """Return the reason why an opinion cannot be based on these memories; empty if it can. `named` has all their ids."""
        if len(self.units) < len(set(named)):
            return GONE
        if not any(unit.closed_at is None for unit in self.units):
            return NO_LONGER_TRUE
        return TAGS_DIFFER if len({unit.tags for unit in self.units if unit.tags}) > 1 else ""


def read_grounds(reader: LedgerReader, bank: str, unit_ids: Sequence[str]) -> Grounds:
    """Read these memories; omit missing and damaged ones."""
    rows = np.array(sorted(reader.units.row_ids(bank, unit_ids).values()), np.int64)
    mentioned = reader.entities.of_units(bank, rows)
    entities = {entity.id: entity for group in mentioned.values() for entity in group}
    return Grounds(tuple(reader.units.get(bank, rows).values()), tuple(entities.values()))


def entities_of(proposal: ProposedOpinion, grounds: Grounds, known: Mapping[str, Entity]) -> list[Entity]:
    """Return the known entities that an opinion lists, and the entities of its grounds that its text names.

    `known` maps the normalised names of the bank's entities to them.
    """
    listed = {normalise_name(name) for name in proposal.entities}
    matches = {
        entity.id: entity
        for entity in grounds.entities
        if listed & _names(entity) or names_any(proposal.text, _names(entity))
    }
    met = frozenset[str]().union(*(_names(entity) for entity in matches.values()))
    matches |= {known[name].id: known[name] for name in sorted(listed - met) if name in known}
    return list(matches.values())


def opinion_unit(
    proposal: ProposedOpinion, occasion: Occasion, bank: str, *, position: int, tags: tuple[str, ...]
) -> MemoryUnit:
    """Build the unit of an opinion, without its token count. Repeating a reflection gives the same unit id."""
    asked = occasion.operation or normalised_text(occasion.question)
    seed = ("opinion", bank, asked, str(position), normalised_text(proposal.text))
    return MemoryUnit(
        id=str(uuid.uuid5(NAMESPACE, "\x1e".join(seed))),
        bank=bank,
        text=proposal.text,
        fact_type=FactType.OPINION,
        mentioned_at=occasion.at,
        confidence=proposal.confidence,
        tags=tags,
    )


def _names(entity: Entity) -> frozenset[str]:
    return frozenset((normalise_name(entity.name), *entity.names))


FORMED_BEFORE = "formed by the same operation before"


@dataclass(frozen=True, slots=True, eq=False)
class OpinionDraft:
    """A proposed opinion, and the held opinions near it.

    Attributes:
        proposal: the proposed opinion.
        fault: the reason why it cannot be stored; empty if it can.
        unit: the unit that would be stored.
        vector: vector of the unit (dimension,).
        entities: entities it is about.
        same: the held opinion with the same text; None if there is none.
        near: opinions that may be about the same subject; empty if `same` is set.
    """

    proposal: ProposedOpinion
    fault: str
    unit: MemoryUnit
    vector: Vector
    entities: tuple[Entity, ...]
    same: HeldOpinion | None = None
    near: tuple[HeldOpinion, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Situation:
    """The state of a bank on which the decision about an answer's opinions is based.

    Attributes:
        revision: revision of the bank when it was read.
        profile: profile of the agent.
        profile_number: number of the current profile change; 0 if there is none.
        drafts: the proposed opinions.
        logs: all opinions of the bank.
        grounds: the grounds of each draft.
        facts: cited facts, and evidence for the opinions near the drafts, by unit id.
        before: the outcome of this operation, if it is already recorded.
    """

    revision: int
    profile: BankProfile
    profile_number: int
    drafts: tuple[OpinionDraft, ...] = ()
    logs: tuple[OpinionLog, ...] = ()
    grounds: tuple[Grounds, ...] = ()
    facts: Mapping[str, Fact] = field(default_factory=dict)
    before: tuple[OpinionChange, ...] | None = None


def read_situation(
    proposals: Sequence[ProposedOpinion], occasion: Occasion, projector: Projector, services: Services
) -> Situation:
    """Read the state of the bank needed to decide about proposed opinions, and embed the opinions."""
    ledger, bank = projector.ledger, projector.name
    revision = ledger.revision(bank)
    with ledger.snapshot(bank) as reader:
        changes = reader.profiles.changes(bank)
        profile = changes[-1].profile if changes else BankProfile()
        situation = Situation(revision, profile, changes[-1].number if changes else 0)
        if occasion.operation and (formed := reader.opinions.formed_by(bank, occasion.operation)) is not None:
            return replace(situation, before=_formed_before(reader.opinions.get(bank, formed)))
        logs = tuple(reader.opinions.get(bank))
        held = held_opinions(reader, bank, logs)
        grounds = tuple(read_grounds(reader, bank, each.grounds) for each in proposals)
        units = _units(proposals, grounds, occasion, reader, bank, services.tokens)
        listed = {normalise_name(name) for each in proposals for name in each.entities}
        known = reader.entities.named(bank, sorted(listed - {""}))
        memories = reader.units.count(bank)
        vectors = embed_units(units, services.embedder) if units else np.empty((0, 0), np.float32)
        drafts = []
        for each, stands_on, unit, vector in zip(proposals, grounds, units, vectors, strict=True):
            entities = tuple(entities_of(each, stands_on, known))
            draft = OpinionDraft(each, stands_on.fault(each.grounds), unit, vector, entities)
            drafts.append(
                draft
                if draft.fault
                else _with_near(draft, held, memories, services.embedder.identity.thresholds)
            )
        facts = read_facts(reader, bank, _weighed(drafts), services.languages)
    return replace(situation, drafts=tuple(drafts), logs=logs, grounds=grounds, facts=facts)


def unchanged(situation: Situation, occasion: Occasion, ledger: LedgerReader, bank: str) -> bool:
    """Check that the bank's opinions and the grounds of the drafts have not changed."""
    if occasion.operation and ledger.opinions.formed_by(bank, occasion.operation) is not None:
        return False
    if tuple(ledger.opinions.get(bank)) != situation.logs:
        return False
    return all(
        read_grounds(ledger, bank, draft.proposal.grounds).units == grounds.units
        for draft, grounds in zip(situation.drafts, situation.grounds, strict=True)
    )


def _with_near(
    draft: OpinionDraft, held: Sequence[HeldOpinion], memories: int, thresholds: Thresholds
) -> OpinionDraft:
    """Return the draft with the held opinions near it that have the same tags."""
    visible = [each for each in held if each.log.tags == draft.unit.tags]
    text = normalised_text(draft.unit.text)
    same = next((each for each in visible if normalised_text(each.wording.text) == text), None)
    if same is not None:
        return replace(draft, same=same)
    near_opinions = find_near(topic_of(draft.entities, draft.vector, memories), visible, thresholds)
    return replace(draft, near=tuple(near_opinions))


def _units(
    proposed: Sequence[ProposedOpinion],
    grounds: Sequence[Grounds],
    occasion: Occasion,
    reader: LedgerReader,
    bank: str,
    tokens: TokenCounter,
) -> list[MemoryUnit]:
    """Build the units of the opinions.

    If an id belongs to an invalid wording or to one with other tags, another id is used.
    """
    counts = tokens.count([each.text for each in proposed])
    units = []
    for place, (each, stands_on, count) in enumerate(zip(proposed, grounds, counts, strict=True)):
        unit = opinion_unit(each, occasion, bank, position=place, tags=stands_on.tags)
        while reader.units.row_ids(bank, [unit.id]):
            place += len(proposed)  # noqa: PLW2901 - try the next position
            unit = opinion_unit(each, occasion, bank, position=place, tags=stands_on.tags)
        units.append(replace(unit, tokens=count))
    return units


def _weighed(drafts: Sequence[OpinionDraft]) -> list[str]:
    logs = {each.log.id: each.log for draft in drafts for each in (*draft.near, *filter(None, [draft.same]))}
    cited = (unit_id for draft in drafts for unit_id in draft.proposal.cited)
    return sorted({*cited, *(unit_id for log in logs.values() for unit_id in weighed(log))})


def _formed_before(logs: Sequence[OpinionLog]) -> tuple[OpinionChange, ...]:
    return tuple(
        OpinionChange(OpinionOutcome.FORMED, log.versions[-1].text, confidence_of(log), log.id, FORMED_BEFORE)
        for log in logs
    )


@dataclass(frozen=True, slots=True)
class PairRelation:
    """The relation of a new opinion to a held one.

    Attributes:
        relation: the relation.
        strength: how strongly the new opinion supports or contradicts the held one.
        reason: the model's explanation.
    """

    relation: Relation
    strength: EvidenceStrength
    reason: str


@dataclass(slots=True)
class Relations:
    """The relations of pairs according to a model, and their cost.

    Attributes:
        found: the relations, by pair: (text of the new opinion, unit id of the held opinion's current wording). Pairs without a
            usable answer are missing.
        asked: all pairs sent to the model, with or without an answer; a pair is sent only once.
        usage: cost of the model calls.
    """

    found: dict[tuple[str, str], PairRelation] = field(default_factory=dict)
    asked: set[tuple[str, str]] = field(default_factory=set)
    usage: Usage = NO_USAGE


async def relate(drafts: Sequence[OpinionDraft], model: LanguageModel, known: Relations) -> None:
    """Compare all pairs not compared yet in one model call, and add the usable relations to `known`.

    Raises:
        ModelError: the model failed.
    """
    compared = []
    for draft in drafts:
        text = draft.proposal.text
        near = [each.wording for each in draft.near if (text, each.wording.unit_id) not in known.asked]
        if near:
            compared.append((text, near))
    if not compared:
        return
    known.asked.update((text, each.unit_id) for text, near in compared for each in near)
    wordings = list({each.unit_id: each for _, near in compared for each in near}.values())
    numbers = {each.unit_id: number for number, each in enumerate(wordings, 1)}
    new = [NewOpinion(text, tuple(numbers[each.unit_id] for each in near)) for text, near in compared]
    prompt = relate_opinions_prompt(new, [each.text for each in wordings])
    done = await complete_with_repair(model, prompt, check=lambda answer: relation_problems(answer, new))
    known.usage += done.usage
    for one in usable(done.last, new):
        known.found[new[one.new - 1].text, wordings[one.held - 1].unit_id] = PairRelation(
            one.relation, one.strength, " ".join(one.reason.split())
        )


def relation_problems(answer: AnsweredRelations, new: Sequence[NewOpinion]) -> str:
    """Return a message to the model about the faults of its answer; "" if there are none."""
    asked = {(number, held) for number, each in enumerate(new, 1) for held in each.held}
    answered = Counter((one.new, one.held) for one in answer.relations)
    faults = (
        ("pairs that were not requested", sorted(answered.keys() - asked)),
        ("pairs without an answer", sorted(asked - answered.keys())),
        ("pairs with several answers", sorted(pair for pair, count in answered.items() if count > 1)),
    )
    return "; ".join(
        f"{what}: {', '.join(f'new {one} with held {other}' for one, other in pairs)}"
        for what, pairs in faults
        if pairs
    )


def usable(answer: AnsweredRelations | None, new: Sequence[NewOpinion]) -> list[AnsweredRelation]:
    """Return the relations of requested pairs that occur exactly once in the answer."""
    if answer is None:
        return []
    asked = {(number, held) for number, each in enumerate(new, 1) for held in each.held}
    answered = Counter((one.new, one.held) for one in answer.relations)
    return [
        one for one in answer.relations if (one.new, one.held) in asked and answered[one.new, one.held] == 1
    ]


REWORDED = "reworded"
NOT_COMPARED = "it could not be compared with a held opinion"
SAID_TWICE = "the answer contains it twice"
ALREADY_WEIGHED = "it adds no new evidence"
REACHED_AGAIN = "the same opinion was formed again from this fact"

_ORDER = (Relation.SAME, Relation.REFINES, Relation.OPPOSES)
"""The precedence of relations if an opinion has several."""


@dataclass(frozen=True, slots=True)
class OpinionDecision:
    """The decision about one proposed opinion.

    Attributes:
        change: the reported outcome.
        assessment: the effect on the held opinion; None if the proposed one becomes a new opinion or is dropped.
        evidence: evidence rows for held opinions.
    """

    change: OpinionChange
    assessment: Assessment | None = None
    evidence: tuple[EvidenceWrite, ...] = ()


@dataclass(slots=True)
class Decision:
    """The decisions about an answer's opinions, with the writes."""

    decided: tuple[OpinionDecision, ...] = ()
    units: tuple[UnitWrite, ...] = ()
    mentions: tuple[MentionWrite, ...] = ()
    events: tuple[ValidityEvent, ...] = ()
    formed: tuple[FormationWrite, ...] = ()
    reworded: tuple[RewordingWrite, ...] = ()
    evidence: tuple[EvidenceWrite, ...] = ()

    @property
    def changes(self) -> tuple[OpinionChange, ...]:
        """The outcome of each opinion, in the order proposed."""
        return tuple(each.change for each in self.decided)

    @property
    def writes_anything(self) -> bool:
        """Whether there is anything to write."""
        return bool(self.formed or self.reworded or self.evidence)

    def add(self, draft: OpinionDraft, unit: MemoryUnit) -> None:
        """Add the unit of a draft to the writes."""
        self.units += (UnitWrite(unit, draft.vector.astype("<f4").tobytes()),)
        self.mentions += tuple(MentionWrite(unit.id, each.id, each.name) for each in draft.entities)


def decide(
    situation: Situation,
    relations: Mapping[tuple[str, str], PairRelation],
    occasion: Occasion,
    services: Services,
) -> Decision:
    """Decide about the drafts in order."""
    deciding = _Decider(situation, occasion, services)
    deciding.decision.decided = tuple(deciding.decided(draft, relations) for draft in situation.drafts)
    return deciding.decision


@dataclass(frozen=True, slots=True)
class _Decider:
    """Decides about the opinions of one answer and collects the writes."""

    situation: Situation
    occasion: Occasion
    services: Services
    decision: Decision = field(default_factory=Decision)
    kept: list[OpinionDraft] = field(default_factory=list)

    def decided(
        self, draft: OpinionDraft, relations: Mapping[tuple[str, str], PairRelation]
    ) -> OpinionDecision:
        if draft.fault:
            return _change(draft, OpinionOutcome.REFUSED, None, draft.fault)
        if twin := self._said_before(draft):
            return _change(draft, OpinionOutcome.KNOWN, twin.unit.id, SAID_TWICE)
        if draft.same is not None:
            again = PairRelation(Relation.SAME, EvidenceStrength.MILD, REACHED_AGAIN)
            return self._of_held(draft, [(draft.same, again)])
        compared = [(held, relations.get((draft.proposal.text, held.wording.unit_id))) for held in draft.near]
        if any(related is None for _, related in compared):
            return _change(draft, OpinionOutcome.REFUSED, None, NOT_COMPARED)
        bearing = [
            (held, related)
            for held, related in compared
            if related is not None and related.relation is not Relation.DIFFERENT
        ]
        return self._of_held(draft, bearing) if bearing else self._form(draft)

    def _said_before(self, draft: OpinionDraft) -> OpinionDraft | None:
        """Return an earlier opinion of the same answer with the same meaning; None if there is none."""
        return next((each for each in self.kept if self._says_the_same(draft, each)), None)

    def _says_the_same(self, one: OpinionDraft, other: OpinionDraft) -> bool:
        if one.unit.tags != other.unit.tags:
            return False
        texts = (one.unit.text, other.unit.text)
        if normalised_text(texts[0]) == normalised_text(texts[1]):
            return True
        language = language_of(texts[0], self.services.languages)
        denied, denied_too = (language.negation.search(text) is not None for text in texts)
        said, said_too = (specifics(text, language) for text in texts)
        alike = float(one.vector @ other.vector) >= self.services.embedder.identity.thresholds.duplicate
        return alike and denied == denied_too and not told_apart(said, said_too)

    def _form(self, draft: OpinionDraft) -> OpinionDecision:
        self.kept.append(draft)
        self.decision.add(draft, draft.unit)
        self.decision.formed += (
            FormationWrite(
                unit_id=draft.unit.id,
                confidence=draft.proposal.confidence,
                formed_at=self.occasion.at,
                origin=OpinionOrigin.REFLECT,
                operation=self.occasion.operation,
                profile=self.situation.profile_number,
                reasoning=draft.proposal.reasoning,
                based_on=draft.proposal.grounds,
                assessed_to=self.occasion.revision,
            ),
        )
        return _change(draft, OpinionOutcome.FORMED, draft.unit.id, "")

    def _of_held(
        self, draft: OpinionDraft, bearing: Sequence[tuple[HeldOpinion, PairRelation]]
    ) -> OpinionDecision:
        """Apply an opinion to existing ones: the facts that it cites become evidence for them."""
        rows = {held.log.id: self._evidence(draft, held, related) for held, related in bearing}
        evidence = tuple(row for found in rows.values() for row in found)
        self.decision.evidence += evidence
        held, related = min(bearing, key=lambda one: _ORDER.index(one[1].relation))
        if not any(rows.values()):
            return _change(draft, OpinionOutcome.KNOWN, held.log.id, ALREADY_WEIGHED)
        reworded = rows[held.log.id] and _rewords(related) and self._reword(draft, held, related)
        outcome = OpinionOutcome.REWORDED if reworded else OpinionOutcome.EVIDENCE
        decided = _change(draft, outcome, held.log.id, related.reason)
        return replace(decided, assessment=_assessment(related), evidence=evidence)

    def _evidence(
        self, draft: OpinionDraft, held: HeldOpinion, related: PairRelation
    ) -> tuple[EvidenceWrite, ...]:
        written = {(row.opinion_id, row.unit_id) for row in self.decision.evidence}
        assessment = _assessment(related)
        assessed = [
            AssessedFact(self.situation.facts[unit_id], assessment, related.strength, related.reason)
            for unit_id in draft.proposal.cited
            if unit_id in self.situation.facts and (held.log.id, unit_id) not in written
        ]
        return evidence_rows(
            held.log,
            assessed,
            self.situation.facts,
            thresholds=self.services.embedder.identity.thresholds,
            rule=UpdateRule(self.services.config.opinions.rule),
            step=step_of(self.situation.profile, self.services.config.opinions),
        )

    def _reword(self, draft: OpinionDraft, held: HeldOpinion, related: PairRelation) -> bool:
        """Reword a held opinion with the draft's text, once per answer."""
        if held.log.id in {each.opinion_id for each in self.decision.reworded}:
            return False
        since = max(next_instant(held.wording.since), self.occasion.at)
        unit = replace(draft.unit, mentioned_at=since, confidence=held.log.confidence)
        self.decision.add(draft, unit)
        self.decision.events += (
            ValidityEvent(held.wording.unit_id, ValidityKind.CLOSED, since, unit.id, REWORDED),
        )
        based_on = tuple(dict.fromkeys((*held.wording.based_on, *draft.proposal.grounds)))
        self.decision.reworded += (RewordingWrite(held.log.id, unit.id, related.reason, based_on),)
        return True


def _rewords(related: PairRelation) -> bool:
    """Check whether the new text replaces the old: for a refinement or a strong contradiction (paper section 5.5)."""
    if related.relation is Relation.OPPOSES:
        return related.strength is EvidenceStrength.STRONG
    return related.relation is Relation.REFINES


def _assessment(related: PairRelation) -> Assessment:
    if related.relation is not Relation.OPPOSES:
        return Assessment.REINFORCE
    return Assessment.CONTRADICT if related.strength is EvidenceStrength.STRONG else Assessment.WEAKEN


def _change(
    draft: OpinionDraft, outcome: OpinionOutcome, opinion_id: str | None, reason: str
) -> OpinionDecision:
    return OpinionDecision(
        OpinionChange(outcome, draft.proposal.text, draft.proposal.confidence, opinion_id, reason)
    )


def moves(situation: Situation, decision: Decision, at: datetime) -> tuple[OpinionMove, ...]:
    """Return the effect of a decision on the confidence of opinions, in the order they were proposed."""
    logs = {log.id: log for log in situation.logs}
    made = []
    for decided in decision.decided:
        before = dict(logs)
        for row in decided.evidence:
            logs[row.opinion_id] = _joined(logs[row.opinion_id], row, situation, at)
        made.append(_move(decided, before, logs))
    return tuple(made)


def _move(
    decided: OpinionDecision, before: Mapping[str, OpinionLog], after: Mapping[str, OpinionLog]
) -> OpinionMove:
    change, opinion_id = decided.change, decided.change.opinion_id or ""
    if change.outcome is OpinionOutcome.FORMED:
        return OpinionMove(change, OpinionMovement.FORM, after=change.confidence)
    held = before.get(opinion_id)
    if held is None:  # the opinion was refused, or repeats another one in the answer
        return OpinionMove(change, OpinionMovement.NEUTRAL)
    wording = held_wording(held) or held.versions[-1]
    return OpinionMove(
        change,
        OpinionMovement(decided.assessment or OpinionMovement.NEUTRAL),
        before=confidence_of(held),
        after=confidence_of(after[opinion_id]),
        held=wording.text,
        evidence=tuple(row.unit_id for row in decided.evidence if row.opinion_id == opinion_id),
    )


def _joined(log: OpinionLog, row: EvidenceWrite, situation: Situation, at: datetime) -> OpinionLog:
    """Return the log with one more row, as the ledger will return it after the commit."""
    written = Evidence(
        unit_id=row.unit_id,
        sources=row.sources,
        assessment=row.assessment,
        strength=row.strength,
        rule=row.rule,
        step=row.step,
        reason=row.reason,
        version=row.version,
        effective_at=row.effective_at,
        recorded_at=at,
        revision=situation.revision + 1,
        restates=row.restates,
        validity=_validity(situation.facts[row.unit_id]),
    )
    evidence: Sequence[Evidence] = (*log.evidence, written)
    ordered = sorted(evidence, key=lambda each: (each.effective_at, each.unit_id))
    return replace(log, evidence=tuple(ordered))


def _validity(fact: Fact) -> tuple[ValidityChange, ...]:
    closed = fact.unit.closed_at
    return () if closed is None else (ValidityChange(ValidityKind.CLOSED, closed, 0),)


ATTEMPTS = 8  # maximum number of attempts if opinions or memories change before the commit
NOT_EMBEDDED = "it could not be embedded"
BUSY = "the bank changed during every try to store it"


@dataclass(frozen=True, slots=True)
class FormedOpinions:
    """The outcome of an answer's opinions, which is a prediction before the commit and final after it.

    Attributes:
        changes: outcome of each opinion, in the given order; for a repeated operation, the recorded outcome.
        moves: outcomes with their effect on confidences; empty for a repeated operation.
        repeated: whether the operation was already recorded.
        usage: cost of the model calls.
    """

    changes: tuple[OpinionChange, ...]
    moves: tuple[OpinionMove, ...] = ()
    repeated: bool = False
    usage: Usage = NO_USAGE


@dataclass(frozen=True, slots=True, eq=False)
class AssessedOpinions:
    """The opinions of an answer after comparison with the existing ones, before the commit.

    Attributes:
        proposed: the opinions.
        occasion: the reflection.
        relations: relations of the compared pairs, and their cost.
        formed: the predicted outcome.
        decision: the state read and the decision made on it; None if there is nothing to decide.
    """

    proposed: Sequence[ProposedOpinion]
    occasion: Occasion
    relations: Relations
    formed: FormedOpinions
    decision: tuple[Situation, Decision] | None = None


async def assess_opinions(
    proposed: Sequence[ProposedOpinion],
    occasion: Occasion,
    projector: Projector,
    services: Services,
    relations: Relations | None = None,
) -> AssessedOpinions:
    """Read the bank, compare the opinions of an answer with those held, and decide their outcome.

    An opinion that cannot be compared with a held one near it, or whose grounds are missing, is refused. Pairs that have a
    relation already are not compared again.
    """
    relations = relations or Relations()
    try:
        situation = await services.workers.read(read_situation, proposed, occasion, projector, services)
    except ModelError:  # raised by the embedder; the answer is returned without opinions
        refused = _refused(proposed, NOT_EMBEDDED, relations)
        return AssessedOpinions(proposed, occasion, relations, refused)
    if situation.before is not None:
        repeated = FormedOpinions(situation.before, repeated=True)
        return AssessedOpinions(proposed, occasion, relations, repeated)
    if services.model is not None:
        with suppress(ModelError):  # `decide` reports the pairs that were not compared
            await relate(situation.drafts, services.model, relations)
    decision = await services.workers.read(decide, situation, relations.found, occasion, services)
    formed = _formed(decision.changes, relations, moves(situation, decision, occasion.at))
    return AssessedOpinions(proposed, occasion, relations, formed, (situation, decision))


async def commit_opinions(
    assessed: AssessedOpinions, projector: Projector, services: Services
) -> FormedOpinions:
    """Store new opinions in one commit, together with the facts that are new evidence for opinions already held.

    If the bank has changed, the opinions are assessed again first.
    """
    for attempt in range(ATTEMPTS):
        if attempt:
            assessed = await assess_opinions(
                assessed.proposed, assessed.occasion, projector, services, assessed.relations
            )
        if assessed.decision is None:
            return assessed.formed
        situation, decision = assessed.decision
        if await services.workers.write(_commit, decision, situation, assessed.occasion, projector):
            return assessed.formed
    return _refused(assessed.proposed, BUSY, assessed.relations)


def _formed(
    changes: tuple[OpinionChange, ...], relations: Relations, moved: tuple[OpinionMove, ...]
) -> FormedOpinions:
    return FormedOpinions(changes, moved, usage=relations.usage)


def _refused(proposed: Sequence[ProposedOpinion], reason: str, relations: Relations) -> FormedOpinions:
    changes = tuple(
        OpinionChange(OpinionOutcome.REFUSED, each.text, each.confidence, reason=reason) for each in proposed
    )
    moved = tuple(OpinionMove(change, OpinionMovement.NEUTRAL) for change in changes)
    return _formed(changes, relations, moved)


def _commit(decision: Decision, situation: Situation, occasion: Occasion, projector: Projector) -> bool:
    """Commit the decision if opinions and grounds are unchanged; else return False and write nothing."""
    if not decision.writes_anything and not occasion.operation:
        return True
    try:
        with projector.transaction() as (view, transaction):
            if view.revision != situation.revision and not unchanged(
                situation, occasion, transaction, view.bank
            ):
                return False
            transaction.commit(write_set(decision, occasion, view))
    except RevisionConflict:
        return False
    projector.catch_up()
    return True


def write_set(decision: Decision, occasion: Occasion, view: BankView) -> WriteSet:
    """Return the write set of a decision. The ledger enqueues the assessment of facts added since recall."""
    return WriteSet(
        bank=view.bank,
        expected_revision=view.revision,
        units=decision.units,
        mentions=decision.mentions,
        events=decision.events,
        opinions=OpinionsWrite(
            formed=decision.formed,
            reworded=decision.reworded,
            evidence=decision.evidence,
            operation=occasion.operation,
        ),
    )
