"""What falls together with the unit that a statement of withdrawal means best (decisions 010 and 115). Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from hindsight_integrations.model.embedder import Thresholds
from hindsight_integrations.model.units import FactType, MemoryUnit
from hindsight_integrations.tempr.retain.retraction.part_taken_back import (
    COVERED,
    names_a_part,
    relation_of,
    same_record,
    sole_record,
)
from hindsight_integrations.tempr.retain.retraction.scoring import Scored
from hindsight_integrations.tempr.retain.retraction.similarity import Bar, Candidate, Statement, unit_words
from hindsight_integrations.text.language import Frame
from hindsight_integrations.text.part_whole import names_one_of_a_list
from hindsight_integrations.text.statement_frames import Reading
from hindsight_integrations.text.stems import content_stems

EXCHANGE = timedelta(
    hours=1
)  # of one thread: what the assistant then says of the user's item is an echo of it
ECHOED = 0.75  # share an echo has of what its item has of the statement's words
WHOLE = 0.99  # share of the statement's words that is all of them

_TASTES = frozenset({Frame.LIKED, Frame.DISLIKED})


def is_same_item(best: Candidate, other: Candidate, thresholds: Thresholds) -> bool:
    """Whether two candidates are the same item: same entities, same record, cosine above the duplicate threshold.

    Equal numbers are no duplicates: two coffees of one price are two expenses.
    """
    if (best.unit.records or other.unit.records) and not same_record(best.unit, other.unit):
        return False
    return best.names == other.names and float(best.vector @ other.vector) >= thresholds.duplicate


def is_same_task(statement: Statement, reading: Reading, best: Scored, other: Scored, bar: Bar) -> bool:
    """Whether the statement takes back one recorded item that both keep, in other words: a to-do mentioned twice."""
    record = sole_record(best.unit)
    if record is None or not same_record(best.unit, other.unit):
        return False
    language = statement.language
    # Of "the timeline of the proposal" the record is the whole, and stays.
    relation = relation_of(statement, reading)
    named = relation.part if relation else content_stems(statement.text, language)
    kept = content_stems(str(record.value), language)
    return len(kept & named) >= COVERED * len(kept) and best.score - other.score < 2 * bar.margin


def is_same_taste(reading: Reading, best: Scored, other: Scored) -> bool:
    """Whether both tell the taste that is taken back: who no longer likes tea likes neither of two teas."""
    return bool(reading.frames & _TASTES) and all(
        item.coverage >= WHOLE and item.agreement.frames & reading.frames for item in (best, other)
    )


def is_part_of_same(
    statement: Statement, reading: Reading, best: Scored, other: Scored, rivals: Sequence[Scored]
) -> bool:
    """Whether both have the part that is taken back, among other things."""
    if not names_a_part(statement, reading, other.unit):
        return False
    if same_record(best.unit, other.unit) and other in rivals:
        return other.coverage >= best.coverage
    if relation_of(statement, reading) is None:
        listed = reading.frames or names_one_of_a_list(reading.content, other.unit.text, statement.language)
        return bool(listed) and min(best.coverage, other.coverage) >= WHOLE
    return said_with(best.unit, other.unit) and speaks_of_it(statement, reading, best, other)


def echoes(item: Scored, of: Scored) -> bool:
    """Whether one is what the assistant said of the other in the same exchange."""
    one, other = item.unit, of.unit
    return (one.fact_type, other.fact_type) == (FactType.EXPERIENCE, FactType.WORLD) and said_with(one, other)


def said_with(one: MemoryUnit, other: MemoryUnit) -> bool:
    """Whether two units come from one exchange."""
    return one.thread == other.thread and abs(one.mentioned_at - other.mentioned_at) <= EXCHANGE


def speaks_of_it(statement: Statement, reading: Reading, best: Scored, item: Scored) -> bool:
    """Whether a unit speaks of what is taken back: of the part, where that is one, else of most of it."""
    relation = relation_of(statement, reading)
    if relation is None:
        return item.coverage >= ECHOED * best.coverage
    return relation.part <= content_stems(unit_words(item.unit, statement.language), statement.language)
