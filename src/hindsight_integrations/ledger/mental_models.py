"""Mental models and directives: reading, creating and deleting them, and writing answers.

An answer is withdrawn when a memory it cites is changed or closed.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from typing import Any

import numpy as np
from sqlalchemy import Connection, Row, and_, bindparam, delete, exists, func, or_, select, update

from hindsight_integrations.errors import InvalidRequest, RevisionConflict
from hindsight_integrations.ledger.databases import Database
from hindsight_integrations.ledger.rows import At, Reader, find_bank, is_fact
from hindsight_integrations.ledger.sql import among, in_bank, insert, refers, run_many
from hindsight_integrations.ledger.tables import (
    banks,
    directives,
    mental_model_grounds,
    mental_models,
    tasks,
    units,
    validity_events,
)
from hindsight_integrations.ledger.tasks import KEYED, Schedule, enqueue_keys
from hindsight_integrations.model.arrays import IntArray
from hindsight_integrations.model.mental_models import Directive, MentalModel, RefreshTrigger
from hindsight_integrations.model.tasks import TaskKind, TaskWrite
from hindsight_integrations.model.time import from_micros, to_micros
from hindsight_integrations.model.units import OBSERVED_NETWORKS
from hindsight_integrations.model.writes import WriteSet

NO_PAYLOAD = "{}"  # empty, because the task's key identifies the model

_ground, _event = mental_model_grounds.alias("ground"), validity_events.alias("event")
IS_WITHDRAWN = or_(
    mental_models.c.forgotten == 1,
    exists()
    .where(
        refers(_ground.c.model, mental_models),
        _ground.c.cited == 1,
        refers(_ground.c.unit, units),
        or_(
            units.c.closed_at.is_not(None),
            units.c.changed > mental_models.c.revision,
            exists()
            .where(refers(_event.c.unit, units), _event.c.revision > mental_models.c.revision)
            .correlate(units, mental_models),
        ),
    )
    .correlate(mental_models),
)
"""Condition: the mental model's text was erased, or a memory that it cites was changed or closed."""

