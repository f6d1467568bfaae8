"""Evidence for opinions: the sources of facts, repeated statements, rows of the evidence log, and candidate search."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from hindsight_integrations.config import OpinionConfig
from hindsight_integrations.indexes.documents import as_they_stand
from hindsight_integrations.indexes.spreading_activation import hub_degree
from hindsight_integrations.language.language import Language, language_of
from hindsight_integrations.language.specifics import Specifics, pinned_alike, specifics, told_apart
from hindsight_integrations.ledger.ledger import LedgerReader
from hindsight_integrations.model.arrays import IntArray, Vector
from hindsight_integrations.model.embedder import Thresholds
from hindsight_integrations.model.entities import Entity, EntityRole
from hindsight_integrations.model.opinions import (
    STRONG_SUPPORT,
    Assessment,
    Evidence,
    EvidenceStrength,
    EvidenceWrite,
    OpinionLog,
    OpinionVersion,
    UpdateRule,
)
from hindsight_integrations.model.profile import BankProfile, Disposition
from hindsight_integrations.model.text import normalised_text
from hindsight_integrations.model.turns import Role, SourceTurn
from hindsight_integrations.model.units import OBSERVED_NETWORKS, FactType, MemoryUnit, UnitKind

CAUTIOUS_SHARES = {4: 5 / 6, 5: 2 / 3}
"""Factor of the step size by skepticism: 0.15 becomes 0.125 and 0.10 [earlier paper 9.4]."""


def step_of(profile: BankProfile, config: OpinionConfig) -> float:
    """Return the step size of new evidence rows under a profile: a of paper eq. 26, or alpha of the other rule.

    Big Five profiles have no skepticism trait and use the full step.
    """
    step = config.step if config.rule is UpdateRule.ADDITIVE else STRONG_SUPPORT
    if config.cautious_steps and isinstance(profile.disposition, Disposition):
        step *= CAUTIOUS_SHARES.get(profile.disposition.skepticism, 1.0)
    return step


def sources_of(unit: MemoryUnit, turns: Sequence[SourceTurn]) -> tuple[str, ...]:
    """Return the sources of a memory, sorted; empty if it cannot be evidence.

    The source is the speaker, not a quoted person. For a memory without stored turns, it is the document, the speaker
    or the thread. The agent's own words are not evidence, so that it cannot reinforce its own beliefs. Its experiences
    in a conversation without stored turns are not evidence either, since they may come from the agent alone.
    """
    if unit.kind is not UnitKind.MEMORY or unit.fact_type not in OBSERVED_NETWORKS:
        return ()
    if turns:
        return tuple(sorted({normalised_text(turn.speaker) for turn in turns if turn.role is Role.USER}))
    if unit.document_id:
        return (f"document:{unit.document_id}",)
    if unit.fact_type is FactType.EXPERIENCE and (unit.speaker or unit.sources):
        return ()
    return (normalised_text(unit.speaker),) if unit.speaker else (f"thread:{unit.thread}",)


@dataclass(frozen=True, slots=True, eq=False)
class Fact:
    """A memory prepared for use as evidence.

    Attributes:
        unit: the memory, with its validity.
        vector: its stored vector (dimension,).
        sources: its sources; empty if it cannot be evidence, see `sources_of`.
        specifics: its numbers, dates and other specifics.
    """

    unit: MemoryUnit
    vector: Vector
    sources: tuple[str, ...]
    specifics: Specifics


def read_facts(
    ledger: LedgerReader, bank: str, unit_ids: Sequence[str], languages: Sequence[Language]
) -> dict[str, Fact]:
    """Read memories as facts by unit id; omit unknown and damaged ones, and those without a readable vector."""
    rows: IntArray = np.array(sorted(ledger.units.row_ids(bank, unit_ids).values()), np.int64)
    units = as_they_stand(ledger.units.get(bank, rows), ledger, bank)
    vectors, turns = ledger.units.vectors(bank, rows), ledger.turns.of_units(bank, rows)
    return {
        unit.id: Fact(
            unit,
            vectors[row],
            sources_of(unit, turns.get(row, ())),
            specifics(unit.text, language_of(unit.text, languages)),
        )
        for row, unit in units.items()
        if row in vectors
    }


# Minimum similarity of equal statements, on a scale from the link threshold (0) to the duplicate threshold (1).
ALIKE = 0.25
PINNED = 0.0  # the same for texts that also share a number or a day


def restates(one: Fact, other: Fact, thresholds: Thresholds) -> bool:
    """Check whether two facts state the same thing, regardless of their speakers and of their order.

    The check prefers false matches to false mismatches. A false match changes an opinion too little; a repetition that
    is counted twice lets a user change the agent's opinion by repeating a statement. Facts with conflicting specifics
    never match, unless their normalised texts are identical.
    """
    if normalised_text(one.unit.text) == normalised_text(other.unit.text):
        return True
    if told_apart(one.specifics, other.specifics):
        return False
    share = PINNED if pinned_alike(one.specifics, other.specifics) else ALIKE
    needed = thresholds.semantic_link + share * (thresholds.duplicate - thresholds.semantic_link)
    return float(one.vector @ other.vector) >= needed


MOST_REASON = 200  # maximum number of characters of a stored reason: one or two sentences
SAID_AGAIN = "the same source repeats an earlier statement"
FORMED_WITH = "the same source repeats a statement on which the opinion was based"


@dataclass(frozen=True, slots=True, eq=False)
class AssessedFact:
    """An assessment of a fact as evidence for one opinion.

    Attributes:
        fact: the fact.
        assessment: its effect on the opinion.
        strength: strength of the effect.
        reason: explanation for the user; truncated to 200 characters.
        restates: ids of facts that this fact repeats, according to the model; facts from other sources are ignored.
    """

    fact: Fact
    assessment: Assessment
    strength: EvidenceStrength
    reason: str
    restates: tuple[str, ...] = ()


def weighed(log: OpinionLog) -> tuple[str, ...]:
    """Return the ids of the facts in an opinion's log, and of those that its wordings are based on."""
    grounds = (unit_id for version in log.versions for unit_id in version.based_on)
    return tuple(dict.fromkeys((*(row.unit_id for row in log.evidence), *grounds)))


