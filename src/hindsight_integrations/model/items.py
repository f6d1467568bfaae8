"""Items: JSON values stored under a namespace and a key, as in LangGraph's stores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from hindsight_integrations.model.writes import UnitWrite

Namespace: TypeAlias = tuple[str, ...]
"""Labels, outermost first: ("memories", "alice")."""

ItemKey: TypeAlias = tuple[Namespace, str]
"""The namespace and key of an item."""


@dataclass(frozen=True, slots=True)
class Item:
    """A stored value.

    Attributes:
        namespace: its namespace.
        key: its key.
        value: JSON.
        created_at: when the key was first stored (aware UTC).
        updated_at: when this value was stored.
        expires_at: when it expires; None means never.
    """

    namespace: Namespace
    key: str
    value: dict[str, Any]
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ItemPut:
    """An item to store, replacing an item with the same key.

    Attributes:
        namespace: its namespace.
        key: its key.
        value: JSON.
        texts: the texts to search it by; without any it can be listed but not searched.
        ttl: time to live from now on, and from each read that refreshes it; None means forever.
    """

    namespace: Namespace
    key: str
    value: Mapping[str, Any]
    texts: tuple[str, ...] = ()
    ttl: timedelta | None = None


@dataclass(frozen=True, slots=True)
class ItemDelete:
    """An item to delete; a missing one is not an error.

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
        score: cosine of its nearest text, in [-1, 1], raised to that of the best item ranked below it; None
            if it was listed without a query, or has no texts.
    """

    item: Item
    score: float | None = None


@dataclass(frozen=True, slots=True)
class ItemWrite:
    """An item as written to the ledger.

    Attributes:
        namespace: its namespace.
        key: its key.
        value: JSON, serialised.
        ttl: as in `ItemPut`.
        units: its texts, as units of kind ITEM; a unit that exists already may come without its vector.
    """

    namespace: Namespace
    key: str
    value: str
    ttl: timedelta | None = None
    units: tuple[UnitWrite, ...] = field(default=())


END, AFTER = ".", "/"  # the character that ends a label, and the next one


def namespace_text(namespace: Namespace) -> str:
    """Serialise a namespace: dots in labels are escaped, and a dot ends each: ("a", "b.c") is "a.b%2Ec."."""
    return "".join(label.replace("%", "%25").replace(END, "%2E") + END for label in namespace)


def namespace_from(text: str) -> Namespace:
    """Parse a namespace serialised by `namespace_text`."""
    return tuple(label.replace("%2E", END).replace("%25", "%") for label in text.split(END)[:-1])


def namespace_range(prefix: Namespace) -> tuple[str, str | None]:
    """Return the range [first, end) of serialised namespaces with a prefix; an end of None is unbounded."""
    text = namespace_text(prefix)
    return (text, text[:-1] + AFTER) if text else ("", None)
