"""The settings of a run on which its results depend, stored in its folder."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from importlib.metadata import version
from pathlib import Path

from pydantic import TypeAdapter

from hindsight_evals.errors import RunMismatch
from hindsight_evals.runner.contexts import BUDGETS
from hindsight_integrations.errors import InvalidRequest

FILE = "run.json"


def _commit() -> str:
    """Return the commit of the checkout, with "+" if it has changes; empty for an installed package."""
    here = Path(__file__).parent
    try:
        found = subprocess.run(
            ["git", "describe", "--always", "--dirty=+", "--exclude=*"],  # noqa: S607
            cwd=here,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return found.stdout.strip()


@dataclass(frozen=True)
class RunConfig:
    """All settings on which results depend.

    Attributes:
        episodes: sources of episodes, for `load_episodes`: "locomo:PATH", "simulated:PERSONA:week:0".
        systems: names of the systems, as in `peers.names`.
        facts: folder of extracted facts, one file per episode; empty for none.
        corrections: folder of LoCoMo's corrected answers; empty for none.
        budgets: token budgets of a context, each > 0.
        limit: maximum number of episodes of each source; None for all.
        memory_model: our model for extraction and reflect; empty for none.
        reader: the model that answers from contexts; empty to measure only contexts.
        judges: the models that judge answers; without any, answers can be exported.
        answer_budget: token budget of the contexts for answers; one of `budgets`.
        own_answers: whether systems that can answer themselves do so instead of the reader.
        settings: our settings that differ from the defaults, by name.
        version: version of this package.
        commit: commit of this checkout.
    """

    episodes: tuple[str, ...]
    systems: tuple[str, ...]
    facts: str = ""
    corrections: str = ""
    budgets: tuple[int, ...] = BUDGETS
    limit: int | None = None
    memory_model: str = ""
    reader: str = ""
    judges: tuple[str, ...] = ()
    answer_budget: int = 2048
    own_answers: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)
    version: str = field(default_factory=lambda: version("hindsight-integrations"))
    commit: str = field(default_factory=_commit)

    def __post_init__(self) -> None:
        """Reject invalid settings.

        Raises:
            InvalidRequest: no episodes or systems, a budget below 1, or an `answer_budget` that is not one of
                the budgets.
        """
        if not self.episodes or not self.systems:
            raise InvalidRequest("episodes and systems", "one of them is empty", "Name at least one of each.")
        if min(self.budgets, default=0) < 1:
            raise InvalidRequest("budgets", f"{self.budgets} are none", "Give tokens, each at least 1.")
        if self.answer_budget not in self.budgets:
            fix = f"Choose one of: {', '.join(map(str, self.budgets))}."
            raise InvalidRequest("answer_budget", f"{self.answer_budget} is not among the budgets", fix)

    @cached_property
    def roles(self) -> Mapping[str, str]:
        """The models by role."""
        judging = {f"judge-{place}": name for place, name in enumerate(self.judges, 1)}
        named = {"memory": self.memory_model, "reader": self.reader, **judging}
        return {role: model for role, model in named.items() if model}


def begin(run: Path, config: RunConfig) -> None:
    """Write the settings into the run's folder, or check that it has the same ones.

    Raises:
        RunMismatch: it has another setting, version or commit.
    """
    path = run / FILE
    if not path.exists():
        run.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(config), indent=1) + "\n", encoding="utf-8")
        return
    begun = read_config(run)
    for each in fields(RunConfig):
        if (was := getattr(begun, each.name)) != (now := getattr(config, each.name)):
            raise RunMismatch(run, each.name, was, now)


def read_config(run: Path) -> RunConfig:
    """Read the settings of a run.

    Raises:
        InvalidRequest: the folder does not contain a run.
    """
    try:
        return TypeAdapter(RunConfig).validate_json((run / FILE).read_bytes())
    except FileNotFoundError as error:
        raise InvalidRequest("run", f"{run} holds no run", "Begin one with `hindsight-evals run`.") from error
