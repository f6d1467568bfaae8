"""Update opinions with new facts (paper section 5.5): assess the facts in batches, reword opinions, and commit."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from hindsight_integrations.errors import PromptTooLong, RevisionConflict
from hindsight_integrations.indexes.bank_view import Projector
from hindsight_integrations.indexes.documents import as_they_stand
from hindsight_integrations.indexes.embedding import unit_writes
from hindsight_integrations.language.language import Language, language_of
from hindsight_integrations.language.specifics import unknown_numbers
from hindsight_integrations.ledger.ledger import LedgerReader, Transaction
from hindsight_integrations.model.names import names_any
from hindsight_integrations.model.opinions import (
    Assessment,
    EvidenceStrength,
    EvidenceWrite,
    OpinionLog,
    OpinionsWrite,
    OpinionVersion,
    RewordingWrite,
    UpdateRule,
    confidence_of,
    conviction,
)
from hindsight_integrations.model.profile import BankProfile
from hindsight_integrations.model.results import NO_USAGE, Dropped, Settled, Usage, with_usage
from hindsight_integrations.model.tasks import Task
from hindsight_integrations.model.text import normalised_text
from hindsight_integrations.model.time import next_instant
from hindsight_integrations.model.units import (
    NAMESPACE,
    FactType,
    MemoryUnit,
    ValidityEvent,
    ValidityKind,
)
from hindsight_integrations.model.writes import MentionWrite, WriteSet
from hindsight_integrations.models.protocols import LanguageModel, Prompt
from hindsight_integrations.prompts.assess_evidence import (
    MOST_PAIRS,
    AnsweredAssessment,
    AnsweredAssessments,
    AskedOpinion,
    assess_evidence_prompt,
)
from hindsight_integrations.prompts.repair import complete_with_repair, malformed
from hindsight_integrations.reflect.citations import Ground, completed_grounds
from hindsight_integrations.reflect.opinions.evidence import (
    AssessedFact,
    Fact,
    Topic,
    evidence_rows,
    held_wording,
    is_evidence,
    may_bear_on,
    read_facts,
    step_of,
    topic_of,
    unsaid,
    weighed,
)
from hindsight_integrations.reflect.opinions.proposed import fault, plain
from hindsight_integrations.services import Services


@dataclass(frozen=True, slots=True, eq=False)
class OpinionEvidence:
    """An opinion and the facts that may be evidence for it.

    Attributes:
        log: log of the opinion.
        wording: its current wording.
        known: facts already in its log or grounds, by unit id.
        asked: new facts to assess, in order of mention.
        repeating: new facts that all of their sources have stated before.
    """

    log: OpinionLog
    wording: OpinionVersion
    known: dict[str, Fact] = field(default_factory=dict)
    asked: tuple[Fact, ...] = ()
    repeating: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class PendingAssessment:
    """A bank's opinions, with facts that may be new evidence for them.

    Attributes:
        revision: revision of the bank when it was read.
        profile: profile of the agent.
        opinions: held opinions, in the order they were formed.
    """

    revision: int
    profile: BankProfile
    opinions: tuple[OpinionEvidence, ...]


def read_pending(projector: Projector, services: Services) -> PendingAssessment:
    """Read a bank's opinions, each with the facts since its last assessment that may be evidence for it."""
    ledger, bank = projector.ledger, projector.name
    profile, revision = ledger.bank(bank).profile, ledger.revision(bank)
    with ledger.snapshot(bank) as reader:
        held = [(log, wording) for log in reader.opinions.get(bank) if (wording := held_wording(log))]
        fresh = _fresh(held, reader, bank)
        ids = {unit_id for found in fresh.values() for unit_id in found}
        facts = read_facts(reader, bank, sorted(ids), services.languages)
        wordings = read_facts(reader, bank, [wording.unit_id for _, wording in held], services.languages)
        topics = _topics({**facts, **wordings}, reader, bank)

        def near(log: OpinionLog, wording: OpinionVersion) -> list[Fact]:
            own, thresholds = topics[wording.unit_id], services.embedder.identity.thresholds
            found = (facts[unit_id] for unit_id in fresh[log.assessed_to] if unit_id in facts)
            return [
                fact
                for fact in found
                if is_evidence(fact, log) and may_bear_on(own, topics[fact.unit.id], thresholds)
            ]

        opinions = tuple(
            _opinion_evidence(log, wording, near(log, wording), reader, bank, services)
            for log, wording in held
            if wording.unit_id in wordings
        )
    return PendingAssessment(revision, profile, opinions)


