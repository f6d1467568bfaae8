"""`bank.maintenance`: reindex a bank and list edits. Also resolves and runs erasures for `forget`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import NoReturn

import numpy as np

from hindsight_integrations.bank.context import BankContext, BankVerbs, writes
from hindsight_integrations.bank.entities import entities_named, entity_named
from hindsight_integrations.bank.open_banks import OpenBanks
from hindsight_integrations.bank.unit_changes import stored_unit
from hindsight_integrations.config import RetentionConfig
from hindsight_integrations.errors import (
    BankNotFound,
    InvalidRequest,
    LedgerFailed,
    LedgerUnreachable,
    MemoryDamaged,
    shown,
)
from hindsight_integrations.indexes.columns import of_types
from hindsight_integrations.indexes.embedding import embed_units, embedded
from hindsight_integrations.indexes.hybrid import Selection, hybrid_search
from hindsight_integrations.language.language import Language, language_of
from hindsight_integrations.language.names import designations
from hindsight_integrations.language.stems import content_stems
from hindsight_integrations.ledger.values import Scrub
from hindsight_integrations.model.entities import Entity
from hindsight_integrations.model.erasure import (
    BankCopy,
    Erasure,
    ForgetReceipt,
    identifiers_in,
    kind_words,
    looks_like_a_name,
)
from hindsight_integrations.model.names import normalise_name
from hindsight_integrations.model.text import normalised_text
from hindsight_integrations.model.units import FactType, MemoryUnit, UnitKind
from hindsight_integrations.services import Services
from hindsight_integrations.validation.arguments import checked_unit_id

_MINE = re.compile(r"(?:my|our|mein|meine[nmrs]?|unser|unsere[nmrs]?|mi|mis|nuestr[oa]s?)\b", re.IGNORECASE)
# Number of candidates for a description from semantic search, and as many from keyword search.
LOOKED_AT = 200
# Minimum share of the description's words, without names, in a memory; high, because erasure is final.
NAMED = 0.75
LONGEST_NAME = 4  # maximum number of words of a name
MOST = 50  # maximum number of memories that a description may match


async def erasure_of(bank: BankContext, text: str) -> Erasure:
    """Resolve a description of what to forget to identifiers, to an entity, or to the matching memories.

    Raises:
        InvalidRequest: no memory or too many memories match.
    """
    text = _meant(text, bank.services.languages)
    if given := identifiers_in(text):
        return Erasure(identifiers=tuple(sorted(given)))
    services = bank.services
    language = language_of(text, services.languages)
    known = await services.workers.read(entities_named, services.ledger, bank.name, text)
    if known or _is_name(text):
        return Erasure(entity=text if known else None, told=(normalise_name(text),))
    if not content_stems(text, language):
        raise InvalidRequest(
            "text",
            f"{shown(text)} has no content words",
            "Describe the memories, or pass everything=True to erase all of them.",
        )
    async with bank.viewing() as view:

        def look() -> list[MemoryUnit]:
            columns = view.columns
            mask = of_types(columns, tuple(FactType))
            (vector,) = embedded([text], services.embedder)
            ids, _ = hybrid_search(view, Selection(mask, int(mask.sum())), text, vector, limit=LOOKED_AT)
            return [
                unit
                for unit in view.ledger.units.get(view.bank, np.sort(ids)).values()
                if unit.kind is not UnitKind.ITEM
            ]

        units = [unit for unit in await services.workers.read(look) if tells_of(text, unit.text, language)]
    if _MINE.match(text):  # "my birthday" must not match "Mia's birthday"
        phrase = normalised_text(text)
        units = [unit for unit in units if phrase in normalised_text(unit.text)] or units
    if not units:
        raise InvalidRequest(
            "text",
            f"no memory matches {shown(text)}",
            "Use the memories' own words, or pass unit= or entity=.",
        )
    if len(units) > MOST:
        raise InvalidRequest(
            "text",
            f"{len(units)} memories match {shown(text)}, over the limit of {MOST}",
            "Use a more specific description, or pass entity= or window=.",
        )
    return Erasure(units=tuple(unit.id for unit in units), identifiers=_identifiers(text, units, language))


def _meant(text: str, languages: Sequence[Language]) -> str:
    """Remove phrases such as "everything you know about" from a description of what to forget."""
    for language in languages:
        if found := language.asking.all_about.match(text):
            return text[found.end() :].strip(" .!") or text
    return text


def _is_name(text: str) -> bool:
    """Check whether a text is only a name: a few words with capitals or digits, and no possessive."""
    words = text.split()
    letters = [word for word in words if not word.isdigit()]
    plain = all(word.replace("-", "").isalnum() and (word[0].isupper() or word.isdigit()) for word in words)
    return bool(letters) and len(words) <= LONGEST_NAME and plain


def tells_of(description: str, text: str, language: Language) -> bool:
    """Check whether a memory matches a description: it contains all its names and most of its other words.

    An identifier in the memory also matches words for its kind, such as "phone number" or "card".
    """
    words, memory_stems = content_stems(description, language), set(content_stems(text, language))
    for identifier in identifiers_in(text):
        memory_stems |= content_stems(" ".join(kind_words(identifier)), language)
    names = frozenset(
        stem
        for name in designations(description, language)
        for stem in content_stems(" ".join(name), language)
    )
    if not names <= memory_stems:
        return False
    others = words - names
    return not others or len(others & memory_stems) >= NAMED * len(others)


def _identifiers(text: str, found: Sequence[MemoryUnit], language: Language) -> tuple[str, ...]:
    """Return identifiers in these memories whose kind the description names; they are then erased everywhere."""
    words = content_stems(text, language)
    return tuple(
        sorted(
            {
                identifier
                for unit in found
                for identifier in identifiers_in(unit.text)
                if words & content_stems(" ".join(kind_words(identifier)), language)
            }
        )
    )


LISTED = 20  # maximum number of names listed in an error
NOBODY = ""  # an id that no entity has


def erased(bank: BankContext, erasure: Erasure) -> ForgetReceipt:
    """Erase memories from the ledger, then from every index, then from the files.

    Raises:
        InvalidRequest: nothing in the bank has that id, or the entity has names that may belong to others.
    """
    ledger = bank.services.ledger
    receipt = ledger.erasure.erase(bank.name, _decided(bank, erasure))
    if not receipt.counts:
        _check_found(bank, erasure)
        return receipt
    bank.catch_up()
    healthy = not bank.projection.problems()
    try:
        scrubbed = ledger.erasure.scrub() is Scrub.CLEAN
    except LedgerFailed:
        # The disk is full. The memories are erased; the next erasure or opening removes their bytes.
        scrubbed = False
    return replace(receipt, files_clean=scrubbed and healthy, copies=_confirmed(bank, receipt.copies))


def _confirmed(bank: BankContext, copies: tuple[BankCopy, ...]) -> tuple[BankCopy, ...]:
    """Return the current state of a bank's copies, after this process has confirmed its own."""
    try:
        return bank.services.ledger.copies.of(bank.name) if copies else ()
    except LedgerUnreachable:  # report the copies as of the committed erasure
        return copies


