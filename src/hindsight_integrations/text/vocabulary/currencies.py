"""Currencies: symbols and names of the CLDR, as babel ships it, and codes as ISO 4217 codes."""

from __future__ import annotations

import re

from hindsight_integrations.model.records import singular_key
from hindsight_integrations.text.vocabulary.cldr import (
    currency_codes,
    currency_names,
    currency_of_country,
    currency_symbols,
)

_BARE = {  # names without their country, of the currency most often meant; a peso or a franc is nobody's in particular
    "dollar": "USD",
    "dólar": "USD",
    "buck": "USD",
    "yen": "JPY",
    "yuan": "CNY",
    "rupee": "INR",
}
_BARE_MONEY = {
    "pound": "GBP",
    "quid": "GBP",
    "sterling": "GBP",
    "pound sterling": "GBP",
    "libra": "GBP",
    "pfund": "GBP",
}
"""Weights too, unless it is known that money is meant."""
_OF_COUNTRY = re.compile(r"([A-Z]{2})\$")


def currency_of(name: str, *, money: bool = False) -> str | None:
    """The ISO 4217 code of a currency; None for anything else.

    "$" is the US dollar, as English writes it. A code counts in capitals; in small letters only where it is one of the
    widely written ones ("usd"), since others are words ("all", "cup", "pen", "try").

    Args:
        name: symbol, code or name in English, German or Spanish.
        money: it is known to be money: any code in small letters and "pound" count too.
    """
    if name in currency_codes():
        return name
    if found := currency_symbols().get(name):
        return found
    if dollar := _OF_COUNTRY.fullmatch(name):
        return currency_of_country(dollar[1])
    code, folded = name.upper(), name.casefold()
    if code in currency_codes() and (money or code in currency_symbols().values()):
        return code
    return (
        currency_names().get(folded)
        or _BARE.get(singular_key(folded))
        or (_BARE_MONEY.get(singular_key(folded)) if money else None)
    )


def may_be_written(code: str, sign: str) -> bool:
    """Whether a bare sign may mean this currency too: a Canadian writes "$" for Canadian dollars.

    Args:
        code: ISO 4217.
        sign: as written.
    """
    own = next((symbol for symbol, known in currency_symbols().items() if known == code), "")
    return sign in currency_symbols() and own.endswith(sign)
