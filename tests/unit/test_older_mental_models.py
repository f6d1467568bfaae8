"""Ledgers, and archives, of before there were mental models."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from builders import BANK, at, make_units, make_write_set
from ledger_support import commit
from older_ledgers import bring_back

from hindsight_integrations.backends.ledger.sqlite.ledger import SqliteLedger
from hindsight_integrations.model.directives import Directive
from hindsight_integrations.model.mental_models import MentalModel, ModelAnswer, RefreshTrigger, RefreshWrite
from hindsight_integrations.model.writes import WriteSet


@pytest.mark.parametrize("version", [1, 5, 8])
def test_an_older_ledger_keeps_questions_and_rules(tmp_path: Path, version: int) -> None:
    """It has none at first; a question is answered from the memories it holds already."""
    ledger = SqliteLedger.open(tmp_path)
    ledger.create_bank(BANK)
    commit(ledger, make_write_set(units=make_units("u1")))
    ledger.close()
    with sqlite3.connect(tmp_path / "ledger.sqlite") as raw:
        bring_back(raw, version)
    raw.close()
    again = SqliteLedger.open(tmp_path, accept_loss=True)
    assert (again.mental_models(BANK), again.directives(BANK)) == ([], [])
    model = MentalModel("m", "plums", "What of plums?", (), RefreshTrigger.MANUAL, 100, at(1))
    again.create_mental_model(BANK, model, most=1)
    again.add_directive(BANK, Directive("d", "Be brief.", (), at(1)), most=1)
    revision = again.revision(BANK)
    answer = ModelAnswer("Text.", extractive=False, based_on=("u1",), refreshed_at=at(2))
    commit(again, WriteSet(BANK, revision, refreshed=RefreshWrite("m", revision, answer)))
    (kept,) = again.mental_models(BANK)
    assert (kept.text, kept.based_on) == ("Text.", ("u1",))
    again.close()
