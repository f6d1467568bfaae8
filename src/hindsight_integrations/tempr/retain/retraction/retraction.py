"""Retraction: the units a retain's `invalidates` statements make obsolete, as validity events (design section 7).

Reads the bank, changes nothing. Runs inside the write turn on vectors made before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import numpy as np

from hindsight_integrations.model.entities import Entity, EntityRole
from hindsight_integrations.model.names import normalise_name
from hindsight_integrations.model.requests import TagsMatch
from hindsight_integrations.model.results import RetainResult
from hindsight_integrations.model.trace import Channel
from hindsight_integrations.model.units import FactType, MemoryUnit, ValidityEvent, ValidityKind
from hindsight_integrations.model.withdrawals import Ambiguity, Withdrawal
from hindsight_integrations.model.writes import Thresholds
from hindsight_integrations.ports.arrays import IntArray, Matrix, Vector
from hindsight_integrations.search.bank_view import BankView
from hindsight_integrations.search.channels.keyword import keyword_channel
from hindsight_integrations.search.channels.selection import Selection
from hindsight_integrations.search.channels.semantic import semantic_channel
from hindsight_integrations.search.columns import mentioned_by, no_later, of_types, tagged, tags_select
from hindsight_integrations.search.fusion import reciprocal_rank_fusion
from hindsight_integrations.tempr.retain.drafts import Draft
from hindsight_integrations.tempr.retain.retraction.likeness import FACTS, VERBATIM, Bar, Candidate, Statement
from hindsight_integrations.tempr.retain.retraction.matching import Outcome, Verdict, judge
from hindsight_integrations.text.names import AGENT_NAMES, USER_NAMES

CANDIDATES = 20  # looked at per statement; the right one is nearly always the first hit [design section 7]
RETRACTABLE = (FactType.WORLD, FactType.EXPERIENCE)  # opinions are revised by evidence, observations derived


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """The statements of a retain, embedded, and what they are judged by.

    Attributes:
        vectors: of each statement, by its text.
        thresholds: of the embedder that made the vectors.
        guessed: ids of units whose statements come from cues, not from a model: they must match more closely.
    """

    vectors: Mapping[str, Vector]
    thresholds: Thresholds
    guessed: frozenset[str] = frozenset()

    def bar(self, by: MemoryUnit) -> Bar:
        """What a match of a statement of this unit must reach."""
        return VERBATIM if by.id in self.guessed else FACTS


@dataclass(frozen=True, slots=True)
class Batch:
    """The drafts of one write turn.

    Attributes:
        drafts: in order.
        vectors: theirs, (n, dimension).
        speakers: names of the conversation's speakers.
        withdrawn: their statements.
    """

    drafts: Sequence[Draft]
    vectors: Matrix
    speakers: frozenset[str]
    withdrawn: Withdrawn | None


@dataclass(frozen=True, slots=True)
class Retraction:
    """What the statements did: events to commit, and the same for people to read."""

    events: tuple[ValidityEvent, ...] = ()
    closed: tuple[Withdrawal, ...] = ()
    amended: tuple[Withdrawal, ...] = ()
    ambiguous: tuple[Ambiguity, ...] = ()


def retract(batch: Batch, view: BankView) -> Retraction:
    """Judge every statement in order; what one closes, the next finds closed."""
    if batch.withdrawn is None:
        return Retraction()
    turn = _Turn(batch, batch.withdrawn, view)
    for position, draft in enumerate(batch.drafts):
        for text in dict.fromkeys(draft.invalidates):
            turn.judge(text, position)
    return Retraction(tuple(turn.events), tuple(turn.closed), tuple(turn.amended), tuple(turn.ambiguous))


def with_withdrawals(result: RetainResult, retraction: Retraction) -> RetainResult:
    """The result with what its own units withdrew; a commit may hold several retains."""
    own = set(result.unit_ids)
    return replace(
        result,
        closed=tuple(done for done in retraction.closed if done.by_unit in own),
        amended=tuple(done for done in retraction.amended if done.by_unit in own),
        ambiguous=tuple(doubt for doubt in retraction.ambiguous if doubt.by_unit in own),
    )


@dataclass(slots=True)
class _Turn:
    """One run over the statements, and what they have done so far."""

    batch: Batch
    withdrawn: Withdrawn
    view: BankView
    events: list[ValidityEvent] = field(default_factory=list)
    closed: list[Withdrawal] = field(default_factory=list)
    amended: list[Withdrawal] = field(default_factory=list)
    ambiguous: list[Ambiguity] = field(default_factory=list)

    def judge(self, text: str, position: int) -> None:
        """Find the candidates of one statement, decide, and note what follows."""
        draft, vector = self.batch.drafts[position], self.withdrawn.vectors[text]
        names, people = draft_names(draft, self.batch.speakers)
        statement = Statement(text, draft.unit, names, people)
        candidates = [*self._earlier(position, vector), *self._known(statement, vector)]
        bar = self.withdrawn.bar(draft.unit)
        self._note(statement, judge(statement, candidates, self.withdrawn.thresholds, bar))

    def _note(self, statement: Statement, verdict: Verdict) -> None:
        by, text = statement.by, statement.text
        if verdict.outcome == Outcome.AMBIGUOUS:
            ids = tuple(unit.id for unit in verdict.units)
            self.ambiguous.append(Ambiguity(text, by.id, ids, verdict.scores[0]))
            return
        closes = verdict.outcome == Outcome.CLOSES
        kind, done = (ValidityKind.CLOSED, self.closed) if closes else (ValidityKind.AMENDED, self.amended)
        for unit, score in zip(verdict.units, verdict.scores, strict=True):
            moment = max(by.mentioned_at, unit.mentioned_at)
            self.events.append(ValidityEvent(unit.id, kind, moment, by.id, text))
            done.append(Withdrawal(unit.id, by.id, text, score))

    def _closers(self, unit_id: str) -> set[str]:
        """Units that closed one in this run."""
        return {done.by_unit for done in self.closed if done.unit_id == unit_id}

    def _earlier(self, position: int, vector: Vector) -> Iterator[Candidate]:
        """Earlier drafts of the same write set that come from other messages, nearest first."""
        by = self.batch.drafts[position].unit
        cosines = self.batch.vectors[:position] @ vector
        for other in np.argsort(-cosines, kind="stable")[:CANDIDATES].tolist():
            draft = self.batch.drafts[other]
            if draft.unit.fact_type in RETRACTABLE and precedes(draft.unit, by) and reaches(by, draft.unit):
                names, people = draft_names(draft, self.batch.speakers)
                closers = frozenset(self._closers(draft.unit.id))
                yield Candidate(
                    unit=draft.unit,
                    cosine=float(cosines[other]),
                    vector=self.batch.vectors[other],
                    names=names,
                    people=people,
                    closed=bool(closers),
                    closed_by=closers,
                )

    def _known(self, statement: Statement, vector: Vector) -> Iterator[Candidate]:
        """The bank's units nearest to a statement by meaning and words."""
        view, by = self.view, statement.by
        rows = search(view, statement, vector)
        units, entities = view.ledger.units(view.bank, rows), view.ledger.entities_of(view.bank, rows)
        vectors = view.ledger.vectors_of(view.bank, rows)
        for row in rows.tolist():
            unit = units.get(row)
            if unit is None or row not in vectors or not precedes(unit, by):
                continue
            names, people = entity_names(entities.get(row, ()))
            closers = frozenset(self._closers(unit.id) | self._closed_by(unit, by))
            closed = bool(closers) or over_by(unit.closed_at, by.mentioned_at)
            yield Candidate(
                unit=unit,
                cosine=float(vectors[row] @ vector),
                vector=vectors[row],
                names=names,
                people=people,
                closed=closed,
                closed_by=closers,
            )

    def _closed_by(self, unit: MemoryUnit, by: MemoryUnit) -> set[str]:
        """Units that had closed one by the time of the statement."""
        if not over_by(unit.closed_at, by.mentioned_at):
            return set()
        log = self.view.ledger.validity(self.view.bank, unit.id)
        return {event.by_unit for event in log if event.kind == ValidityKind.CLOSED and event.by_unit}


