"""Packing ranked units into a token budget (paper section 4.2.5, eq. 8 and 17)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


def pack(
    tokens: Sequence[int], max_tokens: int, k: int | None = None, groups: Sequence[int] | None = None
) -> list[int]:
    """Keep units in rank order while they fit, skipping what does not: sum of tokens <= max_tokens (paper eq. 8).

    Eq. 17 stops at the first unit that does not fit; skipping it instead keeps small units behind a large one.

    More budget never costs anything. Let a < b, and let i be the first item on which the two results differ. Up to i
    both used the same P tokens and the same number of units, so k decides alike, and a smaller budget takes nothing a
    larger one refuses. Hence b has i and a does not, because P + size(i) > a. So b uses at least P + size(i) > a
    tokens, more than a's result can; and the best-ranked unit in which they differ is one b has. (b's units need not
    include all of a's: of sizes 6, 5 a budget of 5 keeps the second, one of 6 the first.)

    Args:
        tokens: cost of each unit, best first, each >= 0.
        max_tokens: the budget; nothing is kept below 0.
        k: hard limit on the number of units; an item that would exceed it is skipped.
        groups: a label per position; units with one label are one item (a unit and its amendments), kept or skipped
            together, at the rank of its best unit. None makes every unit an item.

    Returns:
        Positions kept, rising.
    """
    kept: list[int] = []
    left = max_tokens
    for members in _items(len(tokens), groups):
        cost = sum(tokens[position] for position in members)
        if cost <= left and (k is None or len(kept) + len(members) <= k):
            kept += members
            left -= cost
    return sorted(kept)


def _items(length: int, groups: Sequence[int] | None) -> list[list[int]]:
    """Positions of each item, items in the order of their best position."""
    items: dict[int, list[int]] = {}
    for position, label in enumerate(range(length) if groups is None else groups):
        items.setdefault(label, []).append(position)
    return list(items.values())


@dataclass(frozen=True, slots=True)
class Packed:
    """What fits, where some units must not be read without others.

    Attributes:
        rows: units shown, best first.
        places: for each of them, the position in the ranking it stands at.
        tokens: what they and what they need cost together, each unit once.
    """

    rows: tuple[int, ...]
    places: tuple[int, ...]
    tokens: int


def pack_with_needs(
    rows: Sequence[int],
    tokens: Mapping[int, int],
    needs: Mapping[int, Sequence[int]],
    *,
    max_tokens: int,
    k: int | None = None,
) -> Packed:
    """Keep units in rank order while they fit together with what they need; what is there already costs nothing more.

    A unit kept before one that needs it moves beneath that one, which takes its place. The properties of `pack` hold,
    for the same reason: up to the first unit on which two budgets differ, both have the same units.

    Args:
        rows: units, best first.
        tokens: cost of each, and of all they need.
        needs: rows a unit must not be read without, with those that these need in turn.
        max_tokens: the budget.
        k: hard limit on the number of units shown.
    """
    shown: dict[int, int] = {}
    served: set[int] = set()
    left = max_tokens
    for place, row in enumerate(rows):
        fresh = {row, *needs.get(row, ())} - served
        beneath = [other for other in needs.get(row, ()) if other in shown]
        fits = sum(tokens[other] for other in fresh) <= left and (k is None or len(shown) - len(beneath) < k)
        if row in served or not fits:
            continue
        left -= sum(tokens[other] for other in fresh)
        served |= fresh
        shown[row] = min([place, *(shown.pop(other) for other in beneath)])
    order = sorted(shown, key=lambda row: shown[row])
    return Packed(tuple(order), tuple(shown[row] for row in order), max_tokens - left)
