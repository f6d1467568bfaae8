"""The command line: each command does its job and errors are one line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    script = "from hindsight_integrations.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=False
    )


def test_what_is_retained_is_recalled_and_counted(tmp_path: Path) -> None:
    """retain, recall and doctor work on one directory, each in its own process."""
    assert "1 new memories" in run("retain", str(tmp_path), "Alice moved to Lisbon in May 2024.").stdout
    assert "Alice moved to Lisbon" in run("recall", str(tmp_path), "Where does Alice live?").stdout
    health = run("doctor", str(tmp_path)).stdout
    assert "bank default" in health
    assert "1 memories" in health


def test_an_error_is_one_line_and_says_what_to_do(tmp_path: Path) -> None:
    """An unknown bank or an unreadable file ends with status 1 and a sentence, not a traceback."""
    run("retain", str(tmp_path), "Alice moved to Lisbon.")
    failed = run("recall", str(tmp_path), "x", "--bank", "nobody")
    assert failed.returncode == 1
    assert "there is no bank 'nobody'" in failed.stdout.replace("\n", " ")
    assert "Traceback" not in failed.stderr
    assert run("demo", str(tmp_path / "missing.json")).returncode == 1


def test_the_demo_shows_all_four_channels() -> None:
    """The sample conversation is retained and every channel contributes to the memories shown."""
    done = run("demo")
    assert done.returncode == 0, done.stderr
    tally = done.stdout.replace("\n", " ").split("by channel that found them:")[1]
    counts = [int(word.strip(",")) for word in tally.split() if word.strip(",").isdigit()]
    assert len(counts) == 4
    assert min(counts) > 0
