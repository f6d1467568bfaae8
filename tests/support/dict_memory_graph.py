"""A MemoryGraph with dicts and sets, simple enough to define what a memory graph returns."""

from __future__ import annotations

import threading

import numpy as np

from hindsight_integrations.model.arrays import IntArray
from hindsight_integrations.model.links import LINK_CODES, CausalRelation, Edges, LinkType, Mentions
from hindsight_integrations.model.watermark import Watermark

_CAUSES = LINK_CODES[LinkType.CAUSAL, CausalRelation.CAUSES]
_CAUSED_BY = LINK_CODES[LinkType.CAUSAL, CausalRelation.CAUSED_BY]
_INVERSE = {_CAUSES: _CAUSED_BY, _CAUSED_BY: _CAUSES}

_Edge = tuple[int, int, int]


class DictMemoryGraph:
    """MemoryGraph in plain Python. Entities without mentions are not nodes."""

    def __init__(self) -> None:
        self._weights: dict[_Edge, float] = {}
        self._touching: dict[int, set[_Edge]] = {}
        self._entities: dict[int, set[int]] = {}
        self._units: dict[int, set[int]] = {}
        self._watermark: Watermark | None = None
        self._lock = threading.RLock()

    @property
    def watermark(self) -> Watermark | None:
        """The commit this graph has reached; None when new."""
        return self._watermark

    def add(self, units: IntArray, edges: Edges, mentions: Mentions) -> None:
        """Add unit nodes, links and mentions; existing ones are not repeated and keep their weight."""
        with self._lock:
            for unit in units.tolist():
                self._node(unit)
            keys = zip(edges.sources.tolist(), edges.targets.tolist(), edges.codes.tolist(), strict=True)
            for edge, weight in zip(keys, edges.weights.tolist(), strict=True):
                self._weights.setdefault(edge, weight)
                for unit in edge[:2]:
                    self._node(unit)
                    self._touching[unit].add(edge)
            for unit, entity in zip(mentions.units.tolist(), mentions.entities.tolist(), strict=True):
                self._node(unit)
                self._entities[unit].add(entity)
                self._units.setdefault(entity, set()).add(unit)

    def remove(self, units: IntArray) -> None:
        """Remove units with all their links and mentions; unknown ids are ignored."""
        with self._lock:
            for unit in units.tolist():
                for edge in self._touching.pop(unit, set()):
                    self._weights.pop(edge, None)
                    for end in edge[:2]:
                        self._touching.get(end, set()).discard(edge)
                for entity in self._entities.pop(unit, set()):
                    self._units[entity].discard(unit)
                    if not self._units[entity]:
                        del self._units[entity]

    def advance(self, mark: Watermark) -> None:
        """Record that everything up to this commit has been applied."""
        self._watermark = mark

    def counts(self) -> tuple[int, int, int, int]:
        """Numbers of unit nodes, entity nodes, links and mentions."""
        with self._lock:
            mentions = sum(len(entities) for entities in self._entities.values())
            return len(self._touching), len(self._units), len(self._weights), mentions

    def links(self, units: IntArray) -> Edges:
        """All links touching the given units, each oriented away from the given unit, causal ones inverted."""
        with self._lock:
            rows = sorted(
                (*_seen_from(unit, edge), -self._weights[edge])
                for unit in set(units.tolist())
                for edge in self._touching.get(unit, ())
            )
        table = np.array([row[:3] for row in rows], np.int64).reshape(-1, 3)
        weights = np.array([-row[3] for row in rows], np.float32)
        return Edges(table[:, 0].copy(), table[:, 1].copy(), table[:, 2].copy(), weights)

    def entities_of(self, units: IntArray) -> Mentions:
        """The (unit, entity) pairs of the given units, ordered by given unit, then entity id."""
        given, entities = self._pairs(self._entities, units)
        return Mentions(given, entities)

    def units_of(self, entities: IntArray) -> Mentions:
        """The (unit, entity) pairs of the given entities, ordered by given entity, then unit id."""
        given, units = self._pairs(self._units, entities)
        return Mentions(units, given)

    def clear(self) -> None:
        """Remove everything, including the watermark."""
        with self._lock:
            for held in (self._weights, self._touching, self._entities, self._units):
                held.clear()
            self._watermark = None

    def close(self) -> None:
        """Do nothing."""

    def _node(self, unit: int) -> None:
        self._touching.setdefault(unit, set())
        self._entities.setdefault(unit, set())

    def _pairs(self, table: dict[int, set[int]], keys: IntArray) -> tuple[IntArray, IntArray]:
        """(key, value) for all values of the given keys, both ascending."""
        with self._lock:
            pairs = sorted((key, value) for key in set(keys.tolist()) for value in table.get(key, ()))
        both = np.array(pairs, np.int64).reshape(-1, 2)
        return both[:, 0].copy(), both[:, 1].copy()


def _seen_from(unit: int, edge: _Edge) -> _Edge:
    """The edge seen from one of its ends: (this end, other end, code), inverted if seen from the target."""
    source, target, code = edge
    return edge if unit == source else (target, source, _INVERSE.get(code, code))
