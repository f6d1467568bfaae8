"""Units of which a part was taken back, as recall serves them: without it where it can be cut out, else with a note (decision 116)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import accumulate

import numpy as np

from hindsight_integrations.model.requests import RecallQuery
from hindsight_integrations.model.time import no_later
from hindsight_integrations.model.units import MemoryUnit, ValidityKind
from hindsight_integrations.model.withdrawals import PartWithdrawn, Remainder, withdrawal_note
from hindsight_integrations.ports.arrays import IntArray
from hindsight_integrations.ports.ledger import Amendment
from hindsight_integrations.ports.token_counter import TokenCounter
from hindsight_integrations.search.bank_view import BankView
from hindsight_integrations.search.columns import valid_at
from hindsight_integrations.tempr.recall.tools import RecallTools
from hindsight_integrations.text.conjuncts import without_conjunct, without_sentence
from hindsight_integrations.text.item_places import Wanted, wanted_record
from hindsight_integrations.text.language import Language
from hindsight_integrations.text.left_out import all_left_out
from hindsight_integrations.text.part_whole import LONGEST_TEXT, NamedItem, named_items
from hindsight_integrations.text.statement_frames import content_of
from hindsight_integrations.text.stems import content_stems
from hindsight_integrations.text.which_language import language_of

LATEST = datetime.max.replace(tzinfo=UTC)


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
    """What one unit took back of another in the same words.

    Attributes:
        statement: the words.
        by: id of the unit that did; empty if it was erased.
        effective_at: since when.
        records: ordinals of the records that were closed with it; none where a part of the text is meant.
        left_out: whether it is cut out of the text.
    """

    statement: str
    by: str
    effective_at: datetime
    records: tuple[int, ...] = ()
    left_out: bool = False


def amended_units(
    ids: IntArray, view: BankView, query: RecallQuery, tools: RecallTools
) -> dict[int, Amended]:
    """Those of the units (by row id) of which a part was taken back by the moment asked about.

    History (`include_invalidated`) shows their whole texts, with notes.
    """
    closed = view.ledger.closed_records(view.bank, ids, query.as_of or LATEST)
    log = view.ledger.amendments(view.bank, ids)
    if not log and not closed:
        return {}
    rows = np.array(sorted({item.row for item in log} | closed.keys()), np.int64)
    stored = view.ledger.units(view.bank, rows)
    taken = _taken(_standing(log, closed, view, query.as_of), view)
    _add_unexplained(taken, closed, stored, view)
    shorter: dict[int, str] = {}
    for row in taken.keys() & stored.keys() if not query.include_invalidated else ():
        unit = stored[row]
        language = language_of(unit.text, tools.languages)
        text, taken[row] = _cut(unit, taken[row], closed.get(row, frozenset()), language)
        if text != unit.text:
            shorter[row] = text
    return _counted(taken, shorter, tools.tokens)


def _add_unexplained(
    taken: dict[int, list[_Taken]],
    closed: Mapping[int, frozenset[int]],
    units: Mapping[int, MemoryUnit],
    view: BankView,
) -> None:
    """Add closed records of which no memory tells any more: whoever closed them was erased, the record stays closed."""
    for row, ordinals in closed.items():
        told = {ordinal for item in taken.get(row, ()) for ordinal in item.records}
        if row not in units or ordinals <= told:
            continue
        log = view.ledger.validity(view.bank, units[row].id)
        since = {event.record: event.effective_at for event in log if event.kind is ValidityKind.AMENDED}
        taken.setdefault(row, []).extend(
            _Taken(units[row].records[ordinal].words, "", since[ordinal], (ordinal,))
            for ordinal in sorted(ordinals - told)
        )


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


def _cut(
    unit: MemoryUnit, taken: Sequence[_Taken], closed: frozenset[int], language: Language
) -> tuple[str, list[_Taken]]:
    """The unit's text without what could be cut out of it, and which that is.

    Args:
        unit: whose text.
        taken: what was taken back of it.
        closed: ordinals of its records that are closed.
        language: of its text.
    """
    others = tuple(record.words for n, record in enumerate(unit.records) if n not in closed)
    if len(unit.text) > LONGEST_TEXT:
        return unit.text, list(taken)
    wanted = [_wanted(item, unit, others, language) for item in taken]
    text, gone = all_left_out(unit.text, [ways for items in wanted for ways in items])
    ends = accumulate(len(items) for items in wanted)
    cut = []
    for item, items, end in zip(taken, wanted, ends, strict=True):
        is_gone = all(gone[end - len(items) : end])
        shorter = None if is_gone or item.records else _without(text, item.statement, language)
        text = shorter or text
        cut.append(replace(item, left_out=is_gone or shorter is not None))
    if text == unit.text:
        return text, cut
    # What was cut for one statement a thousand others may have meant as well: no note for what the text no longer says.
    return text, [replace(item, left_out=item.left_out or _is_untold(item, text, language)) for item in cut]


def _is_untold(item: _Taken, text: str, language: Language) -> bool:
    """Whether a text has less than half of what a statement takes back."""
    content = content_of(item.statement, language)
    return not item.records and 2 * len(content & content_stems(text, language)) < len(content)


def _without(text: str, statement: str, language: Language) -> str | None:
    """The text without the conjunct, else the sentence, that a statement takes back in other words."""
    return without_conjunct(text, statement, language) or without_sentence(text, statement, language)


def _wanted(
    item: _Taken, unit: MemoryUnit, others: tuple[str, ...], language: Language
) -> list[list[Wanted]]:
    """What is to be left out: each record, or the item a statement names, each with the ways it may be worded."""
    stated = [
        Wanted(named.text, language, named.field, others)
        for named in (*named_items(item.statement, language), NamedItem(item.statement, ""))
    ]
    records = [wanted_record(unit.records[n], others, language) for n in item.records]
    return [[*records[0], *stated]] if len(records) == 1 else records or [stated]


def _taken(log: Sequence[Amendment], view: BankView) -> dict[int, list[_Taken]]:
    """By unit what was taken back of it, the same words once, however many units say them."""
    first: dict[tuple[int, str], Amendment] = {}
    records: dict[tuple[int, str], set[int]] = {}
    for item, statement in zip(log, _statements(log, view), strict=True):
        if statement:
            first.setdefault((item.row, statement), item)
            own = records.setdefault((item.row, statement), set())
            own.update(() if item.record is None else (item.record,))
    by = view.ledger.unit_ids(view.bank, np.array(sorted({item.by for item in first.values()}), np.int64))
    found: dict[int, list[_Taken]] = {}
    for (row, statement), item in first.items():
        if item.by in by:  # else it was erased just now
            ordinals = tuple(sorted(records[row, statement]))
            found.setdefault(row, []).append(_Taken(statement, by[item.by], item.effective_at, ordinals))
    return found


def _standing(
    log: Sequence[Amendment], closed: Mapping[int, frozenset[int]], view: BankView, as_of: datetime | None
) -> list[Amendment]:
    """Those that hold at the moment: of records that are closed then, and of texts by units that were not undone by then.

    Who moved from Vienna to Toronto, and then to Rome, does not live in Vienna again (decision 170).
    """
    valid = valid_at(view.columns, as_of)
    allowed = view.columns.allowed(np.array([item.by for item in log], np.int64), valid).tolist()
    ended = {
        item.by for item, is_valid in zip(log, allowed, strict=True) if item.record is None and not is_valid
    }
    replaced = _replaced(sorted(ended), view, as_of)
    stands = [is_valid or item.by in replaced for item, is_valid in zip(log, allowed, strict=True)]
    return [
        item
        for item, stands_by in zip(log, stands, strict=True)
        if (as_of is None or no_later(item.effective_at, as_of))
        and (stands_by if item.record is None else item.record in closed.get(item.row, frozenset()))
    ]


def _replaced(rows: Sequence[int], view: BankView, as_of: datetime | None) -> set[int]:
    """Those of the units (by row id) that a later one closed: what they took back was true, and is not true again."""
    found = set()
    for row, unit_id in view.ledger.unit_ids(view.bank, np.array(rows, np.int64)).items() if rows else ():
        log = [
            event
            for event in view.ledger.validity(view.bank, unit_id)
            if event.kind is not ValidityKind.AMENDED
            and (as_of is None or no_later(event.effective_at, as_of))
        ]
        if log and log[-1].kind is ValidityKind.CLOSED and log[-1].by_unit:
            found.add(row)
    return found


def _statements(log: Sequence[Amendment], view: BankView) -> list[str]:
    """Their words; of those without, the text of the unit that took something back, empty if it was just erased."""
    bare = sorted({item.by for item in log if not item.statement})
    stored = view.ledger.units(view.bank, np.array(bare, np.int64)) if bare else {}
    texts = {row: unit.text for row, unit in stored.items()}
    return [item.statement or texts.get(item.by, "") for item in log]
