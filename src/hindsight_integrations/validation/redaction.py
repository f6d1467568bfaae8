"""Redaction: the caller's function replaces what must not be stored, before anything else sees a text."""

from __future__ import annotations

from collections.abc import Callable

from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.model.facts import ExtractedFact, FactPart

Redact = Callable[[str], str]


def redacted(text: str, redact: Redact | None) -> str:
    """The text as it may be stored.

    What the function raises is the caller's own, and stops the retain before anything is stored.

    Raises:
        InvalidRequest: the function returned something else than a string; nothing is stored.
    """
    if redact is None:
        return text
    safe = redact(text)
    if not isinstance(safe, str):
        raise InvalidRequest(
            "redact", f"it returned {type(safe).__name__}, so nothing was stored", "Make it return a string."
        )
    return safe


def redacted_fact(fact: ExtractedFact, redact: Redact | None) -> ExtractedFact:
    """A fact given by the caller, with its sentences, entities and records redacted.

    Raises:
        InvalidRequest: as in `redacted`.
    """
    if redact is None:
        return fact

    def of(part: FactPart, *names: str) -> dict[str, str]:
        return {
            name: redacted(value, redact) for name in names if isinstance(value := getattr(part, name), str)
        }

    return fact.model_copy(
        update={
            **of(fact, "what", "when", "where", "who", "why"),
            "entities": [each.model_copy(update=of(each, "text")) for each in fact.entities],
            "records": [each.model_copy(update=of(each, "category", "value")) for each in fact.records],
            "invalidates": [redacted(statement, redact) for statement in fact.invalidates],
        }
    )
