"""Fixtures for tests of waiting work: engines whose model answers from its prompt."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from waiting_work import Opened, Reader, config

from hindsight_integrations import Hindsight
from hindsight_integrations.model.clock import SystemClock
from hindsight_integrations.testing.scripted_model import ScriptedModel


@pytest.fixture
def reader() -> Reader:
    """The model's answers; its gate delays them."""
    return Reader()


@pytest.fixture
def opened(opener: Callable[..., Hindsight], reader: Reader) -> Iterator[Opened]:
    """Opens engines with the reading model and the machine's clock; blocked calls are released at the end."""

    def open_engine(path: str | Path = ":memory:", **options: Any) -> Hindsight:
        settings = options.pop("config", None) or config()
        return opener(path, model=ScriptedModel(reader), config=settings, clock=SystemClock(), **options)

    yield open_engine
    reader.gate.set()
