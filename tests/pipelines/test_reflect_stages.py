"""A reflection in stages is equal to `bank.reflect`: answers, opinions, evidence and calls; it can pause in between."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from typing import Any

import pytest
from table import every_row
from views_of_remote_work import (
    GAIN,
    LOSS,
    QUESTION,
    SCRIPTS,
    held,
    opinion,
    remembering,
    single,
)

from hindsight_integrations import Hindsight, HindsightConfig, InvalidRequest, MemoryBank, ModelUnavailable
from hindsight_integrations.model.options import REFLECT_DEFAULTS
from hindsight_integrations.reflect.answer import BEST_MEMORIES
from hindsight_integrations.testing.scripted_model import ScriptedModel

Opener = Callable[..., Hindsight]


def staged(bank: MemoryBank, question: str = QUESTION, **options: Any) -> dict[str, Any]:
    """All stages, with the state written to JSON and read again each time."""
    stages = bank.reflect_stages

    def at_rest(state: dict[str, Any]) -> Any:
        return json.loads(json.dumps(state))

    state = at_rest(stages.recall(question, **options))
    while "progress" in state and not state["progress"].get("answer"):
        state = at_rest(stages.think(state, **options))
        if "step" not in state["progress"]:
            break
        state = at_rest(stages.call_tool(state, **options))
        if state["progress"].get("why"):
            break
    state = at_rest(stages.answer(state, **options))
    if not state["candidates"]:
        found: dict[str, Any] = state["reflection"]
        return found
    state = at_rest(stages.assess(state, **options))
    return stages.commit(state, **options)


@pytest.mark.parametrize("strategy", list(SCRIPTS))
def test_the_stages_are_the_method(opener: Opener, light_config: HindsightConfig, strategy: str) -> None:
    """Two questions, the second of which changes the first one's opinion: text, citations, opinions, evidence, prompts and costs are equal."""
    script = [reply for replies in SCRIPTS[strategy] for reply in replies]
    models = [ScriptedModel(script), ScriptedModel(script)]
    banks = [remembering(opener, light_config, model) for model in models]
    for number in (1, 2):
        options: Any = {"strategy": strategy, "operation": f"op{number}"}
        whole, parts = banks[0].reflect(QUESTION, **options), staged(banks[1], **options)
        assert parts["text"] == whole.text
        assert [each["text"] for each in parts["based_on"]] == [
            each.unit.text for each in whole.based_on if each.unit
        ]
        assert [[turn["text"] for turn in each["turns"]] for each in parts["based_on"]] == [
            [turn.text for turn in each.turns] for each in whole.based_on
        ]
        assert [(each["tool"], each["arguments"], each["problem"]) for each in parts["steps"]] == [
            (each.tool, each.arguments, each.problem) for each in whole.steps
        ]
        told = [(each["outcome"], each["text"], each["reason"]) for each in parts["opinions"]]
        assert told == [(each.outcome, each.text, each.reason) for each in whole.opinions]
        for cost in ("calls", "tokens_in", "tokens_out", "sufficient"):
            assert parts[cost] == getattr(whole, cost)
        assert held(banks[0]) == held(banks[1])
    asked = [[[message.text for message in prompt] for prompt in model.prompts] for model in models]
    assert asked[0] == asked[1]
    assert len(asked[0]) == len(script)
    (left,) = held(banks[0])
    assert left[3], "the second answer became evidence of the first one's opinion"


def test_each_state_names_the_stage_that_comes_next(opener: Opener, light_config: HindsightConfig) -> None:
    """A caller that follows "next" takes the same steps, and no stage modifies the state that it was given."""
    for strategy, (first, _) in SCRIPTS.items():
        stages = remembering(opener, light_config, first).reflect_stages
        taken, state = [], stages.recall(QUESTION, strategy=strategy)
        while state["next"] != "answer":
            taken.append(state["next"])
            before = json.dumps(state)
            further = getattr(stages, state["next"])(state, strategy=strategy)
            assert json.dumps(state) == before
            state = further
        answered = stages.answer(state, strategy=strategy)
        steps = len(answered["reflection"]["steps"])
        assert taken[: 2 * steps] == ["think", "call_tool"] * steps
        assert bool(taken) is (strategy == "agentic")


def test_what_a_decision_would_move_is_what_it_moves(opener: Opener, light_config: HindsightConfig) -> None:
    """The confidences before and after are reported before anything is written, and are those of the bank afterwards."""
    script = [*SCRIPTS["single"][0], *SCRIPTS["single"][1]]
    bank = remembering(opener, light_config, script)
    staged(bank)
    (before,) = bank.opinions.list()
    stages = bank.reflect_stages
    assessed = stages.assess(stages.answer(stages.recall(QUESTION)))
    (move,) = assessed["moves"]
    assert (move["movement"], move["before"], move["held"]) == ("contradict", before.confidence, GAIN)
    assert bank.opinions.list() == [before]
    (told,) = stages.commit(assessed)["opinions"]
    (after,) = bank.opinions.list()
    assert after.confidence == told["after"] == move["after"] < before.confidence


