"""Benchmarks started as a user of the repository starts them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def bench(
    name: str, *arguments: str | Path, timeout: float = 300, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run `hindsight-evals bench NAME ARGUMENTS`, successful or not."""
    command = [sys.executable, "-m", "hindsight_evals", "bench", name, *map(str, arguments)]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        env={**os.environ, **environment},
    )


def done(name: str, *arguments: str | Path, timeout: float = 300) -> str:
    """The output of a benchmark that must succeed."""
    finished = bench(name, *arguments, timeout=timeout)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return finished.stdout
