"""The cost of a run's model calls: tokens by role, from the recordings of all calls, and money by the caller's prices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hindsight_integrations.testing.recordings import read_recording

MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a model for a million tokens.

    Attributes:
        tokens_in: the price of prompt tokens.
        tokens_out: the price of completion tokens.
    """

    tokens_in: float
    tokens_out: float


@dataclass(frozen=True, slots=True)
class Usage:
    """The calls of one role.

    Attributes:
        model: the model.
        calls: number of answered calls; one that was repeated after a kill counts once.
        tokens_in: prompt tokens reported by the model.
        tokens_out: completion tokens reported by the model.
        cost: the cost with the given price; None without a price.
    """

    model: str
    calls: int
    tokens_in: int
    tokens_out: int
    cost: float | None = None


def usage(calls: Path, models: Mapping[str, str], prices: Mapping[str, Price]) -> dict[str, Usage]:
    """Compute usage by role.

    Args:
        calls: folder of recordings, with one subfolder per role.
        models: models by role.
        prices: prices by model.
    """
    return {role: _of(calls / role, model, prices.get(model)) for role, model in models.items()}


def _of(folder: Path, model: str, price: Price | None) -> Usage:
    recordings = [read_recording(path) for path in sorted(folder.glob("*.json"))]
    answered = [one for one in recordings if one is not None and one.answer is not None]
    tokens_in, tokens_out = sum(one.tokens_in for one in answered), sum(one.tokens_out for one in answered)
    cost = None if price is None else (tokens_in * price.tokens_in + tokens_out * price.tokens_out) / MILLION
    return Usage(model, len(answered), tokens_in, tokens_out, cost)
