"""What a run is: all that its results depend on, written into its folder before it begins."""

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
    """The commit of the checkout this package runs from, with "+" for changes on top; empty for an installed one."""
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
    """Everything that results depend on.

    Attributes:
        episodes: where episodes come from, as `episodes.load` reads them: "locomo:PATH", "simulated:PERSONA:week:0".
        systems: names of the systems, as `peers.names` lists them.
        facts: folder of extracted facts, a file an episode; empty for none.
        corrections: folder of LoCoMo's corrected answers; empty for none.
        budgets: tokens of a context, each > 0.
        limit: at most so many episodes of each source; None for all.
        memory_model: extracts and reflects for ours; empty for none.
        reader: answers from contexts; empty for none, so that only contexts are measured.
        judges: judge the answers; none leaves them to be exported.
        answer_budget: tokens of the context that is answered from; one of the budgets.
        own_answers: whether systems that answer by themselves do, in the reader's place.
        settings: of ours, by name, where they are not the defaults.
        version: of this package.
        commit: of this checkout.
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
        """Refuse what cannot be run.

        Raises:
            InvalidRequest: no episodes or systems, a budget below 1, or answers from a budget that is none.
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
        """The models by what they do."""
        judging = {f"judge-{place}": name for place, name in enumerate(self.judges, 1)}
        named = {"memory": self.memory_model, "reader": self.reader, **judging}
        return {role: model for role, model in named.items() if model}


def begin(run: Path, config: RunConfig) -> None:
    """Write what a run is into its folder, or check that it was begun as this.

    Raises:
        RunMismatch: it was begun with another setting, version or commit.
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
    """What a run was begun as.

    Raises:
        InvalidRequest: the folder holds no run.
    """
    try:
        return TypeAdapter(RunConfig).validate_json((run / FILE).read_bytes())
    except FileNotFoundError as error:
        raise InvalidRequest("run", f"{run} holds no run", "Begin one with `hindsight-evals run`.") from error
