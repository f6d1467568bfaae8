"""Titles in quotes, inside which nothing is read as grammar. Pure."""

from __future__ import annotations

import re

TITLE = re.compile(r"(?<!\w)(['\"\u2018\u201c\u201e\u00ab])(.+?)(['\"\u2019\u201d\u201c\u00bb])(?!\w)")
_HIDDEN = re.compile(r"\x00(\d+)\x00")


def titles(text: str) -> list[str]:
    """The titles of a text, without their quotes."""
    return [match.group(2) for match in TITLE.finditer(text)]


def hidden(text: str) -> tuple[str, list[str]]:
    """A text with a mark for each title, and the titles with their quotes."""
    found: list[str] = []

    def hide(match: re.Match[str]) -> str:
        found.append(match.group())
        return f"\x00{len(found) - 1}\x00"

    return TITLE.sub(hide, text), found


def shown(text: str, quoted: list[str]) -> str:
    """A text, or a piece of it, with its titles again."""
    return _HIDDEN.sub(lambda match: f" {quoted[int(match.group(1))]} ", text)
