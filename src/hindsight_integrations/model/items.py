"""Items: JSON values kept under a namespace and a key, as LangGraph's stores keep them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from hindsight_integrations.model.writes import UnitWrite

Namespace: TypeAlias = tuple[str, ...]
"""Labels, the widest first: ("memories", "alice")."""

ItemKey: TypeAlias = tuple[Namespace, str]
"""Where an item lies: its namespace, and its key there."""


@dataclass(frozen=True, slots=True)
class Item:
    """A value that is kept.

    Attributes:
        namespace: where it lies.
        key: its name there.
        value: JSON.
        created_at: when there first was one of that key (aware UTC).
        updated_at: when it got this value.
        expires_at: from when on it is gone; None if never.
    """

    namespace: Namespace
    key: str
    value: dict[str, Any]
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ItemPut:
    """An item to be kept, in the place of the one of its key, if there is one.

    Attributes:
        namespace: where.
        key: its name there.
        value: JSON.
        texts: what a search finds it by; none: it is listed, and never found by meaning or words.
        ttl: how long it lives from now on, and from each read that refreshes it; None: for ever.
    """

    namespace: Namespace
    key: str
    value: Mapping[str, Any]
    texts: tuple[str, ...] = ()
    ttl: timedelta | None = None


@dataclass(frozen=True, slots=True)
class ItemDelete:
    """An item to be deleted; none of that key is no error.

    Attributes:
        namespace: where it lies.
        key: its name there.
    """

    namespace: Namespace
    key: str


@dataclass(frozen=True, slots=True)
class FoundItem:
    """An item a search found.

    Attributes:
        item: the item.
        score: cosine of the nearest of its texts, in [-1, 1], raised to that of the best item ranked behind it; None where
            it was not searched for: listed without a query, or without texts.
    """

    item: Item
    score: float | None = None


@dataclass(frozen=True, slots=True)
class ItemWrite:
    """An item as the ledger takes it.

    Attributes:
        namespace: where.
        key: its name there.
        value: JSON, written out.
        ttl: as in `ItemPut`.
        units: its texts, as units of kind ITEM; one that the ledger has already may come without its vector.
    """

    namespace: Namespace
    key: str
    value: str
    ttl: timedelta | None = None
    units: tuple[UnitWrite, ...] = field(default=())


END, AFTER = ".", "/"  # the character that ends a label, and the one behind it


def namespace_text(namespace: Namespace) -> str:
    """Each label with its dots escaped, ended by a dot: ("a", "b.c") is "a.b%2Ec."."""
    return "".join(label.replace("%", "%25").replace(END, "%2E") + END for label in namespace)


def namespace_from(text: str) -> Namespace:
    """The namespace of a text that `namespace_text` made."""
    return tuple(label.replace("%2E", END).replace("%25", "%") for label in text.split(END)[:-1])


def namespace_range(prefix: Namespace) -> tuple[str, str | None]:
    """Texts of namespaces that begin with these labels: from the first, to before the second; None means to the end."""
    text = namespace_text(prefix)
    return (text, text[:-1] + AFTER) if text else ("", None)