def _opinion_evidence(
    log: OpinionLog,
    wording: OpinionVersion,
    near: Sequence[Fact],
    reader: LedgerReader,
    bank: str,
    services: Services,
) -> OpinionEvidence:
    """Return an opinion with its new facts, divided into those to assess and those that repeat others."""
    before = frozenset(weighed(log))
    new = [fact for fact in near if fact.unit.id not in before]
    if not new:
        return OpinionEvidence(log, wording)
    known = read_facts(reader, bank, weighed(log), services.languages)
    asked = unsaid(log, new, known, thresholds=services.embedder.identity.thresholds)
    ids = {fact.unit.id for fact in asked}
    repeating = tuple(fact for fact in new if fact.unit.id not in ids)
    return OpinionEvidence(log, wording, known, tuple(asked), repeating)


def _fresh(
    held: Sequence[tuple[OpinionLog, OpinionVersion]], reader: LedgerReader, bank: str
) -> dict[int, tuple[str, ...]]:
    """Return, for each `assessed_to` revision of these opinions, the unit ids of the facts added after it."""
    return {
        revision: tuple(reader.units.unit_ids(bank, reader.opinions.facts_since(bank, revision)).values())
        for revision in {log.assessed_to for log, _ in held}
    }


def _topics(facts: Mapping[str, Fact], reader: LedgerReader, bank: str) -> dict[str, Topic]:
    """Return the topic of each memory by unit id."""
    places = reader.units.row_ids(bank, list(facts))
    found = reader.entities.of_units(bank, np.array(sorted(places.values()), np.int64))
    memories = reader.units.count(bank)
    return {
        unit_id: topic_of(found.get(places[unit_id], ()), fact.vector, memories)
        for unit_id, fact in facts.items()
    }


BATCH_TOKENS = 4_000  # token budget of the opinions and facts in one prompt, the same as for observations
LINE_TOKENS = 40  # tokens added to each line of the prompt for its number, dates and pairs
MOST_EARLIER = 3  # maximum number of earlier facts from the same source shown with a new one, nearest first

PairKey: TypeAlias = tuple[str, str, str, str]
"""Key of an assessment: opinion id, unit id of its wording, fact id, text of the fact."""


@dataclass(frozen=True, slots=True, eq=False)
class FactOpinionPair:
    """A fact to assess as evidence for an opinion.

    Attributes:
        opinion: the opinion.
        fact: the fact.
        earlier: similar facts from the same source, in the log or to be assessed.
    """

    opinion: OpinionEvidence
    fact: Fact
    earlier: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class AssessorVerdict:
    """The assessment of a pair.

    Attributes:
        assessed: how the fact bears on the opinion.
        rewording: the new wording according to the model; empty if the wording does not change.
        grounds: ids of the facts that the rewording is based on, the assessed one first.
    """

    assessed: AssessedFact
    rewording: str = ""
    grounds: tuple[str, ...] = ()


def pair_key(opinion: OpinionEvidence, fact: Fact) -> PairKey:
    """Return the key of the assessment of a fact for an opinion."""
    return opinion.log.id, opinion.wording.unit_id, fact.unit.id, fact.unit.text


def next_batch(pending: PendingAssessment, tried: Collection[PairKey]) -> list[FactOpinionPair]:
    """Return the next pairs to assess, as many as fit one prompt; empty if all pairs were tried.

    Only opinions with the same tags share a prompt, so that no reason quotes memories with other tags.
    """
    batch: list[FactOpinionPair] = []
    seen: set[str] = set()
    left = BATCH_TOKENS
    for pair in _pairs(pending, tried):
        if batch and (len(batch) == MOST_PAIRS or pair.opinion.log.tags != batch[0].opinion.log.tags):
            break
        shown = [pair.fact, *pair.earlier]
        cost = sum(LINE_TOKENS + one.unit.tokens for one in shown if one.unit.id not in seen)
        if pair.opinion.log.id not in seen:
            cost += LINE_TOKENS + len(pair.opinion.wording.text) // 3
        if batch and cost > left:
            break
        left -= cost
        seen |= {pair.opinion.log.id, *(one.unit.id for one in shown)}
        batch.append(pair)
    return batch


