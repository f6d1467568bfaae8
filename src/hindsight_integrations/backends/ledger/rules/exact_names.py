"""Which names are an entity's for certain, and which were only found alike (decision 095). Pure."""

from __future__ import annotations

from collections.abc import Sequence

from hindsight_integrations.backends.ledger.rules.entity_changes import LoggedChange
from hindsight_integrations.model.entities import EntityChangeKind
from hindsight_integrations.model.names import normalise_name


def exact_names(entity_id: str, name: str, log: Sequence[LoggedChange]) -> frozenset[str]:
    """The normalised name an entity goes by, and those that somebody gave it by hand.

    Every other name it answers to came by resolution, which takes names for one that look alike. An entity merged into it
    by hand brings what was certain of that entity then, and no more: who merged two may not have seen a third inside.

    Args:
        entity_id: whose names.
        name: what it is called.
        log: all changes by hand in the bank, oldest first.
    """
    exact = {normalise_name(name)}
    for place, change in enumerate(log):
        moved = change.moved
        if change.undone:
            continue
        if change.kind is EntityChangeKind.SPLIT and moved.other_id == entity_id:
            exact |= set(moved.names)
        elif moved.entity_id == entity_id and change.kind is EntityChangeKind.ALIAS:
            exact |= {*moved.names, *moved.other_names}
        elif moved.entity_id == entity_id and change.kind is EntityChangeKind.MERGE:
            exact |= exact_names(moved.other_id, moved.name, log[:place])
    return frozenset(exact)