def held_wording(log: OpinionLog) -> OpinionVersion | None:
    """Return the current wording of an opinion; None if the opinion is no longer held."""
    return next((version for version in reversed(log.versions) if version.closed_at is None), None)


def is_evidence(fact: Fact, log: OpinionLog) -> bool:
    """Check that a fact can be evidence: it has a source other than the agent, and either the opinion's tags or no tags."""
    return bool(fact.sources) and fact.unit.tags in ((), log.tags)


def unsaid(
    log: OpinionLog, facts: Iterable[Fact], known: Mapping[str, Fact], *, thresholds: Thresholds
) -> list[Fact]:
    """Return the new facts to assess, in order of mention, without repetitions by sources that have all stated them before.

    `known` has the facts of `weighed(log)` by unit id; missing ones are not compared.
    """
    before = weighed(log)
    heard = [known[unit_id] for unit_id in before if unit_id in known]
    found = []
    for fact in sorted(facts, key=_mentioned):
        if fact.unit.id in before or not is_evidence(fact, log):
            continue
        if not _all_said(fact, _said_before(fact, heard, (), thresholds)):
            found.append(fact)
        heard.append(fact)
    return found


def evidence_rows(
    log: OpinionLog,
    assessed: Sequence[AssessedFact],
    known: Mapping[str, Fact],
    *,
    thresholds: Thresholds,
    rule: UpdateRule,
    step: float,
    repeating: Iterable[Fact] = (),
) -> tuple[EvidenceWrite, ...]:
    """Return the rows that add facts to an opinion's log, in order of mention.

    Facts that cannot be evidence are omitted: facts of other networks, the agent's own words, facts with other tags,
    and facts already in the log or among the facts on which a wording is based. If a source repeats a statement, the
    first row and its step are copied, so that the repetition has no effect. A repetition of a fact on which the opinion
    is based is neutral.

    Args:
        log: the opinion.
        assessed: facts with an assessment.
        known: the facts of `weighed(log)` by unit id; missing ones are not compared.
        thresholds: thresholds of the embedder.
        rule: update rule of new rows.
        step: step size of new rows, see `step_of`.
        repeating: facts that were not assessed because they repeat others; a fact gets a row only if one of those has a
            row.
    """
    judged = {each.fact.unit.id: each for each in assessed}
    facts = {fact.unit.id: fact for fact in (*repeating, *(each.fact for each in assessed))}
    rows: dict[str, Evidence | EvidenceWrite] = {row.unit_id: row for row in log.evidence}
    before, written = weighed(log), []
    heard = [known[unit_id] for unit_id in before if unit_id in known]
    for fact in sorted(facts.values(), key=_mentioned):
        if fact.unit.id in before or not is_evidence(fact, log):
            continue
        said = judged.get(fact.unit.id)
        same = _said_before(fact, heard, said.restates if said else (), thresholds)
        if _all_said(fact, same):
            row = _again(fact, same, rows, log, rule=rule, step=step)
        elif said:
            row = replace(
                _row(said, log, rule=rule, step=step), restates=tuple(each.unit.id for each in same)
            )
        else:
            continue
        rows[fact.unit.id] = row
        written.append(row)
        heard.append(fact)
    return tuple(written)


