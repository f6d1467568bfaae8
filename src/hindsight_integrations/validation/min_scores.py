"""`min_scores` of a recall, checked. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hindsight_integrations.errors import InvalidRequest, shown
from hindsight_integrations.model.requests import GivenScores, MinScores


class _Thresholds(BaseModel):
    """What each stage can give; bools and numeric strings are no numbers here."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    semantic: float | None = Field(None, ge=-1, le=1, description="a number from -1 to 1")
    keyword: float | None = Field(None, ge=0, description="a number from 0 to inf")
    reranker: float | None = Field(None, ge=0, le=1, description="a number from 0 to 1")
    final: float | None = Field(None, description="a number from -inf to inf")


def checked_min_scores(given: GivenScores) -> MinScores:
    """Thresholds as a typed value.

    Args:
        given: MinScores or a mapping of stages to thresholds; None lets everything through.

    Raises:
        InvalidRequest: a stage is not known, or a threshold is no number that stage can give.
    """
    if given is None:
        return MinScores()
    if not isinstance(given, MinScores | Mapping):
        raise InvalidRequest(
            "min_scores", f"{shown(given)} is not a mapping", 'Pass MinScores or {"reranker": 0.3}.'
        )
    values = asdict(given) if isinstance(given, MinScores) else dict(given)
    try:
        return MinScores(**_Thresholds.model_validate(values).model_dump())
    except ValidationError as error:
        problem = error.errors()[0]
        stage, value = problem["loc"][0] if problem["loc"] else next(iter(values), ""), problem["input"]
    stages = _Thresholds.model_fields
    if stage not in stages:
        raise InvalidRequest("min_scores", f"{shown(stage)} is not a stage", f"Use: {', '.join(stages)}.")
    expected = stages[str(stage)].description
    raise InvalidRequest(f"min_scores.{stage}", f"{shown(value)} is not {expected}", "Choose one there.")
