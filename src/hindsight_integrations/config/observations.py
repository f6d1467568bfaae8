"""Settings of observations: who makes them, when, of how much."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from math import inf

from hindsight_integrations.choices import as_choices
from hindsight_integrations.errors import InvalidRequest

FEWEST_OBSERVATIONS = 3  # of an entity with facts enough [paper section A.3]
MOST_OBSERVATIONS = 7  # paper section A.3: three to seven
FEWEST_PROMPT_TOKENS = 500  # of facts: about eight, told at length


class ObservationMode(StrEnum):
    """How what is known of an entity is summed up: AUTO by the model where there is one, else as EXTRACTIVE; OFF not at all.

    EXTRACTIVE chooses those of the entity's facts that say most of the rest, and asks no model.
    """

    AUTO = "auto"
    EXTRACTIVE = "extractive"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class ObservationConfig:
    """How observations of entities are made (paper section 4.1.5).

    Attributes:
        mode: by whom; OFF makes none and leaves those that are there.
        delay_s: seconds between a change of an entity's facts and the making of its observations, so that many changes in a
            row cost one making.
        searchable: recall finds observations among memories where it is given no types; else they are only shown beside
            them, as in the paper.
        fewest_facts: of an entity, from which on the model is asked; of fewer, the facts themselves are the observations.
        most: observations of one entity.
        prompt_tokens: what the facts of one request to the model may take. Of more facts the newest and most distinct are
            shown, and the others are listed as left out.
    """

    mode: ObservationMode | str = ObservationMode.AUTO
    delay_s: float = 60.0
    searchable: bool = False
    fewest_facts: int = 3
    most: int = MOST_OBSERVATIONS
    prompt_tokens: int = 4000

    def __post_init__(self) -> None:
        """Refuses numbers under which no observation could be made."""
        as_choices(self, mode=ObservationMode)
        if not 0 <= self.delay_s < inf:
            raise InvalidRequest(
                "delay_s", f"{self.delay_s} seconds is no delay", "Give 0 or more; 60 is usual."
            )
        if self.fewest_facts < 1:
            raise InvalidRequest("fewest_facts", f"{self.fewest_facts} is less than 1", "Give 1 or more.")
        if not 1 <= self.most <= MOST_OBSERVATIONS:
            raise InvalidRequest("most", f"{self.most} is not between 1 and {MOST_OBSERVATIONS}", "Give 7.")
        if self.prompt_tokens < FEWEST_PROMPT_TOKENS:
            raise InvalidRequest(
                "prompt_tokens",
                f"{self.prompt_tokens} tokens hold no facts to sum up",
                f"Give {FEWEST_PROMPT_TOKENS} or more.",
            )

    @property
    def delay(self) -> timedelta | None:
        """From a change to the making of observations anew; None: none are made."""
        return None if self.mode is ObservationMode.OFF else timedelta(seconds=self.delay_s)
