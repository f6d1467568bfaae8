"""Whether two facts say the same thing in other words, so that a source is counted once for it (decision 131). Pure."""

from __future__ import annotations

from hindsight_integrations.cara.opinions.facts import Fact
from hindsight_integrations.model.text import normalised_text


def restates(one: Fact, other: Fact, *, duplicate: float) -> bool:
    """Whether one fact says again what another says, whoever said it; symmetric.

    Args:
        one: a fact.
        other: another.
        duplicate: the embedder's cosine from which on two texts say the same.
    """
    if normalised_text(one.unit.text) == normalised_text(other.unit.text):
        return True
    return float(one.vector @ other.vector) >= duplicate
