"""Packed reads: whole columns of integers as one text each, which numpy reads three times as fast as rows.

A row costs Python a tuple and an integer for each of its columns. SQLite's `group_concat` costs it one string a column.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from sqlite3 import Connection, IntegrityError

import numpy as np
import numpy.typing as npt

from hindsight_integrations.ports.arrays import IntArray

BLOCK = 65_536  # links in one text: 2 MB, whatever the bank

_CODE_SHIFT = 54
_WEIGHT_STEPS = 2.0**53  # a weight in [0, 1] is a whole number of these, so it comes back as it was

LINK = np.dtype([("source", "i8"), ("target", "i8"), ("code", "i8"), ("weight", "f4")])

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


def link_blocks(connection: Connection, bank: int, since: int) -> Iterator[npt.NDArray[np.void]]:
    """A bank's links created after `since`, in blocks of `LINK` rows."""
    after = (since, np.iinfo(np.int64).max, 0, 0)
    while True:
        sources, targets, rest, revision = connection.execute(_LINKS, (bank, *after, BLOCK)).fetchone()
        block = np.empty(0 if rest is None else rest.count(",") + 1, LINK)
        weighed = integers(rest)
        block["source"], block["target"] = integers(sources), integers(targets)
        block["code"] = weighed >> _CODE_SHIFT
        block["weight"] = (weighed & ((1 << _CODE_SHIFT) - 1)) / _WEIGHT_STEPS
        yield block
        if len(block) < BLOCK:
            return
        after = (revision, *(int(block[name][-1]) for name in ("source", "target", "code")))
