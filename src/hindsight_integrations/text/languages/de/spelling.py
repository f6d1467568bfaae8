"""German words as they are typed: with umlauts, without their dots, or with an e behind the vowel.

The text is folded letter by letter ("\u00e4" is read as "a"), so tables and patterns are written without dots.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

Value = TypeVar("Value")

FOLDING = str.maketrans("\u00e4\u00f6\u00fc\u00c4\u00d6\u00dc\u00df", "aouAOUs")


def folded(name: str) -> str:
    """The word without dots: "n\u00e4chste" is "nachste"."""
    return name.translate(FOLDING)


def spelled(table: Mapping[str, Value]) -> dict[str, Value]:
    """A table with each word as it is folded, and as it is typed without umlauts ("naechste", "dreissig")."""
    typed = str.maketrans({"\u00e4": "ae", "\u00f6": "oe", "\u00fc": "ue", "\u00df": "ss"})
    return {
        spelling: value for name, value in table.items() for spelling in (folded(name), name.translate(typed))
    }


def inflected(stems: Mapping[str, Value]) -> dict[str, Value]:
    """As in "letzt" to "letzte", "letzten", "letzter", "letztem", "letztes"."""
    return {stem + ending: value for stem, value in stems.items() for ending in ("e", "en", "er", "em", "es")}
