"""The reasons of an opinion: its history reproduces its confidence, and answers lead to their sources.

Forgotten facts leave neither confidence nor text behind.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from opinionated_banks import (
    BELIEF,
    GROUND,
    QUESTION,
    SORREL,
    Agent,
    answering,
    assessing,
    config,
    form,
    held,
    lines,
    log_of,
    say,
)
from replayed_confidence import replayed

from hindsight_integrations import Hindsight, MemoryBank
from hindsight_integrations.config import ObservationConfig
from hindsight_integrations.model.units import FactType

START = 0.6
TOKEN = "zyxquorl"  # noqa: S105 - a word like no other
FACTS = (
    ("The Sorrel ferry sailed on time in the storm of 2 March.", "Ann", ("reinforce", "strong")),
    ("The Sorrel ferry stayed in port on 9 March, when the wind was light.", "Bob", ("contradict", "mild")),
    ("The Sorrel ferry was two hours late on 11 March.", "Eve", ("weaken", "strong")),
    ("The Sorrel ferry sailed on time in the storm of 2 March.", "Ann", ("reinforce", "strong")),
)


def verdict(_: str, fact: str) -> tuple[str, str]:
    return next((how for text, _, how in FACTS if text == fact), ("neutral", "mild"))


def engine_of(opener: Callable[..., Hindsight], agent: Agent, path: str | Path = ":memory:") -> Hindsight:
    return opener(path, model=agent, config=config())


@pytest.fixture
def bank(opener: Callable[..., Hindsight]) -> MemoryBank:
    """An opinion, and four facts for and against it."""
    agent = Agent({"answer": answering(BELIEF, START), "assess_evidence": assessing(verdict)})
    bank = engine_of(opener, agent).bank("harbour")
    form(bank)
    for day, (text, speaker, _) in enumerate(FACTS, 2):
        say(bank, text, by=speaker, day=day, entities=SORREL)
        bank.tasks.settle()
    return bank


def audited(bank: MemoryBank, **moment: Any) -> float:
    """The confidence of the bank's opinion, which is the same everywhere and equals an independent computation from its history."""
    opinion = log_of(bank).id
    history = bank.opinions.history(opinion, **moment)
    expected = float(replayed(history.log, **moment))
    assert bank.opinions.get(opinion, **moment).confidence == pytest.approx(expected)
    assert history.confidence == pytest.approx(expected)
    before = [history.log.confidence, *(entry.after for entry in history.entries)]
    assert [entry.before for entry in history.entries] == before[:-1]
    assert before[-1] == history.confidence
    return expected


@pytest.mark.promise(
    "An opinion's confidence is the same as if its evidence had been delivered exactly once, even if it is delivered twice, late, or interrupted by a kill."
)
def test_the_history_gives_the_confidence_from_nothing(bank: MemoryBank) -> None:
    """At each revision and each day: in `opinions`, in recall, by id, and at the end of the trajectory."""
    now = audited(bank)
    assert now == pytest.approx(0.6 + 0.15 - 0.15 - 0.15)
    opinion = held(bank)
    assert bank.get(opinion.unit_id).confidence == pytest.approx(now)
    recalled = [item.unit for item in bank.recall(QUESTION, types=["opinion"]).units]
    assert {unit.id: unit.confidence for unit in recalled} == pytest.approx({opinion.unit_id: now})
    assert bank.opinions.trajectory(opinion.id)[-1].after == pytest.approx(now)
    log = log_of(bank)
    by_revision = [
        audited(bank, as_of_revision=row.revision)
        for row in sorted(log.evidence, key=lambda row: row.revision)
    ]
    assert by_revision == pytest.approx([0.75, 0.6, 0.45, 0.45])


