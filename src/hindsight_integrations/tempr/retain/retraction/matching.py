"""Which unit a statement of withdrawal means: a decision over candidates, without any I/O (decisions 010 and 115). Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from hindsight_integrations.model.embedder import Thresholds
from hindsight_integrations.model.identifiers import in_one_spelling
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.search.reference_scale import passage_cosine
from hindsight_integrations.tempr.retain.retraction.part_taken_back import names_a_part, same_record
from hindsight_integrations.tempr.retain.retraction.same_item import (
    echoes,
    is_part_of_same,
    is_same_item,
    is_same_task,
    is_same_taste,
    said_with,
    speaks_of_it,
)
from hindsight_integrations.tempr.retain.retraction.scoring import Scored, scored_candidates
from hindsight_integrations.tempr.retain.retraction.similarity import Bar, Candidate, Statement
from hindsight_integrations.text.designations import Naming
from hindsight_integrations.text.language import Language
from hindsight_integrations.text.statement_frames import Reading, kin_in_one_word, read
from hindsight_integrations.text.withdrawal_cues import withdrawals

SIDE_SLACK = 0.2  # words of coverage a withdrawn unit may lack: "... off the to-do list" names the list, "buy milk" not

MEANING_LEAD = 0.2  # of similarity that a unit in quite other words must have over the next
TAKEN_BACK = 0.75  # share of the statement's content that a message takes back itself, to be on its side
DECIDED = 1.0  # score of what a decision model said is meant
DOUBTFUL = (
    0.3  # similarity on the reference scale from which a unit may be meant: of other languages it is low
)
MOST_DOUBTFUL = 5  # units that a decision model is asked about for one statement
UNRELATED = 0.4  # similarity on the reference scale that unrelated texts stay below


class Outcome(StrEnum):
    """What a statement does."""

    NOTHING = "nothing"
    CLOSES = "closes"
    AMENDS = "amends"
    AMBIGUOUS = "ambiguous"


@dataclass(frozen=True, slots=True)
class Match:
    """What a statement does, and to which units.

    Attributes:
        outcome: what it does to `units`.
        units: best first.
        scores: theirs.
        amended: of a statement that closes units, those of which it takes back a part alone, with their scores.
        doubtful: of a statement that rules find no unit for, or several, those it may mean, the nearest first.
    """

    outcome: Outcome
    units: tuple[MemoryUnit, ...] = ()
    scores: tuple[float, ...] = ()
    amended: tuple[tuple[MemoryUnit, float], ...] = ()
    doubtful: tuple[MemoryUnit, ...] = ()


def decided(statement: Statement, meant: Sequence[MemoryUnit]) -> Match:
    """What the statement does where a decision model said which of the doubtful units it means.

    Args:
        statement: what is taken back.
        meant: the units it means.
    """
    reading = read(statement.text, statement.language)
    amended = [unit for unit in meant if names_a_part(statement, reading, unit)]
    closed = [unit for unit in meant if unit not in amended]
    parts = tuple((unit, DECIDED) for unit in amended)
    if closed:
        return Match(Outcome.CLOSES, tuple(closed), (DECIDED,) * len(closed), parts)
    return Match(Outcome.AMENDS if amended else Outcome.NOTHING, tuple(amended), (DECIDED,) * len(amended))


def match(statement: Statement, candidates: Sequence[Candidate], thresholds: Thresholds, bar: Bar) -> Match:
    """What the statement closes or amends among the candidates.

    Candidates were mentioned no later than the statement and do not come from the same messages.
    """
    statement = replace(statement, text=in_one_spelling(kin_in_one_word(statement.text, statement.language)))
    reading = read(statement.text, statement.language)
    scored = scored_candidates(statement, reading, candidates, thresholds, bar)
    if bar.slots and not any(_fits(item, bar) for item in scored):
        scored = scored_candidates(statement, reading, candidates, thresholds, bar, slots=True)
    rest = [item for item in scored if not item.candidate.closed]
    rest = [item for item in rest if not _withdrew(item, scored) or _says_it_anew(statement, reading, item)]
    rest = [item for item in rest if not _takes_it_back(item, reading, statement.language)]
    fitting = _named_best([item for item in rest if _fits(item, bar)], bar) or _by_meaning(scored, bar)
    if not fitting:
        return Match(Outcome.NOTHING, doubtful=_near(candidates, thresholds))
    if _was_closed_before(fitting[0], scored, bar):
        return Match(Outcome.NOTHING)
    best = next((item for item in fitting if echoes(fitting[0], item)), fitting[0])
    rivals = [
        item
        for item in _named_best([item for item in rest if _is_near(item, bar)], bar)
        if item is best or (fitting[0].score - item.score < bar.margin and not echoes(item, best))
    ]
    meant = [
        item
        for item in rest
        if item is best
        or is_same_item(best.candidate, item.candidate, thresholds)
        or is_same_task(statement, reading, best, item, bar)
        or (item in fitting and not said_with(item.unit, statement.by) and is_same_taste(reading, best, item))
        or (_is_near(item, bar) and is_part_of_same(statement, reading, best, item, rivals))
        or (
            echoes(item, best)
            and item.similarity >= bar.similarity
            and speaks_of_it(statement, reading, best, item)
        )
    ]
    amended = [item for item in meant if names_a_part(statement, reading, item.unit)]
    closed = [item for item in meant if item not in amended]
    if not closed:
        return _match(Outcome.AMENDS, amended)
    if any(item not in meant for item in rivals):
        return replace(_match(Outcome.AMBIGUOUS, rivals), doubtful=tuple(item.unit for item in rivals))
    return _match(Outcome.CLOSES, closed, amended)


def _match(outcome: Outcome, items: Sequence[Scored], amended: Sequence[Scored] = ()) -> Match:
    return Match(
        outcome,
        tuple(item.unit for item in items),
        tuple(item.score for item in items),
        tuple((item.unit, item.score) for item in amended),
    )


def _near(candidates: Sequence[Candidate], thresholds: Thresholds) -> tuple[MemoryUnit, ...]:
    """The units that a statement no rule finds a unit for may mean, by meaning alone: words and grammar have failed."""
    standing = sorted((each for each in candidates if not each.closed), key=lambda each: -each.cosine)
    near = [each for each in standing if passage_cosine(each.cosine, thresholds) >= DOUBTFUL]
    return tuple(each.unit for each in near[:MOST_DOUBTFUL])


def _is_near(item: Scored, bar: Bar) -> bool:
    return item.similarity >= bar.similarity and item.coverage >= bar.coverage


def _fits(item: Scored, bar: Bar) -> bool:
    return _is_near(item, bar) and item.score >= bar.score


def _by_meaning(scored: Sequence[Scored], bar: Bar) -> list[Scored]:
    """The one unit that is far nearer to the statement than any other, in whatever words; none if there is no such one."""
    nearest = sorted(scored, key=lambda item: -item.similarity)[:2]
    if not nearest or nearest[0].candidate.closed or nearest[0].similarity < bar.meaning:
        return []
    lead = nearest[0].similarity - max((item.similarity for item in nearest[1:]), default=UNRELATED)
    return nearest[:1] if lead >= MEANING_LEAD else []


def _named_best(fitting: Sequence[Scored], bar: Bar) -> list[Scored]:
    """All but those with a longer name than another that fits about as well: "Elm" is not Elm West where there is an Elm."""
    exact = max((item.score for item in fitting if item.agreement.naming == Naming.SAME), default=-1.0)
    return [
        item
        for item in fitting
        if item.agreement.naming != Naming.LONGER or item.score >= exact + 2 * bar.margin
    ]


def _withdrew(item: Scored, scored: Sequence[Scored]) -> bool:
    """Whether the unit itself withdrew one that the statement fits as well: it is on the statement's side."""
    return any(
        item.unit.id in other.candidate.closed_by
        and other.similarity >= item.similarity
        and other.coverage >= item.coverage - SIDE_SLACK
        for other in scored
        if other.candidate.closed
    )


