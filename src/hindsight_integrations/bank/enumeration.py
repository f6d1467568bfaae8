"""Verbs that list memories completely, page by page, where recall returns the best ones."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from dataclasses import replace
from datetime import datetime

import numpy as np

from hindsight_integrations.bank.core import BankCore
from hindsight_integrations.bank.entities import MAX_NAME
from hindsight_integrations.bank.named_entities import entity_named
from hindsight_integrations.model.pages import UnitPage
from hindsight_integrations.model.requests import TagsMatch
from hindsight_integrations.model.units import FactType, MemoryUnit
from hindsight_integrations.ports.arrays import IntArray
from hindsight_integrations.tempr.listing.units import UnitFilter, find_page, place_of
from hindsight_integrations.validation.arguments import as_choice, as_state, as_types, as_window
from hindsight_integrations.validation.limits import checked_count, checked_tags, checked_text

MOST_ON_A_PAGE = 10_000
PER_PAGE = 1_000  # of `iterate_units`: few enough to hold, many enough that masks cost little


class EnumerationVerbs(BankCore):
    """units and iterate_units."""

    async def units(
        self,
        *,
        entity: str | None = None,
        types: Iterable[FactType | str] = tuple(FactType),
        window: tuple[datetime | str, datetime | str] | None = None,
        as_of: datetime | str | None = None,
        tags: Iterable[str] = (),
        tags_match: TagsMatch | str = TagsMatch.ANY,
        include_invalidated: bool = False,
        limit: int = 100,
        cursor: str | None = None,
    ) -> UnitPage:
        """Every memory that matches, a page at a time, in order of when it happened (else was mentioned), oldest first.

        Following the cursors gives each memory that was there at the first page once, whatever is retained meanwhile;
        what is retained later is for the next enumeration. A page shows what is valid when it is read: a memory closed in
        between is missing, unless `include_invalidated`. One whose time `edit` corrects in between may come twice or not.

        Args:
            entity: name or id of an entity they mention; None means any.
            types: networks to list.
            window: (start, end): what happened or was mentioned in it.
            as_of: a moment of conversation time; what was valid then. None means what is valid now.
            tags: visibility tags asked for.
            tags_match: any, all, any_strict, all_strict or exact; any and all also list untagged memories.
            include_invalidated: also list what is no longer valid; with `as_of`, all that had been mentioned by then.
            limit: at most this many on the page, up to 10,000.
            cursor: of the page before; None for the first.

        Raises:
            InvalidRequest: an option is out of range, the entity unknown or its name ambiguous, or the cursor another's.
        """
        zone = self._tools.zone
        wanted = UnitFilter(
            types=tuple(sorted(set(as_types(types)))),
            window=as_window(window, zone),
            as_of=as_state(as_of, zone),
            tags=checked_tags(tags),
            tags_match=as_choice(TagsMatch, tags_match, "tags_match"),
            include_invalidated=bool(include_invalidated),
        )
        most = checked_count(limit, "limit", most=MOST_ON_A_PAGE)
        view, about = await self._current_view(), None
        if entity is not None:
            name = checked_text(entity, "entity", MAX_NAME)
            entity_id, about = await self._tools.workers.read(self._mentioning, name)
            wanted = replace(wanted, entity=entity_id)
        after = None if cursor is None else place_of(cursor, self._name, wanted)
        return await self._tools.workers.read(find_page, view, wanted, about, after=after, limit=most)

    async def iterate_units(
        self,
        *,
        entity: str | None = None,
        types: Iterable[FactType | str] = tuple(FactType),
        window: tuple[datetime | str, datetime | str] | None = None,
        as_of: datetime | str | None = None,
        tags: Iterable[str] = (),
        tags_match: TagsMatch | str = TagsMatch.ANY,
        include_invalidated: bool = False,
    ) -> AsyncIterator[MemoryUnit]:
        """Every memory that matches, one after the other; see `units` for the order, the options and the errors."""
        networks, labels, cursor = tuple(as_types(types)), checked_tags(tags), None
        while True:
            page = await self.units(
                entity=entity,
                types=networks,
                window=window,
                as_of=as_of,
                tags=labels,
                tags_match=tags_match,
                include_invalidated=include_invalidated,
                limit=PER_PAGE,
                cursor=cursor,
            )
            for unit in page.units:
                yield unit
            cursor = page.cursor
            if cursor is None:
                return

    def _mentioning(self, name: str) -> tuple[str, IntArray]:
        """An entity's id and the row ids of the units that mention it; read again if entities changed meanwhile."""
        ledger, bank = self._tools.ledger, self._name
        while True:
            epoch = ledger.graph_epoch(bank)
            entity = entity_named(ledger, bank, name)
            units = [unit for unit, _ in ledger.mention_texts(bank, entity.id)]
            rows = ledger.row_ids(bank, units)
            if ledger.graph_epoch(bank) == epoch:
                return entity.id, np.fromiter(rows.values(), np.int64, len(rows))
