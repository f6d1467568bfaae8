"""Validation of conditions on tags, as typed values or JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hindsight_integrations.choices import choice
from hindsight_integrations.errors import InvalidRequest, shown
from hindsight_integrations.model.requests import (
    GivenGroup,
    TagAnd,
    TagGroup,
    TagLeaf,
    TagNot,
    TagOr,
    TagsMatch,
)
from hindsight_integrations.validation.limits import checked_tags

MAX_GROUP_DEPTH = 8  # maximum nesting of tag_groups, leaves included
MAX_GROUP_LEAVES = 64  # maximum number of tag lists, as for MAX_TAGS

_FORMS = 'Use {"tags": [...], "match": ...}, {"and": [...]}, {"or": [...]}, {"not": {...}}, or TagLeaf, TagAnd, TagOr or TagNot.'


def checked_tag_groups(value: GivenGroup | Sequence[GivenGroup]) -> tuple[TagGroup, ...]:
    """Validate conditions on tags and clean the tags; a single condition is accepted.

    Args:
        value: the conditions as typed values, JSON or a mix of both; all must match.

    Raises:
        InvalidRequest: a condition has an unknown form or no tags, or there are too many or too deeply nested conditions.
    """
    groups = [value] if isinstance(value, Mapping | TagLeaf | TagAnd | TagOr | TagNot) else value
    if not groups:
        return ()
    checked = _conditions(groups, "tag_groups", 1)
    leaves = sum(map(_leaves, checked))
    if leaves > MAX_GROUP_LEAVES:
        raise InvalidRequest(
            "tag_groups",
            f"it has {leaves} tag lists, over the limit of {MAX_GROUP_LEAVES}",
            "Combine tags with the same match mode in one list.",
        )
    return checked


def _conditions(given: object, place: str, depth: int) -> tuple[TagGroup, ...]:
    parts = list(given) if isinstance(given, Iterable) else []
    if not parts or isinstance(given, str | bytes | Mapping):
        raise InvalidRequest(place, f"{shown(given)} is not a list of conditions", _FORMS)
    if len(parts) > MAX_GROUP_LEAVES:
        reason = f"it has {len(parts)} conditions, over the limit of {MAX_GROUP_LEAVES}"
        raise InvalidRequest(place, reason, "Use fewer.")
    return tuple(_condition(part, f"{place}[{at}]", depth) for at, part in enumerate(parts))


def _condition(given: object, place: str, depth: int) -> TagGroup:
    if depth > MAX_GROUP_DEPTH:
        reason = f"it is nested deeper than {MAX_GROUP_DEPTH} levels"
        raise InvalidRequest("tag_groups", reason, "Flatten it.")
    is_leaf = isinstance(given, Mapping) and given.keys() <= {"tags", "match"}
    if not isinstance(given, Mapping) or is_leaf or len(given) == 1:
        match given:
            case TagLeaf(tags, match):
                return _leaf(tags, match, place)
            case {"tags": tags, **others}:
                return _leaf(tags, others.get("match"), place)
            case TagAnd(groups) | {"and": groups}:
                return TagAnd(_conditions(groups, f"{place}.and", depth + 1))
            case TagOr(groups) | {"or": groups}:
                return TagOr(_conditions(groups, f"{place}.or", depth + 1))
            case TagNot(group) | {"not": group}:
                return TagNot(_condition(group, f"{place}.not", depth + 1))
    raise InvalidRequest(place, f"{shown(given)} is not a condition on tags", _FORMS)


def _leaf(tags: object, match: Any, place: str) -> TagLeaf:  # noqa: ANN401 - any caller's value
    mode = choice(TagsMatch, match or TagsMatch.ANY_STRICT, f"{place}.match")
    if isinstance(tags, str) or not isinstance(tags, Iterable):
        raise InvalidRequest(
            f"{place}.tags", f"{shown(tags)} is not a list of tags", "Pass a list of strings."
        )
    try:
        cleaned = checked_tags(tags)
    except InvalidRequest as error:
        raise InvalidRequest(f"{place}.tags", error.reason, error.remedy) from None
    if not cleaned and mode is not TagsMatch.EXACT:
        remedy = "Pass at least one tag, or match='exact' to select untagged memories."
        raise InvalidRequest(f"{place}.tags", "it is empty", remedy)
    return TagLeaf(cleaned, mode)


def _leaves(group: TagGroup) -> int:
    if isinstance(group, TagLeaf):
        return 1
    return _leaves(group.group) if isinstance(group, TagNot) else sum(map(_leaves, group.groups))
