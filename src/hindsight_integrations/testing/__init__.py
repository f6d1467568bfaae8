"""For tests of programs that use this package: stand-in models, record and replay, a clock, and contracts of models."""

from __future__ import annotations

from hindsight_integrations.testing.recorded_model import MissingAnswer, RecordedModel
from hindsight_integrations.testing.recording_model import RecordingModel
from hindsight_integrations.testing.recordings import Recording, unanswered, write_answer

__all__ = ["MissingAnswer", "RecordedModel", "Recording", "RecordingModel", "unanswered", "write_answer"]
