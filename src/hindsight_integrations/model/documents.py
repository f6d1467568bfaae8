"""Documents and lists, which consist of a head and items, each with its own sources and validity.

The head is an ordinary memory with the document's main text. Its items are units of kind DOCUMENT_ITEM with
one record each, whose `category` is the field and whose `value` is the text. Recall returns the head together
with its valid items.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hindsight_integrations.model.records import Record
from hindsight_integrations.model.units import MemoryUnit


def item_text(record: Record) -> str:
    """Format an item on one line as `field: value`, or as the value alone if it has no field."""
    return f"{record.stated}: {record.words}" if record.stated else record.words


def in_served_order(items: Iterable[MemoryUnit]) -> list[MemoryUnit]:
    """Sort items for display: by field, in the order in which the fields first appear, then by number."""
    numbered = sorted(items, key=lambda item: (item.number, item.id))
    fields: dict[str, int] = {}
    for item in numbered:
        fields.setdefault(_field(item), len(fields))
    return sorted(numbered, key=lambda item: fields[_field(item)])


def document_text(head: str, items: Sequence[MemoryUnit], *, left_out: int = 0) -> str:
    """Return the head with one line per item.

    Args:
        head: the text of the head.
        items: the items, in display order.
        left_out: the number of omitted items, which the text mentions.
    """
    lines = [f"- {item.text}" for item in items]
    if left_out:
        lines.append(f"[cut: {left_out} more {'item' if left_out == 1 else 'items'}]")
    return "\n".join([head, *lines])


def _field(item: MemoryUnit) -> str:
    return " ".join(item.records[0].stated.split()).casefold() if item.records else ""