_OF_BANK = mental_models.c.bank == bindparam("of")
AUTOMATIC = (
    select(mental_models.c.model_id)
    .where(_OF_BANK, mental_models.c.refreshes == RefreshTrigger.AUTO.value)
    .order_by(mental_models.c.id)
)
"""The mental models that are refreshed automatically."""
_MODELS = (
    select(mental_models, IS_WITHDRAWN.label("withdrawn")).where(_OF_BANK).order_by(mental_models.c.name)
)
_NAMES = select(mental_models.c.name).where(_OF_BANK)
_STANDING = select(mental_models.c.id, mental_models.c.checked_to).where(
    _OF_BANK, mental_models.c.model_id == bindparam("model")
)
_DELETE = delete(mental_models).where(_OF_BANK, mental_models.c.model_id == bindparam("model"))
_UPDATE = update(mental_models).where(in_bank(mental_models, "of"), mental_models.c.id == bindparam("row"))
_CHECK = _UPDATE.values(checked_to=bindparam("checked"))
_ANSWER = _UPDATE.values(
    text=bindparam("answer"),
    extractive=bindparam("is_extractive"),
    refreshed_at=bindparam("at"),
    revision=bindparam("checked"),
    checked_to=bindparam("checked"),
    forgotten=0,
)
_WRITTEN_FROM = (
    select(*mental_models.c["id", "model_id"])
    .distinct()
    .join_from(mental_model_grounds, mental_models, refers(mental_model_grounds.c.model, mental_models))
    .where(in_bank(mental_model_grounds), among(mental_model_grounds.c.unit, "units"))
)
_FORGET = (
    update(mental_models)
    .where(in_bank(mental_models, "of"), among(mental_models.c.id, "models"))
    .values(text="", extractive=0, forgotten=1)
)
_DELETE_GROUNDS = delete(mental_model_grounds).where(
    in_bank(mental_model_grounds, "of"), among(mental_model_grounds.c.model, "models")
)
_GROUNDS = (
    select(mental_model_grounds.c.model, units.c.unit_id)
    .join_from(mental_model_grounds, units, refers(mental_model_grounds.c.unit, units))
    .where(
        in_bank(mental_model_grounds, "of"),
        among(mental_model_grounds.c.model, "models"),
        mental_model_grounds.c.cited == 1,
    )
    .order_by(units.c.id)
)
_TASK = and_(
    tasks.c.bank == bindparam("of"),
    tasks.c.kind == TaskKind.REFRESH_MODEL.value,
    tasks.c.key == bindparam("model"),
    KEYED,
)
_DELETE_TASK = delete(tasks).where(_TASK)
_FORGET_ERROR = update(tasks).where(_TASK).values(last_error="")
_READ = select(
    units.c.unit_id,
    units.c.id,
    is_fact,
    and_(
        units.c.closed_at.is_(None),
        units.c.changed <= bindparam("revision"),
        ~exists().where(refers(_event.c.unit, units), _event.c.revision > bindparam("revision")),
    ),
).where(units.c.bank == bindparam("bank"), among(units.c.unit_id, "units"))
_REVISION = select(banks.c.revision).where(banks.c.id == bindparam("bank"))
_CHANGED_FACTS = (
    select(units.c.id)
    .where(units.c.bank == bindparam("bank"), units.c.changed > bindparam("revision"), is_fact)
    .order_by(units.c.changed.desc(), units.c.id.desc())
    .limit(bindparam("limit"))
)
_DIRECTIVE = select(directives).where(directives.c.bank == bindparam("bank"))
_DIRECTIVES = _DIRECTIVE.order_by(directives.c.id)
_SAME_DIRECTIVE = _DIRECTIVE.where(
    directives.c["text"] == bindparam("text"), directives.c.tags == bindparam("tags")
)
_DIRECTIVE_COUNT = select(func.count()).where(directives.c.bank == bindparam("bank"))
_DELETE_DIRECTIVE = delete(directives).where(
    directives.c.bank == bindparam("bank"), directives.c.directive_id == bindparam("directive")
)
_NEW_MODEL, _NEW_GROUND, _NEW_DIRECTIVE = (
    insert(mental_models),
    insert(mental_model_grounds),
    insert(directives),
)


def changes_facts(writes: WriteSet) -> bool:
    """Return whether a write set adds, closes or restores facts that answers of mental models may use."""
    return bool(writes.events) or any(write.unit.fact_type in OBSERVED_NETWORKS for write in writes.units)


def enqueue_refreshes(schedule: Schedule, connection: Connection, bank: int, models: Iterable[str]) -> None:
    """Enqueue the refresh of these mental models (by id)."""
    delay = schedule.refreshing
    writes = [TaskWrite(TaskKind.REFRESH_MODEL, NO_PAYLOAD, delay, key=model) for model in models]
    enqueue_keys(connection, bank, writes, schedule.clock.now())


class MentalModelReader(Reader):
    """Reads of mental models and directives."""

    def all(self, bank: str) -> list[MentalModel]:
        """Return all mental models, ordered by name.

        If the answer was withdrawn, the text is empty. `stale` is always False here, because the ledger does not compute it.
        """
        with self._at(bank) as (connection, row):
            models = connection.execute(_MODELS, {"of": row}).all()
            standing = [model.id for model in models if not model.withdrawn]
            grounds: dict[int, list[str]] = {}
            if standing:
                for model, unit in connection.execute(_GROUNDS, {"of": row, "models": standing}):
                    grounds.setdefault(model, []).append(unit)
            return [_model(model, tuple(grounds.get(model.id, ()))) for model in models]

    def directives(self, bank: str) -> list[Directive]:
        """Return all directives, oldest first."""
        with self._at(bank) as (connection, row):
            return [_directive(directive) for directive in connection.execute(_DIRECTIVES, {"bank": row})]

    def changed_facts(self, bank: str, revision: int, limit: int) -> IntArray:
        """Return the row ids of facts that were added, corrected, closed or restored after a revision, at most `limit`.

        Facts are world and experience memories. The latest change comes first.
        """
        with self._at(bank) as (connection, row):
            values = {"bank": row, "revision": revision, "limit": limit}
            return np.array(connection.execute(_CHANGED_FACTS, values).scalars().all(), np.int64)


