"""The fixed part of every prompt is a byte-stable prefix without memory text, so that services can cache it.

The prompts are found by walking `prompts/`: a new one must be rendered here, with different data each time.
"""

from __future__ import annotations

import json
import pkgutil
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from inspect import getmembers, isfunction
from itertools import combinations
from typing import Any, TypeAlias

import pytest
from pydantic import BaseModel
from table import every_row

from hindsight_integrations import prompts
from hindsight_integrations.config import ExtractionMode, GeneralKnowledge
from hindsight_integrations.model.mental_models import MentalModel, RefreshTrigger
from hindsight_integrations.model.opinions import Conviction
from hindsight_integrations.model.profile import BankProfile, BigFive, Disposition
from hindsight_integrations.model.recalled import RecalledUnit
from hindsight_integrations.model.record_digest import RecordDigest
from hindsight_integrations.model.records import RecordKind
from hindsight_integrations.model.reflections import MemoryTiers
from hindsight_integrations.model.requests import Message
from hindsight_integrations.model.results import RecallResult
from hindsight_integrations.model.units import FactType, MemoryUnit
from hindsight_integrations.models.protocols import Prompt, PromptMessage, PromptRole
from hindsight_integrations.prompts.answer import PromptQuestion
from hindsight_integrations.prompts.assess_evidence import AskedOpinion
from hindsight_integrations.prompts.end_memories import OpenStatement
from hindsight_integrations.prompts.extract_facts import Instructions, Passage
from hindsight_integrations.prompts.reflect_step import (
    LookupStep,
    first_messages,
    last_step_prompt,
    result_said,
    step_said,
    streamed_answer_prompt,
    streamed_last_step_prompt,
)
from hindsight_integrations.prompts.relate_opinions import NewOpinion
from hindsight_integrations.prompts.rendering import template, with_schema_in_words
from hindsight_integrations.prompts.repair import repair_prompt
from hindsight_integrations.reflect.toolbox import MEMORY_TOOLS

Render: TypeAlias = Callable[..., Prompt[Any]]

CONTINUES = {"repair_prompt", "with_schema_in_words", "last_step_prompt"}
"""What makes a prompt of another one; tested with each of those."""

DATA = re.compile(r"Quillon|Vexley|Ravensmoor|Thornbury|x-17|y-23|1931|1977|garnet|opal", re.IGNORECASE)
"""Names, places, ids, years and things of what follows, none of which may be in a prefix."""


class Data:
    """All data with which a prompt may be rendered, with one name, place, id, year and thing."""

    def __init__(self, name: str, place: str, key: str, year: int, thing: str) -> None:
        moment = datetime(year, year % 12 + 1, year % 27 + 1, 10, 30, tzinfo=UTC)
        self.name, self.text = name, f"{name} sold a {thing} in {place}."
        self.unit = MemoryUnit(f"{key}-u", f"{key}-b", self.text, FactType.WORLD, moment)
        said = Message(self.text, name, moment, f"{key}-m")
        item = replace(self.unit, id=f"{key}-i", text=thing, number=1, part_of=self.unit.id)
        self.passage = Passage(
            [said, said],
            [said],
            f"letters to {name}",
            memories=[self.unit],
            items={self.unit.id: [item]},
            categories={RecordKind.EXPENSE: [thing]},
            names={self.unit.id: [[name]]},
        )
        self.sentences = [f"I am {name}.", f"I live in {place} since {year}."]


ONE = Data("Quillon", "Ravensmoor", "x-17", 1931, "garnet")
OTHER = Data("Vexley", "Thornbury", "y-23", 1977, "opal")
PROFILES = (
    BankProfile(),
    BankProfile("Quillon", "I live in Ravensmoor since 1931.", Disposition(1, 5, 3), 0.9),
    BankProfile("Vexley", "", BigFive(0.1, 0.9, 0.5, 0.2, 0.8), 0.1),
)


