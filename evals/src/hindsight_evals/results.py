"""What a run knows of one question put to one system, and the file that holds it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from pydantic import TypeAdapter

from hindsight_evals.episode import Question
from hindsight_evals.memory_system import Context


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer to be judged.

    Attributes:
        text: what was answered.
        by: the reader: a model's name, "itself" where the system answered, or where it was imported from.
        budget: tokens of the context it stands on; None where the system answered itself.
        tokens_in: prompt tokens the model reported.
        tokens_out: completion tokens it reported.
    """

    text: str
    by: str
    budget: int | None = None
    tokens_in: int = 0
    tokens_out: int = 0


@dataclass(frozen=True, slots=True)
class Judgment:
    """What one judge said.

    Attributes:
        judge: a model's name, or where it was imported from.
        yes: its answer to the question put to it; None where it gave none that could be read, however often it was asked.
        confidence: its own, in [0, 1].
        explanation: in its words.
        tokens_in: prompt tokens the model reported.
        tokens_out: completion tokens it reported.
    """

    judge: str
    yes: bool | None
    confidence: float = 1.0
    explanation: str = ""
    tokens_in: int = 0
    tokens_out: int = 0


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """One question, one system.

    Attributes:
        system: the peer's name.
        dataset: the episode's.
        period: the episode's.
        episode: its name.
        question: as it was asked.
        contexts: what was served, by budget in tokens.
        answer: what is judged; None before that stage.
        judgments: by what was judged: a criterion's id, or `ANSWER` for the whole answer.
        withdrawn: valid items that the system no longer holds; None of one that cannot list what it holds.
    """

    system: str
    dataset: str
    period: str
    episode: str
    question: Question
    contexts: Mapping[int, Context]
    answer: Answer | None = None
    judgments: Mapping[str, tuple[Judgment, ...]] = field(default_factory=dict)
    withdrawn: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Timings:
    """What one system took for one episode; apart from results, which are the same in every run.

    Attributes:
        system: the peer's name.
        episode: its name.
        sessions: how many were retained.
        ingest_s: seconds of all retains.
        recall_ms: milliseconds of each recall, by budget, in the order of the questions.
        peak_mib: the process's largest resident memory by the end, which holds that of what ran before.
        resumed: whether part of the ingest was done by an earlier process, so that `ingest_s` holds the rest alone.
    """

    system: str
    episode: str
    sessions: int
    ingest_s: float
    recall_ms: Mapping[int, tuple[float, ...]]
    peak_mib: float
    resumed: bool = False


ANSWER = "answer"
"""What a judgment of the whole answer is filed under."""

_RESULT, _TIMINGS = TypeAdapter(QuestionResult), TypeAdapter(Timings)
_TIMES = "timings"


class ResultFiles:
    """The results of a run: `results/<system>/<episode>/<question>.json` and `timings/<system>/<episode>.json`.

    Files are written whole or not at all, so that a run can be killed at any moment. One process writes.
    """

    def __init__(self, run: Path) -> None:
        self._results, self._timings = run / "results", run / _TIMES

    def path(self, system: str, episode: str, question: str) -> Path:
        """The file of one question."""
        return self._results / _safe(system) / _safe(episode) / f"{_safe(question)}.json"

    def has(self, system: str, episode: str, question: str) -> bool:
        """Whether its contexts are there."""
        return self.path(system, episode, question).exists()

    def write(self, result: QuestionResult) -> None:
        """Write a result in the place of what was known of it."""
        path = self.path(result.system, result.episode, result.question.id)
        _write_whole(path, _RESULT.dump_json(result, indent=1))

    def read(self, system: str, episode: str, question: str) -> QuestionResult:
        """One result."""
        return _RESULT.validate_json(self.path(system, episode, question).read_bytes())

    def all(self) -> Iterator[QuestionResult]:
        """Every result, by the names of systems, episodes and questions."""
        for path in sorted(self._results.rglob("*.json")):
            yield _RESULT.validate_json(path.read_bytes())

    def write_timings(self, timings: Timings) -> None:
        """Write what a system took for an episode."""
        path = self._timings / _safe(timings.system) / f"{_safe(timings.episode)}.json"
        _write_whole(path, _TIMINGS.dump_json(timings, indent=1))

    def timings(self) -> Iterator[Timings]:
        """What every system took for every episode."""
        for path in sorted(self._timings.rglob("*.json")):
            yield _TIMINGS.validate_json(path.read_bytes())


def _safe(name: str) -> str:
    """A name as a file's: another one for each name, on every platform."""
    return quote(name, safe=" ,").replace(".", "%2E")


def _write_whole(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".draft")
    with draft.open("wb") as file:
        file.write(content + b"\n")
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
