"""One judge's judgment of an answer, or of one criterion of it."""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel

from hindsight_evals.episode import Criterion, Question
from hindsight_evals.judging.rules import rule_of
from hindsight_evals.prompts.judge import judge_answer_prompt, judge_criterion_prompt
from hindsight_evals.results import Judgment
from hindsight_integrations.models.protocols import LanguageModel, Prompt
from hindsight_integrations.prompts.repair import RepairedAnswer, complete_with_repair

T = TypeVar("T", bound=BaseModel)


async def judged_answer(judge: LanguageModel, question: Question, answer: str, *, dataset: str) -> Judgment:
    """Judge whether an answer is correct, compared with the reference, by the rule for its question (paper A.4).

    If the judge's reply cannot be parsed, it is requested again, at most twice; then there is no verdict
    (Memora appendix C).

    Raises:
        ModelError: the judge could not be reached.
    """
    rule = rule_of(question, dataset)
    reference = question.answer or "It was never said."
    done = await _asked(judge, judge_answer_prompt(question.text, reference, answer, rule=rule))
    if done.output is None:
        return _unread(judge, done)
    verdict = done.output
    return Judgment(
        judge.name, verdict.correct, 1.0, verdict.explanation, done.usage.tokens_in, done.usage.tokens_out
    )


async def judged_criterion(judge: LanguageModel, criterion: Criterion, answer: str) -> Judgment:
    """Ask a judge a criterion's yes-or-no question; `Criterion.expected` is the reply that meets it.

    Raises:
        ModelError: the judge could not be reached.
    """
    done = await _asked(judge, judge_criterion_prompt(criterion.text, answer))
    if done.output is None:
        return _unread(judge, done)
    verdict = done.output
    return Judgment(
        judge.name,
        verdict.yes,
        verdict.confidence,
        verdict.explanation,
        done.usage.tokens_in,
        done.usage.tokens_out,
    )


async def _asked(judge: LanguageModel, prompt: Prompt[T]) -> RepairedAnswer[T]:
    return await complete_with_repair(judge, prompt)


def _unread(judge: LanguageModel, done: RepairedAnswer[T]) -> Judgment:
    return Judgment(judge.name, None, 0.0, done.problem, done.usage.tokens_in, done.usage.tokens_out)
