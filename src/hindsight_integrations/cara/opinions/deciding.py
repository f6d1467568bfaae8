"""What becomes of opinions put forward: formed, evidence of one that is held, or its new wording."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from hindsight_integrations.cara.opinions.drafts import Occasion
from hindsight_integrations.cara.opinions.evidence import AssessedFact, evidence_rows
from hindsight_integrations.cara.opinions.near import Held
from hindsight_integrations.cara.opinions.relating import Related
from hindsight_integrations.cara.opinions.situation import Draft, Situation
from hindsight_integrations.cara.opinions.steps import step_of
from hindsight_integrations.cara.opinions.tools import OpinionTools
from hindsight_integrations.model.opinions import (
    Assessment,
    EvidenceStrength,
    EvidenceWrite,
    FormationWrite,
    OpinionOrigin,
    RewordingWrite,
    UpdateRule,
)
from hindsight_integrations.model.reflections import OpinionChange, OpinionOutcome
from hindsight_integrations.model.text import normalised_text
from hindsight_integrations.model.time import next_instant
from hindsight_integrations.model.units import MemoryUnit, ValidityEvent, ValidityKind
from hindsight_integrations.model.writes import MentionWrite, UnitWrite
from hindsight_integrations.prompts.relate_opinions import Relation
from hindsight_integrations.text.language import language_of
from hindsight_integrations.text.specifics import specifics, told_apart

REWORDED = "reworded"
NOT_COMPARED = "it could not be compared with an opinion that is held"
SAID_TWICE = "the answer says it twice"
ALREADY_WEIGHED = "what it stands on was weighed already"
REACHED_AGAIN = "the same judgement, reached again from this fact"

_ORDER = (Relation.SAME, Relation.REFINES, Relation.OPPOSES)
"""Which relation says what becomes of an opinion that has several."""


@dataclass(frozen=True, slots=True)
class Decided:
    """What becomes of one opinion put forward.

    Attributes:
        change: what is told of it.
        assessment: what it is to the opinion that is held; None where it becomes one itself, or nothing.
        evidence: rows by which it moves opinions that are held.
    """

    change: OpinionChange
    assessment: Assessment | None = None
    evidence: tuple[EvidenceWrite, ...] = ()


@dataclass(slots=True)
class Decision:
    """What is to be written, and what becomes of each opinion."""

    decided: tuple[Decided, ...] = ()
    units: tuple[UnitWrite, ...] = ()
    mentions: tuple[MentionWrite, ...] = ()
    events: tuple[ValidityEvent, ...] = ()
    formed: tuple[FormationWrite, ...] = ()
    reworded: tuple[RewordingWrite, ...] = ()
    evidence: tuple[EvidenceWrite, ...] = ()

    @property
    def changes(self) -> tuple[OpinionChange, ...]:
        """What is told of each opinion, in the order they were put forward."""
        return tuple(each.change for each in self.decided)

    @property
    def writes_anything(self) -> bool:
        """Whether there is anything to be written of opinions."""
        return bool(self.formed or self.reworded or self.evidence)

    def add(self, draft: Draft, unit: MemoryUnit) -> None:
        """Let a draft's unit be written."""
        self.units += (UnitWrite(unit, draft.vector.astype("<f4").tobytes()),)
        self.mentions += tuple(MentionWrite(unit.id, each.id, each.name) for each in draft.entities)


def decide(
    found: Situation,
    relations: Mapping[tuple[str, str], Related],
    occasion: Occasion,
    tools: OpinionTools,
) -> Decision:
    """What becomes of the drafts, each in turn.

    Args:
        found: the drafts and what they meet with.
        relations: by text and unit id of the wording compared with.
        occasion: the reflection.
        tools: settings and thresholds.
    """
    deciding = _Deciding(found, occasion, tools)
    deciding.decision.decided = tuple(deciding.decided(draft, relations) for draft in found.drafts)
    return deciding.decision


