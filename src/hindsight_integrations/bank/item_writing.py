"""How items are written: their texts become units, embedded before anything is decided, and all of it is one commit."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import uuid5

from hindsight_integrations.bank.context import BankContext
from hindsight_integrations.errors import LedgerFailed, RevisionConflict
from hindsight_integrations.ledger.values import Scrub
from hindsight_integrations.model.items import ItemDelete, ItemKey, ItemPut, ItemWrite, Namespace
from hindsight_integrations.model.units import NAMESPACE, FactType, MemoryUnit, UnitKind
from hindsight_integrations.model.writes import UnitWrite
from hindsight_integrations.search.embedding import embed_units
from hindsight_integrations.tempr.retain.extraction.verbatim import chunk_text
from hindsight_integrations.validation.items import value_text

PIECE = 1_500  # characters of a unit: about 400 tokens, of the 512 that common embedders read
SCRUB_AFTER = (
    1_000  # values and texts replaced or deleted; a scrub rewrites the files, seconds at 100,000 texts
)
ATTEMPTS = 5  # somebody else may delete a text between the look at it and the commit

Writes = Sequence[ItemPut | ItemDelete]


async def write_items(bank: BankContext, writes: Writes) -> None:
    """Put and delete; of several for one key the last counts. One commit, and every index has caught up.

    Raises:
        ModelError: a text could not be embedded; nothing was written.
        EmbedderMismatch: another embedder made the bank's vectors.
        InvalidRequest: a value is no JSON.
    """
    last = {(write.namespace, write.key): write for write in writes}
    values = {key: value_text(write.value) for key, write in last.items() if isinstance(write, ItemPut)}
    if not last:
        return
    workers = bank.tools.workers
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
    """The units that a put item is found by: its texts, long ones in pieces. The same put gives the same units."""
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
    """What is to be written; texts that are there already are not embedded again."""
    tools, now = bank.tools, bank.tools.clock.now()
    known = tools.ledger.items.unit_ids(bank.name, list(last))
    units = {
        key: units_of(write, bank.name, now) for key, write in last.items() if isinstance(write, ItemPut)
    }
    given = _embedded([unit for some in units.values() for unit in some if unit.id not in known], bank)
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


def _embedded(units: Sequence[MemoryUnit], bank: BankContext) -> dict[str, UnitWrite]:
    if not units:
        return {}
    vectors = embed_units(units, bank.tools.embedder)
    return {
        unit.id: UnitWrite(unit, vector.astype("<f4").tobytes())
        for unit, vector in zip(units, vectors, strict=True)
    }


def _commit(bank: BankContext, writes: Sequence[ItemWrite | ItemDelete]) -> None:
    bank.tools.ledger.items.write(bank.name, writes, bank.tools.clock.now())
    bank.catch_up()
    scrub_many(bank)


def expire_items(bank: BankContext) -> int:
    """Erase what has expired, in the ledger and in every index; the files are scrubbed of it in batches. Writer thread only."""
    ledger = bank.tools.ledger
    expired = ledger.items.expire(bank.name, bank.tools.clock.now())
    if expired:
        bank.catch_up()
    return expired


def scrub_many(bank: BankContext) -> None:
    """Rewrite the files if enough was replaced or deleted. Writer thread only."""
    if bank.tools.ledger.items.residue(bank.name) >= SCRUB_AFTER:
        scrub_items(bank)


def scrub_items(bank: BankContext) -> None:
    """Rewrite the files, if values or texts were replaced or deleted since the last time. Writer thread only."""
    if bank.tools.ledger.items.begin_scrub(bank.name):
        finish_scrub(bank)


def forget_items(bank: BankContext, namespace: Namespace, key: str | None) -> int:
    """Erase an item, or with no key all under a prefix, in the ledger, every index and the files. Writer thread only."""
    forgotten = bank.tools.ledger.items.forget(bank.name, namespace, key)
    if forgotten:
        finish_scrub(bank)
    return forgotten


def finish_scrub(bank: BankContext) -> bool:
    """Every index writes what was removed, then the ledger's files are rewritten; whether nothing of it is left."""
    bank.catch_up()
    try:
        return bank.tools.ledger.erasure.scrub() is Scrub.CLEAN and not bank.problems()
    except LedgerFailed:
        return False  # a full disk: it is gone from every answer, its bytes go at the next scrub or the next open
