"""Who the agent behind a bank is: P = (n, Theta, h) of paper eq. 22."""

from __future__ import annotations

from dataclasses import dataclass, field

from hindsight_integrations.errors import InvalidRequest, shown

NEUTRAL = 3  # the middle of the 1..5 scale [paper section 5.2.1]


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
        for name in ("skepticism", "literalism", "empathy"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or value not in range(1, 6):
                raise InvalidRequest(
                    name, f"{shown(getattr(self, name))} is not between 1 and 5", "Use a whole number 1 to 5."
                )


@dataclass(frozen=True, slots=True)
class BankProfile:
    """The profile of a bank.

    Attributes:
        name: the agent's name; may be empty.
        background: a short first-person description.
        disposition: how it reasons.
        bias_strength: beta in [0, 1], how strongly the disposition shapes answers (paper eq. 21).
    """

    name: str = ""
    background: str = ""
    disposition: Disposition = field(default_factory=Disposition)
    bias_strength: float = 0.5

    def __post_init__(self) -> None:
        strength: object = self.bias_strength
        if not isinstance(strength, int | float) or not 0.0 <= strength <= 1.0:
            raise InvalidRequest(
                "bias_strength", f"{shown(self.bias_strength)} is not in [0, 1]", "Use a number from 0 to 1."
            )
