"""Waiting work: a model that is down, slow or limited, parked and queued passages, and failing tasks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from langchain_openai import ChatOpenAI
from ledger_support import commit
from openai_server import Hang, OpenAIServer, ServerReply, Status
from pydantic import SecretStr
from table import every_row

from hindsight_integrations import (
    Document,
    EngineClosed,
    FactType,
    Hindsight,
    HindsightConfig,
    InvalidRequest,
    MemoryBank,
    Message,
    ModelUnavailable,
)
from hindsight_integrations.bank.tasks import LEASE, MAX_ATTEMPTS, outage_delay, retry_delay
from hindsight_integrations.config import (
    ExtractionMode,
    KeywordBackend,
    ObservationConfig,
    OnModelFailure,
    RetainConfig,
    StorageConfig,
    VectorBackend,
)
from hindsight_integrations.errors import ModelRefused, TaskClosed
from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.model.tasks import TaskKind, TaskState, TaskWrite
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.model.writes import WriteSet
from hindsight_integrations.testing.doubles import FrozenClock
from hindsight_integrations.testing.scripted_model import ScriptedModel

STORAGE = StorageConfig(vectors=VectorBackend.EXACT, keywords=KeywordBackend.FTS5)
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
TALK = [
    Message("Yesterday I bought a red kayak.", "Alice", "2024-05-03T10:00", id="m1"),
    Message("Will you give it a name?", "assistant", "2024-05-03T10:01", id="m2"),
    Message("Thunder, after the storm.", "Alice", "2024-05-03T10:02", id="m3"),
]
KAYAK = {
    "what": "Alice bought a red kayak.",
    "sources": ["m1"],
    "occurred_start": "2024-05-02",
    "entities": [{"text": "Alice", "type": "PERSON"}],
}
NAMED = {"what": "Alice named the kayak Thunder.", "sources": ["m3"]}
DOWN = ModelUnavailable("test", "down")
ABOUT: dict[str, Any] = {
    "thread": "t1",
    "context": "a chat",
    "tags": ["boats"],
    "metadata": {"source": "app"},
    "entities": ["Boat Club"],
}

Opened = Callable[..., Hindsight]


def settings(**retain: Any) -> HindsightConfig:
    return HindsightConfig(
        storage=STORAGE,
        retain=RetainConfig(**retain),
        observations=ObservationConfig(mode="off"),
        time_zone="Europe/Lisbon",
    )


QUEUE = settings(on_model_failure="queue")


@pytest.fixture
def opened(opener: Callable[..., Hindsight]) -> Opened:
    """Opens an engine with exact numpy search and FTS5 whose model is scripted."""

    def open_engine(script: Any, config: HindsightConfig = QUEUE, path: str | Path = ":memory:") -> Hindsight:
        return opener(path, model=ScriptedModel(script), config=config)

    return open_engine


def units(engine: Hindsight, bank: str = "alice") -> list[MemoryUnit]:
    """Every valid unit of a bank."""
    return list(engine.bank(bank).iterate_units())


def states(engine: Hindsight) -> list[TaskState]:
    return [task.state for task in engine.bank("alice").tasks.list()]


@pytest.fixture
def serving() -> Iterator[Callable[[Sequence[ServerReply]], ChatOpenAI]]:
    """A ChatOpenAI for a local server that answers from a script."""
    servers: list[OpenAIServer] = []

    def serve(replies: Sequence[ServerReply]) -> ChatOpenAI:
        server = OpenAIServer(replies)
        servers.append(server)
        server.__enter__()
        return ChatOpenAI(
            model="gpt-test", base_url=server.url, api_key=SecretStr("k"), max_retries=0, timeout=0.3
        )

    yield serve
    for server in servers:
        server.__exit__(None, None, None)


TROUBLES = [Status(429), Status(503), Hang()]


@pytest.mark.promise(
    'A failed model call leaves memory unchanged or, with `on_model_failure="queue"` or verbatim '
    "extraction, loses no message."
)
@pytest.mark.parametrize("trouble", TROUBLES, ids=["rate-limited", "down", "slow"])
def test_by_default_a_model_in_trouble_leaves_nothing_written(
    opener: Callable[..., Hindsight],
    serving: Callable[[Sequence[ServerReply]], ChatOpenAI],
    trouble: ServerReply,
) -> None:
    """Rate limit, outage and timeout are ModelUnavailable; neither messages nor tasks are stored, and a retry works."""
    engine = opener(model=serving([trouble, {"facts": [KAYAK]}]), config=settings())
    bank = engine.bank("alice")
    with pytest.raises(ModelUnavailable):
        bank.retain(TALK)
    assert (units(engine), bank.tasks.list()) == ([], [])
    assert bank.retain(TALK).created == 1


@pytest.mark.promise(
    'A failed model call leaves memory unchanged or, with `on_model_failure="queue"` or verbatim '
    "extraction, loses no message."
)
@pytest.mark.parametrize("trouble", TROUBLES, ids=["rate-limited", "down", "slow"])
def test_queued_a_model_in_trouble_costs_no_message(
    opener: Callable[..., Hindsight],
    serving: Callable[[Sequence[ServerReply]], ChatOpenAI],
    trouble: ServerReply,
) -> None:
    """With on_model_failure="queue" the retain succeeds and reports the queued passages, and settle extracts them later, once."""
    engine = opener(model=serving([trouble, {"facts": [KAYAK]}]), config=QUEUE)
    bank = engine.bank("alice")
    result = bank.retain(TALK)
    assert (result.created, result.parked, len(result.queued)) == (0, (), 1)
    assert "unavailable" in result.queued[0].reason
    assert bank.retain(TALK).skipped_messages == 3
    settled = bank.tasks.settle()
    assert (settled.done, settled.created, dict(settled.failed)) == ((result.queued[0].task,), 1, {})
    assert settled.tokens_in > 0
    assert states(engine) == [TaskState.DONE]
    assert [unit.text for unit in units(engine)] == ["Alice bought a red kayak."]


def test_a_refused_key_is_queued_too(opened: Opened) -> None:
    """With on_model_failure="queue", a key that has expired loses nothing."""
    engine = opened([ModelRefused("test", "expired"), {"facts": [KAYAK]}])
    bank = engine.bank("alice")
    assert "ModelRefused" in bank.retain(TALK).queued[0].reason
    assert bank.tasks.settle().created == 1


@pytest.mark.parametrize("failure", [DOWN, "no json"], ids=["queued", "parked"])
def test_a_passage_extracted_later_is_as_it_would_have_been(
    opened: Opened, failure: Any, clock: FrozenClock
) -> None:
    """Later extraction gives the same unit, id, sources, times, thread, context, tags and entities."""
    at_once, later = (
        opened([{"facts": [KAYAK]}]),
        opened([failure] * (3 if failure == "no json" else 1) + [{"facts": [KAYAK]}]),
    )
    at_once.bank("alice").retain(TALK, **ABOUT)
    later.bank("alice").retain(TALK, **ABOUT)
    clock.advance(timedelta(days=40))
    assert later.bank("alice").tasks.settle().created == 1
    assert units(later) == units(at_once)
    (unit,) = units(later)
    assert (unit.thread, unit.sources, unit.tags) == ("t1", ("m1",), ("boats",))
    assert unit.occurred is not None
    assert unit.occurred.start == datetime(2024, 5, 1, 23, tzinfo=UTC)  # midnight in Lisbon
    found = later.bank("alice").recall("kayak").units[0]
    assert set(found.entities) == {"Alice", "Boat Club"}


def test_a_document_passage_extracted_later_keeps_its_place(opened: Opened, clock: FrozenClock) -> None:
    """Only the failed passage of a long document waits; extracted later, it has the document's id, time and chunk."""
    text = "\n\n".join(f"Part {n}. " + "word " * 30 for n in range(3))
    document = Document(text, "d1", "2024-01-01", {"shelf": "a"})

    def answer(calls: list[int]) -> Callable[[Any], Any]:
        def reply(messages: Any) -> Any:
            part = next(n for n in range(3) if f"Part {n}." in messages[1].text)
            calls.append(part)
            bad = part == 1 and calls.count(1) <= 3
            return "no json" if bad else {"facts": [{"what": f"Told in part {part}."}]}

        return reply

    config = settings(chunk_characters=170)
    engine, whole = opened(answer([]), config), opened(answer([1, 1, 1]), config)
    result = engine.bank("alice").retain(document)
    assert (result.created, [p.chunk for p in result.parked]) == (2, [1])
    whole.bank("alice").retain(document)
    clock.advance(HOUR)
    assert engine.bank("alice").tasks.settle().created == 1

    # Facts with the same time get microseconds in the order in which they are written; everything else is
    # equal.
    both = [
        sorted((replace(u, mentioned_at=u.mentioned_at.replace(microsecond=0)) for u in units(e)), key=str)
        for e in (engine, whole)
    ]
    assert both[0] == both[1]
    assert sorted(unit.chunk for unit in units(engine)) == [0, 1, 2]
    assert engine.bank("alice").retain(document).created == 0


