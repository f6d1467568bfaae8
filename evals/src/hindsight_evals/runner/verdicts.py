"""The stage in which every judge judges every answer, as a whole and by criterion."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from hindsight_evals.judging.judge import judged_answer, judged_criterion
from hindsight_evals.results import ANSWER, Judgment, QuestionResult, ResultFiles
from hindsight_evals.runner.together import together
from hindsight_integrations.models.protocols import LanguageModel


async def judge_all(
    files: ResultFiles, judges: Sequence[LanguageModel], *, at_once: int, judged: Callable[[], None]
) -> None:
    """Judge every answer with the judges that have not judged it yet; an answer's judgments are written together.

    Args:
        files: the results.
        judges: the judges.
        at_once: number of concurrent answers.
        judged: called after each answer.

    Raises:
        ModelError: a judge could not be reached; earlier judgments are written.
    """

    async def judge(result: QuestionResult) -> None:
        made = dict(result.judgments)
        for subject, judge in open_judgments(result, judges):
            made[subject] = (*made.get(subject, ()), await _judgment(judge, result, subject))
        files.write(replace(result, judgments=made))
        judged()

    waiting = (result for result in files.all() if any(open_judgments(result, judges)))
    await together(judge, waiting, at_once)


def subjects(result: QuestionResult) -> Iterator[str]:
    """Yield what to judge of an answer: the whole if there is a reference, and each criterion."""
    if result.question.answer or not result.question.answerable:
        yield ANSWER
    yield from (criterion.id for criterion in result.question.criteria)


def open_judgments(
    result: QuestionResult, judges: Sequence[LanguageModel]
) -> Iterator[tuple[str, LanguageModel]]:
    """Yield the missing judgments of an answer, with their judge; none if there is no answer."""
    if result.answer is None:
        return
    for subject in subjects(result):
        done = {judgment.judge for judgment in result.judgments.get(subject, ())}
        yield from ((subject, judge) for judge in judges if judge.name not in done)


async def _judgment(judge: LanguageModel, result: QuestionResult, subject: str) -> Judgment:
    assert result.answer is not None  # noqa: S101 - only answers are judged
    if subject == ANSWER:
        return await judged_answer(judge, result.question, result.answer.text, dataset=result.dataset)
    criterion = next(each for each in result.question.criteria if each.id == subject)
    return await judged_criterion(judge, criterion, result.answer.text)
