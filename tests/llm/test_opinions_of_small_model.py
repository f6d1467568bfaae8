"""The paper's examples of opinions with a real small model: two characters with the same facts, and an opinion with evidence.

Only what our code guarantees is asserted: a stored opinion has its reason and its grounds, and its confidence
follows from its log. The model's output is printed for people.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from opinionated_banks import Agent, answering, say
from replayed_confidence import replayed
from watched_model import Watched

from hindsight_integrations import BankProfile, Disposition, Hindsight, HindsightConfig, MemoryBank
from hindsight_integrations.config import ObservationConfig, OpinionConfig
from hindsight_integrations.errors import MalformedOutput
from hindsight_integrations.language.packs import ENGLISH
from hindsight_integrations.models.protocols import Completion, Prompt
from hindsight_integrations.reflect.opinions.proposed import fault

MOST_SECONDS = 3600.0  # for everything, on two busy cores
CALL_S = 600.0

# Earlier paper 11.1: the facts that both agents get. The characters are those of the paper's Figure 5.
REMOTE_WORK = (
    "Remote work eliminates commute time (average 1 hour/day saved)",
    "Office work provides spontaneous collaboration and mentorship",
    "Studies show 65% of remote workers report higher productivity",
    "Some managers report difficulty monitoring remote employee performance",
)
CHARACTERS = {
    "trusting, flexible, empathetic": Disposition(1, 2, 5),
    "skeptical, literal, detached": Disposition(5, 5, 1),
}
# Paper section 5.7.1 and earlier paper 11.2: an opinion of 0.70, and the facts retained afterwards.
OPINION = "I think Python is the best general-purpose language for data science, because it has a library for everything."
GROUND = "Python has a library for everything in data science."
EVIDENCE = (
    "Python dominates AI/ML with 75% market share; TensorFlow and PyTorch are Python-first",
    "Julia offers 10x faster numerical computation; increasingly adopted in research",
    "Major tech companies migrating data pipelines to Rust for performance",
)


class FormedByScript:
    """The small model, except for answers, which are scripted so that the trajectory starts as in the paper."""

    def __init__(self, model: Watched) -> None:
        self.name, self._model = model.name, model
        self._script = Agent({"answer": answering(OPINION, 0.7, ground=GROUND, entities=["Python"])})

    async def complete(self, prompt: Prompt[Any]) -> Completion[Any]:
        return await (self._script if prompt.name == "answer" else self._model).complete(prompt)


@pytest.fixture(scope="module")
def settings() -> HindsightConfig:
    return HindsightConfig(
        model_timeout_s=CALL_S,
        observations=ObservationConfig("off"),
        opinions=OpinionConfig(delay_s=0.0),
    )


@pytest.fixture
def opinionated(
    model: Watched, settings: HindsightConfig, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Hindsight]:
    with Hindsight.open(tmp_path_factory.mktemp("memory"), model=model, config=settings) as hindsight:
        yield hindsight


@pytest.mark.timeout(MOST_SECONDS)
@pytest.mark.parametrize("character", CHARACTERS)
def test_figure_5(opinionated: Hindsight, character: str) -> None:
    """The answer is in character, and every stored opinion is based on facts that were retained."""
    bank = opinionated.bank(character)
    profile = BankProfile(disposition=CHARACTERS[character], bias_strength=0.8)
    bank.profile.set(profile)
    told = {say(bank, text, by=f"colleague {day}", day=day) for day, text in enumerate(REMOTE_WORK, 1)}
    try:
        reflection = bank.reflect("What do you think of remote work?")
    except MalformedOutput as error:  # a model this small may fail; then nothing may be stored
        print(f"\n{character}: no answer in the schema: {error.problem}")
        assert bank.opinions.list(include_closed=True) == []
        return
    print(f"\n{character}: {reflection.text}")
    for change in reflection.opinions:
        print(f"  {change.outcome} ({change.confidence}): {change.text} {change.reason}")
    for opinion in bank.opinions.list():
        print(f"  believes ({opinion.confidence:.2f}, {opinion.strength}): {opinion.text}")
        assert not fault(opinion.text, [ENGLISH])
        assert 0.0 <= opinion.confidence <= 1.0
        grounds = bank.opinions.history(opinion.id).log.versions[0].based_on
        assert grounds
        assert set(grounds) <= told
    assert reflection.text
    assert {citation.unit.unit.id for citation in reflection.based_on if citation.unit} <= told


@pytest.mark.timeout(MOST_SECONDS)
def test_the_trajectory(
    model: Watched, settings: HindsightConfig, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The confidence starts at 0.70; each fact adds at most one evidence row, and the confidence follows from the rows."""
    with Hindsight.open(
        tmp_path_factory.mktemp("memory"), model=FormedByScript(model), config=settings
    ) as hindsight:
        bank: MemoryBank = hindsight.bank("data science")
        say(bank, GROUND, by="Joe", entities=["Python"])
        bank.reflect("What is the best language for data science?")
        (opinion,) = bank.opinions.list()
        assert opinion.confidence == 0.7
        print(f"\n0.70: {opinion.text}")
        for day, fact in enumerate(EVIDENCE, 2):
            say(bank, fact, by=f"colleague {day}", day=day, entities=["Python"])
            settled = bank.tasks.settle()
            history = bank.opinions.history(opinion.id)
            print(f"  {fact}: {dict(settled.failed) or [each.reason for each in settled.dropped] or ''}")
            for entry in history.entries:
                row = entry.evidence
                print(
                    f"    {entry.before:.2f} -> {entry.after:.2f} {row.assessment} ({row.strength}): {row.reason}"
                )
            assert history.confidence == pytest.approx(float(replayed(history.log)))
            assert len({row.unit_id for row in history.log.evidence}) == len(history.log.evidence) <= day - 1
        for version in bank.opinions.history(opinion.id).log.versions:
            print(f"  worded: {version.text}")
