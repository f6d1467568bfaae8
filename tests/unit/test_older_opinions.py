"""Opinions as earlier releases left them: memories of a network, with a confidence at most and no evidence."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from builders import (
    BANK,
    at,
    make_event,
    make_units,
    make_write_set,
    with_vector,
)
from ledger_opinions import (
    add,
    evidence,
    log_of,
    opinion_unit,
    writing,
)
from ledger_support import CLOSED, commit
from older_ledgers import bring_back

from hindsight_integrations.backends.ledger.sqlite.ledger import SqliteLedger
from hindsight_integrations.model.confidence import confidence_of
from hindsight_integrations.model.opinions import OpinionOrigin, OpinionsWrite
from hindsight_integrations.model.units import UnitKind

HELD = {"sure": 0.9, "unsure": None, "closed": 0.2}
"""Unit ids and confidences."""


@pytest.fixture(params=[1, 3, 5, 7, 8])
def older(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SqliteLedger]:
    """A ledger of an earlier version with facts and these opinions, opened by this package."""
    ledger = SqliteLedger.open(tmp_path)
    ledger.create_bank(BANK)
    units = [replace(opinion_unit(name).unit, confidence=confidence) for name, confidence in HELD.items()]
    events = [make_event("closed", CLOSED, 9)]
    told = [*make_units("f1", "f2"), *map(with_vector, units)]
    if request.param > 5:
        waiting = opinion_unit("waiting")
        told.append(replace(waiting, unit=replace(waiting.unit, kind=UnitKind.TURN)))
    commit(ledger, make_write_set(0, units=told, events=events))
    commit(ledger, make_write_set(1, units=make_units("f3")))
    ledger.close()
    with sqlite3.connect(tmp_path / "ledger.sqlite") as raw:
        raw.execute("DELETE FROM tasks")  # of a kind that they did not have
        bring_back(raw, request.param)
    raw.close()
    if request.param < 3:
        (tmp_path / "ledger.mark").unlink()
    opened = SqliteLedger.open(tmp_path)
    yield opened
    opened.close()


def test_an_older_opinion_was_given(older: SqliteLedger) -> None:
    """It keeps its words, its time and its confidence, 0.5 if it had none; a turn that waits is no opinion."""
    logs = older.opinions(BANK)
    assert {log.id: log.confidence for log in logs} == {"sure": 0.9, "unsure": 0.5, "closed": 0.2}
    for log in logs:
        (version,) = log.versions
        assert (version.unit_id, version.text, version.since) == (log.id, f"fact {log.id}", at(5))
        assert (log.origin, log.formed_at, log.evidence) == (OpinionOrigin.GIVEN, at(5), ())
        assert version.closed_at == (at(9) if log.id == "closed" else None)
        assert confidence_of(log) == log.confidence


def test_opening_an_older_ledger_leaves_no_work(older: SqliteLedger) -> None:
    """No model is asked about years of facts: only those that come from here on are looked at as evidence."""
    assert older.tasks(BANK) == []
    for log in older.opinions(BANK):
        assert older.facts_since(BANK, log.assessed_to).tolist() == []
    commit(older, make_write_set(older.revision(BANK), units=make_units("f4")))
    (row,) = older.row_ids(BANK, ["f4"]).values()
    assert older.facts_since(BANK, log_of(older, "sure").assessed_to).tolist() == [row]


def test_an_older_opinion_moves_with_evidence(older: SqliteLedger) -> None:
    """It is an opinion like any other from here on."""
    add(older, evidence("unsure", "f1"))
    assert confidence_of(log_of(older, "unsure")) == 0.65
    commit(older, writing(older, OpinionsWrite(operation="run")))
    assert older.formed_by(BANK, "run") == ()
    rows = older.row_ids(BANK, ["sure", "f1"])
    assert older.opinions_of(BANK, np.array(list(rows.values()))) == {rows["sure"]: "sure"}
