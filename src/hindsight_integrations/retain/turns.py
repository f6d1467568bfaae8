"""Source turns of a retain: the stored text of each message, and messages that wait for extraction as units. Pure.

A waiting message is found as a verbatim turn, which mentions, links and invalidates nothing, and is removed in the commit
that stores its facts.
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
    """The payload of an extraction task, together with the passage's `Origin`.

    Both are stored as one flat JSON object, so field names must not change.

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
    """The waiting passages of an extraction with their tasks.

    Queued passages are due immediately, since the model may be available again. Parked ones are delayed, since the model has
    just failed on them three times.

    Args:
        waiting: the passages.
        origin: of the passages.
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
    """The payload of a task.

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
    """The newly enqueued tasks of one kind, for the result."""
    return tuple(Parked(stored_passage(t)[0].chunk, t.reason, t.id) for t in tasks if t.kind is kind)


def waiting_id(origin: Origin, message: Message) -> str:
    """The id of a message, or a piece of one, as a waiting turn; never equal to that of a memory."""
    parts = ("turn", origin.bank, origin.thread, message.id or "", message.text)
    return str(uuid.uuid5(NAMESPACE, "\x1e".join(parts)))


def waiting_turns(
    messages: Sequence[Message], origin: Origin, extractor: VerbatimExtractor, *, chunk: int
) -> tuple[UnitWrite, ...]:
    """The messages of a waiting passage as verbatim units, without vectors yet.

    Args:
        messages: with ids and timestamps; pieces, if a long message was cut.
        origin: of the messages.
        extractor: determines times and fact types.
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
    """The text of each message, to be stored."""
    return tuple(
        TurnWrite(key, message.text, message.speaker, role_of(message), moments[key.place], tags)
        for key, message in messages.items()
    )


def whole_messages(keys: Iterable[MessageKey], messages: Iterable[Message]) -> dict[MessageKey, Message]:
    """The messages whose text matches their key, which excludes pieces of longer ones."""
    by_id = {message.id: message for message in messages}
    pairs = ((key, by_id[key.message_id]) for key in keys if key.message_id in by_id)
    return {
        key: message
        for key, message in pairs
        if content_hash(message.speaker, message.text) == key.content_hash
    }


def kept_turns(turns: Iterable[TurnWrite], units: Iterable[MemoryUnit]) -> tuple[TurnWrite, ...]:
    """The turns to write; a turn that equals a unit refers to it, so that its text is not stored twice."""
    same = {(unit.thread, *unit.sources, unit.text): unit.id for unit in units if unit.speaker}
    return tuple(
        replace(turn, unit_id=same.get((*turn.key.place, f"{turn.speaker}: {turn.text}"))) for turn in turns
    )
