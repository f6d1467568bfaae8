"""A report as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from hindsight_evals.report.tables import Table


def as_markdown(title: str, facts: Sequence[tuple[str, str]], tables: Sequence[Table]) -> str:
    """Return a heading, the facts about the run, and its tables."""
    known = "\n".join(f"- {name}: {value}" for name, value in facts)
    return "\n\n".join([f"# {title}", known, *map(_table, tables)]) + "\n"


def _table(table: Table) -> str:
    lines = [_row(table.header), _row(("---",) * len(table.header)), *map(_row, table.rows)]
    return f"## {table.title}\n\n" + "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
