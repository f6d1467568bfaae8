"""Filters on the values of items, as LangGraph's stores and Agent Server write them.

{"colour": "red"}                                  equal
{"price": {"$gt": 3, "$lte": 10}}                  operators, all of which must hold
{"owner": {"name": "Ann"}}, {"owner.name": "Ann"}  within
{"$and": [...]}, {"$or": [...]}, {"$not": {...}}   of filters, as deep as you like
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from hindsight_integrations.errors import InvalidRequest, shown

Condition: TypeAlias = Callable[[Mapping[str, Any]], bool]

MISSING = object()  # of a field that is not there: unlike None, which JSON may hold
DEEPEST = 50  # levels of a filter


def checked_item_filter(given: object) -> Condition | None:
    """The condition a filter states; None where it states none.

    A field that is missing equals nothing; `$ne`, `$nin` and `$exists: False` hold for it. Numbers are ordered among
    themselves, with texts that are numbers too, and other texts among themselves; what cannot be ordered is no match.

    Raises:
        InvalidRequest: it is no mapping, or an operator is unknown or has an operand of no use.
    """
    if given is None or given == {}:
        return None
    fields = _checked_fields(given, 0)
    return lambda value: _fields_hold(value, fields)


def _checked_fields(given: object, depth: int) -> Mapping[str, Any]:
    if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
        raise InvalidRequest("filter", f"{shown(given)} is not a filter", 'Pass a dict: {"field": value}.')
    if depth > DEEPEST:
        raise InvalidRequest("filter", f"it is nested over {DEEPEST} levels deep", "Keep it flatter.")
    for key, wanted in given.items():
        if key in _OF_FILTERS:
            for each in wanted if isinstance(wanted, list | tuple) and key != "$not" else [wanted]:
                _checked_fields(each, depth + 1)
        elif key.startswith("$"):
            raise InvalidRequest("filter", f"{key} stands where a field should", _REMEDY)
        elif isinstance(wanted, Mapping):
            _checked_wanted(wanted, depth + 1)
    return given


def _checked_wanted(wanted: Mapping[str, Any], depth: int) -> None:
    if not _has_operators(wanted):
        _checked_fields(wanted, depth)
        return
    for operator, operand in wanted.items():
        if operator not in _OPERATORS:
            raise InvalidRequest("filter", f"{operator} is an unknown operator", _REMEDY)
        if operator in {"$in", "$nin"} and not isinstance(operand, list | tuple):
            raise InvalidRequest("filter", f"{operator} has {shown(operand)}", "Give it a list.")


def _fields_hold(value: object, fields: Mapping[str, Any]) -> bool:
    return all(
        _OF_FILTERS[key](value, wanted) if key in _OF_FILTERS else _holds(_field(value, key), wanted)
        for key, wanted in fields.items()
    )


def _field(value: object, name: str) -> Any:  # noqa: ANN401 - JSON
    """A member, or one within by a dotted path where none has that very name."""
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
    """Equal as JSON: True is not 1."""
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


_OF_FILTERS: Mapping[str, Callable[[Any, Any], bool]] = {
    "$and": lambda value, filters: all(_fields_hold(value, each) for each in _each(filters)),
    "$or": lambda value, filters: any(_fields_hold(value, each) for each in _each(filters)),
    "$not": lambda value, filters: not _fields_hold(value, filters),
}
_REMEDY = f"Use {', '.join(_OPERATORS)}, or {', '.join(_OF_FILTERS)} of whole filters."
