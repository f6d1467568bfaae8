"""Passages that wait for a model, as tasks: all that is needed to extract them later as if it were then. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from pydantic import TypeAdapter, ValidationError

from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.model.entities import EntityMention
from hindsight_integrations.model.requests import Message
from hindsight_integrations.model.results import Parked
from hindsight_integrations.model.tasks import Task, TaskKind, TaskWrite
from hindsight_integrations.model.writes import MessageKey
from hindsight_integrations.prompts.extract_facts import Passage
from hindsight_integrations.tempr.retain.drafts import Origin
from hindsight_integrations.tempr.retain.extraction.llm import Waiting

FIRST_DELAY = timedelta(minutes=1)
LONGEST_DELAY = timedelta(hours=1)


def retry_delay(attempts: int) -> timedelta:
    """How long a task rests after so many failed attempts: 1, 2, 4 ... minutes, at most an hour."""
    return min(FIRST_DELAY * (1 << min(max(attempts - 1, 0), 10)), LONGEST_DELAY)


@dataclass(frozen=True, slots=True)
class StoredPassage:
    """The payload of an extraction task; see `Passage` and `Origin` for the fields."""

    messages: tuple[Message, ...]
    before: tuple[Message, ...]
    chunk: int
    bank: str
    zone: str
    mentioned_at: datetime
    moments: Mapping[str, datetime]
    thread: str = ""
    document_id: str | None = None
    context: str = ""
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)
    entities: tuple[EntityMention, ...] = ()
    speakers: tuple[str, ...] = ()
    keys: tuple[MessageKey, ...] = ()

    def passage(self, known: Collection[MessageKey]) -> Passage:
        """What to extract: of a conversation, the messages the bank still has in this wording."""
        ids = {key.message_id for key in known}
        messages = tuple(message for message in self.messages if not self.keys or message.id in ids)
        return Passage(messages, self.before, self.context)

    @property
    def origin(self) -> Origin:
        """Where its facts come from."""
        return Origin(
            bank=self.bank,
            zone=ZoneInfo(self.zone),
            mentioned_at=self.mentioned_at,
            moments=self.moments,
            thread=self.thread,
            document_id=self.document_id,
            context=self.context,
            tags=self.tags,
            metadata=self.metadata,
            entities=self.entities,
            ordinals=(self.chunk,),
        )


_PAYLOAD = TypeAdapter(StoredPassage)


@dataclass(frozen=True, slots=True)
class WaitingTask:
    """A task to be, and the messages whose passage it keeps (none for a document)."""

    write: TaskWrite
    messages: frozenset[MessageKey]


def waiting_tasks(
    waiting: Iterable[Waiting], origin: Origin, said: Mapping[MessageKey, str], *, now: datetime
) -> tuple[WaitingTask, ...]:
    """The tasks of an extraction's waiting passages.

    A queued one is due at once, since the model may be back; a parked one rests first, since the model has just
    failed three times on it.

    Args:
        waiting: the passages.
        origin: where they come from.
        said: speaker of each message of the conversation; empty for a document.
        now: the time.
    """
    return tuple(_task(item, origin, said, now) for item in waiting)


def _task(waiting: Waiting, origin: Origin, said: Mapping[MessageKey, str], now: datetime) -> WaitingTask:
    ids = {message.id for message in waiting.passage.messages}
    keys = tuple(key for key in said if key.message_id in ids)
    seen = (*waiting.passage.before, *waiting.passage.messages)
    moments = {m.id: origin.moments[m.id] for m in seen if m.id is not None and m.id in origin.moments}
    stored = StoredPassage(
        messages=tuple(waiting.passage.messages),
        before=tuple(waiting.passage.before),
        chunk=origin.ordinals[waiting.chunk] if origin.ordinals else waiting.chunk,
        bank=origin.bank,
        zone=str(origin.zone),
        mentioned_at=origin.mentioned_at,
        moments=moments,
        thread=origin.thread,
        document_id=origin.document_id,
        context=origin.context,
        tags=origin.tags,
        metadata=dict(origin.metadata),
        entities=origin.entities,
        speakers=tuple(sorted(set(said.values()))),
        keys=keys,
    )
    due = now + retry_delay(1) if waiting.kind is TaskKind.EXTRACT_PARKED else now
    write = TaskWrite(waiting.kind, _PAYLOAD.dump_json(stored).decode(), due, waiting.reason)
    return WaitingTask(write, frozenset(keys))


def still_waiting(tasks: Sequence[WaitingTask], known: frozenset[MessageKey]) -> tuple[TaskWrite, ...]:
    """The tasks of passages that nobody else has retained meanwhile."""
    return tuple(task.write for task in tasks if not task.messages or not task.messages <= known)


def stored_passage(task: Task) -> StoredPassage:
    """What a task keeps.

    Raises:
        InvalidRequest: its payload is damaged.
    """
    try:
        return _PAYLOAD.validate_json(task.payload)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]["msg"]
        raise InvalidRequest(
            f"task {task.id}", f"its payload cannot be read: {problem}", "Retain the input again."
        ) from error


def parked(tasks: Iterable[Task], kind: TaskKind) -> tuple[Parked, ...]:
    """The tasks of one kind just enqueued, for the result of the retain that did."""
    return tuple(Parked(stored_passage(t).chunk, t.reason, t.id) for t in tasks if t.kind is kind)
