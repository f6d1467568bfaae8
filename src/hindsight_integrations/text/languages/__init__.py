"""The languages we know, a folder each. Another language is another folder and a line here."""

from __future__ import annotations

from collections.abc import Iterable

from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.text.language import Language
from hindsight_integrations.text.languages.de import GERMAN
from hindsight_integrations.text.languages.en import ENGLISH
from hindsight_integrations.text.languages.es import SPANISH

LANGUAGES: dict[str, Language] = {language.code: language for language in (ENGLISH, GERMAN, SPANISH)}


def languages_of(codes: Iterable[str]) -> tuple[Language, ...]:
    """The languages that codes name.

    Args:
        codes: ISO 639-1.

    Raises:
        InvalidRequest: one is unknown; the error names those that are known.
    """
    return tuple(_language(code) for code in codes)


def _language(code: str) -> Language:
    if code not in LANGUAGES:
        known = ", ".join(sorted(LANGUAGES))
        raise InvalidRequest("languages", f"{code!r} is not a known language", f"Use one of: {known}.")
    return LANGUAGES[code]
