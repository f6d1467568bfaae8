"""The profile of the agent behind a bank: P = (n, Theta, h) of paper eq. 22, and its changes."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import TypeAlias

from hindsight_integrations.errors import InvalidRequest, shown

NEUTRAL = 3  # the middle of the scale from 1 to 5 [paper section 5.2.1]
MIDDLE = 0.5  # the middle of a Big Five trait and of the bias strength [earlier paper 6.1]


@dataclass(frozen=True, slots=True)
class Disposition:
    """The agent's reasoning style: Theta without beta (paper eq. 18-20).

    Attributes:
        skepticism: a level from 1 (trusting) to 5 (skeptical).
        literalism: a level from 1 (flexible) to 5 (literal).
        empathy: a level from 1 (detached) to 5 (empathetic).
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
        openness: a share from 0 (proven methods) to 1 (novel approaches).
        conscientiousness: a share from 0 (flexible and intuitive) to 1 (systematic).
        extraversion: a share from 0 (measured) to 1 (outgoing).
        agreeableness: a share from 0 (accuracy over harmony) to 1 (consensus).
        neuroticism: a share from 0 (calm) to 1 (attentive to risks).
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
        disposition: the reasoning style, as a Disposition or a BigFive.
        bias_strength: the influence beta of the disposition on answers, in [0, 1] (paper eq. 21).
    """

    name: str = ""
    background: str = ""
    disposition: Character = field(default_factory=Disposition)
    bias_strength: float = MIDDLE

    def __post_init__(self) -> None:
        texts: dict[str, object] = {"name": self.name, "background": self.background}
        for name, text in texts.items():
            if not isinstance(text, str):
                reason = f"must be a string, not {type(text).__name__}"
                raise InvalidRequest(f"profile.{name}", reason, 'Pass a str; "" means none.')
        character: object = self.disposition
        if not isinstance(character, Disposition | BigFive):
            raise InvalidRequest(
                "profile.disposition",
                f"{type(character).__name__} is not a disposition",
                "Pass a Disposition or a BigFive.",
            )
        object.__setattr__(self, "bias_strength", _share(self.bias_strength, "bias_strength"))


@dataclass(frozen=True, slots=True)
class ProfileChange:
    """One change of a bank's profile.

    Attributes:
        number: the number of the change within the bank, from 1; never reused.
        profile: the new profile.
        effective_at: the time at which it takes effect (aware UTC); not before that of an earlier change.
        recorded_at: the time at which it was written (aware UTC).
        reason: the reason for the change, in human-readable form.
    """

    number: int
    profile: BankProfile
    effective_at: datetime
    recorded_at: datetime
    reason: str


def _level(given: object, name: str) -> int:
    """Validate a level from 1 to 5; 4.0 is accepted as 4."""
    if isinstance(given, int | float) and not isinstance(given, bool) and given in range(1, 6):
        return int(given)
    raise InvalidRequest(name, f"{shown(given)} is not between 1 and 5", "Use a whole number from 1 to 5.")


def _share(given: object, name: str) -> float:
    if isinstance(given, int | float) and not isinstance(given, bool) and 0 <= given <= 1:
        return float(given)
    raise InvalidRequest(name, f"{shown(given)} is not in [0, 1]", "Use a number from 0 to 1.")
