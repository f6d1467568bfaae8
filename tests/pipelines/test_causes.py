"""Questions for a cause: the graph channel follows causal links, independently of the words."""

from __future__ import annotations

from typing import Any

import pytest

from hindsight_integrations import Channel, Hindsight

FACTS: list[dict[str, Any]] = [
    {"what": "The orchard fair was called off.", "sources": ["m1"]},
    {
        "what": "A burst water main flooded the lower meadow.",
        "sources": ["m1"],
        "causal_relations": [{"target_fact_index": 0, "relation_type": "causes"}],
    },
    {"what": "The choir sang in the chapel.", "sources": ["m1"]},
]


@pytest.mark.parametrize("engine", ["light", "real"])
def test_why_reaches_the_cause_in_other_words(engine: str, request: pytest.FixtureRequest) -> None:
    """ "burst water main" shares no word with the question; its causal link to the fair is the only one that is followed."""
    hindsight: Hindsight = request.getfixturevalue(engine)
    bank = hindsight.bank("village")
    bank.retain([{"role": "user", "content": "What a week.", "id": "m1"}], facts=FACTS)
    found = {
        item.unit.text: item.channels for item in bank.recall("why was the orchard fair called off").units
    }
    assert Channel.GRAPH in found[FACTS[1]["what"]]
    assert Channel.GRAPH not in found.get(FACTS[2]["what"], {})
