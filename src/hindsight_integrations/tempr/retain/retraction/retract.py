"""Retraction: the units a retain's `invalidates` statements make obsolete, as validity events (decision 010).

Runs where the commit is decided, on vectors made before it. Changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from hindsight_integrations.model.results import RetainResult
from hindsight_integrations.model.units import ValidityEvent, ValidityKind
from hindsight_integrations.model.withdrawals import Ambiguity, Withdrawal
from hindsight_integrations.search.bank_view import BankView
from hindsight_integrations.tempr.retain.drafts import Draft
from hindsight_integrations.tempr.retain.embedding import Vectors
from hindsight_integrations.tempr.retain.retraction.candidates import Candidates, draft_names
from hindsight_integrations.tempr.retain.retraction.matching import Match, Outcome, match
from hindsight_integrations.tempr.retain.retraction.similarity import FACTS, VERBATIM, Statement
from hindsight_integrations.text.language import Language
from hindsight_integrations.text.which_language import language_of


@dataclass(slots=True)
class Retraction:
    """What the statements of a commit did: events to commit, and the same for people to read."""

    events: list[ValidityEvent] = field(default_factory=list)
    closed: list[Withdrawal] = field(default_factory=list)
    amended: list[Withdrawal] = field(default_factory=list)
    ambiguous: list[Ambiguity] = field(default_factory=list)

    def note(self, statement: Statement, found: Match) -> None:
        """Add what one statement does."""
        by, text = statement.by, statement.text
        if found.outcome == Outcome.AMBIGUOUS:
            ids = tuple(unit.id for unit in found.units)
            self.ambiguous.append(Ambiguity(text, by.id, ids, found.scores[0]))
            return
        closes = found.outcome == Outcome.CLOSES
        kind, done = (ValidityKind.CLOSED, self.closed) if closes else (ValidityKind.AMENDED, self.amended)
        for unit, score in zip(found.units, found.scores, strict=True):
            moment = max(by.mentioned_at, unit.mentioned_at)
            self.events.append(ValidityEvent(unit.id, kind, moment, by.id, text))
            done.append(Withdrawal(unit.id, by.id, text, score))


def retract(
    drafts: Sequence[Draft],
    vectors: Vectors,
    speakers: frozenset[str],
    view: BankView,
    languages: Sequence[Language],
) -> Retraction:
    """Match every statement in order; what one closes, the next finds closed.

    Args:
        drafts: the commit's, in order.
        vectors: of the drafts and of their statements.
        speakers: names of the conversation's speakers.
        view: the bank.
        languages: the drafts may be in.
    """
    retraction = Retraction()
    if not vectors.statements:
        return retraction
    candidates = Candidates(drafts, vectors.drafts, speakers, view)
    for position, draft in enumerate(drafts):
        names, people = draft_names(draft, speakers)
        language = language_of(draft.unit.text, languages)
        for text in dict.fromkeys(draft.invalidates):
            statement = Statement(text, draft.unit, names, people, language)
            near = candidates.of(statement, vectors.statements[text], position)
            found = match(statement, near, vectors.thresholds, VERBATIM if draft.guessed else FACTS)
            retraction.note(statement, found)
            if found.outcome == Outcome.CLOSES:
                for unit in found.units:
                    candidates.closers.setdefault(unit.id, set()).add(draft.unit.id)
    return retraction


def with_withdrawals(result: RetainResult, retraction: Retraction) -> RetainResult:
    """The result with what its own units withdrew; a commit may hold several retains."""
    own = set(result.unit_ids)
    return replace(
        result,
        closed=tuple(done for done in retraction.closed if done.by_unit in own),
        amended=tuple(done for done in retraction.amended if done.by_unit in own),
        ambiguous=tuple(doubt for doubt in retraction.ambiguous if doubt.by_unit in own),
    )