def foreseen(bank: BankContext, erasure: Erasure) -> ForgetReceipt:
    """Return the receipt that an erasure would have, without running it (dry run).

    Raises:
        InvalidRequest: as in `erased`.
    """
    receipt = bank.services.ledger.erasure.erase(bank.name, _decided(bank, erasure), dry_run=True)
    if not receipt.counts:
        _check_found(bank, erasure)
    return replace(receipt, names=(*receipt.names, *erasure.identifiers))


def _check_found(bank: BankContext, erasure: Erasure) -> None:
    """Raise InvalidRequest if a name or id matches nothing. An empty window or bank is not an error."""
    if erasure.entity is not None:
        entity_named(bank.services.ledger, bank.name, erasure.entity)
    if erasure.told and erasure.entity is None:
        raise InvalidRequest("text", f"no memory mentions {shown(erasure.told[0])}", "Check the spelling.")
    if erasure.identifiers:
        raise InvalidRequest(
            "text", "no memory contains that number or email address", "Check it for typing errors."
        )
    if erasure.units:
        raise InvalidRequest("units", "the bank contains none of these ids", "Check the ids.")
    named = ("unit", erasure.unit), ("document", erasure.document), ("message", erasure.message)
    for field, name in named:
        if name is not None:
            raise InvalidRequest(field, f"the bank does not contain the id {shown(name)}", "Check the id.")