def test_one_bad_chunk_does_not_hold_the_others_back(opened: Opened) -> None:
    """The facts of good chunks and the parked passage of a bad one are one commit; the tokens of all calls are counted."""

    def reply(messages: Any) -> Any:
        return "no json" if "[m1]" in messages[1].text.partition("<<<PASSAGE")[2] else {"facts": [NAMED]}

    engine = opened(reply, settings(chunk_characters=60))
    result = engine.bank("alice").retain(TALK)
    assert (result.created, result.revision, [p.chunk for p in result.parked]) == (1, 1, [0])
    assert result.tokens_out == 2 * 3 + len(json.dumps({"facts": [NAMED]}).split())
    assert states(engine) == [TaskState.PENDING]


def test_every_stage_shows_in_the_result(opened: Opened) -> None:
    """One RetainResult reports repairs, screening, unknown sources and dropped parts."""
    facts = [
        {**KAYAK, "causal_relations": [{"target_fact_index": 1, "relation_type": "causes", "strength": 7}]},
        NAMED,
        {"what": "I recommended a name.", "sources": ["m2"], "fact_type": "experience"},
        {"what": "Said elsewhere.", "sources": ["m9"]},
        {"what": "loop " * 99, "sources": ["m1"]},
    ]
    engine = opened(["prose", {"facts": facts}])
    result = engine.bank("alice").retain([*TALK, {"role": "system", "content": "be kind"}])
    assert result.counts == {FactType.WORLD: 2, FactType.EXPERIENCE: 1}
    reasons = [item.reason for item in result.dropped]
    for piece in ("not conversation", "strength", "repeats itself", "not in this retain: m9"):
        assert any(piece in reason for reason in reasons), reasons
    assert len(reasons) == 4
    assert (result.parked, result.queued) == ((), ())


