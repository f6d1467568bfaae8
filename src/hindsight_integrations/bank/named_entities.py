"""Entities as callers name them: by id, or by a name only one entity has."""

from __future__ import annotations

from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.model.entities import Entity
from hindsight_integrations.ports.ledger import Ledger
from hindsight_integrations.text.names import normalise_name


def entity_named(ledger: Ledger, bank: str, name: str) -> Entity:
    """The entity of that id or name.

    Raises:
        InvalidRequest: there is none, or several have the name.
    """
    found = ledger.find_entities(bank, name) or ledger.find_entities(bank, normalise_name(name))
    if not found:
        raise InvalidRequest("entity", f"{name!r} is not known", "List them with entities().")
    if len(found) > 1:
        listed = ", ".join(f"{entity.name} ({entity.type}): {entity.id}" for entity in found[:5])
        raise InvalidRequest("entity", f"{name!r} stands for several: {listed}", "Pass an id.")
    return found[0]
