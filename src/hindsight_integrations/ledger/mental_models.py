"""Mental models and directives: read, made and removed here; answers are written by a commit and end with what they stand on."""

from __future__ import annotations

import json
from collections.abc import Collection

import numpy as np
from sqlalchemy import Connection

from hindsight_integrations.errors import InvalidRequest, RevisionConflict
from hindsight_integrations.ledger.databases import SqliteDatabase
from hindsight_integrations.ledger.rows import IS_FACT, BankReads, Row, find_bank
from hindsight_integrations.ledger.sql import raw
from hindsight_integrations.ledger.tasks import enqueue_keys
from hindsight_integrations.model.directives import Directive
from hindsight_integrations.model.mental_models import MentalModel, ModelAnswer, RefreshTrigger, RefreshWrite
from hindsight_integrations.model.tasks import TaskKind, TaskWrite
from hindsight_integrations.model.time import from_micros, to_micros
from hindsight_integrations.model.units import OBSERVED_NETWORKS
from hindsight_integrations.model.writes import WriteSet
from hindsight_integrations.ports.arrays import IntArray

NO_PAYLOAD = "{}"  # all there is to know of it is the model, its key

_AUTO = (
    f"SELECT model_id FROM mental_models WHERE bank = :bank AND refreshes = '{RefreshTrigger.AUTO.value}' "
    "AND model_id = coalesce(:only, model_id) ORDER BY id"
)


def changes_facts(writes: WriteSet) -> bool:
    """Whether a write set brings, closes or restores what mental models are answered from."""
    return bool(writes.events) or any(write.unit.fact_type in OBSERVED_NETWORKS for write in writes.units)


def enqueue_refreshes(
    database: SqliteDatabase, connection: Connection, bank: int, only: str | None = None
) -> None:
    """Enqueue the models of a bank that are refreshed by themselves.

    Args:
        database: the ledger's, with its clock and how long changes are collected.
        connection: the writer, inside the transaction that changes facts.
        bank: row id of the bank.
        only: this model alone.
    """
    keys = raw(connection).execute(_AUTO, {"bank": bank, "only": only}).fetchall()
    if keys:
        delay = database.refreshing
        writes = [TaskWrite(TaskKind.REFRESH_MODEL, NO_PAYLOAD, delay, key=key) for (key,) in keys]
        enqueue_keys(connection, bank, writes, database.clock.now())


WITHDRAWN = """(forgotten OR EXISTS (
    SELECT 1 FROM mental_model_grounds AS ground JOIN units ON units.id = ground.unit
    WHERE ground.model = mental_models.id AND cited AND (
        closed_at IS NOT NULL OR changed > mental_models.revision
        OR EXISTS (SELECT 1 FROM validity_events AS event WHERE event.unit = ground.unit
            AND event.revision > mental_models.revision)
    )
))"""
"""Condition on a mental model: what its text stands on no longer says what it said."""

_MODELS = f"""
SELECT id, model_id, name, question, tags, refreshes, max_tokens, created_at, text, extractive, refreshed_at, revision,
    checked_to, {WITHDRAWN} FROM mental_models WHERE bank = ? ORDER BY name
"""
_GROUNDS = "SELECT unit_id FROM mental_model_grounds JOIN units ON units.id = unit WHERE model = ? AND cited ORDER BY units.id"
_READ = f"""
SELECT unit_id, {IS_FACT}, closed_at IS NULL AND changed <= :revision AND NOT EXISTS (
    SELECT 1 FROM validity_events WHERE unit = units.id AND revision > :revision
) FROM json_each(:units) AS given CROSS JOIN units ON unit_id = given.value WHERE bank = :bank
"""


class MentalModelReads(BankReads):
    """The part of `LedgerReader` about mental models and directives."""

    def mental_models(self, bank: str) -> list[MentalModel]:
        """All of them, by name; see the port."""
        with self._at(bank) as (connection, row):
            return [_model(connection, each) for each in raw(connection).execute(_MODELS, (row,)).fetchall()]

    def directives(self, bank: str) -> list[Directive]:
        """All of them, in the order they were given."""
        with self._at(bank) as (connection, row):
            query = "SELECT directive_id, text, tags, created_at FROM directives WHERE bank = ? ORDER BY id"
            return [_directive(each) for each in raw(connection).execute(query, (row,))]

    def changed_facts(self, bank: str, revision: int, limit: int) -> IntArray:
        """Row ids of facts that came or changed after a revision, the latest first."""
        with self._at(bank) as (connection, row):
            query = f"SELECT id FROM units WHERE bank = ? AND changed > ? AND {IS_FACT} ORDER BY changed DESC, id DESC LIMIT ?"
            found = raw(connection).execute(query, (row, revision, limit))
            return np.array([unit for (unit,) in found], np.int64)


