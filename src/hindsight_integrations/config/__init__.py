"""Settings: one small frozen tree, passed in; a part of it a file."""

from __future__ import annotations

from hindsight_integrations.config.local_models import EmbedderBackend, ModelConfig
from hindsight_integrations.config.mental_models import MentalModelConfig
from hindsight_integrations.config.observations import (
    FEWEST_OBSERVATIONS,
    MOST_OBSERVATIONS,
    ObservationConfig,
    ObservationMode,
)
from hindsight_integrations.config.opinions import OpinionConfig
from hindsight_integrations.config.recall import OnChannelFailure, RecallConfig
from hindsight_integrations.config.retain import (
    MOST_SHOWN_MEMORIES,
    ExtractionMode,
    GeneralKnowledge,
    OnModelFailure,
    RetainConfig,
)
from hindsight_integrations.config.retention import RetentionConfig
from hindsight_integrations.config.settings import HindsightConfig
from hindsight_integrations.config.storage import KeywordBackend, StorageConfig, VectorBackend

__all__ = [
    "FEWEST_OBSERVATIONS",
    "MOST_OBSERVATIONS",
    "MOST_SHOWN_MEMORIES",
    "EmbedderBackend",
    "ExtractionMode",
    "GeneralKnowledge",
    "HindsightConfig",
    "KeywordBackend",
    "MentalModelConfig",
    "ModelConfig",
    "ObservationConfig",
    "ObservationMode",
    "OnChannelFailure",
    "OnModelFailure",
    "OpinionConfig",
    "RecallConfig",
    "RetainConfig",
    "RetentionConfig",
    "StorageConfig",
    "VectorBackend",
]
