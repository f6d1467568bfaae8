"""The same retains give the same figures: order, scores and tokens, in another bank, another process and after a restart.

A benchmark must be reproducible. Possible differences: the order of sets, which each process randomises, the
approximations of Chroma's graph, Lucene's segments, and ties.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hindsight_evals.episode import Episode
from hindsight_evals.simulator.simulate import simulate
from hindsight_integrations import Hindsight, MemoryBank
from hindsight_integrations.testing.doubles import HashEmbedder

DAYS = 1
BUDGETS = (128, 1024)  # tokens: one that cuts the ranking, and one that shows most of it


@pytest.fixture(scope="module")
def life() -> Episode:
    """A day of chats, each turn a memory, including repeated small talk; and questions about it."""
    return simulate("software_engineer", days=DAYS, extracted=False).episode


def live(bank: MemoryBank, life: Episode, *, asked_meanwhile: bool = False) -> None:
    """Retain a life session by session; a recall in between makes the indexes publish their changes."""
    for session in life.sessions:
        bank.retain(session.messages, thread=session.id, facts=session.facts)
        if asked_meanwhile:
            bank.recall("What is new?", query_timestamp=session.moment)


def figures(bank: MemoryBank, life: Episode) -> list[Any]:
    """The results of every question of the life: texts in order, scores, tokens and confidence."""
    answers = []
    for question in life.questions:
        for budget in BUDGETS:
            found = bank.recall(question.text, max_tokens=budget, query_timestamp=question.moment)
            units = [[item.unit.text, item.unit.tokens, item.score] for item in found.units]
            answers.append([question.text, units, found.tokens, found.confidence])
    return answers


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hindsight]:
    """An engine on disk with Chroma, Lucene and rustworkx."""
    folder = tmp_path_factory.mktemp("memory")
    with Hindsight.open(folder, embeddings=HashEmbedder(), reranker=None) as opened:
        yield opened


@pytest.fixture(scope="module")
def told(engine: Hindsight, life: Episode) -> list[Any]:
    """The figures of the first bank with that life."""
    bank = engine.bank("first")
    live(bank, life)
    return figures(bank, life)


def test_another_bank_gives_the_same_figures(engine: Hindsight, life: Episode, told: list[Any]) -> None:
    """A ranking depends neither on other banks of the engine nor on when indexes were published."""
    second = engine.bank("second")
    live(second, life, asked_meanwhile=True)
    assert figures(second, life) == told


def test_another_process_gives_the_same_figures_and_so_does_a_restart(
    tmp_path: Path, life: Episode, told: list[Any]
) -> None:
    """Each process orders sets differently, and an index read from disk differs from one in memory."""
    command = [sys.executable, __file__, str(tmp_path)]
    ordered_otherwise = {**os.environ, "PYTHONHASHSEED": "1"}
    run = subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False, env=ordered_otherwise
    )
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout) == json.loads(json.dumps(told))
    with Hindsight.open(tmp_path, embeddings=HashEmbedder(), reranker=None) as reopened:
        assert figures(reopened.bank("life"), life) == told


def main() -> None:
    """In a separate process: retain the life, and print the figures."""
    life = simulate("software_engineer", days=DAYS, extracted=False).episode
    with Hindsight.open(sys.argv[1], embeddings=HashEmbedder(), reranker=None) as engine:
        bank = engine.bank("life")
        live(bank, life)
        sys.stdout.write(json.dumps(figures(bank, life)))


if __name__ == "__main__":
    main()
