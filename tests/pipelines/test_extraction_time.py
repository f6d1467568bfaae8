"""The time limit of extraction: facts extracted by then are stored, the rest waits, and progress is logged."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from openai_server import (
    Finish,
    Hang,
    OpenAIServer,
    RecordedRequest,
    ServerReply,
)
from table import every_row

from hindsight_integrations import Hindsight, HindsightConfig, InvalidRequest, Message, ModelUnavailable
from hindsight_integrations.config import KeywordBackend, RetainConfig, StorageConfig, VectorBackend
from hindsight_integrations.model.tasks import TaskState

LIGHT = StorageConfig(vectors=VectorBackend.EXACT, keywords=KeywordBackend.FTS5)
TALK = [
    Message("I adopted a grey parrot.", "Nora", "2024-05-03T10:00", id="m1"),
    Message("I planted three olive trees.", "Nora", "2024-05-03T10:01", id="m2"),
    Message("I sold my old violin.", "Nora", "2024-05-03T10:02", id="m3"),
]
SLOW = "olive"

Opener = Callable[..., Hindsight]


def facts(text: str) -> dict[str, Any]:
    return {"facts": [{"fact": text, "lines": [1]}]}


def passage_of(request: RecordedRequest) -> str:
    text = str(request.body["messages"][1]["content"])
    return text.rpartition("<<<PASSAGE")[2]


def said_again(request: RecordedRequest) -> ServerReply:
    """The passage's own words as its fact; the slow passage gets no answer."""
    passage = passage_of(request)
    return (
        Hang()
        if SLOW in passage
        else facts(re.sub(r"^.*?Nora: I|\nPASSAGE>>>", "", passage, flags=re.DOTALL).strip())
    )


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    """A local server that never answers one of three passages, used with `model="openai:..."`."""
    with OpenAIServer(said_again) as running:
        monkeypatch.setenv("OPENAI_BASE_URL", running.url)
        monkeypatch.setenv("OPENAI_API_KEY", "any")
        yield running


def opened(opener: Opener, *, call_s: float = 60.0, **retain: Any) -> Hindsight:
    settings = RetainConfig(
        **{"extraction": "concise", "chunk_characters": 30, "concurrent_extractions": 3, **retain}
    )
    return opener(
        model="openai:small",
        config=HindsightConfig(storage=LIGHT, retain=settings, model_timeout_s=call_s),
    )


@pytest.mark.parametrize("on_failure", ["raise", pytest.param("queue", marks=pytest.mark.slow)])
def test_what_was_reached_is_kept_and_the_rest_waits(
    opener: Opener, server: OpenAIServer, on_failure: str
) -> None:
    """A slow passage loses neither the others' facts nor its own messages, and nothing is raised."""
    engine = opened(opener, extraction_timeout_s=5.0, on_model_failure=on_failure)
    bank = engine.bank("nora")
    result = bank.retain(TALK)
    assert result.created == 2
    (waits,) = result.queued
    assert (waits.chunk, result.parked) == (1, ())
    assert "extraction_timeout_s" in waits.reason
    assert [(task.id, task.state) for task in bank.tasks.list() if "extract" in task.kind] == [
        (waits.task, TaskState.PENDING)
    ]
    assert "olive trees" in bank.recall("What did Nora plant?").units[0].text, (
        "found as it was said meanwhile"
    )


