"""A reference computation of confidence by the rules, with fractions."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from fractions import Fraction

from hindsight_integrations.model.opinions import Evidence, OpinionLog

# a for strong evidence; half of it for mild
STEPS = {"reinforce": 1, "weaken": -1, "contradict": -2, "neutral": 0}


def replayed(
    log: OpinionLog, *, as_of: datetime | None = None, as_of_revision: int | None = None
) -> Fraction:
    """The confidence that formation and evidence of an opinion give.

    Args:
        log: the opinion, of which only the formation's confidence and the rows are read.
        as_of: conversation time; None for now.
        as_of_revision: what the bank had recorded by then; None for all.
    """
    confidence = Fraction(str(log.confidence))
    for row in counting(log, as_of=as_of, as_of_revision=as_of_revision):
        confidence = moved(confidence, row)
    return confidence


def counting(
    log: OpinionLog, *, as_of: datetime | None = None, as_of_revision: int | None = None
) -> Iterator[Evidence]:
    """Rows of valid facts, in order of (effective time, unit id): each source counts once for a statement, with its first row."""
    recorded = [row for row in log.evidence if as_of_revision is None or row.revision <= as_of_revision]
    spoken: set[tuple[frozenset[str], str]] = set()
    for row in sorted(recorded, key=lambda row: (row.effective_at, row.unit_id)):
        begun = as_of is None or _seconds(row.effective_at) <= _seconds(as_of)
        if not begun or not holds(row, as_of, as_of_revision):
            continue
        said = {(statement(row.unit_id, recorded), source) for source in row.sources}
        if said - spoken:
            yield row
        spoken |= said


def statement(unit_id: str, rows: list[Evidence]) -> frozenset[str]:
    """All facts with the same statement, including this one: those that restate it, those that it restates, and so on."""
    ids = {row.unit_id for row in rows}
    said = {unit_id}
    while True:
        more = {row.unit_id for row in rows if said & set(row.restates)}
        more |= {other for row in rows if row.unit_id in said for other in row.restates} & ids
        if more <= said:
            return frozenset(said)
        said |= more


def holds(row: Evidence, as_of: datetime | None, as_of_revision: int | None) -> bool:
    """Whether the row's fact is valid: its latest validity change up to the given time is not a closing."""
    known = [change for change in row.validity if as_of_revision is None or change.revision <= as_of_revision]
    said = [
        change.kind
        for change in sorted(known, key=lambda change: change.revision)
        if as_of is None or _seconds(change.effective_at) <= _seconds(as_of)
    ]
    return not said or said[-1] != "closed"


def moved(confidence: Fraction, row: Evidence) -> Fraction:
    """Compute c' from c for one row: eq. 26, or the reference's rule with the row's share of its rates."""
    step, mild = Fraction(str(row.step)), row.strength == "mild"
    if row.rule == "additive":
        change = STEPS[row.assessment] * step * (Fraction(1, 2) if mild else 1)
        return min(Fraction(1), max(Fraction(0), confidence + change))
    share = step / Fraction(1, 5)
    if row.assessment == "reinforce":
        return confidence + Fraction("0.05" if mild else "0.2") * share * (1 - confidence)
    if row.assessment == "neutral":
        return confidence
    return confidence * (1 - Fraction("0.25" if mild else "0.5") * share)


def _seconds(moment: datetime) -> int:
    return int(moment.timestamp())
