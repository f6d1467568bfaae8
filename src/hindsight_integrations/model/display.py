"""Display of results: a one-line `repr`, and small HTML tables in notebooks.

All text in the HTML is escaped. Colours come from the notebook's theme.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape

LINE = 150  # maximum characters of a `repr`
QUOTED = 40  # maximum characters of a text in a `repr`
CELL = 100  # maximum characters of a text in a table
MOST_ROWS = 50  # maximum rows shown per table

_LEFT = ' style="text-align: left"'
_SHORT = ' style="text-align: left; white-space: nowrap"'


@dataclass(frozen=True, slots=True)
class Table:
    """One table of a result.

    Attributes:
        columns: the headings; empty for a table of fields, whose rows are (name, value).
        rows: the rows; only the first 50 and the number of the others are shown.
        full: True shows long texts in full instead of folding them.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    full: bool = False


class Displayed:
    """A mixin with a one-line `__repr__` of at most 150 characters, and HTML for notebooks."""

    __slots__ = ()

    def _display_text(self) -> str:
        """Return the text quoted in the repr; empty for none."""
        return ""

    def _display_facts(self) -> Iterable[str]:
        """Return the facts shown in the repr and in the HTML caption; empty ones are omitted."""
        return ()

    def _display_tables(self) -> Iterable[Table | Displayed]:
        """Return the tables and nested results of the HTML; tables without rows are omitted."""
        return ()

    def __repr__(self) -> str:
        text = one_line(self._display_text(), QUOTED)
        facts = filter(None, (repr(text) if text else "", *self._display_facts()))
        return one_line(f"{type(self).__name__}({', '.join(facts)})", LINE)

    def _repr_html_(self) -> str:
        facts = ", ".join(filter(None, self._display_facts()))
        caption = f"<div><b>{escape(type(self).__name__)}</b> {escape(facts)}</div>"
        return caption + "".join(map(_part, self._display_tables()))


def one_line(text: str, most: int) -> str:
    """Shorten a text to one line of at most `most` characters, ending in an ellipsis if it was cut."""
    line = " ".join(text[: 4 * most].split())
    return line if len(line) <= most and len(text) <= 4 * most else line[: most - 1].rstrip(" ,;") + "…"


def day(moment: datetime | None) -> str:
    """Format the day of a moment in ISO 8601, UTC; empty for None."""
    return "" if moment is None else moment.date().isoformat()


def count(number: int, one: str, many: str = "") -> str:
    """Format a number with its noun: "1 memory", "2 memories"."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def fields(**values: object) -> Table:
    """Build a table of named values without the empty ones; underscores in names become spaces."""
    rows = [(name.replace("_", " "), value) for name, value in values.items() if value not in (None, "", ())]
    return Table((), rows)


def _part(part: Table | Displayed) -> str:
    if isinstance(part, Displayed):
        return part._repr_html_()
    return _table(part) if part.rows else ""


def _table(table: Table) -> str:
    head = "".join(f"<th{_LEFT}>{escape(column)}</th>" for column in table.columns)
    shown = table.rows[:MOST_ROWS]
    body = "".join(f"<tr>{_cells(row, full=table.full)}</tr>" for row in shown)
    left_out = len(table.rows) - len(shown)
    more = f"<div>… and {left_out:,} more</div>" if left_out else ""
    return f"<table>{f'<thead><tr>{head}</tr></thead>' if head else ''}<tbody>{body}</tbody></table>{more}"


def _cells(row: Sequence[object], *, full: bool) -> str:
    return "".join(f"<td{_style(value)}>{_cell(value, full=full)}</td>" for value in row)


def _style(value: object) -> str:
    """Return the cell's style, which keeps dates and other short values on one line, since notebooks break at hyphens."""
    return _SHORT if len(_words(value)) <= 12 else _LEFT


def _cell(value: object, *, full: bool) -> str:
    text = _words(value)
    if full or len(text) <= CELL:
        return escape(text).replace("\n", "<br>")
    return f"<details><summary>{escape(one_line(text, CELL))}</summary>{escape(text)}</details>"


def _words(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, datetime):
        return day(value)
    if isinstance(value, tuple | list):
        return ", ".join(map(_words, value))
    return str(value)
