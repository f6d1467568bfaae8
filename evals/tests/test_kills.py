"""Small runs of kills and concurrency: nothing acknowledged is lost, nothing is done twice, and no bank sees another's memory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench_runs import done


@pytest.mark.promise("No acknowledged write is lost, even if the process is killed at any moment.")
def test_nothing_acknowledged_is_lost_when_the_process_is_killed() -> None:
    """Two SIGKILLs in each of eleven kinds of operation, with Lucene and FTS5: everything acknowledged exists and is found."""
    assert done("crash", "--kills", "22", timeout=600).splitlines()[-1].startswith("22 kills, ")


@pytest.mark.promise("No acknowledged write is lost, even if the process is killed at any moment.")
def test_no_acknowledged_item_is_lost_when_the_process_is_killed() -> None:
    """Four SIGKILLs during puts, replacements, deletes and erasures: each key has the value acknowledged last."""
    assert done("item_kills", "--kills", "4", timeout=600).splitlines()[-1].endswith(" 0 problems")


@pytest.mark.promise("No bank sees another bank's memories.")
def test_threads_tasks_banks_and_engines_do_not_disturb_each_other() -> None:
    """Sixteen threads and 64 tasks on four banks of three engines: no error, no foreign answer, no loss, no duplicate."""
    assert "0 problems" in done("stress", "--seconds", "6", timeout=600).splitlines()[-1]


@pytest.mark.promise(
    "With `worker=True`, waiting tasks run automatically, and each takes effect exactly once, even if the process is killed at any moment."
)
def test_every_task_has_its_effect_once_whoever_is_killed(tmp_path: Path) -> None:
    """Killed six times during their work, a process with a worker and `hindsight-memory work` together run every task once.

    No task is lost, half done or done twice, and the limit of open banks is kept.
    """
    figures = tmp_path / "figures.json"
    done(
        "worker_kills",
        "--tasks",
        "60",
        "--banks",
        "20",
        "--kills",
        "6",
        "--open",
        "3",
        "--light",
        "--out",
        figures,
    )
    told = json.loads(figures.read_text())
    assert (sum(told["kills"].values()), told["problems"]) == (6, [])
    assert sum(told["tasks"].values()) >= 60
    assert 1 <= told["most open"] <= 4


@pytest.mark.promise(
    "On PostgreSQL, every process reads every acknowledged write, and nothing acknowledged is lost or stored twice, even if "
    "processes or the server are killed and connections are cut at any moment."
)
def test_processes_on_one_database_lose_nothing(tmp_path: Path) -> None:
    """Ten rounds of kills, cut connections and lost answers, and erasures while two processes are stopped.

    Every client's history agrees with the database, and all living processes confirm.
    """
    figures = tmp_path / "figures.json"
    done("processes", "--rounds", "10", "--stops", "2", "--banks", "5", "--out", figures)
    told = json.loads(figures.read_text())
    assert (sum(told["disturbances"].values()), told["problems"]) == (10, [])
    assert told["acknowledged"]["retain"] > 0
    assert told["stops"] == 2


@pytest.mark.promise(
    "An opinion's confidence is the same as if its evidence had been delivered exactly once, even if it is delivered twice, late, or interrupted by a kill."
)
def test_whatever_is_killed_every_opinion_is_what_one_delivery_gives(tmp_path: Path) -> None:
    """After kills during assessments of evidence, reflections and retains, a bank contains the same as without kills.

    This covers facts, opinions, rows of evidence, and every confidence.
    """
    figures = tmp_path / "figures.json"
    done("opinion_kills", "--kills", "6", "--light", "--out", figures)
    told = json.loads(figures.read_text())
    assert (told["kills"]["settle"], told["problems"]) == (6, [])
    assert sum(told["before it was done"].values()) > 0
    assert (told["opinions"], told["rows"]) == (3, 18)


def test_an_agent_killed_anywhere_remembers_what_an_unbroken_one_does(tmp_path: Path) -> None:
    """Six kills in five turns, during the answer, around the write and after it: each message is one valid memory.

    If an answer was lost with its checkpoint, its replacement is valid, and the first is history.
    """
    figures = tmp_path / "figures.json"
    durabilities = ("--durability", "sync", "--durability", "exit", "--folder", tmp_path)
    done("langgraph_threads", "--part", "points", "--light", "--out", figures, *durabilities)
    whole = {"kills": 6, "memories": 12, "missing": 0, "more": 0}
    # with "exit" nothing of a killed turn is checkpointed: both answers retained before a kill, and that of
    # the later node, are made again
    assert json.loads(figures.read_text())["points"] == {
        "sync": whole | {"history": 0},
        "exit": whole | {"history": 3},
    }
