"""The papers' examples of an opinion that changes: facts for and against it, assessed by a script, applied by our code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from opinionated_banks import Agent, answering, assessing, config, held, log_of, say
from replayed_confidence import replayed
from table import every_row

from hindsight_integrations import Hindsight, MemoryBank
from hindsight_integrations.model.opinions import Conviction
from hindsight_integrations.model.tasks import TaskState

GROUND = "Python has a library for everything in data science."
FIRST = "I think Python is the best general-purpose language for data science, because it has a library for everything."
DOMINANT = f"{FIRST[:-1]} and dominates AI/ML."
QUALIFIED = "I think Python is good for data science but has trade-offs, because Julia is faster at numerical computation."
SHIFTING = "I think Python is good for data science but its role is shifting, because companies migrate data pipelines to Rust."

# Earlier paper 11.2: the retained facts, in order.
MARKET = "Python dominates AI/ML with 75% market share; TensorFlow and PyTorch are Python-first"
JULIA = "Julia offers 10x faster numerical computation than Python; increasingly adopted in research"
RUST = "Major tech companies are migrating data pipelines from Python to Rust for performance"

Verdict = Mapping[str, str]
REINFORCE = {"assessment": "reinforce", "strength": "strong", "reason": "Its ecosystem is dominant."}
WEAKEN = {"assessment": "weaken", "strength": "strong", "reason": "Another language is faster."}
CONTRADICT = {"assessment": "contradict", "strength": "strong", "reason": "Companies turn away from it."}


def believing(opener: Callable[..., Hindsight], script: Mapping[str, Verdict], **settings: Any) -> MemoryBank:
    """A bank with the papers' o_0 and a scripted assessor."""
    agent = Agent(
        {
            "answer": answering(FIRST, 0.7, ground=GROUND, entities=["Python"]),
            "assess_evidence": assessing(lambda _, fact: script[fact]),
        }
    )
    bank = opener(model=agent, config=config(**settings), embeddings=None).bank("data science")
    say(bank, GROUND, by="Joe", entities=["Python"])
    bank.reflect("What is the best language for data science?")
    return bank


def evolve(bank: MemoryBank, *facts: str) -> list[float]:
    """The initial confidence, and the confidence after each fact, retained and settled."""
    seen = [held(bank).confidence]
    for day, fact in enumerate(facts, 110):  # after the opinion was formed
        say(bank, fact, by=f"colleague {day}", day=day, entities=["Python"])
        bank.tasks.settle()
        seen.append(held(bank).confidence)
        assert seen[-1] == pytest.approx(float(replayed(log_of(bank))))
    return seen


def test_the_papers_trajectory(opener: Callable[..., Hindsight]) -> None:
    """Paper section 5.7.1: 0.70, with the dominant ecosystem 0.85, with faster alternatives 0.55 and a more qualified opinion."""
    bank = believing(opener, {MARKET: REINFORCE, JULIA: {**CONTRADICT, "rewording": QUALIFIED}})
    assert evolve(bank, MARKET) == [0.70, 0.85]
    before = held(bank)
    assert (before.text, before.strength) == (FIRST, Conviction.STRONG)
    assert evolve(bank, MARKET, JULIA)[-1] == 0.55
    now = held(bank)
    assert (now.id, now.text, now.strength) == (before.id, QUALIFIED, Conviction.MODERATE)
    assert [point.after for point in bank.opinions.trajectory(now.id)] == [0.70, 0.85, 0.55]
    assert [each.text for each in log_of(bank).versions] == [FIRST, QUALIFIED]
    recalled = [item.unit.text for item in bank.recall("Python data science", types=["opinion"]).units]
    assert recalled == [QUALIFIED]
    then = [
        item.unit
        for item in bank.recall("Python data science", types=["opinion"], as_of="2024-06-27T12:00").units
    ]
    assert [(unit.text, unit.confidence) for unit in then] == [(FIRST, 0.85)]


