"""README's examples run unchanged, and README stays short."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from table import every_row

README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


@every_row(
    ("number", "prints"),
    [
        (0, "sister Ana moved to Lisbon. (mentioned on"),  # the prompt of the second conversation
        (1, "I am allergic to peanuts."),
        (2, "user: I keep bees in Porto."),
    ],
)
def test_an_example_runs_as_pasted(tmp_path: Path, number: int, prints: str) -> None:
    """In a new process, with the default models and an empty directory."""
    folder = tmp_path / str(number)
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", EXAMPLES[number]], cwd=folder, capture_output=True, text=True, check=True
    )
    assert prints in done.stdout


def test_readme_is_read_in_a_few_minutes() -> None:
    assert len(EXAMPLES) == 3
    assert len(README.splitlines()) <= 175


def test_the_links_of_readme_lead_somewhere() -> None:
    root = Path(__file__).resolve().parents[2]
    links = re.findall(r"\]\((?!https?://)([^)#]+)", README)
    assert [link for link in links if not (root / link).exists()] == []
