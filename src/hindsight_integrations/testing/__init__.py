"""Test support for programs that use this package: fake models, record and replay, a clock, and contract tests for models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hindsight_integrations.lazy import adapter_attribute

if TYPE_CHECKING:
    from hindsight_integrations.testing.doubles import FrozenClock
    from hindsight_integrations.testing.recordings import (
        MissingAnswer,
        RecordedModel,
        Recording,
        RecordingModel,
        unanswered,
        write_answer,
    )
    from hindsight_integrations.testing.scripted_model import ScriptedModel

_HOMES = {
    "FrozenClock": "doubles",
    "MissingAnswer": "recordings",
    "RecordedModel": "recordings",
    "Recording": "recordings",
    "RecordingModel": "recordings",
    "ScriptedModel": "scripted_model",
    "unanswered": "recordings",
    "write_answer": "recordings",
}

__all__ = [
    "FrozenClock",
    "MissingAnswer",
    "RecordedModel",
    "Recording",
    "RecordingModel",
    "ScriptedModel",
    "unanswered",
    "write_answer",
]


def __getattr__(name: str) -> object:
    return adapter_attribute(__name__, _HOMES, name, vendors={"langchain_core"}, extra="langgraph")