def _row(said: AssessedFact, log: OpinionLog, *, rule: UpdateRule, step: float) -> EvidenceWrite:
    return EvidenceWrite(
        opinion_id=log.id,
        unit_id=said.fact.unit.id,
        sources=said.fact.sources,
        assessment=said.assessment,
        strength=said.strength,
        rule=rule,
        step=step,
        reason=" ".join(said.reason.split())[:MOST_REASON],
        version=(held_wording(log) or log.versions[-1]).unit_id,
        effective_at=said.fact.unit.mentioned_at,
    )


def _again(
    fact: Fact,
    same: Sequence[Fact],
    rows: Mapping[str, Evidence | EvidenceWrite],
    log: OpinionLog,
    *,
    rule: UpdateRule,
    step: float,
) -> EvidenceWrite:
    """Return the row of a repeated fact, without the first row's reason, which may quote memories erased later."""
    neutral = AssessedFact(fact, Assessment.NEUTRAL, EvidenceStrength.MILD, FORMED_WITH)
    row = _row(neutral, log, rule=rule, step=step)
    ids = tuple(each.unit.id for each in same)
    formed_with = {source for each in same if each.unit.id not in rows for source in each.sources}
    if not formed_with.issuperset(fact.sources):
        judged = (each for each in same if each.unit.id in rows and not formed_with.issuperset(each.sources))
        first = rows[next(judged).unit.id]
        row = replace(
            row,
            assessment=first.assessment,
            strength=first.strength,
            rule=first.rule,
            step=first.step,
            reason=SAID_AGAIN,
            version=first.version,
        )
    return replace(row, restates=ids)


def _said_before(
    fact: Fact, heard: Iterable[Fact], named: Collection[str], thresholds: Thresholds
) -> list[Fact]:
    """Return earlier facts from the same sources that this fact repeats, by its text or according to `named`."""
    sources = frozenset(fact.sources)
    return sorted(
        (
            other
            for other in heard
            if not sources.isdisjoint(other.sources)
            and (other.unit.id in named or restates(fact, other, thresholds))
        ),
        key=_mentioned,
    )


def _all_said(fact: Fact, same: Sequence[Fact]) -> bool:
    """Check whether every source of a fact has stated it before."""
    return frozenset(fact.sources) <= {source for other in same for source in other.sources}


