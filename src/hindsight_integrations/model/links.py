"""Links between memory units (paper section 4.1.4)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class LinkType(StrEnum):
    """The four edge types of the memory graph."""

    TEMPORAL = "temporal"
    SEMANTIC = "semantic"
    ENTITY = "entity"
    CAUSAL = "causal"


class CausalRelation(StrEnum):
    """How one fact bears on another (paper section 4.1.4, item 3)."""

    CAUSES = "causes"
    CAUSED_BY = "caused_by"
    ENABLES = "enables"
    PREVENTS = "prevents"


@dataclass(frozen=True, slots=True)
class Link:
    """A weighted edge between two units, by unit id. Entity links are not stored: they follow from mentions.

    Attributes:
        source: id of the unit it starts at.
        target: id of the unit it ends at.
        type: TEMPORAL, SEMANTIC or CAUSAL.
        weight: in [0, 1].
        relation: for causal links, which relation source has to target.
    """

    source: str
    target: str
    type: LinkType
    weight: float
    relation: CausalRelation | None = None
