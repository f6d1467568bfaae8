"""Items as callers give them: where they lie, and values that are JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from math import isfinite
from typing import Any, NoReturn

from hindsight_integrations.errors import InvalidRequest, shown
from hindsight_integrations.model.items import ItemDelete, ItemKey, ItemPut, Namespace
from hindsight_integrations.model.text import clean_text
from hindsight_integrations.validation.limits import MAX_TEXT, checked_list

MOST_LABELS = 1_000
LONGEST_NAME = 1_024  # characters of a label, or of a key
LONGEST_VALUE = 10_000_000  # characters of a value written out
DEEPEST = 100  # levels of a value: json's own writer ends at about a thousand


def checked_namespace(given: object, *, prefix: bool = False) -> Namespace:
    """The labels of a namespace.

    Args:
        given: a tuple or list of labels.
        prefix: it may be empty, and means everything then.

    Raises:
        InvalidRequest: it is none, or a label is empty, too long, or holds characters that cannot be stored.
    """
    if not isinstance(given, tuple | list):
        raise InvalidRequest(
            "namespace",
            f"{shown(given)} is not a tuple of labels",
            'Pass a tuple of str: ("memories", "alice").',
        )
    if not given and not prefix:
        raise InvalidRequest("namespace", "it is empty", "Pass at least one label.")
    if len(given) > MOST_LABELS:
        raise InvalidRequest(
            "namespace",
            f"it has {len(given)} labels, over the limit of {MOST_LABELS}",
            "Put what tells items apart into the key.",
        )
    return tuple(_checked_name(label, "namespace", "label") for label in given)


def checked_key(given: object) -> str:
    """The key of an item.

    Raises:
        InvalidRequest: it is no text, empty, too long, or holds characters that cannot be stored.
    """
    return _checked_name(given, "key", "key")


def checked_item_key(given: object) -> ItemKey:
    """A (namespace, key).

    Raises:
        InvalidRequest: it is none.
    """
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise InvalidRequest("keys", f"{shown(given)} is not a (namespace, key)", "Pass pairs of them.")
    return checked_namespace(given[0]), checked_key(given[1])


def checked_write(given: object) -> ItemPut | ItemDelete:
    """What is to be put or deleted, with a value that can be written as JSON, and texts that can be stored.

    Raises:
        InvalidRequest: it is none of both, or something in it cannot be stored.
    """
    if not isinstance(given, ItemPut | ItemDelete):
        raise InvalidRequest("writes", f"{type(given).__name__} is none", "Pass ItemPut or ItemDelete.")
    namespace, key = checked_namespace(given.namespace), checked_key(given.key)
    if isinstance(given, ItemDelete):
        return ItemDelete(namespace, key)
    texts = tuple(_checked_text(text) for text in checked_list(given.texts, "texts"))
    return ItemPut(namespace, key, given.value, tuple(text for text in texts if text), checked_ttl(given.ttl))


def checked_ttl(given: object) -> timedelta | None:
    """How long an item lives.

    Raises:
        InvalidRequest: it is no timedelta, or not above zero, or too long.
    """
    if given is None:
        return None
    if not isinstance(given, timedelta):
        raise InvalidRequest(
            "ttl", f"{shown(given)} is not a timedelta", "Pass a timedelta, or None for ever."
        )
    if not timedelta(0) < given <= timedelta(days=365_000):
        raise InvalidRequest(
            "ttl",
            f"{given} is not a time to live",
            "Pass one above zero and up to 1,000 years, or None for ever.",
        )
    return given


def value_text(value: object) -> str:
    """An item's value, written out as JSON.

    Raises:
        InvalidRequest: it is no mapping, or something in it is no JSON: the error says where.
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
        raise InvalidRequest(path[:80], f"it is nested over {DEEPEST} levels deep", "Keep it flatter.")
    if isinstance(value, Mapping):
        return {_member(key, path): _plain(each, f"{path}.{key}", depth + 1) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each, f"{path}[{at}]", depth + 1) for at, each in enumerate(value)]
    return _plain_leaf(value, path)


def _plain_leaf(value: object, path: str) -> str | int | float | bool | None:
    if isinstance(value, str) and any("\ud800" <= character <= "\udfff" for character in value):
        _refuse(path, "text with lone surrogates")
    if isinstance(value, float) and not isfinite(value):
        _refuse(path, "a float that is no number")
    if value is not None and not isinstance(value, str | bool | int | float):
        _refuse(path, type(value).__name__)
    return value


def _member(key: object, path: str) -> str:
    if not isinstance(key, str):
        _refuse(f"{path}[{key!r}]"[:80], f"a key that is {type(key).__name__}")
    return str(_plain_leaf(key, path))


def _refuse(path: str, what: str) -> NoReturn:
    raise InvalidRequest(
        path, f"it is {what}, which is no JSON", "Keep str, numbers, bool, None, lists and dicts."
    )


def _checked_name(name: object, field: str, what: str) -> str:
    if not isinstance(name, str) or not name:
        raise InvalidRequest(field, f"{shown(name)} is no {what}", "Pass a non-empty str.")
    if len(name) > LONGEST_NAME:
        raise InvalidRequest(
            field,
            f"a {what} has {len(name):,} characters, over the limit of {LONGEST_NAME:,}",
            "Shorten or hash it.",
        )
    if "\0" in name or any("\ud800" <= character <= "\udfff" for character in name):
        raise InvalidRequest(field, f"a {what} has NUL or lone surrogates", "Leave them out.")
    return name


def _checked_text(text: object) -> str:
    if not isinstance(text, str):
        raise InvalidRequest("texts", f"{shown(text)} is not text", "Pass a list of str.")
    return clean_text(text[:MAX_TEXT])