def _passages(render: Render, instructions: Instructions) -> list[Prompt[Any]]:
    bare = Passage(OTHER.passage.messages[:1])
    return [render(passage, instructions) for passage in (ONE.passage, OTHER.passage, bare)]


def _observed(render: Render) -> list[Prompt[Any]]:
    few, many = [OTHER.unit], [ONE.unit] * 12
    return [render("Quillon", many, fewest=3, most=7), render("Vexley", few, fewest=1, most=1)]


def _questioned(render: Render) -> list[Prompt[Any]]:
    return [render(data.text, data.sentences, moment=data.unit.mentioned_at) for data in (ONE, OTHER)]


def _merged(render: Render) -> list[Prompt[Any]]:
    return [render(ONE.sentences, OTHER.sentences), render([], ONE.sentences)]


def _tiers(data: Data) -> MemoryTiers:
    item = RecalledUnit(data.unit, 1.0)
    model = MentalModel(
        id=f"{data.name}-model",
        name=data.name,
        question=data.text,
        tags=(),
        trigger=RefreshTrigger.MANUAL,
        max_tokens=100,
        created_at=data.unit.mentioned_at,
        text=data.text,
        based_on=(data.unit.id,),
    )
    digest = RecordDigest(
        kind=RecordKind.EVENT,
        categories=(data.name,),
        window=None,
        figures=(),
        periods=(),
        goals=(),
        heading=data.text,
        rows=(),
        tokens=1,
        of=1,
        unit_ids=(data.unit.id,),
    )
    return MemoryTiers(
        RecallResult((item,), 1, records=(digest,)),
        (model,),
        (item,),
        (item,),
        (item,),
    )


def _answered(render: Render, profile: BankProfile, directives: Sequence[str] = ()) -> list[Prompt[Any]]:
    """For two memories and for none, with a situation and without."""
    asked = [PromptQuestion(data.text, data.unit.mentioned_at, data.text) for data in (ONE, OTHER)]
    shown = [
        render(each, _tiers(data), profile, directives)
        for each, data in zip(asked, (ONE, OTHER), strict=True)
    ]
    return [
        *shown,
        render(
            PromptQuestion("?", ONE.unit.mentioned_at), MemoryTiers(RecallResult((), 0)), profile, directives
        ),
    ]


def _assessed(render: Render, profile: BankProfile) -> list[Prompt[Any]]:
    def opinion(data: Data, *pairs: tuple[int, tuple[int, ...]]) -> AskedOpinion:
        return AskedOpinion(data.text, Conviction.STRONG, data.unit.mentioned_at, pairs)

    return [
        render([opinion(ONE, (1, ()))], [ONE.unit], profile),
        render([opinion(OTHER, (2, (1,))), opinion(ONE, (1, ()), (2, ()))], [ONE.unit, OTHER.unit], profile),
    ]


def _related(render: Render) -> list[Prompt[Any]]:
    few, many = [NewOpinion(ONE.text, (1,))], [NewOpinion(OTHER.text, (1, 2))] * 3
    return [render(few, [OTHER.text]), render(many, [ONE.text, OTHER.text])]


def _ended(render: Render) -> list[Prompt[Any]]:
    few, many = (
        OpenStatement(ONE.text, ONE.unit, (ONE.unit,)),
        OpenStatement(OTHER.text, OTHER.unit, (OTHER.unit,)),
    )
    return [render([few]), render([many, few])]


def _ended_by_messages(render: Render) -> list[Prompt[Any]]:
    return [render(ONE.passage, {"x-17-m"}), render(OTHER.passage, {"y-23-m"}), render(OTHER.passage, ())]


def _conversation(data: Data, profile: BankProfile) -> list[PromptMessage]:
    asked = PromptQuestion(data.text, data.unit.mentioned_at, data.text)
    step = LookupStep.model_validate({"tool": "recall", "arguments": {"query": data.text}})
    return [
        *first_messages([tool.usage for tool in MEMORY_TOOLS], profile, (), asked, _tiers(data), calls=10),
        step_said(step),
        result_said("recall", [data.text]),
    ]


