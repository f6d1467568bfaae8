"""Memories that a statement of withdrawal may mean: earlier drafts of the commit, and units of the bank.

Reads the bank, changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from hindsight_integrations.model.entities import Entity, EntityRole
from hindsight_integrations.model.names import normalise_name
from hindsight_integrations.model.requests import TagsMatch
from hindsight_integrations.model.time import no_later
from hindsight_integrations.model.units import FactType, MemoryUnit, ValidityKind
from hindsight_integrations.ports.arrays import IntArray, Matrix, Vector
from hindsight_integrations.search.bank_view import BankView
from hindsight_integrations.search.channels.selection import Selection
from hindsight_integrations.search.columns import mentioned_by, of_types, tagged, tags_select
from hindsight_integrations.search.hybrid import hybrid_search
from hindsight_integrations.tempr.retain.drafts import Draft
from hindsight_integrations.tempr.retain.retraction.similarity import Candidate, Statement
from hindsight_integrations.text.names import AGENT_NAMES, USER_NAMES

CANDIDATES = 20  # looked at per statement; the right one is nearly always the first hit on Memora
RETRACTABLE = (FactType.WORLD, FactType.EXPERIENCE)  # opinions are revised by evidence, observations derived


@dataclass(frozen=True, slots=True)
class Candidates:
    """Where the candidates of the statements of one commit are found.

    Attributes:
        drafts: the commit's, in order.
        vectors: theirs, (n, dimension).
        speakers: names of the conversation's speakers.
        view: the bank.
        closers: ids of the units that closed each unit in this commit so far; grows as statements are matched.
    """

    drafts: Sequence[Draft]
    vectors: Matrix
    speakers: frozenset[str]
    view: BankView
    closers: dict[str, set[str]] = field(default_factory=dict)

    def of(self, statement: Statement, vector: Vector, position: int) -> list[Candidate]:
        """The candidates of a statement that the draft at `position` makes; `vector` is the statement's."""
        return [*self._earlier(position, vector), *self._known(statement, vector)]

    def _earlier(self, position: int, vector: Vector) -> Iterator[Candidate]:
        """Earlier drafts that come from other messages, nearest first."""
        by = self.drafts[position].unit
        cosines = self.vectors[:position] @ vector
        for other in np.argsort(-cosines, kind="stable")[:CANDIDATES].tolist():
            draft = self.drafts[other]
            if draft.unit.fact_type in RETRACTABLE and precedes(draft.unit, by) and can_see(by, draft.unit):
                names, people = draft_names(draft, self.speakers)
                closers = frozenset(self.closers.get(draft.unit.id, ()))
                yield Candidate(
                    unit=draft.unit,
                    cosine=float(cosines[other]),
                    vector=self.vectors[other],
                    names=names,
                    people=people,
                    closed=bool(closers),
                    closed_by=closers,
                )

    def _known(self, statement: Statement, vector: Vector) -> Iterator[Candidate]:
        """The bank's units nearest to a statement by meaning and words."""
        view, by = self.view, statement.by
        rows = find(view, statement, vector)
        units, entities = view.ledger.units(view.bank, rows), view.ledger.entities_of(view.bank, rows)
        vectors = view.ledger.vectors_of(view.bank, rows)
        for row in rows.tolist():
            unit = units.get(row)
            if unit is None or row not in vectors or not precedes(unit, by):
                continue
            names, people = entity_names(entities.get(row, ()))
            closers = frozenset(self.closers.get(unit.id, set()) | self._closed_by(unit, by))
            closed = bool(closers) or ended_by(unit.closed_at, by.mentioned_at)
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
        if not ended_by(unit.closed_at, by.mentioned_at):
            return set()
        log = self.view.ledger.validity(self.view.bank, unit.id)
        return {event.by_unit for event in log if event.kind == ValidityKind.CLOSED and event.by_unit}


def find(view: BankView, statement: Statement, vector: Vector) -> IntArray:
    """Row ids a statement may mean, best first: hybrid search over what its tags can see and was mentioned by then."""
    columns, by = view.columns, statement.by
    mask = (
        mentioned_by(columns, by.mentioned_at)
        & of_types(columns, RETRACTABLE)
        & tagged(columns, by.tags, TagsMatch.ANY)
    )
    selected = Selection(mask, int(mask.sum()))
    return hybrid_search(view, selected, statement.text, vector, limit=CANDIDATES)[0][:CANDIDATES]


def precedes(unit: MemoryUnit, by: MemoryUnit) -> bool:
    """Whether a unit can be what another one withdraws: mentioned no later, and not of the same messages."""
    same_messages = unit.thread == by.thread and bool(set(unit.sources) & set(by.sources))
    same_passage = not by.sources and unit.document_id == by.document_id and unit.chunk == by.chunk
    mentioned_before = no_later(unit.mentioned_at, by.mentioned_at)
    return unit.id != by.id and mentioned_before and not same_messages and not same_passage


def can_see(by: MemoryUnit, unit: MemoryUnit) -> bool:
    """Whether a recall with the stating unit's tags would see the unit: nobody withdraws what they cannot see."""
    return not by.tags or tags_select(frozenset(unit.tags), frozenset(by.tags), TagsMatch.ANY)


def ended_by(moment: datetime | None, by: datetime) -> bool:
    """Whether something ended by a moment, the moment's own second included."""
    return moment is not None and no_later(moment, by)


def draft_names(draft: Draft, speakers: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Normalised names of a draft's entities: things, and people who are user, agent or speaker."""
    names = {normalise_name(mention.text) for mention in draft.mentions} - {""}
    talking = USER_NAMES | AGENT_NAMES | {normalise_name(speaker) for speaker in speakers}
    return frozenset(names - talking), frozenset(names & talking)


def entity_names(entities: Sequence[Entity]) -> tuple[frozenset[str], frozenset[str]]:
    """Normalised names of a unit's entities: things, and people who are user, agent or speaker."""
    things = {name for entity in entities if entity.role == EntityRole.NONE for name in entity.names}
    people = {name for entity in entities if entity.role != EntityRole.NONE for name in entity.names}
    return frozenset(things), frozenset(people)
