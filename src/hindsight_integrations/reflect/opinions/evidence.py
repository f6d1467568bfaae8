"""Facts as evidence: who says them, which repeat another, and the rows of an opinion's evidence log that they make."""

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
"""Share of the step by skepticism: 0.15 becomes 0.125 and 0.10 [earlier paper 9.4]."""


def step_of(profile: BankProfile, config: OpinionConfig) -> float:
    """The step size that rows of evidence written under a profile have: a of paper eq. 26, or alpha of the other rule.

    Big Five profiles have no trait for it, and take the whole step.

    Args:
        profile: the bank's, now.
        config: rule, step, and whether cautious profiles take smaller ones.
    """
    step = config.step if config.rule is UpdateRule.ADDITIVE else STRONG_SUPPORT
    if config.cautious_steps and isinstance(profile.disposition, Disposition):
        step *= CAUTIOUS_SHARES.get(profile.disposition.skepticism, 1.0)
    return step


# Who says what a memory says: whose word it is as evidence of an opinion.
def sources_of(unit: MemoryUnit, turns: Sequence[SourceTurn]) -> tuple[str, ...]:
    """The sources of a memory, sorted; empty if it cannot be evidence.

    A source is who spoke, not who is quoted. Where no turns are kept, it is the document, else the conversation. The
    agent's own words are not evidence: it must not talk itself into its beliefs. Nor is what it experienced in a
    conversation whose turns were not kept, since only the agent may have said it.

    Args:
        unit: the memory.
        turns: those that it was made from.
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
    """A memory as it is weighed.

    Attributes:
        unit: a document with the items that hold.
        vector: as stored (dimension,).
        sources: who says so; empty if it cannot be evidence, see `sources_of`.
        specifics: what it pins down.
    """

    unit: MemoryUnit
    vector: Vector
    sources: tuple[str, ...]
    specifics: Specifics


def read_facts(
    ledger: LedgerReader, bank: str, unit_ids: Sequence[str], languages: Sequence[Language]
) -> dict[str, Fact]:
    """These memories as facts, by unit id; unknown and damaged ones are left out, and those without a readable vector.

    Args:
        ledger: of the bank.
        bank: its name.
        unit_ids: which memories; closed ones are read like others.
        languages: their texts may be in.
    """
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


ALIKE = 0.25  # of the way from the semantic link to the duplicate: from there on texts say the same
PINNED = 0.0  # of it, where they share a number or a day as well


# Whether two facts say the same thing in other words, so that a source is counted once for it.
def restates(one: Fact, other: Fact, thresholds: Thresholds) -> bool:
    """Whether one fact repeats what another says, regardless of the speaker; symmetric.

    It leans towards yes: what counts once too often merged moves an opinion less than it should, what counts twice lets
    an agent be talked into its beliefs. What pins down other things is never the same, however alike it is worded.

    Args:
        one: a fact.
        other: another.
        thresholds: the embedder's.
    """
    if normalised_text(one.unit.text) == normalised_text(other.unit.text):
        return True
    if told_apart(one.specifics, other.specifics):
        return False
    share = PINNED if pinned_alike(one.specifics, other.specifics) else ALIKE
    needed = thresholds.semantic_link + share * (thresholds.duplicate - thresholds.semantic_link)
    return float(one.vector @ other.vector) >= needed


MOST_REASON = 200  # characters of a row's reason: a sentence or two, for people
SAID_AGAIN = "the same source says it again"
FORMED_WITH = "the same source says again what the opinion was formed with"


@dataclass(frozen=True, slots=True, eq=False)
class AssessedFact:
    """What an assessor said of a fact as evidence of one opinion.

    Attributes:
        fact: it.
        assessment: how it bears on the opinion.
        strength: how much.
        reason: in words, for people; cut at 200 characters.
        restates: ids of facts that, so the assessor, it says again; those of other sources are passed over.
    """

    fact: Fact
    assessment: Assessment
    strength: EvidenceStrength
    reason: str
    restates: tuple[str, ...] = ()


def weighed(log: OpinionLog) -> tuple[str, ...]:
    """Ids of the facts that were weighed already: those of the log, and the grounds of every wording."""
    grounds = (unit_id for version in log.versions for unit_id in version.based_on)
    return tuple(dict.fromkeys((*(row.unit_id for row in log.evidence), *grounds)))


def held_wording(log: OpinionLog) -> OpinionVersion | None:
    """The wording in which an opinion is held now; None if it is held no more."""
    return next((version for version in reversed(log.versions) if version.closed_at is None), None)


def is_evidence(fact: Fact, log: OpinionLog) -> bool:
    """Whether a fact may move an opinion: somebody other than the agent says so, and its tags are the opinion's or none."""
    return bool(fact.sources) and fact.unit.tags in ((), log.tags)