def _takes_it_back(item: Scored, reading: Reading, language: Language) -> bool:
    """Whether a message itself says that this is over ("I finished X"): it is on the statement's side."""
    unit = item.unit
    if not unit.speaker or language.withdrawals.updated.search(unit.text):
        return False
    stated = withdrawals(unit.text.removeprefix(f"{unit.speaker}: "), unit.speaker, (language,))
    own = [read(each, language).content for each in stated]
    return any(len(each & reading.content) >= TAKEN_BACK * len(reading.content) for each in own)


def _says_it_anew(statement: Statement, reading: Reading, item: Scored) -> bool:
    """Whether a unit that withdrew another holds what is now taken back: another time for the same visit, or that very taste."""
    return bool(
        (reading.frames & item.agreement.frames)
        or statement.language.withdrawals.updated.search(item.unit.text)
    )


def _was_closed_before(best: Scored, scored: Sequence[Scored], bar: Bar) -> bool:
    """Whether the statement plainly means a unit that is closed already: then nothing is left to close."""
    return any(
        item.candidate.closed and item.score >= best.score + 2 * bar.margin and not _came_back(item, best)
        for item in scored
    )


def _came_back(closed: Scored, best: Scored) -> bool:
    """Whether the valid unit is the closed item come back."""
    return same_record(closed.unit, best.unit) or bool(closed.candidate.names & best.candidate.names)
