"""The memory graph, over one rustworkx.PyDiGraph.

Units and entities are nodes. A mention is an edge from a unit to an entity, since links between all units of an
entity would be too many. A link is an edge from its source to its target. An edge's payload is one of 1,792
shared integers, link code * 256 + round(255 * weight), so that an edge needs no Python object of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from threading import Lock

import numpy as np
import rustworkx as rx

from hindsight_integrations.model.arrays import BoolArray, FloatArray, IntArray
from hindsight_integrations.model.links import LINK_CODES, CausalRelation, Edges, LinkType, Mentions
from hindsight_integrations.model.watermark import Watermark

FIRST_CAPACITY = 64  # initial rows of the buffers, so that a small bank allocates them only once

ABSENT = -1


class NodeIds:
    """A map from row ids to nodes, sorted by id. Appending ascending ids takes amortised constant time."""

    def __init__(self) -> None:
        self._ids, self._nodes = np.empty((2, FIRST_CAPACITY), np.int64)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def ids(self) -> IntArray:
        """All row ids, ascending."""
        return self._ids[: self._count]

    def nodes(self, ids: IntArray) -> IntArray:
        """Return the node of each id, (n,); ABSENT for unknown ids."""
        if not self._count:
            return np.full(len(ids), ABSENT, np.int64)
        held = self.ids
        at = np.minimum(np.searchsorted(held, ids), self._count - 1)
        return np.where(held[at] == ids, self._nodes[at], ABSENT)

    def add(self, ids: IntArray, nodes: IntArray) -> None:
        """Add ids (ascending, all of them new) and their nodes."""
        total = self._count + len(ids)
        if not len(ids):
            return
        if self._count and ids[0] < self._ids[self._count - 1]:
            at = np.searchsorted(self.ids, ids)
            nodes = np.insert(self._nodes[: self._count], at, nodes)
            ids = np.insert(self.ids, at, ids)
            self._count = 0
        if total > len(self._ids):
            self._ids, self._nodes = (
                np.concatenate([store[: self._count], np.empty(2 * total - self._count, np.int64)])
                for store in (self._ids, self._nodes)
            )
        self._ids[self._count : total], self._nodes[self._count : total] = ids, nodes
        self._count = total

    def drop(self, ids: IntArray) -> None:
        """Remove ids; unknown ones are ignored."""
        keep: BoolArray = ~np.isin(self.ids, ids)
        self._ids, self._nodes = self.ids[keep], self._nodes[: self._count][keep]
        self._count = len(self._ids)


LEVELS = 255  # number of steps to which weights are rounded: 2M edges take 120 instead of 376 MB
MENTION = len(LINK_CODES)  # code of a mention, after the codes of links
BATCH = 8_192  # edges passed to rustworkx at once; bounds the Python integers alive during a bulk load

_CODE_STEP = LEVELS + 1
_PAYLOADS = np.arange((MENTION + 1) * _CODE_STEP).astype(object)
_NODE_BITS, _CODE_BITS = (
    30,
    3,
)  # bits of node and code in an edge key, which packs (source, target, code) into one int64


# For each link code, the code seen from the other end: causes <-> caused_by, the others unchanged.
_CAUSAL_PAIR = [
    LINK_CODES[LinkType.CAUSAL, relation] for relation in (CausalRelation.CAUSES, CausalRelation.CAUSED_BY)
]
_INVERSE = np.arange(len(LINK_CODES), dtype=np.int64)
_INVERSE[_CAUSAL_PAIR] = _CAUSAL_PAIR[::-1]


def _payloads_of(codes: IntArray, weights: FloatArray) -> IntArray:
    """Return the payloads of links: code * 256 + round(255 * weight)."""
    levels = np.rint(np.clip(weights, 0.0, 1.0).astype(np.float64) * LEVELS).astype(np.int64)
    return codes * _CODE_STEP + levels


def _edge_keys(rows: IntArray) -> IntArray:
    """Pack source node, target node and code of (n, 3) rows into (n,) integers, which identify the edges."""
    sources, targets, codes = rows[:, 0], rows[:, 1], rows[:, 2] // _CODE_STEP
    return (sources << (_NODE_BITS + _CODE_BITS)) | (targets << _CODE_BITS) | codes


def _rows(edges_of: Callable[[int], Iterable[tuple[int, int, int]]], nodes: Iterable[int]) -> IntArray:
    """Return (source node, target node, payload) of each edge of `nodes`, (n, 3) int64."""
    flat: Iterator[int] = chain.from_iterable(chain.from_iterable(map(edges_of, nodes)))
    return np.fromiter(flat, np.int64).reshape(-1, 3)


def _present(known: NodeIds, ids: IntArray) -> list[int]:
    """Return the nodes of the known ids, by ascending id, without duplicates."""
    nodes = known.nodes(np.unique(ids))
    found: list[int] = nodes[nodes != ABSENT].tolist()
    return found


def _distinct(rows: IntArray) -> IntArray:
    """Drop repeated edges from (n, 3) rows, keeping the first of each."""
    keys = _edge_keys(rows)
    if bool(np.all(keys[1:] > keys[:-1])):
        return rows
    return rows[np.sort(np.unique(keys, return_index=True)[1])]


class RustworkxMemoryGraph:
    """An in-memory graph, filled from the ledger.

    Each call holds a lock while it uses the graph, since rustworkx forbids reading during writes.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._reset()

    def _reset(self) -> None:
        self._graph = rx.PyDiGraph()
        self._units, self._entities = NodeIds(), NodeIds()
        self._names = np.empty(0, np.int64)  # ledger row id of each node
        self._mention_count = 0
        self._units_by_entity: dict[int, IntArray] = {}
        self._watermark: Watermark | None = None

    @property
    def watermark(self) -> Watermark | None:
        """The commit this graph has reached; None when new."""
        return self._watermark

    def advance(self, mark: Watermark) -> None:
        """Record that everything up to this commit has been applied."""
        self._watermark = mark

    def add(self, units: IntArray, edges: Edges, mentions: Mentions) -> None:
        """Add unit nodes, links and mentions; existing ones are not repeated and keep their weight. Repeating a call changes nothing."""
        payloads = _payloads_of(edges.codes, edges.weights)
        with self._lock:
            fresh = self._intern(self._units, units)
            for ids in (edges.sources, edges.targets, mentions.units):
                missing = ids[self._units.nodes(ids) == ABSENT]
                fresh = np.concatenate([fresh, self._intern(self._units, missing)])
            self._intern(self._entities, mentions.entities)
            self._connect(self._as_rows(self._units, edges.sources, edges.targets, payloads), fresh)
            mention = np.full(len(mentions.units), MENTION * _CODE_STEP, np.int64)
            mentioned = self._as_rows(self._entities, mentions.units, mentions.entities, mention)
            self._mention_count += self._connect(mentioned, fresh)
            self._forget_units_of(mentioned[:, 1])

    def _intern(self, known: NodeIds, ids: IntArray) -> IntArray:
        """Create a node for each new id; return the new nodes."""
        ids = np.unique(ids)
        fresh = ids[known.nodes(ids) == ABSENT]
        nodes = np.asarray(self._graph.add_nodes_from([None] * len(fresh)), dtype=np.int64)
        known.add(fresh, nodes)
        if len(nodes) and (needed := int(nodes.max()) + 1) > len(self._names):
            grown = np.zeros(max(needed, len(self._names) * 5 // 4), np.int64)
            grown[: len(self._names)] = self._names
            self._names = grown
        self._names[nodes] = fresh
        return nodes

    def _as_rows(
        self, targets_known: NodeIds, sources: IntArray, targets: IntArray, payloads: IntArray
    ) -> IntArray:
        """Build rows of (source node, target node, payload) from ledger ids; the sources are units."""
        return np.column_stack([self._units.nodes(sources), targets_known.nodes(targets), payloads])

    def _connect(self, rows: IntArray, fresh: IntArray) -> int:
        """Add new edges and return their number; `fresh` nodes have no outgoing edges yet."""
        rows = _distinct(rows)
        older = np.setdiff1d(rows[:, 0], fresh)
        if len(older):
            there = _edge_keys(_rows(self._graph.out_edges, older.tolist()))
            rows = rows[~np.isin(_edge_keys(rows), there)]
        for start in range(0, len(rows), BATCH):
            sources, targets, numbers = rows[start : start + BATCH].T
            shared = _PAYLOADS[numbers].tolist()
            # `zip` on iterators reuses its tuple instead of creating millions.
            self._graph.add_edges_from(zip(sources.tolist(), targets.tolist(), shared, strict=True))
        return len(rows)

    def remove(self, units: IntArray) -> None:
        """Remove units with their links and mentions, and entities that are no longer mentioned."""
        with self._lock:
            nodes = _present(self._units, units)
            rows = self._mention_rows(nodes)
            self._drop(self._units, nodes)
            self._mention_count -= len(rows)
            self._forget_units_of(rows[:, 1])
            touched = np.unique(rows[:, 1]).tolist()
            self._drop(self._entities, [node for node in touched if not self._graph.in_degree(node)])

    def _drop(self, known: NodeIds, nodes: list[int]) -> None:
        self._graph.remove_nodes_from(nodes)
        known.drop(self._names[nodes])

    def _mention_rows(self, nodes: Iterable[int]) -> IntArray:
        leaving = _rows(self._graph.out_edges, nodes)
        mentions: IntArray = leaving[leaving[:, 2] // _CODE_STEP == MENTION]
        return mentions

    def counts(self) -> tuple[int, int, int, int]:
        """Return the numbers of unit nodes, entity nodes, links and mentions."""
        with self._lock:
            links = int(self._graph.num_edges()) - self._mention_count
            return len(self._units), len(self._entities), links, self._mention_count

    def links(self, units: IntArray) -> Edges:
        """Return all links touching the units, oriented away from them; see the protocol for the order."""
        with self._lock:
            nodes = _present(self._units, units)
            leaving = _rows(self._graph.out_edges, nodes)
            arriving = _rows(self._graph.in_edges, nodes)
            leaving[:, :2] = self._names[leaving[:, :2]]
            arriving[:, :2] = self._names[arriving[:, :2]]
        leaving = leaving[leaving[:, 2] // _CODE_STEP != MENTION]
        arriving = arriving[
            arriving[:, 0] != arriving[:, 1]
        ]  # a link from a unit to itself is already among the outgoing edges
        codes = np.concatenate([leaving[:, 2] // _CODE_STEP, _INVERSE[arriving[:, 2] // _CODE_STEP]])
        ends = np.concatenate([leaving[:, :2], arriving[:, 1::-1]])
        levels = np.concatenate([leaving[:, 2], arriving[:, 2]]) % _CODE_STEP
        order = np.lexsort((-levels, codes, ends[:, 1], ends[:, 0]))
        weights = (levels[order] / LEVELS).astype(np.float32)
        return Edges(ends[order, 0], ends[order, 1], codes[order], weights)

    def entities_of(self, units: IntArray) -> Mentions:
        """Return the (unit, entity) pairs of the units, ordered by unit, then entity id."""
        with self._lock:
            pairs = self._names[self._mention_rows(_present(self._units, units))[:, :2]]
        order = np.lexsort((pairs[:, 1], pairs[:, 0]))
        return Mentions(pairs[order, 0], pairs[order, 1])

    def units_of(self, entities: IntArray) -> Mentions:
        """Return the (unit, entity) pairs of the entities, ordered by entity, then unit id."""
        with self._lock:
            nodes = _present(self._entities, entities)
            lists = [self._units_of_node(node) for node in nodes]
            names = self._names[nodes]
        lengths = [len(units) for units in lists]
        units = np.concatenate(lists) if lists else np.empty(0, np.int64)
        return Mentions(units, np.repeat(names, lengths))

    def _units_of_node(self, node: int) -> IntArray:
        """Return the units that mention an entity, ascending; cached until its mentions change.

        Reading them from rustworkx takes 0.16 us per mention, and many questions use the same entities.
        """
        units = self._units_by_entity.get(node)
        if units is None:
            units = np.sort(self._names[np.asarray(self._graph.predecessor_indices(node))])
            self._units_by_entity[node] = units
        return units

    def _forget_units_of(self, nodes: IntArray) -> None:
        if self._units_by_entity:
            for node in nodes.tolist():
                self._units_by_entity.pop(node, None)

    def clear(self) -> None:
        """Remove everything, including the watermark."""
        with self._lock:
            self._reset()

    def close(self) -> None:
        """Release the graph's memory."""
        self.clear()
