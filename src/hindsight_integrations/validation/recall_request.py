"""A recall's options, checked once and turned into the value the pipeline takes. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, tzinfo
from typing import Any

from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.model.requests import (
    Budget,
    GivenGroup,
    GivenScores,
    MinScores,
    RecallQuery,
    TagAnd,
    TagGroup,
    TagLeaf,
    TagNot,
    TagOr,
    TagsMatch,
)
from hindsight_integrations.model.time import as_utc
from hindsight_integrations.model.units import FactType
from hindsight_integrations.ports.clock import Clock
from hindsight_integrations.validation.arguments import Moment, as_choice, as_state, as_types, as_window
from hindsight_integrations.validation.limits import (
    MAX_QUERY,
    checked_count,
    checked_moment,
    checked_tags,
    checked_text,
)

MAX_GROUP_DEPTH = 8  # levels of tag_groups, leaves included
MAX_GROUP_LEAVES = 64  # as many as MAX_TAGS

_GROUP_FORMS = 'Use {"tags": [...], "match": ...}, {"and": [...]}, {"or": [...]}, {"not": {...}}, or TagLeaf and its like.'
_SCORE_RANGES = {"semantic": (-1.0, 1.0), "keyword": (0.0, math.inf), "reranker": (0.0, 1.0)}


@dataclass(frozen=True, slots=True)
class RecallOptions:
    """How much to recall, and how; see `AsyncMemoryBank.recall`."""

    max_tokens: int
    budget: Budget | str
    k: int | None
    trace: bool


@dataclass(frozen=True, slots=True)
class AskedFilters:
    """Which memories may be returned; see `AsyncMemoryBank.recall`."""

    types: Iterable[FactType | str]
    tags: Iterable[str]
    tags_match: TagsMatch | str
    tag_groups: GivenGroup | Sequence[GivenGroup]
    include_invalidated: bool
    min_scores: GivenScores


@dataclass(frozen=True, slots=True)
class AskedTimes:
    """Times of a recall; see `AsyncMemoryBank.recall`."""

    window: tuple[datetime | str, datetime | str] | None
    as_of: datetime | str | None
    query_timestamp: Moment


@dataclass(frozen=True, slots=True)
class AskedExtras:
    """What to return besides the memories: (whether, token budget); see `AsyncMemoryBank.recall`."""

    entities: tuple[bool, int]
    chunks: tuple[bool, int]
    source_facts: tuple[bool, int]


@dataclass(frozen=True, slots=True)
class AskedRecall:
    """One recall as it was asked for."""

    text: str
    options: RecallOptions
    filters: AskedFilters
    times: AskedTimes
    extras: AskedExtras


def recall_query(asked: AskedRecall, *, clock: Clock, zone: tzinfo) -> RecallQuery:
    """A recall, checked.

    Raises:
        InvalidRequest: an option is out of range.
    """
    options, filters, times, extras = asked.options, asked.filters, asked.times, asked.extras
    asked_at = checked_moment(times.query_timestamp, "query_timestamp") or clock.now()
    return RecallQuery(
        text=checked_text(asked.text, "query", MAX_QUERY),
        query_timestamp=as_utc(asked_at, zone),
        max_tokens=checked_count(options.max_tokens, "max_tokens"),
        budget=as_choice(Budget, options.budget, "budget"),
        types=as_types(filters.types),
        tags=checked_tags(filters.tags),
        tags_match=as_choice(TagsMatch, filters.tags_match, "tags_match"),
        window=as_window(times.window, zone),
        as_of=as_state(times.as_of, zone),
        include_invalidated=filters.include_invalidated,
        k=None if options.k is None else checked_count(options.k, "k", most=10_000),
        tag_groups=checked_tag_groups(filters.tag_groups),
        min_scores=checked_min_scores(filters.min_scores),
        entity_tokens=_budget(extras.entities, "max_entity_tokens"),
        chunk_tokens=_budget(extras.chunks, "max_chunk_tokens"),
        source_fact_tokens=_budget(extras.source_facts, "max_source_fact_tokens"),
        trace=options.trace,
    )


def _budget(extra: tuple[bool, int], field: str) -> int:
    """What an extra may cost; 0 if it is not wanted."""
    wanted, tokens = extra
    return checked_count(tokens, field) * bool(wanted)


def checked_tag_groups(given: GivenGroup | Sequence[GivenGroup]) -> tuple[TagGroup, ...]:
    """Conditions on tags as typed values with cleaned tags; one condition stands for a list of it.

    Args:
        given: typed values or their JSON form (notes/upstream 1.4); all must hold.

    Raises:
        InvalidRequest: a condition has no known form, names no tags, or there are too many or too deep ones.
    """
    groups = [given] if isinstance(given, Mapping | TagLeaf | TagAnd | TagOr | TagNot) else given
    checked = _parts(groups, "tag_groups", 1) if groups else ()
    leaves = sum(map(_leaves, checked))
    if leaves > MAX_GROUP_LEAVES:
        raise InvalidRequest(
            "tag_groups",
            f"there are {leaves} tag lists in it, over the limit of {MAX_GROUP_LEAVES}",
            "Put tags that share a mode into one list.",
        )
    return checked


def _parts(given: object, where: str, depth: int) -> tuple[TagGroup, ...]:
    """The conditions of a list that must have some."""
    if isinstance(given, str) or not isinstance(given, Sequence) or not given:
        raise InvalidRequest(where, f"{given!r} is not a list of conditions", _GROUP_FORMS)
    if len(given) > MAX_GROUP_LEAVES:
        raise InvalidRequest(
            where, f"there are {len(given)}, over the limit of {MAX_GROUP_LEAVES}", "Use fewer."
        )
    return tuple(_group(part, f"{where}[{place}]", depth) for place, part in enumerate(given))


def _group(given: object, where: str, depth: int) -> TagGroup:
    if depth > MAX_GROUP_DEPTH:
        raise InvalidRequest(where, f"it is nested deeper than {MAX_GROUP_DEPTH} levels", "Flatten it.")
    kind, inner, match = _taken_apart(given, where)
    if kind == "tags":
        return _leaf(inner, match, where)
    if kind == "not":
        return TagNot(_group(inner, f"{where}.not", depth + 1))
    combined = TagAnd if kind == "and" else TagOr
    return combined(_parts(inner, f"{where}.{kind}", depth + 1))


def _taken_apart(given: object, where: str) -> tuple[str, Any, TagsMatch | str]:
    """(tags | and | or | not, what stands under it, the leaf's mode) of either form."""
    strict = TagsMatch.ANY_STRICT
    if isinstance(given, TagLeaf):
        return "tags", given.tags, given.match
    if isinstance(given, TagNot):
        return "not", given.group, strict
    if isinstance(given, TagAnd | TagOr):
        return ("and" if isinstance(given, TagAnd) else "or"), given.groups, strict
    if isinstance(given, Mapping):
        kind = next(iter(given), "")
        if given.keys() <= {"tags", "match"} and "tags" in given:
            return "tags", given["tags"], given.get("match") or strict
        if given.keys() == {kind} and kind in ("and", "or", "not"):
            return kind, given[kind], strict
    raise InvalidRequest(where, f"{given!r} is not a condition on tags", _GROUP_FORMS)


def _leaf(tags: Any, match: TagsMatch | str, where: str) -> TagLeaf:  # noqa: ANN401 - JSON; checked here
    if isinstance(tags, str) or not isinstance(tags, Iterable):
        raise InvalidRequest(f"{where}.tags", f"{tags!r} is not a list of tags", "Pass a list of strings.")
    chosen = as_choice(TagsMatch, match, f"{where}.match")
    cleaned = checked_tags(tags)
    if not cleaned and chosen is not TagsMatch.EXACT:
        raise InvalidRequest(
            f"{where}.tags", "it is empty", "Name a tag; untagged memories are those of match 'exact'."
        )
    return TagLeaf(cleaned, chosen)


def _leaves(group: TagGroup) -> int:
    if isinstance(group, TagLeaf):
        return 1
    return _leaves(group.group) if isinstance(group, TagNot) else sum(map(_leaves, group.groups))


def checked_min_scores(given: GivenScores) -> MinScores:
    """Thresholds as a typed value.

    Raises:
        InvalidRequest: a stage is not known, or a threshold is no number that stage can give.
    """
    stages = [field.name for field in fields(MinScores)]
    if given is None:
        return MinScores()
    if not isinstance(given, MinScores | Mapping):
        raise InvalidRequest("min_scores", f"{given!r} is no mapping", 'Pass MinScores or {"reranker": 0.3}.')
    values = given if isinstance(given, Mapping) else {name: getattr(given, name) for name in stages}
    unknown = [name for name in values if name not in stages]
    if unknown:
        raise InvalidRequest("min_scores", f"{unknown[0]!r} is no stage", f"Use: {', '.join(stages)}.")
    return MinScores(**{name: _threshold(values.get(name), name) for name in stages})


def _threshold(value: object, stage: str) -> float | None:
    if value is None:
        return None
    least, most = _SCORE_RANGES.get(stage, (-math.inf, math.inf))
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not math.isfinite(float(value)) or not least <= float(value) <= most:  # type: ignore[arg-type] # a number by then
        raise InvalidRequest(
            f"min_scores.{stage}",
            f"{value!r} is not a number from {least:g} to {most:g}",
            "Choose one there.",
        )
    return float(value)  # type: ignore[arg-type] # as above