def _pairs(pending: PendingAssessment, tried: Collection[PairKey]) -> Iterator[FactOpinionPair]:
    """Yield the pairs that were not tried yet, ordered by tags, then opinion, then time of mention."""
    for opinion in sorted(pending.opinions, key=lambda each: each.log.tags):
        for fact in opinion.asked:
            if pair_key(opinion, fact) not in tried:
                yield FactOpinionPair(opinion, fact, _earlier(opinion, fact))


def _earlier(opinion: OpinionEvidence, fact: Fact) -> tuple[Fact, ...]:
    """Return facts from the same sources as this fact, in the log or to be assessed, nearest first."""
    before = opinion.asked[: opinion.asked.index(fact)]
    same = (
        one for one in (*opinion.known.values(), *before) if not set(fact.sources).isdisjoint(one.sources)
    )
    near = sorted(same, key=lambda one: (-round(float(fact.vector @ one.vector), 6), one.unit.id))
    return tuple(near[:MOST_EARLIER])


REWORDED = "reworded"


@dataclass(frozen=True, slots=True)
class Rewording:
    """A new wording of an opinion.

    Attributes:
        unit: unit of the new wording, without its token count.
        write: the rewording.
        closing: the event that closes the previous wording.
        fact: id of the fact that is the reason for the rewording.
    """

    unit: MemoryUnit
    write: RewordingWrite
    closing: ValidityEvent
    fact: str


def rewording_fault(text: str, pair: FactOpinionPair, languages: Sequence[Language]) -> str:
    """Return the reason why a text cannot be a new wording of a pair's opinion; empty if it can.

    It must be a valid opinion, and each of its numbers must occur in the old wording or the fact.
    """
    text = plain(text)
    if found := fault(text, languages):
        return found
    grounds = [pair.opinion.wording.text, pair.fact.unit.text]
    language = language_of(text, languages)
    unknown = unknown_numbers(text, grounds, language)
    return f"neither the opinion nor the fact says {', '.join(unknown)}" if unknown else ""


def may_reword(assessment: Assessment, strength: EvidenceStrength) -> bool:
    """Check whether an assessment may change the wording: a refinement or a strong contradiction."""
    if assessment is Assessment.CONTRADICT:
        return strength is EvidenceStrength.STRONG
    return assessment is not Assessment.NEUTRAL


def rewording(opinion: OpinionEvidence, verdicts: Sequence[AssessorVerdict], bank: str) -> Rewording | None:
    """Return the new wording, from the newest fact whose verdict has a usable one; None if nothing changes.

    `verdicts` are those on facts that are not repetitions, in order of mention.
    """
    worded = [
        each
        for each in verdicts
        if each.rewording and may_reword(each.assessed.assessment, each.assessed.strength)
    ]
    if not worded:
        return None
    text, fact = plain(worded[-1].rewording), worded[-1].assessed.fact
    if normalised_text(text) == normalised_text(opinion.wording.text):
        return None
    since = max(next_instant(opinion.wording.since), fact.unit.mentioned_at)
    # The same text at the same position of an opinion gives the same id.
    seed = ("opinion", bank, opinion.log.id, str(len(opinion.log.versions)), normalised_text(text))
    unit = MemoryUnit(
        id=str(uuid.uuid5(NAMESPACE, "\x1e".join(seed))),
        bank=bank,
        text=text,
        fact_type=FactType.OPINION,
        mentioned_at=since,
        confidence=opinion.log.confidence,
        tags=opinion.log.tags,
    )
    write = RewordingWrite(
        opinion_id=opinion.log.id,
        unit_id=unit.id,
        reason=" ".join(worded[-1].assessed.reason.split()),
        based_on=tuple(dict.fromkeys((*opinion.wording.based_on, *worded[-1].grounds))),
    )
    closing = ValidityEvent(opinion.wording.unit_id, ValidityKind.CLOSED, since, unit.id, REWORDED)
    return Rewording(unit, write, closing, fact.unit.id)


@dataclass(slots=True)
class Assessments:
    """The outcome of a batch.

    Attributes:
        verdicts: verdicts by pair; pairs without a usable assessment are missing.
        usage: cost of the model calls.
    """

    verdicts: dict[PairKey, AssessorVerdict] = field(default_factory=dict)
    usage: Usage = NO_USAGE


