"""Settings: read from the environment in one place, validated on creation."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from table import every_row

from hindsight_integrations import HindsightConfig, InvalidRequest
from hindsight_integrations.config import (
    EmbedderBackend,
    KeywordBackend,
    ModelConfig,
    ObservationConfig,
    ObservationMode,
    RecallConfig,
    RetainConfig,
    StorageConfig,
    VectorBackend,
)


@pytest.mark.promise("Nothing phones home.")
def test_the_environment_overrides_defaults() -> None:
    """Each HINDSIGHT_ variable sets its field; an API key alone selects no model."""
    config = HindsightConfig.from_env(
        {
            "HINDSIGHT_MODEL": "openai:gpt-5-mini",
            "HINDSIGHT_VECTORS": "Exact",
            "HINDSIGHT_KEYWORDS": "fts5",
            "HINDSIGHT_TIME_ZONE": "Europe/Lisbon",
            "HINDSIGHT_LANGUAGES": "en, DE",
            "HINDSIGHT_WEEK_STARTS": "Sunday",
            "HINDSIGHT_OFFLINE": "1",
            "HINDSIGHT_OBSERVATIONS": "Extractive",
            "HINDSIGHT_EMBEDDER": "sentence-transformers",
            "HINDSIGHT_EMBEDDER_PATH": "/models/bge",
        }
    )
    assert (config.model, config.storage.vectors, config.storage.keywords) == (
        "openai:gpt-5-mini",
        VectorBackend.EXACT,
        KeywordBackend.FTS5,
    )
    assert (config.time_zone, config.models.offline, config.models.embedder_path) == (
        "Europe/Lisbon",
        True,
        Path("/models/bge"),
    )
    assert (config.languages, config.week_starts) == (("en", "de"), "sunday")
    assert config.models.embedder is EmbedderBackend.SENTENCE_TRANSFORMERS
    assert config.observations.mode is ObservationMode.EXTRACTIVE
    assert HindsightConfig.from_env({"OPENAI_API_KEY": "sk-x"}) == HindsightConfig()


def test_an_unknown_choice_in_the_environment_is_named() -> None:
    """The error names the variable and the known choices."""
    with pytest.raises(
        InvalidRequest, match=r"HINDSIGHT_VECTORS: 'faiss' is not a known choice. Use one of: chroma, exact"
    ):
        HindsightConfig.from_env({"HINDSIGHT_VECTORS": "faiss"})


@every_row(
    ("kind", "field", "good"),
    [
        (StorageConfig, "vectors", "exact"),
        (StorageConfig, "keywords", "lucene"),
        (ModelConfig, "embedder", "static"),
        (RetainConfig, "extraction", "verbatim"),
        (RecallConfig, "on_channel_failure", "degrade"),
        (ObservationConfig, "mode", "extractive"),
    ],
)
def test_plain_strings_are_choices(kind: Any, field: str, good: str) -> None:
    """Strings work like enum members; an unknown one raises an error."""
    assert getattr(kind(**{field: good}), field) is type(getattr(kind(), field))(good)
    with pytest.raises(InvalidRequest, match=f"{field}: 'exakt' is not a known choice"):
        kind(**{field: "exakt"})


@every_row(
    "numbers",
    [
        {"delay_s": -1.0},
        {"delay_s": float("nan")},
        {"fewest_facts": 0},
        {"most": 0},
        {"most": 8},
        {"prompt_tokens": 499},
    ],
)
def test_numbers_under_which_no_observation_could_be_made_are_refused(numbers: dict[str, Any]) -> None:
    """Invalid delays, budgets and profile sizes of observations are rejected."""
    with pytest.raises(InvalidRequest, match=next(iter(numbers))):
        ObservationConfig(**numbers)


def test_no_observations_have_no_delay() -> None:
    """With observations off there is no delay; otherwise the update follows a change after the delay."""
    assert ObservationConfig(mode="off").delay is None
    assert ObservationConfig(delay_s=1.5).delay == timedelta(seconds=1.5)
