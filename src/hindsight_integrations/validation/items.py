"""Validation of items: namespaces, keys, JSON values, and filters on them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import timedelta
from math import isfinite
from typing import Any, NoReturn, TypeAlias

from hindsight_integrations.errors import InvalidRequest, shown
from hindsight_integrations.model.items import ItemDelete, ItemKey, ItemPut, Namespace
from hindsight_integrations.model.text import clean_text
from hindsight_integrations.validation.limits import MAX_TEXT, checked_list

MOST_LABELS = 1_000
LONGEST_NAME = 1_024  # maximum characters of a label or key
LONGEST_VALUE = 10_000_000  # maximum characters of a serialised value
DEEPEST = 100  # maximum nesting of a value; the JSON encoder fails at about a thousand levels


def checked_namespace(value: object, *, prefix: bool = False) -> Namespace:
    """Validate the labels of a namespace.

    Args:
        value: a tuple or list of labels.
        prefix: whether the namespace may be empty, as a prefix of all namespaces.

    Raises:
        InvalidRequest: the value is not a namespace, or a label is empty, too long or cannot be stored.
    """
    if not isinstance(value, tuple | list):
        raise InvalidRequest(
            "namespace",
            f"{shown(value)} is not a tuple of labels",
            'Pass a tuple of str: ("memories", "alice").',
        )
    if not value and not prefix:
        raise InvalidRequest("namespace", "it is empty", "Pass at least one label.")
    if len(value) > MOST_LABELS:
        raise InvalidRequest(
            "namespace",
            f"it has {len(value)} labels, over the limit of {MOST_LABELS}",
            "Move some of them into the key.",
        )
    return tuple(_checked_name(label, "namespace", "label") for label in value)


def checked_key(value: object) -> str:
    """Validate the key of an item.

    Raises:
        InvalidRequest: the key is not text, empty, too long or cannot be stored.
    """
    return _checked_name(value, "key", "key")


def checked_item_key(value: object) -> ItemKey:
    """Validate a pair of namespace and key.

    Raises:
        InvalidRequest: the value is not a pair of a namespace and a key.
    """
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise InvalidRequest(
            "keys", f"{shown(value)} is not a (namespace, key)", "Pass pairs of a namespace and a key."
        )
    return checked_namespace(value[0]), checked_key(value[1])


def checked_write(value: object) -> ItemPut | ItemDelete:
    """Validate an item to put or delete. Its value is validated when it is serialised.

    Raises:
        InvalidRequest: the value is neither ItemPut nor ItemDelete, or a part of it cannot be stored.
    """
    if not isinstance(value, ItemPut | ItemDelete):
        raise InvalidRequest(
            "writes", f"{type(value).__name__} is not a write", "Pass ItemPut or ItemDelete."
        )
    namespace, key = checked_namespace(value.namespace), checked_key(value.key)
    if isinstance(value, ItemDelete):
        return ItemDelete(namespace, key)
    texts = tuple(_checked_text(text) for text in checked_list(value.texts, "texts"))
    return ItemPut(namespace, key, value.value, tuple(text for text in texts if text), checked_ttl(value.ttl))


def checked_ttl(value: object) -> timedelta | None:
    """Validate an item's time to live.

    Raises:
        InvalidRequest: the value is not a timedelta, not positive, or over 1,000 years.
    """
    if value is None:
        return None
    if not isinstance(value, timedelta):
        raise InvalidRequest(
            "ttl", f"{shown(value)} is not a timedelta", "Pass a timedelta, or None for no limit."
        )
    if not timedelta(0) < value <= timedelta(days=365_000):
        raise InvalidRequest(
            "ttl",
            f"{value} is out of range",
            "Pass a positive duration of at most 1,000 years, or None for no limit.",
        )
    return value


def value_text(value: object) -> str:
    """Serialise an item's value as JSON.

    Raises:
        InvalidRequest: the value is not a mapping, or a part of it is not JSON; the error names its path.
    """
    if not isinstance(value, Mapping):
        raise InvalidRequest("value", f"{type(value).__name__} is not a mapping", "Pass a dict.")
    written = json.dumps(_plain(value, "value", 0), ensure_ascii=False, allow_nan=False)
    if len(written) > LONGEST_VALUE:
        raise InvalidRequest(
            "value", f"it has {len(written):,} characters, over the limit of {LONGEST_VALUE:,}", "Split it."
        )
    return written


def _plain(value: object, path: str, depth: int) -> Any:  # noqa: ANN401 - JSON
    if depth > DEEPEST:
        raise InvalidRequest(path[:80], f"it is nested more than {DEEPEST} levels deep", "Use fewer levels.")
    if isinstance(value, Mapping):
        return {
            _member(key, path): _plain(member, f"{path}.{key}", depth + 1) for key, member in value.items()
        }
    if isinstance(value, list | tuple):
        return [_plain(element, f"{path}[{at}]", depth + 1) for at, element in enumerate(value)]
    return _plain_leaf(value, path)


def _plain_leaf(value: object, path: str) -> str | int | float | bool | None:
    if isinstance(value, str) and any("\ud800" <= character <= "\udfff" for character in value):
        _refuse(path, "text with lone surrogates")
    if isinstance(value, float) and not isfinite(value):
        _refuse(path, "a NaN or infinite float")
    if value is not None and not isinstance(value, str | bool | int | float):
        _refuse(path, type(value).__name__)
    return value


def _member(key: object, path: str) -> str:
    if not isinstance(key, str):
        _refuse(f"{path}[{key!r}]"[:80], f"a key of type {type(key).__name__}")
    return str(_plain_leaf(key, path))


def _refuse(path: str, what: str) -> NoReturn:
    raise InvalidRequest(
        path, f"it is {what}, which is not JSON", "Use only str, numbers, bool, None, lists and dicts."
    )


def _checked_name(name: object, field: str, what: str) -> str:
    if not isinstance(name, str) or not name:
        raise InvalidRequest(field, f"{shown(name)} is not a {what}", "Pass a non-empty str.")
    if len(name) > LONGEST_NAME:
        raise InvalidRequest(
            field,
            f"a {what} has {len(name):,} characters, over the limit of {LONGEST_NAME:,}",
            "Shorten or hash it.",
        )
    if "\0" in name or any("\ud800" <= character <= "\udfff" for character in name):
        raise InvalidRequest(field, f"a {what} contains NUL or lone surrogates", "Remove them.")
    return name


def _checked_text(text: object) -> str:
    if not isinstance(text, str):
        raise InvalidRequest("texts", f"{shown(text)} is not text", "Pass a list of str.")
    return clean_text(text[:MAX_TEXT])


Condition: TypeAlias = Callable[[Mapping[str, Any]], bool]

MISSING = object()  # stands for a missing field, because None is JSON's null
DEEPEST_FILTER = 50  # maximum nesting of a filter


def checked_item_filter(value: object) -> Condition | None:
    """Validate a filter and return its condition; None for an empty filter.

    A missing field matches only `$ne`, `$nin` and `$exists: False`. Ordering operators compare numbers and numeric texts as
    numbers, and other texts as texts; they never match other combinations.

    Raises:
        InvalidRequest: the filter is not a mapping, or has an unknown operator or an invalid operand.
    """
    if value is None or value == {}:
        return None
    fields = _checked_fields(value, 0)
    return lambda value: _fields_hold(value, fields)


def _checked_fields(value: object, depth: int) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise InvalidRequest("filter", f"{shown(value)} is not a filter", 'Pass a dict: {"field": value}.')
    if depth > DEEPEST_FILTER:
        raise InvalidRequest(
            "filter", f"it is nested more than {DEEPEST_FILTER} levels deep", "Use fewer levels."
        )
    for key, wanted in value.items():
        if key in _CONNECTIVES:
            for part in wanted if isinstance(wanted, list | tuple) and key != "$not" else [wanted]:
                _checked_fields(part, depth + 1)
        elif key.startswith("$"):
            raise InvalidRequest("filter", f"{key} is used as a field", _REMEDY)
        elif isinstance(wanted, Mapping):
            _checked_wanted(wanted, depth + 1)
    return value


def _checked_wanted(wanted: Mapping[str, Any], depth: int) -> None:
    if not _has_operators(wanted):
        _checked_fields(wanted, depth)
        return
    for operator, operand in wanted.items():
        if operator not in _OPERATORS:
            raise InvalidRequest("filter", f"{operator} is an unknown operator", _REMEDY)
        if operator in {"$in", "$nin"} and not isinstance(operand, list | tuple):
            reason = f"{operator} requires a list, not {shown(operand)}"
            raise InvalidRequest("filter", reason, "Pass a list of values.")


def _fields_hold(value: object, fields: Mapping[str, Any]) -> bool:
    return all(
        _CONNECTIVES[key](value, wanted) if key in _CONNECTIVES else _holds(_field(value, key), wanted)
        for key, wanted in fields.items()
    )


def _field(value: object, name: str) -> Any:  # noqa: ANN401 - JSON
    """Return the member with exactly this name, or else the nested member at this dotted path."""
    if not isinstance(value, Mapping):
        return MISSING
    if name in value:
        return value[name]
    first, dot, rest = name.partition(".")
    return _field(value.get(first, MISSING), rest) if dot else MISSING


def _holds(value: object, wanted: object) -> bool:
    if isinstance(wanted, Mapping):
        if _has_operators(wanted):
            return all(_OPERATORS[operator](value, operand) for operator, operand in wanted.items())
        return isinstance(value, Mapping) and _fields_hold(value, wanted)
    return _equal(value, wanted)


def _has_operators(wanted: Mapping[str, Any]) -> bool:
    return any(isinstance(key, str) and key.startswith("$") for key in wanted)


def _equal(value: object, wanted: object) -> bool:
    """Compare two values as in JSON, where true and 1 differ."""
    if isinstance(wanted, list | tuple):
        return isinstance(value, list) and len(value) == len(wanted) and all(map(_equal, value, wanted))
    return isinstance(value, bool) == isinstance(wanted, bool) and value == wanted


def _ordered(value: object, wanted: object, compare: Callable[[Any, Any], bool]) -> bool:
    numbers = _number(value), _number(wanted)
    if None not in numbers:
        return compare(*numbers)
    return isinstance(value, str) and isinstance(wanted, str) and compare(value, wanted)


def _number(value: object) -> int | float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return value
    try:
        return float(value) if isinstance(value, str) else None
    except ValueError:
        return None


_OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "$eq": _equal,
    "$ne": lambda value, wanted: not _equal(value, wanted),
    "$gt": lambda value, wanted: _ordered(value, wanted, lambda one, two: one > two),
    "$gte": lambda value, wanted: _ordered(value, wanted, lambda one, two: one >= two),
    "$lt": lambda value, wanted: _ordered(value, wanted, lambda one, two: one < two),
    "$lte": lambda value, wanted: _ordered(value, wanted, lambda one, two: one <= two),
    "$in": lambda value, wanted: any(_equal(value, each) for each in wanted),
    "$nin": lambda value, wanted: not any(_equal(value, each) for each in wanted),
    "$exists": lambda value, wanted: (value is not MISSING) == bool(wanted),
}


def _each(wanted: object) -> list[Any]:
    return list(wanted) if isinstance(wanted, list | tuple) else [wanted]


_CONNECTIVES: Mapping[str, Callable[[Any, Any], bool]] = {
    "$and": lambda value, filters: all(_fields_hold(value, each) for each in _each(filters)),
    "$or": lambda value, filters: any(_fields_hold(value, each) for each in _each(filters)),
    "$not": lambda value, filters: not _fields_hold(value, filters),
}
_REMEDY = f"Use {', '.join(_OPERATORS)}; combine filters with {', '.join(_CONNECTIVES)}."