async def assess(
    batch: Sequence[FactOpinionPair],
    profile: BankProfile,
    model: LanguageModel,
    languages: Sequence[Language],
) -> Assessments:
    """Assess pairs with the model; if the prompt exceeds the model's context, assess each half separately.

    Raises:
        ModelUnavailable: the model could not be reached.
        ModelRefused: the service rejected the API key.
    """
    asked = AssessmentPrompt(batch, languages)
    try:
        answered = await complete_with_repair(model, asked.prompt(profile), check=asked.problems)
    except PromptTooLong:
        if len(batch) == 1:
            return Assessments()
        half = len(batch) // 2
        one = await assess(batch[:half], profile, model, languages)
        other = await assess(batch[half:], profile, model, languages)
        return Assessments({**one.verdicts, **other.verdicts}, one.usage + other.usage)
    verdicts = asked.verdicts(answered.last) if answered.last else {}
    return Assessments(verdicts, answered.usage)


class AssessmentPrompt:
    """The pairs of one prompt and their numbers in it."""

    def __init__(self, pairs: Sequence[FactOpinionPair], languages: Sequence[Language]) -> None:
        self._languages = languages
        self._opinions = list({pair.opinion.log.id: pair.opinion for pair in pairs}.values())
        facts = {one.unit.id: one for pair in pairs for one in (pair.fact, *pair.earlier)}
        self._facts = sorted(facts.values(), key=lambda fact: (fact.unit.mentioned_at, fact.unit.id))
        opinions = {opinion.log.id: number for number, opinion in enumerate(self._opinions, 1)}
        self._numbers = {fact.unit.id: number for number, fact in enumerate(self._facts, 1)}
        self._pairs = {
            (opinions[pair.opinion.log.id], self._numbers[pair.fact.unit.id]): pair for pair in pairs
        }

    def prompt(self, profile: BankProfile) -> Prompt[AnsweredAssessments]:
        """Make the prompt that asks for the assessments."""
        opinions = [
            AskedOpinion(
                text=opinion.wording.text,
                conviction=conviction(confidence_of(opinion.log)),
                since=opinion.wording.since,
                pairs=tuple(
                    (fact, tuple(self._numbers[one.unit.id] for one in pair.earlier))
                    for (number_of, fact), pair in self._pairs.items()
                    if number_of == number
                ),
            )
            for number, opinion in enumerate(self._opinions, 1)
        ]
        return assess_evidence_prompt(opinions, [fact.unit for fact in self._facts], profile)

    def problems(self, answer: AnsweredAssessments) -> str:
        """Describe the faults of an answer for the model; "" if there are none."""
        given = [(one.opinion, one.fact) for one in answer.assessments]
        found = [
            f"opinion {opinion}, fact {fact}: {what}"
            for what, pairs in (
                ("this pair was not asked for", [pair for pair in given if pair not in self._pairs]),
                ("assess it once", sorted({pair for pair in given if given.count(pair) > 1})),
                ("its assessment is missing", [pair for pair in self._pairs if pair not in given]),
            )
            for opinion, fact in pairs
        ]
        found += (
            f"opinion {one.opinion}, fact {one.fact}: the rewording cannot be kept: {fault}"
            for one in answer.assessments
            if (pair := self._pairs.get((one.opinion, one.fact))) and (fault := self._fault(one, pair))
        )
        return "; ".join(found[:MOST_PAIRS])

    def verdicts(self, answer: AnsweredAssessments) -> dict[PairKey, AssessorVerdict]:
        """Return the usable verdicts of an answer: the first assessment of each requested pair."""
        found: dict[PairKey, AssessorVerdict] = {}
        for one in answer.assessments:
            if pair := self._pairs.get((one.opinion, one.fact)):
                found.setdefault(pair_key(pair.opinion, pair.fact), self._verdict(one, pair))
        return found

    def _verdict(self, one: AnsweredAssessment, pair: FactOpinionPair) -> AssessorVerdict:
        earlier = {self._numbers[fact.unit.id]: fact.unit.id for fact in pair.earlier}
        again = tuple(earlier[number] for number in dict.fromkeys(one.restates) if number in earlier)
        assessed = AssessedFact(pair.fact, one.assessment, one.strength, one.reason, again)
        text = one.rewording.strip()
        if not text or self._fault(one, pair):
            return AssessorVerdict(assessed)
        return AssessorVerdict(assessed, text, self._grounds(text, pair))

    def _grounds(self, text: str, pair: FactOpinionPair) -> tuple[str, ...]:
        """Return the grounds of a rewording: its fact, and other shown memories that it uses."""
        own = [Ground(pair.fact.unit.text, (pair.fact.unit.id,)), Ground(pair.opinion.wording.text)]
        facts = [Ground(fact.unit.text, (fact.unit.id,)) for fact in self._facts]
        opinions = [Ground(each.wording.text, each.wording.based_on) for each in self._opinions]
        return completed_grounds(text, own, [*facts, *opinions], self._languages)

    def _fault(self, one: AnsweredAssessment, pair: FactOpinionPair) -> str:
        """Return what is wrong with a rewording; empty if nothing is, or if the assessment does not use it."""
        if not one.rewording.strip() or not may_reword(one.assessment, one.strength):
            return ""
        return rewording_fault(one.rewording, pair, self._languages)


