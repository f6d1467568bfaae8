"""LangChain's decision models (`langchain_core.decisions`, since langchain-core 1.8), which answer with a probability of yes.

The module is in beta and not in every version that is allowed: nothing here imports it, a model brings it along. In its first
releases a yes-or-no question is a `Noul` of a `state`, later a `Predicate` of an `input`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Protocol

from hindsight_integrations.backends.vendor_errors import converting
from hindsight_integrations.errors import MalformedOutput
from hindsight_integrations.ports.decision_model import Decisions, YesNoQuestion

YES = 0.5  # probability from which an answer is yes

_PACKAGE = "langchain_core.decisions"
_FORMS = (("Predicate", "input", "probability"), ("Noul", "state", "noul"))


class LangChainDecisionModel(Protocol):
    """What of `langchain_core.decisions.BaseDecisionModel` is used."""

    model: str

    async def ainvoke(self, request: Any, /) -> Any:  # noqa: ANN401 - vendor's types, absent from the pinned version
        """Answer a request."""
        ...


class LangChainDecisions:
    """A decision model of LangChain's as a DecisionModel."""

    def __init__(self, model: LangChainDecisionModel) -> None:
        """Wrap it.

        Args:
            model: a `langchain_core.decisions.BaseDecisionModel`.
        """
        self._model = model

    @property
    def name(self) -> str:
        """The model's."""
        return str(self._model.model)

    async def decide(self, questions: Sequence[YesNoQuestion]) -> Decisions:
        """Answer all of them in one request.

        Args:
            questions: one at least.

        Raises:
            ModelUnavailable: the model failed.
            MalformedOutput: it left a question unanswered.
        """
        package = import_module(_PACKAGE)
        kind, subject, probability = next(form for form in _FORMS if hasattr(package, form[0]))
        ask = getattr(package, kind)
        request = {
            subject: json.dumps([dict(question.texts) for question in questions], ensure_ascii=False),
            "questions": {
                f"q{n}": ask(instructions=f"Of item {n} (from 0) in the list: {question.asked}")
                for n, question in enumerate(questions)
            },
        }
        with converting(self.name):
            response = await self._model.ainvoke(request)
        given = (getattr(response.answers.get(f"q{n}"), probability, None) for n in range(len(questions)))
        answers = [float(each) for each in given if each is not None]
        if len(answers) < len(questions):
            raise MalformedOutput(self.name, str(response)[:500], "a question has no answer")
        usage = getattr(response, "usage", None)
        return Decisions(
            tuple(each >= YES for each in answers),
            tokens_in=_tokens(usage, "input_tokens"),
            tokens_out=_tokens(usage, "output_tokens"),
        )


def _tokens(usage: object, name: str) -> int:
    found = usage.get(name) if isinstance(usage, dict) else getattr(usage, name, 0)
    return int(found or 0)