def test_settle_is_idempotent(opened: Opened) -> None:
    """A second settle makes no calls and changes neither memories nor the revision."""
    engine = opened([DOWN, {"facts": [KAYAK]}])
    bank = engine.bank("alice")
    bank.retain(TALK)
    bank.tasks.settle()
    before = engine.doctor().banks["alice"]
    again = bank.tasks.settle()
    assert (again.done, again.created, dict(again.failed)) == ((), 0, {})
    assert engine.doctor().banks["alice"] == before


def test_failures_are_retried_ever_more_rarely_and_then_given_up(opened: Opened, clock: FrozenClock) -> None:
    """A failing task is tried after 1, 2, 4 ... minutes; in the end it is DEAD, and can be retried by the caller."""
    engine = opened([DOWN, *[KeyError("context_length_exceeded")] * MAX_ATTEMPTS, {"facts": [KAYAK]}])
    bank = engine.bank("alice")
    bank.retain(TALK)
    for attempt in range(1, MAX_ATTEMPTS + 1):
        assert len(bank.tasks.settle().failed) == 1
        assert bank.tasks.settle().failed == {}
        assert bank.tasks.list()[0].attempts == attempt
        clock.advance(retry_delay(attempt))
    (task,) = bank.tasks.list()
    assert (task.state, "context_length_exceeded" in task.reason) == (TaskState.DEAD, True)
    assert bank.tasks.settle().done == ()
    assert bank.tasks.retry() == 1
    assert bank.tasks.settle().created == 1


@pytest.mark.promise(
    'A failed model call leaves memory unchanged or, with `on_model_failure="queue"` or verbatim '
    "extraction, loses no message."
)
@pytest.mark.parametrize("trouble", [DOWN, ModelRefused("test", "expired")], ids=["down", "refused"])
def test_an_outage_of_a_day_kills_no_task(opened: Opened, clock: FrozenClock, trouble: Exception) -> None:
    """A model that is unavailable for a day uses up no attempt, however often settle runs, and all tasks run afterwards."""
    away = clock.now() + timedelta(days=1)

    def reply(messages: Any) -> Any:
        calls.append(clock.now())
        if clock.now() < away:
            raise trouble
        return {"facts": [KAYAK]}

    calls: list[datetime] = []
    bank = opened(reply).bank("alice")
    (waiting,) = bank.retain(TALK).queued
    for minute in range(60):
        bank.tasks.settle()
        clock.advance(MINUTE if minute < 59 else away - clock.now() - MINUTE)
    bank.tasks.settle()
    (task,) = bank.tasks.list()
    assert (task.state, task.attempts, type(trouble).__name__ in task.reason) == (TaskState.PENDING, 0, True)
    rests = [(later - earlier) / MINUTE for earlier, later in pairwise(calls[1:])]
    assert (rests[:4], set(rests[3:-1])) == ([1, 2, 4, 5], {5})
    clock.advance(5 * MINUTE)
    assert bank.tasks.settle().done == (waiting.task,)