def search(view: BankView, statement: Statement, vector: Vector) -> IntArray:
    """Row ids a statement may mean, best first: hybrid search over what its tags can see and was mentioned by then."""
    columns, by = view.columns, statement.by
    mask = (
        mentioned_by(columns, by.mentioned_at)
        & of_types(columns, RETRACTABLE)
        & tagged(columns, by.tags, TagsMatch.ANY)
    )
    selected = Selection(mask, int(mask.sum()))
    lists: dict[Channel, IntArray] = {}
    if "vector" in view.failures:  # the exact scorer holds the same vectors
        lists[Channel.SEMANTIC] = view.scorer.search_among(vector, columns.ids[mask], CANDIDATES).ids
    else:
        lists[Channel.SEMANTIC] = semantic_channel(view, selected, vector, limit=CANDIDATES, floor=-1.0).ids
    if "keyword" not in view.failures:
        lists[Channel.KEYWORD] = keyword_channel(view, selected, statement.text, limit=CANDIDATES).ids
    return reciprocal_rank_fusion(lists)[0][:CANDIDATES]


def precedes(unit: MemoryUnit, by: MemoryUnit) -> bool:
    """Whether a unit can be what another one withdraws: mentioned no later, and not of the same messages."""
    same_messages = unit.thread == by.thread and bool(set(unit.sources) & set(by.sources))
    same_passage = not by.sources and unit.document_id == by.document_id and unit.chunk == by.chunk
    said_before = no_later(unit.mentioned_at, by.mentioned_at)
    return unit.id != by.id and said_before and not same_messages and not same_passage


def reaches(by: MemoryUnit, unit: MemoryUnit) -> bool:
    """Whether a recall with the stating unit's tags would see the unit: nobody withdraws what they cannot see."""
    return not by.tags or tags_select(frozenset(unit.tags), frozenset(by.tags), TagsMatch.ANY)


def over_by(moment: datetime | None, by: datetime) -> bool:
    """Whether something ended by a moment, the moment's own second included."""
    return moment is not None and no_later(moment, by)


def draft_names(draft: Draft, speakers: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Normalised names of a draft's entities: things, and people who are user, agent or speaker."""
    said = {normalise_name(mention.text) for mention in draft.mentions} - {""}
    talking = USER_NAMES | AGENT_NAMES | {normalise_name(speaker) for speaker in speakers}
    return frozenset(said - talking), frozenset(said & talking)


def entity_names(entities: Sequence[Entity]) -> tuple[frozenset[str], frozenset[str]]:
    """Normalised names of a unit's entities: things, and people who are user, agent or speaker."""
    things = {name for entity in entities if entity.role == EntityRole.NONE for name in entity.names}
    people = {name for entity in entities if entity.role != EntityRole.NONE for name in entity.names}
    return frozenset(things), frozenset(people)
