"""Requests: the options of the verbs, checked once and turned into the values the pipelines take. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from enum import StrEnum
from typing import Any, TypeAlias, TypeVar

from pydantic import ValidationError

from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.limits import (
    checked_metadata,
    checked_moment,
    checked_tags,
    checked_text,
    clean_text,
)
from hindsight_integrations.model.entities import EntityMention
from hindsight_integrations.model.facts import ExtractedFact
from hindsight_integrations.model.time import Interval, as_utc
from hindsight_integrations.model.units import FactType
from hindsight_integrations.ports.clock import Clock
from hindsight_integrations.tempr.retain.intake import Content, take_in
from hindsight_integrations.tempr.retain.preparation import RetainRequest

Choice = TypeVar("Choice", bound=StrEnum)
Moment: TypeAlias = datetime | str | float | None


@dataclass(frozen=True, slots=True)
class Source:
    """What the caller says of what is to be retained; see `AsyncMemoryBank.retain`."""

    timestamp: Moment
    thread: str
    document_id: str | None
    context: str
    entities: Sequence[str]
    tags: Iterable[str]
    metadata: Mapping[str, object]
    append: bool = False


def retain_request(
    content: Content,
    source: Source,
    facts: Iterable[ExtractedFact | Mapping[str, Any]] | None,
    *,
    bank: str,
    clock: Clock,
    zone: tzinfo,
) -> RetainRequest:
    """A retain, checked.

    Raises:
        InvalidRequest: the input is empty, over a limit or inconsistent.
    """
    now = as_utc(checked_moment(source.timestamp, "timestamp") or clock.now(), zone)
    thread = clean_text(source.thread)
    return RetainRequest(
        intake=take_in(
            content,
            now=now,
            zone=zone,
            thread=thread,
            document_id=source.document_id,
            append=source.append,
        ),
        append=source.append,
        bank=bank,
        zone=zone,
        now=now,
        thread=thread,
        context=clean_text(source.context),
        tags=checked_tags(source.tags),
        metadata=checked_metadata(source.metadata),
        entities=tuple(EntityMention(checked_text(name, "entity", 512)) for name in source.entities),
        facts=None if facts is None else tuple(checked_fact(fact, n) for n, fact in enumerate(facts)),
    )


def checked_fact(fact: ExtractedFact | Mapping[str, Any], position: int) -> ExtractedFact:
    """A fact somebody else extracted, with cleaned text.

    Raises:
        InvalidRequest: it does not fit the schema.
    """
    try:
        parsed = ExtractedFact.model_validate(fact)
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(str(part) for part in problem["loc"]) or "fact"
        raise InvalidRequest(
            f"facts[{position}]", f"{where}: {problem['msg']}", "Use the ExtractedFact schema."
        ) from error
    texts = {name: clean_text(getattr(parsed, name)) for name in ("what", "when", "where", "who", "why")}
    return parsed.model_copy(update=texts)


def as_types(values: Iterable[FactType | str]) -> tuple[FactType, ...]:
    """The networks asked for; a single name stands for itself.

    Raises:
        InvalidRequest: there is none, or one is not known.
    """
    kinds = [values] if isinstance(values, str) else list(values)
    if not kinds:
        raise InvalidRequest("types", "it is empty", "Name at least one network, or leave it out.")
    return tuple(as_choice(FactType, kind, "types") for kind in kinds)


def as_choice(kind: type[Choice], value: Choice | str, field: str) -> Choice:
    """The member of a closed set that a value names.

    Raises:
        InvalidRequest: it names none; the error lists them.
    """
    try:
        return kind(value)
    except ValueError:
        known = ", ".join(kind)
        raise InvalidRequest(field, f"{value!r} is not a known choice", f"Use one of: {known}.") from None


def as_state(moment: datetime | str | None, zone: tzinfo) -> datetime | None:
    """The moment of an `as_of` in UTC; naive ones are read in `zone`; None means now.

    Raises:
        InvalidRequest: it cannot be read.
    """
    state = checked_moment(moment, "as_of")
    return as_utc(state, zone) if state else None


def as_window(bounds: tuple[datetime | str, datetime | str] | None, zone: tzinfo) -> Interval | None:
    """The caller's (start, end) as an interval; naive times are read in `zone`.

    Raises:
        InvalidRequest: a bound is missing or unreadable, or it ends before it starts.
    """
    if bounds is None:
        return None
    start, end = (checked_moment(bound, "window") for bound in bounds)
    if start is None or end is None:
        raise InvalidRequest("window", "a bound is missing", "Pass (start, end).")
    return Interval(as_utc(start, zone), as_utc(end, zone))
