"""The tables of a report, made from the measures of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeVar

from hindsight_evals.metrics.agreement import pairwise_kappa
from hindsight_evals.metrics.intervals import paired_difference
from hindsight_evals.report.measures import Answered, Measured, mean, paired
from hindsight_evals.results import Timings

ORACLES = ("vectors-told-deletions", "full-context")
"""Reference systems, which are told about deletions or return everything; they are never marked as best."""

NONE = "–"  # noqa: RUF001 - shown where a measure does not apply

Measure = Callable[[Measured], float | None]


@dataclass(frozen=True, slots=True)
class Table:
    """A table of texts.

    Attributes:
        title: the title.
        header: the column headings.
        rows: the rows, each with one cell per column.
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


BY_BUDGET: tuple[tuple[str, Measure], ...] = (
    ("evidence recall, %", lambda row: row.recall),
    ("evidence recall by the corrected key, %", lambda row: row.corrected_recall),
    ("nDCG, %", lambda row: row.ndcg),
    ("context FAMA, %", lambda row: row.context_fama),
    (
        "memory presence (MPA of contexts), %",
        lambda row: row.fama.mpa if row.fama and row.fama.presence else None,
    ),
    ("superseded facts leaked, %", lambda row: row.leaks),
)
"""The measures that are shown for every system and budget."""


def by_budget(rows: Sequence[Measured], systems: Sequence[str]) -> Iterator[Table]:
    """Yield each measure of `BY_BUDGET` for each dataset, with a row per system and a column per budget."""
    budgets = sorted({row.budget for row in rows})
    for dataset in sorted({row.dataset for row in rows} - {"forgetting"}):
        of_it = [row for row in rows if row.dataset == dataset]
        for title, measure in BY_BUDGET:
            if title.startswith("evidence recall by") and all(
                row.recall == row.corrected_recall for row in of_it
            ):
                continue
            cells = tuple(
                (system, *(_percent(mean(measure(row) for row in of_it if (row.system, row.budget) == (system, budget))) for budget in budgets))
                for system in systems
            )  # fmt: skip
            if any(cell != NONE for line in cells for cell in line[1:]):
                yield Table(f"{dataset}: {title}", ("system", *map(str, budgets)), cells)


def by_task(rows: Sequence[Measured], systems: Sequence[str], budget: int) -> Iterator[Table]:
    """Yield context FAMA (presence / absence) of each dataset by period and kind, with a column per system and the best in bold."""
    for dataset in sorted({row.dataset for row in rows} - {"forgetting"}):
        of_it = [row for row in rows if row.dataset == dataset and row.fama is not None]
        of_it = [row for row in of_it if row.budget == budget or row.system == "full-context"]
        lines = []
        for (period, kind), cell in _grouped(of_it, lambda row: (row.period, row.kind)):
            values = [[row for row in cell if row.system == system] for system in systems]
            best = max((mean(row.context_fama for row in some) or 0.0 for some, name in zip(values, systems, strict=True) if name not in ORACLES), default=0.0)  # fmt: skip
            lines.append((period, kind, str(len({row.question for row in cell})), *(_fama(some, best, oracle=name in ORACLES) for some, name in zip(values, systems, strict=True))))  # fmt: skip
        if lines:
            title = f"{dataset}: context FAMA (presence / absence), %, at {budget} tokens"
            yield Table(title, ("period", "task", "questions", *systems), tuple(lines))


def forgetting(rows: Sequence[Measured], systems: Sequence[str], budget: int) -> Iterator[Table]:
    """Yield the passed forgetting cases by form and family; a case passes if all valid items and no others are stated."""
    of_it = [row for row in rows if row.dataset == "forgetting"]
    of_it = [row for row in of_it if row.budget == budget or row.system == "full-context"]
    for period, form in _grouped(of_it, lambda row: row.period):
        families = [*_grouped(form, lambda row: row.kind), ("all", form)]
        lines = tuple(
            (family, *(_passed([row for row in cases if row.system == system]) for system in systems))
            for family, cases in families
        )
        yield Table(f"forgetting, {period}: cases passed at {budget} tokens", ("family", *systems), lines)


def withdrawals(rows: Sequence[Measured]) -> Iterator[Table]:
    """Yield the number of valid items that a system no longer considers true, for systems that can list what they consider true."""
    listing = {(row.system, row.question): row for row in rows if row.withdrawn is not None and row.valid}
    lines = []
    for (dataset, period), some in _grouped([*listing.values()], lambda row: (row.dataset, row.period)):
        for system, mine in _grouped(some, lambda row: row.system):
            lost, valid = sum(row.withdrawn or 0 for row in mine), sum(row.valid for row in mine)
            lines.append((system, dataset, period, f"{lost} of {valid}", _percent(lost / valid)))
    if lines:
        yield Table(
            "wrongly withdrawn",
            ("system", "dataset", "period", "valid items no longer held", "%"),
            tuple(lines),
        )


