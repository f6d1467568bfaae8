"""How memories are forgotten for good, and what would be. Blocking; the bank's verb runs it on the writer thread."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import NoReturn

from hindsight_integrations.bank.context import BankContext
from hindsight_integrations.bank.entities import entities_named, entity_named
from hindsight_integrations.errors import InvalidRequest, LedgerFailed, shown
from hindsight_integrations.ledger.values import Scrub
from hindsight_integrations.model.entities import Entity
from hindsight_integrations.model.erasure import Erasure, ForgetReceipt, looks_like_a_name
from hindsight_integrations.model.names import normalise_name

LISTED = 20  # names an error shows
NOBODY = ""  # the id of no entity


def erased(bank: BankContext, erasure: Erasure) -> ForgetReceipt:
    """Erase, in the ledger, then in every index, then in the files.

    Raises:
        InvalidRequest: the bank holds nothing of that id, or the entity holds names that may be others'.
    """
    ledger = bank.tools.ledger
    receipt = ledger.erasure.erase(bank.name, _decided(bank, erasure))
    if not receipt.counts:
        _check_found(bank, erasure)
        return receipt
    bank.projection.catch_up()
    healthy = not bank.projection.problems()
    try:
        scrubbed = ledger.erasure.scrub() is Scrub.CLEAN
    except LedgerFailed:
        scrubbed = (
            False  # a full disk: the memories are gone, their bytes go at the next erasure or the next open
        )
    return replace(receipt, files_clean=scrubbed and healthy)


def foreseen(bank: BankContext, erasure: Erasure) -> ForgetReceipt:
    """What the same erasure would erase, with names.

    Raises:
        InvalidRequest: what the erasure would raise.
    """
    receipt = bank.tools.ledger.erasure.erase(bank.name, _decided(bank, erasure), dry_run=True)
    if not receipt.counts:
        _check_found(bank, erasure)
    return replace(receipt, names=(*receipt.names, *erasure.identifiers))


def _check_found(bank: BankContext, erasure: Erasure) -> None:
    """A window may be empty, and so may a bank; a name or id that stands for nothing is a mistake worth hearing of."""
    if erasure.entity is not None:
        entity_named(bank.tools.ledger, bank.name, erasure.entity)
    if erasure.told and erasure.entity is None:
        raise InvalidRequest("text", f"no memory names {shown(erasure.told[0])}", "Check how it is written.")
    if erasure.identifiers:
        raise InvalidRequest("text", "no memory has that number or address", "Check how it is written.")
    if erasure.units:
        raise InvalidRequest("units", "the bank holds nothing of these ids", "Check the ids.")
    named = ("unit", erasure.unit), ("document", erasure.document), ("message", erasure.message)
    for field, name in named:
        if name is not None:
            raise InvalidRequest(field, f"the bank holds nothing of id {shown(name)}", "Check the id.")


def _decided(bank: BankContext, erasure: Erasure) -> Erasure:
    """The erasure with the entity's id, and with the names that are meant where that is not all of it."""
    if erasure.entity is None:
        return erasure
    ledger = bank.tools.ledger
    if not erasure.names and not entities_named(ledger, bank.name, erasure.entity):
        # No memory mentions it as an entity; their texts and turns may name it ("LH100").
        name = normalise_name(erasure.entity)
        told = (*erasure.told, name) if looks_like_a_name(erasure.entity) else erasure.told
        return replace(erasure, entity=NOBODY, names=(name,), told=told)
    entity = entity_named(ledger, bank.name, erasure.entity)
    if erasure.told:
        erasure = replace(erasure, told=(*erasure.told, *ledger.entities.exact_names(bank.name, entity.id)))
    written = Counter(normalise_name(text) for _, text in ledger.entities.mention_texts(bank.name, entity.id))
    if erasure.names:
        wanted = _known(erasure.names, {*entity.names, *written})
        meant = () if {*entity.names, *written} <= set(wanted) else wanted
        return replace(erasure, entity=entity.id, names=meant)
    exact = ledger.entities.exact_names(bank.name, entity.id)
    if alike := {name: count for name, count in written.items() if name not in exact}:
        own = {name: written[name] for name in entity.names if name in exact}
        _refuse(entity, own, alike)
    # A sentence may begin with the name, where it was not seen to be one; so its texts are searched if nobody else bears it.
    own_alone = (name for name in exact if len(entities_named(ledger, bank.name, name)) == 1)
    return replace(erasure, entity=entity.id, told=tuple(dict.fromkeys((*erasure.told, *own_alone))))


def _known(names: tuple[str, ...], known: set[str]) -> tuple[str, ...]:
    for name in names:
        if name not in known:
            reason = f"{shown(name)} is not one of its names: {', '.join(sorted(known)[:LISTED])}"
            raise InvalidRequest("names", reason, "Pass names that entities.list() shows.")
    return names


def _refuse(entity: Entity, own: dict[str, int], alike: dict[str, int]) -> NoReturn:
    raise InvalidRequest(
        "entity",
        f"{entity.name!r} also holds names that were taken for its own because they look alike, and may be others': "
        f"{_counted(alike)}; certainly its own: {_counted(own)}",
        f"Nothing was erased. Pass names={[*own]} to forget these alone, add others that mean the same, or part them "
        "first by entities.split; entities.alias says that a name is its own.",
    )


def _counted(names: dict[str, int]) -> str:
    shown = [f"{name!r} ({count} memories)" for name, count in list(names.items())[:LISTED]]
    return ", ".join(shown) + (f" and {len(names) - LISTED} more" if len(names) > LISTED else "")
