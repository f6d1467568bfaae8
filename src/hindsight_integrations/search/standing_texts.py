"""Memories as they are shown to a model: without what was taken back of them (decision 116)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.model.withdrawals import withdrawal_note
from hindsight_integrations.ports.ledger import LedgerReader
from hindsight_integrations.text.item_places import wanted_record
from hindsight_integrations.text.language import Language
from hindsight_integrations.text.left_out import all_left_out
from hindsight_integrations.text.part_whole import LONGEST_TEXT
from hindsight_integrations.text.which_language import language_of


def as_they_stand(
    units: Mapping[int, MemoryUnit], ledger: LedgerReader, bank: str, languages: Sequence[Language]
) -> dict[int, MemoryUnit]:
    """The units without what was taken back of them, or with a note of it; in the order given.

    Args:
        units: by row id.
        ledger: what they stand in.
        bank: its name.
        languages: their texts may be in.
    """
    texts = {row: standing_text(unit, language_of(unit.text, languages)) for row, unit in units.items()}
    for part in ledger.amendments(bank, np.fromiter(units, np.int64, len(units))):
        if part.statement and part.record is None:
            texts[part.row] = f"{texts[part.row]} {withdrawal_note(part.statement)}"
    return {row: replace(unit, text=texts[row], compact=None) for row, unit in units.items()}


def standing_text(unit: MemoryUnit, language: Language) -> str:
    """The unit's text without those of its closed records that can be cut out of it, and with a note of each other one."""
    closed = [record for record in unit.records if record.closed_at is not None]
    if not closed:
        return unit.text
    others = tuple(record.words for record in unit.records if record.closed_at is None)
    text, gone = unit.text, [False] * len(closed)
    if len(text) <= LONGEST_TEXT:
        text, gone = all_left_out(text, [wanted_record(record, others, language) for record in closed])
    notes = (withdrawal_note(one.words) for one, out in zip(closed, gone, strict=True) if not out)
    return " ".join((text, *notes))
