"""What rules leave open of a commit's statements of withdrawal, asked of a decision model before it (decision 169)."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hindsight_integrations.errors import ModelError
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.ports.decision_model import DecisionModel, YesNoQuestion
from hindsight_integrations.prompts.decide import MOST_QUESTIONS

logger = logging.getLogger("hindsight_integrations")

ASKED = "Is the memory, or a part of it, what no longer holds?"


@dataclass(frozen=True, slots=True)
class Doubt:
    """A statement that may mean some memories, or none.

    Attributes:
        statement: what no longer holds, in words.
        by: the unit that states it.
        units: it may mean, the likeliest first.
    """

    statement: str
    by: MemoryUnit
    units: tuple[MemoryUnit, ...]


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What a decision model said.

    Attributes:
        means: by statement, id of the stating unit and id of a memory, whether it is meant.
        tokens_in: prompt tokens it reported.
        tokens_out: completion tokens it reported.
    """

    means: Mapping[tuple[str, str, str], bool] = field(default_factory=dict)
    tokens_in: int = 0
    tokens_out: int = 0

    def of(self, statement: str, by: MemoryUnit, units: Sequence[MemoryUnit]) -> list[MemoryUnit] | None:
        """Those of the memories that the statement means; None if the model was not asked of all of them."""
        said = [self.means.get((statement, by.id, unit.id)) for unit in units]
        if not units or any(each is None for each in said):
            return None
        return [unit for unit, meant in zip(units, said, strict=True) if meant]


UNASKED = Verdicts()


async def verdicts_on(doubts: Sequence[Doubt], model: DecisionModel) -> Verdicts:
    """Ask of all of them in one call; of more than fit into one, of the first. A model that fails decides nothing.

    Args:
        doubts: of one commit.
        model: which is asked.
    """
    asked = [(doubt, unit) for doubt in doubts for unit in doubt.units][:MOST_QUESTIONS]
    if not asked:
        return UNASKED
    try:
        found = await model.decide([_question(doubt, unit) for doubt, unit in asked])
    except ModelError as error:
        logger.warning("the decision model failed, %d withdrawals stay open: %s", len(doubts), error)
        return UNASKED
    means = {
        (doubt.statement, doubt.by.id, unit.id): yes
        for (doubt, unit), yes in zip(asked, found.yes, strict=True)
    }
    return Verdicts(means, found.tokens_in, found.tokens_out)


def _question(doubt: Doubt, unit: MemoryUnit) -> YesNoQuestion:
    texts = (("No longer holds", doubt.statement), ("Said later", doubt.by.text), ("Memory", unit.text))
    return YesNoQuestion(ASKED, texts)