def test_what_is_withdrawn_and_restored_stops_counting_and_counts_again(bank: MemoryBank) -> None:
    """If a source repeated a statement, the other memory replaces a withdrawn one; closed, it stays in the history and changes nothing; restored, it counts again. Each day is returned as it was."""
    first, second = (row.unit_id for row in log_of(bank).evidence if row.sources == ("ann",))
    bank.forget(unit=first)
    assert audited(bank) == pytest.approx(0.45)
    withdrawn = say(
        bank, "The Sorrel ferry did not sail on 2 March.", day=120, entities=SORREL, invalidates=[FACTS[0][0]]
    )
    bank.tasks.settle()
    assert bank.get(second).closed_at is not None
    assert audited(bank) == pytest.approx(0.3)
    assert [
        row.evidence.unit_id for row in bank.opinions.history(log_of(bank).id).entries if not row.counts
    ] == [second]
    assert audited(bank, as_of=datetime(2024, 6, 20, tzinfo=UTC)) == pytest.approx(0.45)
    bank.restore(second)
    bank.forget(unit=withdrawn)
    bank.tasks.settle()
    assert audited(bank) == pytest.approx(0.45)


def test_an_answer_leads_to_what_was_said(bank: MemoryBank) -> None:
    """Each citation is a memory that `get` finds, with its source turns, their text and their speakers."""
    reflection = bank.reflect(QUESTION)
    (citation,) = reflection.based_on
    assert citation.unit is not None
    assert bank.get(citation.unit.unit.id).text == GROUND
    assert [(turn.speaker, turn.text) for turn in citation.turns] == [("the harbour master", GROUND)]
    assert {turn.message_id for turn in citation.turns} == set(citation.unit.unit.sources)
    for change in reflection.opinions:
        assert change.opinion_id is not None
        for unit_id in bank.opinions.history(change.opinion_id).log.versions[0].based_on:
            assert bank.get(unit_id).fact_type in (FactType.WORLD, FactType.EXPERIENCE)


class Gossip:
    """Writes the secret's token into every answer whose prompt contains the token."""

    SECRET = f"The Sorrel ferry's captain {TOKEN} sailed on time in the storm of 2 March."
    OTHERS = (
        "The Sorrel ferry's captain sailed on time in the fog of 4 March.",
        "The Sorrel ferry's captain sailed on time in the rain of 6 March.",
        "The Sorrel ferry's captain sailed on time in the wind of 8 March.",
    )

    def __init__(self) -> None:
        self.agent = Agent(
            {
                "answer": self.answer,
                "assess_evidence": self.assess,
                "observe": self.observe,
                "relate_opinions": self.relate,
            }
        )

    def told(self, shown: str) -> str:
        return f" under captain {TOKEN}" if TOKEN in shown else ""

    def answer(self, shown: str) -> object:
        text = (
            f"I believe the Sorrel ferry is reliable{self.told(shown)}, because it sails on time in a storm."
        )
        memories = lines(shown, "MEMORIES")
        return {
            "text": f"It is reliable{self.told(shown)}.",
            "based_on": list(memories),
            "sufficient": True,
            "opinions": [
                {
                    "opinion": text,
                    "confidence": START,
                    "reasoning": f"It sails{self.told(shown)}.",
                    "based_on": [number for number, memory in memories.items() if TOKEN in memory]
                    or list(memories)[:1],
                    "entities": ["Sorrel"],
                }
            ],
        }

    def assess(self, shown: str) -> object:
        def verdict(opinion: str, fact: str) -> dict[str, str]:
            said = {
                "assessment": "reinforce",
                "strength": "mild",
                "reason": f"It sails on time{self.told(shown)}.",  # includes the other facts in the prompt
            }
            if TOKEN in fact and TOKEN not in opinion:
                said["rewording"] = (
                    f"I think the Sorrel ferry under captain {TOKEN} is reliable, because it sails on time."
                )
            return said

        return assessing(verdict)(shown)

    def observe(self, shown: str) -> object:
        facts = lines(shown, "FACTS")
        return {
            "observations": [
                {
                    "text": f"The Sorrel ferry sails on time{self.told(shown)}",
                    "facts": [int(n) for n in facts],
                }
            ]
        }

    def relate(self, shown: str) -> object:
        raise AssertionError(f"not asked in these tests: {shown}")


