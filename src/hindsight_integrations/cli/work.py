"""`hindsight-memory work`: does what waits in a memory that nobody else has open."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from hindsight_integrations import AsyncHindsight, InvalidRequest, Settled

LEDGER = "ledger.sqlite"


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
    if not (path / LEDGER).exists():
        raise InvalidRequest(
            "path", f"there is no memory in {path}", "Name the directory that `open` was given."
        )
    if (working := asyncio.current_task()) is not None:
        with suppress(NotImplementedError):  # Windows
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, working.cancel)
    async with AsyncHindsight.open(path, **opening) as hindsight:
        settled = await hindsight.settle(wait=follow, progress=lambda brought: _show_one(brought, console))
        tasks = (await hindsight.doctor()).tasks
    console.print(_summary(settled))
    if tasks.waiting:
        console.print(f"{tasks.waiting} wait, {told(tasks.next_due)}")
    if tasks.dead:
        console.print(
            f"{tasks.dead} were given up: `bank.tasks.list()` says why, `bank.tasks.retry()` revives them"
        )
    return not settled.failed


def told(next_due: timedelta | None) -> str:
    """When the next of the tasks that wait is due."""
    if next_due is None:
        return "for a language model: none was named"
    seconds = round(next_due.total_seconds())
    return f"the next is due in {timedelta(seconds=seconds)}" if seconds else "the next is due now"


def _show_one(settled: Settled, console: Console) -> None:
    for task in settled.done:
        console.print(f"  task {task}: {_brought(settled) or 'nothing new'}", style="dim")
    for task, reason in settled.failed.items():
        console.print(f"  [red]task {task} failed[/red]: {escape(reason)}")


def _summary(settled: Settled) -> str:
    parts = [f"{len(settled.done)} tasks done", _brought(settled)]
    parts += [f"{len(settled.failed)} failed"] if settled.failed else []
    parts += [f"{settled.tokens_in + settled.tokens_out} tokens"] if settled.tokens_in else []
    return "; ".join(filter(None, parts))


def _brought(settled: Settled) -> str:
    counts = {
        "new memories": settled.created,
        "entities observed": settled.observed,
        "backgrounds merged": settled.merged,
        "mental models refreshed": settled.refreshed,
        "statements dropped": len(settled.dropped),
    }
    return ", ".join(f"{count} {what}" for what, count in counts.items() if count)