# Maximum number of commits that conflict with other changes; then the task is retried later.
CONFLICTS = 8
TRIES_OF_MODEL = 3  # number of task attempts; on the last attempt, pairs without a usable answer are skipped


@dataclass(frozen=True, slots=True, eq=False)
class EvidenceDecision:
    """The writes that follow from the verdicts, and the pairs without a verdict.

    Attributes:
        evidence: rows for the logs.
        reworded: new wordings.
        assessed: revision up to which all facts are assessed, by opinion id.
        passed_over: pairs without a usable assessment, as (opinion id, fact id).
    """

    evidence: tuple[EvidenceWrite, ...]
    reworded: tuple[Rewording, ...]
    assessed: Mapping[str, int]
    passed_over: tuple[tuple[str, str], ...]


async def reinforce(task: Task, model: LanguageModel, projector: Projector, services: Services) -> Settled:
    """Assess the facts added since the last assessment of a bank's opinions; commit the outcome and complete the task.

    If the pairs need several prompts, each batch is committed as it is assessed, so that no pair is assessed twice.
    If the bank changes before a commit, it is read again and only new pairs are assessed.

    Pairs without a usable assessment are retried in the next attempt of the task, and skipped in its third.

    Raises:
        MalformedOutput: pairs have no assessment, even after repairs, and the task has attempts left; the verdicts
            received so far are written.
        ModelUnavailable: the model could not be reached; batches assessed before are written.
        ModelRefused: the service rejected the API key.
        RevisionConflict: opinions or facts changed during every try.
        TaskClosed: the task was finished by another worker; this batch was not written.
    """
    verdicts: dict[PairKey, AssessorVerdict] = {}
    tried: set[PairKey] = set()
    usage, assessed, conflicts = NO_USAGE, 0, 0
    while True:
        pending = await services.workers.read(read_pending, projector, services)
        if batch := next_batch(pending, tried):
            made = await assess(batch, pending.profile, model, services.languages)
            verdicts.update(made.verdicts)
            tried.update(pair_key(pair.opinion, pair.fact) for pair in batch)
            usage += made.usage
        last = not next_batch(pending, tried)
        giving_up = last and task.attempts >= TRIES_OF_MODEL
        decision = await services.workers.read(
            decide, pending, verdicts, projector.name, services, giving_up=giving_up
        )
        ends = giving_up or (last and not decision.passed_over)
        writes = await services.workers.read(write_set, decision, pending, projector, services)
        if ends:
            writes = replace(writes, completed_tasks=(task.claim,))
        if not await services.workers.write(_commit, writes, pending, projector):
            conflicts += 1
            if conflicts == CONFLICTS:
                bank = projector.name
                now = await services.workers.read(projector.ledger.revision, bank)
                raise RevisionConflict(bank, pending.revision, now)
            continue
        assessed += len(decision.evidence)
        if ends:
            return with_usage(Settled(assessed=assessed, dropped=_dropped(decision)), usage)
        if last:
            left = f"{len(decision.passed_over)} pairs of an opinion and a fact have no assessment"
            raise malformed(model.name, left, usage)


