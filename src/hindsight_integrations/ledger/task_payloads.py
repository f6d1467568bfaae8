"""Waiting tasks and erasure: what of a payload must go with forgotten units. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from hindsight_integrations.model.identifiers import identifies_any
from hindsight_integrations.model.time import Interval
from hindsight_integrations.model.whole_names import WholeNames
from hindsight_integrations.ports.ledger import Json


@dataclass(frozen=True, slots=True)
class Traces:
    """By what a payload is recognised.

    Attributes:
        words: unit ids and texts of forgotten units, and ids of forgotten documents: a payload with one goes.
        messages: (thread, message id) of forgotten messages: these leave a payload.
        window: messages sent in it leave a payload.
        thread: so do all messages of this conversation.
        names: and those in which one of these names stands.
        identifiers: or one of these identifiers, however it is written.
    """

    words: frozenset[str]
    messages: frozenset[tuple[str, str]]
    window: Interval | None = None
    thread: str | None = None
    names: WholeNames = field(default_factory=lambda: WholeNames(()))
    identifiers: tuple[str, ...] = ()


def without(payload: str, traces: Traces) -> str | None:
    """The payload without what is forgotten; None if nothing worth doing is left of it, or it holds it still."""
    try:
        value: Json = json.loads(payload)
    except ValueError:
        return payload
    thread = str(value.get("thread", "")) if isinstance(value, dict) else ""
    if _forgotten(value, thread, traces):
        return None
    kept = _cleaned(value, thread, traces)
    if isinstance(value, dict) and isinstance(kept, dict) and value.get("messages") and not kept["messages"]:
        return None
    if any(word and word in text for text in _texts(kept) for word in traces.words):
        return None
    return payload if kept == value else json.dumps(kept, ensure_ascii=False)


def _cleaned(value: Json, thread: str, traces: Traces) -> Json:
    if isinstance(value, list):
        return [_cleaned(each, thread, traces) for each in value if not _forgotten(each, thread, traces)]
    if isinstance(value, dict):
        return {name: _cleaned(each, thread, traces) for name, each in value.items()}
    return value


def _forgotten(value: Json, thread: str, traces: Traces) -> bool:
    """Whether this is a message that goes, or a payload that is one text said in one or more messages."""
    if not isinstance(value, dict) or "text" not in value:
        return False
    said = f"{value.get('speaker')}: {value['text']}"
    if traces.thread == thread or traces.names.stand_in(said) or identifies_any(said, traces.identifiers):
        return True
    sent = value.get("timestamp", value.get("said_at"))
    inside = traces.window is not None and isinstance(sent, str) and _within(sent, traces.window)
    sources = value.get("sources", [value.get("id")])
    said_in = [each for each in sources if isinstance(each, str)] if isinstance(sources, list) else []
    return inside or any((thread, message) in traces.messages for message in said_in)


def _within(sent: str, window: Interval) -> bool:
    try:
        moment = datetime.fromisoformat(sent)
    except ValueError:
        return False
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return window.start <= aware < window.end


def _texts(value: Json) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
