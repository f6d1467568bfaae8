"""Whether two facts say the same thing in other words, so that a source is counted once for it (decision 131). Pure."""

from __future__ import annotations

from hindsight_integrations.cara.opinions.facts import Fact
from hindsight_integrations.model.embedder import Thresholds
from hindsight_integrations.model.text import normalised_text
from hindsight_integrations.text.specifics import pinned_alike, told_apart

ALIKE = 0.25  # of the way from the semantic link to the duplicate: from there on texts say the same [decision 131]
PINNED = 0.0  # of it, where they share a number or a day as well [decision 131]


def restates(one: Fact, other: Fact, thresholds: Thresholds) -> bool:
    """Whether one fact says again what another says, whoever said it; symmetric.

    It leans towards yes: what counts once too often merged moves an opinion less than it should, what counts twice lets
    an agent be talked into its beliefs. What pins down other things is never the same, however alike it is worded.

    Args:
        one: a fact.
        other: another.
        thresholds: the embedder's.
    """
    if normalised_text(one.unit.text) == normalised_text(other.unit.text):
        return True
    if told_apart(one.specifics, other.specifics):
        return False
    share = PINNED if pinned_alike(one.specifics, other.specifics) else ALIKE
    needed = thresholds.semantic_link + share * (thresholds.duplicate - thresholds.semantic_link)
    return float(one.vector @ other.vector) >= needed