def differences(rows: Sequence[Measured], systems: Sequence[str], budget: int) -> Iterator[Table]:
    """Yield the differences between the first system and each other one, question by question, with 95 % intervals."""
    first, *others = systems
    for dataset in sorted({row.dataset for row in rows}):
        of_it = [row for row in rows if row.dataset == dataset]
        of_it = [row for row in of_it if row.budget == budget or row.system == "full-context"]
        lines = tuple(
            (other, *(_difference(of_it, first, other, measure) for _, measure in BY_BUDGET))
            for other in others
        )
        if lines:
            title = f"{dataset}: {first} minus each, points at {budget} tokens [95 %]"
            yield Table(title, ("against", *(name.removesuffix(", %") for name, _ in BY_BUDGET)), lines)


def answers(rows: Sequence[Answered], systems: Sequence[str]) -> Iterator[Table]:
    """Yield the scores of the answers by judges and exact sums, and the cost of their contexts."""
    for (dataset, period), some in _grouped(rows, lambda row: (row.dataset, row.period)):
        lines = []
        for kind, of_kind in [*_grouped(some, lambda row: row.kind), ("all", some)]:
            for system in systems:
                mine = [row for row in of_kind if row.system == system]
                if mine:
                    lines.append((kind, system, *_answer_cells(mine)))
        header = ("kind", "system", "questions", "correct", "correctly left open", "FAMA", "exact", "tokens")
        yield Table(f"{dataset} {period}: answers, %", header, tuple(lines))


def agreement(rows: Sequence[Answered]) -> Iterator[Table]:
    """Yield Cohen's kappa of each pair of judges."""
    votes: dict[str, dict[str, bool]] = {}
    for row in rows:
        for judge, given in row.votes.items():
            votes.setdefault(judge, {}).update({f"{row.system}/{asked}": yes for asked, yes in given.items()})
    found = pairwise_kappa(votes)
    if found:
        lines = tuple((a, b, NONE if kappa is None else f"{kappa:.2f}") for (a, b), kappa in found.items())
        yield Table("agreement of judges", ("judge", "and", "Cohen's kappa"), lines)


def times(timings: Sequence[Timings], systems: Sequence[str]) -> Iterator[Table]:
    """Yield seconds of ingest and milliseconds of recall; they depend on the machine and differ between runs."""
    lines = []
    for system in systems:
        for took in (each for each in timings if each.system == system):
            recalls = sorted(ms for each in took.recall_ms.values() for ms in each)
            middle, slow = recalls[len(recalls) // 2], recalls[int(0.95 * (len(recalls) - 1))]
            ingest = f"{took.ingest_s:.1f}" + (" (rest of a killed run)" if took.resumed else "")
            a_session = f"{1000 * took.ingest_s / max(took.sessions, 1):.1f}"
            lines.append((system, took.episode, str(took.sessions), ingest, a_session, f"{middle:.1f} / {slow:.1f}", f"{took.peak_mib:.0f}"))  # fmt: skip
    if lines:
        header = (
            "system",
            "episode",
            "sessions",
            "ingest s",
            "ms per session",
            "recall ms p50 / p95",
            "peak MiB of the process",
        )
        yield Table("times", header, tuple(lines))


T = TypeVar("T")
K = TypeVar("K", str, tuple[str, str])


def _grouped(rows: Sequence[T], key: Callable[[T], K]) -> list[tuple[K, list[T]]]:
    """Group rows by a key, sorted by key."""
    return [(name, list(some)) for name, some in groupby(sorted(rows, key=key), key)]


def _percent(value: float | None) -> str:
    return NONE if value is None else f"{100 * value:.1f}"


def _fama(rows: Sequence[Measured], best: float, *, oracle: bool) -> str:
    famas = [row.fama for row in rows if row.fama is not None]
    value = mean(fama.fama for fama in famas)
    if value is None:
        return NONE
    shown = f"**{_percent(value)}**" if value >= best and not oracle else _percent(value)
    presence = mean(fama.mpa for fama in famas if fama.presence)
    absence = mean(fama.faa for fama in famas if fama.absence)
    return f"{shown} ({_percent(presence)} / {_percent(absence)})"


def _passed(rows: Sequence[Measured]) -> str:
    done = [row.passed for row in rows if row.passed is not None]
    return f"{sum(done):.0f}/{len(done)}" if done else NONE


def _difference(rows: Sequence[Measured], first: str, other: str, measure: Measure) -> str:
    ours, theirs = paired(rows, first, other, measure)
    if not ours:
        return NONE
    found = paired_difference(ours, theirs)
    return f"{100 * found.mean:+.1f} [{100 * found.low:+.1f}, {100 * found.high:+.1f}]"


def _answer_cells(rows: Sequence[Answered]) -> tuple[str, ...]:
    return (
        str(len(rows)),
        _percent(mean(row.correct for row in rows if row.answerable)),
        _percent(mean(row.correct for row in rows if not row.answerable)),
        _percent(mean(row.fama.fama for row in rows if row.fama)),
        _percent(mean(row.exact for row in rows)),
        f"{mean(row.tokens for row in rows) or 0:.0f}",
    )
