"""`bank.entities`: list, merge, split and alias entities. Every change can be undone."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from hindsight_integrations.bank.context import BankVerbs, writes
from hindsight_integrations.errors import InvalidRequest, shown
from hindsight_integrations.ledger.ledger import LedgerReader
from hindsight_integrations.ledger.values import EntitySplit
from hindsight_integrations.model.entities import Entity, EntityChange, EntitySummary
from hindsight_integrations.model.names import normalise_name
from hindsight_integrations.model.units import NAMESPACE
from hindsight_integrations.validation.limits import (
    checked_count,
    checked_id,
    checked_list,
    checked_text,
    checked_words,
)

MAX_NAME = 512  # maximum number of characters of an entity's name

Entities: TypeAlias = list[Entity]  # an alias, because `list` is a method of the class below
Changes: TypeAlias = list[EntityChange]


class AsyncEntities(BankVerbs):
    """The bank's entities."""

    namespace = "entities"

    async def list(self, prefix: str | None = None, *, limit: int = 100) -> Entities:
        """List entities with type, names and number of mentions, most mentioned first.

        Args:
            prefix: list only entities with a name that starts with this text, ignoring case.
            limit: maximum number of entities.

        Raises:
            InvalidRequest: the limit is out of range.
        """
        start = " ".join(checked_words("" if prefix is None else prefix, "prefix").casefold().split())
        most = checked_count(limit, "limit")
        services = self._context.services
        return await services.workers.read(services.ledger.entities.listed, self._context.name, start, most)

    async def observations(self, name: str) -> EntitySummary:
        """Get the observations, which summarise the facts about an entity, each with its source facts.

        `tasks.settle()` or a worker makes observations in the background and updates them when the facts change.

        Args:
            name: name or id of the entity.

        Raises:
            InvalidRequest: the entity is unknown, or its name is ambiguous.
        """
        return await self._context.services.workers.read(self._observations, name)

    @writes
    async def merge(self, keep: str, merge: str) -> EntityChange:
        """Merge two entities: all names and mentions of `merge` move to `keep`.

        Later retains resolve these names to `keep`. `undo` reverts the merge.

        Args:
            keep: name or id of the entity that remains.
            merge: name or id of the entity that is merged into `keep`.

        Raises:
            InvalidRequest: an entity is unknown, a name is ambiguous, both are the same entity, or the engine is read-only.
        """
        return await self._change(lambda: self._merge(keep, merge))

    @writes
    async def split(self, name: str, *, names: Sequence[str]) -> EntityChange:
        """Move some names of an entity, with the mentions that use them, to a new entity.

        Later retains keep the names apart. `undo` reverts the split.

        Args:
            name: name or id of the entity to split.
            names: the names to move; the first becomes the canonical name of the new entity.

        Raises:
            InvalidRequest: the entity is unknown, a name is not one of its names, no name would remain, or the engine is
                read-only.
        """
        return await self._change(lambda: self._split(name, names))

    @writes
    async def alias(self, name: str, alias: str) -> EntityChange:
        """Add a name to an entity; later mentions with that name resolve to it.

        Args:
            name: name or id of the entity.
            alias: the new name.

        Raises:
            InvalidRequest: the entity is unknown, another entity has the name (merge them instead), or the engine is
                read-only.
        """
        return await self._change(lambda: self._alias(name, alias))

    @writes
    async def undo(self, change_id: int) -> EntityChange:
        """Undo a merge, split or alias. Later changes of the same entities must be undone first.

        Args:
            change_id: the `id` of the change.

        Raises:
            InvalidRequest: there is no such change, it was already undone, a later change depends on it, or the engine is
                read-only.
        """
        ledger, bank = self._context.services.ledger, self._context.name
        number = checked_count(change_id, "change_id", least=0, most=2**63 - 1)
        return await self._change(lambda: ledger.entities.undo(bank, number))

    async def changes(self) -> Changes:
        """List every merge, split and alias, oldest first, including undone ones."""
        services = self._context.services
        return await services.workers.read(services.ledger.entities.changes, self._context.name)

    def _observations(self, name: str) -> EntitySummary:
        bank, ledger = self._context.name, self._context.services.ledger
        with ledger.snapshot(bank) as snapshot:
            entity = entity_named(snapshot, bank, name)
            observed = snapshot.observations.get(bank, [entity.id])[entity.id]
            rows = np.array(sorted(snapshot.units.row_ids(bank, observed.units).values()), np.int64)
            units, grounds = snapshot.units.get(bank, rows), snapshot.observations.grounds_of(bank, rows)
        return EntitySummary(
            entity=entity,
            observations=tuple(units.values()),
            facts={unit.id: grounds.get(row, ()) for row, unit in units.items()},
            left_out=observed.left_out,
            stale=observed.stale,
        )

    async def _change(self, change: Callable[[], EntityChange]) -> EntityChange:
        def changed() -> EntityChange:
            made = change()
            self._context.catch_up()
            return made

        return await self._context.services.workers.write(changed)

    def _merge(self, keep: str, merge: str) -> EntityChange:
        bank, services = self._context, self._context.services
        kept, merged = (entity_named(services.ledger, bank.name, name).id for name in (keep, merge))
        if kept == merged:
            raise InvalidRequest(
                "merge", f"{shown(keep)} and {shown(merge)} are the same entity", "Name two entities."
            )
        return services.ledger.entities.merge(bank.name, kept, merged, services.clock.now())

    def _split(self, name: str, names: Sequence[str]) -> EntityChange:
        bank, services = self._context, self._context.services
        entity = entity_named(services.ledger, bank.name, name)
        wanted = checked_names(names)
        if not set(wanted) < set(entity.names):
            raise InvalidRequest(
                "names",
                f"{[*wanted]} must be a proper subset of the entity's names {[*entity.names]}",
                "Name some of them, but not all.",
            )
        texts = services.ledger.entities.mention_texts(bank.name, entity.id)
        units = tuple(unit for unit, text in texts if normalise_name(text) in wanted)
        # Not derived from the name alone, because another entity may have the same name and type.
        seed = "\x1e".join(("split", bank.name, entity.id, *wanted))
        split = EntitySplit(entity.id, str(uuid.uuid5(NAMESPACE, seed)), names[0].strip(), wanted, units)
        return services.ledger.entities.split(bank.name, split, services.clock.now())

    def _alias(self, name: str, alias: str) -> EntityChange:
        bank, services = self._context, self._context.services
        entity, wanted = entity_named(services.ledger, bank.name, name), _normalised(alias)
        others = [
            found for found in services.ledger.entities.find(bank.name, wanted) if found.id != entity.id
        ]
        if others:
            raise InvalidRequest(
                "alias",
                f"{shown(alias)} is already a name of entity {others[0].id}",
                "Merge the two entities with entities.merge.",
            )
        return services.ledger.entities.alias(bank.name, entity.id, [wanted], services.clock.now())


