"""Record and replay in an engine: recorded model answers rebuild the same memory without the model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hindsight_integrations import AsyncHindsight, Document, Hindsight, HindsightConfig, Message, RetainResult
from hindsight_integrations.config import OnModelFailure, RetainConfig
from hindsight_integrations.testing import (
    MissingAnswer,
    RecordedModel,
    RecordingModel,
    unanswered,
    write_answer,
)
from hindsight_integrations.testing.doubles import FrozenClock, HashEmbedder
from hindsight_integrations.testing.scripted_model import ScriptedModel

Opener = Callable[..., Hindsight]

TALK = (
    Message("I sold the blue canoe to Ines.", "Bea", "2024-05-03T10:00", id="m1"),
    Message("What will you do with the money?", "assistant", "2024-05-03T10:01", id="m2"),
)
GOOD = {"what": "Bea sold her blue canoe to Ines.", "sources": ["m1"]}
HALF = {"what": "Bea has money for a new boat.", "sources": ["m1"], "entities": [{"type": "PERSON"}]}
BAD = {"why": "there is no what"}
ANSWER = "Bea sold it to Ines."


def script() -> list[Any]:
    """First prose, then its repair: a valid fact, one with an unreadable part, and an invalid one."""
    return ["Happily!", {"facts": [GOOD, HALF, BAD]}]


def used(opener: Opener, model: Any, light_config: HindsightConfig) -> tuple[RetainResult, str, list[str]]:
    bank = opener(model=model, config=light_config).bank("bea")
    result = bank.retain(TALK)
    reflection = bank.reflect("Who has the blue canoe?")
    return result, reflection.text, [item.unit.id for item in reflection.units]


def test_a_memory_is_made_again_without_the_model(
    opener: Opener, light_config: HindsightConfig, tmp_path: Path
) -> None:
    """Retain, its repair and reflect give the same ids, costs and dropped parts from files alone."""
    scripted = ScriptedModel([*script(), {"text": ANSWER, "based_on": ["1"]}])
    first = used(opener, RecordingModel(scripted, tmp_path), light_config)
    assert (first[0].created, len(first[0].dropped), scripted.calls) == (2, 2, 3)
    assert first[0].tokens_in > 0
    assert first[1] == ANSWER
    assert used(opener, RecordedModel(tmp_path), light_config) == first
    names = sorted(path.name.split("-")[0] for path in tmp_path.glob("*.json"))
    assert names == ["answer", "extract_facts", "extract_facts"]


def test_both_apis_replay_the_same(
    opener: Opener, light_config: HindsightConfig, tmp_path: Path, clock: FrozenClock
) -> None:
    """Recordings of one API can be replayed in the other."""
    scripted = ScriptedModel([*script(), {"text": ANSWER, "based_on": ["1"]}])
    result, text, _ = used(opener, RecordingModel(scripted, tmp_path), light_config)

    async def asynchronous() -> tuple[RetainResult, str]:
        async with AsyncHindsight.open(
            ":memory:",
            model=RecordedModel(tmp_path),
            embeddings=HashEmbedder(),
            reranker=None,
            config=light_config,
            clock=clock,
        ) as hindsight:
            bank = await hindsight.bank("bea")
            return await bank.retain(TALK), (await bank.reflect("Who has the blue canoe?")).text

    assert asyncio.run(asynchronous()) == (result, text)


@pytest.mark.parametrize("on_failure", list(OnModelFailure))
def test_a_missing_answer_stops_a_retain(opener: Opener, tmp_path: Path, on_failure: OnModelFailure) -> None:
    """A retain without a recording fails, whatever `on_model_failure` says; memory is unchanged."""
    config = HindsightConfig(retain=RetainConfig(on_model_failure=on_failure))
    bank = opener(model=RecordedModel(tmp_path), config=config).bank("bea")
    with pytest.raises(MissingAnswer, match="extract_facts") as caught:
        bank.retain(TALK)
    assert "blue canoe" in json.loads(caught.value.path.read_text("utf-8"))["messages"][-1]["text"][2]
    assert bank.count() == 0


def test_a_long_document_is_answered_by_hand(opener: Opener, tmp_path: Path) -> None:
    """All passages that are requested concurrently are written in one run; answered, they become memories."""
    bank = opener(model=RecordedModel(tmp_path)).bank("bea")
    passages = [
        f"Chapter {number}. " + f"The boat number {number} was built of oak. " * 70 for number in "123"
    ]
    document = Document("\n\n".join(passages), id="boats", timestamp="2024-05-03")
    with pytest.raises(MissingAnswer):
        bank.retain(document)
    waiting = unanswered(tmp_path)
    assert len(waiting) == 3
    for path, recording in waiting.items():
        chapter = recording.messages[-1].text.partition("Chapter ")[2][0]
        write_answer(path, {"facts": [{"what": f"Boat {chapter} is of oak."}]})
    bank.retain(document)
    assert sorted(unit.text for unit in bank.units().units) == [
        f"Boat {number} is of oak." for number in "123"
    ]
