"""Simulated episodes as files, for the evaluation of other systems."""

from __future__ import annotations

from pathlib import Path

from pydantic import TypeAdapter

from hindsight_evals.episode import Episode

_EPISODE = TypeAdapter(Episode)


def write_episode(episode: Episode, path: Path) -> None:
    """Write an episode as JSON: sessions with turns, gold facts and withdrawals, and questions."""
    path.write_bytes(_EPISODE.dump_json(episode, indent=1) + b"\n")


def read_episode(path: Path) -> Episode:
    """Read an episode from such a file."""
    return _EPISODE.validate_json(path.read_bytes())
