"""Agents killed in mid-graph and resumed from SQLite: `benchmarks/langgraph_threads.py`, small."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def test_an_agent_killed_anywhere_remembers_what_an_unbroken_one_does(tmp_path: Path) -> None:
    """Six kills in five turns, in the answer, around the write and after it: each message is a memory, once, and holds. Where
    an answer was lost with its checkpoint the one that took its place holds, and the first is history."""
    figures = tmp_path / "figures.json"
    command = [sys.executable, "langgraph_threads.py", "--part", "points", "--light", "--out", str(figures)]
    command += ["--durability", "sync", "--durability", "exit", "--folder", str(tmp_path)]
    done = subprocess.run(command, cwd=BENCHMARKS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    whole = {"kills": 6, "memories": 12, "missing": 0, "more": 0}
    # with "exit" nothing of a killed turn is saved: both answers retained before a kill, and that of the later node, are made anew
    assert json.loads(figures.read_text())["points"] == {
        "sync": whole | {"history": 0},
        "exit": whole | {"history": 3},
    }
