"""Several concurrent settles of one bank: each task is run once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from hindsight_integrations import Hindsight, HindsightConfig, Message, ModelUnavailable
from hindsight_integrations.config import KeywordBackend, RetainConfig, StorageConfig, VectorBackend
from hindsight_integrations.model.tasks import TaskKind, TaskState
from hindsight_integrations.testing.scripted_model import ScriptedModel

CONFIG = HindsightConfig(
    storage=StorageConfig(vectors=VectorBackend.EXACT, keywords=KeywordBackend.FTS5),
    retain=RetainConfig(on_model_failure="queue"),
)
COUNT = 12


def test_three_who_settle_at_once_extract_each_passage_once(opener: Callable[..., Hindsight]) -> None:
    """No passage is extracted twice, none is left, and the results together have one fact per passage."""
    calls: Counter[str] = Counter()

    def reply(messages: Any) -> Any:
        passage = messages[-1].text.partition("<<<PASSAGE")[2]
        number = next(n for n in range(COUNT) if f"kayak number {n}." in passage)
        calls[str(number)] += 1
        if calls[str(number)] == 1:
            raise ModelUnavailable("test", "down")
        return {"facts": [{"what": f"Alice bought kayak number {number}.", "sources": [f"m{number}"]}]}

    bank = opener(model=ScriptedModel(reply), config=CONFIG).bank("alice")
    for number in range(COUNT):
        said = Message(f"I bought kayak number {number}.", "Alice", "2024-05-03T10:00", id=f"m{number}")
        assert len(bank.retain([said]).queued) == 1
    with ThreadPoolExecutor(3) as callers:
        settled = list(callers.map(lambda _: bank.tasks.settle(), range(3)))
    assert sum(one.created for one in settled) == COUNT == len(list(bank.iterate_units()))
    done = [task for one in settled for task in one.done]
    assert (len(done), len(set(done)), [one.failed for one in settled]) == (COUNT, COUNT, [{}, {}, {}])
    assert set(calls.values()) == {2}
    extracting = [task for task in bank.tasks.list() if task.kind is not TaskKind.OBSERVE]
    assert {(task.state, task.lease) for task in extracting} == {(TaskState.DONE, 1)}