@pytest.mark.slow
def test_what_waited_is_extracted_later(
    opener: Opener, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next settle repeats the request, and the memory is stored once."""
    bank = opened(opener, extraction_timeout_s=4.0).bank("nora")
    bank.retain(TALK)
    monkeypatch.setitem(globals(), "SLOW", "nothing any more")
    settled = bank.tasks.settle()
    assert (settled.created, settled.failed) == (1, {})
    assert sum("olive" in unit.text for unit in bank.units().units) == 1


def test_a_call_over_its_time_has_failed(opener: Opener, server: OpenAIServer) -> None:
    """The time limit of one call is a model failure: "raise" stores nothing, "queue" the other passages' facts."""
    bank = opened(opener, call_s=3.0).bank("nora")
    with pytest.raises(ModelUnavailable, match=r"within 3 s|imed out"):
        bank.retain(TALK)
    assert bank.units().total == 0
    queued = opened(opener, call_s=3.0, on_model_failure="queue").bank("nora").retain(TALK)
    assert (queued.created, len(queued.queued)) == (2, 1)


def test_nothing_at_all_reached_is_all_kept_for_later(
    opener: Opener, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model that is too slow for every passage loses no message."""
    monkeypatch.setitem(globals(), "SLOW", "Nora")
    bank = opened(opener, extraction_timeout_s=0.5).bank("nora")
    result = bank.retain(TALK)
    assert (result.created, len(result.queued)) == (0, 3)
    assert len(bank.recall("What did Nora do?").units) == 3


@pytest.mark.slow
def test_progress_is_told_without_memory_text(
    opener: Opener, server: OpenAIServer, caplog: pytest.LogCaptureFixture
) -> None:
    """One line per passage with its number, seconds and tokens, but no text."""
    caplog.set_level(logging.INFO, "hindsight_integrations")
    opened(opener, extraction_timeout_s=5.0).bank("nora").retain(TALK)
    lines = [record.getMessage() for record in caplog.records if record.name == "hindsight_integrations"]
    told = [line for line in lines if line.startswith("passage")]
    assert [line.partition(":")[0] for line in told] == ["passage 1 of 3", "passage 2 of 3"]
    assert all(re.search(r"1 facts in \d+\.\d s \(\d+ tokens in, \d+ out\)", line) for line in told)
    assert any(line.startswith("1 of 3 passages are queued") for line in lines)
    assert not any(word in " ".join(lines) for word in ("parrot", "olive", "violin", "Nora"))


def test_a_model_in_a_loop_is_cut_off(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    """An endless answer of fifty thousand words ends at the token limit, is not stored, and the passage is parked."""
    loop = '{"facts": [{"fact": "' + "very " * 50_000
    with OpenAIServer([Finish(loop, "length")]) as endless:
        monkeypatch.setenv("OPENAI_BASE_URL", endless.url)
        monkeypatch.setenv("OPENAI_API_KEY", "any")
        bank = opened(opener, chunk_characters=1000).bank("nora")
        result = bank.retain(TALK)
    assert (result.created, len(result.parked)) == (0, 1)
    assert {request.body["max_completion_tokens"] for request in endless.requests} == {4096}
    assert max(len(str(request.body["messages"])) for request in endless.requests) < 20_000


def test_nobody_waits_for_a_thread_that_is_left_behind(opener: Opener, server: OpenAIServer) -> None:
    """Closing after a timeout takes no longer than the request's own timeout."""
    engine = opened(opener, extraction_timeout_s=0.5)
    engine.bank("nora").retain(TALK)
    closing = threading.Thread(target=engine.close)
    closing.start()
    closing.join(20)
    assert not closing.is_alive()


@every_row("name", ["model_timeout_s", "extraction_timeout_s"])
@every_row("seconds", [0, -1, float("nan")])
def test_a_time_in_which_nobody_answers_is_refused(name: str, seconds: float) -> None:
    """An invalid time limit is an error at construction."""
    config: Any = HindsightConfig() if name == "model_timeout_s" else RetainConfig()
    given = {name: seconds}
    with pytest.raises(InvalidRequest, match=name):
        replace(config, **given)


def test_times_can_be_set_by_the_environment() -> None:
    """HINDSIGHT_MODEL_TIMEOUT_S and HINDSIGHT_EXTRACTION_TIMEOUT_S set the limits in seconds."""
    config = HindsightConfig.from_env(
        {"HINDSIGHT_MODEL_TIMEOUT_S": "45", "HINDSIGHT_EXTRACTION_TIMEOUT_S": "90.5"}
    )
    assert (config.model_timeout_s, config.retain.extraction_timeout_s) == (45.0, 90.5)
    with pytest.raises(InvalidRequest, match="HINDSIGHT_MODEL_TIMEOUT_S"):
        HindsightConfig.from_env({"HINDSIGHT_MODEL_TIMEOUT_S": "soon"})
