"""Kills of the worker and of whoever gives it work: `benchmarks/worker_kills.py`, small."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.promise(
    "With `worker=True` what waits is done by itself, each task's effect exactly once, whatever is killed."
)
def test_every_task_has_its_effect_once_whoever_is_killed(tmp_path: Path) -> None:
    """Killed six times in the midst of their work, a process with a worker and `hindsight-memory work` together do every
    task once: none is lost, half done or done twice, and no more banks are open than may be."""
    figures = tmp_path / "figures.json"
    sizes = ["--tasks", "60", "--banks", "20", "--kills", "6", "--open", "3", "--light"]
    done = subprocess.run(
        [sys.executable, "worker_kills.py", *sizes, "--out", str(figures)],
        cwd=BENCHMARKS,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(figures.read_text())
    assert (sum(told["kills"].values()), told["problems"]) == (6, [])
    assert sum(told["tasks"].values()) >= 60
    assert 1 <= told["most open"] <= 4
