"""Shipped for users and backends: contract suites, doubles, strategies, and record and replay of a language model."""

from __future__ import annotations

from hindsight_integrations.testing.recorded_model import MissingAnswer, RecordedModel
from hindsight_integrations.testing.recording_model import RecordingModel
from hindsight_integrations.testing.recordings import Recording, unanswered, write_answer

__all__ = ["MissingAnswer", "RecordedModel", "Recording", "RecordingModel", "unanswered", "write_answer"]
