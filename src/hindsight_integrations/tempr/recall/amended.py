"""Units of which a part was taken back, as recall serves them: without it where it can be cut out, else with a note (decision 116)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from hindsight_integrations.model.requests import RecallQuery
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.model.withdrawals import PartWithdrawn, Remainder, withdrawal_note
from hindsight_integrations.ports.arrays import IntArray
from hindsight_integrations.ports.ledger import Amendment
from hindsight_integrations.ports.token_counter import TokenCounter
from hindsight_integrations.search.bank_view import BankView
from hindsight_integrations.search.columns import no_later, valid_at
from hindsight_integrations.tempr.recall.tools import RecallTools
from hindsight_integrations.text.item_places import Wanted
from hindsight_integrations.text.language import Language
from hindsight_integrations.text.left_out import left_out, lists
from hindsight_integrations.text.part_whole import named_items
from hindsight_integrations.text.which_language import language_of

LONGEST_TEXT = 5_000  # characters of a text that is looked through for items; a longer one has the note


@dataclass(frozen=True, slots=True)
class Amended:
    """A unit of which parts were taken back.

    Attributes:
        parts: what was, oldest first.
        remainder: its text without those that could be cut out; None where none was.
    """

    parts: tuple[PartWithdrawn, ...]
    remainder: Remainder | None = None


@dataclass(frozen=True, slots=True)
class _Taken:
    """What one unit took back of another in the same words."""

    statement: str
    by: str
    effective_at: datetime
    left_out: bool = False


def amended_units(
    ids: IntArray, view: BankView, query: RecallQuery, tools: RecallTools
) -> dict[int, Amended]:
    """Those of the units (by row id) of which a part was taken back by the moment asked about.

    History (`include_invalidated`) shows their whole texts, with notes.
    """
    taken = _taken(_standing(view.ledger.amendments(view.bank, ids), view, query.as_of), view)
    if not taken:
        return {}
    shorter: dict[int, str] = {}
    if not query.include_invalidated:
        stored = view.ledger.units(view.bank, np.array(sorted(taken), np.int64))
        for row, unit in stored.items():
            text, taken[row] = _cut(unit, taken[row], language_of(unit.text, tools.languages))
            if text != unit.text:
                shorter[row] = text
    return _counted(taken, shorter, tools.tokens)


def _counted(
    taken: Mapping[int, Sequence[_Taken]], shorter: Mapping[int, str], counter: TokenCounter
) -> dict[int, Amended]:
    """The parts and remainders with what they cost."""
    noted = [(row, n) for row, items in taken.items() for n, item in enumerate(items) if not item.left_out]
    # With the blank that sets it apart, so that the parts of a text cost what the whole does.
    notes = [f" {withdrawal_note(taken[row][n].statement)}" for row, n in noted]
    tokens = counter.count([*notes, *shorter.values()])
    cost = dict(zip(noted, tokens, strict=False))
    remainders = {
        row: Remainder(text, left)
        for (row, text), left in zip(shorter.items(), tokens[len(notes) :], strict=True)
    }
    return {
        row: Amended(
            tuple(
                PartWithdrawn(
                    item.statement, item.by, item.effective_at, cost.get((row, n), 0), item.left_out
                )
                for n, item in enumerate(items)
            ),
            remainders.get(row),
        )
        for row, items in taken.items()
    }


def _cut(unit: MemoryUnit, taken: Sequence[_Taken], language: Language) -> tuple[str, list[_Taken]]:
    """The unit's text without what could be cut out of it, and which that is."""
    text, items = unit.text, []
    for item in taken:
        wanted = _wanted(item, unit, language) if len(unit.text) <= LONGEST_TEXT else []
        shorter = next(filter(None, (left_out(text, one) for one in wanted)), None)
        gone = any(lists(unit.text, one) and not lists(text, one) for one in wanted)
        items.append(replace(item, left_out=shorter is not None or gone))
        text = shorter or text
    return text, items


def _wanted(item: _Taken, unit: MemoryUnit, language: Language) -> list[Wanted]:
    """The words a statement may mean: the item it names, else all of it."""
    others = tuple(record.words for record in unit.records if record.closed_at is None)
    named = [
        Wanted(named.text, language, field=named.field, others=others)
        for named in named_items(item.statement, language)
    ]
    return [*named, Wanted(item.statement, language, others=others)]


def _taken(log: Sequence[Amendment], view: BankView) -> dict[int, list[_Taken]]:
    """By unit what was taken back of it, the same words once, however many units say them."""
    first: dict[tuple[int, str], Amendment] = {}
    for item, statement in zip(log, _statements(log, view), strict=True):
        if statement:
            first.setdefault((item.row, statement), item)
    by = view.ledger.unit_ids(view.bank, np.array(sorted({item.by for item in first.values()}), np.int64))
    found: dict[int, list[_Taken]] = {}
    for (row, statement), item in first.items():
        if item.by in by:  # else it was erased just now
            found.setdefault(row, []).append(_Taken(statement, by[item.by], item.effective_at))
    return found


def _standing(log: Sequence[Amendment], view: BankView, as_of: datetime | None) -> list[Amendment]:
    """Those that hold at the moment and whose unit is itself valid then."""
    valid = valid_at(view.columns, as_of)
    rows = np.array([item.by for item in log], np.int64)
    stands = view.columns.allowed(rows, valid).tolist() if len(rows) else []
    by_then = (as_of is None or no_later(item.effective_at, as_of) for item in log)
    return [item for item, *both in zip(log, stands, by_then, strict=True) if all(both)]


def _statements(log: Sequence[Amendment], view: BankView) -> list[str]:
    """Their words; of those without, the text of the unit that took something back, empty if it was just erased."""
    bare = sorted({item.by for item in log if not item.statement})
    stored = view.ledger.units(view.bank, np.array(bare, np.int64)) if bare else {}
    texts = {row: unit.text for row, unit in stored.items()}
    return [item.statement or texts.get(item.by, "") for item in log]
