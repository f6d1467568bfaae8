"""Retraction: the units a retain makes obsolete, as validity events.

First those its facts name (decision 110), then those their `invalidates` statements fit (decision 010). Runs where the commit is decided, on vectors made before it. Changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from hindsight_integrations.model.results import Dropped, RetainResult
from hindsight_integrations.model.units import MemoryUnit, ValidityEvent, ValidityKind
from hindsight_integrations.model.withdrawals import Ambiguity, Withdrawal
from hindsight_integrations.search.bank_view import BankView
from hindsight_integrations.tempr.retain.drafts import Draft
from hindsight_integrations.tempr.retain.embedding import Vectors
from hindsight_integrations.tempr.retain.retraction.candidates import Candidates, draft_names
from hindsight_integrations.tempr.retain.retraction.doubts import UNASKED, Doubt, Verdicts
from hindsight_integrations.tempr.retain.retraction.matching import Match, Outcome, decided, match
from hindsight_integrations.tempr.retain.retraction.named import Named, named_memories
from hindsight_integrations.tempr.retain.retraction.part_taken_back import has_more
from hindsight_integrations.tempr.retain.retraction.parts import (
    leaves_nothing,
    withdrawn_records,
    without_records,
)
from hindsight_integrations.tempr.retain.retraction.similarity import FACTS, VERBATIM, Statement
from hindsight_integrations.tempr.retain.retraction.updated import updated
from hindsight_integrations.text.language import Language
from hindsight_integrations.text.languages.en import ENGLISH
from hindsight_integrations.text.stems import content_stems
from hindsight_integrations.text.updates import updates
from hindsight_integrations.text.which_language import language_of


@dataclass(slots=True)
class Retraction:
    """What the statements of a commit did: events to commit, and the same for people to read."""

    events: list[ValidityEvent] = field(default_factory=list)
    closed: list[Withdrawal] = field(default_factory=list)
    amended: list[Withdrawal] = field(default_factory=list)
    ambiguous: list[Ambiguity] = field(default_factory=list)
    refused: dict[str, list[Dropped]] = field(default_factory=dict)
    """By the unit that named a memory: why nothing became of it."""
    languages: Sequence[Language] = (ENGLISH,)
    """The memories may be in."""
    records: dict[str, set[int]] = field(default_factory=dict)
    """By unit, ordinals of its records that were withdrawn in this commit so far."""
    parts: dict[str, list[str]] = field(default_factory=dict)
    """By unit that keeps no records, what was taken back of its text in this commit so far."""
    doubts: list[Doubt] = field(default_factory=list)
    """What rules leave open, for a decision model."""

    def note(self, statement: Statement, found: Match) -> None:
        """Add what one statement does."""
        by, text = statement.by, statement.text
        if found.outcome == Outcome.AMBIGUOUS:
            ids = tuple(unit.id for unit in found.units)
            self.ambiguous.append(Ambiguity(text, by.id, ids, found.scores[0]))
            return
        kind = ValidityKind.CLOSED if found.outcome == Outcome.CLOSES else ValidityKind.AMENDED
        for unit, score in zip(found.units, found.scores, strict=True):
            self._end(unit, kind, by, text, score)
        for unit, score in found.amended:
            self._end(unit, ValidityKind.AMENDED, by, text, score)

    def note_named(self, by: MemoryUnit, named: Named) -> None:
        """Add what becomes of one memory that a unit names."""
        if named.refused or named.unit is None:
            self.refused.setdefault(by.id, []).append(Dropped(by.text[:200], f"changes: {named.refused}"))
            return
        kind = ValidityKind.CLOSED if named.ends else ValidityKind.AMENDED
        self._end(named.unit, kind, by, named.statement, named.similarity)

    def _end(self, unit: MemoryUnit, kind: ValidityKind, by: MemoryUnit, text: str, score: float) -> None:
        """Close the unit, or amend it by what the text means: one of its records, several, or a part of its text."""
        moment = max(by.mentioned_at, unit.mentioned_at)
        ordinals: tuple[int, ...] = ()
        if kind is ValidityKind.AMENDED and unit.records:
            gone = self.records.setdefault(unit.id, set())
            left, language = without_records(unit, gone, moment), language_of(unit.text, self.languages)
            ordinals = withdrawn_records(text, left, language)
            if ordinals and leaves_nothing(left, ordinals, language):
                kind, ordinals = ValidityKind.CLOSED, ()
            gone.update(ordinals)
        if kind is ValidityKind.AMENDED and not unit.records:
            kind = self._with_earlier_parts(unit, text)
        self.events += [
            ValidityEvent(unit.id, kind, moment, by.id, text, record=ordinal)
            for ordinal in ordinals or (None,)
        ]
        done = self.closed if kind is ValidityKind.CLOSED else self.amended
        done.append(Withdrawal(unit.id, by.id, text, score, ordinals))

    def _with_earlier_parts(self, unit: MemoryUnit, text: str) -> ValidityKind:
        """Whether taking back a part more leaves anything of a unit that keeps no records."""
        language = language_of(unit.text, self.languages)
        parts = self.parts.setdefault(unit.id, [])
        parts.append(text)
        if len(parts) > 1 and not has_more(content_stems(" ".join(parts), language), unit, language):
            return ValidityKind.CLOSED
        return ValidityKind.AMENDED


def retract(
    drafts: Sequence[Draft],
    vectors: Vectors,
    speakers: frozenset[str],
    view: BankView,
    languages: Sequence[Language],
    *,
    verdicts: Verdicts = UNASKED,
) -> Retraction:
    """What each draft names, then what its statements fit, in order; what one closes, the next finds closed.

    Args:
        drafts: the commit's, in order.
        vectors: of the drafts and of their statements.
        speakers: names of the conversation's speakers.
        view: the bank.
        languages: the drafts may be in.
        verdicts: what a decision model said of what rules leave open; what it was not asked of stays open.
    """
    retraction = Retraction(languages=languages)
    candidates = Candidates(drafts, vectors.drafts, speakers, view)
    for position, draft in enumerate(drafts):
        if draft.changes:
            _by_name(position, candidates, vectors, retraction)
        if draft.invalidates:
            _by_statement(position, candidates, vectors, verdicts, retraction)
        if draft.guessed:
            _by_update(position, candidates, vectors, retraction)
    return retraction


def _by_name(position: int, candidates: Candidates, vectors: Vectors, retraction: Retraction) -> None:
    draft, closed = candidates.drafts[position], frozenset(candidates.closers)
    named = named_memories(draft, vectors.drafts[position], candidates.view, closed, vectors.thresholds)
    for memory in named:
        retraction.note_named(draft.unit, memory)
    _note_closers(retraction, candidates)


def _by_statement(
    position: int,
    candidates: Candidates,
    vectors: Vectors,
    verdicts: Verdicts,
    retraction: Retraction,
) -> None:
    draft = candidates.drafts[position]
    names, people = draft_names(draft, candidates.speakers)
    language = language_of(draft.unit.text, retraction.languages)
    for text in dict.fromkeys(draft.invalidates):
        statement = Statement(text, draft.unit, names, people, language)
        near = candidates.of(statement, vectors.statements[text], position)
        found = match(statement, near, vectors.thresholds, VERBATIM if draft.guessed else FACTS)
        if found.doubtful:
            meant = verdicts.of(text, draft.unit, found.doubtful)
            if meant is None:
                retraction.doubts.append(Doubt(text, draft.unit, found.doubtful))
            else:
                found = decided(statement, meant)
        retraction.note(statement, found)
        _note_closers(retraction, candidates)


def _by_update(position: int, candidates: Candidates, vectors: Vectors, retraction: Retraction) -> None:
    draft = candidates.drafts[position]
    language = language_of(draft.unit.text, retraction.languages)
    if not updates(draft.unit.text, language):
        return
    vector = vectors.drafts[position]
    near = candidates.of(Statement(draft.unit.text, draft.unit, language=language), vector, position)
    for told, found in updated(draft.unit, near, vectors.thresholds, VERBATIM, language):
        retraction.note(Statement(told, draft.unit, language=language), found)
    _note_closers(retraction, candidates)


def _note_closers(retraction: Retraction, candidates: Candidates) -> None:
    """What is closed so far the next statement finds closed."""
    for done in retraction.closed:
        candidates.closers.setdefault(done.unit_id, set()).add(done.by_unit)


def with_withdrawals(result: RetainResult, retraction: Retraction) -> RetainResult:
    """The result with what its own units withdrew; a commit may hold several retains."""
    own = set(result.unit_ids)
    return replace(
        result,
        closed=tuple(done for done in retraction.closed if done.by_unit in own),
        amended=tuple(done for done in retraction.amended if done.by_unit in own),
        ambiguous=tuple(doubt for doubt in retraction.ambiguous if doubt.by_unit in own),
        dropped=(
            *result.dropped,
            *(item for unit in result.unit_ids for item in retraction.refused.get(unit, ())),
        ),
    )
