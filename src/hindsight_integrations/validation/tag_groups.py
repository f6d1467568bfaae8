"""Conditions on tags as callers write them, typed or as JSON. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hindsight_integrations.choices import choice
from hindsight_integrations.errors import InvalidRequest
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

MAX_GROUP_DEPTH = 8  # levels of tag_groups, leaves included
MAX_GROUP_LEAVES = 64  # as many as MAX_TAGS

_GROUP_FORMS = 'Use {"tags": [...], "match": ...}, {"and": [...]}, {"or": [...]}, {"not": {...}}, or TagLeaf and its like.'


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
    chosen = choice(TagsMatch, match, f"{where}.match")
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