def test_the_earlier_papers_evolution(opener: Callable[..., Hindsight]) -> None:
    """Earlier paper 11.2 in three steps, each with its wording; one step size cannot give 0.75, but 0.70."""
    script = {
        MARKET: {**REINFORCE, "rewording": DOMINANT},
        JULIA: {**WEAKEN, "rewording": QUALIFIED},
        RUST: {**CONTRADICT, "strength": "mild"},
    }
    bank = believing(opener, script)
    assert evolve(bank, MARKET, JULIA, RUST) == pytest.approx([0.70, 0.85, 0.70, 0.55])
    assert [each.text for each in log_of(bank).versions] == [FIRST, DOMINANT, QUALIFIED]
    assert [entry.evidence.reason for entry in bank.opinions.history(held(bank).id).entries] == [
        verdict["reason"] for verdict in script.values()
    ]
    assert held(bank).strength is Conviction.MODERATE


def test_a_strong_contradiction_of_the_last_step_revises_the_wording(
    opener: Callable[..., Hindsight],
) -> None:
    """Earlier paper 11.2, with its last step as the strong contradiction that the paper calls it: by the whole step."""
    script = {
        MARKET: REINFORCE,
        JULIA: {**WEAKEN, "strength": "mild"},
        RUST: {**CONTRADICT, "rewording": SHIFTING},
    }
    bank = believing(opener, script)
    assert evolve(bank, MARKET, JULIA, RUST) == pytest.approx([0.70, 0.85, 0.775, 0.475])
    assert held(bank).text == SHIFTING


def test_the_references_rule(opener: Callable[..., Hindsight]) -> None:
    """Reference, "Opinion Confidence Updates": 0.70 + 0.2 * 0.30 = 0.76, halved 0.38."""
    bank = believing(opener, {MARKET: REINFORCE, JULIA: CONTRADICT}, rule="multiplicative")
    assert evolve(bank, MARKET, JULIA) == pytest.approx([0.70, 0.76, 0.38])


SOUND = {**CONTRADICT, "rewording": QUALIFIED}
SPOILED = {
    "third person": {"rewording": "The assistant thinks Python has trade-offs, because Julia is faster."},
    "numbers nobody knows": {"rewording": "I think Python has trade-offs, because Julia is 40 times faster."},
    "an unknown assessment": {"assessment": "refute"},
    "an unknown strength": {"strength": "7"},
    "an unknown fact": {"fact": 99},
    "an unknown opinion": {"opinion": 7},
}


def contradicted(opener: Callable[..., Hindsight], verdict: Callable[[], Mapping[str, Any]]) -> MemoryBank:
    """The opinion, and the fact against it, assessed with one verdict per call."""
    bank = believing(opener, Spoken(verdict))
    say(bank, JULIA, by="Ann", day=110, entities=["Python"])
    bank.tasks.settle()
    return bank


class Spoken(dict[str, Verdict]):
    """Verdicts that are created when requested."""

    def __init__(self, verdict: Callable[[], Mapping[str, Any]]) -> None:
        super().__init__()
        self._verdict = verdict

    def __missing__(self, fact: str) -> Mapping[str, Any]:
        return self._verdict()


@every_row("spoiled", SPOILED.values(), ids=SPOILED)
def test_a_spoiled_assessment_is_repaired(opener: Callable[..., Hindsight], spoiled: dict[str, Any]) -> None:
    """The model is called once more, and its valid answer counts."""
    answers = iter([{**SOUND, **spoiled}, SOUND])
    bank = contradicted(opener, lambda: next(answers))
    assert next(answers, None) is None
    assert held(bank).text == QUALIFIED
    assert held(bank).confidence == pytest.approx(0.4)


@every_row("spoiled", SPOILED.values(), ids=SPOILED)
def test_what_stays_spoiled_is_refused(opener: Callable[..., Hindsight], spoiled: dict[str, Any]) -> None:
    """An invalid wording is never stored, but its assessment is; an unreadable assessment adds no row."""
    bank = contradicted(opener, lambda: {**SOUND, **spoiled})
    log = log_of(bank)
    assert [version.text for version in log.versions] == [FIRST]
    assert len(log.evidence) == ("rewording" in spoiled)
    assert held(bank).confidence == pytest.approx(0.4 if "rewording" in spoiled else 0.7)
    assert [task.reason != "" for task in bank.tasks.list() if task.state is TaskState.PENDING] == [True] * (
        "rewording" not in spoiled
    )
