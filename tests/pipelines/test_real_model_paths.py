"""Every kind of model call with every failure of a server: done, rejected or waiting, and nothing partial.

The real OpenAI client talks to a local server, found by the environment for `model="openai:<name>"`. When the
server works again, waiting calls are done, and the bank is as if nothing had failed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from openai_server import (
    Drip,
    Dropped,
    Feature,
    Finish,
    Hang,
    OpenAIServer,
    Raw,
    RecordedRequest,
    Said,
    ServerReply,
    Status,
)

from hindsight_integrations import (
    BankProfile,
    Hindsight,
    HindsightConfig,
    MemoryBank,
    Message,
    ModelUnavailable,
)
from hindsight_integrations.config import (
    KeywordBackend,
    ObservationConfig,
    RetainConfig,
    StorageConfig,
    VectorBackend,
)
from hindsight_integrations.errors import ModelRefused
from hindsight_integrations.model.tasks import TaskState
from hindsight_integrations.testing.doubles import FrozenClock

LIGHT = StorageConfig(vectors=VectorBackend.EXACT, keywords=KeywordBackend.FTS5)
TALK = [
    Message("Marta keeps bees on her roof.", "Marta", "2024-05-03T10:00", id="m1"),
    Message("Marta sells honey at the market.", "Marta", "2024-05-03T10:01", id="m2"),
]
SPOILED = "zyxquorl"
CALL_S = 3.0

Opener = Callable[..., Hindsight]

EXTRACTED = {
    "facts": [
        {"what": "Marta keeps bees on her roof.", "sources": ["m1"], "entities": [{"text": "Marta"}]},
        {"what": "Marta sells honey at the market.", "sources": ["m2"], "entities": [{"text": "Marta"}]},
    ]
}
CONCISE = {
    "facts": [
        {"fact": "Marta keeps bees on her roof.", "lines": [1], "names": ["Marta"]},
        {"fact": "Marta sells honey at the market.", "lines": [2], "names": ["Marta"]},
    ]
}
OBSERVED = {"observations": [{"text": "Marta keeps bees and sells honey at the market.", "facts": [1, 2]}]}

MERGED = {"background": "I keep bees. I live in Faro."}

SOUND: dict[str, dict[str, Any]] = {
    "MergedBackground": MERGED,
    "ExtractedFacts": EXTRACTED,
    "ConciseFacts": CONCISE,
    "AnsweredObservations": OBSERVED,
}


def asked_for(request: RecordedRequest) -> str:
    """The name of the requested answer's schema, whatever the mode of the request."""
    body = request.body
    if body.get("response_format"):
        return str(body["response_format"]["json_schema"]["name"])
    if body.get("tools"):
        return str(body["tools"][0]["function"]["name"])
    return next(name for name in SOUND if f'"title":"{name}"' in str(body["messages"]))


def sound(request: RecordedRequest) -> ServerReply:
    return SOUND[asked_for(request)]


def spoiled_text(request: RecordedRequest) -> str:
    """The beginning of a valid answer with a word of its own, without an end."""
    begins = {
        "MergedBackground": '{"background": "',
        "AnsweredObservations": '{"observations": [{"text": "',
        "ConciseFacts": '{"facts": [{"fact": "',
    }
    return begins.get(asked_for(request), '{"facts": [{"what": "') + f"Marta is {SPOILED}"


Failure = Callable[[RecordedRequest], ServerReply]

PASSING: dict[str, Failure] = {
    "rate limit": lambda _: Status(429, retry_after=0.01),
    "error": lambda _: Status(500),
    "dropped": lambda request: Dropped(SOUND[asked_for(request)]),
    "prose": lambda _: f"I think {SPOILED}.",
    "cut off": lambda request: Finish(spoiled_text(request), "length"),
    "half": spoiled_text,
    "other shape": lambda _: {SPOILED: 1},
}
"""What a server may do once, and then answer."""

UNDERSTOOD: dict[str, tuple[frozenset[Feature], Failure]] = {
    "no schemas": (frozenset({Feature.JSON_SCHEMA}), sound),
    "no tools": (frozenset({Feature.JSON_SCHEMA, Feature.TOOLS}), sound),
    "no limits": (frozenset({Feature.MAX_TOKENS}), sound),
    "talks": (frozenset({Feature.JSON_SCHEMA}), lambda request: Said(text_of(sound(request)))),
    "fences": (frozenset(), lambda request: f"Here:\n```json\n{text_of(sound(request))}\n```"),
    "thinks": (frozenset(), lambda request: f"<think>{{{SPOILED}}}</think>{text_of(sound(request))}"),
}
"""Servers that lack something, or add something."""

UNAVAILABLE: dict[str, Failure] = {
    "rate limit": lambda _: Status(429, retry_after=3600),
    "error": lambda _: Status(500, SPOILED),
    "overloaded": lambda _: Status(503),
    "dropped": lambda request: Dropped(SOUND[asked_for(request)], 0.9),
    "silent": lambda _: Hang(60),
    "dripping": lambda request: Drip(SOUND[asked_for(request)], 120),
    "refused": lambda _: Status(401),
}
"""Servers that do not answer, or not in time."""

