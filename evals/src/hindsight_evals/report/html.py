"""A report as one HTML page without external resources."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from hindsight_evals.report.tables import Table

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; color: #1a1a1a; }
table { border-collapse: collapse; margin: 1rem 0; display: block; overflow-x: auto; }
th, td { border: 1px solid #bbb; padding: .3rem .6rem; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
th { background: #eee; }
figure { margin: 1rem 0; } svg { max-width: 100%; height: auto; }
"""


def as_html(
    title: str, facts: Sequence[tuple[str, str]], tables: Sequence[Table], plots: Sequence[tuple[str, str]]
) -> str:
    """Return a page with a heading, the facts about the run, plots and tables.

    Args:
        title: the title of the page.
        facts: names and values.
        tables: the tables, in order.
        plots: captions and SVG.
    """
    known = "".join(f"<li>{escape(name)}: {escape(value)}</li>" for name, value in facts)
    figures = "".join(
        f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>" for caption, svg in plots
    )
    body = f"<h1>{escape(title)}</h1><ul>{known}</ul>{figures}{''.join(map(_table, tables))}"
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>{STYLE}</style>'
    return f'<!DOCTYPE html><html lang="en"><head>{head}</head><body>{body}</body></html>\n'


def _table(table: Table) -> str:
    header = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in table.header)
    rows = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in table.rows)
    return (
        f"<h2>{escape(table.title)}</h2><table><thead><tr>{header}</tr></thead><tbody>{rows}</tbody></table>"
    )


def _cell(text: str) -> str:
    """Return a table cell; text between asterisks becomes bold, as in Markdown."""
    parts = escape(text).split("**")
    return f"<td>{''.join(f'<strong>{part}</strong>' if place % 2 else part for place, part in enumerate(parts))}</td>"