def _stepped(render: Render, profile: BankProfile, *, streamed: bool) -> list[Prompt[Any]]:
    talks = [_conversation(data, profile) for data in (ONE, OTHER)]
    return [render(talks[0], streamed=streamed), render(talks[1][:2], streamed=streamed)]


def _found_in_answers(render: Render) -> list[Prompt[Any]]:
    one, other = [("1", RecalledUnit(ONE.unit, 1.0))], [("7", RecalledUnit(OTHER.unit, 1.0))]
    return [render(ONE.text, OTHER.text, one), render(OTHER.text, ONE.text, [*one, *other])]


def _typed(render: Render) -> list[Prompt[Any]]:
    memories = [("1", RecalledUnit(ONE.unit, 1.0))]
    return [render(ONE.text, ONE.text, memories, Sold), render(OTHER.text, OTHER.text, [], Sold)]


class Sold(BaseModel):
    """A caller's schema for an answer."""

    thing: str


def _instructions(*modes: ExtractionMode) -> list[Instructions]:
    return [Instructions(mode, general_knowledge=general) for mode in modes for general in GeneralKnowledge]


GROUPS: Mapping[str, list[Callable[[Render], list[Prompt[Any]]]]] = {
    "extract_facts_prompt": [
        *(
            partial(_passages, instructions=each)
            for each in _instructions(ExtractionMode.NARRATIVE, ExtractionMode.CUSTOM)
        ),
        partial(_passages, instructions=Instructions(ExtractionMode.CUSTOM, "Keep prices.")),
    ],
    "concise_facts_prompt": [
        partial(_passages, instructions=each) for each in _instructions(ExtractionMode.CONCISE)
    ],
    "observe_prompt": [_observed],
    "merge_background_prompt": [_merged],
    "relate_opinions_prompt": [_related],
    "end_memories_prompt": [_ended],
    "message_endings_prompt": [_ended_by_messages],
    "answer_prompt": [
        *(partial(_answered, profile=each) for each in PROFILES),
        partial(_answered, profile=PROFILES[0], directives=("Be brief.", "Name no prices.")),
    ],
    "reflect_step_prompt": [
        partial(_stepped, profile=each, streamed=streamed) for each in PROFILES for streamed in (False, True)
    ],
    "form_opinions_prompt": [_found_in_answers],
    "typed_answer_prompt": [_typed],
    "assess_evidence_prompt": [partial(_assessed, profile=each) for each in PROFILES],
    "demo_prompt": [_questioned],
}
"""Function that renders a prompt to groups of renderings: within a group only the data differs, and all of it does."""


def rendering_functions() -> dict[str, Render]:
    """All functions in prompts/ that return a Prompt, by name."""
    found: dict[str, Render] = {}
    for module in pkgutil.walk_packages(prompts.__path__, f"{prompts.__name__}."):
        for name, each in getmembers(import_module(module.name), isfunction):
            returned = str(each.__annotations__.get("return", ""))
            if each.__module__ == module.name and re.fullmatch(r"Prompt(\[.*\])?", returned):
                found[name] = each
    return found


FUNCTIONS = rendering_functions()
RENDERINGS = [
    pytest.param(group(FUNCTIONS[name]), id=f"{name}-{number}")
    for name, groups in GROUPS.items()
    if name in FUNCTIONS
    for number, group in enumerate(groups)
]


def system_of(prompt: Prompt[Any]) -> str:
    """The system message, which is the first message and the only one with that role."""
    first, *rest = prompt.messages
    assert first.role is PromptRole.SYSTEM
    assert PromptRole.SYSTEM not in {message.role for message in rest}
    return first.text


def sent(prompt: Prompt[Any]) -> str:
    """All messages as one text, in the order in which they are sent."""
    return "".join(f"\x1e{message.role}\x1f{message.text}" for message in prompt.messages)


