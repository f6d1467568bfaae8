"""Opinions for which a fact may be evidence (paper eq. 25): shared entities and similarity."""

from __future__ import annotations

import numpy as np
import pytest
from table import every_row

from hindsight_integrations.model.embedder import Thresholds
from hindsight_integrations.model.entities import Entity, EntityRole, EntityType
from hindsight_integrations.reflect.opinions.evidence import Topic, may_bear_on, theta_of, topic_of

THRESHOLDS = Thresholds(semantic_link=0.7, channel_floor=0.3, duplicate=0.9)


def topic(cosine: float, *telling: str, hubs: tuple[str, ...] = ()) -> Topic:
    """A topic whose vector has this cosine with that of a topic of cosine 1."""
    return Topic(frozenset(telling), frozenset(hubs), np.array([cosine, np.sqrt(1 - cosine**2)], np.float32))


def entity(name: str, mentions: int, role: EntityRole = EntityRole.NONE) -> Entity:
    return Entity(name, name, EntityType.PERSON, role, (name,), mentions)


@every_row(
    ("opinion", "fact", "found"),
    [
        (topic(1.0, "ferry"), topic(0.0, "ferry", "storm"), True),
        (topic(1.0, "ferry"), topic(0.0, "train"), False),
        (topic(1.0), topic(0.51), True),
        (topic(1.0), topic(0.49), False),
        (topic(1.0, hubs=("ferry",)), topic(0.31, hubs=("ferry",)), True),
        (topic(1.0, hubs=("ferry",)), topic(0.29, hubs=("ferry",)), False),
        (topic(1.0, hubs=("ferry",)), topic(0.31, hubs=("train",)), False),
    ],
)
def test_candidates(opinion: Topic, fact: Topic, found: bool) -> None:
    """A shared specific entity is enough; a hub also needs some similarity; similarity alone must be higher."""
    assert may_bear_on(opinion, fact, THRESHOLDS) is found
    assert theta_of(THRESHOLDS) == pytest.approx(0.5)


def test_who_is_everywhere_tells_nothing() -> None:
    """The user, the agent and speakers never count; an entity that many memories mention is a hub."""
    named = [
        entity("ferry", 3),
        entity("island", 40),
        entity("me", 3, EntityRole.USER),
        entity("bot", 3, EntityRole.AGENT),
        entity("ada", 3, EntityRole.SPEAKER),
    ]
    made = topic_of(named, np.ones(2, np.float32), 100)
    assert (made.telling, made.hubs) == (frozenset({"ferry"}), frozenset({"island"}))