class MentalModelWriter(MentalModelReader):
    """Creates and deletes mental models and directives, each in its own transaction. The revision does not change."""

    def __init__(self, at: At, database: Database, schedule: Schedule) -> None:
        super().__init__(at)
        self._database, self._schedule = database, schedule

    def create(self, bank: str, model: MentalModel, *, most: int) -> None:
        """Store a mental model without an answer; enqueue its first refresh if it is refreshed automatically.

        Args:
            bank: the bank.
            model: a model with id, name, question, tags, trigger, size and creation time.
            most: maximum number of mental models per bank.

        Raises:
            InvalidRequest: the name is in use, or the maximum is reached.
        """
        with self._database.writing(bank) as connection:
            row = find_bank(connection, bank).id
            names = connection.execute(_NAMES, {"of": row}).scalars().all()
            if model.name in names:
                raise InvalidRequest(
                    "name",
                    f"a mental model named {model.name!r} exists already",
                    "Delete it first, or choose another name.",
                )
            _check_room("mental models", len(names), most)
            values = {
                "bank": row,
                "model_id": model.id,
                "name": model.name,
                "question": model.question,
                "tags": json.dumps(model.tags),
                "refreshes": model.trigger.value,
                "max_tokens": model.max_tokens,
                "created_at": to_micros(model.created_at),
            }
            connection.execute(_NEW_MODEL, values)
            if model.trigger is RefreshTrigger.AUTO:
                enqueue_refreshes(self._schedule, connection, row, [model.id])

    def delete(self, bank: str, model_id: str) -> bool:
        """Delete a mental model with its text and task; return False if it does not exist."""
        with self._database.writing(bank) as connection:
            values = {"of": find_bank(connection, bank).id, "model": model_id}
            connection.execute(_DELETE_TASK, values)
            return connection.execute(_DELETE, values).rowcount > 0

    def add_directive(self, bank: str, directive: Directive, *, most: int) -> Directive:
        """Store a directive, or return the existing one with the same text and tags.

        Raises:
            InvalidRequest: the maximum number of directives is reached.
        """
        with self._database.writing(bank) as connection:
            row = find_bank(connection, bank).id
            values = {"bank": row, "text": directive.text, "tags": json.dumps(directive.tags)}
            if same := connection.execute(_SAME_DIRECTIVE, values).one_or_none():
                return _directive(same)
            _check_room("directives", connection.execute(_DIRECTIVE_COUNT, {"bank": row}).scalar_one(), most)
            values |= {"directive_id": directive.id, "created_at": to_micros(directive.created_at)}
            connection.execute(_NEW_DIRECTIVE, values)
        return directive

    def remove_directive(self, bank: str, directive_id: str) -> bool:
        """Remove a directive; return False if it does not exist."""
        with self._database.writing(bank) as connection:
            values = {"bank": find_bank(connection, bank).id, "directive": directive_id}
            return connection.execute(_DELETE_DIRECTIVE, values).rowcount > 0


