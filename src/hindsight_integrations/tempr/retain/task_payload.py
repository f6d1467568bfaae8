"""What a task keeps of a passage that waits for a model: all that is needed to extract it later as if it were then. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from pydantic import TypeAdapter, ValidationError

from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.model.requests import Message
from hindsight_integrations.model.results import Parked
from hindsight_integrations.model.tasks import Task, TaskKind, TaskWrite
from hindsight_integrations.model.writes import MessageKey
from hindsight_integrations.tempr.retain.drafts import Origin
from hindsight_integrations.tempr.retain.extraction.result import Waiting
from hindsight_integrations.tempr.retain.proposal import WaitingPassage

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
    waiting: Iterable[Waiting],
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
