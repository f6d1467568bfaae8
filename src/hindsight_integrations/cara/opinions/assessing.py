"""Assessing facts as evidence in batches: what one prompt asks, and what of its answer counts (paper section 5.5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hindsight_integrations.cara.grounds import Ground, completed_grounds
from hindsight_integrations.cara.opinions.evidence import AssessedFact
from hindsight_integrations.cara.opinions.pairs import Pair, PairKey, Verdict
from hindsight_integrations.cara.opinions.rewording import may_reword, rewording_fault
from hindsight_integrations.errors import PromptTooLong
from hindsight_integrations.model.confidence import confidence_of
from hindsight_integrations.model.opinions import conviction
from hindsight_integrations.model.profile import BankProfile
from hindsight_integrations.ports.language_model import LanguageModel, Prompt
from hindsight_integrations.prompts.assess_evidence import (
    MOST_PAIRS,
    AnsweredAssessment,
    AnsweredAssessments,
    AskedOpinion,
    assess_evidence_prompt,
)
from hindsight_integrations.prompts.repairing import complete_with_repair
from hindsight_integrations.text.language import Language


@dataclass(slots=True)
class Assessments:
    """What came of a batch.

    Attributes:
        verdicts: by pair; those the model left out, or answered unusably, are missing.
        tokens_in: prompt tokens, repairs included.
        tokens_out: completion tokens likewise.
    """

    verdicts: dict[PairKey, Verdict] = field(default_factory=dict)
    tokens_in: int = 0
    tokens_out: int = 0


async def assess(
    batch: Sequence[Pair], profile: BankProfile, model: LanguageModel, languages: Sequence[Language]
) -> Assessments:
    """Ask a model of pairs; a prompt that does not fit its context is asked in halves.

    Args:
        batch: of opinions with the same tags.
        profile: in whose character they are assessed.
        model: who assesses.
        languages: opinions may be in.

    Raises:
        ModelUnavailable: the model could not be reached.
        ModelRefused: its service refuses the key.
    """
    asked = Asked(batch, languages)
    try:
        answered = await complete_with_repair(model, asked.prompt(profile), check=asked.problems)
    except PromptTooLong:
        if len(batch) == 1:
            return Assessments()
        half = len(batch) // 2
        one = await assess(batch[:half], profile, model, languages)
        other = await assess(batch[half:], profile, model, languages)
        return Assessments(
            {**one.verdicts, **other.verdicts},
            one.tokens_in + other.tokens_in,
            one.tokens_out + other.tokens_out,
        )
    verdicts = asked.verdicts(answered.last) if answered.last else {}
    return Assessments(verdicts, answered.tokens_in, answered.tokens_out)


class Asked:
    """The pairs of one prompt and their numbers in it.

    Args:
        pairs: of opinions with the same tags.
        languages: opinions may be in.
    """

    def __init__(self, pairs: Sequence[Pair], languages: Sequence[Language]) -> None:
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
        """The prompt that asks of them."""
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
        """What is wrong with an answer, in words for the model; "" if nothing is."""
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

    def verdicts(self, answer: AnsweredAssessments) -> dict[PairKey, Verdict]:
        """What of an answer counts: the pairs asked for, each as it was assessed first."""
        found: dict[PairKey, Verdict] = {}
        for one in answer.assessments:
            if pair := self._pairs.get((one.opinion, one.fact)):
                found.setdefault(pair.key, self._verdict(one, pair))
        return found

    def _verdict(self, one: AnsweredAssessment, pair: Pair) -> Verdict:
        earlier = {self._numbers[fact.unit.id]: fact.unit.id for fact in pair.earlier}
        again = tuple(earlier[number] for number in dict.fromkeys(one.restates) if number in earlier)
        assessed = AssessedFact(pair.fact, one.assessment, one.strength, one.reason, again)
        text = one.rewording.strip()
        if not text or self._fault(one, pair):
            return Verdict(assessed)
        return Verdict(assessed, text, self._grounds(text, pair))

    def _grounds(self, text: str, pair: Pair) -> tuple[str, ...]:
        """What a rewording stands on: its fact, and whatever else it was shown and took something from."""
        own = [Ground(pair.fact.unit.text, (pair.fact.unit.id,)), Ground(pair.opinion.wording.text)]
        facts = [Ground(fact.unit.text, (fact.unit.id,)) for fact in self._facts]
        opinions = [Ground(each.wording.text, each.wording.based_on) for each in self._opinions]
        return completed_grounds(text, own, [*facts, *opinions], self._languages)

    def _fault(self, one: AnsweredAssessment, pair: Pair) -> str:
        """What is wrong with a rewording that would be used; "" if nothing is."""
        if not one.rewording.strip() or not may_reword(one.assessment, one.strength):
            return ""
        return rewording_fault(one.rewording, pair, self._languages)
