"""Entities by hand: list, merge, split, alias, and undo (design section 6)."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence

from hindsight_integrations.bank.core import BankCore
from hindsight_integrations.bank.named_entities import entity_named
from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.model.entities import Entity, EntityChange
from hindsight_integrations.ports.entity_editing import EntitySplit
from hindsight_integrations.tempr.retain.drafts import NAMESPACE
from hindsight_integrations.text.names import normalise_name
from hindsight_integrations.validation.limits import checked_count, checked_text

MAX_NAME = 512  # characters of an entity's name


class EntityVerbs(BankCore):
    """The verbs that correct who is who."""

    async def entities(self, prefix: str | None = None, *, limit: int = 100) -> list[Entity]:
        """Entities of the bank with type, names and mention counts, the most mentioned first.

        Args:
            prefix: only those with a name that starts so, in any case.
            limit: at most this many.

        Raises:
            InvalidRequest: the limit is out of range.
        """
        start = " ".join((prefix or "").casefold().split())
        most = checked_count(limit, "limit")
        return await self._tools.workers.read(self._tools.ledger.list_entities, self._name, start, most)

    async def merge_entities(self, keep: str, merge: str) -> EntityChange:
        """Make two entities one: `keep` takes over all names and mentions of `merge`.

        Later retains resolve the names to it. `undo_entity_change` undoes it.

        Args:
            keep: name or id of the entity that stays.
            merge: name or id of the one that goes.

        Raises:
            InvalidRequest: one is unknown or its name ambiguous, or both are the same.
        """
        return await self._change("merge_entities", lambda: self._merge(keep, merge))

    async def split_entity(self, name: str, *, names: Sequence[str]) -> EntityChange:
        """Make an entity of its own of some of an entity's names, with the mentions written so.

        Later retains keep the names apart. `undo_entity_change` undoes it.

        Args:
            name: name or id of the entity to split.
            names: names of it that become the new one's; the first is its canonical name.

        Raises:
            InvalidRequest: the entity is unknown, a name is not its own, or none would be left to it.
        """
        return await self._change("split_entity", lambda: self._split(name, names))

    async def alias(self, name: str, alias: str) -> EntityChange:
        """Give an entity another name: later mentions written so are mentions of it.

        Args:
            name: name or id of the entity.
            alias: the further name.

        Raises:
            InvalidRequest: the entity is unknown, or another entity has the name (merge them instead).
        """
        return await self._change("alias", lambda: self._alias(name, alias))

    async def undo_entity_change(self, change_id: int) -> EntityChange:
        """Put back what a merge, split or alias did; later changes of the same entities must be undone first.

        Args:
            change_id: the `id` of the change.

        Raises:
            InvalidRequest: there is no such change, it was undone, or a later one stands on it.
        """
        ledger = self._tools.ledger
        return await self._change(
            "undo_entity_change", lambda: ledger.undo_entity_change(self._name, change_id)
        )

    async def entity_changes(self) -> list[EntityChange]:
        """Every merge, split and alias made by hand, oldest first, undone ones included."""
        return await self._tools.workers.read(self._tools.ledger.entity_changes, self._name)

    async def _change(self, verb: str, change: Callable[[], EntityChange]) -> EntityChange:
        self._check_writable(verb)

        def changed() -> EntityChange:
            made = change()
            self._projection.catch_up()
            return made

        return await self._tools.workers.write(changed)

    def _merge(self, keep: str, merge: str) -> EntityChange:
        ledger = self._tools.ledger
        kept, merged = (entity_named(ledger, self._name, name).id for name in (keep, merge))
        if kept == merged:
            raise InvalidRequest("merge", f"{keep!r} and {merge!r} are one already", "Name two entities.")
        return ledger.merge_entities(self._name, kept, merged, self._tools.clock.now())

    def _split(self, name: str, names: Sequence[str]) -> EntityChange:
        ledger = self._tools.ledger
        entity = entity_named(ledger, self._name, name)
        wanted = tuple(dict.fromkeys(_normalised(each) for each in _list(names)))
        if not wanted or not set(wanted) < set(entity.names):
            raise InvalidRequest(
                "names",
                f"{list(wanted)} are not some of its names {list(entity.names)}",
                "Name some, not all.",
            )
        texts = ledger.mention_texts(self._name, entity.id)
        units = tuple(unit for unit, text in texts if normalise_name(text) in wanted)
        # Another id than the name would give, in case an entity of that name and type exists beside this one.
        seed = "\x1e".join(("split", self._name, entity.id, *wanted))
        split = EntitySplit(entity.id, str(uuid.uuid5(NAMESPACE, seed)), names[0].strip(), wanted, units)
        return ledger.split_entity(self._name, split, self._tools.clock.now())

    def _alias(self, name: str, alias: str) -> EntityChange:
        ledger = self._tools.ledger
        entity, wanted = entity_named(ledger, self._name, name), _normalised(alias)
        others = [found for found in ledger.find_entities(self._name, wanted) if found.id != entity.id]
        if others:
            raise InvalidRequest(
                "alias", f"{alias!r} is the entity {others[0].id}", "Use merge_entities to make them one."
            )
        return ledger.alias_entity(self._name, entity.id, [wanted], self._tools.clock.now())


def _normalised(name: str) -> str:
    found = normalise_name(checked_text(name, "name", MAX_NAME))
    if not found:
        raise InvalidRequest("name", f"{name!r} has no letters", "Pass a name.")
    return found


def _list(names: Sequence[str]) -> Sequence[str]:
    if isinstance(names, str):
        raise InvalidRequest("names", f"{names!r} is a single string", "Pass a list of names.")
    return names
