"""Waiting tasks lose forgotten content and keep the rest."""

from __future__ import annotations

import json
from typing import Any

from builders import at

from hindsight_integrations.ledger.erasure import Traces, without
from hindsight_integrations.model.erasure import WholeNames
from hindsight_integrations.model.time import Interval


def payload(**changes: Any) -> str:
    messages = [
        {"text": "the secret", "speaker": "Alice", "timestamp": at(0).isoformat(), "id": "m1"},
        {"text": "plums", "speaker": "Bob", "timestamp": at(5).isoformat(), "id": "m2"},
    ]
    return json.dumps({"messages": messages, "before": [], "thread": "t", "document_id": None, **changes})


def traces(
    texts: set[str] | None = None, messages: set[tuple[str, str]] | None = None, **more: Any
) -> Traces:
    return Traces(frozenset(texts or ()), frozenset(messages or ()), **more)


def left(text: str | None) -> list[str]:
    assert text is not None
    return [message["id"] for message in json.loads(text)["messages"]]


def test_a_forgotten_message_leaves_a_waiting_passage() -> None:
    """A waiting passage is extracted without the forgotten message."""
    assert left(without(payload(), traces(messages={("t", "m1")}))) == ["m2"]
    assert left(without(payload(), traces(window=Interval(at(4), at(6))))) == ["m1"]


def test_a_task_about_nothing_else_goes() -> None:
    """A task with only forgotten content is dropped."""
    assert without(payload(), traces(messages={("t", "m1"), ("t", "m2")})) is None
    assert without(payload(document_id="d1"), traces(document="d1")) is None
    told = payload(context="of the secret")
    assert without(told, traces({"the secret"}, {("t", "m1")}, threads=frozenset({"t"}))) is None


def test_the_words_of_another_conversation_or_document_stay() -> None:
    """A longer text that contains the words is erased only in the erased unit's conversation; elsewhere the whole text must be equal."""
    said = [{"text": "Tea. And a biscuit.", "speaker": "Bob", "timestamp": at(5).isoformat(), "id": "m2"}]
    talk, document = payload(messages=said), payload(messages=said, document_id="d1", thread="")
    elsewhere: dict[str, Any] = {"threads": frozenset({"u", ""}), "documents": frozenset({"d10", "d"})}
    for text in (talk, document):
        assert without(text, traces({"Tea."}, document="d10", **elsewhere)) == text
    assert without(talk, traces({"Tea."}, threads=frozenset({"t"}))) is None
    assert without(document, traces({"Tea."}, documents=frozenset({"d1"}))) is None
    whole = {"text": "Tea.", "speaker": "Bob", "timestamp": at(6).isoformat(), "id": "m3"}
    assert left(without(payload(messages=[*said, whole]), traces({"Tea."}, **elsewhere))) == ["m2"]
    assert without(payload(tags=["Tea."]), traces({"Tea."}, **elsewhere)) == payload(tags=["Tea."])


def test_messages_without_a_thread_are_not_one_conversation() -> None:
    """Without a thread, only payloads that contained an erased message are searched for its text."""
    quoted = payload(thread="", context="of the secret, she said")
    erased: dict[str, Any] = {"threads": frozenset({""})}
    unrelated = json.dumps({**json.loads(quoted), "messages": json.loads(quoted)["messages"][1:]})
    assert without(unrelated, traces({"the secret"}, {("", "m1")}, **erased)) == unrelated
    assert without(quoted, traces({"the secret"}, {("", "m1")}, **erased)) is None
    assert left(without(payload(thread=""), traces({"the secret"}, {("", "m1")}, **erased))) == ["m2"]


def test_of_what_is_older_only_the_tagged_goes() -> None:
    """Tags in addition to a time also filter waiting passages."""
    until, tagged = Interval(at(0), at(6)), payload(tags=["diary", "old"])
    assert without(tagged, traces(window=until, tags=frozenset({"diary"}))) is None
    for other in (tagged, payload()):
        assert without(other, traces(window=until, tags=frozenset({"work"}))) == other


def test_what_was_said_of_the_agent_goes_with_the_message() -> None:
    """A waiting background text is erased with its message, conversation, document, day or speaker."""
    told = {"text": "Bob sells plums.", "said_at": at(0).isoformat(), "thread": "t", "sources": ["m1", "m2"]}
    text = json.dumps({**told, "document_id": "d1"})
    for gone in (
        traces(messages={("t", "m2")}),
        traces(thread="t"),
        traces(window=Interval(at(0), at(1))),
        traces(document="d1"),
        traces(names=WholeNames({"bob"})),
        traces({"Bob sells plums."}),
    ):
        assert without(text, gone) is None
    for other in (traces(messages={("t", "m3"), ("u", "m1")}), traces(window=Interval(at(1), at(2)))):
        assert without(text, other) == text
    assert without(json.dumps({**told, "sources": "m1"}), traces(messages={("t", "m1")})) is not None


def test_other_tasks_stay_as_they_are() -> None:
    """Messages of another thread with the same id, and payloads that are not JSON, are not changed."""
    assert without(payload(), traces({"figs", ""}, {("other", "m1")})) == payload()
    assert without("", traces({"x"})) == ""
