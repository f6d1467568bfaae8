"""Multi-hop: a memory two entities away from the question, in other words, is found by the graph and returned."""

from __future__ import annotations

from typing import Any

import pytest

from hindsight_integrations import Channel, Hindsight, MemoryBank, RecalledUnit

Chain = list[tuple[str, dict[str, str]]]

CHAIN: Chain = [
    ("Alice reports to Priya Nair", {"Alice": "PERSON", "Priya Nair": "PERSON"}),
    ("Priya Nair leads the Falcon group", {"Priya Nair": "PERSON", "Falcon group": "ORGANIZATION"}),
    ("Falcon group shipped the payment gateway in March", {"Falcon group": "ORGANIZATION"}),
]
LIVE = "Falcon group put the payment gateway live in March"  # no word of the question, not even its stem
REWORDED: Chain = [*CHAIN[:2], (LIVE, CHAIN[2][1])]
QUESTION = "What did Alice's manager's team ship?"
PUMP = "repaired the water pump"
TEAMS = ["Heron", "Osprey", "Kestrel", "Merlin", "Harrier", "Buzzard", "Goshawk", "Condor"]


def fact(what: str, entities: dict[str, str]) -> dict[str, Any]:
    return {"what": what, "entities": [{"text": name, "type": kind} for name, kind in entities.items()]}


def others(words: str) -> list[dict[str, Any]]:
    """300 facts about other people and groups, ten of them with these words, and 20 about Alice; none leads to Falcon."""
    rows = []
    for n in range(100):
        person, leader, group = f"Worker{n} Stone", f"Boss{n} Hill", f"{TEAMS[n % 8]}{n} group"
        rows += [
            fact(f"{person} reports to {leader}", {person: "PERSON", leader: "PERSON"}),
            fact(f"{leader} leads the {group}", {leader: "PERSON", group: "ORGANIZATION"}),
            fact(f"{group} {words if n % 10 == 0 else PUMP} number {n}", {group: "ORGANIZATION"}),
        ]
    return rows + [fact(f"Alice painted garden fence panel {n}", {"Alice": "PERSON"}) for n in range(20)]


def filled(bank: MemoryBank, chain: Chain, *, words: str = PUMP) -> MemoryBank:
    """The facts of the chain are days apart, so that no temporal link connects them; the others are hours apart."""
    rows = [*others(words), *(fact(what, entities) for what, entities in chain)]
    days = [1 + n % 20 for n in range(320)] + [5, 12, 25]
    messages = [
        {"content": row["what"], "id": str(n), "timestamp": f"2024-04-{days[n]:02d}T{n % 24:02d}:00"}
        for n, row in enumerate(rows)
    ]
    bank.retain(messages, facts=[{**row, "sources": [str(n)]} for n, row in enumerate(rows)])
    return bank


@pytest.fixture(params=["light", "real"])
def engine(request: pytest.FixtureRequest) -> Hindsight:
    found = request.getfixturevalue(request.param)
    assert isinstance(found, Hindsight)
    return found


def recalled(bank: MemoryBank, query: str, **options: Any) -> dict[str, RecalledUnit]:
    return {item.unit.text: item for item in bank.recall(query, **options).units}


def test_the_end_of_the_chain_is_found_by_the_graph_alone(engine: Hindsight) -> None:
    """The fact about Alice's manager's team shares no word with the question, fits into 200 tokens and is found by the graph only."""
    found = recalled(filled(engine.bank("work"), REWORDED), QUESTION, max_tokens=200)
    assert set(found[LIVE].channels) == {Channel.GRAPH}
    assert found[LIVE].channels[Channel.GRAPH].rank == 3
    assert {what for what, _ in CHAIN[:2]} <= set(found)


def test_without_the_fact_between_nothing_leads_there(engine: Hindsight) -> None:
    """Without the fact about the group's leader, the end of the chain is not returned."""
    bank = filled(engine.bank("work"), [REWORDED[0], REWORDED[2]])
    assert LIVE not in recalled(bank, QUESTION, max_tokens=200)


def test_the_chain_wins_against_facts_in_the_words_of_the_question(engine: Hindsight) -> None:
    """Ten facts with the words team, manager and ship do not displace the right one from 200 tokens."""
    words = "told its manager what the team will ship in box"
    found = recalled(filled(engine.bank("work"), CHAIN, words=words), QUESTION, max_tokens=200)
    assert found[CHAIN[2][0]].channels[Channel.GRAPH].rank == 3


@pytest.mark.parametrize(
    "query",
    [
        "Alice\u2019s manager\u2019s team: what became of it?",
        "What's Alice's manager's team's latest work?",
        "tell me about Alice's manager's team",
    ],
)
def test_a_chain_is_read_however_it_is_written(light: Hindsight, query: str) -> None:
    """Curly apostrophes, a leading "What's" and a third step lead to the same fact."""
    found = recalled(filled(light.bank("work"), REWORDED), query, max_tokens=200)
    assert Channel.GRAPH in found[LIVE].channels


def test_a_what_is_question_is_no_chain(light: Hindsight) -> None:
    """ "What's Alice's ..." has one possessive: facts that match the question's words rank before more distant ones."""
    found = list(recalled(filled(light.bank("work"), REWORDED), "What's Alice's garden fence like?", k=10))
    assert all(text.startswith("Alice painted garden fence") for text in found)
