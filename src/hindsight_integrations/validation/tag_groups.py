"""Conditions on tags as callers write them, typed or as JSON, read by a pydantic union. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Discriminator,
    Field,
    PlainValidator,
    Tag,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
)
from pydantic_core import ErrorDetails

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

MAX_GROUP_DEPTH = 8  # levels of tag_groups, leaves included
MAX_GROUP_LEAVES = 64  # as many as MAX_TAGS

_FORMS = 'Use {"tags": [...], "match": ...}, {"and": [...]}, {"or": [...]}, {"not": {...}}, or TagLeaf and its like.'


def checked_tag_groups(given: GivenGroup | Sequence[GivenGroup]) -> tuple[TagGroup, ...]:
    """Conditions on tags as typed values with cleaned tags; one condition stands for a list of it.

    Args:
        given: typed values, their JSON form, or both mixed; all must hold.

    Raises:
        InvalidRequest: a condition has no known form, names no tags, or there are too many or too deep ones.
    """
    groups = [given] if isinstance(given, Mapping | TagLeaf | TagAnd | TagOr | TagNot) else given
    if not groups:
        return ()
    try:
        checked: tuple[TagGroup, ...] = _CONDITIONS.validate_python(groups)
    except ValidationError as error:
        raise _refusal(error.errors()[0]) from None
    sizes = [_depth_and_leaves(group) for group in checked]
    if max(depth for depth, _ in sizes) > MAX_GROUP_DEPTH:
        raise _too_deep()
    leaves = sum(leaves for _, leaves in sizes)
    if leaves > MAX_GROUP_LEAVES:
        raise InvalidRequest(
            "tag_groups",
            f"there are {leaves} tag lists in it, over the limit of {MAX_GROUP_LEAVES}",
            "Put tags that share a mode into one list.",
        )
    return checked


def _checked_leaf_tags(tags: object, info: ValidationInfo) -> tuple[str, ...]:
    if isinstance(tags, str) or not isinstance(tags, Iterable):
        raise InvalidRequest("tags", f"{shown(tags)} is not a list of tags", "Pass a list of strings.")
    cleaned = checked_tags(tags)
    if not cleaned and info.data.get("match") is not TagsMatch.EXACT:
        raise InvalidRequest(
            "tags", "it is empty", "Name a tag; untagged memories are those of match 'exact'."
        )
    return cleaned


class _Leaf(BaseModel):
    match: Annotated[
        TagsMatch, PlainValidator(lambda given: choice(TagsMatch, given or TagsMatch.ANY_STRICT, "match"))
    ] = TagsMatch.ANY_STRICT
    tags: Annotated[tuple[str, ...], PlainValidator(_checked_leaf_tags)]


class _And(BaseModel):
    groups: _Conditions = Field(alias="and")


class _Or(BaseModel):
    groups: _Conditions = Field(alias="or")


class _Not(BaseModel):
    group: _Condition = Field(alias="not")


def _as_json(given: object) -> object:
    """A typed value, or any mapping, as the dict that is then checked."""
    match given:
        case TagLeaf(tags=tags, match=match):
            return {"tags": tags, "match": match}
        case TagAnd(groups=groups):
            return {"and": groups}
        case TagOr(groups=groups):
            return {"or": groups}
        case TagNot(group=group):
            return {"not": group}
    return dict(given) if isinstance(given, Mapping) else given


def _form(given: object) -> str | None:
    """Which condition a JSON form is, by its keys; None if it is none."""
    if not isinstance(given, Mapping):
        return None
    if "tags" in given:
        return "tags" if given.keys() <= {"tags", "match"} else None
    return str(next(iter(given))) if len(given) == 1 else None


_Condition = Annotated[
    Annotated[_Leaf, AfterValidator(lambda form: TagLeaf(form.tags, form.match)), Tag("tags")]
    | Annotated[_And, AfterValidator(lambda form: TagAnd(form.groups)), Tag("and")]
    | Annotated[_Or, AfterValidator(lambda form: TagOr(form.groups)), Tag("or")]
    | Annotated[_Not, AfterValidator(lambda form: TagNot(form.group)), Tag("not")],
    Discriminator(_form),
    BeforeValidator(_as_json),
]
_Conditions = Annotated[tuple[_Condition, ...], Field(min_length=1, max_length=MAX_GROUP_LEAVES)]
_CONDITIONS: TypeAdapter[Any] = TypeAdapter(_Conditions)


def _depth_and_leaves(group: TagGroup) -> tuple[int, int]:
    if isinstance(group, TagLeaf):
        return 1, 1
    parts = [group.group] if isinstance(group, TagNot) else group.groups
    depths, leaves = zip(*map(_depth_and_leaves, parts), strict=True)
    return 1 + max(depths), sum(leaves)


def _refusal(problem: ErrorDetails) -> InvalidRequest:
    """What pydantic found first: where, what is wrong there, and the forms there are."""
    where, given = _place(problem["loc"]), problem["input"]
    context: Any = problem.get("ctx", {})
    if isinstance(cause := context.get("error"), InvalidRequest):
        return InvalidRequest(where, cause.reason, cause.remedy)
    match problem["type"]:
        case "recursion_depth_exceeded":
            return _too_deep()
        case "too_long":
            reason = f"there are {context['actual_length']}, over the limit of {MAX_GROUP_LEAVES}"
            return InvalidRequest(where, reason, "Use fewer.")
        case "tuple_type" | "too_short":
            return InvalidRequest(where, f"{shown(given)} is not a list of conditions", _FORMS)
    return InvalidRequest(where, f"{shown(given)} is not a condition on tags", _FORMS)


def _too_deep() -> InvalidRequest:
    return InvalidRequest("tag_groups", f"it is nested deeper than {MAX_GROUP_DEPTH} levels", "Flatten it.")


def _place(location: tuple[int | str, ...]) -> str:
    """A place as Python writes it, `tag_groups[0].and[1].match`."""
    place, of_union = "tag_groups", False
    for part in location:
        if isinstance(part, int):
            place += f"[{part}]"
        elif of_union := not of_union:
            continue  # pydantic names the union's tag before each field
        else:
            place += f".{part}"
    return place
