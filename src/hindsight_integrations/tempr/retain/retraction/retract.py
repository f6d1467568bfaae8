"""Retraction: the memories that a retain ends or changes, as validity events (design 2.1).

First those its facts name, then those that say the very words of an `invalidates` statement, or that a model named of those it may
mean. Runs where the commit is decided,
on vectors made before it. Changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from hindsight_integrations.model.results import Dropped, RetainResult
from hindsight_integrations.model.units import MemoryUnit, ValidityEvent, ValidityKind
from hindsight_integrations.model.withdrawals import Ambiguity, Withdrawal
from hindsight_integrations.prompts.end_memories import OpenStatement
from hindsight_integrations.search.bank_view import BankView
from hindsight_integrations.tempr.retain.drafts import Draft
from hindsight_integrations.tempr.retain.embedding import Vectors
from hindsight_integrations.tempr.retain.retraction.judged import NOT_ASKED, Judgement
from hindsight_integrations.tempr.retain.retraction.named import Named, named_memories
from hindsight_integrations.tempr.retain.retraction.parts import (
    has_more,
    leaves_nothing,
    withdrawn_records,
    without_records,
)
from hindsight_integrations.tempr.retain.retraction.reach import Reach
from hindsight_integrations.tempr.retain.retraction.stated import Stated, stated
from hindsight_integrations.text.language import Language
from hindsight_integrations.text.languages.en import ENGLISH
from hindsight_integrations.text.stems import content_stems
from hindsight_integrations.text.which_language import language_of

EQUAL = 1.0  # score of a memory that says the very words of a statement


@dataclass(slots=True)
class Retraction:
    """What the statements of a commit did: events to commit, and the same for people to read."""

    events: list[ValidityEvent] = field(default_factory=list)
    closed: list[Withdrawal] = field(default_factory=list)
    amended: list[Withdrawal] = field(default_factory=list)
    ambiguous: list[Ambiguity] = field(default_factory=list)
    open: list[OpenStatement] = field(default_factory=list)
    """Statements that a model may be asked about."""
    ended: dict[str, MemoryUnit] = field(default_factory=dict)
    """The closed, by id."""
    refused: dict[str, list[Dropped]] = field(default_factory=dict)
    """By the unit that named a memory: why nothing became of it."""
    languages: Sequence[Language] = (ENGLISH,)
    """The memories may be in."""
    records: dict[str, set[int]] = field(default_factory=dict)
    """By unit, ordinals of its records that were withdrawn in this commit so far."""
    parts: dict[str, list[str]] = field(default_factory=dict)
    """By unit that keeps no records, what was taken back of its text in this commit so far."""

    def note_stated(self, draft: Draft, statement: str, found: Stated, judgement: Judgement) -> None:
        """Add what one statement does: what is equal ends, else what a model named of those it may mean."""
        by = draft.unit
        ends = judgement.ends.get((statement, by.id))
        if found.ended is not None:
            self._end(found.ended, ValidityKind.CLOSED, by, statement, EQUAL)
        elif found.known:
            return
        elif ends is not None:
            for unit in found.candidates:
                if unit.id in ends:
                    self._end(unit, ValidityKind.CLOSED, by, statement, found.similarity)
        else:
            candidates = tuple(unit.id for unit in found.candidates)
            self.ambiguous.append(Ambiguity(statement, by.id, candidates, found.similarity))
            if draft.said_by_person and not draft.given:
                self.open.append(OpenStatement(statement, by, found.candidates))

    def note_named(self, by: MemoryUnit, named: Named) -> None:
        """Add what becomes of one memory that a unit names."""
        if named.candidates:
            self.ambiguous.append(Ambiguity(named.part, by.id, named.candidates, named.similarity))
        elif named.refused or named.unit is None:
            self.refused.setdefault(by.id, []).append(Dropped(by.text[:200], f"changes: {named.refused}"))
        else:
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
        if kind is ValidityKind.CLOSED:
            self.ended[unit.id] = unit
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
    view: BankView,
    languages: Sequence[Language],
    judgement: Judgement = NOT_ASKED,
) -> Retraction:
    """What each draft names, then what its statements say, in order; what one ends, the next finds ended.

    Args:
        drafts: the commit's, in order.
        vectors: of the drafts and of their statements.
        view: the bank.
        languages: the drafts may be in.
        judgement: what a model said of statements that say no memory's very words.
    """
    retraction = Retraction(languages=languages)
    reach = Reach(drafts, vectors.drafts, view, retraction.ended)
    for position, draft in enumerate(drafts):
        for named in named_memories(position, reach, vectors.thresholds):
            retraction.note_named(draft.unit, named)
        for text in dict.fromkeys(draft.invalidates):
            found = stated(text, vectors.statements[text], position, reach, vectors.thresholds)
            retraction.note_stated(draft, text, found, judgement)
    return retraction


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
