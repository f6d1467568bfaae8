"""Validation of metadata to store, and of filters on it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from hindsight_integrations.choices import choice
from hindsight_integrations.errors import InvalidRequest, shown
from hindsight_integrations.model.metadata import (
    OF_LISTS,
    OF_TEXT,
    ORDERED,
    GivenMetadata,
    MetadataCondition,
    MetadataFilter,
    MetadataGroup,
    MetadataOperator,
    MetadataScalar,
    MetadataTest,
    MetadataValue,
)
from hindsight_integrations.model.text import clean_text

MAX_METADATA = 16_384  # maximum bytes of keys and values together
MAX_FILTER_DEPTH = 8  # maximum nesting, as for tag_groups
MAX_FILTERS = 64  # maximum number of filters, as for tag lists in tag_groups
MAX_FILTER_VALUES = 10_000  # maximum for each of in, nin, any and all

_FORMS = (
    'Use {"channel": "mail"}, {"key": ..., "value": ..., "operator": ...}, '
    '{"filters": [...], "condition": "and"}, MetadataFilter, MetadataGroup, or a list of these.'
)


def checked_metadata(metadata: object) -> dict[str, MetadataValue]:
    """Normalise metadata: text, finite numbers, booleans and lists of them are kept; other values are converted to text.

    None is dropped, even in lists. Sets become lists, sorted by repr.

    Raises:
        InvalidRequest: the value is not a mapping, a number has too many digits, or keys and values together exceed 16 kB.
    """
    if not isinstance(metadata, Mapping):
        remedy = 'Pass a mapping: {"channel": "mail", "year": 2024}.'
        raise InvalidRequest("metadata", f"it is {type(metadata).__name__}, not a mapping", remedy)
    try:
        kept = {
            clean_text(str(key)): stored_value(value) for key, value in metadata.items() if value is not None
        }
        size = sum(len(key.encode()) + len(_written(value).encode()) for key, value in kept.items())
    except ValueError as error:
        raise InvalidRequest("metadata", str(error), "Pass strings.") from None
    if size > MAX_METADATA:
        raise InvalidRequest(
            "metadata", f"it has {size:,} bytes, over the limit of {MAX_METADATA:,}", "Store less."
        )
    return kept


def _written(value: MetadataValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def stored_value(value: object) -> MetadataValue:
    """Normalise one metadata value; see `checked_metadata`."""
    if isinstance(value, set | frozenset):
        value = sorted(value, key=repr)
    if isinstance(value, list | tuple):
        return [_stored_scalar(item) for item in value if item is not None]
    return _stored_scalar(value)


def _stored_scalar(value: object) -> MetadataScalar:
    if isinstance(value, str):
        return clean_text(str.__str__(value))  # the enum's value, not its name
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real) and math.isfinite(number := float(value)):
        return number
    return clean_text(str(value))


def checked_metadata_filter(given: GivenMetadata) -> MetadataTest | None:
    """Validate a filter on metadata and convert it to typed values; return None if it is empty.

    Args:
        given: a mapping of keys to required values, a typed filter or group, its JSON form, or a list of these, all of which
            must match. {"key": ..., "value": ...} and {"filters": [...]} are read as JSON forms.

    Raises:
        InvalidRequest: the form, an operator or a condition is unknown, a value is not valid for its operator, or there are
            too many or too deeply nested filters.
    """
    if given is None:
        return None
    checked = _condition(given, "metadata", 1)
    count = _count(checked)
    if count > MAX_FILTERS:
        raise InvalidRequest(
            "metadata",
            f"it has {count} filters, over the limit of {MAX_FILTERS}",
            "Use the operator `in` to compare one key with many values.",
        )
    return checked if count else None


def _condition(given: Any, place: str, depth: int) -> MetadataTest:  # noqa: ANN401 - any caller's type
    if depth > MAX_FILTER_DEPTH:
        reason = f"it is nested deeper than {MAX_FILTER_DEPTH} levels"
        raise InvalidRequest("metadata", reason, "Flatten it.")
    if isinstance(given, MetadataFilter):
        return _filter(given.key, given.value, given.operator, place)
    if isinstance(given, MetadataGroup):
        return _group(given.filters, given.condition, place, depth)
    if isinstance(given, Mapping):
        return _of_mapping(given, place, depth)
    if isinstance(given, Sequence) and not isinstance(given, str | bytes):
        return _group(given, MetadataCondition.AND, place, depth)
    raise InvalidRequest(place, f"{shown(given)} is not a condition on metadata", _FORMS)


def _of_mapping(given: Mapping[Any, Any], place: str, depth: int) -> MetadataTest:
    """Convert a filter or a group in JSON form, or a mapping of required values."""
    keys = given.keys()
    if "key" in keys and len(keys) > 1 and keys <= {"key", "value", "operator"}:
        return _filter(given["key"], given.get("value"), given.get("operator") or MetadataOperator.EQ, place)
    if keys <= {"filters", "condition"} and isinstance(given.get("filters"), list | tuple):
        return _group(given["filters"], given.get("condition") or MetadataCondition.AND, place, depth)
    equal = [_filter(key, value, MetadataOperator.EQ, f"{place}.{key}") for key, value in given.items()]
    return equal[0] if len(equal) == 1 else MetadataGroup(tuple(equal))


def _group(filters: Any, condition: Any, place: str, depth: int) -> MetadataGroup:  # noqa: ANN401
    if isinstance(filters, str | bytes) or not isinstance(filters, Sequence):
        raise InvalidRequest(f"{place}.filters", f"{shown(filters)} is not a list of filters", _FORMS)
    parts = [_condition(part, f"{place}[{at}]", depth + 1) for at, part in enumerate(filters)]
    return MetadataGroup(tuple(parts), choice(MetadataCondition, condition, f"{place}.condition"))


def _filter(key: Any, value: Any, operator: Any, place: str) -> MetadataFilter:  # noqa: ANN401
    if not isinstance(key, str) or not (name := clean_text(key)):
        raise InvalidRequest(f"{place}.key", f"{shown(key)} is not a key", "Pass the key as a str.")
    how = choice(MetadataOperator, operator, f"{place}.operator")
    if how is MetadataOperator.IS_EMPTY:
        return MetadataFilter(name, None, how)
    return MetadataFilter(name, _compared(value, how, f"{place}.value"), how)


def _compared(value: Any, operator: MetadataOperator, place: str) -> MetadataValue:  # noqa: ANN401
    """Normalise the value of a filter in the same way as stored values; lists become tuples."""
    listed = isinstance(value, list | tuple | set | frozenset)
    if operator in OF_LISTS:
        if not listed:
            raise _unfit(value, operator, place, "a list of text, numbers or booleans")
        if len(value) > MAX_FILTER_VALUES:
            reason = f"it has {len(value):,} values, over the limit of {MAX_FILTER_VALUES:,}"
            raise InvalidRequest(place, reason, "Pass fewer values.")
        return tuple(_scalar(item, operator, place) for item in value)
    if listed and operator in (MetadataOperator.EQ, MetadataOperator.NE):
        return tuple(_scalar(item, operator, place) for item in value)
    if operator in OF_TEXT and not isinstance(value, str):
        raise _unfit(value, operator, place, "text")
    return _scalar(value, operator, place)


def _scalar(value: Any, operator: MetadataOperator, place: str) -> MetadataScalar:  # noqa: ANN401
    if value is None:
        raise InvalidRequest(place, "it is None, which is never stored", "Use the operator `is_empty`.")
    accepted = "a number or text" if operator in ORDERED else "text, a number or a boolean"
    if not isinstance(value, str | bool | np.bool_ | Integral | Real):
        raise _unfit(value, operator, place, accepted)
    stored = _stored_scalar(value)
    if isinstance(stored, str) and not isinstance(value, str):
        raise _unfit(value, operator, place, accepted)
    return stored


def _unfit(value: object, operator: MetadataOperator, place: str, accepted: str) -> InvalidRequest:
    return InvalidRequest(
        place, f"{shown(value)} is not valid for the operator {operator.value}", f"Pass {accepted}."
    )


def _count(condition: MetadataTest) -> int:
    return 1 if isinstance(condition, MetadataFilter) else sum(map(_count, condition.filters))
