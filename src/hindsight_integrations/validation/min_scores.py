"""`min_scores` of a recall, checked. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields

from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.model.requests import GivenScores, MinScores

_SCORE_RANGES = {"semantic": (-1.0, 1.0), "keyword": (0.0, math.inf), "reranker": (0.0, 1.0)}


def checked_min_scores(given: GivenScores) -> MinScores:
    """Thresholds as a typed value.

    Raises:
        InvalidRequest: a stage is not known, or a threshold is no number that stage can give.
    """
    stages = [field.name for field in fields(MinScores)]
    if given is None:
        return MinScores()
    if not isinstance(given, MinScores | Mapping):
        raise InvalidRequest("min_scores", f"{given!r} is no mapping", 'Pass MinScores or {"reranker": 0.3}.')
    values = given if isinstance(given, Mapping) else {name: getattr(given, name) for name in stages}
    unknown = [name for name in values if name not in stages]
    if unknown:
        raise InvalidRequest("min_scores", f"{unknown[0]!r} is no stage", f"Use: {', '.join(stages)}.")
    return MinScores(**{name: _threshold(values.get(name), name) for name in stages})


def _threshold(value: object, stage: str) -> float | None:
    if value is None:
        return None
    least, most = _SCORE_RANGES.get(stage, (-math.inf, math.inf))
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not math.isfinite(float(value)) or not least <= float(value) <= most:  # type: ignore[arg-type] # a number by then
        raise InvalidRequest(
            f"min_scores.{stage}",
            f"{value!r} is not a number from {least:g} to {most:g}",
            "Choose one there.",
        )
    return float(value)  # type: ignore[arg-type] # as above
