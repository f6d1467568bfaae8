"""How well each unit that can be meant fits a statement of withdrawal (decisions 010 and 115). Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hindsight_integrations.model.embedder import Thresholds
from hindsight_integrations.model.identifiers import in_one_spelling
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.search.reference_scale import passage_cosine
from hindsight_integrations.tempr.retain.retraction.agreement import Agreement, agreement
from hindsight_integrations.tempr.retain.retraction.similarity import (
    Bar,
    Candidate,
    Statement,
    coverage,
    match_score,
    slot_coverage,
    unit_words,
    word_weights,
)
from hindsight_integrations.text.designations import designations
from hindsight_integrations.text.language import Language
from hindsight_integrations.text.part_whole import part_of
from hindsight_integrations.text.statement_frames import Reading, kin_in_one_word
from hindsight_integrations.text.stems import content_stems, numbers
from hindsight_integrations.text.titles import titles, untitled

TELLING_NUMBER = 4  # digits: a budget of 3250000 is no other's
FRAMED = 0.5  # share of the content of a framed statement that a unit must have, whatever it says of it


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """A unit with its score.

    Attributes:
        candidate: the unit and what is known of it.
        agreement: how it agrees with the statement.
        similarity: cosine with the statement, on the reference scale.
        coverage: share of the statement's words it has, in [0, 1].
        score: both together.
    """

    candidate: Candidate
    agreement: Agreement
    similarity: float
    coverage: float
    score: float

    @property
    def unit(self) -> MemoryUnit:
        """The candidate's."""
        return self.candidate.unit


def scored_candidates(
    statement: Statement,
    reading: Reading,
    candidates: Sequence[Candidate],
    thresholds: Thresholds,
    bar: Bar,
    *,
    slots: bool = False,
) -> list[Scored]:
    """The candidates that can be meant, with their scores, best first; ties by the later mention, then id.

    What the statement says of its content counts as one word, which a unit has that says the same in its own words.

    Args:
        statement: what is taken back.
        reading: of it.
        candidates: units it may mean.
        thresholds: of the embedder.
        bar: what a match must reach.
        slots: whether a unit may also fit by the slot that the stating unit fills anew (`slot_coverage`).
    """
    language = statement.language
    agreeing = [(c, found) for c in candidates if (found := agreement(statement, reading, c)) is not None]
    content = _content(statement, reading)
    words = _part(statement, content) | reading.frames
    named = _named(statement.text, language)
    texts = [content_stems(unit_words(c.unit, language), language) | found.frames for c, found in agreeing]
    weights = word_weights(words, texts, named, 1.0 if reading.frames else bar.unseen)
    by = content_stems(in_one_spelling(kin_in_one_word(statement.by.text, language)), language)
    kinds = {record.kind for record in statement.by.records}
    scored = []
    for (candidate, found), text in zip(agreeing, texts, strict=True):
        similarity = passage_cosine(candidate.cosine, thresholds)
        told = content_stems(in_one_spelling(kin_in_one_word(candidate.unit.text, language)), language)
        covered = coverage(words, text, weights)
        if slots and _named(candidate.unit.text, language) <= content | by:
            covered = max(covered, slot_coverage(content, by, told))
        if reading.frames and coverage(content, text, weights) < FRAMED:
            continue
        same_kind = any(record.kind in kinds for record in candidate.unit.records)
        score = match_score(similarity, covered, same_kind)
        scored.append(Scored(candidate, found, similarity, covered, score))
    return sorted(scored, key=_order)


def _named(text: str, language: Language) -> frozenset[str]:
    """Stems of the names in a text, and of numbers that tell as much."""
    names = (" ".join(name) for name in designations(untitled(text), language))
    large = {number for number in numbers(text, language) if len(number) >= TELLING_NUMBER}
    return frozenset(stem for name in (*names, *large) for stem in content_stems(name, language))


def _part(statement: Statement, content: frozenset[str]) -> frozenset[str]:
    """Of "'Travel costs' is part of the agenda" the title alone: a text lists it without calling it an item of anything."""
    relation = part_of(statement.text, statement.language)
    quoted = frozenset(
        w for title in titles(statement.text) for w in content_stems(title, statement.language)
    )
    return relation.part & content if relation and quoted and relation.part <= quoted else content


def _content(statement: Statement, reading: Reading) -> frozenset[str]:
    """What a statement is about; of a framed one without whose it is, which every memory of theirs has."""
    if not reading.frames:
        return reading.content
    people = frozenset(w for name in statement.people for w in content_stems(name, statement.language))
    return reading.content - people


def _order(item: Scored) -> tuple[float, float, str]:
    unit = item.unit
    return -item.score, -unit.mentioned_at.timestamp(), unit.id
