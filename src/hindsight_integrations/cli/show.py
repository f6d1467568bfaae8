"""Recalled memories as a table: what, when, which channels found it, score."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from hindsight_integrations import Channel, MemoryUnit, RecalledUnit, RecallResult

LETTERS = {
    Channel.SEMANTIC: "meaning",
    Channel.KEYWORD: "words",
    Channel.GRAPH: "graph",
    Channel.TEMPORAL: "time",
}


def show_recalled(found: RecallResult, console: Console, *, most: int = 4) -> None:
    """Print the best units of a result."""
    if found.window:
        console.print(
            f"  time asked about: {found.window.start:%Y-%m-%d} to {found.window.end:%Y-%m-%d}", style="dim"
        )
    table = Table(box=None, pad_edge=False, padding=(0, 1))
    for title in ("score", "when", "found by (rank)", "memory"):
        table.add_column(title, overflow="fold", max_width=70 if title == "memory" else 30)
    for item in found.units[:most]:
        table.add_row(f"{item.score:.4f}", when(item.unit), found_by(item), escape(shortened(item.text)))
    console.print(table)


def when(unit: MemoryUnit) -> str:
    """The unit's time, as coarse as it is known; when it was mentioned if it has none."""
    if unit.occurred is None:
        return f"said {unit.mentioned_at:%Y-%m-%d}"
    days = (unit.occurred.end - unit.occurred.start).days
    return f"{unit.occurred.start:%Y-%m-%d}" + (f" +{days}d" if days > 1 else "")


def found_by(item: RecalledUnit) -> str:
    """Which channels found a unit, and where each ranked it."""
    return ", ".join(f"{LETTERS[channel]} {hit.rank}" for channel, hit in item.channels.items())


def shortened(text: str, limit: int = 200) -> str:
    """The beginning of a text."""
    return text if len(text) <= limit else text[: limit - 1] + "…"
