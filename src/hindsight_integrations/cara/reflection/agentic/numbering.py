"""The numbers under which a growing conversation shows memory: one numbering over all results."""

from __future__ import annotations

from collections.abc import Sequence

from hindsight_integrations.cara.reflection.citations import Shown
from hindsight_integrations.model.mental_models import MentalModel
from hindsight_integrations.model.recalled import RecalledUnit
from hindsight_integrations.model.turns import SourceTurn


class Numbering:
    """Numbers what is shown on from what was shown so far; what is shown again keeps its number.

    Args:
        first: what one recall showed; or all that was, where a conversation goes on.
    """

    def __init__(self, first: Shown) -> None:
        self._memories = dict(first.memories)
        self._models = dict(first.models)
        self._beliefs = dict(first.beliefs)
        self._turns = dict(first.turns)
        self._quoted = dict(first.quoted)
        self._numbers: dict[object, str] = {
            **{item.unit.id: number for number, item in (*self._memories.items(), *self._beliefs.items())},
            **{model.id: number for number, model in self._models.items()},
            **{(turn.thread, turn.message_id): number for number, turn in self._turns.items()},
        }

    @property
    def shown(self) -> Shown:
        """All that was shown so far."""
        return Shown(
            dict(self._memories),
            dict(self._models),
            dict(self._beliefs),
            dict(self._turns),
            dict(self._quoted),
        )

    def memory(self, item: RecalledUnit) -> str:
        """The number of a memory."""
        if (number := self._numbers.get(item.unit.id)) is None:
            number = self._number(item.unit.id)
            self._memories[number] = item
        return number

    def turn(self, turn: SourceTurn, units: Sequence[RecalledUnit]) -> tuple[str, ...]:
        """The numbers of the memories made from a turn, whose words are shown; of a turn without any its own."""
        self.quote(turn.text, units)
        if units:
            return tuple(self.memory(item) for item in units)
        place = (turn.thread, turn.message_id)
        if (number := self._numbers.get(place)) is None:
            number = self._number(place)
            self._turns[number] = turn
        return (number,)

    def quote(self, text: str, units: Sequence[RecalledUnit]) -> None:
        """Note that words were shown that these memories were made from: what is taken from them stands on those."""
        ids = (*self._quoted.get(text, ()), *(item.unit.id for item in units))
        self._quoted[text] = tuple(dict.fromkeys(ids))

    def model(self, model: MentalModel) -> str:
        """The number of a mental model."""
        if (number := self._numbers.get(model.id)) is None:
            number = self._numbers[model.id] = f"M{len(self._models) + 1}"
            self._models[number] = model
        return number

    def belief(self, item: RecalledUnit) -> str:
        """The number of a belief."""
        if (number := self._numbers.get(item.unit.id)) is None:
            number = self._numbers[item.unit.id] = f"B{len(self._beliefs) + 1}"
            self._beliefs[number] = item
        return number

    def _number(self, key: object) -> str:
        number = self._numbers[key] = str(len(self._memories) + len(self._turns) + 1)
        return number
