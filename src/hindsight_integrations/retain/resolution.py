"""Entity resolution: map mentions to canonical entities (paper section 4.1.3, eq. 2). Pure."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from hindsight_integrations.language.names import (
    AGENT_NAMES,
    USER_NAMES,
    compatible,
    contains_name,
    name_similarity,
    one_edit_apart,
    same_numbers,
)
from hindsight_integrations.model.entities import Entity, EntityMention, EntityRole, EntityType
from hindsight_integrations.model.names import blocking_keys, normalise_name
from hindsight_integrations.model.units import NAMESPACE
from hindsight_integrations.model.writes import EntityWrite, MentionWrite
from hindsight_integrations.retain.drafts import UnitDraft

# The paper gives no values for eq. 2; these are from the authors' server.
NAME_WEIGHT, COOCCURRENCE_WEIGHT, RECENCY_WEIGHT = 0.5, 0.3, 0.2  # alpha, beta, gamma
MERGE_THRESHOLD = 0.6
RECENCY_DAYS = 7.0
CANDIDATES = 20  # maximum number of candidates from the same block compared per name

Lookup = Callable[[Sequence[str]], Mapping[str, list[Entity]]]
"""A function that maps normalised names to the known entities in the same block (`ledger.entities.candidates`)."""

Neighbours = Callable[[Sequence[str]], Mapping[str, frozenset[str]]]
"""A function that maps entity ids to the names mentioned together with each (`ledger.entities.neighbours`)."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """New or extended entities, and the entities each unit mentions."""

    entities: tuple[EntityWrite, ...]
    mentions: tuple[MentionWrite, ...]


@dataclass(slots=True)
class _Known:
    """An entity during one resolution: loaded from the bank or newly created."""

    entity: Entity
    names: set[str]
    added: set[str] = field(default_factory=set)
    fresh: bool = False
    role: EntityRole = EntityRole.NONE


def cooccurrence(met: frozenset[str], nearby: frozenset[str]) -> float:
    """Return sim_co of paper eq. 2: the share of nearby names that the entity was mentioned with before, in [0, 1]."""
    return len(met & nearby) / len(nearby) if nearby else 0.0


def recency(entity: Entity, moment: datetime) -> float:
    """Return sim_temp of paper eq. 2: 1 - days/7 since the last mention, 0 after a week."""
    if entity.last_seen is None:
        return 0.0
    days = abs((moment - entity.last_seen).total_seconds()) / 86_400
    return max(0.0, 1.0 - days / RECENCY_DAYS)


def merge_score(
    name: str, entity: Entity, *, met: frozenset[str], nearby: frozenset[str], moment: datetime
) -> float:
    """Compute paper eq. 2 for one mention and one candidate, in [0, 1].

    Args:
        name: the normalised mention.
        entity: the candidate.
        met: the names that were mentioned with the candidate before.
        nearby: the other names in the same fact.
        moment: the mention time of the fact.
    """
    similarity = max((name_similarity(name, known) for known in entity.names), default=0.0)
    return (
        NAME_WEIGHT * similarity
        + COOCCURRENCE_WEIGHT * cooccurrence(met, nearby)
        + RECENCY_WEIGHT * recency(entity, moment)
    )


def may_merge(name: str, known: str, kind: EntityType) -> bool:
    """Return whether two names may denote one entity.

    Their numbers must be equal, and they must be one edit apart or, for people, one must be a short form of the other.
    """
    if not same_numbers(name, known):
        return False
    return one_edit_apart(name, known) or (kind == EntityType.PERSON and contains_name(name, known))


def resolve(
    drafts: Sequence[UnitDraft], lookup: Lookup, met: Neighbours, *, bank: str, speakers: frozenset[str]
) -> Resolution:
    """Map every mention of the drafts to one canonical entity, and create missing entities.

    Args:
        drafts: drafts in order; earlier mentions become candidates for later ones.
        lookup: the function that finds the known entities in the same block.
        met: the function that finds the names mentioned with known entities; called only if a merge depends on it.
        bank: the id of the bank; part of the entity ids.
        speakers: the names of the conversation's speakers, whose entities get the role SPEAKER (or USER, AGENT).
    """
    names = sorted({normalise_name(m.text) for draft in drafts for m in draft.mentions} - {""})
    resolver = _Resolver(bank, {normalise_name(s) for s in speakers}, lookup(names) if names else {}, met)
    mentions: dict[tuple[str, str], MentionWrite] = {}
    for draft in drafts:
        nearby = frozenset(normalise_name(m.text) for m in draft.mentions)
        for mention in draft.mentions:
            known = resolver.resolve(mention, nearby, draft.unit.mentioned_at)
            if known:
                key = (draft.unit.id, known.entity.id)
                mentions.setdefault(key, MentionWrite(draft.unit.id, known.entity.id, mention.text))
    return Resolution(tuple(resolver.writes()), tuple(mentions.values()))


class _Resolver:
    """The state of one resolution: the bank's candidates and the entities created so far, indexed by block."""

    def __init__(
        self, bank: str, speakers: set[str], candidates: Mapping[str, list[Entity]], met: Neighbours
    ) -> None:
        self._bank, self._speakers, self._met = bank, speakers, met
        self._by_id: dict[str, _Known] = {}
        self._candidates = {
            name: [
                self._by_id.setdefault(entity.id, _Known(entity, set(entity.names), role=entity.role))
                for entity in entities
            ]
            for name, entities in candidates.items()
        }
        self._fresh_blocks: dict[str, list[_Known]] = {}

    def resolve(self, mention: EntityMention, nearby: frozenset[str], moment: datetime) -> _Known | None:
        name = normalise_name(mention.text)
        if not name:
            return None
        role = self._role(name)
        kind = EntityType.PERSON if role else mention.type
        candidates = self._candidates_of(name)
        match = self._exact(name, kind, mention.text, candidates) or self._inexact(
            name, kind, nearby - {name}, moment, candidates
        )
        known = match or self._create(mention.text.strip(), name, kind, moment)
        if name not in known.names:
            known.names.add(name)
            known.added.add(name)
            self._index(name, known)
        known.role = known.role or role
        return known

    def writes(self) -> Iterable[EntityWrite]:
        for known in self._by_id.values():
            entity = known.entity
            role = known.role if known.role != entity.role else EntityRole.NONE
            if known.fresh or known.added or role:
                first = entity.names[:1] if known.fresh else ()
                yield EntityWrite(
                    entity.id, entity.name, entity.type, (*first, *sorted(known.added - set(first))), role
                )

    def _role(self, name: str) -> EntityRole:
        if name in USER_NAMES:
            return EntityRole.USER
        if name in AGENT_NAMES:
            return EntityRole.AGENT
        return EntityRole.SPEAKER if name in self._speakers else EntityRole.NONE

    def _candidates_of(self, name: str) -> list[_Known]:
        candidates = {known.entity.id: known for known in self._candidates.get(name, [])}
        for block in blocking_keys(name):
            candidates.update((known.entity.id, known) for known in self._fresh_blocks.get(block, []))
        return list(candidates.values())

    def _exact(self, name: str, kind: EntityType, written: str, candidates: list[_Known]) -> _Known | None:
        fitting = [k for k in candidates if name in k.names and self._same_kind(k.entity, kind, written)]
        return max(
            fitting, key=lambda k: (k.entity.type == kind, k.entity.mentions, k.entity.id), default=None
        )

    @staticmethod
    def _same_kind(entity: Entity, kind: EntityType, written: str) -> bool:
        # Names with the same letters match across types only if both or neither is a common noun.
        one_is_common = written.strip().islower() != entity.name.islower()
        return (
            entity.type == kind
            if one_is_common and entity.type != EntityType.PERSON
            else compatible(entity.type, kind)
        )

    def _inexact(
        self, name: str, kind: EntityType, nearby: frozenset[str], moment: datetime, candidates: list[_Known]
    ) -> _Known | None:
        fitting = [
            k
            for k in candidates
            if compatible(k.entity.type, kind) and any(may_merge(name, known, kind) for known in k.names)
        ]
        if kind == EntityType.PERSON:
            forms = [k for k in fitting if any(contains_name(name, known) for known in k.names)]
            if forms:  # "Alice" alone is ambiguous if two full names contain it, and becomes a third entity
                return forms[0] if len(forms) == 1 else None
        # Two names in one fact denote different entities, even if they are as similar as Maria and Marie
        # (earlier paper 2.4.2).
        fitting = [k for k in fitting if not k.names & nearby]
        met = self._met([k.entity.id for k in fitting]) if fitting and nearby else {}
        scored = [
            (
                merge_score(
                    name, k.entity, met=met.get(k.entity.id, frozenset()), nearby=nearby, moment=moment
                ),
                k.entity.id,
                k,
            )
            for k in fitting
        ]
        best = max(scored, default=None, key=lambda item: item[:2])
        return best[2] if best and best[0] >= MERGE_THRESHOLD else None

    def _create(self, written: str, name: str, kind: EntityType, moment: datetime) -> _Known:
        identity = str(uuid.uuid5(NAMESPACE, "\x1e".join(("entity", self._bank, kind, name))))
        known = self._by_id.setdefault(
            identity, _Known(Entity(identity, written, kind, names=(name,), last_seen=moment), {name})
        )
        known.fresh = True
        self._index(name, known)
        return known

    def _index(self, name: str, known: _Known) -> None:
        for block in blocking_keys(name):
            self._fresh_blocks.setdefault(block, []).append(known)
