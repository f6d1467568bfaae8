"""A plain answer as it comes in pieces: what of it may be shown, and the line at its end that names its sources. Pure."""

from __future__ import annotations

import re

_SOURCES = re.compile(r"[*_#\s]*sources?\s*[*_]*\s*:[*_\s]*(?P<named>.*)", re.IGNORECASE)
_LABELS = ("source:", "sources:")
_NONE = re.compile(r"\W*(none|n/?a)?\W*", re.IGNORECASE)
_BETWEEN = re.compile(r"[\s,;.\[\]()*_]+|\band\b")


class StreamedAnswer:
    """Takes an answer piece by piece, and gives what may be shown as soon as that is certain.

    Held back are white space at the end, and a line that names sources or may come to do so; it is shown after all if
    something else follows it.
    """

    def __init__(self) -> None:
        self._held = ""
        self._shown: list[str] = []

    @property
    def text(self) -> str:
        """What was shown."""
        return "".join(self._shown)

    def feed(self, piece: str) -> str:
        """What a further piece makes certain to be part of the answer; may be empty."""
        self._held += piece
        return self._show(_certain(self._held, continued=bool(self._shown)))

    def end(self) -> tuple[str, tuple[str, ...] | None]:
        """What was held back of the answer, and the sources it names; None if it names none, () if it says there are none."""
        body, line = _last_line(self._held)
        # What is held goes on with the line whose beginning was shown.
        named = None if self._shown and not body else _SOURCES.fullmatch(line)
        rest = body if named else self._held
        said = self._show(len(rest.rstrip()))
        self._held = ""
        if named is None:
            return said, None
        if _NONE.fullmatch(named["named"]):
            return said, ()
        return said, tuple(mark for mark in _BETWEEN.split(named["named"]) if mark)

    def _show(self, characters: int) -> str:
        said, self._held = self._held[:characters], self._held[characters:]
        if not self._shown:
            said = said.lstrip()
        if said:
            self._shown.append(said)
        return said


def _certain(text: str, *, continued: bool) -> int:
    """How much of a text is the answer for certain: up to the line from which on nothing but sources may follow.

    Args:
        text: what is held.
        continued: its first line goes on with one that was shown.
    """
    end, start = 0, 0
    for line in text.splitlines(keepends=True):
        bare, within = line.strip(), continued and not start
        ended = line.endswith("\n")
        if bare and (within or not (_SOURCES.fullmatch(bare) or _may_become_sources(bare, ended=ended))):
            end = start + len(line.rstrip())
        start += len(line)
    return end


def _may_become_sources(line: str, *, ended: bool) -> bool:
    """Whether a line that has not ended may come to name sources."""
    begun = "".join(line.strip("*_# ").split()).lower()
    return not ended and any(label.startswith(begun) for label in _LABELS)


def _last_line(text: str) -> tuple[str, str]:
    """A text without its last line that is not blank, and that line."""
    body = text.rstrip()
    start = body.rfind("\n") + 1
    return body[:start], body[start:]
