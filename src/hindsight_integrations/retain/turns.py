"""Source turns of a retain: the text kept of each message, and the messages that wait for extraction as units. Pure.

What waits is found meanwhile as rules would retain it word for word, but as a turn: it mentions, links and withdraws
nothing, and goes in the commit that brings its facts.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from pydantic import TypeAdapter, ValidationError

from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.model.requests import Message
from hindsight_integrations.model.results import Parked
from hindsight_integrations.model.tasks import Task, TaskKind, TaskWrite
from hindsight_integrations.model.text import content_hash
from hindsight_integrations.model.units import NAMESPACE, MemoryUnit, UnitKind
from hindsight_integrations.model.writes import MessageKey, Place, TurnWrite, UnitWrite
from hindsight_integrations.retain.drafts import Origin, WaitingPassage
from hindsight_integrations.retain.extraction import UnextractedPassage, occurrence
from hindsight_integrations.retain.verbatim import VerbatimExtractor
from hindsight_integrations.validation.messages import role_of

PARKED_REST = timedelta(minutes=1)  # the model has just failed three times on it


@dataclass(frozen=True, slots=True)
class StoredPassage:
    """What an extraction task keeps of its passage; where it comes from is its `Origin`.

    The two are one flat JSON object. Data directories hold such objects: field names stay as they are.

    Attributes:
        messages: to be extracted.
        before: for context only.
        chunk: ordinal of the passage.
        speakers: speakers of the whole conversation.
        keys: of the messages; empty for a document.
    """

    messages: tuple[Message, ...]
    before: tuple[Message, ...]
    chunk: int
    speakers: tuple[str, ...] = ()
    keys: tuple[MessageKey, ...] = ()


_PASSAGE, _ORIGIN = TypeAdapter(StoredPassage), TypeAdapter(Origin)


def waiting_tasks(
    waiting: Iterable[UnextractedPassage],
    origin: Origin,
    speakers: Mapping[MessageKey, str],
    *,
    ordinals: Sequence[int] = (),
) -> list[WaitingPassage]:
    """An extraction's waiting passages with their tasks, each with the messages it keeps (none for a document).

    A queued one is due at once, since the model may be back; a parked one rests first, since the model has just
    failed three times on it.

    Args:
        waiting: the passages.
        origin: where they come from.
        speakers: speaker of each message of the conversation; empty for a document.
        ordinals: ordinal of each chunk within its document; empty means 0, 1, 2 ...
    """
    passages = []
    for item in waiting:
        seen = (*item.passage.before, *item.passage.messages)
        ids = {message.id or "" for message in seen}
        own = {message.id for message in item.passage.messages}
        keys = tuple(key for key in speakers if key.message_id in own)
        passage = StoredPassage(
            messages=tuple(item.passage.messages),
            before=tuple(item.passage.before),
            chunk=ordinals[item.chunk] if ordinals else item.chunk,
            speakers=tuple(sorted(set(speakers.values()))),
            keys=keys,
        )
        source = replace(origin, moments={each: at for each, at in origin.moments.items() if each in ids})
        delay = PARKED_REST if item.kind is TaskKind.EXTRACT_PARKED else timedelta(0)
        task = TaskWrite(item.kind, _payload(passage, source), delay, item.reason)
        passages.append(WaitingPassage(task, frozenset(keys)))
    return passages


def _payload(passage: StoredPassage, origin: Origin) -> str:
    fields = {
        **_ORIGIN.dump_python(origin, mode="json"),
        **_PASSAGE.dump_python(passage, mode="json"),
    }
    return json.dumps(fields, ensure_ascii=False)


def stored_passage(task: Task) -> tuple[StoredPassage, Origin]:
    """What a task keeps.

    Raises:
        InvalidRequest: its payload is damaged.
    """
    try:
        return _PASSAGE.validate_json(task.payload), _ORIGIN.validate_json(task.payload)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]["msg"]
        raise InvalidRequest(
            f"task {task.id}", f"its payload cannot be read: {problem}", "Retain the input again."
        ) from error


def parked(tasks: Iterable[Task], kind: TaskKind) -> tuple[Parked, ...]:
    """The tasks of one kind just enqueued, for the result of the retain that did."""
    return tuple(Parked(stored_passage(t)[0].chunk, t.reason, t.id) for t in tasks if t.kind is kind)


def waiting_id(origin: Origin, message: Message) -> str:
    """The id of a message, or a piece of one, as a turn that waits: never that of a memory."""
    parts = ("turn", origin.bank, origin.thread, message.id or "", message.text)
    return str(uuid.uuid5(NAMESPACE, "\x1e".join(parts)))


def waiting_turns(
    messages: Sequence[Message], origin: Origin, extractor: VerbatimExtractor, *, chunk: int
) -> tuple[UnitWrite, ...]:
    """Messages of a passage that waits, each as a unit that is this message word for word, without a vector yet.

    Args:
        messages: with ids and timestamps filled in; pieces of a longer one, where it was cut.
        origin: where they come from.
        extractor: says when what a message speaks of happened, and whose it is.
        chunk: ordinal of the passage.
    """
    zone = ZoneInfo(origin.zone)
    facts = extractor.extract(messages, zone=zone)
    return tuple(
        UnitWrite(
            MemoryUnit(
                id=waiting_id(origin, message),
                bank=origin.bank,
                text=fact.what,
                fact_type=fact.fact_type,
                mentioned_at=origin.moments.get(message.id or "", origin.mentioned_at),
                occurred=occurrence(fact.occurred_start, fact.occurred_end, zone),
                context=origin.context,
                metadata=origin.metadata,
                tags=origin.tags,
                chunk=chunk,
                thread=origin.thread,
                sources=(message.id or "",),
                speaker=message.speaker,
                kind=UnitKind.TURN,
            ),
            b"",
        )
        for message, fact in zip(messages, facts, strict=True)
    )


def turns_of(
    messages: Mapping[MessageKey, Message], moments: Mapping[Place, datetime], tags: tuple[str, ...]
) -> tuple[TurnWrite, ...]:
    """The text of each message, to be kept."""
    return tuple(
        TurnWrite(key, message.text, message.speaker, role_of(message), moments[key.place], tags)
        for key, message in messages.items()
    )


def whole_messages(keys: Iterable[MessageKey], messages: Iterable[Message]) -> dict[MessageKey, Message]:
    """Those of the messages that are a whole message as its key knows it, not a piece of a longer one."""
    by_id = {message.id: message for message in messages}
    pairs = ((key, by_id[key.message_id]) for key in keys if key.message_id in by_id)
    return {
        key: message
        for key, message in pairs
        if content_hash(message.speaker, message.text) == key.content_hash
    }


def kept_turns(turns: Iterable[TurnWrite], units: Iterable[MemoryUnit]) -> tuple[TurnWrite, ...]:
    """The turns as they are written: one that is a unit word for word names it instead of keeping its text twice."""
    same = {(unit.thread, *unit.sources, unit.text): unit.id for unit in units if unit.speaker}
    return tuple(
        replace(turn, unit_id=same.get((*turn.key.place, f"{turn.speaker}: {turn.text}"))) for turn in turns
    )