def test_every_prompt_is_rendered_here() -> None:
    """A new prompt in prompts/ cannot be forgotten here."""
    assert FUNCTIONS.keys() - GROUPS.keys() == CONTINUES
    assert {"extract_facts_prompt", "observe_prompt", "answer_prompt"} <= FUNCTIONS.keys()


@every_row("rendered", RENDERINGS)
def test_prompts_of_other_data_begin_with_the_same_system_message(rendered: list[Prompt[Any]]) -> None:
    """System message and schema are equal to the byte; the differences begin after them."""
    system = system_of(rendered[0])
    assert {system_of(prompt).encode() for prompt in rendered} == {system.encode()}
    assert len({json.dumps(prompt.schema.model_json_schema()) for prompt in rendered}) == 1
    for one, other in combinations(rendered, 2):
        assert sent(one) != sent(other)


@every_row("rendered", RENDERINGS)
def test_a_system_message_has_nothing_of_the_data(rendered: list[Prompt[Any]]) -> None:
    """No memory text, date, id or name; except for the profile of the answering agent, which follows the common rules."""
    assert any(DATA.search(prompt.messages[-1].text) for prompt in rendered)
    system = system_of(rendered[0])
    if rendered[0].name in {"answer", "assess_evidence", "reflect_step"}:
        rules, separator, profile = system.partition(template("character"))
        assert rules.startswith(template(rendered[0].name))
        assert separator
        assert not DATA.search(re.sub(r"<<<(NAME|BACKGROUND)\n.*?\n\1>>>", "", profile, flags=re.DOTALL))
        system = rules
    assert not DATA.search(system)
    assert not re.search(r"\{\w+\}", system), "a gap that nothing filled"


def test_answers_in_any_character_begin_with_the_same_rules() -> None:
    """The profile comes last in the system message: the rules before it are one prefix for all banks."""
    systems = [system_of(_answered(FUNCTIONS["answer_prompt"], profile)[0]) for profile in PROFILES]
    rules = f"{template('answer')}\n\n{template('character')}"
    assert all(system.startswith(rules) for system in systems)
    assert len(set(systems)) == len(PROFILES)


@every_row("rendered", RENDERINGS)
def test_a_repair_begins_with_all_that_was_sent_before(rendered: list[Prompt[Any]]) -> None:
    """In a second attempt, only the answer and its faults are new to the service's cache."""
    for prompt in rendered:
        again = repair_prompt(prompt, answer="nonsense", problem="facts: missing")
        assert sent(again).startswith(sent(prompt))
        assert sent(repair_prompt(again, answer="more", problem="other")).startswith(sent(again))


@every_row("rendered", RENDERINGS)
def test_a_schema_in_words_keeps_the_prefix(rendered: list[Prompt[Any]]) -> None:
    """For services without schemas, the system message contains the schema, the same for all data."""
    systems = {system_of(with_schema_in_words(prompt)) for prompt in rendered}
    assert len(systems) == 1
    assert systems.pop().startswith(system_of(rendered[0]))


def test_streamed_answers_begin_with_the_same_system_message() -> None:
    """Plain-text prompts have a stable beginning too; the last step starts with everything that was sent before."""
    streamed = [
        streamed_answer_prompt(PromptQuestion(data.text, data.unit.mentioned_at), _tiers(data), PROFILES[0])
        for data in (ONE, OTHER)
    ]
    assert streamed[0].messages[0] == streamed[1].messages[0]
    assert not DATA.search(streamed[0].messages[0].text)
    assert DATA.search(streamed[0].messages[-1].text)
    talk = _conversation(ONE, PROFILES[0])
    last = streamed_last_step_prompt(talk, "All steps are taken.", max_answer_tokens=100)
    for prompt in (last, last_step_prompt(talk, "")):
        assert list(prompt.messages[:-1]) == talk[:-1]
        assert prompt.messages[-1].text.startswith(talk[-1].text)
        roles = [message.role for message in prompt.messages[1:]]
        assert roles == [PromptRole.USER, PromptRole.ASSISTANT] * (len(roles) // 2) + [PromptRole.USER], (
            "both sides take turns"
        )