def entities_named(ledger: LedgerReader, bank: str, name: str) -> list[Entity]:
    """Return the entity with this id, or all entities with this name.

    Raises:
        InvalidRequest: the value is not a valid id or name.
    """
    checked_text(name, "entity", MAX_NAME)
    checked_id(name, "entity")
    return ledger.entities.find(bank, name) or ledger.entities.find(bank, normalise_name(name))


def entity_named(ledger: LedgerReader, bank: str, name: str) -> Entity:
    """Return the entity with this id, or the only entity with this name.

    Raises:
        InvalidRequest: no entity or several entities match.
    """
    found = entities_named(ledger, bank, name)
    if not found:
        raise InvalidRequest("entity", f"{shown(name)} is not known", "List them with entities.list().")
    if len(found) > 1:
        listed = ", ".join(f"{entity.name} ({entity.type}): {entity.id}" for entity in found[:5])
        raise InvalidRequest("entity", f"{shown(name)} is ambiguous: {listed}", "Pass an id.")
    return found[0]


def checked_names(names: object) -> tuple[str, ...]:
    """Validate a list of names; return them normalised, in order, without duplicates, at least one.

    Raises:
        InvalidRequest: the value is not a list of names, or the list is empty.
    """
    found = tuple(dict.fromkeys(_normalised(each) for each in checked_list(names, "names")))
    if not found:
        raise InvalidRequest("names", "it is empty", "Pass at least one name, or omit `names`.")
    return found


def _normalised(name: object) -> str:
    normalised = normalise_name(checked_text(name, "name", MAX_NAME))
    if not normalised:
        raise InvalidRequest("name", f"{shown(name)} has no letters", "Pass a name.")
    return normalised
