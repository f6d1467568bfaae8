"""Whom or what the model of a reflection means by a name: only what the memories it may use mention."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hindsight_integrations.bank.entities import entities_named
from hindsight_integrations.errors import InvalidRequest, shown
from hindsight_integrations.model.entities import Entity
from hindsight_integrations.model.names import normalise_name
from hindsight_integrations.ports.arrays import BoolArray, IntArray
from hindsight_integrations.search.bank_view import BankView

CANDIDATES = 20  # looked at for a name that is not known
MOST_NAMED = 5  # told of them


@dataclass(frozen=True, slots=True)
class Mentioned:
    """An entity and the memories that may be used and mention it.

    Attributes:
        id: the entity's.
        units: ids of the memories.
    """

    id: str
    units: frozenset[str]


def mentioned(view: BankView, name: str, usable: BoolArray) -> Mentioned:
    """The entity of that id, or the only one of that name, that memories which may be used mention.

    Args:
        view: the bank.
        name: as the model wrote it.
        usable: which memories may be used, over the positions of the view's columns.

    Raises:
        InvalidRequest: there is none, or several have the name; it tells names like it.
    """
    found = [
        (entity, units)
        for entity in entities_named(view.ledger, view.bank, name)
        if (units := _usable_mentions(view, entity, usable))
    ]
    if not found:
        near = _names_like(view, name, usable)
        remedy = f"Names like it: {', '.join(near)}." if near else "Use recall to see how memories name it."
        raise InvalidRequest("entity", f"no memory mentions {shown(name)}", remedy)
    if len(found) > 1:
        listed = ", ".join(f"{entity.name} ({entity.type}): {entity.id}" for entity, _ in found[:MOST_NAMED])
        raise InvalidRequest("entity", f"{shown(name)} stands for several: {listed}", "Pass an id.")
    ((entity, units),) = found
    return Mentioned(entity.id, units)


def _names_like(view: BankView, name: str, usable: BoolArray) -> list[str]:
    normal = normalise_name(name)
    near = view.ledger.entity_candidates(view.bank, [normal], CANDIDATES).get(normal, [])
    return [entity.name for entity in near if _usable_mentions(view, entity, usable)][:MOST_NAMED]


def _usable_mentions(view: BankView, entity: Entity, usable: BoolArray) -> frozenset[str]:
    """Ids of the memories that may be used and mention an entity."""
    written = view.ledger.mention_texts(view.bank, entity.id)
    rows: Mapping[str, int] = view.ledger.row_ids(view.bank, [unit for unit, _ in written])
    ids: IntArray = np.fromiter(rows.values(), np.int64, len(rows))
    allowed = view.columns.allowed(ids, usable).tolist()
    return frozenset(unit for unit, may in zip(rows, allowed, strict=True) if may)