def _decided(bank: BankContext, erasure: Erasure) -> Erasure:
    """Return the erasure completed with the entity's id and the names by which memories and texts are selected."""
    if erasure.entity is None:
        return erasure
    ledger = bank.services.ledger
    if not erasure.names and not entities_named(ledger, bank.name, erasure.entity):
        # No entity has this name, but texts and turns may contain it ("LH100").
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
    # Extraction may miss a name, for example at the start of a sentence, so unambiguous names are searched in texts.
    own_alone = (name for name in exact if len(entities_named(ledger, bank.name, name)) == 1)
    return replace(erasure, entity=entity.id, told=tuple(dict.fromkeys((*erasure.told, *own_alone))))


def _known(names: tuple[str, ...], known: set[str]) -> tuple[str, ...]:
    for name in names:
        if name not in known:
            reason = f"{shown(name)} is not one of its names: {', '.join(sorted(known)[:LISTED])}"
            raise InvalidRequest("names", reason, "Pass names from entities.list().")
    return names


def _refuse(entity: Entity, own: dict[str, int], alike: dict[str, int]) -> NoReturn:
    raise InvalidRequest(
        "entity",
        f"{entity.name!r} has names that were assigned to it by similarity and may belong to other entities: "
        f"{_counted(alike)}; its certain names are: {_counted(own)}",
        f"Nothing was erased. Pass names={[*own]} to forget only the certain names, add other names that mean this entity, split "
        "names off with entities.split, or confirm a name with entities.alias.",
    )


def _counted(names: dict[str, int]) -> str:
    shown = [f"{name!r} ({count} memories)" for name, count in list(names.items())[:LISTED]]
    return ", ".join(shown) + (f" and {len(names) - LISTED} more" if len(names) > LISTED else "")


class AsyncMaintenance(BankVerbs):
    """Reindexing, and the log of edits."""

    namespace = "maintenance"

    @writes
    async def reindex(self) -> int:
        """Embed every memory again with the engine's embedder, for example after changing it.

        Returns:
            The number of memories embedded.

        Raises:
            InvalidRequest: the engine was opened read-only.
            ModelError: a memory could not be embedded; nothing was changed.
            MemoryDamaged: a memory is damaged; nothing was changed.
        """
        return await self._context.services.workers.write(self._reembed)

    async def edits(self, unit_id: str) -> list[tuple[datetime, tuple[str, ...]]]:
        """List the edits of a memory: the time and the changed fields, oldest first.

        Args:
            unit_id: the memory's id.

        Raises:
            InvalidRequest: the bank has no memory with that id.
        """
        context, services = self._context, self._context.services
        known = checked_unit_id(unit_id)
        await services.workers.read(stored_unit, context, known)
        return list(await services.workers.read(services.ledger.units.edits, context.name, known))

    def _reembed(self) -> int:
        context, services = self._context, self._context.services
        context.catch_up()
        ids = context.projection.view().columns.ids
        stored = services.ledger.units.get(context.name, ids)
        if len(stored) < len(ids):
            raise MemoryDamaged(context.name, services.ledger.units.damaged(context.name, ids))
        units = [stored[int(row)] for row in ids]
        vectors = embed_units(units, services.embedder)
        services.ledger.set_embedder(context.name, services.embedder.identity, ids, vectors)
        context.projection.reembedded()
        return len(ids)


def forget_expired(bank: BankContext) -> int:
    """Erase memories and turns that are older than `RetentionConfig` allows; return the number of memories."""
    settings, now = bank.services.config.retention, bank.services.clock.now()
    age = settings.age_in(bank.name)
    ages = {"": age} if age is not None else {}
    ages |= {tag: timedelta(days=days) for tag, days in settings.tags.items()}
    chosen = (Erasure(before=now - age, tags=(tag,) if tag else ()) for tag, age in ages.items())
    return sum(len(erased(bank, erasure).unit_ids) for erasure in chosen)


async def forget_expired_everywhere(services: Services, banks: OpenBanks) -> None:
    """Erase memories past their retention period, in all banks."""
    if services.config.retention == RetentionConfig():
        return
    for header in await services.workers.read(services.ledger.banks):
        with suppress(BankNotFound):  # the bank was forgotten after the names were read
            context = BankContext(header, banks, services)
            await context.services.workers.write(forget_expired, context)