def decide(
    pending: PendingAssessment,
    verdicts: Mapping[PairKey, AssessorVerdict],
    bank: str,
    services: Services,
    *,
    giving_up: bool,
) -> EvidenceDecision:
    """Decide how verdicts change the opinions; nothing is written for pairs without a verdict.

    With `giving_up`, opinions count as assessed although verdicts are missing.
    """
    evidence: list[EvidenceWrite] = []
    reworded: list[Rewording] = []
    assessed: dict[str, int] = {}
    passed_over: list[tuple[str, str]] = []
    for opinion in pending.opinions:
        answers = [verdicts.get(pair_key(opinion, fact)) for fact in opinion.asked]
        left = [fact.unit.id for fact, each in zip(opinion.asked, answers, strict=True) if each is None]
        passed_over += ((opinion.log.id, unit_id) for unit_id in left)
        judgements = [each for each in answers if each is not None]
        rows = evidence_rows(
            opinion.log,
            [each.assessed for each in judgements],
            opinion.known,
            thresholds=services.embedder.identity.thresholds,
            rule=UpdateRule(services.config.opinions.rule),
            step=step_of(pending.profile, services.config.opinions),
            repeating=opinion.repeating,
        )
        evidence += rows
        own = {row.unit_id for row in rows if not row.restates}
        new_verdicts = [each for each in judgements if each.assessed.fact.unit.id in own]
        if new := rewording(opinion, new_verdicts, bank):
            reworded.append(new)
        if (giving_up or not left) and opinion.log.assessed_to < pending.revision:
            assessed[opinion.log.id] = pending.revision
    return EvidenceDecision(tuple(evidence), tuple(reworded), assessed, tuple(passed_over))


def write_set(
    decision: EvidenceDecision, pending: PendingAssessment, projector: Projector, services: Services
) -> WriteSet:
    """Return the writes of a decision, without completing the task; embeds the new wordings."""
    bank, ledger = projector.name, projector.ledger
    counts = services.tokens.count([each.unit.text for each in decision.reworded])
    units = [replace(each.unit, tokens=count) for each, count in zip(decision.reworded, counts, strict=True)]
    return WriteSet(
        bank=bank,
        expected_revision=pending.revision,
        units=unit_writes(units, services.embedder),
        mentions=tuple(mention for each in decision.reworded for mention in _mentions(each, ledger, bank)),
        events=tuple(each.closing for each in decision.reworded),
        opinions=OpinionsWrite(
            reworded=tuple(each.write for each in decision.reworded),
            evidence=decision.evidence,
            assessed=decision.assessed,
        ),
    )


def _mentions(new: Rewording, ledger: LedgerReader, bank: str) -> list[MentionWrite]:
    """Return the mentions of a new wording: the old wording's entities, and those of the fact that the new text names."""
    places = ledger.units.row_ids(bank, [new.closing.unit_id, new.fact])
    mentioned = ledger.entities.of_units(bank, np.array(sorted(places.values()), np.int64))
    before = mentioned.get(places.get(new.closing.unit_id, -1), [])
    named = [
        entity
        for entity in mentioned.get(places.get(new.fact, -1), [])
        if names_any(new.unit.text, (entity.name.casefold(), *entity.names))
    ]
    entities = {entity.id: entity for entity in (*before, *named)}
    return [MentionWrite(new.unit.id, entity.id, entity.name) for entity in entities.values()]


def _commit(writes: WriteSet, pending: PendingAssessment, projector: Projector) -> bool:
    """Commit the writes if opinions and facts are unchanged; else return False and write nothing."""
    if writes.completed_tasks == () and not _writes_anything(writes):
        return True
    try:
        with projector.transaction() as (view, transaction):
            if view.revision != pending.revision and not _unchanged(pending.opinions, transaction, view.bank):
                return False
            transaction.commit(replace(writes, expected_revision=view.revision))
    except RevisionConflict:
        return False
    projector.catch_up()
    return True


def _writes_anything(writes: WriteSet) -> bool:
    opinions = writes.opinions
    return opinions is not None and bool(opinions.evidence or opinions.reworded or opinions.assessed)


def _unchanged(opinions: Sequence[OpinionEvidence], transaction: Transaction, bank: str) -> bool:
    """Check that the logs of these opinions and the texts of their new facts have not changed."""
    now = {log.id: log for log in transaction.opinions.get(bank, [each.log.id for each in opinions])}
    if any(now.get(each.log.id) != each.log for each in opinions):
        return False
    facts = {fact.unit.id: fact.unit for each in opinions for fact in (*each.asked, *each.repeating)}
    rows = np.array(sorted(transaction.units.row_ids(bank, list(facts)).values()), np.int64)
    standing = as_they_stand(transaction.units.get(bank, rows), transaction, bank)
    said: dict[str, MemoryUnit] = {unit.id: unit for unit in standing.values()}
    return all(unit_id in said and said[unit_id].text == unit.text for unit_id, unit in facts.items())


def _dropped(decision: EvidenceDecision) -> tuple[Dropped, ...]:
    return tuple(
        Dropped(f"evidence {fact} of opinion {opinion}", "the model gave no usable assessment")
        for opinion, fact in decision.passed_over
    )
