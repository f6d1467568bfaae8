"""The stage in which a reader answers each question from its context."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from hindsight_evals.prompts.answer_question import answer_question_prompt
from hindsight_evals.results import Answer, QuestionResult, ResultFiles
from hindsight_evals.runner.together import together
from hindsight_integrations.errors import MalformedOutput
from hindsight_integrations.models.protocols import LanguageModel
from hindsight_integrations.prompts.repair import complete_with_repair


async def answer_all(
    files: ResultFiles, reader: LanguageModel, *, budget: int, at_once: int, answered: Callable[[], None]
) -> None:
    """Answer all questions that have no answer yet; each answer is written immediately.

    Args:
        files: the results.
        reader: the model that answers.
        budget: token budget of the contexts to use; the largest one for systems without this budget.
        at_once: number of concurrent questions.
        answered: called after each question.

    Raises:
        ModelError: the reader could not be reached, or gave no valid answer; earlier answers are written.
    """

    async def answer(result: QuestionResult) -> None:
        given = budget if budget in result.contexts else max(result.contexts)
        notes = [text.text for text in result.contexts[given].served]
        asked = result.question
        prompt = answer_question_prompt(asked.text, notes, moment=asked.moment)
        done = await complete_with_repair(reader, prompt)
        if done.output is None:
            raise MalformedOutput(reader.name, "", done.problem)
        text = done.output.answer
        made = Answer(text, reader.name, given, done.usage.tokens_in, done.usage.tokens_out)
        files.write(replace(result, answer=made))
        answered()

    await together(answer, (result for result in files.all() if result.answer is None), at_once)
