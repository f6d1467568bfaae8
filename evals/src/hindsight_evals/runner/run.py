"""A complete run: contexts, answers, verdicts; each stage does what remains."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

import anyio

from hindsight_evals import peers
from hindsight_evals.memory_system import Peer
from hindsight_evals.results import ResultFiles
from hindsight_evals.runner.answers import answer_all
from hindsight_evals.runner.contexts import ContextStage
from hindsight_evals.runner.disk_cache import CachedEmbedder, DiskCache
from hindsight_evals.runner.episodes import load_episodes
from hindsight_evals.runner.run_config import RunConfig, begin
from hindsight_evals.runner.verdicts import judge_all, open_judgments
from hindsight_integrations import HindsightConfig
from hindsight_integrations.engine.assembly import local_embedder
from hindsight_integrations.models.protocols import Embedder, LanguageModel, TokenCounter
from hindsight_integrations.models.tokens import default_token_counter
from hindsight_integrations.testing.recordings import RecordingModel

CALLS, MEMORIES = "calls", "memories"

Advance = Callable[[], None]


class Progress(Protocol):
    """Displays the progress of stages."""

    def stage(self, name: str, total: int | None) -> AbstractContextManager[Advance]:
        """Start a stage of `total` steps (None if unknown); the result is called after each step."""
        ...


@dataclass(frozen=True, slots=True)
class Run:
    """One run in its folder.

    Attributes:
        folder: folder of results, the systems' files and recorded calls.
        config: the settings; a folder with other settings is rejected.
        embedder: the embedder of all systems.
        tokens: the token counter of all systems.
        progress: displays the progress.
        vectors: file in which vectors are cached between runs.
        at_once: number of concurrent model calls.
    """

    folder: Path
    config: RunConfig
    embedder: Embedder
    tokens: TokenCounter
    progress: Progress
    vectors: Path
    at_once: int = 8

    @property
    def files(self) -> ResultFiles:
        """The run's results."""
        return ResultFiles(self.folder)

    def complete(self) -> None:
        """Run all remaining stages.

        Raises:
            RunMismatch: the folder belongs to another run.
            MissingDependency: a package that a system needs is not installed.
            ModelError: a model could not be reached; calling this again continues the run.
        """
        begin(self.folder, self.config)
        self._contexts()
        anyio.run(self._models)

    def _contexts(self) -> None:
        systems = [self._system(name) for name in self.config.systems]
        with closing(DiskCache(self.vectors)) as cache:
            stage = ContextStage(
                self.files,
                self.folder / MEMORIES,
                CachedEmbedder(self.embedder, cache),
                self.tokens,
                self.config.budgets,
                own_answers=self.config.own_answers,
            )
            for episode in load_episodes(self.config):
                for system in systems:
                    name = f"{episode.name}: {system.name}"
                    with self.progress.stage(name, len(episode.sessions) + len(episode.questions)) as advance:
                        stage.run(system, episode, retained=advance, asked=advance)

    async def _models(self) -> None:
        waiting = sum(result.answer is None for result in self.files.all())
        if waiting and self.config.reader:
            with self.progress.stage(f"answers by {self.config.reader}", waiting) as advance:
                await answer_all(
                    self.files,
                    self._model("reader"),
                    budget=self.config.answer_budget,
                    at_once=self.at_once,
                    answered=advance,
                )
        judges = [self._model(role) for role in self.config.roles if role.startswith("judge")]
        unjudged = sum(any(open_judgments(result, judges)) for result in self.files.all())
        if unjudged:
            with self.progress.stage(f"verdicts by {', '.join(self.config.judges)}", unjudged) as advance:
                await judge_all(self.files, judges, at_once=self.at_once, judged=advance)

    def _system(self, name: str) -> Peer:
        """Return a system; ours with the run's model and settings."""
        if not name.startswith("hindsight"):
            return peers.peer(name)
        from hindsight_evals.peers.hindsight import hindsight

        model = self._model("memory") if self.config.memory_model else None
        reranker: Literal["default"] | None = "default" if name == peers.RERANKED else None
        settings = HindsightConfig(**self.config.settings) if self.config.settings else None  # type: ignore[arg-type] # checked there
        return hindsight(name, model=model, reranker=reranker, config=settings)

    def _model(self, role: str) -> LanguageModel:
        """Return a role's model, which does not repeat recorded calls."""
        return RecordingModel(self.config.roles[role], self.folder / CALLS / role)


def run_here(folder: Path, config: RunConfig, *, progress: Progress, vectors: Path, at_once: int = 8) -> None:
    """Complete a run with the embedder from this machine's settings and the engine's token counter.

    Raises:
        MissingDependency: the embedder's weights or a system's packages are missing.
        RunMismatch, ModelError: as `Run.complete`.
    """
    embedder = local_embedder(HindsightConfig.from_env().models)
    Run(folder, config, embedder, default_token_counter(), progress, vectors, at_once).complete()
