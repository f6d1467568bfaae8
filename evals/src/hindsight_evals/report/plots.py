"""Plots as SVG: measures by budget, and context FAMA by period."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from io import StringIO

from hindsight_evals.report.measures import Measured, mean
from hindsight_evals.report.tables import BY_BUDGET

PERIODS = ("week", "weekly", "month", "monthly", "quarter", "quarterly", "year")
COLOURS = ("#000000", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a6d00", "#666666")
"""Colours that people with any colour vision can distinguish (Okabe and Ito 2008); the first system is black."""

PLOTTED = ("evidence recall, %", "context FAMA, %", "superseded facts leaked, %")


def plots(rows: Sequence[Measured], systems: Sequence[str], budget: int) -> Iterator[tuple[str, str]]:
    """Yield captions and SVG of each plot with data; nothing without matplotlib."""
    try:
        import matplotlib as mpl
    except ModuleNotFoundError:
        return
    mpl.use("Agg")
    for dataset in sorted({row.dataset for row in rows} - {"forgetting"}):
        of_it = [row for row in rows if row.dataset == dataset]
        for name, measure in BY_BUDGET:
            if name in PLOTTED and any(measure(row) is not None for row in of_it):
                budgets = sorted({row.budget for row in of_it})
                yield (
                    f"{dataset}: {name}, by tokens",
                    _lines(of_it, systems, budgets, lambda row: row.budget, measure),
                )
        at_budget = [row for row in of_it if row.budget == budget and row.fama is not None]
        periods = [period for period in PERIODS if any(row.period == period for row in at_budget)]
        if len(periods) > 1:
            caption = f"{dataset}: context FAMA, %, by period, at {budget} tokens"
            yield (
                caption,
                _lines(at_budget, systems, periods, lambda row: row.period, lambda row: row.context_fama),
            )


def _lines(
    rows: Sequence[Measured],
    systems: Sequence[str],
    ticks: Sequence[int] | Sequence[str],
    place: Callable[[Measured], int | str],
    measure: Callable[[Measured], float | None],
) -> str:
    """Draw a line per system over the ticks."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    for number, system in enumerate(systems):
        values = [
            mean(measure(row) for row in rows if row.system == system and place(row) == tick)
            for tick in ticks
        ]
        shown = [
            (str(tick), 100 * value) for tick, value in zip(ticks, values, strict=True) if value is not None
        ]
        if shown:
            marker, colour = "osD^vP*Xh"[number % 9], COLOURS[number % len(COLOURS)]
            axes.plot(*zip(*shown, strict=True), marker=marker, color=colour, label=system)
    axes.set_ylim(0, 102)
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
    written = StringIO()
    figure.savefig(written, format="svg", metadata={"Date": None})
    return _same_every_time(written.getvalue())


def _same_every_time(svg: str) -> str:
    """Return the SVG element with ids that do not change between runs, and without addresses except namespaces."""
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    names: dict[str, str] = {}
    for name in re.findall(r'id="([^"]+)"', svg):
        names.setdefault(name, f"e{len(names)}")
    return re.sub(
        r'(id="|href="#|url\(#)([^")]+)', lambda match: match[1] + names.get(match[2], match[2]), svg
    )
