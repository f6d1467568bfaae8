"""Which held opinions a fact or a new opinion may bear on: shared entities or likeness (paper eq. 25)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from hindsight_integrations.indexes.spreading_activation import hub_degree
from hindsight_integrations.ledger.ledger import LedgerReader
from hindsight_integrations.model.arrays import Vector
from hindsight_integrations.model.embedder import Thresholds
from hindsight_integrations.model.entities import Entity, EntityRole
from hindsight_integrations.model.opinions import OpinionLog, OpinionVersion
from hindsight_integrations.reflect.opinions.evidence import held_wording


@dataclass(frozen=True, slots=True, eq=False)
class About:
    """What a memory is about, as far as candidates go.

    Attributes:
        telling: ids of the entities it mentions that few memories do.
        hubs: ids of those that many do; neither has the user, the agent and the speakers.
        vector: as stored (dimension,).
    """

    telling: frozenset[str]
    hubs: frozenset[str]
    vector: Vector


def may_bear_on(opinion: About, fact: About, thresholds: Thresholds) -> bool:
    """Whether an opinion is one of a fact's candidates: they share an entity, or are alike (paper eq. 25).

    A hub tells little, so that with it they must be worth a look as well.
    """
    cosine = float(opinion.vector @ fact.vector)
    if cosine > theta_of(thresholds) or not opinion.telling.isdisjoint(fact.telling):
        return True
    return cosine >= thresholds.channel_floor and not opinion.hubs.isdisjoint(fact.hubs)


def theta_of(thresholds: Thresholds) -> float:
    """The cosine of paper eq. 25: midway between what is worth a look and what is linked.

    An opinion tells of more than each of its facts does: measured, few facts are as near to it as two facts that are linked.
    """
    return (thresholds.channel_floor + thresholds.semantic_link) / 2


def about(entities: Iterable[Entity], vector: Vector, memories: int) -> About:
    """What a memory is about.

    Args:
        entities: that it mentions.
        vector: its own.
        memories: how many the bank holds.
    """
    most = hub_degree(memories)
    named = [entity for entity in entities if entity.role is EntityRole.NONE]
    return About(
        frozenset(entity.id for entity in named if entity.mentions <= most),
        frozenset(entity.id for entity in named if entity.mentions > most),
        vector,
    )


MOST_NEAR = 5  # opinions a new one is compared with, the most alike; a belief has few neighbours


@dataclass(frozen=True, slots=True, eq=False)
class HeldOpinion:
    """An opinion that is held.

    Attributes:
        log: it.
        wording: as it is worded now.
        about: what that is about.
    """

    log: OpinionLog
    wording: OpinionVersion
    about: About


def held_opinions(reader: LedgerReader, bank: str, logs: Sequence[OpinionLog]) -> list[HeldOpinion]:
    """Those of a bank's opinions that are held now; one whose vector cannot be read is left out."""
    worded = [(log, wording) for log in logs if (wording := held_wording(log))]
    places = reader.units.row_ids(bank, [wording.unit_id for _, wording in worded])
    rows = np.array(sorted(places.values()), np.int64)
    vectors, entities, memories = (
        reader.units.vectors(bank, rows),
        reader.entities.of_units(bank, rows),
        reader.units.count(bank),
    )
    found = []
    for log, wording in worded:
        row = places.get(wording.unit_id, -1)
        if row in vectors:
            found.append(HeldOpinion(log, wording, about(entities.get(row, ()), vectors[row], memories)))
    return found


def find_near(one: About, held: Sequence[HeldOpinion], thresholds: Thresholds) -> list[HeldOpinion]:
    """The opinions that may be about the same matter, the most similar first, at most five.

    They are as similar as linked memories, or share an entity and are not dissimilar. Hubs count here, since every memory of a
    small bank may be about its one subject.

    Args:
        one: what it is about.
        held: those that it may be shown with: their tags are its own.
        thresholds: of the embedder.
    """
    scored = []
    for each in held:
        cosine = float(each.about.vector @ one.vector)
        shares = bool((each.about.telling | each.about.hubs) & (one.telling | one.hubs))
        if cosine >= thresholds.semantic_link or (shares and cosine >= thresholds.channel_floor):
            scored.append((-cosine, each.log.id, each))
    return [each for _, _, each in sorted(scored, key=lambda found: found[:2])[:MOST_NEAR]]
