"""The JSON encoding of arguments, results and errors exchanged between `Hindsight.connect` and a server.

JSON values represent themselves. Any other value is an object whose "$" key names its type: module and name for a dataclass
or enum of `model/`, the class for an error. Reading creates no other types, so a document from the network cannot run code.
"""

from __future__ import annotations

import base64
import importlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields as fields_of
from dataclasses import is_dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from enum import Enum
from functools import cache, partial
from pathlib import PurePath
from typing import Any

import numpy as np
from pydantic import BaseModel, TypeAdapter
from pydantic.errors import PydanticSchemaGenerationError

from hindsight_integrations import errors
from hindsight_integrations.errors import HindsightError, InvalidRequest, shown
from hindsight_integrations.lazy import inherits
from hindsight_integrations.validation.intake import documents_in, is_langchain_document
from hindsight_integrations.validation.llamaindex_documents import as_dict, is_chat_message, is_node

TAG = "$"
_PACKAGE = "hindsight_integrations."


def read(text: str | bytes) -> Any:  # noqa: ANN401 - any value
    """Parse JSON text whose values were written by `plain`.

    Raises:
        InvalidRequest: the text is not JSON of this form.
    """
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _unreadable(error) from None
    return value(parsed)


def value(plain: object) -> Any:  # noqa: ANN401 - any value
    """Convert JSON from `plain` back to the value.

    Raises:
        InvalidRequest: it is not JSON of this form.
    """
    try:
        return _value(plain)
    except InvalidRequest:  # a value that its class rejects
        raise
    except (ValueError, TypeError, AttributeError, KeyError, ArithmeticError, RecursionError) as error:
        raise _unreadable(error) from None


def _unreadable(error: Exception) -> InvalidRequest:
    reason = f"it cannot be read ({type(error).__name__})"
    return InvalidRequest("body", reason, "Use the same version of the package on client and server.")


def plain(value: Any, field: str) -> Any:  # noqa: ANN401, C901 - one case for each kind of value
    """Convert a value to JSON values.

    Args:
        value: a JSON value, a value of `model/`, an error, a message or document of LangChain or LlamaIndex, or a
            collection of these.
        field: the name of the value, for the error.

    Raises:
        InvalidRequest: it contains a function or another object that cannot be sent.
    """
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, Enum):  # enums of config.py are sent as strings, which arguments accept
        return {TAG: _name(type(value)), "value": value.value} if _is_ours(type(value)) else value.value
    if isinstance(value, HindsightError):
        return {
            TAG: "error",
            "name": type(value).__name__,
            "args": plain(list(value.args), field),
            "fields": plain(dict(vars(value)), field),
        }
    if is_dataclass(value) and not isinstance(value, type) and _is_ours(type(value)):
        own = {each.name: plain(getattr(value, each.name), field) for each in fields_of(value) if each.init}
        return {TAG: _name(type(value)), **own}
    if isinstance(value, datetime):
        return {TAG: "datetime", "value": value.isoformat()}
    if isinstance(value, timedelta):
        return {TAG: "timedelta", "value": [value.days, value.seconds, value.microseconds]}
    if isinstance(value, Decimal):
        return {TAG: "decimal", "value": str(value)}
    if isinstance(value, bytes):
        return {TAG: "bytes", "value": base64.b64encode(value).decode()}
    if isinstance(value, str | PurePath):
        return str(value)
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Mapping):
        if all(type(key) is str and not key.startswith(TAG) for key in value):
            return {key: plain(each, field) for key, each in value.items()}
        return {
            TAG: "dict",
            "value": [[plain(key, field), plain(each, field)] for key, each in value.items()],
        }
    return _from_framework(value, field)


