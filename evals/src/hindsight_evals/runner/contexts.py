"""The stage that retains an episode's sessions in a system, and stores its context for each question and budget."""

from __future__ import annotations

import resource
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from hindsight_evals.episode import Episode, Question
from hindsight_evals.memory_system import (
    AnsweringSystem,
    Context,
    ListingSystem,
    MemorySystem,
    Peer,
    Place,
)
from hindsight_evals.metrics.wrongly_withdrawn import wrongly_withdrawn
from hindsight_evals.results import Answer, QuestionResult, ResultFiles, Timings
from hindsight_integrations.models.protocols import Embedder, TokenCounter

BUDGETS = (256, 512, 1024, 2048, 4096)
"""Token budgets of a context: from a line in a prompt to recall's default."""

ITSELF = "itself"
"""The reader's name if the system answered itself."""

Progress = Callable[[], None]


@dataclass(frozen=True, slots=True)
class ContextStage:
    """The settings of the stage, common to all systems and episodes.

    Attributes:
        files: the results.
        memories: folder for the systems' own files.
        embedder: the embedder of all systems.
        tokens: the token counter of all systems.
        budgets: token budgets of a context, each > 0.
        threads: number of concurrent questions; 1 for comparable latencies.
        own_answers: whether to store the answers of systems that answer themselves.
    """

    files: ResultFiles
    memories: Path
    embedder: Embedder
    tokens: TokenCounter
    budgets: Sequence[int] = BUDGETS
    threads: int = 1
    own_answers: bool = False

    def run(self, peer: Peer, episode: Episode, *, retained: Progress, asked: Progress) -> None:
        """Do what remains for one system and episode.

        Args:
            peer: the system.
            episode: the episode.
            retained: called after each session.
            asked: called after each question.
        """
        open_questions = [
            question
            for question in episode.questions
            if not self.files.has(peer.name, episode.name, question.id)
        ]
        if not open_questions:
            return
        folder = self.memories / peer.name / episode.name
        begun = folder.exists()
        if begun and not peer.persistent:
            shutil.rmtree(folder)
        folder.mkdir(parents=True, exist_ok=True)
        with peer.open(Place(folder, episode.name, self.embedder, self.tokens)) as system:
            seconds = self._ingest(system, episode, retained)
            times = self._ask(system, peer, episode, open_questions, asked)
        resumed = begun and peer.persistent
        sessions = len(episode.sessions)
        took = Timings(peer.name, episode.name, sessions, seconds, times, _peak_mib(), resumed)
        self.files.write_timings(took)

    def _ingest(self, system: MemorySystem, episode: Episode, retained: Progress) -> float:
        """Retain every session, which changes nothing for those retained by an earlier process; return the seconds."""
        begun = time.perf_counter()
        for session in episode.sessions:
            system.retain(session)
            retained()
        return time.perf_counter() - begun

    def _ask(
        self,
        system: MemorySystem,
        peer: Peer,
        episode: Episode,
        questions: Sequence[Question],
        asked: Progress,
    ) -> dict[int, tuple[float, ...]]:
        """Query each question with each budget, and write its result; return milliseconds by budget."""
        budgets = self.budgets if peer.budgeted else (max(self.budgets),)
        held = system.held() if isinstance(system, ListingSystem) else None

        def ask(question: Question) -> list[float]:
            contexts, took = _contexts(system, question, budgets)
            answer = None
            if self.own_answers and isinstance(system, AnsweringSystem):
                answer = Answer(system.answer(question.text, moment=question.moment), ITSELF)
            self.files.write(
                QuestionResult(
                    peer.name,
                    episode.dataset,
                    episode.period,
                    episode.name,
                    question,
                    contexts,
                    answer,
                    withdrawn=None if held is None else wrongly_withdrawn(held, question.items),
                )
            )
            asked()
            return took

        system.recall(questions[0].text, moment=questions[0].moment, max_tokens=max(self.budgets))  # warm-up
        with ThreadPoolExecutor(self.threads) as pool:
            took = list(pool.map(ask, questions))
        return {budget: tuple(times[place] for times in took) for place, budget in enumerate(budgets)}


def _contexts(
    system: MemorySystem, question: Question, budgets: Sequence[int]
) -> tuple[dict[int, Context], list[float]]:
    """Return the context for each budget, and the milliseconds of each recall."""
    contexts: dict[int, Context] = {}
    took = []
    for budget in budgets:
        begun = time.perf_counter()
        contexts[budget] = system.recall(question.text, moment=question.moment, max_tokens=budget)
        took.append(1000 * (time.perf_counter() - begun))
    return contexts, took


def _peak_mib() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10