def unsaid(
    log: OpinionLog, facts: Iterable[Fact], known: Mapping[str, Fact], *, thresholds: Thresholds
) -> list[Fact]:
    """Of new facts those that an assessor must be asked of, in order of mention: no source of theirs said so before.

    Args:
        log: the opinion.
        facts: which may be evidence of it.
        known: the facts of `weighed(log)` by unit id; those that are missing are not compared with.
        thresholds: the embedder's.
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
    """The rows by which facts join an opinion's log, in order of mention.

    Left out are facts that cannot be its evidence: of other networks, the agent's own words, with tags that are not the
    opinion's, and those in the log or among the grounds of a wording already. What a source says again takes over the
    row of what it said first, step and all, so that saying a thing again moves nothing; what repeats a ground is
    neutral, since the opinion was formed with it.

    Args:
        log: the opinion.
        assessed: facts that an assessor spoke of.
        known: the facts of `weighed(log)` by unit id; those that are missing are not compared with.
        thresholds: the embedder's.
        rule: by which new rows count.
        step: of new rows, see `step_of`.
        repeating: facts that were not assessed since they repeat others; they get a row only if those have one.
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
    """The row of a fact that says again what the same source said: no reason is copied, which may speak of what is erased."""
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
    """What one of the fact's sources said before in other words, in order of mention; `named` are ids an assessor named."""
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
    """Whether every source of a fact had said it before, so that no source is new."""
    return frozenset(fact.sources) <= {source for other in same for source in other.sources}


def _mentioned(fact: Fact) -> tuple[datetime, str]:
    return fact.unit.mentioned_at, fact.unit.id


@dataclass(frozen=True, slots=True, eq=False)
class Topic:
    """What a memory is about, to find candidates.

    Attributes:
        telling: ids of mentioned entities that few memories mention.
        hubs: ids of those that many memories mention. Neither includes the user, the agent and the speakers.
        vector: of the text, (dimension,).
    """

    telling: frozenset[str]
    hubs: frozenset[str]
    vector: Vector


def may_bear_on(opinion: Topic, fact: Topic, thresholds: Thresholds) -> bool:
    """Whether a fact may be evidence for an opinion: they share an entity, or are similar (paper eq. 25).

    If they only share a hub, they must also be similar enough to be retrieved.
    """
    cosine = float(opinion.vector @ fact.vector)
    if cosine > theta_of(thresholds) or not opinion.telling.isdisjoint(fact.telling):
        return True
    return cosine >= thresholds.channel_floor and not opinion.hubs.isdisjoint(fact.hubs)


def theta_of(thresholds: Thresholds) -> float:
    """The cosine of paper eq. 25: midway between the channel floor and the semantic link.

    An opinion covers more than each of its facts: measured, few facts are as near to it as linked facts are to each other.
    """
    return (thresholds.channel_floor + thresholds.semantic_link) / 2


def topic_of(entities: Iterable[Entity], vector: Vector, memories: int) -> Topic:
    """What a memory is about.

    Args:
        entities: that it mentions.
        vector: its own.
        memories: how many the bank holds.
    """
    most = hub_degree(memories)
    named = [entity for entity in entities if entity.role is EntityRole.NONE]
    return Topic(
        frozenset(entity.id for entity in named if entity.mentions <= most),
        frozenset(entity.id for entity in named if entity.mentions > most),
        vector,
    )


MOST_NEAR = 5  # opinions a new one is compared with, the most alike; a belief has few neighbours


@dataclass(frozen=True, slots=True, eq=False)
class HeldOpinion:
    """An opinion that the agent holds.

    Attributes:
        log: its log.
        wording: the current one.
        topic: of the wording.
    """

    log: OpinionLog
    wording: OpinionVersion
    topic: Topic


def held_opinions(reader: LedgerReader, bank: str, logs: Sequence[OpinionLog]) -> list[HeldOpinion]:
    """The opinions held now; those without a readable vector are left out."""
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
    """The opinions that may be about the same subject, the most similar first, at most five.

    They are as similar as linked memories, or share an entity and are not dissimilar. Hubs count here, since every memory of a
    small bank may be about one subject.

    Args:
        one: what it is about.
        held: those that it may be shown with: their tags are its own.
        thresholds: of the embedder.
    """
    scored = []
    for each in held:
        cosine = float(each.topic.vector @ one.vector)
        shares = bool((each.topic.telling | each.topic.hubs) & (one.telling | one.hubs))
        if cosine >= thresholds.semantic_link or (shares and cosine >= thresholds.channel_floor):
            scored.append((-cosine, each.log.id, each))
    return [each for _, _, each in sorted(scored, key=lambda found: found[:2])[:MOST_NEAR]]
