"""Limits of requests, and functions that check them. The limits were chosen by hand, far above normal use."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from hindsight_integrations.errors import InvalidRequest, shown
from hindsight_integrations.language.dates import is_ambiguous, parse_timestamp
from hindsight_integrations.model.facts import ExtractedFact, FactPart
from hindsight_integrations.model.text import clean_text, is_storable
from hindsight_integrations.model.time import DateOrder

_UNIX = re.compile(r"-?\d{9,19}(?:\.\d+)?")  # number of digits of a Unix time
MAX_TEXT = 1_000_000  # characters of one message or document
MAX_QUERY = 8_000  # characters
MAX_BANK_ID = 512  # characters
MAX_TAGS = 64
MAX_TAG = 256  # characters
MAX_TOKENS = 10_000_000
MAX_NAME = 200  # characters of an agent's name
MAX_BACKGROUND = 4_000  # characters of an agent's background, which is part of the prompt of every answer
MAX_MENTAL_MODELS = 100  # per bank, because every question is compared with all of them
MAX_MODEL_TOKENS = 8_192  # tokens of a mental model's text
MAX_DIRECTIVES = 50  # per bank, because those that apply are part of every prompt
MAX_DIRECTIVE = 1_000  # characters


def checked_text(text: object, field: str, limit: int = MAX_TEXT) -> str:
    """Return the cleaned text.

    Raises:
        InvalidRequest: the value is not text, is empty after cleaning, or is over the limit.
    """
    if not isinstance(text, str):
        raise InvalidRequest(field, f"it is {type(text).__name__}, not text", "Pass a str.")
    if len(text) > limit:
        raise InvalidRequest(
            field, f"it has {len(text):,} characters, over the limit of {limit:,}", "Split it."
        )
    cleaned = clean_text(text)
    if not cleaned:
        raise InvalidRequest(field, "it is empty", "Pass some text.")
    return cleaned


def checked_words(text: object, field: str) -> str:
    """Return the cleaned text of an option that may be empty.

    Raises:
        InvalidRequest: the value is not text.
    """
    if not isinstance(text, str):
        raise InvalidRequest(field, f"it is {type(text).__name__}, not text", 'Pass a str; "" means none.')
    return clean_text(text)


def checked_name(name: object, field: str) -> str:
    """Return a cleaned one-line name.

    Raises:
        InvalidRequest: the name is not text, empty, too long, or has several lines.
    """
    cleaned = checked_text(name, field, MAX_NAME)
    if len(cleaned.splitlines()) > 1:
        raise InvalidRequest(field, "it has several lines", "Pass a name of one line.")
    return cleaned


def checked_list(value: object, field: str) -> list[Any]:
    """Return the items of a list or another iterable.

    Raises:
        InvalidRequest: the value is a str, bytes or mapping, or not iterable.
    """
    if isinstance(value, str | bytes | Mapping):
        raise InvalidRequest(field, f"{shown(value)} is a single {type(value).__name__}", "Pass a list.")
    if not isinstance(value, Iterable) or isinstance(value, type):
        raise InvalidRequest(field, f"it is {type(value).__name__}, not a list", "Pass a list.")
    return list(value)


def checked_id(value: object, field: str) -> str | None:
    """Validate an id, whether it exists or not; None stays None.

    Raises:
        InvalidRequest: the id is not text, or contains characters that cannot be stored.
    """
    if value is None:
        return None
    if not isinstance(value, str) or not is_storable(value):
        kind = "text that cannot be stored" if isinstance(value, str) else type(value).__name__
        raise InvalidRequest(field, f"it is {kind}, not an id", "Pass one id, as a str.")
    return value


def checked_bank_id(name: object) -> str:
    """Validate the name of a bank. Slashes and letters of any script are allowed, because folders are named after its hash.

    Raises:
        InvalidRequest: the name is not text, empty, over 512 characters, or contains characters that cannot be stored.
    """
    if not isinstance(name, str) or not name.strip():
        raise InvalidRequest("bank id", f"{shown(name)} is not a name", "Pass a non-empty str.")
    if len(name) > MAX_BANK_ID:
        raise InvalidRequest(
            "bank id",
            f"it has {len(name)} characters, over the limit of {MAX_BANK_ID}",
            "Shorten or hash it.",
        )
    if not is_storable(name):
        raise InvalidRequest(
            "bank id", "it has control characters or lone surrogates", "Use printable characters."
        )
    return name


def checked_tags(tags: object) -> tuple[str, ...]:
    """Return cleaned, distinct, sorted tags.

    Raises:
        InvalidRequest: the value is not a list, has too many tags, or a tag is empty or too long.
    """
    if isinstance(tags, str):
        raise InvalidRequest("tags", f"{shown(tags)} is a single string", "Pass a list of strings.")
    cleaned = sorted({checked_text(tag, "tag", MAX_TAG) for tag in checked_list(tags, "tags")})
    if len(cleaned) > MAX_TAGS:
        raise InvalidRequest(
            "tags", f"there are {len(cleaned)}, over the limit of {MAX_TAGS}", "Use fewer tags."
        )
    return tuple(cleaned)


def checked_flag(value: object, field: str) -> bool:
    """Validate a boolean.

    Raises:
        InvalidRequest: the value is not a boolean.
    """
    if isinstance(value, bool):
        return value
    raise InvalidRequest(field, f"{shown(value)} is not a boolean", "Use True or False.")


def checked_moment(moment: object, field: str, *, date_order: DateOrder | None = None) -> datetime | None:
    """Convert a time to a datetime, which stays naive if it has no zone; None stays None.

    Args:
        moment: a datetime, an ISO 8601 string, a Unix time as a number or text (in seconds; values from 100 billion in milli-,
            micro- or nanoseconds), or a time in the format of JavaScript, e-mails or chat exports.
        field: the argument's name, for errors.
        date_order: order of day and month in numeric dates; None rejects ambiguous dates.

    Raises:
        InvalidRequest: the time cannot be parsed, is ambiguous, or is outside the years 1 to 9999.
    """
    if moment is None or isinstance(moment, datetime):
        return moment
    remedy = "Pass a datetime or an ISO 8601 string between years 1 and 9999."
    try:
        if isinstance(moment, str) and (read := parse_timestamp(moment, date_order=date_order)):
            return read
        number = float(moment) if isinstance(moment, str) and _UNIX.fullmatch(moment.strip()) else moment
        if isinstance(number, int | float) and not isinstance(number, bool) and math.isfinite(number):
            return datetime.fromtimestamp(in_seconds(number), tz=UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise InvalidRequest(field, f"{shown(moment)} cannot be read as a time", remedy) from error
    if isinstance(moment, str) and is_ambiguous(moment):
        order = "Set `date_order` in the configuration, or pass a datetime or an ISO 8601 string."
        raise InvalidRequest(field, f"{shown(moment)} is ambiguous: day and month could be swapped", order)
    if isinstance(moment, str):
        raise InvalidRequest(field, f"{shown(moment)} cannot be read as a time", remedy)
    raise InvalidRequest(field, f"{shown(moment)} is not a time", remedy)


def in_seconds(unix: float) -> float:
    """Convert a Unix time to seconds. Its size determines the unit: 100 billion seconds would be the year 5138.

    Args:
        unix: time in seconds, milliseconds, microseconds or nanoseconds.
    """
    smaller = sum(abs(unix) >= least for least in (1e11, 1e14, 1e17))
    return float(unix / 1000**smaller)


def checked_count(value: object, field: str, *, least: int = 1, most: int = MAX_TOKENS) -> int:
    """Validate an integer between `least` and `most`.

    Raises:
        InvalidRequest: the value is not a whole number, or out of range.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InvalidRequest(
            field,
            f"{shown(value)} is not a whole number from {least} to {most:,}",
            "Choose one in that range.",
        )
    return value


Redact = Callable[[str], str]


def redacted(text: str, redact: Redact | None) -> str:
    """Apply the caller's redaction function to a text.

    An exception raised by the function propagates, and nothing is stored.

    Raises:
        InvalidRequest: the function did not return a string. Nothing is stored.
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
    """Redact the sentences, entities and records of a fact that the caller supplied.

    Raises:
        InvalidRequest: as for `redacted`.
    """
    if redact is None:
        return fact

    def redacted_fields(part: FactPart, *names: str) -> dict[str, str]:
        return {
            name: redacted(value, redact) for name in names if isinstance(value := getattr(part, name), str)
        }

    return fact.model_copy(
        update={
            **redacted_fields(fact, "what", "when", "where", "who", "why"),
            "entities": [
                entity.model_copy(update=redacted_fields(entity, "text")) for entity in fact.entities
            ],
            "records": [
                record.model_copy(update=redacted_fields(record, "category", "value"))
                for record in fact.records
            ],
            "invalidates": [redacted(statement, redact) for statement in fact.invalidates],
        }
    )
