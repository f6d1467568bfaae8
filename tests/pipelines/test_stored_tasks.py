"""Tasks in data directories: the stored form of a waiting passage, and reading it."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from hindsight_integrations import Document, Hindsight, HindsightConfig, Message, ModelUnavailable
from hindsight_integrations.config import (
    KeywordBackend,
    ObservationConfig,
    RetainConfig,
    StorageConfig,
    VectorBackend,
)
from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.model.tasks import TaskKind, TaskWrite
from hindsight_integrations.model.writes import WriteSet
from hindsight_integrations.testing.doubles import FrozenClock
from hindsight_integrations.testing.scripted_model import ScriptedModel

CONFIG = HindsightConfig(
    observations=ObservationConfig(mode="off"),
    storage=StorageConfig(vectors=VectorBackend.EXACT, keywords=KeywordBackend.FTS5),
    retain=RetainConfig(on_model_failure="queue"),
    time_zone="Europe/Lisbon",
)
DOWN = ModelUnavailable("test", "down")
TALK = [Message("Yesterday I bought a red kayak.", "Alice", "2024-05-03T10:00", id="m1")]
KAYAK = {"what": "Alice bought a red kayak.", "sources": ["m1"], "occurred_start": "2024-05-02"}

# As stored by version 1: other versions that open the data directory must read the same.
CONVERSATION: dict[str, Any] = {
    "messages": [
        {
            "text": "Yesterday I bought a red kayak.",
            "speaker": "Alice",
            "timestamp": "2024-05-03T09:00:00Z",
            "id": "m1",
            "role": None,
            "about_agent": False,
        }
    ],
    "before": [],
    "chunk": 0,
    "bank": "alice",
    "zone": "Europe/Lisbon",
    "mentioned_at": "2024-05-03T09:00:00Z",
    "moments": {"m1": "2024-05-03T09:00:00Z"},
    "thread": "t1",
    "document_id": None,
    "context": "a chat",
    "tags": ["boats"],
    "metadata": {"source": "app"},
    "entities": [{"text": "Boat Club", "type": "OTHER", "role": ""}],
    "speakers": ["Alice"],
    "keys": [
        {
            "thread": "t1",
            "message_id": "m1",
            "content_hash": "fbe79d0b13a665a77366219071a8a51424cf75e72ff07a6ea55cec5ffdcbe386",
        }
    ],
}
DOCUMENT: dict[str, Any] = {
    "messages": [
        {
            "text": "A red kayak.",
            "speaker": "text",
            "timestamp": "2024-05-03T09:00:00Z",
            "id": "part-0",
            "role": None,
            "about_agent": False,
        }
    ],
    "before": [],
    "chunk": 0,
    "bank": "alice",
    "zone": "Europe/Lisbon",
    "mentioned_at": "2024-05-03T09:00:00Z",
    "moments": {},
    "thread": "",
    "document_id": "d1",
    "context": "",
    "tags": [],
    "metadata": {},
    "entities": [],
    "speakers": [],
    "keys": [],
}


@pytest.fixture
def engine(opener: Callable[..., Hindsight]) -> Hindsight:
    """An engine whose model is down for one retain, and then extracts the kayak."""
    return opener(":memory:", model=ScriptedModel([DOWN, {"facts": [KAYAK]}]), config=CONFIG)


def retain_talk(engine: Hindsight) -> None:
    about: dict[str, Any] = {
        "context": "a chat",
        "tags": ["boats"],
        "metadata": {"source": "app"},
        "entities": ["Boat Club"],
    }
    engine.bank("alice").retain(TALK, thread="t1", **about)


def test_a_message_that_waits_is_stored_in_the_format_of_version_1(engine: Hindsight) -> None:
    """Another version that opens the data directory reads the same task."""
    retain_talk(engine)
    (task,) = engine.bank("alice").tasks.list()
    assert json.loads(task.payload) == CONVERSATION


def test_a_document_that_waits_is_stored_in_the_format_of_version_1(engine: Hindsight) -> None:
    """The same for a passage of a document."""
    engine.bank("alice").retain(Document("A red kayak.", id="d1"), timestamp="2024-05-03T10:00")
    (task,) = engine.bank("alice").tasks.list()
    assert json.loads(task.payload) == DOCUMENT


@pytest.mark.directory
def test_a_stored_task_is_done(
    opener: Callable[..., Hindsight], engine: Hindsight, tmp_path: Path, clock: FrozenClock
) -> None:
    """A task stored by another version in this format is extracted like this version's own."""
    retain_talk(engine)
    with opener(tmp_path, model=ScriptedModel([DOWN]), config=CONFIG) as older:
        retain_talk(older)
    with closing(Ledger.open(tmp_path, clock=clock)) as ledger:  # the stored task replaces this version's own
        lease = ledger.tasks.lease(tuple(TaskKind), lasting=timedelta(minutes=1))
        assert lease is not None
        old = TaskWrite(TaskKind.EXTRACT_QUEUED, json.dumps(CONVERSATION))
        with ledger.transaction("alice") as transaction:
            revision = transaction.feed.revision
            transaction.commit(WriteSet("alice", revision, tasks=(old,), completed_tasks=(lease.claim,)))
    model = ScriptedModel([{"facts": [KAYAK]}])
    older = opener(tmp_path, model=model, config=CONFIG)
    assert older.bank("alice").tasks.settle().created == engine.bank("alice").tasks.settle().created == 1
    assert "(Friday, May 03, 2024 09:00) Alice: Yesterday" in str(model.prompts[0][-1].content)
    found = [e.bank("alice").recall("kayak").units[0].unit for e in (engine, older)]
    assert found[0] == found[1]
