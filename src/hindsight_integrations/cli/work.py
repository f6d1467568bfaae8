"""`hindsight-memory work`: do the work that waits in a memory that no other process has open."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from hindsight_integrations.cli.show import plain
from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.model.display import count

if TYPE_CHECKING:
    from hindsight_integrations.model.results import Settled

LEDGER = "ledger.sqlite"


def has_memory(path: Path) -> bool:
    """Whether there is a memory in a directory."""
    return (path / LEDGER).exists()


def check_memory(path: Path) -> Path:
    """Return the directory of a memory that exists.

    Raises:
        InvalidRequest: there is none.
    """
    if has_memory(path):
        return path
    raise InvalidRequest(
        "path",
        f"there is no memory in {path}",
        f"Check the path, or create one with: hindsight-memory retain {path} TEXT",
    )


async def work(path: Path, console: Console, *, follow: bool = False, **opening: Any) -> bool:  # noqa: ANN401 - of `open`
    """Do the waiting work of all banks and print what became of it.

    Ended by SIGTERM or Ctrl-C, what is under way is given back, to be done by whoever comes next.

    Args:
        path: the memory's directory.
        console: where to print.
        follow: also wait for what is due later, until nothing waits.
        opening: further options of `AsyncHindsight.open`.

    Returns:
        Whether no task failed.

    Raises:
        InvalidRequest: there is no memory in the directory.
        LedgerBusy: somebody has it open; says who.
    """
    from hindsight_integrations.engine.assembly import AsyncHindsight

    check_memory(path)
    if (working := asyncio.current_task()) is not None:
        with suppress(NotImplementedError):  # Windows
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, working.cancel)
    async with AsyncHindsight.open(path, **opening) as hindsight:
        settled = await hindsight.settle(wait=follow, progress=lambda brought: _show_one(brought, console))
        tasks = (await hindsight.doctor()).tasks
    console.print(_summary(settled))
    if tasks.waiting:
        console.print(f"{tasks.waiting} wait, {due_words(tasks.next_due)}")
    if tasks.dead:
        console.print(
            plain(
                f"{count(tasks.dead, 'task')} given up; see why, and --retry: hindsight-memory tasks {path}"
            ),
            soft_wrap=True,
        )
    return not settled.failed


def due_words(next_due: timedelta | None) -> str:
    """When the next of the tasks that wait is due."""
    if next_due is None:
        return "for a language model: none was named"
    seconds = round(next_due.total_seconds())
    return f"the next is due in {timedelta(seconds=seconds)}" if seconds else "the next is due now"


def _show_one(settled: Settled, console: Console) -> None:
    for task in settled.done:
        console.print(f"  task {task}: {_brought(settled) or 'nothing new'}", style="dim")
    for task, reason in settled.failed.items():
        console.print(plain(f"  task {task} failed: ", "red").append_text(plain(reason)))


def _summary(settled: Settled) -> str:
    parts = [f"{count(len(settled.done), 'task')} done", _brought(settled)]
    parts += [f"{len(settled.failed)} failed"] if settled.failed else []
    parts += [f"{settled.tokens_in + settled.tokens_out} tokens"] if settled.tokens_in else []
    return "; ".join(filter(None, parts))


def _brought(settled: Settled) -> str:
    counts = [
        (settled.created, "new memory", "new memories"),
        (settled.observed, "entity observed", "entities observed"),
        (settled.merged, "background merged", "backgrounds merged"),
        (settled.refreshed, "mental model refreshed", "mental models refreshed"),
        (len(settled.dropped), "statement dropped", "statements dropped"),
    ]
    return ", ".join(count(number, *noun) for number, *noun in counts if number)
