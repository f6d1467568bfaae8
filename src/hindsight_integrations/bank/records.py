"""`bank.records`: list and aggregate the typed values in memories, and merge or split their categories."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeAlias

from hindsight_integrations.bank.context import BankVerbs, writes
from hindsight_integrations.bank.entities import MAX_NAME
from hindsight_integrations.choices import choice
from hindsight_integrations.errors import InvalidRequest, shown
from hindsight_integrations.indexes.bank_view import BankView
from hindsight_integrations.indexes.record_search import RecordFilter, find_records, record_filter
from hindsight_integrations.language.categories import KnownCategories
from hindsight_integrations.ledger.ledger import Ledger, LedgerReader
from hindsight_integrations.model.aggregates import Aggregate, Aggregation, RecordEntries
from hindsight_integrations.model.records import RecordCategory, RecordKind, canonical_kind
from hindsight_integrations.model.requests import GivenGroup, TagsMatch
from hindsight_integrations.model.time import Window
from hindsight_integrations.recall.listing import aggregate
from hindsight_integrations.validation.arguments import checked_instant, checked_window
from hindsight_integrations.validation.limits import checked_list, checked_tags, checked_text
from hindsight_integrations.validation.tag_groups import checked_tag_groups

Categories: TypeAlias = list[RecordCategory]  # an alias, because `list` is a method of the class below


class AsyncRecords(BankVerbs):
    """The bank's records."""

    namespace = "records"

    async def list(
        self,
        *,
        kind: str | None = None,
        category: str | None = None,
        unit: str | None = None,
        window: Window = None,
        as_of: datetime | str | None = None,
        include_invalidated: bool = False,
        tags: Iterable[str] = (),
        tags_match: TagsMatch | str = TagsMatch.ANY,
        tag_groups: GivenGroup | Sequence[GivenGroup] = (),
    ) -> RecordEntries:
        """List all matching records with their memories, ordered by time, without ranking or truncation.

        Kinds and categories are normalised in the same way as when they are stored: "coffees", "food (coffee)" and "coffee
        purchase" mean coffee, and "steps" also selects quantities counted in steps. Without matches, the list is empty.

        Args:
            kind: a `RecordKind` ("expense", "quantity", "task", ...), or another word for one ("steps", "todo"); None means
                any.
            category: category of the records, such as "coffee"; None means any.
            unit: unit of the values in any spelling: "USD", "dollars", "steps/day"; None means any.
            window: (start, end) of the time of the records, or of their mention if they have no time of their own.
            as_of: a point in conversation time; lists the records that were valid then. None means now.
            include_invalidated: also list records that became invalid, alone or with their memory; with `as_of`, all records
                mentioned by then.
            tags: visibility tags of the memories; empty means any memory.
            tags_match: any, all, any_strict, all_strict or exact; any and all also take untagged memories.
            tag_groups: further conditions, all of which must hold; see `recall`.

        Raises:
            InvalidRequest: a time cannot be parsed, or a word is too long.
            MemoryDamaged: the memory of a record is damaged, so the list would be incomplete.
        """
        wanted = replace(
            self._wanted(kind, category, unit, window=window, as_of=as_of),
            include_invalidated=bool(include_invalidated),
            tags=checked_tags(tags),
            tags_match=choice(TagsMatch, tags_match, "tags_match"),
            tag_groups=checked_tag_groups(tag_groups),
        )
        return await self._find(wanted)

    async def aggregate(
        self,
        how: Aggregation | str,
        *,
        kind: str | None = None,
        category: str | None = None,
        unit: str | None = None,
        window: Window = None,
        as_of: datetime | str | None = None,
        tags: Iterable[str] = (),
        tags_match: TagsMatch | str = TagsMatch.ANY,
        tag_groups: GivenGroup | Sequence[GivenGroup] = (),
    ) -> Aggregate:
        """Compute one exact value over valid records. The result lists the memories and category spellings used.

        Values in different units of one dimension ("km" and "mi") are converted exactly to the most frequent unit, which the
        result states. Without `kind`, records of kind OTHER are omitted and the result says so; select them with `kind="other"`.

        Args:
            how: sum, count, mean, min, max or last.
            kind: as in `list`.
            category: as in `list`. Without matching records, sum and count are 0, and the other values are None.
            unit: as in `list`.
            window: as in `list`.
            as_of: as in `list`.
            tags: as in `list`.
            tags_match: as in `list`.
            tag_groups: as in `list`.

        Raises:
            InvalidRequest: `how` is unknown, or the values cannot be added or compared, such as money in two currencies.
            MemoryDamaged: the memory of a record is damaged, so the value would be wrong.
        """
        chosen = choice(Aggregation, how, "how")
        wanted = replace(
            self._wanted(kind, category, unit, window=window, as_of=as_of),
            tags=checked_tags(tags),
            tags_match=choice(TagsMatch, tags_match, "tags_match"),
            tag_groups=checked_tag_groups(tag_groups),
        )
        return aggregate(await self._find(wanted), chosen, other=wanted.kind is not None)

    async def categories(self, kind: str | None = None) -> Categories:
        """List categories by kind, most used first, with name, spellings, units and number of records.

        Args:
            kind: as in `list`; None means all.

        Raises:
            InvalidRequest: the kind is not a string, or too long.
        """
        bank, services = self._context.name, self._context.services
        known = None if kind is None else _kind(kind)

        def listed() -> Categories:
            with services.ledger.snapshot(bank) as ledger:
                units = ledger.records.category_units(bank, known)
                found = ledger.records.categories(bank, known)
            return [replace(each, units=units.get((each.kind, each.name), ())) for each in found]

        return await services.workers.read(listed)

    @writes
    async def merge(self, kind: str, keep: str, merge: str) -> RecordCategory:
        """Merge two categories: all records and spellings of `merge` move to `keep`.

        Later retains and questions resolve the spellings to `keep`. To undo the merge, `split` them off again.

        Args:
            kind: kind of the records, as in `list`.
            keep: the category that remains, by its name or a spelling.
            merge: the category that is merged into `keep`, by its name or a spelling.

        Raises:
            InvalidRequest: a category is unknown, both are the same, or the engine is read-only.
        """
        known = _kind(kind)

        def merged(ledger: Ledger, bank: str) -> RecordCategory:
            names = [_category(ledger, bank, known, name) for name in (keep, merge)]
            if names[0] == names[1]:
                reason = f"{shown(keep)} and {shown(merge)} are the same category"
                raise InvalidRequest("merge", reason, "Name two categories.")
            return ledger.records.merge_categories(bank, known, *names)

        return await self._change(merged)

    @writes
    async def split(self, kind: str, name: str, *, spellings: Sequence[str]) -> RecordCategory:
        """Move some spellings of a category, with the records that use them, to a new category.

        Later retains and questions keep the spellings apart.

        Args:
            kind: kind of the records, as in `list`.
            name: the category, by its name or a spelling.
            spellings: the spellings to move; the first becomes the name of the new category.

        Raises:
            InvalidRequest: the category is unknown, a spelling is not one of its spellings, none would remain, or the engine is
                read-only.
        """
        known = _kind(kind)
        wanted = [checked_text(each, "spellings", MAX_NAME) for each in checked_list(spellings, "spellings")]

        def parted(ledger: Ledger, bank: str) -> RecordCategory:
            return ledger.records.split_category(bank, known, _category(ledger, bank, known, name), wanted)

        return await self._change(parted)

    async def _change(self, change: Callable[[Ledger, str], RecordCategory]) -> RecordCategory:
        def changed() -> RecordCategory:
            made = change(self._context.ledger, self._context.name)
            self._context.catch_up()
            return made

        return await self._context.services.workers.write(changed)

    def _wanted(
        self,
        kind: str | None,
        category: str | None,
        unit: str | None,
        *,
        window: Window,
        as_of: datetime | str | None,
    ) -> RecordFilter:
        words = {"kind": kind, "category": category, "unit": unit}
        checked = {n: None if word is None else checked_text(word, n, MAX_NAME) for n, word in words.items()}
        dates = self._context.services.dates
        return replace(
            record_filter(**checked),
            window=checked_window(window, dates),
            as_of=checked_instant(as_of, "as_of", dates),
        )

    async def _find(self, wanted: RecordFilter) -> RecordEntries:
        bank, services = self._context.name, self._context.services

        def found(view: BankView) -> RecordEntries:
            with services.ledger.snapshot(bank) as ledger:
                return RecordEntries(find_records(replace(view, ledger=ledger), wanted))

        async with self._context.viewing() as view:
            return await services.workers.read(found, view)


def _kind(kind: str) -> RecordKind:
    return canonical_kind(checked_text(kind, "kind", MAX_NAME), "")[0]


def _category(ledger: LedgerReader, bank: str, kind: RecordKind, stated: str) -> str:
    """Return the name of the category that a spelling refers to.

    Raises:
        InvalidRequest: no category or several categories match.
    """
    checked_text(stated, "category", MAX_NAME)
    found = KnownCategories(ledger.records.categories(bank, kind)).named(stated, kind)
    if len(found) != 1:
        reason = (
            f"{shown(stated)} is ambiguous: {', '.join(found)}" if found else f"{shown(stated)} is not known"
        )
        raise InvalidRequest("category", reason, f"Pass a name from records.categories({kind.value!r}).")
    return found[0]
