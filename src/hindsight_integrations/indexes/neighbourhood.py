"""The part of the memory graph nearest to given memories or entities, found breadth first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hindsight_integrations.indexes.bank_view import BankView
from hindsight_integrations.indexes.held_opinions import as_held
from hindsight_integrations.indexes.protocols import MemoryGraph
from hindsight_integrations.model.arrays import IntArray
from hindsight_integrations.model.entities import Entity
from hindsight_integrations.model.links import LINK_CODES, Edges, Link, Mentions, Neighbourhood
from hindsight_integrations.model.units import MemoryUnit, UnitKind

_LINK_OF = {code: link for link, code in LINK_CODES.items()}
_NONE = np.empty(0, np.int64)


def neighbourhood(view: BankView, units: Sequence[str], entities: Sequence[str], limit: int) -> Neighbourhood:
    """Return the part of the graph nearest to these memories and entities (by id), with at most `limit` of both.

    Among equally near ones, memories with a link come first, the strongest link first. Then come entities, and then the
    other memories that mention a common entity, newest first. The latter fill at most half of the remaining room, so
    that an entity with many memories leaves room for more distant memories.
    """
    ledger, bank = view.ledger, view.bank
    first_units = np.array(sorted(ledger.units.row_ids(bank, units).values()), np.int64)
    first_entities = np.array(sorted(ledger.entities.row_ids(bank, entities).values()), np.int64)
    with ledger.snapshot(bank) as snapshot:
        unit_rows, entity_rows, complete = _nearest(view.graph, first_units, first_entities, limit)
        stored = as_held(snapshot.units.get(bank, unit_rows), snapshot, bank)
        kept = {row: unit for row, unit in stored.items() if unit.kind is not UnitKind.ITEM}
        ids = np.array(list(kept), np.int64)
        named = {
            entity.id: entity for some in snapshot.entities.of_units(bank, ids).values() for entity in some
        }
        # An entity that no chosen memory mentions was given by the caller.
        named |= {entity.id: entity for name in entities for entity in snapshot.entities.find(bank, name)}
        places = {row: name for name, row in snapshot.entities.row_ids(bank, list(named)).items()}
    chosen = [named[places[row]] for row in entity_rows.tolist() if row in places]
    return Neighbourhood(
        units=tuple(kept.values()),
        entities=tuple(chosen),
        links=_links(view.graph.links(ids), kept),
        mentions=_mentions(view.graph.entities_of(ids), kept, places, chosen),
        complete=complete,
    )


def _nearest(
    graph: MemoryGraph, units: IntArray, entities: IntArray, limit: int
) -> tuple[IntArray, IntArray, bool]:
    """Return the row ids of the nearest units and entities, and whether these are all that can be reached."""
    chosen_units, chosen_entities = units[:limit], entities[:limit]
    complete = True
    while len(units) or len(entities):
        edges = graph.links(units)
        strongest = edges.targets[np.argsort(-edges.weights, kind="stable")]
        linked = _new(strongest, chosen_units)
        mentioned = _new(graph.entities_of(units).entities, chosen_entities)
        mentioning = np.sort(_new(graph.units_of(entities).units, np.concatenate([chosen_units, linked])))[
            ::-1
        ]
        room = limit - len(chosen_units) - len(chosen_entities)
        fits = linked[:room], mentioned[: max(room - len(linked), 0)]
        left = room - len(fits[0]) - len(fits[1])
        others = mentioning[: (left + 1) // 2]
        units, entities = np.concatenate([fits[0], others]), fits[1]
        chosen_units = np.concatenate([chosen_units, units])
        chosen_entities = np.concatenate([chosen_entities, entities])
        complete &= len(units) + len(entities) == len(linked) + len(mentioned) + len(mentioning)
    return chosen_units, chosen_entities, complete


def _new(rows: IntArray, known: IntArray) -> IntArray:
    """Return the distinct rows that are not known yet, in the given order."""
    first = np.sort(np.unique(rows, return_index=True)[1])
    distinct = rows[first]
    fresh: IntArray = distinct[~np.isin(distinct, known)]
    return fresh


def _links(edges: Edges, units: dict[int, MemoryUnit]) -> tuple[Link, ...]:
    """Return the links between the units, each once; `edges` has each of them from both ends."""
    rows = np.array(list(units), np.int64)
    inside = np.isin(edges.targets, rows) & (edges.sources < edges.targets)
    order = np.flatnonzero(inside)
    order = order[np.argsort(-edges.weights[order], kind="stable")]
    links = []
    for at in order.tolist():
        kind, relation = _LINK_OF[int(edges.codes[at])]
        source, target = units[int(edges.sources[at])].id, units[int(edges.targets[at])].id
        links.append(Link(source, target, kind, float(edges.weights[at]), relation))
    return tuple(links)


def _mentions(
    pairs: Mentions, units: dict[int, MemoryUnit], places: dict[int, str], chosen: Sequence[Entity]
) -> tuple[tuple[str, str], ...]:
    shown = {entity.id for entity in chosen}
    return tuple(
        (units[unit].id, places[entity])
        for unit, entity in zip(pairs.units.tolist(), pairs.entities.tolist(), strict=True)
        if unit in units and places.get(entity) in shown
    )
