"""The profile of the agent behind a bank: P = (n, Theta, h) of paper eq. 22, and its changes."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import TypeAlias

from hindsight_integrations.errors import InvalidRequest, shown

NEUTRAL = 3  # the middle of the 1..5 scale [paper section 5.2.1]
MIDDLE = 0.5  # of a trait and of the bias strength [earlier paper 6.1]


@dataclass(frozen=True, slots=True)
class Disposition:
    """Theta without beta: how the agent reasons (paper eq. 18-20).

    Attributes:
        skepticism: 1 trusting .. 5 skeptical.
        literalism: 1 flexible .. 5 literal.
        empathy: 1 detached .. 5 empathetic.
    """

    skepticism: int = NEUTRAL
    literalism: int = NEUTRAL
    empathy: int = NEUTRAL

    def __post_init__(self) -> None:
        for trait in fields(self):
            object.__setattr__(self, trait.name, _level(getattr(self, trait.name), trait.name))


@dataclass(frozen=True, slots=True)
class BigFive:
    """The five personality traits, each from 0 to 1, as an alternative to `Disposition` (earlier paper 6.1).

    Attributes:
        openness: 0 proven methods .. 1 novel approaches.
        conscientiousness: 0 flexible and intuitive .. 1 systematic.
        extraversion: 0 measured .. 1 outgoing.
        agreeableness: 0 accuracy over harmony .. 1 consensus.
        neuroticism: 0 calm .. 1 attentive to risks.
    """

    openness: float = MIDDLE
    conscientiousness: float = MIDDLE
    extraversion: float = MIDDLE
    agreeableness: float = MIDDLE
    neuroticism: float = MIDDLE

    def __post_init__(self) -> None:
        for trait in fields(self):
            object.__setattr__(self, trait.name, _share(getattr(self, trait.name), trait.name))


Character: TypeAlias = Disposition | BigFive


@dataclass(frozen=True, slots=True)
class BankProfile:
    """The profile of a bank.

    Attributes:
        name: the agent's name; empty for none.
        background: a short first-person description; empty for none.
        disposition: how it reasons: either a Disposition or a BigFive.
        bias_strength: beta in [0, 1], how strongly the disposition shapes answers (paper eq. 21).
    """

    name: str = ""
    background: str = ""
    disposition: Character = field(default_factory=Disposition)
    bias_strength: float = MIDDLE

    def __post_init__(self) -> None:
        for each, text in (("name", self.name), ("background", self.background)):
            _check_text(text, each)
        _check_character(self.disposition)
        object.__setattr__(self, "bias_strength", _share(self.bias_strength, "bias_strength"))


@dataclass(frozen=True, slots=True)
class ProfileChange:
    """A profile that a bank was given.

    Attributes:
        number: number of the change within the bank, from 1; never reused.
        profile: the whole profile.
        effective_at: when it takes effect (aware UTC); never before an earlier change.
        recorded_at: when it was written (aware UTC).
        reason: the reason for the change, for people.
    """

    number: int
    profile: BankProfile
    effective_at: datetime
    recorded_at: datetime
    reason: str


def _check_text(text: object, name: str) -> None:
    if not isinstance(text, str):
        raise InvalidRequest(
            f"profile.{name}", f"it is {type(text).__name__}, not text", 'Pass a str; "" means none.'
        )


def _check_character(given: object) -> None:
    if not isinstance(given, Disposition | BigFive):
        raise InvalidRequest(
            "profile.disposition", f"it is {type(given).__name__}", "Pass a Disposition or a BigFive."
        )


def _level(given: object, name: str) -> int:
    """Validate an integer of the scale; 4.0 is accepted as 4."""
    if isinstance(given, int | float) and not isinstance(given, bool) and given in range(1, 6):
        return int(given)
    raise InvalidRequest(name, f"{shown(given)} is not between 1 and 5", "Use a whole number 1 to 5.")


def _share(given: object, name: str) -> float:
    if isinstance(given, int | float) and not isinstance(given, bool) and 0 <= given <= 1:
        return float(given)
    raise InvalidRequest(name, f"{shown(given)} is not in [0, 1]", "Use a number from 0 to 1.")