def test_delays_double() -> None:
    """Up to an hour for failures, up to five minutes for an unavailable model."""
    assert [retry_delay(attempts) / MINUTE for attempts in (1, 2, 3, 6, 7, 500)] == [1, 2, 4, 32, 60, 60]
    assert [outage_delay(before) / MINUTE for before in (0, 1, 2, 3, 500)] == [1, 2, 4, 5, 5]


def enqueue(folder: Path, payload: str, clock: FrozenClock) -> None:
    """Add a task to the queue of a closed memory, due before all others."""
    task = TaskWrite(TaskKind.EXTRACT_QUEUED, payload)
    with closing(Ledger.open(folder, clock=FrozenClock(clock.now() - HOUR))) as ledger:
        commit(ledger, WriteSet("alice", ledger.revision("alice"), tasks=(task,)))


@pytest.mark.directory
@pytest.mark.parametrize("payload", ["", "{}", "not json", '{"messages": 7}'])
def test_a_poisoned_task_blocks_no_other(
    opened: Opened, clock: FrozenClock, payload: str, tmp_path: Path
) -> None:
    """A damaged payload fails alone although it is first; the tasks after it run in the same settle."""
    with opened([DOWN], path=tmp_path) as engine:
        engine.bank("alice").retain(TALK)
    enqueue(tmp_path, payload, clock)
    engine = opened([{"facts": [KAYAK]}], path=tmp_path)
    bank = engine.bank("alice")
    settled = bank.tasks.settle()
    assert (settled.created, len(settled.failed)) == (1, 1)
    assert "payload is damaged" in next(iter(settled.failed.values()))
    assert states(engine) == [TaskState.DONE, TaskState.PENDING]


def test_a_passage_no_vendor_error_can_pass_blocks_no_other(opened: Opened) -> None:
    """An unexpected exception (a vendor's 400 for one passage) is recorded as that task's failure."""

    def reply(messages: Any) -> Any:
        calls.append(messages)
        if len(calls) <= 2:
            raise DOWN
        if "[m1]" in messages[1].text.partition("<<<PASSAGE")[2]:
            raise KeyError("context_length_exceeded")
        return {"facts": [NAMED]}

    calls: list[Any] = []
    engine = opened(reply, settings(on_model_failure="queue", chunk_characters=60))
    bank = engine.bank("alice")
    assert len(bank.retain(TALK).queued) == 2
    settled = bank.tasks.settle()
    assert (settled.created, len(settled.done)) == (1, 1)
    assert "KeyError: 'context_length_exceeded'" in bank.tasks.list()[0].reason


@pytest.mark.directory
def test_a_killed_process_task_is_taken_again_by_the_next(
    opened: Opened, clock: FrozenClock, tmp_path: Path
) -> None:
    """After a kill between lease and commit, the next engine runs the task at once, and only once."""
    with opened([DOWN], path=tmp_path) as engine:
        engine.bank("alice").retain(TALK)
    with closing(Ledger.open(tmp_path, clock=clock)) as ledger:
        assert ledger.tasks.lease(tuple(TaskKind), lasting=LEASE) is not None
    engine = opened([{"facts": [KAYAK]}], path=tmp_path)
    bank = engine.bank("alice")
    assert [(task.state, task.attempts) for task in bank.tasks.list()] == [(TaskState.PENDING, 1)]
    assert (bank.tasks.settle().created, states(engine)) == (1, [TaskState.DONE])
    assert bank.tasks.list()[0].payload == ""


@pytest.mark.directory
def test_a_task_that_kills_its_process_each_time_is_given_up(
    opened: Opened, clock: FrozenClock, tmp_path: Path
) -> None:
    """Leases that end without a result count as attempts, so a crash loop ends."""
    with opened([DOWN], path=tmp_path) as engine:
        engine.bank("alice").retain(TALK)
    for _ in range(MAX_ATTEMPTS):
        with closing(Ledger.open(tmp_path, clock=clock)) as ledger:
            assert ledger.tasks.lease(tuple(TaskKind), lasting=LEASE) is not None
    engine = opened([], path=tmp_path)
    engine.bank("alice").tasks.settle()
    assert states(engine) == [TaskState.DEAD]


