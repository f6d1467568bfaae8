"""What the cues of a question over records come to: what is wanted, and of which kind of record. Pure (decision 135)."""

from __future__ import annotations

from hindsight_integrations.model.record_answers import Bound, RecordOperation, Standing
from hindsight_integrations.model.records import RecordKind
from hindsight_integrations.text.record_words import Cue

ASKING = frozenset(
    {Cue.HOW_MUCH, Cue.HOW_MANY, Cue.HOW_OFTEN, Cue.HOW_FAR, Cue.HOW_LONG, Cue.WHEN, Cue.WHAT, Cue.LIST}
    | {Cue.HOW_DOING, Cue.WHICH_PERIOD, Cue.HOW_MANY_PERIODS}
)
KINDS = {
    Cue.SPEND: RecordKind.EXPENSE,
    Cue.COST: RecordKind.EXPENSE,
    Cue.BUY: RecordKind.EXPENSE,
    Cue.SPENDING: RecordKind.EXPENSE,
    Cue.DEAREST: RecordKind.EXPENSE,
    Cue.PURCHASES: RecordKind.EXPENSE,
    Cue.EARN: RecordKind.INCOME,
    Cue.INCOME: RecordKind.INCOME,
    Cue.TASKS: RecordKind.TASK,
    Cue.EVENTS: RecordKind.EVENT,
    Cue.PREFERENCES: RecordKind.PREFERENCE,
    Cue.GOALS: RecordKind.GOAL,
}
STANDINGS = {
    Cue.MET: Standing.MET,
    Cue.HOW_DOING: Standing.MET,
    Cue.MISSED: Standing.MISSED,
    Cue.OVER: Standing.OVER,
    Cue.UNDER: Standing.UNDER,
}
BOUNDS = {
    Cue.AT_LEAST: Bound.AT_LEAST,
    Cue.MORE: Bound.MORE,
    Cue.AT_MOST: Bound.AT_MOST,
    Cue.LESS: Bound.LESS,
}
SUMS = frozenset({Cue.SPEND, Cue.COST, Cue.SPENDING, Cue.DEAREST})
"""What asks for money, where buying asks for things as well."""
MONEY = frozenset({RecordKind.EXPENSE, RecordKind.INCOME})
VALUED = MONEY | {RecordKind.QUANTITY}
EXTREMES = {
    Cue.MOST: RecordOperation.MOST,
    Cue.FARTHEST: RecordOperation.MOST,
    Cue.DEAREST: RecordOperation.MOST,
    Cue.LEAST: RecordOperation.LEAST,
}
_MAIN = (Cue.AVERAGE, Cue.LAST, *EXTREMES, Cue.NUMBER)
_AVERAGED = frozenset({Cue.HOW_MUCH, Cue.HOW_MANY, Cue.HOW_FAR, Cue.HOW_LONG, Cue.WHAT})
_LISTED = frozenset({Cue.BUY, Cue.PURCHASES, Cue.TASKS, Cue.EVENTS, Cue.PREFERENCES, Cue.GOALS})
_ADDED = frozenset({Cue.HOW_MUCH, Cue.HOW_MANY, Cue.HOW_FAR, Cue.HOW_LONG})


def operation_of(cues: frozenset[Cue]) -> RecordOperation | None:
    """What is wanted of records, by what is said of it; None where several things are, or none."""
    main = [cue for cue in _MAIN if cue in cues]
    if main == [Cue.AVERAGE, Cue.NUMBER] or (not main and Cue.PER_RECORD in cues):
        main = [Cue.AVERAGE]
    if len(main) > 1:
        return None
    if not main or main == [Cue.NUMBER]:
        return None if cues & {Cue.WHICH_PERIOD, Cue.PER_PERIOD} else _plain(cues)
    if main[0] in EXTREMES:
        return EXTREMES[main[0]] if _of_a_period(cues) else None
    if main[0] == Cue.AVERAGE:
        odd = cues & (ASKING - _AVERAGED) or Cue.TOTAL in cues or {Cue.PER_RECORD, Cue.PER_PERIOD} <= cues
        return None if odd else RecordOperation.AVERAGE
    odd = cues & {Cue.TOTAL, Cue.HOW_OFTEN, Cue.LIST, Cue.WHICH_PERIOD, Cue.PER_PERIOD, Cue.PER_RECORD}
    return None if odd else RecordOperation.LATEST


def _of_a_period(cues: frozenset[Cue]) -> bool:
    """Whether the most or least of a day, week or month is asked for."""
    return Cue.WHICH_PERIOD in cues or {Cue.PER_PERIOD, Cue.WHAT} <= cues


def _plain(cues: frozenset[Cue]) -> RecordOperation | None:
    """What is wanted where no average, last, most or least is."""
    if cues & {Cue.HOW_OFTEN, Cue.NUMBER}:
        return RecordOperation.COUNT
    if cues & _ADDED or (Cue.TOTAL in cues and Cue.LIST not in cues):
        return None if Cue.WHEN in cues else RecordOperation.TOTAL
    if Cue.LIST in cues or (Cue.WHAT in cues and cues & _LISTED):
        return None if Cue.TOTAL in cues else RecordOperation.LIST
    if Cue.WHAT in cues and cues & {Cue.SPEND, Cue.COST}:
        return RecordOperation.TOTAL
    terse = not cues & ASKING and cues & SUMS == {Cue.SPENDING}
    return RecordOperation.TOTAL if terse else None


def makes_sense(
    operation: RecordOperation, kind: RecordKind, cues: frozenset[Cue], *, unit: bool, adds_up: bool
) -> bool:
    """Whether an operation can be meant of such records.

    Args:
        operation: what is wanted.
        kind: of the records.
        cues: what is said of it.
        unit: the question names the unit in which they are counted.
        adds_up: values of theirs may be added.
    """
    bought = bool(cues & {Cue.BUY, Cue.PURCHASES}) and not cues & SUMS
    loose = cues & SUMS == {Cue.SPENDING} and not cues & {Cue.PER_RECORD, Cue.PER_PERIOD, Cue.PURCHASES}
    match operation:
        case RecordOperation.TOTAL if Cue.HOW_MANY in cues:
            return not unit or adds_up
        case RecordOperation.TOTAL:
            return kind in VALUED and not bought and adds_up
        case RecordOperation.AVERAGE if cues & {Cue.HOW_MANY, Cue.NUMBER}:
            return unit
        case RecordOperation.AVERAGE:
            # "my average spending" does not say for what: a purchase, a day, a week
            return (
                kind in VALUED and not loose and (not bought or bool(cues & {Cue.PURCHASES, Cue.PER_RECORD}))
            )
        case RecordOperation.MOST | RecordOperation.LEAST:
            return kind in VALUED and adds_up
        case _:
            return True
