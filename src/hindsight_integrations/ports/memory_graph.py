"""MemoryGraph: who is connected to whom in one bank. It returns arrays; the formulas live in `tempr`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from hindsight_integrations.model.links import CausalRelation, LinkType
from hindsight_integrations.ports.arrays import FloatArray, IntArray
from hindsight_integrations.ports.watermark import Watermark

LINK_CODES: dict[tuple[LinkType, CausalRelation | None], int] = {
    (LinkType.TEMPORAL, None): 0,
    (LinkType.SEMANTIC, None): 1,
    (LinkType.CAUSAL, CausalRelation.CAUSES): 2,
    (LinkType.CAUSAL, CausalRelation.CAUSED_BY): 3,
    (LinkType.CAUSAL, CausalRelation.ENABLES): 4,
    (LinkType.CAUSAL, CausalRelation.PREVENTS): 5,
}
"""Small integers for (type, relation), as they stand in `Edges.codes`. Entity links follow from mentions (bipartite)."""


@dataclass(frozen=True, slots=True)
class Edges:
    """Links between units, as parallel arrays of length n.

    Attributes:
        sources: unit ids, int64.
        targets: unit ids, int64.
        codes: LINK_CODES values, int64.
        weights: in [0, 1], float32.
    """

    sources: IntArray
    targets: IntArray
    codes: IntArray
    weights: FloatArray


@dataclass(frozen=True, slots=True)
class Mentions:
    """(unit, entity) pairs, as parallel int64 arrays of length n."""

    units: IntArray
    entities: IntArray


class MemoryGraph(Protocol):
    """A projection of links and mentions. One object per bank; reads are safe from many threads; one writer."""

    @property
    def watermark(self) -> Watermark | None:
        """The commit this graph has reached; None when new."""
        ...

    def add(self, units: IntArray, edges: Edges, mentions: Mentions) -> None:
        """Add unit nodes, links and mentions; what is already there stays single. Idempotent.

        A link or mention naming a unit that is not there adds the node.
        """
        ...

    def remove(self, units: IntArray) -> None:
        """Remove units with all their links and mentions; unknown ids are ignored."""
        ...

    def advance(self, mark: Watermark) -> None:
        """Record that everything up to this commit has been applied."""
        ...

    def has(self, units: IntArray) -> list[bool]:
        """Whether each unit is a node."""
        ...

    def counts(self) -> tuple[int, int, int, int]:
        """Numbers of unit nodes, entity nodes, links and mentions."""
        ...

    def links(self, units: IntArray) -> Edges:
        """All links touching the given units, in both directions, each oriented away from the given unit.

        A causal link met from its target's side comes back with the inverse relation where there is one
        (causes <-> caused_by); enables and prevents keep their code. Order: by given unit, then target id, then code.
        """
        ...

    def entities_of(self, units: IntArray) -> Mentions:
        """The (unit, entity) pairs of the given units, ordered by given unit, then entity id."""
        ...

    def units_of(self, entities: IntArray) -> Mentions:
        """The (unit, entity) pairs of the given entities, ordered by given entity, then unit id."""
        ...

    def clear(self) -> None:
        """Drop everything, watermark included."""
        ...

    def close(self) -> None:
        """Release what it holds."""
        ...