def write_refresh(connection: Connection, bank: int, writes: WriteSet) -> None:
    """Store the result of checking or refreshing a mental model.

    Raises:
        RevisionConflict: a memory shown to the model that wrote the text was closed, corrected or erased in the meantime.
        InvalidRequest: the mental model does not exist, or its text cites no memory, or cites one that is not a fact.
    """
    if (refresh := writes.refreshed) is None:
        return
    model = connection.execute(_STANDING, {"of": bank, "model": refresh.model_id}).one_or_none()
    if model is None:
        raise _unfit("no mental model has this id", "Pass an id that mental_models lists.")
    if (answer := refresh.answer) is None:
        checked = max(model.checked_to, refresh.at_revision)
        connection.execute(_CHECK, {"of": bank, "row": model.id, "checked": checked})
        return
    if answer.text and not answer.based_on:
        raise _unfit("the text cites no memory", "Name the memories on which it is based.")
    rows = _check_unchanged(
        connection, bank, writes.bank, refresh.at_revision, {*refresh.read, *answer.based_on}
    )
    connection.execute(_DELETE_GROUNDS, {"of": bank, "models": [model.id]})
    values = {
        "of": bank,
        "row": model.id,
        "answer": answer.text,
        "is_extractive": int(answer.extractive),
        "at": to_micros(answer.refreshed_at),
        "checked": refresh.at_revision,
    }
    connection.execute(_ANSWER, values)
    if answer.text:
        cited = frozenset(answer.based_on)
        grounds = [
            {"model": model.id, "unit": row, "bank": bank, "cited": int(unit in cited)}
            for unit, row in rows.items()
        ]
        run_many(connection, _NEW_GROUND, grounds)


def _check_unchanged(
    connection: Connection, bank: int, name: str, revision: int, unit_ids: Collection[str]
) -> dict[str, int]:
    """Check that every memory shown to the model still exists unchanged; return row ids by unit id."""
    values = {"bank": bank, "units": sorted(unit_ids), "revision": revision}
    rows = connection.execute(_READ, values).all()
    if not all(of_fact for _, _, of_fact, _ in rows):
        raise _unfit(
            "a memory on which it is based is not a fact", "Answer from world and experience memories."
        )
    if len(rows) < len(unit_ids) or not all(unchanged for *_, unchanged in rows):
        raise RevisionConflict(name, revision, connection.execute(_REVISION, {"bank": bank}).scalar_one())
    return {unit_id: row for unit_id, row, *_ in rows}


def forget_answers(connection: Connection, bank: int, units: Collection[int]) -> int:
    """Erase the answers whose prompts contained any of these units (by row id); return the number of answers."""
    shown = {"bank": bank, "units": sorted(units)}
    models = connection.execute(_WRITTEN_FROM, shown).all() if units else ()
    if models:
        rows = {"of": bank, "models": [model.id for model in models]}
        connection.execute(_DELETE_GROUNDS, rows)
        connection.execute(_FORGET, rows)
        # The error message of a task may quote the erased text.
        run_many(connection, _FORGET_ERROR, [{"of": bank, "model": model} for _, model in models])
    return len(models)


def _check_room(what: str, count: int, most: int) -> None:
    if count >= most:
        raise InvalidRequest(what, f"the bank has {count}, which is the maximum", "Remove some first.")


def _unfit(reason: str, remedy: str) -> InvalidRequest:
    return InvalidRequest("refreshed", reason, remedy)


def _model(row: Row[Any], based_on: tuple[str, ...]) -> MentalModel:
    return MentalModel(
        id=row.model_id,
        name=row.name,
        question=row.question,
        tags=tuple(json.loads(row.tags)),
        trigger=RefreshTrigger(row.refreshes),
        max_tokens=row.max_tokens,
        created_at=from_micros(row.created_at),
        text="" if row.withdrawn else row.text,
        extractive=bool(row.extractive and not row.withdrawn),
        based_on=based_on,
        refreshed_at=None if row.refreshed_at is None else from_micros(row.refreshed_at),
        revision=row.revision,
        checked_to=row.checked_to,
        withdrawn=bool(row.withdrawn),
    )


def _directive(row: Row[Any]) -> Directive:
    return Directive(row.directive_id, row.text, tuple(json.loads(row.tags)), from_micros(row.created_at))
