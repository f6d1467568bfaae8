"""`hindsight-evals`: evaluations of this package and comparable systems in resumable runs, and benchmarks of the engine."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from hindsight_evals.runner.usage import Price
from hindsight_integrations import HindsightError, InvalidRequest

if TYPE_CHECKING:
    from hindsight_evals.runner.run_config import RunConfig

app = typer.Typer(
    help="Evaluations on LoCoMo, LongMemEval, Memora and simulated lives, of this package and of comparable systems; benchmarks of the engine.",
    no_args_is_help=True,
    add_completion=False,
)
console = Console(highlight=False)

Folder = Annotated[Path, typer.Argument(help="The run's folder.")]
VECTORS = Path.home() / ".cache" / "hindsight-integrations" / "eval-vectors.sqlite"
Vectors = Annotated[Path, typer.Option(help="File in which vectors are cached between runs.")]
AtOnce = Annotated[int, typer.Option(min=1, help="Maximum number of concurrent questions to a model.")]
Prices = Annotated[
    list[str] | None, typer.Option("--price", help="MODEL=IN/OUT, dollars per million tokens. Repeatable.")
]

Sources = Annotated[
    list[str],
    typer.Option(
        "--episodes",
        help="locomo:PATH, longmemeval:PATH, memora:PATH, simulated:PERSONA:PERIOD:SEED[:held-out][:verbatim], "
        "forgetting:plain or forgetting:extracted. Repeatable.",
    ),
]


@app.command()
def run(
    folder: Folder,
    *,
    episodes: Sources,
    systems: Annotated[
        str,
        typer.Option(
            help="Comma-separated names (see `hindsight-evals peers`); `here` selects all that are installed, except the reranked one."
        ),
    ] = "hindsight,plain-rrf",
    facts: Annotated[
        str, typer.Option(help="Folder of extracted facts, with a file EPISODE.jsonl for each episode.")
    ] = "",
    corrections: Annotated[str, typer.Option(help="Folder with LoCoMo's corrected answers.")] = "",
    budgets: Annotated[
        str, typer.Option(help="Token budgets of a context, comma-separated.")
    ] = "256,512,1024,2048,4096",
    limit: Annotated[
        int | None, typer.Option(min=1, help="Maximum number of episodes from each source.")
    ] = None,
    memory_model: Annotated[
        str, typer.Option(help="Model with which this package extracts and reflects: openai:NAME.")
    ] = "",
    reader: Annotated[str, typer.Option(help="Model that answers from contexts: openai:NAME.")] = "",
    judge: Annotated[
        list[str] | None, typer.Option(help="Model that judges answers: openai:NAME. Repeatable.")
    ] = None,
    answer_budget: Annotated[
        int, typer.Option(help="Token budget of the context from which questions are answered.")
    ] = 2048,
    own_answers: Annotated[bool, typer.Option(help="Systems that answer themselves.")] = False,
    setting: Annotated[
        list[str] | None, typer.Option(help="NAME=VALUE, a setting of this package. Repeatable.")
    ] = None,
    vectors: Vectors = VECTORS,
    at_once: AtOnce = 8,
    price: Prices = None,
) -> None:
    """Start a run, or continue it without repeating finished work; then write its report."""
    from hindsight_evals import peers as known
    from hindsight_evals.runner.run_config import RunConfig

    here = [
        name for name in known.installed() if name != known.RERANKED
    ]  # the reranked one takes as long as all the others together
    config = RunConfig(
        episodes=tuple(episodes),
        systems=tuple(here if systems == "here" else systems.split(",")),
        facts=facts,
        corrections=corrections,
        budgets=tuple(_number(budget) for budget in budgets.split(",")),
        limit=limit,
        memory_model=memory_model,
        reader=reader,
        judges=tuple(judge or ()),
        answer_budget=answer_budget,
        own_answers=own_answers,
        settings=dict(_pair(each) for each in setting or ()),
    )
    _complete(folder, config, vectors, at_once, price)


@app.command()
def resume(folder: Folder, vectors: Vectors = VECTORS, at_once: AtOnce = 8, price: Prices = None) -> None:
    """Continue a run with the settings with which it was started."""
    from hindsight_evals.runner.run_config import read_config

    _complete(folder, read_config(folder), vectors, at_once, price)


@app.command()
def report(folder: Folder, price: Prices = None) -> None:
    """Write report.md and report.html from the results so far, and print report.md."""
    from hindsight_evals.report import write_report

    written = write_report(folder, prices=dict(_price(each) for each in price or ()))
    console.print(escape(written.read_text(encoding="utf-8")))
    console.print(f"{written} and, in the same folder, {written.with_suffix('.html').name}")


@app.command()
def peers() -> None:
    """List the systems that can be evaluated, and what to install for the others."""
    from hindsight_evals import peers as known

    table = Table(show_header=False, box=None)
    for name in known.names():
        install = known.missing(name)
        table.add_row(
            name, "here" if install is None else f"[red]not installed[/red]: pip install {escape(install)}"
        )
    console.print(table)


@app.command()
def simulate(
    file: Annotated[Path, typer.Argument(help="JSON file to write.")],
    *,
    persona: Annotated[str, typer.Option(help="An id of the seed data.")] = "software_engineer",
    period: Annotated[str, typer.Option(help="week, month, quarter or year.")] = "week",
    seed: Annotated[int, typer.Option(help="Seed of the random numbers; each seed gives another life.")] = 0,
    days: Annotated[int | None, typer.Option(min=1, help="Length in days, at the period's rates.")] = None,
    mutation: Annotated[float, typer.Option(help="Factor on the number of updates and deletions.")] = 1.0,
    consolidation: Annotated[float, typer.Option(help="Factor on the number of purchases to add up.")] = 1.0,
    held_out: Annotated[bool, typer.Option(help="Use the phrasings that are held out for reports.")] = False,
) -> None:
    """Simulate a life, write it as an episode, and print its statistics next to Memora's."""
    from hindsight_evals.simulator.files import write_episode
    from hindsight_evals.simulator.simulate import simulate as simulated
    from hindsight_evals.simulator.statistics import statistics

    life = simulated(
        persona,
        period=period,
        seed=seed,
        days=days,
        mutation=mutation,
        consolidation=consolidation,
        held_out=held_out,
    )
    write_episode(life.episode, file)
    counted = statistics(life.episode, life.trace)
    shares = ", ".join(f"{operation} {share:.0%}" for operation, share in counted.shares.items())
    console.print(
        f"{counted.sessions} sessions with {counted.turns:.1f} turns each, {counted.operations} operations ({shares})"
    )
    overlaps = ", ".join(f"{size}-grams {share:.3f}" for size, share in counted.overlap.items())
    console.print(f"{counted.questions} questions; two sessions share {overlaps}")


