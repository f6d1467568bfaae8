"""Which unit a statement of withdrawal means: a decision over candidates, without any I/O (decision 010). Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from hindsight_integrations.model.embedder import Thresholds
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.search.reference_scale import passage_cosine
from hindsight_integrations.tempr.retain.retraction.similarity import (
    COVERED,
    Bar,
    Candidate,
    Statement,
    coverage,
    is_about,
    match_score,
    names_a_part,
    same_record,
    sole_record,
    unit_words,
    word_weights,
)
from hindsight_integrations.text.part_whole import part_of
from hindsight_integrations.text.stems import content_stems

SIDE_SLACK = 0.2  # words of coverage a withdrawn unit may lack: "... off the to-do list" names the list, "buy milk" not


class Outcome(StrEnum):
    """What a statement does."""

    NOTHING = "nothing"
    CLOSES = "closes"
    AMENDS = "amends"
    AMBIGUOUS = "ambiguous"


@dataclass(frozen=True, slots=True)
class Match:
    """The outcome and the units it concerns, best first, with their scores."""

    outcome: Outcome
    units: tuple[MemoryUnit, ...] = ()
    scores: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class _Scored:
    candidate: Candidate
    similarity: float
    coverage: float
    score: float


def match(statement: Statement, candidates: Sequence[Candidate], thresholds: Thresholds, bar: Bar) -> Match:
    """What the statement closes or amends among the candidates.

    Candidates were mentioned no later than the statement and do not come from the same messages.
    """
    scored = _scored(statement, [c for c in candidates if is_about(statement, c)], thresholds)
    rest = [item for item in scored if not item.candidate.closed]
    rest = [item for item in rest if not _withdrew(item, scored)]
    fitting = [
        item
        for item in rest
        if item.similarity >= bar.similarity and item.coverage >= bar.coverage and item.score >= bar.score
    ]
    if not fitting or _was_closed_before(fitting[0], scored, bar):
        return Match(Outcome.NOTHING)
    best = fitting[0]
    rivals = [item for item in fitting if best.score - item.score < bar.margin]
    if names_a_part(statement, best.candidate.unit):
        return _match(Outcome.AMENDS, [i for i in rivals if _amended_too(best, i)])
    alike = [
        item
        for item in rest
        if item is best
        or is_same_item(best.candidate, item.candidate, thresholds)
        or is_same_task(statement, best, item, bar)
    ]
    if any(item not in alike for item in rivals):
        return _match(Outcome.AMBIGUOUS, rivals)
    return _match(Outcome.CLOSES, alike)


def _match(outcome: Outcome, items: Sequence[_Scored]) -> Match:
    return Match(outcome, tuple(i.candidate.unit for i in items), tuple(i.score for i in items))


def _scored(statement: Statement, candidates: Sequence[Candidate], thresholds: Thresholds) -> list[_Scored]:
    """The candidates with their scores, best first; ties by the later mention, then id."""
    language = statement.language
    words = content_stems(statement.text, language)
    texts = [content_stems(unit_words(c.unit), language) for c in candidates]
    weights = word_weights(words, texts)
    kinds = {record.kind for record in statement.by.records}
    scored = []
    for candidate, text in zip(candidates, texts, strict=True):
        similarity = passage_cosine(candidate.cosine, thresholds)
        covered = coverage(words, text, weights)
        same_kind = any(record.kind in kinds for record in candidate.unit.records)
        scored.append(_Scored(candidate, similarity, covered, match_score(similarity, covered, same_kind)))
    return sorted(scored, key=_order)


def _order(item: _Scored) -> tuple[float, float, str]:
    unit = item.candidate.unit
    return -item.score, -unit.mentioned_at.timestamp(), unit.id


def _withdrew(item: _Scored, scored: Sequence[_Scored]) -> bool:
    """Whether the unit itself withdrew one that the statement fits as well: it is on the statement's side."""
    return any(
        item.candidate.unit.id in other.candidate.closed_by
        and other.similarity >= item.similarity
        and other.coverage >= item.coverage - SIDE_SLACK
        for other in scored
        if other.candidate.closed
    )


def _was_closed_before(best: _Scored, scored: Sequence[_Scored], bar: Bar) -> bool:
    """Whether the statement plainly means a unit that is closed already: then nothing is left to close."""
    return any(
        item.candidate.closed and item.score >= best.score + 2 * bar.margin and not _came_back(item, best)
        for item in scored
    )


def _came_back(closed: _Scored, best: _Scored) -> bool:
    """Whether the valid unit is the closed item come back."""
    return same_record(closed.candidate.unit, best.candidate.unit) or bool(
        closed.candidate.names & best.candidate.names
    )


def is_same_item(best: Candidate, other: Candidate, thresholds: Thresholds) -> bool:
    """Whether two candidates are the same item: same entities, same record, cosine above the duplicate threshold.

    Equal numbers are no duplicates: two coffees of one price are two expenses.
    """
    if (best.unit.records or other.unit.records) and not same_record(best.unit, other.unit):
        return False
    return best.names == other.names and float(best.vector @ other.vector) >= thresholds.duplicate


def is_same_task(statement: Statement, best: _Scored, other: _Scored, bar: Bar) -> bool:
    """Whether the statement takes back one recorded item that both keep, in other words: a to-do mentioned twice."""
    record = sole_record(best.candidate.unit)
    if record is None or not same_record(best.candidate.unit, other.candidate.unit):
        return False
    language = statement.language
    # Of "the timeline of the proposal" the record is the whole, and stays.
    relation = part_of(statement.text, language)
    named = relation.part if relation else content_stems(statement.text, language)
    kept = content_stems(str(record.value), language)
    return len(kept & named) >= COVERED * len(kept) and best.score - other.score < 2 * bar.margin


def _amended_too(best: _Scored, other: _Scored) -> bool:
    """Of units that fit about as well as the best, those of the same record that have the part too."""
    if other is best:
        return True
    return same_record(best.candidate.unit, other.candidate.unit) and other.coverage >= best.coverage