def test_what_a_person_refuses_is_not_kept(opener: Opener, light_config: HindsightConfig) -> None:
    """One of two opinions is approved; the other is reported as refused by a person."""
    survey = "I believe remote work pays, since those in it said in a survey that they get more done."
    bank = remembering(opener, light_config, [single(opinion(LOSS, "2"), opinion(survey, "3"))])
    stages = bank.reflect_stages
    assessed = stages.assess(stages.answer(stages.recall(QUESTION)))
    done = stages.commit(assessed, approved=[2])
    first, second = done["opinions"]
    assert (first["outcome"], first["reason"], first["opinion_id"]) == (
        "refused",
        "a person refused it",
        None,
    )
    assert second["outcome"] == "formed"
    assert [each.text for each in bank.opinions.list()] == [survey]


@every_row("approved", [5, "1", [True], [9], ["1"], [None], [[1]]], ids=str)
def test_numbers_that_are_no_candidates_are_refused(
    opener: Opener, light_config: HindsightConfig, approved: Any
) -> None:
    """The error names the existing numbers, and nothing is stored."""
    bank = remembering(opener, light_config, [single(opinion(GAIN, "1"))])
    stages = bank.reflect_stages
    assessed = stages.assess(stages.answer(stages.recall(QUESTION)))
    with pytest.raises(InvalidRequest, match="1"):
        stages.commit(assessed, approved=approved)
    assert bank.opinions.list() == []


def test_a_commit_decides_on_what_is_held_by_then(opener: Opener, light_config: HindsightConfig) -> None:
    """An opinion that is formed between the assessment and the commit is compared, and nothing is stored twice."""
    bank = remembering(opener, light_config, [single(opinion(GAIN, "1")), single(opinion(GAIN, "1"))])
    stages = bank.reflect_stages
    assessed = stages.assess(stages.answer(stages.recall(QUESTION)))
    assert [move["movement"] for move in assessed["moves"]] == ["form"]
    bank.reflect(QUESTION)
    (told,) = stages.commit(assessed)["opinions"]
    assert told["outcome"] == "known"
    assert len(bank.opinions.list()) == 1


def test_a_commit_that_is_repeated_forms_nothing(opener: Opener, light_config: HindsightConfig) -> None:
    """A process that dies after the commit commits again with the same operation."""
    bank = remembering(opener, light_config, [single(opinion(GAIN, "1"))])
    stages = bank.reflect_stages
    assessed = stages.assess(stages.answer(stages.recall(QUESTION, operation="turn 1")))
    first, again = stages.commit(assessed), stages.commit(assessed)
    assert first["opinions"][0]["opinion_id"] == again["opinions"][0]["opinion_id"]
    assert len(bank.opinions.list()) == 1
    assert stages.assess(assessed)["moves"] == []


def test_a_model_that_cannot_compare_keeps_nothing_and_is_asked_once(
    opener: Opener, light_config: HindsightConfig
) -> None:
    """The answer is returned; the opinion is refused, as in `reflect`."""
    down = ModelUnavailable("scripted", "down")
    bank = remembering(
        opener,
        light_config,
        [single(opinion(GAIN, "1")), single(opinion(LOSS, "2")), down, down, down],
    )
    staged(bank)
    before = held(bank)
    done = staged(bank)
    assert done["text"] == "It has two sides."
    assert [each["outcome"] for each in done["opinions"]] == ["refused"]
    assert held(bank) == before


def test_without_a_model_the_answer_is_what_is_remembered(
    opener: Opener, light_config: HindsightConfig
) -> None:
    """No steps, no opinions, and the same text as `reflect`."""
    bank = opener(config=light_config).bank("mira")
    bank.retain("Ana's kayak is red.")
    for strategy in ("single", "agentic"):
        done = staged(bank, "What colour is the kayak?", strategy=strategy)
        assert (done["extractive"], done["text"]) == (True, f"{BEST_MEMORIES}\n- Ana's kayak is red.")
        assert done["text"] == bank.reflect("What colour is the kayak?").text


def test_options_are_those_of_the_method() -> None:
    """The options and their defaults are those of `reflect`."""
    parameters = inspect.signature(MemoryBank.reflect).parameters.values()
    own = {each.name: each.default for each in parameters if each.kind is each.KEYWORD_ONLY}
    assert own == REFLECT_DEFAULTS


@every_row("given", [{}, {"query": "x"}, {"candidates": []}, {"nothing": 1}])
def test_what_no_stage_made_is_refused(
    opener: Opener, light_config: HindsightConfig, given: dict[str, Any]
) -> None:
    """The error of each stage says what to pass."""
    stages = opener(model=ScriptedModel([]), config=light_config).bank("mira").reflect_stages
    for stage in (stages.think, stages.call_tool, stages.answer, stages.assess, stages.commit):
        with pytest.raises(InvalidRequest):
            stage(given)


def test_an_unknown_option_is_refused(opener: Opener, light_config: HindsightConfig) -> None:
    """A misspelt option is not ignored."""
    bank = opener(model=ScriptedModel([]), config=light_config).bank("mira")
    with pytest.raises(InvalidRequest, match="tag"):
        bank.reflect_stages.recall(QUESTION, tag=["x"])  # type: ignore[call-arg] # that is the point
