"""`bank.items`: JSON values by namespace and key, with semantic and keyword search."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import uuid5

import numpy as np

from hindsight_integrations.bank.context import BankContext, BankVerbs, writes
from hindsight_integrations.errors import LedgerFailed, RevisionConflict
from hindsight_integrations.indexes.bank_view import BankView
from hindsight_integrations.indexes.embedding import unit_writes
from hindsight_integrations.indexes.hybrid import ranked_items
from hindsight_integrations.ledger.values import Scrub
from hindsight_integrations.model.arrays import IntArray
from hindsight_integrations.model.items import (
    FoundItem,
    Item,
    ItemDelete,
    ItemKey,
    ItemPut,
    ItemWrite,
    Namespace,
)
from hindsight_integrations.model.units import NAMESPACE, FactType, MemoryUnit, UnitKind
from hindsight_integrations.model.writes import UnitWrite
from hindsight_integrations.retain.verbatim import chunk_text
from hindsight_integrations.validation.items import (
    checked_item_key,
    checked_key,
    checked_namespace,
    checked_write,
    value_text,
)
from hindsight_integrations.validation.limits import MAX_QUERY, checked_count, checked_list, checked_words

# Maximum characters of a piece of a text: about 400 tokens; common embedders read at most 512.
PIECE = 1_500
# Number of replaced or deleted values and texts after which the files are rewritten without them.
SCRUB_AFTER = 1_000
ATTEMPTS = 5
"""Maximum number of commits; a commit fails if another process deletes a text that was read before."""

Writes = Sequence[ItemPut | ItemDelete]


async def write_items(bank: BankContext, writes: Writes) -> None:
    """Put and delete items in one commit, then update all indexes. If a key occurs twice, the last write counts.

    Raises:
        ModelError: a text could not be embedded; nothing was written.
        EmbedderMismatch: another embedder made the bank's vectors.
        InvalidRequest: a value is not JSON.
    """
    last = {(write.namespace, write.key): write for write in writes}
    values = {key: value_text(write.value) for key, write in last.items() if isinstance(write, ItemPut)}
    if not last:
        return
    workers = bank.services.workers
    await workers.write(bank.claim_embedder)
    for attempt in range(ATTEMPTS):
        prepared = await workers.read(_prepared, bank, last, values)
        try:
            await workers.write(_commit, bank, prepared)
        except RevisionConflict:
            if attempt == ATTEMPTS - 1:
                raise
        else:
            return


def units_of(put: ItemPut, bank: str, now: datetime) -> list[MemoryUnit]:
    """Build the units through which search finds an item; long texts are split. Equal items have equal units."""
    pieces = dict.fromkeys(piece for text in put.texts for piece in chunk_text(text, PIECE) if piece.strip())
    return [
        MemoryUnit(
            id=str(uuid5(NAMESPACE, json.dumps([bank, "item", put.namespace, put.key, piece]))),
            bank=bank,
            text=piece,
            fact_type=FactType.WORLD,
            mentioned_at=now,
            kind=UnitKind.ITEM,
        )
        for piece in pieces
    ]


def _prepared(
    bank: BankContext, last: Mapping[ItemKey, ItemPut | ItemDelete], values: Mapping[ItemKey, str]
) -> list[ItemWrite | ItemDelete]:
    """Prepare the writes. Texts that are already stored are not embedded again."""
    services, now = bank.services, bank.services.clock.now()
    known = services.ledger.items.unit_ids(bank.name, list(last))
    units = {
        key: units_of(write, bank.name, now) for key, write in last.items() if isinstance(write, ItemPut)
    }
    new = [unit for some in units.values() for unit in some if unit.id not in known]
    given = {write.unit.id: write for write in unit_writes(new, services.embedder)}
    return [
        ItemWrite(
            namespace=write.namespace,
            key=write.key,
            value=values[key],
            ttl=write.ttl,
            units=tuple(given.get(unit.id) or UnitWrite(unit, b"") for unit in units[key]),
        )
        if isinstance(write, ItemPut)
        else write
        for key, write in last.items()
    ]


def _commit(bank: BankContext, writes: Sequence[ItemWrite | ItemDelete]) -> None:
    bank.services.ledger.items.write(bank.name, writes, bank.services.clock.now())
    bank.catch_up()
    scrub_many(bank)


def expire_items(bank: BankContext) -> int:
    """Erase expired items from the ledger and every index; files are scrubbed in batches. Writer thread only."""
    ledger = bank.services.ledger
    expired = ledger.items.expire(bank.name, bank.services.clock.now())
    if expired:
        bank.catch_up()
    return expired


def scrub_many(bank: BankContext) -> None:
    """Scrub the files if many items were replaced or deleted. Writer thread only."""
    if bank.services.ledger.items.residue(bank.name) >= SCRUB_AFTER:
        scrub_items(bank)


def scrub_items(bank: BankContext) -> None:
    """Scrub the files if items were replaced or deleted since the last scrub. Writer thread only."""
    if bank.services.ledger.items.begin_scrub(bank.name):
        finish_scrub(bank)


def forget_items(bank: BankContext, namespace: Namespace, key: str | None) -> int:
    """Erase an item, or all items under a prefix, from the ledger, every index and the files. Writer thread only."""
    forgotten = bank.services.ledger.items.forget(bank.name, namespace, key)
    if forgotten:
        finish_scrub(bank)
    return forgotten


def finish_scrub(bank: BankContext) -> bool:
    """Flush removals in every index, then rewrite the ledger's files. Return True if no trace of deleted items is left."""
    bank.catch_up()
    try:
        return bank.services.ledger.erasure.scrub() is Scrub.CLEAN and not bank.problems()
    except LedgerFailed:
        # The disk is full. Search does not return the items; the next scrub or opening removes their bytes.
        return False


