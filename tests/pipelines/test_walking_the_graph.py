"""The sources of a memory, and its surroundings in the memory graph."""

from __future__ import annotations

from typing import Any

import pytest

from hindsight_integrations import Hindsight, InvalidRequest, MemoryBank
from hindsight_integrations.model.links import LinkType

FACTS: list[dict[str, Any]] = [
    {
        "what": "Mia broke her ankle on the stairs.",
        "fact_type": "world",
        "sources": ["m1"],
        "entities": [{"text": "Mia", "type": "PERSON"}],
    },
    {
        "what": "Mia cancelled the trip to Oslo.",
        "fact_type": "world",
        "sources": ["m2"],
        "entities": [{"text": "Mia", "type": "PERSON"}, {"text": "Oslo", "type": "LOCATION"}],
        "causal_relations": [{"target_fact_index": 0, "relation_type": "caused_by"}],
    },
    {
        "what": "Oslo has a new opera house.",
        "fact_type": "world",
        "sources": ["m3"],
        "entities": [{"text": "Oslo", "type": "LOCATION"}],
    },
    {"what": "Bread needs salt.", "fact_type": "world", "sources": ["m4"], "entities": []},
]
MESSAGES = [
    {"content": f"message {n}", "id": f"m{n}", "timestamp": f"2024-0{n}-01T10:00:00Z"} for n in range(1, 5)
]


@pytest.fixture
def bank(light: Hindsight) -> MemoryBank:
    bank = light.bank("walk")
    bank.retain(MESSAGES, thread="chat", facts=FACTS)
    return bank


def ids(bank: MemoryBank) -> dict[str, str]:
    return {unit.text: unit.id for unit in bank.iterate_units()}


def test_a_memory_names_the_messages_it_came_from(bank: MemoryBank) -> None:
    """The sources of a memory are the messages that the caller retained, with speaker and time."""
    (turn,) = bank.sources(ids(bank)["Mia cancelled the trip to Oslo."])
    assert (turn.thread, turn.message_id, turn.text, turn.said_at.month) == ("chat", "m2", "message 2", 2)
    with pytest.raises(InvalidRequest, match="not in bank"):
        bank.sources("nothing")


def test_the_graph_is_walked_from_a_memory_outwards(bank: MemoryBank) -> None:
    """The nearest memories come first, with the causal link and the entities that connect them."""
    names = ids(bank)
    found = bank.neighbours(names["Mia broke her ankle on the stairs."])
    assert [unit.text for unit in found.units] == [fact["what"] for fact in FACTS[:3]]
    assert [entity.name for entity in found.entities] == ["Mia", "Oslo"]
    causal = [link for link in found.links if link.type is LinkType.CAUSAL]
    assert [{link.source, link.target} for link in causal] == [
        {names[FACTS[0]["what"]], names[FACTS[1]["what"]]}
    ]
    mentions = {(unit, entity) for unit, entity in found.mentions}
    oslo = next(entity.id for entity in found.entities if entity.name == "Oslo")
    assert {unit for unit, entity in mentions if entity == oslo} == {
        names[fact["what"]] for fact in FACTS[1:3]
    }
    assert found.complete


def test_the_graph_is_walked_from_an_entity_and_cut_at_the_limit(bank: MemoryBank) -> None:
    """An entity can be the start too; a result that was cut says so and has no links to left-out nodes."""
    found = bank.neighbours(entity="Oslo", limit=2)
    assert [entity.name for entity in found.entities] == ["Oslo"]
    assert [unit.text for unit in found.units] == ["Oslo has a new opera house."]
    assert not found.links
    assert not found.complete
    assert bank.neighbours(entity="Oslo").complete


def test_a_walk_starts_at_exactly_one_node(bank: MemoryBank) -> None:
    """Neither zero nor two starts are accepted."""
    with pytest.raises(InvalidRequest, match="exactly one start"):
        bank.neighbours()
    with pytest.raises(InvalidRequest, match="exactly one start"):
        bank.neighbours("x", entity="Oslo")