SLOW = {"dripping": pytest.mark.slow}
"""Each of its calls waits for seconds, as "silent" does, which stands for both."""

UNUSABLE: dict[str, Failure] = {
    "prose": lambda _: f"I think {SPOILED}.",
    "nothing": lambda _: "",
    "cut off": lambda request: Finish(spoiled_text(request), "length"),
    "half": spoiled_text,
    "other shape": lambda _: {SPOILED: 1},
    "error page": lambda _: Raw(f"<html>{SPOILED}</html>"),
    "too long": lambda _: Status(400, "the request exceeds the available context size"),
}
"""Servers that answer, and never anything usable."""


def limited(seconds: float, _: RecordedRequest) -> ServerReply:
    return Status(429, retry_after=seconds)


def text_of(reply: Any) -> str:
    return json.dumps(reply)


@dataclass
class Script:
    """The behaviour of the server: a number of failures, then valid answers.

    Attributes:
        failure: the response instead of a valid answer.
        times: the number of failures; None for unlimited.
    """

    failure: Failure = sound
    times: int | None = 0
    asked: list[str] = field(default_factory=list)

    def __call__(self, request: RecordedRequest) -> ServerReply:
        self.asked.append(asked_for(request))
        if self.times is None or len(self.asked) <= self.times:
            return self.failure(request)
        return sound(request)

    def fails(self, failure: Failure, times: int | None = None) -> None:
        """Fail from now on."""
        self.failure, self.times, self.asked = failure, times, []


@dataclass(frozen=True)
class Call:
    """One kind of call: how it is made, and the number of memories it gives.

    Attributes:
        extraction: the extraction mode; and `observations`, off for calls that are not about them.
        begin: makes the call; the test controls the server meanwhile.
        done: memories of the bank when it is done.
    """

    extraction: str
    begin: Callable[[MemoryBank], object]
    done: Callable[[MemoryBank], bool]
    observations: str = "off"


def retained(bank: MemoryBank) -> object:
    return bank.retain(TALK)


def told_and_settled(bank: MemoryBank) -> object:
    """Facts from the caller need no model; their observations do."""
    bank.retain(TALK, facts=EXTRACTED["facts"])
    return bank.tasks.settle()


def told_who_it_is(bank: MemoryBank) -> object:
    """The program's text about the agent is merged by a task."""
    bank.profile.set(BankProfile(background="I keep bees."))
    bank.retain([Message("You live in Faro.", "system", "2024-05-03T10:00")], facts=[], about_agent=True)
    return bank.tasks.settle()


def has_background(bank: MemoryBank) -> bool:
    return bank.profile.get().background == MERGED["background"]


def has_facts(bank: MemoryBank) -> bool:
    return bank.units(types=["world"]).total == 2


def has_observation(bank: MemoryBank) -> bool:
    texts = [unit.text for unit in bank.units(types=["observation"]).units]
    return has_facts(bank) and texts == ["Marta keeps bees and sells honey at the market."]


CALLS = {
    "narrative": Call("narrative", retained, has_facts),
    "concise": Call("concise", retained, has_facts),
    "observation": Call("narrative", told_and_settled, has_observation, "auto"),
    "background": Call("narrative", told_who_it_is, has_background),
}


@pytest.fixture(
    params=[pytest.param(name, marks=pytest.mark.slow if number else ()) for number, name in enumerate(CALLS)]
)
def call(request: pytest.FixtureRequest) -> Call:
    return CALLS[request.param]


@pytest.fixture
def script() -> Script:
    return Script()


Banks = Callable[..., MemoryBank]


@pytest.fixture
def banks(opener: Opener, script: Script, monkeypatch: pytest.MonkeyPatch) -> Iterator[Banks]:
    """Opens a bank whose model is a local server without some features."""
    servers: list[OpenAIServer] = []

    def bank(call: Call, without: frozenset[Feature] = frozenset(), on_failure: str = "queue") -> MemoryBank:
        server = OpenAIServer(script, without=without).__enter__()
        servers.append(server)
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "any")
        retain = RetainConfig(extraction=call.extraction, on_model_failure=on_failure)
        observing = ObservationConfig(mode=call.observations, fewest_facts=2)
        config = HindsightConfig(storage=LIGHT, retain=retain, observations=observing, model_timeout_s=CALL_S)
        return opener(model="openai:small", config=config).bank("marta")

    yield bank
    for server in servers:
        server.__exit__(None, None, None)


def stored_text(bank: MemoryBank) -> str:
    """All texts that the bank returns."""
    return " ".join([bank.profile.get().background, *(unit.text for unit in bank.units().units)])


