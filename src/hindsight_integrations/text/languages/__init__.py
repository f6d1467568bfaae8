"""The languages we know, a folder each. Another language is another folder and a line here."""

from __future__ import annotations

from collections.abc import Iterable

from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.text.language import Language
from hindsight_integrations.text.languages.de import GERMAN
from hindsight_integrations.text.languages.en import ENGLISH
from hindsight_integrations.text.languages.es import SPANISH
from hindsight_integrations.text.times.written import is_foreign_language

LANGUAGES: dict[str, Language] = {language.code: language for language in (ENGLISH, GERMAN, SPANISH)}


def languages_of(codes: Iterable[str]) -> tuple[Language, ...]:
    """The languages that codes name; of one without a folder here only written dates are read.

    Args:
        codes: ISO 639-1, of those with a folder and those that `dateparser` knows.

    Raises:
        InvalidRequest: one is unknown; the error names those that are known.
    """
    return tuple(_language(code) for code in codes)


def is_known_language(code: str) -> bool:
    """Whether a language has a folder here, or at least its dates can be read.

    Args:
        code: ISO 639-1, two small letters.
    """
    return code in LANGUAGES or is_foreign_language(code)


def _language(code: str) -> Language:
    if code in LANGUAGES:
        return LANGUAGES[code]
    if not is_known_language(code):
        known = ", ".join(sorted(LANGUAGES))
        remedy = f"Use one of: {known}; or another code of ISO 639-1, of which dates are read."
        raise InvalidRequest("languages", f"{code!r} is not a known language", remedy)
    return Language(code=code)
