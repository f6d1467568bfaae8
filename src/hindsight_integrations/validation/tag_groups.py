"""Validation of conditions on tags, as typed values or JSON, with a pydantic union."""

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
            f"it has {leaves} tag lists, over the limit of {MAX_GROUP_LEAVES}",
            "Combine tags with the same match mode in one list.",
        )
    return checked


def _checked_leaf_tags(tags: object, info: ValidationInfo) -> tuple[str, ...]:
    if isinstance(tags, str) or not isinstance(tags, Iterable):
        raise InvalidRequest("tags", f"{shown(tags)} is not a list of tags", "Pass a list of strings.")
    cleaned = checked_tags(tags)
    if not cleaned and info.data.get("match") is not TagsMatch.EXACT:
        raise InvalidRequest(
            "tags", "it is empty", "Pass at least one tag, or match='exact' to select untagged memories."
        )
    return cleaned


class _Leaf(BaseModel):
    match: Annotated[
        TagsMatch, PlainValidator(lambda value: choice(TagsMatch, value or TagsMatch.ANY_STRICT, "match"))
    ] = TagsMatch.ANY_STRICT
    tags: Annotated[tuple[str, ...], PlainValidator(_checked_leaf_tags)]


class _And(BaseModel):
    groups: _Conditions = Field(alias="and")


class _Or(BaseModel):
    groups: _Conditions = Field(alias="or")


class _Not(BaseModel):
    group: _Condition = Field(alias="not")


def _as_json(value: object) -> object:
    """Convert a typed value, or any mapping, to a dict for validation."""
    match value:
        case TagLeaf(tags=tags, match=match):
            return {"tags": tags, "match": match}
        case TagAnd(groups=groups):
            return {"and": groups}
        case TagOr(groups=groups):
            return {"or": groups}
        case TagNot(group=group):
            return {"not": group}
    return dict(value) if isinstance(value, Mapping) else value


def _form(value: object) -> str | None:
    """Return the kind of a condition in JSON form, by its keys; None if unknown."""
    if not isinstance(value, Mapping):
        return None
    if "tags" in value:
        return "tags" if value.keys() <= {"tags", "match"} else None
    return str(next(iter(value))) if len(value) == 1 else None


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
    """Convert pydantic's first error to an InvalidRequest with the place, the reason and the valid forms."""
    where, value = _place(problem["loc"]), problem["input"]
    context: Any = problem.get("ctx", {})
    if isinstance(cause := context.get("error"), InvalidRequest):
        return InvalidRequest(where, cause.reason, cause.remedy)
    match problem["type"]:
        case "recursion_depth_exceeded":
            return _too_deep()
        case "too_long":
            reason = f"it has {context['actual_length']} conditions, over the limit of {MAX_GROUP_LEAVES}"
            return InvalidRequest(where, reason, "Use fewer.")
        case "tuple_type" | "too_short":
            return InvalidRequest(where, f"{shown(value)} is not a list of conditions", _FORMS)
    return InvalidRequest(where, f"{shown(value)} is not a condition on tags", _FORMS)


def _too_deep() -> InvalidRequest:
    return InvalidRequest("tag_groups", f"it is nested deeper than {MAX_GROUP_DEPTH} levels", "Flatten it.")


def _place(location: tuple[int | str, ...]) -> str:
    """Format a location like an expression, such as `tag_groups[0].and[1].match`."""
    place, of_union = "tag_groups", False
    for part in location:
        if isinstance(part, int):
            place += f"[{part}]"
        elif of_union := not of_union:
            continue  # pydantic names the union's tag before each field
        else:
            place += f".{part}"
    return place
