"""The results of one question and one system, and their files."""

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
        text: the answer.
        by: the reader: a model's name, "itself" if the system answered, or the source of an import.
        budget: tokens of the context from which it was written; None if the system answered itself.
        tokens_in: prompt tokens reported by the model.
        tokens_out: completion tokens reported by the model.
    """

    text: str
    by: str
    budget: int | None = None
    tokens_in: int = 0
    tokens_out: int = 0


@dataclass(frozen=True, slots=True)
class Judgment:
    """The judgment of one judge.

    Attributes:
        judge: a model's name, or the source of an import.
        yes: its reply to the question; None if no reply could be parsed after all attempts.
        confidence: its own confidence, in [0, 1].
        explanation: its explanation.
        tokens_in: prompt tokens reported by the model.
        tokens_out: completion tokens reported by the model.
    """

    judge: str
    yes: bool | None
    confidence: float = 1.0
    explanation: str = ""
    tokens_in: int = 0
    tokens_out: int = 0


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """The results of one question and one system.

    Attributes:
        system: the system's name.
        dataset: the episode's dataset.
        period: the episode's period.
        episode: the episode's name.
        question: the question.
        contexts: the returned contexts, by budget in tokens.
        answer: the answer to judge; None before that stage.
        judgments: by the judged item: a criterion's id, or `ANSWER` for the whole answer.
        withdrawn: valid items that the system no longer considers true; None if it cannot list what it considers true.
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
    """The times that one system took for one episode.

    They are stored apart from the results, which are the same in every run.

    Attributes:
        system: the system's name.
        episode: the episode's name.
        sessions: the number of retained sessions.
        ingest_s: seconds of all retains.
        recall_ms: milliseconds of each recall, by budget, in the order of the questions.
        peak_mib: the largest resident memory of the process so far, including that of earlier episodes.
        resumed: whether an earlier process retained some of the sessions, so that `ingest_s` covers only the others.
    """

    system: str
    episode: str
    sessions: int
    ingest_s: float
    recall_ms: Mapping[int, tuple[float, ...]]
    peak_mib: float
    resumed: bool = False


ANSWER = "answer"
"""The key of judgments of the whole answer."""

_RESULT, _TIMINGS = TypeAdapter(QuestionResult), TypeAdapter(Timings)
_TIMES = "timings"


class ResultFiles:
    """The results of a run: `results/<system>/<episode>/<question>.json` and `timings/<system>/<episode>.json`.

    Files are written atomically, so that a run can be killed at any moment. Only one process writes.
    """

    def __init__(self, run: Path) -> None:
        self._results, self._timings = run / "results", run / _TIMES

    def path(self, system: str, episode: str, question: str) -> Path:
        """Return the file of one question."""
        return self._results / _safe(system) / _safe(episode) / f"{_safe(question)}.json"

    def has(self, system: str, episode: str, question: str) -> bool:
        """Return whether the contexts of a question are stored."""
        return self.path(system, episode, question).exists()

    def write(self, result: QuestionResult) -> None:
        """Write a result, replacing an earlier one."""
        path = self.path(result.system, result.episode, result.question.id)
        _write_whole(path, _RESULT.dump_json(result, indent=1))

    def read(self, system: str, episode: str, question: str) -> QuestionResult:
        """Read one result."""
        return _RESULT.validate_json(self.path(system, episode, question).read_bytes())

    def all(self) -> Iterator[QuestionResult]:
        """Yield every result, sorted by system, episode and question."""
        for path in sorted(self._results.rglob("*.json")):
            yield _RESULT.validate_json(path.read_bytes())

    def write_timings(self, timings: Timings) -> None:
        """Write the times of a system for an episode."""
        path = self._timings / _safe(timings.system) / f"{_safe(timings.episode)}.json"
        _write_whole(path, _TIMINGS.dump_json(timings, indent=1))

    def timings(self) -> Iterator[Timings]:
        """Yield the times of every system and episode."""
        for path in sorted(self._timings.rglob("*.json")):
            yield _TIMINGS.validate_json(path.read_bytes())


def _safe(name: str) -> str:
    """Encode a name as a file name that is unique on every platform."""
    return quote(name, safe=" ,").replace(".", "%2E")


def _write_whole(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".draft")
    with draft.open("wb") as file:
        file.write(content + b"\n")
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
