"""The languages that codes name: those of `languages/`, and bare ones of which only written dates are read."""

from __future__ import annotations

from collections.abc import Iterable

from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.text.foreign_dates import is_known_language
from hindsight_integrations.text.language import Language
from hindsight_integrations.text.languages import LANGUAGES


def languages_of(codes: Iterable[str]) -> tuple[Language, ...]:
    """The languages that codes name.

    Args:
        codes: ISO 639-1.

    Raises:
        InvalidRequest: one is unknown; the error names those that have a folder.
    """
    return tuple(_language(code) for code in codes)


def _language(code: str) -> Language:
    if code in LANGUAGES:
        return LANGUAGES[code]
    if is_known_language(code):
        return Language(code=code)
    known = ", ".join(sorted(LANGUAGES))
    raise InvalidRequest(
        "languages", f"{code!r} is not a known language", f"Use {known}, or another code of ISO 639-1."
    )