def opinions_text(bank: MemoryBank) -> str:
    """All texts of opinions, observations and mental models, and of their history."""
    served = [
        *(bank.opinions.history(opinion.id) for opinion in bank.opinions.list(include_closed=True)),
        *bank.recall(f"{QUESTION} {TOKEN}", include_invalidated=True, k=100),
        *(bank.entities.observations(entity.name) for entity in bank.entities.list()),
        *bank.mental_models.list(),
        *bank.tasks.list(),
    ]
    return str(list(map(asdict, served)))


def files_with(folder: Path, word: str) -> set[str]:
    """Names of files that contain a word, ignoring case."""
    return {
        path.name
        for path in folder.rglob("*")
        if path.is_file() and word.encode() in path.read_bytes().lower()
    }


@pytest.mark.directory
@pytest.mark.parametrize("formed_with_it", [True, False], ids=["a ground", "evidence that reworded"])
def test_forgetting_a_fact_forgets_what_was_made_of_it(
    opener: Callable[..., Hindsight],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    *,
    formed_with_it: bool,
) -> None:
    """Confidence is recomputed; opinions, observations and mental models worded from it are erased or restored to what they were; its word is in no file, archive, log, task or later prompt."""
    caplog.set_level("DEBUG")
    data, gossip = tmp_path / "data", Gossip()
    settings = replace(config(), observations=ObservationConfig(delay_s=0.0))
    bank = opener(data, model=gossip.agent, config=settings).bank("harbour")
    facts = [*gossip.OTHERS, gossip.SECRET] if formed_with_it else list(gossip.OTHERS)
    ids = {
        text: say(bank, text, by=f"guest {day}", day=day, entities=SORREL)
        for day, text in enumerate(facts, 1)
    }
    bank.reflect(QUESTION)
    if not formed_with_it:
        ids[gossip.SECRET] = say(bank, gossip.SECRET, by="Zoe", day=9, entities=SORREL)
    say(bank, "The Sorrel ferry sailed on time in the hail of 12 March.", by="Uma", day=12, entities=SORREL)
    bank.tasks.settle()
    bank.mental_models.create("ferry", QUESTION)
    bank.mental_models.refresh("ferry")
    told = opinions_text(bank)
    assert TOKEN in held(bank).text
    assert TOKEN in bank.mental_models.get("ferry").text
    assert any(TOKEN in text for text in gossip.agent.shown("observe"))
    assert told.count(TOKEN) > 5
    assert files_with(data, TOKEN)

    asked = len(gossip.agent.asked)
    receipt = bank.forget(unit=ids[gossip.SECRET])
    assert receipt.files_clean
    assert TOKEN not in opinions_text(bank)
    assert files_with(data, TOKEN) == set()
    if formed_with_it:
        assert bank.opinions.list(include_closed=True) == []
    else:
        assert (
            held(bank).text == "I believe the Sorrel ferry is reliable, because it sails on time in a storm."
        )
        assert audited(bank) == pytest.approx(START + 0.075)
        assert len(log_of(bank).evidence) == 1
    assert bank.mental_models.get("ferry").text == ""

    bank.mental_models.refresh("ferry")
    bank.reflect(QUESTION)
    say(bank, "The Sorrel ferry sailed on time in the snow of 14 March.", by="Ida", day=14, entities=SORREL)
    bank.tasks.settle()
    bank.archive.export(tmp_path / "archive.jsonl")
    later = gossip.agent.asked[asked:]
    assert {prompt.name for prompt in later} == {"answer", "observe", "assess_evidence"}
    assert not any(TOKEN in message.text for prompt in later for message in prompt.messages)
    assert files_with(tmp_path, TOKEN) == set()
    assert TOKEN not in caplog.text
    assert TOKEN not in opinions_text(bank)
