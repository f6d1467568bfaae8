"""The benchmark of calls and prompt tokens, with a small run: which operations call a model, how often, and the constant part."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bench_runs import done
from hindsight_integrations.config import ObservationConfig

MANY = 400  # facts, more than fit one request


@pytest.fixture(scope="module")
def costs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """The figures of one run, by operation."""
    out = tmp_path_factory.mktemp("calls") / "calls.json"
    printed = done("model_calls", "--facts", f"3,{MANY}", "--out", out)
    found = {cost["name"]: cost for cost in json.loads(out.read_text())}
    assert all(name in printed for name in found)
    return found


def test_each_passage_is_one_call(costs: dict[str, dict[str, Any]]) -> None:
    """A message is one passage; a session is one or, with the short prompt's smaller passages, a few; nothing is repaired.

    Verbatim extraction makes one call if the bank has memories and a message is stored, which is the
    cheapest.
    """
    for size in ("message", "session"):
        asked = {mode: costs[f"retain of a {size}, {mode}"] for mode in ("verbatim", "concise", "narrative")}
        assert 0 < len(asked["verbatim"]["requests"]) < asked["verbatim"]["times"], (
            "the first finds an empty bank"
        )
        assert len(asked["narrative"]["requests"]) == asked["narrative"]["times"]
        least, most = (1, 1) if size == "message" else (1, 4)
        assert least <= len(asked["concise"]["requests"]) / asked["concise"]["times"] <= most
        tokens = {
            mode: sum(r["system"] + r["user"] for r in cost["requests"]) for mode, cost in asked.items()
        }
        assert tokens["verbatim"] < tokens["concise"] < tokens["narrative"]
    assert not any(request["repair"] for cost in costs.values() for request in cost["requests"])


def test_the_fixed_part_never_changes(costs: dict[str, dict[str, Any]]) -> None:
    """Over a whole conversation, with any bank content, each kind of call has one system message and one schema."""
    for name, cost in costs.items():
        fixed = {(r["instructions"], r["system"], r["schema"]) for r in cost["requests"]}
        assert len(fixed) <= 1, name


def test_an_entity_costs_one_call_however_many_facts_it_has(costs: dict[str, dict[str, Any]]) -> None:
    """If the facts exceed the prompt, as many as fit are shown; one more fact costs one call again."""
    for name in (
        "observations of 3 facts",
        f"observations of {MANY} facts",
        f"- anew after one more, of {MANY + 1}",
    ):
        [request] = costs[name]["requests"]
        assert request["user"] <= ObservationConfig().prompt_tokens
    kept_up = costs["observations of an entity whose facts a session changed"]
    assert 0 < len(kept_up["requests"]) < kept_up["times"], "one of few facts is summed up without a call"


def test_a_first_background_needs_no_call(costs: dict[str, dict[str, Any]]) -> None:
    """A first snippet is stored without a merge; every later one is one call."""
    merges = [cost["requests"] for name, cost in costs.items() if name.startswith("merge into")]
    assert [len(requests) for requests in merges] == [0, *[1] * (len(merges) - 1)]


def test_an_answer_is_one_call_and_a_near_opinion_one_more(costs: dict[str, dict[str, Any]]) -> None:
    """With any budget; any number of similar opinions is compared in one call, and without similar ones there is no call."""
    for budget in ("low", "mid", "high"):
        plain = costs[f"reflect, single, {budget}"]
        assert len(plain["requests"]) == plain["times"]
    near = costs["reflect, single, mid, with an opinion near"]
    assert len(near["requests"]) == near["times"]
    assert 0 < len(costs["- relate_opinions"]["requests"]) <= near["times"]


def test_steps_are_bounded_by_the_budget(costs: dict[str, dict[str, Any]]) -> None:
    """An immediate answer is one step; a model that keeps searching is stopped after 5 or 10 tools, and each prompt starts like the last."""
    at_once = costs["reflect, agentic, low, at once"]
    assert len(at_once["requests"]) == at_once["times"]
    for budget, most in (("low", 5), ("mid", 10), ("high", 10)):
        longest = costs[f"reflect, agentic, {budget}, after all tools it may use"]
        assert longest["times"] < len(longest["requests"]) <= most * longest["times"]


def test_evidence_is_assessed_in_batches(costs: dict[str, dict[str, Any]]) -> None:
    """All pairs that fit in one prompt are one call: 20 of them, or fewer if their texts are long."""
    for facts, opinions, most in ((1, 1, 1), (10, 1, 1), (10, 5, 3), (100, 5, 27)):
        cost = costs[f"evidence: {facts} facts for {opinions} opinions"]
        assert 0 < cost["times"] <= facts * opinions
        assert 0 < len(cost["requests"]) <= most
