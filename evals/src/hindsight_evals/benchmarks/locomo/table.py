"""Text tables of coverage."""

from __future__ import annotations

from collections.abc import Sequence

from hindsight_evals.benchmarks.locomo.coverage import Mode, Outcome, Slice, System
from hindsight_evals.benchmarks.locomo.dataset import Key
from hindsight_evals.datasets.locomo import Category


def render(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Render a table with a left-aligned first column and right-aligned numbers."""
    grid = [list(header), *map(list, rows)]
    widths = [max(len(row[i]) for row in grid) for i in range(len(header))]
    lines = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in grid]
    return "\n".join([title, lines[0], "-" * len(lines[0]), *lines[1:]])


def number(value: float | None, *, signed: bool = False) -> str:
    """Format with one decimal; a dash for None."""
    if value is None:
        return "-"
    return f"{value:+.1f}" if signed else f"{value:.1f}"


def coverage_table(outcomes: Sequence[Outcome], part: Slice, title: str) -> str:
    """Render systems by budgets, and the difference between ours and plain RRF in points."""
    budgets = sorted({outcome.budget for outcome in outcomes})
    rows = [[system, *(number(part.mean(outcomes, system, b)) for b in budgets)] for system in System]
    gaps = [number(gap(outcomes, part, budget), signed=True) for budget in budgets]
    return render(title, ["evidence covered, %", *map(str, budgets)], [*rows, ["ours - rrf", *gaps]])


def gap(outcomes: Sequence[Outcome], part: Slice, budget: int) -> float | None:
    """Return ours minus plain RRF, in points; None if not measured."""
    ours, plain = (part.mean(outcomes, system, budget) for system in (System.OURS, System.RRF))
    return None if ours is None or plain is None else ours - plain


def all_tables(outcomes: Sequence[Outcome], *, key: Key = Key.RAW) -> str:
    """Render, for each mode, categories 1 to 4 together, then each category."""
    tables = []
    for mode in dict.fromkeys(outcome.mode for outcome in outcomes):
        here = [outcome for outcome in outcomes if outcome.mode == mode]
        answerable = Slice(mode, key=key)
        tables.append(coverage_table(here, answerable, _title(here, answerable, "categories 1-4")))
        for category in Category:
            part = Slice(mode, frozenset({category}), key)
            if any(outcome.category == category for outcome in here):
                tables.append(coverage_table(here, part, _title(here, part, category.label)))
    return "\n\n".join(tables)


def _title(outcomes: Sequence[Outcome], part: Slice, name: str) -> str:
    questions = {(o.conversation, o.question) for o in outcomes if o.category in part.categories}
    corrected = " | corrected key" if part.key is Key.AUDIT else ""
    return f"{part.mode} | {name} | {len(questions)} questions{corrected}"


def as_json(outcomes: Sequence[Outcome], *, key: Key = Key.RAW) -> list[dict[str, object]]:
    """Return the same numbers, unrounded: one row for each mode, category, system and budget."""
    rows: list[dict[str, object]] = []
    for mode in dict.fromkeys(outcome.mode for outcome in outcomes):
        each = {str(int(category)): Slice(mode, frozenset({category}), key) for category in Category}
        slices = {"1-4": Slice(mode, key=key), **each}
        for name, part in slices.items():
            rows.extend(
                {"mode": Mode(mode), "categories": name, "system": system, "budget": budget, "percent": mean}
                for system in System
                for budget in sorted({outcome.budget for outcome in outcomes})
                if (mean := part.mean(outcomes, system, budget)) is not None
            )
    return rows
