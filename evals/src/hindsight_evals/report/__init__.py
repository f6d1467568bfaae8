"""Reports: a run's results as tables and plots, in Markdown and HTML. Equal results give identical files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hindsight_evals.report import tables
from hindsight_evals.report.html import as_html
from hindsight_evals.report.markdown import as_markdown
from hindsight_evals.report.measures import Answered, Measured, answered, measured
from hindsight_evals.report.plots import plots
from hindsight_evals.results import ResultFiles
from hindsight_evals.runner.run import CALLS
from hindsight_evals.runner.run_config import RunConfig, read_config
from hindsight_evals.runner.usage import Price, usage

TITLE = "Evaluation"


def write_report(run: Path, *, prices: Mapping[str, Price] | None = None) -> Path:
    """Write `report.md`, `report.html` and, in a separate file because it differs between runs, `times.md`.

    Args:
        run: the run's folder.
        prices: prices by model, per million tokens.

    Returns:
        The path of report.md.
    """
    config = read_config(run)
    rows: list[Measured] = []
    given: list[Answered] = []
    for result in ResultFiles(run).all():
        rows += measured(result)
        given += [row for row in [answered(result)] if row is not None]
    systems = [name for name in config.systems if any(row.system == name for row in rows)]
    shown = [
        *tables.by_task(rows, systems, config.answer_budget),
        *tables.forgetting(rows, systems, config.answer_budget),
        *tables.withdrawals(rows),
        *tables.differences(rows, systems, config.answer_budget),
        *tables.by_budget(rows, systems),
        *tables.answers(given, systems),
        *tables.agreement(given),
    ]
    facts = _facts(config, run, prices or {})
    path = run / "report.md"
    path.write_text(as_markdown(TITLE, facts, shown), encoding="utf-8")
    drawn = list(plots(rows, systems, config.answer_budget))
    path.with_suffix(".html").write_text(as_html(TITLE, facts, shown, drawn), encoding="utf-8")
    took = list(tables.times(list(ResultFiles(run).timings()), systems))
    (run / "times.md").write_text(as_markdown("Times", [], took), encoding="utf-8")
    return path


def _facts(config: RunConfig, run: Path, prices: Mapping[str, Price]) -> list[tuple[str, str]]:
    """Return the settings on which the results depend, and the cost of the models."""
    facts = [
        ("version", f"{config.version} {config.commit}".strip()),
        ("episodes", ", ".join(config.episodes)),
        ("systems", ", ".join(config.systems)),
        (
            "settings of this package",
            ", ".join(f"{name}={value}" for name, value in config.settings.items()) or "defaults",
        ),
    ]
    for role, used in usage(run / CALLS, config.roles, prices).items():
        cost = "" if used.cost is None else f", {used.cost:.2f} dollars"
        called = f"{used.model}, {used.calls} calls, {used.tokens_in} tokens in, {used.tokens_out} out{cost}"
        facts.append((role, called))
    return facts
