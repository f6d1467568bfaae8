"""Source turns of a retain: the stored text of each message, and units for messages that wait for extraction. Pure.

Recall finds a waiting message as a verbatim turn without entities, links or effects on other memories. The commit that stores
its facts removes the turn.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from pydantic import TypeAdapter, ValidationError

from hindsight_integrations.config import AS_SET, GATHERINGS, ExtractionOptions
from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.model.requests import Message
from hindsight_integrations.model.results import Parked
from hindsight_integrations.model.tasks import Batch, Task, TaskKind, TaskWrite
from hindsight_integrations.model.text import content_hash
from hindsight_integrations.model.units import NAMESPACE, MemoryUnit, UnitKind
from hindsight_integrations.model.writes import MessageKey, Place, TurnWrite, UnitWrite
from hindsight_integrations.retain.drafts import Origin, WaitingPassage
from hindsight_integrations.retain.extraction import UnextractedPassage, occurrence
from hindsight_integrations.retain.verbatim import VerbatimExtractor
from hindsight_integrations.validation.messages import role_of

PARKED_REST = timedelta(
    minutes=1
)  # delay before a parked passage is tried again, because the model has just failed on it three times


@dataclass(frozen=True, slots=True)
class StoredPassage:
    """The payload of an extraction task, together with the passage's `Origin`.

    Both are stored as one flat JSON object, so their field names must be distinct and must not change.

    Attributes:
        messages: the messages to extract.
        before: the earlier messages that serve as context.
        chunk: the ordinal of the passage.
        speakers: the speakers of the whole conversation.
        keys: the keys of the messages; empty for a document.
    """

    messages: tuple[Message, ...]
    before: tuple[Message, ...]
    chunk: int
    speakers: tuple[str, ...] = ()
    keys: tuple[MessageKey, ...] = ()


_PASSAGE, _ORIGIN = TypeAdapter(StoredPassage), TypeAdapter(Origin)


def _batch(passage: StoredPassage, origin: Origin, namespace: str, *, room: int) -> Batch:
    """Return the batch of a passage: only messages of one list with the same tags, context and entities share a prompt.

    The name is a hash, because the names of batches remain when the messages are erased.

    Args:
        passage: the passage.
        origin: its origin.
        namespace: the message list within the thread.
        room: the maximum number of waiting characters.
    """
    entities = sorted(mention.text for mention in origin.entities)
    shared = [origin.thread, namespace, origin.context, origin.tags, entities]
    name = hashlib.sha256(json.dumps(shared).encode()).hexdigest()
    return Batch(name, sum(len(message.text) for message in passage.messages), room)


def waiting_tasks(
    waiting: Iterable[UnextractedPassage],
    origin: Origin,
    speakers: Mapping[MessageKey, str],
    *,
    ordinals: Sequence[int] = (),
    options: ExtractionOptions = AS_SET,
    limit: int = 0,
) -> list[WaitingPassage]:
    """Create a task for each waiting passage of an extraction.

    Queued passages are due immediately, since the model may be available again. Parked ones are delayed, since the model has
    just failed on them three times. Waiting ones are due with others of their conversation.

    Args:
        waiting: the passages.
        origin: the origin of the passages.
        speakers: the speaker of each message of the conversation; empty for a document.
        ordinals: the ordinal of each chunk within its document; empty means 0, 1, 2 ...
        options: the options of the retain; they say how long passages of kind EXTRACT_WAITING wait.
        limit: the number of characters of a passage; unused unless they wait.
    """
    gathering = GATHERINGS.get(options.extract)
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
        task = TaskWrite(item.kind, stored_payload(passage, source), timedelta(0), item.reason)
        if item.kind is TaskKind.EXTRACT_PARKED:
            task = replace(task, delay=PARKED_REST)
        elif item.kind is TaskKind.EXTRACT_WAITING and gathering:
            batch = _batch(passage, source, options.namespace, room=gathering.passages * limit)
            task = replace(task, delay=gathering.quiet, batch=batch)
        passages.append(WaitingPassage(task, frozenset(keys)))
    return passages


def stored_payload(passage: StoredPassage, origin: Origin) -> str:
    """Serialise a passage and its origin as the payload of a task."""
    fields = {
        **_ORIGIN.dump_python(origin, mode="json"),
        **_PASSAGE.dump_python(passage, mode="json"),
    }
    return json.dumps(fields, ensure_ascii=False)


def stored_passage(task: Task) -> tuple[StoredPassage, Origin]:
    """Parse the payload of a task.

    Raises:
        InvalidRequest: the payload is damaged.
    """
    try:
        return _PASSAGE.validate_json(task.payload), _ORIGIN.validate_json(task.payload)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]["msg"]
        raise InvalidRequest(
            f"task {task.id}", f"the payload is damaged: {problem}", "Retain the input again."
        ) from error


def parked_again(passage: StoredPassage, origin: Origin, reason: str) -> WaitingPassage:
    """Create the task that tries a passage alone, after the model gave no usable answer to it among others."""
    task = TaskWrite(TaskKind.EXTRACT_PARKED, stored_payload(passage, origin), PARKED_REST, reason)
    return WaitingPassage(task, frozenset(passage.keys))


def parked(tasks: Iterable[Task], *kinds: TaskKind) -> tuple[Parked, ...]:
    """Return the enqueued tasks of the given kinds, for the result of a retain."""
    return tuple(Parked(stored_passage(t)[0].chunk, t.reason, t.id) for t in tasks if t.kind in kinds)


def waiting_id(origin: Origin, message: Message) -> str:
    """Return the id of the waiting turn of a message or a piece of one; it never equals the id of a memory."""
    parts = ("turn", origin.bank, origin.thread, message.id or "", message.text)
    return str(uuid.uuid5(NAMESPACE, "\x1e".join(parts)))


def waiting_turns(
    messages: Sequence[Message], origin: Origin, extractor: VerbatimExtractor, *, chunk: int
) -> tuple[UnitWrite, ...]:
    """Create verbatim units from the messages of a waiting passage, without vectors.

    Args:
        messages: the messages, or pieces of long ones, with ids and timestamps.
        origin: the origin of the messages.
        extractor: the extractor that determines times and fact types.
        chunk: the ordinal of the passage.
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
    """Create the turn to store for each message."""
    return tuple(
        TurnWrite(key, message.text, message.speaker, role_of(message), moments[key.place], tags)
        for key, message in messages.items()
    )


def whole_messages(keys: Iterable[MessageKey], messages: Iterable[Message]) -> dict[MessageKey, Message]:
    """Return the messages whose text matches their key; pieces of longer messages do not."""
    by_id = {message.id: message for message in messages}
    pairs = ((key, by_id[key.message_id]) for key in keys if key.message_id in by_id)
    return {
        key: message
        for key, message in pairs
        if content_hash(message.speaker, message.text) == key.content_hash
    }


def kept_turns(turns: Iterable[TurnWrite], units: Iterable[MemoryUnit]) -> tuple[TurnWrite, ...]:
    """Link turns to units with the same text, so that the text is not stored twice."""
    same = {(unit.thread, *unit.sources, unit.text): unit.id for unit in units if unit.speaker}
    return tuple(
        replace(turn, unit_id=same.get((*turn.key.place, f"{turn.speaker}: {turn.text}"))) for turn in turns
    )
