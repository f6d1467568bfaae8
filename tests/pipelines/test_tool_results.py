"""A tool's result as a memory: found like others, and not a person's statement."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from hindsight_integrations import FactType, Hindsight, Message
from hindsight_integrations.model.facts import ExtractedFact
from hindsight_integrations.model.turns import Role, SourceTurn
from hindsight_integrations.reflect.opinions.evidence import sources_of
from hindsight_integrations.retain.drafts import as_extracted


def result(text: str) -> Message:
    return Message(text, "tool notes", "2024-05-02T09:00", "t1", Role.TOOL)


def test_a_tools_result_is_found_and_its_tool_is_no_person(light: Hindsight) -> None:
    """Recall finds a tool's result as a world fact; the tool is not an entity."""
    bank = light.bank("ann")
    bank.retain([result("read() returned: Marta keeps bees in Ghent.")], thread="t")
    (found,) = bank.recall("Who keeps bees?").units
    assert found.text == "tool notes: read() returned: Marta keeps bees in Ghent."
    assert found.unit.fact_type is FactType.WORLD
    assert not [entity for entity in bank.entities.list() if "tool" in entity.name.casefold()]


def test_a_tools_result_is_no_evidence_of_an_opinion(light: Hindsight) -> None:
    """Tool results neither reinforce nor weaken an opinion of the agent."""
    bank = light.bank("ann")
    bank.retain([result("Remote work is the best there is.")], thread="t")
    (found,) = bank.recall("remote work").units
    turn = SourceTurn("t", "t1", found.text, "tool notes", Role.TOOL, datetime(2024, 5, 2, tzinfo=UTC))
    assert sources_of(found.unit, [turn]) == ()
    assert sources_of(found.unit, [turn, replace(turn, speaker="Ann", role=Role.USER)]) == ("ann",)


def test_an_opinion_in_a_tools_result_is_not_the_agents() -> None:
    """A review that a tool returned contains its author's opinion; the agent forms none by reading it."""
    fact = ExtractedFact(what="Remote work is best.", fact_type=FactType.OPINION, sources=["t1"])
    assert as_extracted(fact, {"t1": result("Remote work is best.")}).fact_type is FactType.WORLD
