"""Benchmarks started as a reader of the repository would start them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def bench(
    name: str, *arguments: str | Path, timeout: float = 300, **environment: str
) -> subprocess.CompletedProcess[str]:
    """`hindsight-evals bench NAME ARGUMENTS`, whatever comes of it."""
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
    """What a benchmark that must succeed prints."""
    finished = bench(name, *arguments, timeout=timeout)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return finished.stdout
