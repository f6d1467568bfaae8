"""ItemReader and ItemWriter: items by namespace and key, and the units that are their texts (decision 151)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Protocol

from hindsight_integrations.model.items import Item, ItemDelete, ItemKey, ItemWrite, Namespace
from hindsight_integrations.model.tasks import TaskClaim

ItemRow = tuple[int, Item]
"""Row id of an item, and the item."""


class ItemReader(Protocol):
    """Reads of one bank's items. What has expired at `now` is not there.

    Raises:
        MemoryDamaged: by every method that returns items, where one of them is not what was written.
    """

    def items(self, bank: str, keys: Sequence[ItemKey], now: datetime) -> list[Item | None]:
        """The item of each key, or None."""
        ...

    def items_at(self, bank: str, rows: Sequence[int], now: datetime) -> dict[int, Item]:
        """Items by row id; unknown ones are left out."""
        ...

    def listed_items(
        self,
        bank: str,
        prefix: Namespace,
        now: datetime,
        *,
        searchable: bool | None = None,
        limit: int,
        offset: int = 0,
    ) -> list[ItemRow]:
        """Items whose namespace begins with these labels, the newest first, then by namespace and key.

        Args:
            bank: the bank.
            prefix: labels; none means all.
            now: the moment.
            searchable: only those with texts, or without any; None means both.
            limit: at most so many.
            offset: so many are passed over.
        """
        ...

    def item_namespaces(self, bank: str, prefix: Namespace, now: datetime) -> list[Namespace]:
        """Namespaces with at least one item that begin with these labels, in order."""
        ...

    def damaged_items(self, bank: str) -> tuple[str, ...]:
        """Key and namespace of the items that are not what was written, expired ones included. Reads all of them."""
        ...

    def item_unit_ids(self, bank: str, keys: Sequence[ItemKey]) -> frozenset[str]:
        """Ids of the units that are texts of these items, expired ones included."""
        ...


class ItemWriter(Protocol):
    """What changes items, each call a transaction. The revision rises where units come or go."""

    def write_items(self, bank: str, writes: Sequence[ItemWrite | ItemDelete], now: datetime) -> int:
        """Put and delete, each key at most once, all or nothing; returns the bank's revision.

        A put keeps `created_at` of the item it takes the place of, unless that has expired. Units that are its texts no
        more are removed, and counted as residue: their words stay in files until `scrub_items`. Where an item will expire, a
        task `EXPIRE_ITEMS` is enqueued.

        Raises:
            RevisionConflict: a unit comes without its vector and is not there any more; nothing was written.
            InvalidRequest: vectors do not fit those of the bank.
        """
        ...

    def refresh_items(self, bank: str, keys: Sequence[ItemKey], now: datetime) -> int:
        """Items with a time to live begin it anew; returns how many."""
        ...

    def expire_items(self, bank: str, now: datetime, claims: Collection[TaskClaim] = ()) -> int:
        """Delete what has expired, complete these tasks, and enqueue the next; returns how many were deleted.

        Raises:
            TaskClosed: a lease is its task's no more; nothing was deleted.
        """
        ...

    def forget_items(self, bank: str, namespace: Namespace, key: str | None) -> int:
        """Delete an item, or with no key all under a prefix, as an erasure: the files are to be scrubbed; returns how many."""
        ...

    def item_residue(self, bank: str) -> int:
        """How many values and texts were deleted or replaced since the files were last scrubbed of them."""
        ...

    def begin_item_scrub(self, bank: str) -> bool:
        """Make the indexes write what was removed, and have `scrub` made up for after a kill; False if there is no residue."""
        ...

    def expired_banks(self, now: datetime) -> list[str]:
        """Banks that hold expired items, and those of which texts are to be scrubbed."""
        ...