@app.command("export")
def export_waiting(
    folder: Folder,
    file: Annotated[Path, typer.Argument(help="File to write, with one JSON object per line.")],
    stage: Annotated[str, typer.Option(help="answers or verdicts.")] = "answers",
    by: Annotated[str, typer.Option(help="Name of the judge.")] = "imported",
) -> None:
    """Export questions with contexts that wait for answers, or answers that wait for verdicts, for people or other systems."""
    from hindsight_evals.results import ResultFiles
    from hindsight_evals.runner.exchange import waiting, write_lines
    from hindsight_evals.runner.run_config import read_config

    wanted: Literal["answers", "verdicts"] = "verdicts" if stage == "verdicts" else "answers"
    budget = read_config(folder).answer_budget
    count = write_lines(waiting(ResultFiles(folder), wanted, budget=budget, by=by), file)
    console.print(f"{count} {wanted} wanted, written to {file}")


@app.command("import")
def import_written(
    folder: Folder,
    file: Annotated[Path, typer.Argument(help="The exported lines, with `answer` or `yes` added.")],
    by: Annotated[str, typer.Option(help="Who answered or judged.")] = "imported",
) -> None:
    """Import answers or verdicts; questions that are already answered or judged stay unchanged."""
    from hindsight_evals.results import ResultFiles
    from hindsight_evals.runner.exchange import take_in

    console.print(f"{take_in(ResultFiles(folder), file, by=by)} imported")


@app.command(
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True}, add_help_option=False
)
def bench(context: typer.Context) -> None:
    """Run a benchmark of the engine: `bench NAME OPTIONS`, `bench NAME --help`; `bench` alone lists them."""
    from hindsight_evals.benchmarks import run_benchmark, summaries

    name, *arguments = context.args or ["--help"]
    if name == "--help":
        table = Table(show_header=False, box=None)
        for each, summary in summaries().items():
            table.add_row(each, escape(summary))
        console.print(table)
        return
    raise typer.Exit(run_benchmark(name, arguments))


def run_command(argv: Sequence[str], *, program: str = "hindsight-evals") -> None:
    """Run the command line and exit; print errors of this package as one line, without a traceback."""
    try:
        app(args=list(argv), prog_name=program)
    except HindsightError as error:
        console.print(f"[red]{escape(str(error))}[/red]")
        raise SystemExit(1) from error


def main() -> None:
    """Run the command line with the arguments of this process."""
    run_command(sys.argv[1:])


def _complete(folder: Path, config: RunConfig, vectors: Path, at_once: int, price: list[str] | None) -> None:
    from hindsight_evals.runner.run import run_here

    run_here(folder, config, progress=_Bars(console), vectors=vectors, at_once=at_once)
    report(folder, price)


class _Bars:
    """One progress bar per stage; none outside a terminal."""

    def __init__(self, console: Console) -> None:
        self._console = console

    @contextmanager
    def stage(self, name: str, total: int | None) -> Iterator[Callable[[], None]]:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=self._console, disable=not self._console.is_terminal) as bars:
            task = bars.add_task(escape(name), total=total)
            yield lambda: bars.advance(task)


def _number(written: str) -> int:
    try:
        return int(written)
    except ValueError as error:
        raise InvalidRequest(
            "budgets", f"{written!r} is not a number of tokens", "Write 512,1024."
        ) from error


def _pair(written: str) -> tuple[str, str]:
    name, found, value = written.partition("=")
    if not found:
        raise InvalidRequest("setting", f"{written!r} is not a setting", "Write NAME=VALUE.")
    return name, value


def _price(written: str) -> tuple[str, Price]:
    model, _, money = written.rpartition("=")
    try:
        tokens_in, tokens_out = (float(each) for each in money.split("/"))
    except ValueError as error:
        fix = "Write MODEL=IN/OUT, in dollars per million tokens."
        raise InvalidRequest("price", f"{written!r} is not a price", fix) from error
    return model, Price(tokens_in, tokens_out)