class SqliteMentalModels:
    """The part of `LedgerMaintenance` that makes and removes mental models and directives."""

    _database: SqliteDatabase

    def create_mental_model(self, bank: str, model: MentalModel, *, most: int) -> None:
        """Keep a standing question; see the port."""
        with self._database.writing() as connection:
            row = find_bank(connection, bank).id
            names = {
                name
                for (name,) in raw(connection).execute(
                    "SELECT name FROM mental_models WHERE bank = ?", (row,)
                )
            }
            if model.name in names:
                raise InvalidRequest(
                    "name",
                    f"there is a mental model {model.name!r}",
                    "Delete it first, or choose another name.",
                )
            _check_room("mental models", len(names), most)
            raw(connection).execute(
                "INSERT INTO mental_models (bank, model_id, name, question, tags, refreshes, max_tokens, created_at) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    row,
                    model.id,
                    model.name,
                    model.question,
                    json.dumps(model.tags),
                    model.trigger,
                    model.max_tokens,
                    to_micros(model.created_at),
                ),
            )
            enqueue_refreshes(self._database, connection, row, model.id)

    def delete_mental_model(self, bank: str, model_id: str) -> bool:
        """Delete one with its text and its task; see the port."""
        with self._database.writing() as connection:
            row = find_bank(connection, bank).id
            query = "DELETE FROM tasks WHERE bank = ? AND kind = ? AND key = ? AND key <> ''"
            raw(connection).execute(query, (row, TaskKind.REFRESH_MODEL, model_id))
            query = "DELETE FROM mental_models WHERE bank = ? AND model_id = ?"
            return raw(connection).execute(query, (row, model_id)).rowcount > 0

    def add_directive(self, bank: str, directive: Directive, *, most: int) -> Directive:
        """Keep a directive; see the port."""
        with self._database.writing() as connection:
            row, tags = find_bank(connection, bank).id, json.dumps(directive.tags)
            query = "SELECT directive_id, text, tags, created_at FROM directives WHERE bank = ? AND text = ? AND tags = ?"
            if known := raw(connection).execute(query, (row, directive.text, tags)).fetchone():
                return _directive(known)
            query = "SELECT count(*) FROM directives WHERE bank = ?"
            _check_room("directives", raw(connection).execute(query, (row,)).fetchone()[0], most)
            raw(connection).execute(
                "INSERT INTO directives (bank, directive_id, text, tags, created_at) VALUES (?, ?, ?, ?, ?)",
                (row, directive.id, directive.text, tags, to_micros(directive.created_at)),
            )
        return directive

    def remove_directive(self, bank: str, directive_id: str) -> bool:
        """Remove a directive; False if there is none."""
        with self._database.writing() as connection:
            query = "DELETE FROM directives WHERE bank = ? AND directive_id = ?"
            return raw(connection).execute(query, (find_bank(connection, bank).id, directive_id)).rowcount > 0


def write_refresh(connection: Connection, bank: int, writes: WriteSet) -> None:
    """Keep what became of looking at a mental model.

    Raises:
        RevisionConflict: a memory that its writer was shown was withdrawn, corrected or erased since.
        InvalidRequest: there is no such model, or its text stands on nothing, or on what is no fact.
    """
    if (refresh := writes.refreshed) is None:
        return
    query = "SELECT id FROM mental_models WHERE bank = ? AND model_id = ?"
    found = raw(connection).execute(query, (bank, refresh.model_id)).fetchone()
    if found is None:
        raise _unfit("there is no mental model of that id", "Pass one that mental_models gives.")
    if refresh.answer is None:
        query = "UPDATE mental_models SET checked_to = max(checked_to, ?) WHERE id = ?"
        raw(connection).execute(query, (refresh.at_revision, *found))
        return
    cited = frozenset(refresh.answer.based_on)
    if refresh.answer.text and not cited:
        raise _unfit("the text stands on nothing", "Name the memories it was written from.")
    _check_read(connection, bank, writes.bank, refresh)
    _write_answer(connection, found[0], refresh, refresh.answer)
    raw(connection).execute(
        "INSERT INTO mental_model_grounds (model, unit, cited) SELECT :model, units.id, "
        "given.value IN (SELECT value FROM json_each(:cited)) "
        "FROM json_each(:units) AS given CROSS JOIN units ON unit_id = given.value WHERE bank = :bank",
        {
            "model": found[0],
            "bank": bank,
            "cited": json.dumps(sorted(cited)),
            "units": json.dumps(sorted({*cited, *refresh.read})) if refresh.answer.text else "[]",
        },
    )


