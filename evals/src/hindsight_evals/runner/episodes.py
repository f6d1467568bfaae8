"""Episodes by name: "locomo:PATH", "longmemeval:PATH", "memora:PATH", "simulated:PERSONA:PERIOD:SEED", "forgetting:FORM"."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path

from hindsight_evals.episode import Episode
from hindsight_evals.runner.run_config import RunConfig
from hindsight_integrations.errors import InvalidRequest

VERBATIM, HELD_OUT = "verbatim", "held-out"
"""Options of simulated episodes: without gold extraction; with the phrasings reserved for reports."""


def load_episodes(config: RunConfig) -> Iterator[Episode]:
    """Yield the episodes of a run one by one, in the order of its sources.

    Raises:
        InvalidRequest: the name of a source is invalid.
        DatasetInvalid: a file does not have the published format.
    """
    for source in config.episodes:
        name, _, rest = source.partition(":")
        if name not in _SOURCES or not rest:
            known = ", ".join(f"{each}:..." for each in _SOURCES)
            raise InvalidRequest("episodes", f"{source!r} is no source", f"Choose of: {known}.")
        yield from islice(_SOURCES[name](rest, config), config.limit)


def _locomo(path: str, config: RunConfig) -> Iterator[Episode]:
    from hindsight_evals.datasets.extracted import load_facts
    from hindsight_evals.datasets.locomo import load_locomo

    files = sorted(Path(config.facts).glob("*.jsonl")) if config.facts else []
    facts = {file.stem: load_facts(file) for file in files}
    corrections = Path(config.corrections) if config.corrections else None
    yield from load_locomo(Path(path), facts=facts, corrections=corrections)


def _longmemeval(path: str, config: RunConfig) -> Iterator[Episode]:  # noqa: ARG001 - nobody extracted facts of it
    from hindsight_evals.datasets.longmemeval import load_longmemeval

    yield from load_longmemeval(Path(path))


def _memora(path: str, config: RunConfig) -> Iterator[Episode]:
    from hindsight_evals.datasets.extracted import load_facts
    from hindsight_evals.datasets.memora import load_memora

    files = sorted(Path(path).glob("*.json")) if Path(path).is_dir() else [Path(path)]
    for file in files:
        extracted = Path(config.facts) / f"{file.stem}.jsonl" if config.facts else None
        facts = load_facts(extracted) if extracted and extracted.exists() else None
        yield load_memora(file, facts=facts)


def _simulated(said: str, config: RunConfig) -> Iterator[Episode]:  # noqa: ARG001 - it needs no files
    from hindsight_evals.simulator.simulate import simulate

    given = said.split(":")
    persona, period, seed, *options = (*given, *("", "week", "0")[len(given) :])
    if set(options) - {VERBATIM, HELD_OUT} or not seed.isdecimal():
        fix = f"Write simulated:PERSONA:PERIOD:SEED, then {VERBATIM} or {HELD_OUT} if wanted."
        raise InvalidRequest("episodes", f"{said!r} is no simulated life", fix)
    life = simulate(
        persona,
        period=period,
        seed=int(seed),
        held_out=HELD_OUT in options,
        extracted=VERBATIM not in options,
    )
    name = "-".join((life.episode.name, *sorted(options)))
    yield replace(life.episode, name=name)


def _forgetting(said: str, config: RunConfig) -> Iterator[Episode]:  # noqa: ARG001 - it needs no files
    from hindsight_evals.forgetting.cases import Form, forgetting_episodes

    form, _, option = said.partition(":")
    if form not in set(Form) or option not in {"", HELD_OUT}:
        fix = f"Write forgetting:{Form.PLAIN} or forgetting:{Form.EXTRACTED}, then :{HELD_OUT} if wanted."
        raise InvalidRequest("episodes", f"{said!r} is no form of the cases", fix)
    yield from forgetting_episodes(Form(form), held_out=True if option else None)


_SOURCES: Mapping[str, Callable[[str, RunConfig], Iterator[Episode]]] = {
    "locomo": _locomo,
    "longmemeval": _longmemeval,
    "memora": _memora,
    "simulated": _simulated,
    "forgetting": _forgetting,
}
