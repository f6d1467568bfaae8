"""The cookbooks run from top to bottom without a key, and their output is the stored one.

`UPDATE_GOLDEN=1 pytest tests/adapters/test_cookbooks.py` stores the current output with its pictures; then
read the diff.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from notebooks import executed, printed, read_notebook, write_notebook

COOKBOOKS = sorted((Path(__file__).parents[2] / "cookbooks").glob("*.ipynb"))
LARGEST = 300_000  # bytes of a notebook, because a repository keeps every version of its pictures
NOT_TO_BE_STORED = {
    "a path of one machine": re.compile(
        r"(?<![\w.:/])/(?:home|root|tmp|usr|var|work|opt|private|Users)/|[A-Z]:\\\\"
    ),
    "an address in memory": re.compile(r"\b0x[0-9a-f]{6,}"),
    "an id that the next run gives anew": re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-"),
    "a key": re.compile(r"\bsk-\w{8,}"),
}

each_cookbook = pytest.mark.parametrize("path", COOKBOOKS, ids=lambda path: path.stem)
one_cookbook = pytest.mark.parametrize(
    "path",
    [COOKBOOKS[0], *(pytest.param(path, marks=pytest.mark.slow) for path in COOKBOOKS[1:])],
    ids=lambda path: path.stem,
)


def test_there_are_six_cookbooks() -> None:
    assert [path.name for path in COOKBOOKS] == [
        "01_chatbot_with_memory.ipynb",
        "02_checkpointed_agent.ipynb",
        "03_opinions_that_change.ipynb",
        "04_llamaindex_query_engine.ipynb",
        "05_llamaindex_chat_memory.ipynb",
        "06_agent_with_tools.ipynb",
    ]


@one_cookbook
def test_a_cookbook_runs_without_a_key_and_shows_what_is_stored_in_it(path: Path, tmp_path: Path) -> None:
    """A run gives the output that the page shows: every line of every cell, and a picture where there is one."""
    stored = read_notebook(path)
    ran = executed(stored, tmp_path)
    if os.environ.get("UPDATE_GOLDEN"):
        write_notebook(ran, path)
        stored = ran
    assert printed(ran) == printed(stored)
    assert "[image/png]" in "".join(printed(ran))


@each_cookbook
def test_a_stored_cookbook_is_small_and_holds_nothing_of_the_machine_it_ran_on(path: Path) -> None:
    stored = read_notebook(path)
    assert path.stat().st_size <= LARGEST
    shown = "\n".join(printed(stored))
    assert {
        what: found for what, pattern in NOT_TO_BE_STORED.items() if (found := pattern.findall(shown))
    } == {}
    assert all(output.get("name") != "stderr" for cell in stored.cells for output in cell.get("outputs", ()))
    counts = [cell.execution_count for cell in stored.cells if cell.cell_type == "code"]
    assert counts == list(range(1, len(counts) + 1))  # run from top to bottom, once