def forget_answers(connection: Connection, units: Collection[int]) -> int:
    """Erase the answers whose writers were shown any of these units (by row id), which are to be erased; how many."""
    models = (
        raw(connection)
        .execute(
            "SELECT DISTINCT mental_models.id, bank, model_id FROM json_each(?) AS given CROSS JOIN mental_model_grounds "
            "ON unit = given.value JOIN mental_models ON mental_models.id = model",
            (json.dumps(sorted(units)),),
        )
        .fetchall()
    )
    for model, bank, key in models:
        raw(connection).execute("DELETE FROM mental_model_grounds WHERE model = ?", (model,))
        query = "UPDATE mental_models SET text = '', extractive = 0, forgotten = 1 WHERE id = ?"
        raw(connection).execute(query, (model,))
        # What a task failed with may quote what it was about.
        query = "UPDATE tasks SET last_error = '' WHERE bank = ? AND kind = ? AND key = ?"
        raw(connection).execute(query, (bank, TaskKind.REFRESH_MODEL, key))
    return len(models)


def _check_read(connection: Connection, bank: int, name: str, refresh: RefreshWrite) -> None:
    """All that the answer's writer was shown is there and says what it said."""
    wanted = {*refresh.read, *(refresh.answer.based_on if refresh.answer else ())}
    values = {"bank": bank, "units": json.dumps(sorted(wanted)), "revision": refresh.at_revision}
    rows = raw(connection).execute(_READ, values).fetchall()
    if not all(is_fact for _, is_fact, _ in rows):
        raise _unfit("a memory it was written from is no fact", "Answer from world and experience memories.")
    if len(rows) < len(wanted) or not all(unchanged for _, _, unchanged in rows):
        query = "SELECT revision FROM banks WHERE id = ?"
        raise RevisionConflict(
            name, refresh.at_revision, raw(connection).execute(query, (bank,)).fetchone()[0]
        )


def _write_answer(connection: Connection, model: int, refresh: RefreshWrite, answer: ModelAnswer) -> None:
    raw(connection).execute("DELETE FROM mental_model_grounds WHERE model = ?", (model,))
    raw(connection).execute(
        "UPDATE mental_models SET text = ?, extractive = ?, refreshed_at = ?, revision = ?, checked_to = ?, forgotten = 0 "
        "WHERE id = ?",
        (
            answer.text,
            answer.extractive,
            to_micros(answer.refreshed_at),
            refresh.at_revision,
            refresh.at_revision,
            model,
        ),
    )


def _check_room(what: str, count: int, most: int) -> None:
    if count >= most:
        raise InvalidRequest(what, f"the bank has {count}, as many as it may have", "Remove some first.")


def _unfit(reason: str, remedy: str) -> InvalidRequest:
    return InvalidRequest("refreshed", reason, remedy)


def _model(connection: Connection, row: Row) -> MentalModel:
    model, own, name, question, tags, trigger, tokens, created_at, *answered = row
    text, extractive, refreshed_at, revision, checked_to, withdrawn = answered
    grounds = () if withdrawn else raw(connection).execute(_GROUNDS, (model,))
    return MentalModel(
        id=own,
        name=name,
        question=question,
        tags=tuple(json.loads(tags)),
        trigger=RefreshTrigger(trigger),
        max_tokens=tokens,
        created_at=from_micros(created_at),
        text="" if withdrawn else text,
        extractive=bool(extractive and not withdrawn),
        based_on=tuple(unit for (unit,) in grounds),
        refreshed_at=None if refreshed_at is None else from_micros(refreshed_at),
        revision=revision,
        checked_to=checked_to,
        withdrawn=bool(withdrawn),
    )


def _directive(row: Row) -> Directive:
    own, text, tags, created_at = row
    return Directive(own, text, tuple(json.loads(tags)), from_micros(created_at))