def _from_framework(value: Any, field: str) -> Any:  # noqa: ANN401 - a message, document, pydantic model or collection
    if is_chat_message(value):
        return plain(as_dict(value), field)
    if inherits(value, "langchain_core", "BaseMessage"):
        from langchain_core.messages import message_to_dict

        return {TAG: "message", "value": json.loads(json.dumps(message_to_dict(value), default=str))}
    if is_node(value) or is_langchain_document(value):
        return plain(documents_in(value)[0], field)
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_unset=True)
    if isinstance(value, Iterable) and not isinstance(value, type):
        return _collection(value, field)
    raise InvalidRequest(
        field,
        f"{shown(value)} cannot be sent to a server",
        "Omit it, or open the memory in this process with Hindsight.open.",
    )


def _collection(values: Iterable[Any], field: str) -> Any:  # noqa: ANN401 - a list or a tagged object
    items = list(values)
    if any(is_node(item) or is_langchain_document(item) for item in items):
        items = documents_in(items)  # join nodes of the same document
    listed = [plain(item, field) for item in items]
    if type(values) is list or not isinstance(values, tuple | set | frozenset | list):
        return listed
    kind = type(values).__name__ if type(values) in (tuple, set, frozenset) else _name(type(values))
    return {TAG: kind, "value": listed}


def _value(given: Any) -> Any:  # noqa: ANN401 - any value
    if isinstance(given, list):
        return [_value(each) for each in given]
    if not isinstance(given, dict):
        return given
    if TAG not in given:
        return {key: _value(each) for key, each in given.items()}
    name = given[TAG]
    if reader := _READERS.get(name):
        return reader(given["value"])
    if name == "error":
        return _error(given)
    kind = _class(name)
    if issubclass(kind, Enum):
        return kind(given["value"])
    if issubclass(kind, list):
        return kind(_value(given["value"]))
    fields = {key: _value(each) for key, each in given.items() if key != TAG}
    made = kind(**fields)
    if (types := _field_types(name)) is not None:
        types.validate_python(fields)  # only checks types; the converted values are discarded
    return made


@cache
def _field_types(name: str) -> TypeAdapter[Any] | None:
    """Return a validator for a dataclass's fields; None if it has an error among its fields, which only servers send."""
    try:
        return TypeAdapter(_class(name))
    except PydanticSchemaGenerationError:
        return None


def _message(plain: dict[str, Any]) -> object:
    from langchain_core.messages import messages_from_dict

    return messages_from_dict([plain])[0]


_READERS: Mapping[str, Callable[[Any], object]] = {
    "bytes": partial(base64.b64decode, validate=True),
    "datetime": datetime.fromisoformat,
    "decimal": Decimal,
    "dict": lambda items: {_value(key): _value(each) for key, each in items},
    "frozenset": lambda items: frozenset(map(_value, items)),
    "message": _message,
    "set": lambda items: set(map(_value, items)),
    "timedelta": lambda parts: timedelta(*parts),
    "tuple": lambda items: tuple(map(_value, items)),
}
"""Decoders by type name, for types that this package does not define."""


def _error(given: Mapping[str, Any]) -> HindsightError:
    kind = getattr(errors, given["name"], None)
    if not (isinstance(kind, type) and issubclass(kind, HindsightError)):
        raise TypeError(given["name"])
    error = kind.__new__(kind)
    error.args = tuple(_value(given["args"]))
    vars(error).update(_value(given["fields"]))
    return error


def _is_ours(kind: type[Any]) -> bool:
    return kind.__module__.startswith((f"{_PACKAGE}model.", f"{_PACKAGE}engine.health"))


def _name(kind: type[Any]) -> str:
    return f"{kind.__module__.removeprefix(_PACKAGE)}.{kind.__qualname__}"


@cache
def _class(name: str) -> type[Any]:
    """Return a value class of `model/`, or of the health report.

    Raises:
        TypeError: there is no such class.
    """
    module, _, called = str(name).rpartition(".")
    if module != "engine.health" and not (module.startswith("model.") and module.count(".") == 1):
        raise TypeError(name)
    try:
        kind = getattr(importlib.import_module(_PACKAGE + module), called, None)
    except ModuleNotFoundError:
        kind = None
    if not (
        isinstance(kind, type) and _is_ours(kind) and (is_dataclass(kind) or issubclass(kind, Enum | list))
    ):
        raise TypeError(name)
    return kind