Condition = Callable[[Mapping[str, Any]], bool]

PAGE = 500  # number of items per ledger query
MOST = 100_000  # maximum number of items per search


class AsyncItems(BankVerbs):
    """Values stored by key, as in a LangGraph store. Recall does not return them."""

    namespace = "items"

    async def get(self, keys: Iterable[ItemKey], *, refresh: bool = False) -> list[Item | None]:
        """Get the items with these (namespace, key) pairs, in the same order; None for a missing item.

        Args:
            keys: pairs of namespace and key.
            refresh: whether to restart the time to live of these items.

        Raises:
            InvalidRequest: a namespace or key is invalid.
        """
        wanted = [checked_item_key(key) for key in checked_list(keys, "keys")]
        context, services = self._context, self._context.services
        found = await services.workers.read(
            services.ledger.items.get, context.name, wanted, services.clock.now()
        )
        if refresh:
            await self._refresh([item for item in found if item])
        return found

    @writes
    async def write(self, writes: Iterable[ItemPut | ItemDelete]) -> None:
        """Put and delete items in one commit, all or nothing. If a key occurs twice, the last write counts.

        An item that is put again keeps its `created_at`. Deleted and replaced texts are no longer found. They are removed from
        the files after 1,000 deletions, by `expire` and `tasks.settle`, or immediately by `forget`.

        Args:
            writes: the items to put and the keys to delete.

        Raises:
            InvalidRequest: a namespace, key, value or time to live is invalid, or the engine was opened read-only.
            ModelError: a text could not be embedded.
            EmbedderMismatch: another embedder made the bank's vectors.
        """
        await write_items(self._context, [checked_write(each) for each in checked_list(writes, "writes")])

    async def search(
        self,
        prefix: Namespace = (),
        *,
        query: str = "",
        where: Condition | None = None,
        limit: int = 10,
        offset: int = 0,
        refresh: bool = False,
    ) -> list[FoundItem]:
        """Search the items under a namespace prefix, ranked by the query or, without a query, newest first.

        With a query, items with searchable texts come first, ranked by fused semantic and BM25 search. Items without texts
        follow, newest first.

        Args:
            prefix: first labels of the namespace; empty means all namespaces.
            query: the search text.
            where: condition on an item's value, applied before the limit.
            limit: maximum number of items.
            offset: number of items to skip.
            refresh: whether to restart the time to live of the items returned.

        Raises:
            InvalidRequest: the prefix, limit or offset is invalid.
            ModelError: the query could not be embedded.
            EmbedderMismatch: another embedder made the bank's vectors.
        """
        labels, text = checked_namespace(prefix, prefix=True), checked_words(query, "query")[:MAX_QUERY]
        checked_count(limit, "limit", least=0, most=MOST)
        checked_count(offset, "offset", least=0, most=MOST)
        found: list[FoundItem] = []
        if not limit:
            return found
        async for each in self._found(labels, text, where, limit + offset):
            found.append(each)
            if len(found) == limit + offset:
                break
        if refresh:
            await self._refresh([each.item for each in found[offset:]])
        return found[offset:]

    async def namespaces(self, prefix: Namespace = ()) -> list[Namespace]:
        """List the namespaces that start with these labels and contain an item, sorted.

        Args:
            prefix: first labels of the namespaces; empty means all.

        Raises:
            InvalidRequest: the prefix is invalid.
        """
        labels, services = checked_namespace(prefix, prefix=True), self._context.services
        return await services.workers.read(
            services.ledger.items.namespaces, self._context.name, labels, services.clock.now()
        )

    @writes
    async def forget(self, namespace: Namespace, key: str | None = None) -> int:
        """Erase an item, or all items under a prefix, and rewrite the files immediately so that no trace is left.

        Args:
            namespace: namespace of the item, or the prefix.
            key: key of the item; None erases all items whose namespace starts with these labels.

        Returns:
            The number of items erased.

        Raises:
            InvalidRequest: the namespace or key is invalid, or the engine was opened read-only.
        """
        labels = checked_namespace(namespace, prefix=key is None)
        name = None if key is None else checked_key(key)
        return await self._context.services.workers.write(forget_items, self._context, labels, name)

    @writes
    async def expire(self) -> int:
        """Erase expired items, and remove deleted and replaced texts from the files.

        `tasks.settle` and the worker do the same.

        Returns:
            The number of items erased.

        Raises:
            InvalidRequest: the engine was opened read-only.
        """
        return await settle_items(self._context)

    async def _refresh(self, items: list[Item]) -> None:
        """Restart the time to live of items that have one, unless the engine is read-only."""
        mortal = [(item.namespace, item.key) for item in items if item.expires_at]
        services = self._context.services
        if mortal and not services.read_only:
            await services.workers.write(
                services.ledger.items.refresh, self._context.name, mortal, services.clock.now()
            )

    async def _found(
        self, prefix: Namespace, text: str, where: Condition | None, wanted: int
    ) -> AsyncIterator[FoundItem]:
        """Yield the matching items: ranked items first, then the others in pages."""
        if text:
            async for each in self._ranked(prefix, text, where, wanted):
                yield each
        page = PAGE if where else min(PAGE, wanted)
        async for _, item in self._listed(prefix, where, searchable=False if text else None, page=page):
            yield FoundItem(item)

    async def _listed(
        self, prefix: Namespace, where: Condition | None, *, searchable: bool | None, page: int = PAGE
    ) -> AsyncIterator[tuple[int, Item]]:
        services, offset, now = self._context.services, 0, self._context.services.clock.now()
        while True:
            rows = await services.workers.read(
                services.ledger.items.listed,
                self._context.name,
                prefix,
                now,
                searchable=searchable,
                limit=page,
                offset=offset,
            )
            for row, item in rows:
                if where is None or where(item.value):
                    yield row, item
            if len(rows) < page:
                return
            offset += page

    async def _ranked(
        self, prefix: Namespace, text: str, where: Condition | None, wanted: int
    ) -> AsyncIterator[FoundItem]:
        services = self._context.services
        allowed: IntArray | None = None
        if where is not None:
            rows = [row async for row, _ in self._listed(prefix, where, searchable=True)]
            allowed = np.array(rows, np.int64)
        vector = await services.workers.read(services.embedder.embed_query, text)

        def ranked(view: BankView) -> list[tuple[int, float]]:
            units, items = view.items.under(prefix)
            if allowed is not None:
                chosen = np.isin(items, allowed)
                units, items = units[chosen], items[chosen]
            found, scores = ranked_items(view, (units, items), text, vector, limit=wanted)
            return list(zip(found.tolist(), scores.tolist(), strict=True))

        async with self._context.leased() as projection:
            _, ranking = await self._context.settled_read(
                projection, lambda view: services.workers.read(ranked, view)
            )
        size = min(PAGE, wanted)
        for start in range(0, len(ranking), size):
            page = ranking[start : start + size]
            items = await services.workers.read(
                services.ledger.items.at_rows,
                self._context.name,
                [row for row, _ in page],
                services.clock.now(),
            )
            for row, score in page:
                if row in items:
                    yield FoundItem(items[row], score)


async def settle_items(bank: BankContext) -> int:
    """Erase expired items and scrub the files; return the number of expired items."""
    workers = bank.services.workers
    expired = await workers.write(expire_items, bank)
    await workers.write(scrub_items, bank)
    return expired