def waits(bank: MemoryBank) -> bool:
    """Whether tasks are waiting, according to the bank."""
    return any(task.state is TaskState.PENDING for task in bank.tasks.list())


def everything_in(bank: MemoryBank, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("archive") / "bank.jsonl"
    bank.archive.export(path)
    return path.read_text("utf-8")


def done_in_the_end(bank: MemoryBank, call: Call, script: Script, clock: FrozenClock) -> bool:
    """Whether everything is done when the server works again."""
    script.fails(sound, 0)
    clock.advance(timedelta(hours=2))
    with suppress(ModelUnavailable):
        bank.tasks.settle()
    return call.done(bank) and not waits(bank)


@pytest.mark.parametrize("name", PASSING)
def test_what_passes_is_not_noticed(call: Call, banks: Banks, script: Script, name: str) -> None:
    """One failure is retried or repaired within the call."""
    script.fails(PASSING[name], 1)
    bank = banks(call)
    call.begin(bank)
    assert call.done(bank)
    assert len(script.asked) >= 2


@pytest.mark.parametrize("name", UNDERSTOOD)
def test_servers_of_all_kinds_are_understood(call: Call, banks: Banks, script: Script, name: str) -> None:
    """Missing or additional features of a server lose no memory."""
    without, answer = UNDERSTOOD[name]
    script.fails(answer)
    bank = banks(call, without)
    call.begin(bank)
    assert call.done(bank)
    assert not waits(bank)


@pytest.mark.parametrize("name", [pytest.param(name, marks=SLOW.get(name, ())) for name in UNAVAILABLE])
def test_what_does_not_answer_is_waited_for(
    call: Call,
    banks: Banks,
    script: Script,
    clock: FrozenClock,
    tmp_path_factory: pytest.TempPathFactory,
    name: str,
) -> None:
    """The call waits as a task, no attempt is counted, and it is done when the server works."""
    script.fails(UNAVAILABLE[name])
    bank = banks(call)
    call.begin(bank)
    assert not call.done(bank)
    assert waits(bank)
    assert {task.attempts for task in bank.tasks.list()} == {0}
    assert SPOILED not in stored_text(bank)
    assert done_in_the_end(bank, call, script, clock)
    assert SPOILED not in everything_in(bank, tmp_path_factory)


@pytest.mark.parametrize("name", UNUSABLE)
def test_what_is_unusable_is_never_stored(
    call: Call,
    banks: Banks,
    script: Script,
    clock: FrozenClock,
    tmp_path_factory: pytest.TempPathFactory,
    name: str,
) -> None:
    """It is requested again at most twice, then waits, and no word of it ever becomes a memory."""
    script.fails(UNUSABLE[name])
    bank = banks(call)
    call.begin(bank)
    assert 1 <= len(script.asked) <= 3 * 3
    assert waits(bank)
    assert not call.done(bank)
    assert SPOILED not in stored_text(bank)
    assert done_in_the_end(bank, call, script, clock)
    assert SPOILED not in everything_in(bank, tmp_path_factory)


@pytest.mark.parametrize("name", [pytest.param(name, marks=SLOW.get(name, ())) for name in UNAVAILABLE])
@pytest.mark.parametrize("kind", ["narrative", pytest.param("concise", marks=pytest.mark.slow)])
def test_raising_leaves_the_bank_as_it_was(kind: str, banks: Banks, script: Script, name: str) -> None:
    """With on_model_failure="raise", a retain whose model fails stores nothing and can be repeated."""
    call = CALLS[kind]
    script.fails(UNAVAILABLE[name])
    bank = banks(call, on_failure="raise")
    with pytest.raises((ModelUnavailable, ModelRefused)) as caught:
        call.begin(bank)
    assert any(word in str(caught.value) for word in ("Try again", "Check its API key"))
    assert (bank.units().total, waits(bank)) == (0, False)
    script.fails(sound, 0)
    call.begin(bank)
    assert call.done(bank)


def test_a_task_rests_as_long_as_the_service_says(banks: Banks, script: Script, clock: FrozenClock) -> None:
    """After a Retry-After of half an hour, no request is sent before; the pause is at most an hour."""
    for said, rests in (
        (1800, timedelta(minutes=30)),
        (10**9, timedelta(hours=1)),
        (0, timedelta(minutes=1)),
    ):
        script.fails(partial(limited, said))
        bank = banks(CALLS["observation"])
        CALLS["observation"].begin(bank)
        assert {task.not_before - clock.now() for task in bank.tasks.list()} == {rests}


def test_a_server_of_ones_own_is_asked_for_everything(banks: Banks, script: Script) -> None:
    """Extraction, observations and backgrounds use the only endpoint in the environment."""
    bank = banks(replace(CALLS["concise"], observations="auto"))
    bank.retain(TALK)
    told_who_it_is(bank)
    assert set(script.asked) == {"ConciseFacts", "AnsweredObservations", "MergedBackground"}
    assert has_observation(bank)
    assert has_background(bank)
