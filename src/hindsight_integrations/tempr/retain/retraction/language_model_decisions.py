"""A language model as a decision model."""

from __future__ import annotations

from collections.abc import Sequence

from hindsight_integrations.errors import MalformedOutput
from hindsight_integrations.ports.decision_model import Decisions, YesNoQuestion
from hindsight_integrations.ports.language_model import LanguageModel
from hindsight_integrations.prompts.decide import AnsweredQuestions, decide_prompt
from hindsight_integrations.prompts.repairing import complete_with_repair


class LanguageModelDecisions:
    """Asks a language model yes-or-no questions, all of a call in one prompt."""

    def __init__(self, model: LanguageModel) -> None:
        """Wrap it.

        Args:
            model: which is asked.
        """
        self._model = model

    @property
    def name(self) -> str:
        """The model's."""
        return self._model.name

    async def decide(self, questions: Sequence[YesNoQuestion]) -> Decisions:
        """Answer all of them in one call.

        Args:
            questions: one at least.

        Raises:
            ModelError: the model failed, or left a question unanswered.
        """
        numbers = range(1, len(questions) + 1)

        def unanswered(output: AnsweredQuestions) -> str:
            left = sorted(set(numbers) - {each.number for each in output.answers})
            return f"answers of questions {left} are missing" if left else ""

        asked = await complete_with_repair(self._model, decide_prompt(questions), check=unanswered)
        if asked.output is None:
            raise MalformedOutput(
                self.name, "", asked.problem, tokens_in=asked.tokens_in, tokens_out=asked.tokens_out
            )
        answers = {each.number: each.yes for each in asked.output.answers}
        return Decisions(tuple(answers[number] for number in numbers), asked.tokens_in, asked.tokens_out)
