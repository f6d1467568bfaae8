"""Options that several verbs share: networks, moments, windows, paths and files."""

from __future__ import annotations

import os
from datetime import datetime
from io import BufferedIOBase, RawIOBase
from pathlib import Path
from typing import IO, TypeAlias

from hindsight_integrations.choices import choice
from hindsight_integrations.errors import InvalidRequest, shown
from hindsight_integrations.model.profile import BankProfile
from hindsight_integrations.model.text import is_storable
from hindsight_integrations.model.time import Interval, LocalDates, as_utc
from hindsight_integrations.model.units import FactType
from hindsight_integrations.validation.limits import (
    MAX_BACKGROUND,
    MAX_NAME,
    checked_id,
    checked_list,
    checked_moment,
)

Target: TypeAlias = str | Path | IO[str]


def checked_types(types: object) -> tuple[FactType, ...]:
    """The networks to search; a single name stands for itself.

    Raises:
        InvalidRequest: there is none, or one is not known.
    """
    kinds = [types] if isinstance(types, str) else checked_list(types, "types")
    if not kinds:
        raise InvalidRequest("types", "it is empty", "Name at least one network, or leave it out.")
    return tuple(choice(FactType, kind, "types") for kind in kinds)


def checked_instant(moment: object, field: str, dates: LocalDates) -> datetime | None:
    """A moment as the caller wrote it, in UTC; None stays None.

    Args:
        moment: a datetime, a timestamp or a Unix time in seconds.
        field: its name, for the error.
        dates: how it is read.

    Raises:
        InvalidRequest: it cannot be read.
    """
    given = checked_moment(moment, field, date_order=dates.order)
    return as_utc(given, dates.zone) if given else None


def checked_window(bounds: object, dates: LocalDates) -> Interval | None:
    """The caller's (start, end) as an interval.

    Raises:
        InvalidRequest: a bound is missing or unreadable, or it ends before it starts.
    """
    if bounds is None:
        return None
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise InvalidRequest(
            "window",
            f"{shown(bounds)} is not (start, end)",
            'Pass two times, ("2024-05-01", "2024-06-01").',
        )
    start, end = (checked_instant(bound, "window", dates) for bound in bounds)
    if start is None or end is None:
        raise InvalidRequest("window", "a bound is missing", "Pass (start, end).")
    return Interval(start, end)


def checked_unit_id(given: object) -> str:
    """The id of a memory, as the caller wrote it.

    Raises:
        InvalidRequest: it is no text, or none that can be stored.
    """
    remedy = "Pass the id of a memory, a str that recall or retain gave."
    if not isinstance(given, str):
        raise InvalidRequest("unit_id", f"it is {type(given).__name__}, not an id", remedy)
    return checked_id(given, "unit_id") or ""


def checked_profile(given: object) -> BankProfile:
    """A profile that may be stored: what every profile is, and texts within limits.

    Raises:
        InvalidRequest: it is no profile; its name is blank or of several lines; its name or background is too long or
            cannot be stored.
    """
    if not isinstance(given, BankProfile):
        raise InvalidRequest("profile", f"it is {type(given).__name__}", "Pass a BankProfile.")
    for field, text, limit in (
        ("profile.name", given.name, MAX_NAME),
        ("profile.background", given.background, MAX_BACKGROUND),
    ):
        if len(text) > limit:
            reason = f"it has {len(text):,} characters, over the limit of {limit:,}"
            raise InvalidRequest(field, reason, "Shorten it; what the agent is to know can be retained.")
        if text and not text.strip():
            raise InvalidRequest(field, "it is blank", 'Write something, or pass "" for none.')
        if not is_storable(text):
            raise InvalidRequest(field, "it has control characters or lone surrogates", "Remove them.")
    if len(given.name.splitlines()) > 1:
        raise InvalidRequest("profile.name", "it has several lines", "Pass a name of one line.")
    return given


def checked_path(given: object, field: str) -> Path:
    """A path, with `~` filled in; whether anything is there is not looked at.

    Raises:
        InvalidRequest: it is none, or one that no file can have.
    """
    remedy = "Pass a str or a Path that names a file or folder."
    if not isinstance(given, str | os.PathLike):
        raise InvalidRequest(field, f"it is {type(given).__name__}, no path", remedy)
    try:
        path = Path(given).expanduser()
        name = os.fsencode(path)
    except (TypeError, UnicodeEncodeError, RuntimeError) as error:
        raise InvalidRequest(field, f"it cannot be the name of a file ({error})", remedy) from None
    if b"\0" in name or str(given) == "":
        raise InvalidRequest(field, "it is empty or holds a null character", remedy)
    return path


def checked_file(given: object, field: str, method: str) -> Path | IO[str]:
    """A path, or an open text file.

    Args:
        given: by the caller.
        field: the argument, for errors.
        method: what a file must have: "read" or "write".

    Raises:
        InvalidRequest: it is neither.
    """
    if isinstance(given, str | os.PathLike):
        return checked_path(given, field)
    remedy = "Pass a path or an open text file."
    if not callable(getattr(given, method, None)):
        raise InvalidRequest(field, f"it is {type(given).__name__}, no path and no file", remedy)
    if isinstance(given, RawIOBase | BufferedIOBase):
        raise InvalidRequest(field, "it is a file of bytes", remedy)
    if getattr(given, "closed", False):
        raise InvalidRequest(field, "the file is closed", remedy)
    file: IO[str] = given  # type: ignore[assignment] # as far as can be seen
    return file
