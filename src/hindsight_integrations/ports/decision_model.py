"""DecisionModel: yes-or-no questions in, answers out. Optional: it decides what rules leave open (decision 169)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class YesNoQuestion:
    """A yes-or-no question about some texts, which are data.

    Attributes:
        asked: the question.
        texts: each with what it is, in order.
    """

    asked: str
    texts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Decisions:
    """Answers and what they cost.

    Attributes:
        yes: of each question in order, whether the answer is yes.
        tokens_in: prompt tokens as reported by the model, 0 if it does not say.
        tokens_out: completion tokens likewise.
    """

    yes: tuple[bool, ...]
    tokens_in: int = 0
    tokens_out: int = 0


class DecisionModel(Protocol):
    """What answers yes-or-no questions. Usable from any event loop, several at once."""

    @property
    def name(self) -> str:
        """The model's name, for logs."""
        ...

    async def decide(self, questions: Sequence[YesNoQuestion]) -> Decisions:
        """Answer all of them in one call.

        Args:
            questions: one at least.

        Raises:
            ModelError: it could not, or answered something else.
        """
        ...
