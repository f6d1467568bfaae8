"""What stands side by side in a text: lines, sentences, labelled groups, and items between semicolons, commas or numbers. Pure.

Nothing inside quotation marks is read as grammar: a title may have commas.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from hindsight_integrations.text.language import Language
from hindsight_integrations.text.titles import TITLE

Span = tuple[int, int]

_BAR = re.compile(r" \| ")
_LINE = re.compile(r"[ \t]*\r?\n")
_SENTENCE_END = re.compile(r"[.!?]+(?=\s+[^\sa-zà-ÿ]|\s*$)")
_SEMICOLON = re.compile(r";\s*")
_LABEL = re.compile(r"(?P<label>[^:;\n]{1,160}?):\s+")
_NUMBERED = re.compile(r"(?<!\S)\(?(?P<number>\d{1,2})[.)]\s+")
_MARKER = re.compile(r"(?:[-*\u2022\u2013+]\s+|\(?\d{1,2}[.)]\s+|\(?[a-z]\)\s+)?(?:\[[ xX]?\]\s+)?")


class Layout(StrEnum):
    """How things stand side by side."""

    DIMENSIONS = "dimensions"  # what, when and why of a fact, between bars
    LINES = "lines"
    SENTENCES = "sentences"
    GROUPS = "groups"  # "key: value; key: value"
    PARENTHESES = "parentheses"
    SEMICOLONS = "semicolons"
    COMMAS = "commas"
    NUMBERED = "numbered"


@dataclass(frozen=True, slots=True, eq=False)
class SideBySide:
    """Things that stand side by side; one alone is here too, for what it stands in.

    Attributes:
        layout: how they stand.
        items: where each stands, markers of lists included.
        label: the words with a colon in front of the first.
        within: what they stand in, and as which item of it; None for the whole text.
        place: which item of `within` they are.
    """

    layout: Layout
    items: tuple[Span, ...]
    label: Span | None = None
    within: SideBySide | None = None
    place: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class _Reading:
    """A text being read: `shown` has its quotations and deeper parentheses blotted out, letter for letter."""

    text: str
    shown: str
    language: Language

    def split(self, span: Span, separator: re.Pattern[str]) -> list[Span]:
        """The non-empty pieces of a span."""
        start, end = span
        pieces = []
        for match in separator.finditer(self.shown, start, end):
            pieces.append((start, match.start()))
            start = match.end()
        trimmed = (_trimmed(self.text, piece) for piece in (*pieces, (start, end)))
        return [piece for piece in trimmed if piece[0] < piece[1]]


def side_by_side(text: str, language: Language) -> list[SideBySide]:
    """All that stands side by side in a text, the outer before the inner."""
    hidden = TITLE.sub(lambda match: f"{match[1]}{'x' * len(match[2])}{match[3]}", text)
    whole = _Reading(text, _blotted(hidden), language)
    found = [SideBySide(Layout.DIMENSIONS, tuple(whole.split((0, len(text)), _BAR)))]
    for place, dimension in enumerate(found[0].items):
        lines = SideBySide(Layout.LINES, tuple(whole.split(dimension, _LINE)), within=found[0], place=place)
        found.append(lines)
        for number, line in enumerate(lines.items):
            found += _line(whole, line, lines, number)
    for start, end in _parentheses(hidden):
        inner = replace(whole, shown=f"{' ' * (start + 1)}{_blotted(hidden[start + 1 : end - 1])}")
        outer = SideBySide(Layout.PARENTHESES, ((start, end),))
        found += [outer, *_clauses(inner, (start + 1, end - 1), outer, 0)]
    return found


def without_marker(text: str) -> str:
    """An item without the bullet, number or box in front of it."""
    return text[len(_marker(text)) :]


def _marker(text: str) -> str:
    match = _MARKER.match(text)
    return match[0] if match else ""


def _line(reading: _Reading, line: Span, lines: SideBySide, number: int) -> Iterator[SideBySide]:
    marker = 0 if _numbers(reading, line) else len(_marker(reading.text[slice(*line)]))
    content = line[0] + marker, line[1]
    sentences = SideBySide(Layout.SENTENCES, tuple(_sentences(reading, content)), within=lines, place=number)
    yield sentences
    for place, (start, end) in enumerate(sentences.items):
        bare = len(reading.text[start:end].rstrip(".!?"))
        yield from _clauses(reading, (start, start + bare), sentences, place)


def _sentences(reading: _Reading, span: Span) -> list[Span]:
    """The sentences of a line, their full stops included; a title, an initial and a number of a list end none."""
    start, end = span
    numbers = {match.end("number") for match in _numbers(reading, span)}
    found = []
    for match in _SENTENCE_END.finditer(reading.shown, *span):
        word = reading.shown[reading.shown.rfind(" ", start, match.start()) + 1 : match.start()]
        short = word in reading.language.names.abbreviations or (len(word) == 1 and word.isalpha())
        if match.start() not in numbers and not (short and match.end() < end):
            found.append(_trimmed(reading.text, (start, match.end())))
            start = match.end()
    rest = _trimmed(reading.text, (start, end))
    return [*found, rest] if rest[0] < rest[1] else found


def _clauses(reading: _Reading, span: Span, within: SideBySide, place: int) -> Iterator[SideBySide]:
    """What a sentence or a pair of parentheses lists."""
    numbers = _numbers(reading, span)
    if numbers:
        starts = [match.start() for match in numbers]
        ends = [*starts[1:], span[1]]
        items = tuple(_trimmed(reading.text, piece, ",;") for piece in zip(starts, ends, strict=True))
        label = (span[0], starts[0]) if starts[0] > span[0] else None
        yield SideBySide(Layout.NUMBERED, items, label, within, place)
        return
    conjunctions = "|".join(sorted(reading.language.parts.words.conjunctions)) or "(?!)"
    pieces = reading.split(
        span, re.compile(rf"{_SEMICOLON.pattern}(?:(?:{conjunctions})\s+)?", re.IGNORECASE)
    )
    if not pieces:
        return
    labels = [_LABEL.match(reading.shown, *piece) for piece in pieces]
    begins = [n for n, label in enumerate(labels) if label or n == 0]
    ends = [*begins[1:], len(pieces)]
    spans = tuple((pieces[first][0], pieces[after - 1][1]) for first, after in zip(begins, ends, strict=True))
    groups = SideBySide(Layout.GROUPS, spans, within=within, place=place)
    yield groups
    for number, (first, after) in enumerate(zip(begins, ends, strict=True)):
        match = labels[first]
        label = (match.start(), match.end()) if match else None
        items = ((match.end() if match else pieces[first][0], pieces[first][1]), *pieces[first + 1 : after])
        if len(items) == 1:
            yield _commas(reading, items[0], label, groups, number)
            continue
        listed = SideBySide(Layout.SEMICOLONS, items, label, groups, number)
        yield listed
        yield from (_commas(reading, item, None, listed, n) for n, item in enumerate(items))


def _commas(reading: _Reading, span: Span, label: Span | None, within: SideBySide, place: int) -> SideBySide:
    """The items between commas and conjunctions, without a phrase in front of the sentence ("in May, Ann and Bo")."""
    parts = reading.language.parts
    items = reading.split(span, re.compile(parts.separator.pattern, re.IGNORECASE))
    first = re.match(r"\w+", reading.text[items[0][0] : items[0][1]]) if items else None
    if len(items) > 1 and label is None and first and first[0].casefold() in parts.words.opening:
        items = items[1:]
    return SideBySide(Layout.COMMAS, tuple(items), label, within, place)


def _numbers(reading: _Reading, span: Span) -> list[re.Match[str]]:
    """Numbers of a list that runs on within a line, "1. ... 2. ..."; none unless they are 1, 2, ..."""
    found = list(_NUMBERED.finditer(reading.shown, *span))
    counted = [int(match["number"]) for match in found]
    return found if len(found) > 1 and counted == list(range(1, len(found) + 1)) else []


def _parentheses(text: str) -> Iterator[Span]:
    """Where each pair of parentheses stands, brackets included."""
    opened: list[int] = []
    for place, letter in enumerate(text):
        if letter == "(":
            opened.append(place)
        elif letter == ")" and opened:
            yield opened.pop(), place + 1


def _blotted(text: str) -> str:
    """A text with "x" for every letter in parentheses."""
    letters = list(text)
    for start, end in _parentheses(text):
        letters[start + 1 : end - 1] = "x" * (end - start - 2)
    return "".join(letters)


def _trimmed(text: str, span: Span, punctuation: str = "") -> Span:
    """A span without blanks (and these characters) around it."""
    piece = text[slice(*span)]
    blank = f" \t\r\n{punctuation}"
    return span[0] + len(piece) - len(piece.lstrip()), span[0] + len(piece.rstrip(blank))