@dataclass(frozen=True, slots=True)
class _Deciding:
    """The decision of one answer's opinions under way."""

    found: Situation
    occasion: Occasion
    tools: OpinionTools
    decision: Decision = field(default_factory=Decision)
    kept: list[Draft] = field(default_factory=list)

    def decided(self, draft: Draft, relations: Mapping[tuple[str, str], Related]) -> Decided:
        if draft.fault:
            return _change(draft, OpinionOutcome.REFUSED, None, draft.fault)
        if twin := self._said_before(draft):
            return _change(draft, OpinionOutcome.KNOWN, twin.unit.id, SAID_TWICE)
        if draft.same is not None:
            again = Related(Relation.SAME, EvidenceStrength.MILD, REACHED_AGAIN)
            return self._of_held(draft, [(draft.same, again)])
        compared = [(held, relations.get((draft.given.text, held.wording.unit_id))) for held in draft.near]
        if any(related is None for _, related in compared):
            return _change(draft, OpinionOutcome.REFUSED, None, NOT_COMPARED)
        bearing = [
            (held, related)
            for held, related in compared
            if related is not None and related.relation is not Relation.DIFFERENT
        ]
        return self._of_held(draft, bearing) if bearing else self._form(draft)

    def _said_before(self, draft: Draft) -> Draft | None:
        """Another one of the same answer that says the same thing."""
        return next((each for each in self.kept if self._says_the_same(draft, each)), None)

    def _says_the_same(self, one: Draft, other: Draft) -> bool:
        if one.unit.tags != other.unit.tags:
            return False
        texts = (one.unit.text, other.unit.text)
        if normalised_text(texts[0]) == normalised_text(texts[1]):
            return True
        language = language_of(texts[0], self.tools.languages)
        denied, denied_too = (language.negation.search(text) is not None for text in texts)
        said, said_too = (specifics(text, language) for text in texts)
        alike = float(one.vector @ other.vector) >= self.tools.embedder.identity.thresholds.duplicate
        return alike and denied == denied_too and not told_apart(said, said_too)

    def _form(self, draft: Draft) -> Decided:
        self.kept.append(draft)
        self.decision.add(draft, draft.unit)
        self.decision.formed += (
            FormationWrite(
                unit_id=draft.unit.id,
                confidence=draft.given.confidence,
                formed_at=self.occasion.at,
                origin=OpinionOrigin.REFLECT,
                operation=self.occasion.operation,
                profile=self.found.profile_number,
                reasoning=draft.given.reasoning,
                based_on=draft.given.grounds,
                assessed_to=self.occasion.revision,
            ),
        )
        return _change(draft, OpinionOutcome.FORMED, draft.unit.id, "")

    def _of_held(self, draft: Draft, bearing: Sequence[tuple[Held, Related]]) -> Decided:
        """What an opinion does that bears on some that are held: nothing but through the facts it cites."""
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

    def _evidence(self, draft: Draft, held: Held, related: Related) -> tuple[EvidenceWrite, ...]:
        written = {(row.opinion_id, row.unit_id) for row in self.decision.evidence}
        assessment = _assessment(related)
        assessed = [
            AssessedFact(self.found.facts[unit_id], assessment, related.strength, related.reason)
            for unit_id in draft.given.cited
            if unit_id in self.found.facts and (held.log.id, unit_id) not in written
        ]
        return evidence_rows(
            held.log,
            assessed,
            self.found.facts,
            thresholds=self.tools.embedder.identity.thresholds,
            rule=UpdateRule(self.tools.config.rule),
            step=step_of(self.found.profile, self.tools.config),
        )

    def _reword(self, draft: Draft, held: Held, related: Related) -> bool:
        """Let an opinion have the draft's words, once an answer."""
        if held.log.id in {each.opinion_id for each in self.decision.reworded}:
            return False
        since = max(next_instant(held.wording.since), self.occasion.at)
        unit = replace(draft.unit, mentioned_at=since, confidence=held.log.confidence)
        self.decision.add(draft, unit)
        self.decision.events += (
            ValidityEvent(held.wording.unit_id, ValidityKind.CLOSED, since, unit.id, REWORDED),
        )
        based_on = tuple(dict.fromkeys((*held.wording.based_on, *draft.given.grounds)))
        self.decision.reworded += (RewordingWrite(held.log.id, unit.id, related.reason, based_on),)
        return True


def _rewords(related: Related) -> bool:
    """Whether the new words take the place of the old: a refinement, or strong contradiction (paper section 5.5)."""
    if related.relation is Relation.OPPOSES:
        return related.strength is EvidenceStrength.STRONG
    return related.relation is Relation.REFINES


def _assessment(related: Related) -> Assessment:
    """What the facts of an opinion are to the one that is held."""
    if related.relation is not Relation.OPPOSES:
        return Assessment.REINFORCE
    return Assessment.CONTRADICT if related.strength is EvidenceStrength.STRONG else Assessment.WEAKEN


def _change(draft: Draft, outcome: OpinionOutcome, opinion_id: str | None, reason: str) -> Decided:
    return Decided(OpinionChange(outcome, draft.given.text, draft.given.confidence, opinion_id, reason))
