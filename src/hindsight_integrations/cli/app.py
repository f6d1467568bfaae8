"""The commands: demo, doctor, retain, recall and work, and `eval`, which another distribution has."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from hindsight_integrations import Hindsight, HindsightError
from hindsight_integrations.cli.conversations import load_conversation, sample_conversation
from hindsight_integrations.cli.demo import run_demo
from hindsight_integrations.cli.show import show_recalled
from hindsight_integrations.cli.work import told, work

app = typer.Typer(
    help="Long-term memory for agents, from the command line.", no_args_is_help=True, add_completion=False
)
console = Console(highlight=False)

INTERRUPTED = 130  # as a shell has it: 128 and the number of SIGINT

Folder = Annotated[Path, typer.Argument(help="The memory's directory.")]
Bank = Annotated[str, typer.Option(help="The bank.")]


@app.command()
def demo(
    data: Annotated[
        Path | None, typer.Argument(help="A LoCoMo conversation; the sample if left out.")
    ] = None,
) -> None:
    """Retain a conversation in a fresh memory and answer five questions by recall."""
    conversation = sample_conversation() if data is None else load_conversation(data)
    run_demo(conversation, console)


@app.command()
def doctor(
    path: Folder,
    deep: Annotated[bool, typer.Option(help="Read everything and compare it with its checksums.")] = False,
) -> None:
    """Say what a memory runs on, what it holds, and what is broken."""
    with Hindsight.open(path, read_only=True) as hindsight:
        health = hindsight.doctor(deep=deep)
    table = Table(show_header=False, box=None)
    for role, name in health.backends.items():
        table.add_row(role, escape(name))
    for bank, (units, revision) in health.banks.items():
        table.add_row(f"bank {escape(bank)}", f"{units} memories, revision {revision}")
    for bank, problem in health.failures.items():
        table.add_row(f"[red]bank {escape(bank)}[/red]", escape(problem))
    for bank, damaged in health.damaged.items():
        table.add_row(f"[red]bank {escape(bank)}[/red]", escape(f"damaged memories: {', '.join(damaged)}"))
    tasks = health.tasks
    if tasks.waiting or tasks.dead:
        due = f", {told(tasks.next_due)}" if tasks.waiting else ""
        table.add_row("tasks", f"{tasks.waiting} wait{due}; {tasks.dead} were given up")
    for problem in health.ledger:
        table.add_row("[red]ledger[/red]", escape(problem))
    if deep and not health.damaged and not health.ledger:
        table.add_row("checksums", "all memories are what was written")
    console.print(table)


@app.command()
def retain(
    path: Folder, text: Annotated[str, typer.Argument(help="What to remember.")], bank: Bank = "default"
) -> None:
    """Remember a text."""
    with Hindsight.open(path) as hindsight:
        result = hindsight.bank(bank).retain(text)
    console.print(f"{result.created} new memories")


@app.command()
def recall(
    path: Folder,
    query: Annotated[str, typer.Argument(help="The question.")],
    bank: Bank = "default",
    max_tokens: Annotated[int, typer.Option(help="Token budget.")] = 1024,
) -> None:
    """Find the memories that answer a question."""
    with Hindsight.open(path, read_only=True) as hindsight:
        found = hindsight.bank(bank, create=False).recall(query, max_tokens=max_tokens)
    show_recalled(found, console)


@app.command("work")
def do_work(
    path: Folder,
    model: Annotated[
        str | None, typer.Option(help="openai:NAME; left out, what HINDSIGHT_MODEL names, or none.")
    ] = None,
    follow: Annotated[
        bool, typer.Option(help="Also wait for tasks that are due later, until none waits.")
    ] = False,
) -> None:
    """Do what waits in a memory that nobody else has open. Ends with 1 if a task failed."""
    try:
        all_done = asyncio.run(work(path, console, follow=follow, model=model))
    except (KeyboardInterrupt, asyncio.CancelledError):
        console.print("stopped; what was under way waits for whoever comes next")
        sys.stdout.flush()
        os._exit(INTERRUPTED)  # all is closed; a model's call that nobody waits for would keep the process
    if not all_done:
        raise typer.Exit(1)


@app.command(
    "eval",
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    add_help_option=False,
)
def evaluate(context: typer.Context) -> None:
    """Run `hindsight-evals`, a distribution of its own."""
    try:
        from hindsight_evals.cli import run_command
    except ModuleNotFoundError as error:
        if error.name not in {"hindsight_evals", "hindsight_evals.cli"}:
            raise
        typer.echo("Evaluations are not installed. From this repository: pip install ./evals", err=True)
        raise typer.Exit(2) from error
    run_command(context.args, program="hindsight-memory eval")


def run() -> None:
    """The app with errors as one line instead of a traceback."""
    try:
        code = app(standalone_mode=False)  # of a command that ends by typer.Exit
    except HindsightError as error:
        console.print(f"[red]{escape(str(error))}[/red]")
        raise SystemExit(1) from error
    if code:
        raise SystemExit(code)
