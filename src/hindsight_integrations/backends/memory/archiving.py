"""Archives of the dict-backed ledger: the same rows as the SQLite one's."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Generator, Iterator, Mapping
from copy import deepcopy
from dataclasses import asdict, replace
from typing import Any

from hindsight_integrations.backends.ledger import archive_rules as kinds
from hindsight_integrations.backends.ledger.archive_rules import check_empty, unreadable
from hindsight_integrations.backends.ledger.entity_changes import LoggedChange
from hindsight_integrations.backends.ledger.sqlite.rows import (
    UNIT_COLUMNS,
    embedder_from,
    profile_from,
    unit_from,
    unit_row,
)
from hindsight_integrations.backends.memory.bank_state import BankState, StoredUnit
from hindsight_integrations.backends.memory.banks import DictBanks
from hindsight_integrations.backends.memory.erasing import recount, set_names
from hindsight_integrations.model.entities import Entity, EntityChangeKind, EntityRole, EntityType
from hindsight_integrations.model.tasks import Task, TaskKind, TaskState
from hindsight_integrations.model.time import from_micros, to_micros
from hindsight_integrations.model.units import ValidityEvent, ValidityKind
from hindsight_integrations.model.writes import ChunkWrite, DocumentWrite, MessageKey, UnitWrite
from hindsight_integrations.ports.archive import ArchiveRow

Fields = Mapping[str, Any]
"""Fields of a row: JSON values whose types the kind of row decides."""

_COLUMNS = [name.strip() for name in UNIT_COLUMNS.split(",")]
_TEXTS = frozenset({"metadata", "tags", "sources", "record"})  # JSON text in UNIT_COLUMNS


class DictArchive(DictBanks):
    """The part of the ledger that hands out a whole bank and takes one in."""

    def archive_rows(self, bank: str) -> Generator[ArchiveRow, None, None]:
        """Everything the bank holds, in an order it can be restored in."""
        with self._bank(bank) as state:
            rows = [*_bank_rows(state), *_unit_rows(state), *_entity_rows(state), *_task_rows(state)]
        yield from rows

    def restore_rows(self, bank: str, rows: Iterator[ArchiveRow]) -> int:
        """Fill an empty bank; how many units. What `rows` raises undoes everything."""
        with self._bank(bank) as state:
            check_empty(len(state.units))
            filled = deepcopy(replace(state, rows=iter(())))
            filled.rows, filled.revision = state.rows, state.revision + 1
            try:
                for row in rows:
                    if row.kind not in _RESTORE:
                        raise unreadable(f"it holds rows of an unknown kind, {row.kind!r}")
                    _RESTORE[row.kind](filled, row.fields)
            except (KeyError, ValueError, TypeError, binascii.Error) as error:
                raise unreadable(f"a row does not fit: {error}") from error
            for entity in filled.entities:
                recount(filled, entity)
            for held in filled.units.values():
                held.created = held.changed = held.vector_changed = filled.revision
            self._banks[bank] = filled
            return len(filled.units)


def _bank_rows(state: BankState) -> Iterator[ArchiveRow]:
    embedder = asdict(state.embedder) if state.embedder else None
    yield ArchiveRow(
        kinds.BANK, {"revision": state.revision, "embedder": embedder, "profile": asdict(state.profile)}
    )
    for document in state.documents.values():
        fields = {**asdict(document), "mentioned_at": to_micros(document.mentioned_at)}
        yield ArchiveRow(kinds.DOCUMENT, {**fields, "tags": list(document.tags)})
    for chunk in state.chunks.values():
        fields = asdict(chunk)
        yield ArchiveRow(kinds.CHUNK, {"document": fields.pop("document_id"), **fields})
    for key in sorted(state.messages, key=lambda key: (key.thread, key.message_id, key.content_hash)):
        latest = state.versions.get((key.thread, key.message_id)) == key.content_hash
        fields = {"thread": key.thread, "message": key.message_id, "content_hash": key.content_hash}
        yield ArchiveRow(kinds.MESSAGE, {**fields, "revision": state.revision if latest else 0})


def _unit_rows(state: BankState) -> Iterator[ArchiveRow]:
    for held in state.units.values():
        values = dict(zip(_COLUMNS, unit_row(UnitWrite(held.unit, b""), 0, 0), strict=False))
        read = {name: json.loads(values[name]) for name in _TEXTS if values[name] is not None}
        yield ArchiveRow(kinds.UNIT, {**values, **read, "vector": base64.b64encode(held.vector).decode()})
    for event in state.events:
        fields = {
            "unit": event.unit_id,
            "kind": event.kind.value,
            "effective_at": to_micros(event.effective_at),
        }
        more = {"revision": state.revision, "by_unit": event.by_unit, "reason": event.reason}
        yield ArchiveRow(kinds.EVENT, {**fields, **more})


def _entity_rows(state: BankState) -> Iterator[ArchiveRow]:
    for entity in state.entities.values():
        fields: Fields = {"entity_id": entity.id, "name": entity.name, "type": entity.type.value}
        yield ArchiveRow(kinds.ENTITY, {**fields, "role": entity.role.value, "names": list(entity.names)})
    for (unit, row), text in state.mention_texts.items():
        names = {"unit": state.units[unit].unit.id, "entity": state.entities[row].id}
        yield ArchiveRow(kinds.MENTION, {**names, "text": text})
    for (source, target, code), (weight, _) in state.links.items():
        ends = {"source": state.units[source].unit.id, "target": state.units[target].unit.id}
        yield ArchiveRow(kinds.LINK, {**ends, "code": code, "weight": weight})
    for row, log in state.edits.items():
        for _, made_at, changed in log:
            fields = {
                "unit": state.units[row].unit.id,
                "made_at": to_micros(made_at),
                "fields": list(changed),
            }
            yield ArchiveRow(kinds.EDIT, fields)
    for change in state.entity_changes.values():
        fields = {"kind": change.kind.value, "detail": json.loads(change.detail)}
        yield ArchiveRow(
            kinds.CHANGE, {**fields, "made_at": to_micros(change.made_at), "undone": int(change.undone)}
        )


def _task_rows(state: BankState) -> Iterator[ArchiveRow]:
    for task in state.tasks.values():
        lease = to_micros(task.lease_until) if task.lease_until else None
        fields = {"kind": task.kind.value, "payload": task.payload, "state": task.state.value}
        more = {"lease_until": lease, "not_before": to_micros(task.not_before), "last_error": task.reason}
        yield ArchiveRow(kinds.TASK, {**fields, "attempts": task.attempts, **more})


def _restore_task(state: BankState, fields: Fields) -> None:
    lease = fields["lease_until"]
    number = next(state.rows)
    state.tasks[number] = Task(
        id=number,
        kind=TaskKind(fields["kind"]),
        state=TaskState(fields["state"]),
        attempts=fields["attempts"],
        not_before=from_micros(fields["not_before"]),
        lease_until=None if lease is None else from_micros(lease),
        reason=fields["last_error"],
        payload=fields["payload"],
    )


def _restore_bank(state: BankState, fields: Fields) -> None:
    state.revision = max(state.revision, fields["revision"])
    embedder = fields["embedder"]
    state.embedder = embedder_from(json.dumps(embedder)) if embedder else None
    state.profile = profile_from(json.dumps(fields["profile"]))


def _restore_document(state: BankState, fields: Fields) -> None:
    given = {**fields, "mentioned_at": from_micros(fields["mentioned_at"]), "tags": tuple(fields["tags"])}
    state.documents[fields["id"]] = DocumentWrite(**given)


def _restore_chunk(state: BankState, fields: Fields) -> None:
    given = dict(fields)
    chunk = ChunkWrite(document_id=given.pop("document"), **given)
    state.chunks[chunk.document_id, chunk.ordinal] = chunk


def _restore_message(state: BankState, fields: Fields) -> None:
    key = MessageKey(fields["thread"], fields["message"], fields["content_hash"])
    state.messages.add(key)
    if fields["revision"] or (key.thread, key.message_id) not in state.versions:
        state.versions[key.thread, key.message_id] = key.content_hash


def _restore_unit(state: BankState, fields: Fields) -> None:
    values = {
        name: json.dumps(fields[name]) if name in _TEXTS and fields[name] is not None else fields[name]
        for name in _COLUMNS
    }
    unit = unit_from(tuple(values[name] for name in _COLUMNS), state.name)
    row = state.unit_rows[unit.id] = next(state.rows)
    state.units[row] = StoredUnit(unit, base64.b64decode(fields["vector"], validate=True), 0, 0, 0)


def _restore_event(state: BankState, fields: Fields) -> None:
    moment = from_micros(fields["effective_at"])
    _ = state.unit_rows[fields["unit"]]
    kind = ValidityKind(fields["kind"])
    state.events[ValidityEvent(fields["unit"], kind, moment, fields["by_unit"], fields["reason"])] = None


def _restore_entity(state: BankState, fields: Fields) -> None:
    row = state.entity_rows[fields["entity_id"]] = next(state.rows)
    kind, role = EntityType(fields["type"]), EntityRole(fields["role"])
    state.entities[row] = Entity(fields["entity_id"], fields["name"], kind, role)
    set_names(state, row, tuple(fields["names"]), fields["name"])


def _restore_mention(state: BankState, fields: Fields) -> None:
    unit, entity = state.unit_rows[fields["unit"]], state.entity_rows[fields["entity"]]
    state.mentions[unit, entity], state.mention_texts[unit, entity] = state.revision, fields["text"]
    state.mentioned_in.setdefault(entity, []).append(unit)
    state.mentioned_by.setdefault(unit, []).append(entity)


def _restore_link(state: BankState, fields: Fields) -> None:
    ends = state.unit_rows[fields["source"]], state.unit_rows[fields["target"]]
    state.links[(*ends, fields["code"])] = fields["weight"], state.revision


def _restore_edit(state: BankState, fields: Fields) -> None:
    entry = state.revision, from_micros(fields["made_at"]), tuple(fields["fields"])
    state.edits.setdefault(state.unit_rows[fields["unit"]], []).append(entry)


def _restore_change(state: BankState, fields: Fields) -> None:
    number = next(state.rows)
    state.entity_changes[number] = LoggedChange(
        number,
        EntityChangeKind(fields["kind"]),
        json.dumps(fields["detail"]),
        from_micros(fields["made_at"]),
        bool(fields["undone"]),
    )


_RESTORE = {
    kinds.BANK: _restore_bank,
    kinds.DOCUMENT: _restore_document,
    kinds.CHUNK: _restore_chunk,
    kinds.MESSAGE: _restore_message,
    kinds.UNIT: _restore_unit,
    kinds.EVENT: _restore_event,
    kinds.ENTITY: _restore_entity,
    kinds.MENTION: _restore_mention,
    kinds.LINK: _restore_link,
    kinds.EDIT: _restore_edit,
    kinds.CHANGE: _restore_change,
    kinds.TASK: _restore_task,
}
