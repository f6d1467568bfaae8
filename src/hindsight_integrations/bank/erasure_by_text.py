"""What people say is to be forgotten ("Frank's phone number"), as the memories and identifiers it means."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from hindsight_integrations.bank.context import BankContext
from hindsight_integrations.bank.entities import entities_named
from hindsight_integrations.errors import InvalidRequest, shown
from hindsight_integrations.model.erasure import Erasure, identifiers_in, kind_words
from hindsight_integrations.model.names import normalise_name
from hindsight_integrations.model.text import normalised_text
from hindsight_integrations.model.units import FactType, MemoryUnit, UnitKind
from hindsight_integrations.search.channels.selection import Selection
from hindsight_integrations.search.columns import of_types
from hindsight_integrations.search.embedding import embedded
from hindsight_integrations.search.hybrid import hybrid_search
from hindsight_integrations.text.language import Language, language_of
from hindsight_integrations.text.names import designations
from hindsight_integrations.text.stems import content_stems

_MINE = re.compile(r"(?:my|our|mein|meine[nmrs]?|unser|unsere[nmrs]?|mi|mis|nuestr[oa]s?)\b", re.IGNORECASE)
LOOKED_AT = 200  # memories nearest to what is said, by meaning and by words each
NAMED = 0.75  # share of the words said, names apart, that a memory must have: what is erased cannot be brought back
LONGEST_NAME = 4  # words
MOST = 50  # memories that one description may mean; whoever means more names them otherwise


async def erasure_of(bank: BankContext, text: str) -> Erasure:
    """The erasure that a text describes: its identifiers, or an entity of that name, or the memories that tell of it.

    Raises:
        InvalidRequest: nothing in the bank is like that, or too much is.
    """
    text = _meant(text, bank.tools.languages)
    if given := identifiers_in(text):
        return Erasure(identifiers=tuple(sorted(given)))
    tools = bank.tools
    language = language_of(text, tools.languages)
    known = await tools.workers.read(entities_named, tools.ledger, bank.name, text)
    if known or _is_name(text):
        return Erasure(entity=text if known else None, told=(normalise_name(text),))
    if not content_stems(text, language):
        raise InvalidRequest(
            "text", f"{shown(text)} names nothing", "Say whose what; everything=True is all the bank knows."
        )
    async with bank.viewing() as view:

        def look() -> list[MemoryUnit]:
            columns = view.columns
            mask = of_types(columns, tuple(FactType))
            (vector,) = embedded([text], tools.embedder)
            ids, _ = hybrid_search(view, Selection(mask, int(mask.sum())), text, vector, limit=LOOKED_AT)
            return [
                unit
                for unit in view.ledger.units.get(view.bank, np.sort(ids)).values()
                if unit.kind is not UnitKind.ITEM
            ]

        found = [unit for unit in await tools.workers.read(look) if tells_of(text, unit.text, language)]
    if _MINE.match(text):  # "my birthday" is not Mia's
        phrase = normalised_text(text)
        found = [unit for unit in found if phrase in normalised_text(unit.text)] or found
    if not found:
        raise InvalidRequest(
            "text",
            f"no memory tells of {shown(text)}",
            "Use the memories' own words, or pass unit= or entity=.",
        )
    if len(found) > MOST:
        raise InvalidRequest(
            "text",
            f"{len(found)} memories tell of {shown(text)}",
            "Say it more exactly, or pass entity= or window=.",
        )
    return Erasure(units=tuple(unit.id for unit in found), identifiers=_identifiers(text, found, language))


def _meant(text: str, languages: Sequence[Language]) -> str:
    """What is to be forgotten without "everything you know about"."""
    for language in languages:
        if found := language.asking.all_about.match(text):
            return text[found.end() :].strip(" .!") or text
    return text


def _is_name(text: str) -> bool:
    """Whether a text is a name and nothing else: a few words with capitals or figures, no possessive."""
    words = text.split()
    letters = [word for word in words if not word.isdigit()]
    plain = all(word.replace("-", "").isalnum() and (word[0].isupper() or word.isdigit()) for word in words)
    return bool(letters) and len(words) <= LONGEST_NAME and plain


def tells_of(description: str, text: str, language: Language) -> bool:
    """Whether a memory tells of what is described: it has every name of it, and most of its other words. Pure.

    An identifier stands for what people call it, "phone number" or "card".

    Args:
        description: what is to be forgotten.
        text: of a memory.
        language: of both.
    """
    words, told = content_stems(description, language), set(content_stems(text, language))
    for identifier in identifiers_in(text):
        told |= content_stems(" ".join(kind_words(identifier)), language)
    names = frozenset(
        stem
        for name in designations(description, language)
        for stem in content_stems(" ".join(name), language)
    )
    if not names <= told:
        return False
    others = words - names
    return not others or len(others & told) >= NAMED * len(others)


def _identifiers(text: str, found: Sequence[MemoryUnit], language: Language) -> tuple[str, ...]:
    """Identifiers of the memories that are what is described, so that they go wherever else they stand."""
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
