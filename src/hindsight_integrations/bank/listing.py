"""The bank's verbs that list completely, where recall returns the best: units, iterate_units."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import replace
from datetime import datetime

import numpy as np

from hindsight_integrations.bank.context import BankVerbs
from hindsight_integrations.bank.entities import MAX_NAME, entity_named
from hindsight_integrations.choices import choice
from hindsight_integrations.errors import MemoryDamaged
from hindsight_integrations.model.metadata import GivenMetadata
from hindsight_integrations.model.requests import GivenGroup, TagsMatch
from hindsight_integrations.model.results import UnitPage
from hindsight_integrations.model.time import Window
from hindsight_integrations.model.units import FactType, MemoryUnit
from hindsight_integrations.ports.arrays import IntArray
from hindsight_integrations.tempr.listing.units import UnitFilter, find_page, place_of
from hindsight_integrations.validation.arguments import checked_instant, checked_types, checked_window
from hindsight_integrations.validation.limits import checked_count, checked_tags, checked_text
from hindsight_integrations.validation.metadata import checked_metadata_filter
from hindsight_integrations.validation.tag_groups import checked_tag_groups

LARGEST_PAGE = 10_000
UNITS_A_PAGE = 1_000  # of `iterate_units`: few enough to hold, many enough that masks cost little


class ListingVerbs(BankVerbs):
    """Verbs that give everything that matches; nothing is ranked or cut."""

    async def units(
        self,
        *,
        entity: str | None = None,
        types: Iterable[FactType | str] = tuple(FactType),
        window: Window = None,
        as_of: datetime | str | None = None,
        tags: Iterable[str] = (),
        tags_match: TagsMatch | str = TagsMatch.ANY,
        tag_groups: GivenGroup | Sequence[GivenGroup] = (),
        metadata: GivenMetadata = None,
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
            tags: visibility tags; none means any memory.
            tags_match: any, all, any_strict, all_strict or exact; any and all also list untagged memories.
            tag_groups: further conditions, all of which must hold; see `recall`.
            metadata: conditions on what came with them; see `recall`.
            include_invalidated: also list what is no longer valid; with `as_of`, all that had been mentioned by then.
            limit: at most this many on the page, up to 10,000.
            cursor: of the page before; None for the first.

        Raises:
            InvalidRequest: an option is out of range, the entity unknown or its name ambiguous, or the cursor another's.
        """
        read, dates = self._context.tools.workers.read, self._context.tools.dates
        wanted = UnitFilter(
            types=tuple(sorted(set(checked_types(types)))),
            window=checked_window(window, dates),
            as_of=checked_instant(as_of, "as_of", dates),
            tags=checked_tags(tags),
            tags_match=choice(TagsMatch, tags_match, "tags_match"),
            include_invalidated=bool(include_invalidated),
            tag_groups=checked_tag_groups(tag_groups),
            metadata=checked_metadata_filter(metadata),
        )
        most = checked_count(limit, "limit", most=LARGEST_PAGE)
        async with self._context.viewing() as view:
            mentioning = None
            if entity is not None:
                entity_id, mentioning = await read(self._mentioning, checked_text(entity, "entity", MAX_NAME))
                wanted = replace(wanted, entity=entity_id)
            after = None if cursor is None else place_of(cursor, self._context.name, wanted)
            return await read(find_page, view, wanted, mentioning, after=after, limit=most)

    async def iterate_units(
        self,
        *,
        entity: str | None = None,
        types: Iterable[FactType | str] = tuple(FactType),
        window: Window = None,
        as_of: datetime | str | None = None,
        tags: Iterable[str] = (),
        tags_match: TagsMatch | str = TagsMatch.ANY,
        tag_groups: GivenGroup | Sequence[GivenGroup] = (),
        metadata: GivenMetadata = None,
        include_invalidated: bool = False,
    ) -> AsyncIterator[MemoryUnit]:
        """Every memory that matches, one after the other; see `units` for the options, the order and the errors.

        Raises:
            MemoryDamaged: some were left out as damaged; raised at the end, after all the others.
        """
        networks, labels, cursor = checked_types(types), checked_tags(tags), None
        groups, condition = checked_tag_groups(tag_groups), checked_metadata_filter(metadata)
        damaged: tuple[str, ...] = ()
        while True:
            page = await self.units(
                entity=entity,
                types=networks,
                window=window,
                as_of=as_of,
                tags=labels,
                tags_match=tags_match,
                tag_groups=groups,
                metadata=condition,
                include_invalidated=include_invalidated,
                limit=UNITS_A_PAGE,
                cursor=cursor,
            )
            for unit in page.units:
                yield unit
            cursor, damaged = page.cursor, damaged + page.damaged
            if cursor is None:
                break
        if damaged:
            raise MemoryDamaged(self._context.name, damaged)

    def _mentioning(self, name: str) -> tuple[str, IntArray]:
        """An entity's id and the row ids of the units that mention it, of one state of the bank."""
        bank = self._context.name
        with self._context.tools.ledger.snapshot(bank) as ledger:
            entity = entity_named(ledger, bank, name)
            rows = ledger.units.row_ids(
                bank, [unit for unit, _ in ledger.entities.mention_texts(bank, entity.id)]
            )
        return entity.id, np.fromiter(rows.values(), np.int64, len(rows))
