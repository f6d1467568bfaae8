"""Kills between a model's answer and what comes of it: `benchmarks/opinion_kills.py`, small."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.promise(
    "Whatever is delivered twice, late, or killed on the way, an opinion's confidence is what one delivery gives."
)
def test_whatever_is_killed_every_opinion_is_what_one_delivery_gives(tmp_path: Path) -> None:
    """Killed after the assessments of evidence, in reflections and in retains, a bank holds after each step what it would have
    held: facts, opinions, rows of evidence, and every confidence."""
    figures = tmp_path / "figures.json"
    done = subprocess.run(
        [sys.executable, "opinion_kills.py", "--kills", "6", "--light", "--out", str(figures)],
        cwd=BENCHMARKS,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(figures.read_text())
    assert (told["kills"]["settle"], told["problems"]) == (6, [])
    assert sum(told["before it was done"].values()) > 0
    assert (told["opinions"], told["rows"]) == (3, 18)
