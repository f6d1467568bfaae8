"""Packed reads: whole columns of integers as one text each, which numpy reads three times as fast as rows.

A row costs Python a tuple and an integer for each of its columns. SQLite's `group_concat` costs it one string a column.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from sqlite3 import Connection, IntegrityError

import numpy as np

from hindsight_integrations.ports.arrays import FloatArray, IntArray
from hindsight_integrations.ports.memory_graph import Edges

BLOCK = 65_536  # links in one text: 2 MB, whatever the bank

_CODE_SHIFT = 54
_WEIGHT_STEPS = 2.0**53  # a weight in [0, 1] is a whole number of these, so it comes back as it was

_LINKS = (
    "SELECT group_concat(source), group_concat(target), "
    "group_concat(code << 54 | CAST(weight * 9007199254740992.0 AS INTEGER)), max(revision) FROM "
    "(SELECT * FROM links WHERE bank = ? AND (revision, source, target, code) > (?, ?, ?, ?) "
    "ORDER BY revision, source, target, code LIMIT ?)"
)


def integers(text: str | None) -> IntArray:
    """The integers of a comma-separated text, (n,); none for the NULL that no row gives."""
    if not text:
        return np.empty(0, np.int64)
    found: IntArray = np.fromstring(text, np.int64, sep=",")
    return found


def integer_columns(
    connection: Connection, columns: Sequence[str], where: str, parameters: Sequence[object]
) -> list[IntArray]:
    """Expressions over the units a condition selects, each as an (n,) array, in no order.

    Raises:
        IntegrityError: one is not an integer for some unit.
    """
    picked = ", ".join(f"group_concat({column})" for column in columns)
    row = connection.execute(f"SELECT {picked} FROM units WHERE {where}", tuple(parameters)).fetchone()
    found = [integers(text) for text in row]
    if len({len(array) for array in found}) > 1:
        raise IntegrityError(f"not every {' and '.join(columns)} is an integer")
    return found


def links_since(connection: Connection, bank: int, since: int) -> Edges:
    """A bank's links created after `since`, by source, target and code."""
    blocks = list(_link_blocks(connection, bank, since))
    edges = Edges(*(np.concatenate(column) for column in zip(*blocks, strict=True)))
    del blocks
    if _ordered(edges):
        return edges
    order = np.lexsort((edges.codes, edges.targets, edges.sources))
    return Edges(edges.sources[order], edges.targets[order], edges.codes[order], edges.weights[order])


def _ordered(edges: Edges) -> bool:
    """Whether they stand by source, target and code: in a bank that was only added to they mostly do."""
    sources, targets = np.diff(edges.sources), np.diff(edges.targets)
    tied = (sources == 0) & (targets == 0) & (np.diff(edges.codes) <= 0)
    return not bool(np.any((sources < 0) | ((sources == 0) & (targets < 0)) | tied))


def _link_blocks(
    connection: Connection, bank: int, since: int
) -> Iterator[tuple[IntArray, IntArray, IntArray, FloatArray]]:
    """Sources, targets, codes and weights of links, BLOCK at a time, by revision, source, target and code."""
    after = (since, np.iinfo(np.int64).max, 0, 0)
    while True:
        first, second, rest, revision = connection.execute(_LINKS, (bank, *after, BLOCK)).fetchone()
        sources, targets, weighed = integers(first), integers(second), integers(rest)
        codes, steps = weighed >> _CODE_SHIFT, weighed & ((1 << _CODE_SHIFT) - 1)
        yield sources, targets, codes, (steps / _WEIGHT_STEPS).astype(np.float32)
        if len(sources) < BLOCK:
            return
        after = (revision, int(sources[-1]), int(targets[-1]), int(codes[-1]))