def test_two_who_hold_one_task_write_its_facts_once(opened: Opened, clock: FrozenClock) -> None:
    """A slow holder whose lease has ended and the new holder store one copy; the other commit is rejected."""
    bank: MemoryBank

    def reply(messages: Any) -> Any:
        calls.append(messages)
        if len(calls) == 1:
            raise DOWN
        if len(calls) == 2:  # during this model call the lease ends and another settle runs the task
            clock.advance(2 * LEASE)
            bank.tasks.settle()
            return {"facts": [{**KAYAK, "what": "Alice bought a kayak that was red."}]}
        return {"facts": [KAYAK]}

    calls: list[Any] = []
    engine = opened(reply)
    bank = engine.bank("alice")
    bank.retain(TALK)
    settled = bank.tasks.settle()
    assert [unit.text for unit in units(engine)] == ["Alice bought a red kayak."]
    assert TaskClosed.__name__ in next(iter(settled.failed.values()))
    assert states(engine) == [TaskState.DONE]


def test_an_edited_message_is_not_extracted_in_its_old_wording(opened: Opened) -> None:
    """A waiting message that is edited is extracted with its new text only."""
    engine = opened([DOWN, {"facts": [{**KAYAK, "what": "Alice bought a blue canoe."}]}])
    bank = engine.bank("alice")
    bank.retain(TALK[:1])
    bank.retain([replace(TALK[0], text="Yesterday I bought a blue canoe.", timestamp="2024-05-03T11:00")])
    settled = bank.tasks.settle()
    assert (settled.created, len(settled.done)) == (0, 1)
    assert "replaced since" in settled.dropped[0].reason
    assert [unit.text for unit in units(engine)] == ["Alice bought a blue canoe."]


def test_without_a_model_passages_wait_on(opener: Callable[..., Hindsight], tmp_path: Path) -> None:
    """An engine without a model leaves queued passages alone, uses up no attempt, and runs the other tasks."""
    engine = opener(tmp_path, model=ScriptedModel([DOWN]), config=QUEUE)
    engine.bank("alice").retain(TALK)
    engine.close()
    engine = opener(tmp_path, config=QUEUE)
    assert engine.bank("alice").tasks.settle().done == ()
    assert [(task.state, task.attempts) for task in engine.bank("alice").tasks.list()] == [
        (TaskState.PENDING, 0)
    ]


def test_nothing_runs_after_close(opened: Opened) -> None:
    """A closed engine runs no more tasks; they wait until it is opened again."""
    engine = opened([DOWN])
    bank = engine.bank("alice")
    bank.retain(TALK)
    engine.close()
    for verb in (bank.tasks.settle, bank.tasks.list, bank.tasks.retry):
        with pytest.raises(EngineClosed):
            verb()


def test_modes_and_guidelines_reach_the_model(opener: Callable[..., Hindsight]) -> None:
    """Concise and custom extraction use different prompts; the user's guidelines are inserted between markers."""
    prompts = {}
    for mode, guidelines in (("concise", ""), ("custom", "Note every price."), ("narrative", "")):
        fact = {"fact": KAYAK["what"]} if mode == "concise" else KAYAK
        model = ScriptedModel([{"facts": [fact]}])
        engine = opener(model=model, config=settings(extraction=mode, guidelines=guidelines))
        engine.bank("alice").retain(TALK)
        prompts[mode] = str(model.prompts[0][0].text)
    assert "one short sentence that is clear by itself" in prompts["concise"]
    assert "Narrative and self-contained" in prompts["custom"]
    assert "<<<GUIDELINES\nNote every price.\nGUIDELINES>>>" in prompts["custom"]
    assert prompts["narrative"] == prompts["custom"].partition("\n\nThe owner of this memory")[0]


@every_row(
    "options",
    [
        {"extraction": "custom"},
        {"extraction": "narrative", "guidelines": "Note every price."},
        {"extraction": "telepathic"},
        {"on_model_failure": "shrug"},
    ],
)
def test_settings_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    """Unused guidelines, custom extraction without guidelines, and misspelt values raise at construction."""
    with pytest.raises(InvalidRequest):
        RetainConfig(**options)


@pytest.mark.parametrize("mode", [ExtractionMode.CONCISE, ExtractionMode.NARRATIVE])
def test_modes_that_need_a_model_say_so(mode: ExtractionMode) -> None:
    """A mode that needs a model raises at open if there is none."""
    with pytest.raises(InvalidRequest, match="Pass `model=`"):
        Hindsight.open(":memory:", config=settings(extraction=mode))


def test_queueing_can_be_chosen_by_the_environment() -> None:
    """HINDSIGHT_ON_MODEL_FAILURE sets the option."""
    config = HindsightConfig.from_env({"HINDSIGHT_ON_MODEL_FAILURE": "queue"})
    assert config.retain.on_model_failure is OnModelFailure.QUEUE