def _mentioned(fact: Fact) -> tuple[datetime, str]:
    return fact.unit.mentioned_at, fact.unit.id


@dataclass(frozen=True, slots=True, eq=False)
class Topic:
    """The entities and the vector of a memory, by which opinions and facts are matched.

    Attributes:
        telling: ids of mentioned entities that occur in few memories, without the user, the agent and the
            speakers.
        hubs: ids of mentioned entities that occur in many memories, with the same exceptions.
        vector: vector of the text (dimension,).
    """

    telling: frozenset[str]
    hubs: frozenset[str]
    vector: Vector


def may_bear_on(opinion: Topic, fact: Topic, thresholds: Thresholds) -> bool:
    """Check whether a fact may be evidence for an opinion: they share an entity or are similar (paper eq. 25).

    If they share only a hub, their cosine must also reach the channel floor.
    """
    cosine = float(opinion.vector @ fact.vector)
    if cosine > theta_of(thresholds) or not opinion.telling.isdisjoint(fact.telling):
        return True
    return cosine >= thresholds.channel_floor and not opinion.hubs.isdisjoint(fact.hubs)


def theta_of(thresholds: Thresholds) -> float:
    """Return the cosine threshold of paper eq. 25: midway between the channel floor and the semantic link threshold.

    The semantic link threshold itself is too high: opinions are more general than facts, and in measurements few facts
    reached it.
    """
    return (thresholds.channel_floor + thresholds.semantic_link) / 2


def topic_of(entities: Iterable[Entity], vector: Vector, memories: int) -> Topic:
    """Return the topic of a memory."""
    most = hub_degree(memories)
    named = [entity for entity in entities if entity.role is EntityRole.NONE]
    return Topic(
        frozenset(entity.id for entity in named if entity.mentions <= most),
        frozenset(entity.id for entity in named if entity.mentions > most),
        vector,
    )


MOST_NEAR = 5  # maximum number of held opinions that a new one is compared with


@dataclass(frozen=True, slots=True, eq=False)
class HeldOpinion:
    """A currently held opinion.

    Attributes:
        log: its log.
        wording: its current wording.
        topic: topic of the wording.
    """

    log: OpinionLog
    wording: OpinionVersion
    topic: Topic


def held_opinions(reader: LedgerReader, bank: str, logs: Sequence[OpinionLog]) -> list[HeldOpinion]:
    """Return the opinions held now; omit those without a readable vector."""
    worded = [(log, wording) for log in logs if (wording := held_wording(log))]
    places = reader.units.row_ids(bank, [wording.unit_id for _, wording in worded])
    rows = np.array(sorted(places.values()), np.int64)
    vectors, entities, memories = (
        reader.units.vectors(bank, rows),
        reader.entities.of_units(bank, rows),
        reader.units.count(bank),
    )
    found = []
    for log, wording in worded:
        row = places.get(wording.unit_id, -1)
        if row in vectors:
            found.append(HeldOpinion(log, wording, topic_of(entities.get(row, ()), vectors[row], memories)))
    return found


def find_near(one: Topic, held: Sequence[HeldOpinion], thresholds: Thresholds) -> list[HeldOpinion]:
    """Return up to five held opinions that may have the same subject as a new one, most similar first.

    Their cosine reaches the link threshold, or they share an entity and their cosine reaches the channel floor. Hubs
    count, since all memories of a small bank may be about one subject.
    """
    scored = []
    for each in held:
        cosine = float(each.topic.vector @ one.vector)
        shares = bool((each.topic.telling | each.topic.hubs) & (one.telling | one.hubs))
        if cosine >= thresholds.semantic_link or (shares and cosine >= thresholds.channel_floor):
            scored.append((-cosine, each.log.id, each))
    return [each for _, _, each in sorted(scored, key=lambda found: found[:2])[:MOST_NEAR]]
