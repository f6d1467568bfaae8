"""Damaged opinions are left out and named, and the others are read as usual."""

from __future__ import annotations

import logging
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from builders import BANK, make_units, make_write_set
from ledger_opinions import add, evidence, form, log_of, reword
from ledger_support import commit

from hindsight_integrations.ledger.ledger import Ledger

FIRST = "(SELECT id FROM units WHERE unit_id = 'o')"


@pytest.mark.parametrize(
    "damage",
    [
        f"UPDATE evidence SET assessment = 'reinforcf' WHERE opinion = {FIRST}",
        f"UPDATE evidence SET sources = '[' WHERE opinion = {FIRST}",
        f"UPDATE evidence SET restates = '[' WHERE opinion = {FIRST}",
        f"UPDATE evidence SET strength = CAST(x'ff' AS TEXT) WHERE opinion = {FIRST}",
        f"UPDATE evidence SET effective_at = 'noon' WHERE opinion = {FIRST}",
        f"UPDATE evidence SET effective_at = {2**62} WHERE opinion = {FIRST}",
        f"UPDATE opinions SET origin = 'dream' WHERE unit = {FIRST}",
        f"UPDATE opinions SET formed_at = 'noon' WHERE unit = {FIRST}",
        "UPDATE units SET text = 'I never said so' WHERE unit_id = 'o'",
    ],
)
def test_a_damaged_opinion_is_left_out_and_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: str
) -> None:
    """One unreadable opinion affects neither the others nor a whole recall."""
    with closing(Ledger.open(tmp_path)) as ledger:
        ledger.create_bank(BANK)
        commit(ledger, make_write_set(0, units=make_units("f1", "f2")))
        for opinion in ("o", "p"):
            form(ledger, opinion, "f1")
            add(ledger, evidence(opinion, "f2"))
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite")) as raw, raw:
        raw.execute(damage)
    with closing(Ledger.open(tmp_path)) as ledger, caplog.at_level(logging.WARNING):
        assert [log.id for log in ledger.opinions.get(BANK)] == ["p"]
        assert "cannot be read: o" in caplog.text
        assert ledger.opinions.get(BANK, ["o"]) == []


def test_a_damaged_wording_is_left_out_of_its_opinion(tmp_path: Path) -> None:
    """The other wordings are still shown, with their times."""
    with closing(Ledger.open(tmp_path)) as ledger:
        ledger.create_bank(BANK)
        commit(ledger, make_write_set(0, units=make_units("f1", "f2")))
        form(ledger, "o", "f1")
        reword(ledger, "o", "o2", "f2")
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite")) as raw, raw:
        raw.execute("UPDATE units SET text = 'I never said so' WHERE unit_id = 'o2'")
    with closing(Ledger.open(tmp_path)) as ledger:
        assert [version.unit_id for version in log_of(ledger).versions] == ["o"]
        assert ledger.units.damaged(BANK) == ("o2",)
