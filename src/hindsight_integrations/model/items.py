"""Items: JSON values stored under a namespace and a key, as in LangGraph's stores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from hindsight_integrations.model.writes import UnitWrite

Namespace: TypeAlias = tuple[str, ...]
"""A tuple of labels, the outermost first: ("memories", "alice")."""

ItemKey: TypeAlias = tuple[Namespace, str]
"""The namespace and key of an item."""


@dataclass(frozen=True, slots=True)
class Item:
    """A stored value.

    Attributes:
        namespace: its namespace.
        key: its key.
        value: the JSON value.
        created_at: the time at which the key was first stored (aware UTC).
        updated_at: the time at which this value was stored.
        expires_at: the time of expiry; None means never.
    """

    namespace: Namespace
    key: str
    value: dict[str, Any]
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ItemPut:
    """An item to store; it replaces an item with the same namespace and key.

    Attributes:
        namespace: its namespace.
        key: its key.
        value: the JSON value.
        texts: the texts to embed for searches; without any, the item can be listed but not searched.
        ttl: the time to live, counted from the write and from each read that refreshes it; None means forever.
    """

    namespace: Namespace
    key: str
    value: Mapping[str, Any]
    texts: tuple[str, ...] = ()
    ttl: timedelta | None = None


@dataclass(frozen=True, slots=True)
class ItemDelete:
    """An item to delete; a missing item is not an error.

    Attributes:
        namespace: its namespace.
        key: its key.
    """

    namespace: Namespace
    key: str


@dataclass(frozen=True, slots=True)
class FoundItem:
    """An item found by a search.

    Attributes:
        item: the item.
        score: the cosine of its nearest text, in [-1, 1], raised where needed so that scores never increase down the
            ranking; None if there was no query, or the item has no texts.
    """

    item: Item
    score: float | None = None


@dataclass(frozen=True, slots=True)
class ItemWrite:
    """An item as written to the ledger.

    Attributes:
        namespace: its namespace.
        key: its key.
        value: the serialised JSON value.
        ttl: the time to live, as in `ItemPut`.
        units: its texts, as units of kind ITEM; a unit that is stored already may have no vector here.
    """

    namespace: Namespace
    key: str
    value: str
    ttl: timedelta | None = None
    units: tuple[UnitWrite, ...] = field(default=())


END, AFTER = ".", "/"  # the character that ends a label, and its successor in sort order


def namespace_text(namespace: Namespace) -> str:
    """Serialise a namespace. Each label ends with a dot, and dots in labels are escaped: ("a", "b.c") becomes "a.b%2Ec."."""
    return "".join(label.replace("%", "%25").replace(END, "%2E") + END for label in namespace)


def namespace_from(text: str) -> Namespace:
    """Parse a namespace serialised by `namespace_text`."""
    return tuple(label.replace("%2E", END).replace("%25", "%") for label in text.split(END)[:-1])


def namespace_range(prefix: Namespace) -> tuple[str, str | None]:
    """Return the range [first, end) of serialised namespaces with a prefix; an end of None is unbounded."""
    text = namespace_text(prefix)
    return (text, text[:-1] + AFTER) if text else ("", None)
