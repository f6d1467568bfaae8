"""Agents in their own processes, which are killed by themselves or by another process until they finish."""

from __future__ import annotations

import random
import signal
import time
from dataclasses import replace
from multiprocessing import get_context, set_forkserver_preload
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

from hindsight_evals.benchmarks.threads.agent import Agent, remembered

SECONDS = 300.0  # seconds without a finished turn after which a process is considered hung


def killed_within(agent: Agent) -> list[int]:
    """Run an agent repeatedly until it finishes; return the exit codes of its processes."""
    codes: list[int] = []
    while not codes or codes[-1] == -signal.SIGKILL:
        codes.append(_life(agent))
    return codes


def killed_without(agent: Agent, every: int, seed: int) -> int:
    """Run an agent until it finishes, and kill it at a random moment after every few turns; return the number of kills."""
    rng, kills = random.Random(seed), 0
    while _life(agent, turns=every, seconds=rng.uniform(0.0, 0.05)) == -signal.SIGKILL:
        kills += 1
    return kills


def difference(killed: Agent, whole: Agent) -> dict[str, Any]:
    """Return the differences between the memories of two agents, and their number."""
    left = remembered(killed.folder, light=killed.light)
    expected = remembered(whole.folder, light=whole.light)
    return {
        "memories": sum(times for (_, closed), times in expected.items() if not closed),
        "missing": len(expected - left),
        "more": sum(1 for _, closed in left - expected if not closed),
        "history": sum(1 for _, closed in left - expected if closed),
    }


def in_folder(agent: Agent, folder: Path) -> Agent:
    """Return the same agent with another folder and without planned kills."""
    folder.mkdir(parents=True)
    return replace(agent, folder=folder, deaths=())


def _life(agent: Agent, turns: int | None = None, seconds: float = 0.0) -> int:
    """Run one process of an agent, kill it some seconds after some turns, and return its exit code."""
    context = _forking()
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(agent, theirs))
    process.start()
    theirs.close()
    done = 0
    while ours.poll(SECONDS):
        try:
            ours.recv()
        except EOFError:
            break
        done += 1
        if done == turns:
            time.sleep(seconds)
            process.kill()
            break
    process.join(SECONDS)
    if process.exitcode not in {0, -signal.SIGKILL}:
        raise RuntimeError(f"the agent ended with {process.exitcode}: see what it printed")
    return process.exitcode


def _forking() -> ForkServerContext:
    """Return a context that forks processes from one with all imports."""
    names = ("threads.killing", "langgraph_threads")
    set_forkserver_preload([f"hindsight_evals.benchmarks.{name}" for name in names])
    return get_context("forkserver")


def _run(agent: Agent, done: Connection) -> None:
    agent.run(done.send)
