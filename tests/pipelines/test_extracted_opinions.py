"""Opinions in retained content: the agent's own are formed once, other people's are facts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from hindsight_integrations import (
    CausalRelation,
    FactType,
    Hindsight,
    HindsightConfig,
    LinkType,
    MemoryBank,
    Message,
)
from hindsight_integrations.model.links import LINK_CODES
from hindsight_integrations.model.opinions import OpinionOrigin
from hindsight_integrations.testing.doubles import HashEmbedder
from hindsight_integrations.testing.scripted_model import ScriptedModel

Opener = Callable[..., Hindsight]

TEAMS = "I believe remote teams need one fixed office day, because people meet by chance there."


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel([])


@pytest.fixture
def bank(opener: Opener, light_config: HindsightConfig, model: ScriptedModel) -> MemoryBank:
    return opener(model=model, config=light_config).bank("mira")


def fact(
    what: str, kind: str = "opinion", sources: tuple[str, ...] = ("m2",), **other: Any
) -> dict[str, Any]:
    return {"what": what, "fact_type": kind, "sources": list(sources), **other}


def talk(number: int) -> list[Message]:
    at = f"2024-05-{number:02}T10:00"
    return [
        Message("What about remote teams?", "Ana", f"{at}:00", id="m1"),
        Message("They need an office day.", "assistant", f"{at}:30", id="m2"),
    ]


def test_a_judgement_of_the_agents_becomes_an_opinion_without_evidence(
    bank: MemoryBank, model: ScriptedModel
) -> None:
    """Its confidence is 0.5, whatever the model claims; recall finds it, lists contain it, and its log is empty."""
    model.script.append({"facts": [fact(TEAMS, confidence=1.0), fact("Ana asked.", "world", ("m1",))]})
    result = bank.retain(talk(1), thread="t")
    assert result.counts == {FactType.WORLD: 1, FactType.OPINION: 1}
    (held,) = bank.opinions.list()
    assert (held.text, held.confidence, held.origin) == (TEAMS, 0.5, OpinionOrigin.EXTRACTION)
    assert bank.opinions.history(held.id).log.evidence == ()
    assert [found.unit.confidence for found in bank.recall("remote", types=["opinion"]).units] == [0.5]


def test_an_agent_that_repeats_its_opinion_fifty_times_holds_it_once(
    bank: MemoryBank, model: ScriptedModel
) -> None:
    """Across conversations and within one, the first is stored, and the others are reported as already held."""
    said = {"facts": [fact(TEAMS), fact(f"  {TEAMS.upper()} ")]}
    model.script += [said] * 50
    results = [bank.retain(talk(1 + number % 28), thread=f"t{number}") for number in range(50)]
    assert [result.created for result in results] == [1] + [0] * 49
    assert {dropped.reason for result in results[1:] for dropped in result.dropped} == {
        "the agent already holds this opinion"
    }
    (held,) = bank.opinions.list()
    assert (held.confidence, held.evidence) == (0.5, 0)


@pytest.mark.parametrize(
    "other",
    [
        TEAMS.replace("need", "do not need"),
        TEAMS.replace("one fixed", "3 fixed"),
        TEAMS.replace("people", "Ana and Bo"),
    ],
)
def test_another_opinion_in_nearly_the_same_words_is_another(
    opener: Opener, light_config: HindsightConfig, other: str
) -> None:
    """A negated opinion, and one with another number or other people, is stored separately although it is similar."""

    class OneVector:
        """An embedder that gives all texts the same vector."""

        def __init__(self, real: Any) -> None:
            self._real = real

        def __getattr__(self, name: str) -> Any:
            return getattr(self._real, name)

        def embed_documents(self, texts: Any) -> Any:
            return self._real.embed_documents(["the same"] * len(texts))

        def embed_query(self, text: str) -> Any:
            return self._real.embed_query("the same")

    bank = opener(config=light_config, embeddings=OneVector(HashEmbedder())).bank("mira")
    kept = [TEAMS, other, TEAMS.replace("fixed", "given")]
    for number, text in enumerate(kept):
        bank.retain(f"{number}", facts=[{"what": text, "fact_type": "opinion"}])
    assert {held.text for held in bank.opinions.list()} == {TEAMS, other}


def test_what_only_a_person_said_is_of_the_world(bank: MemoryBank, model: ScriptedModel) -> None:
    """If a model calls a user's view an opinion, it does not become the agent's."""
    claim = "I believe that all opinions have confidence 1, because the system says so."
    model.script.append({"facts": [fact(claim, sources=("m1",)), fact(TEAMS, sources=("m1", "m2"))]})
    result = bank.retain(talk(1), thread="t")
    assert result.counts == {FactType.WORLD: 1, FactType.OPINION: 1}
    assert [held.text for held in bank.opinions.list()] == [TEAMS]


def test_given_opinions_keep_the_confidence_given(bank: MemoryBank) -> None:
    """Without a confidence, it is 0.5; an invalid confidence is rejected."""
    bank.retain(
        "a",
        facts=[
            fact(TEAMS, sources=(), confidence=0.9),
            fact("I trust Ana, because she is kind.", sources=()),
        ],
    )
    assert {(held.text, held.confidence, held.origin) for held in bank.opinions.list()} == {
        (TEAMS, 0.9, OpinionOrigin.GIVEN),
        ("I trust Ana, because she is kind.", 0.5, OpinionOrigin.GIVEN),
    }
    with pytest.raises(ValueError, match="confidence"):
        bank.retain("b", facts=[fact("I doubt Bo, because he lies.", sources=(), confidence=7)])


def test_other_facts_keep_their_causes_when_an_opinion_is_dropped(
    bank: MemoryBank, model: ScriptedModel
) -> None:
    """Causal references by position still connect the same two facts."""
    because = {"target_fact_index": 2, "relation_type": "caused_by"}
    first = [fact(TEAMS)]
    second = [
        fact(TEAMS),
        fact("Ana missed her train.", "world", ("m1",), causal_relations=[because]),
        fact("A storm stopped all trains.", "world", ("m1",)),
    ]
    model.script += [{"facts": first}, {"facts": second}]
    bank.retain(talk(1), thread="t1")
    missed, storm = bank.retain(talk(2), thread="t2").unit_ids
    context = bank.asynchronous._context
    rows = context.ledger.units.row_ids("mira", [missed, storm])
    places = np.array(sorted(rows.values()), np.int64)
    _, counts = context.ledger.units.link_ends(
        "mira", places, places, LINK_CODES[LinkType.CAUSAL, CausalRelation.CAUSED_BY]
    )
    assert counts == dict.fromkeys(rows.values(), 1)
