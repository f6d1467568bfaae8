"""Times, texts and other fields as other systems write them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

_FRACTION = re.compile(r"(\.\d{6})\d+")
_MILLISECONDS_FROM = 1e11  # seconds until the year 5138; a larger number is of milliseconds


def moment(given: object) -> datetime | None:
    """A time as text (ISO 8601) or a number (seconds or milliseconds since 1970); UTC where it names no zone; None if it is none."""
    if isinstance(given, datetime):
        return given if given.tzinfo else given.replace(tzinfo=UTC)
    if isinstance(given, bool) or given is None:
        return None
    try:
        if isinstance(given, int | float):
            return datetime.fromtimestamp(given / 1000 if given > _MILLISECONDS_FROM else given, UTC)
        found = datetime.fromisoformat(_FRACTION.sub(r"\1", str(given).strip()))
    except (ValueError, OverflowError, OSError):
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def statement(value: object) -> str:
    """What a value says, in readable text: a text as it is, a mapping as "name: value" in a line each."""
    if isinstance(value, str):
        return value.strip()
    return "\n".join(f"{name}: {text}" if name else text for name, text in _leaves(value, ""))


def _leaves(value: object, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _leaves(each, f"{name} {key}".strip().replace("_", " "))
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _leaves(each, name)
    elif value is not None and value != "":
        yield name, str(value).strip()
