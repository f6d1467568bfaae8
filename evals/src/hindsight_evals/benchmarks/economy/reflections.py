"""Model requests of answers, opinions, their evidence and mental models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from hindsight_evals.benchmarks.economy.scripted_answers import ScriptedAnswers
from hindsight_evals.benchmarks.extraction.model import CountedModel, Request
from hindsight_evals.garden_club import Conversation
from hindsight_integrations import AsyncHindsight, AsyncMemoryBank, ExtractedFact, Message


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one operation.

    Attributes:
        name: name of the operation.
        times: number of times it ran.
        requests: the requests to the model.
    """

    name: str
    times: int
    requests: Sequence[Request]

    def row(self) -> tuple[str, ...]:
        """Return a table row: calls; mean tokens of a call, its fixed and its variable part; and total tokens."""
        asked = self.requests
        if not asked:
            return (self.name, str(self.times), "0", "-", "-", "-", "0")
        fixed, rest = (
            sum(each.system + each.schema for each in asked),
            sum(each.user for each in asked),
        )
        means = (f"{part / len(asked):,.0f}" for part in (fixed + rest, fixed, rest))
        return (self.name, str(self.times), f"{len(asked):,}", *means, f"{fixed + rest:,}")


START = datetime(2023, 1, 2, 9, tzinfo=UTC)
PLACES = ("the harbour", "the library", "the old mill", "the market hall", "the north quay", "the print room")
DEEDS = (
    "repaired a clock",
    "sold a map",
    "met a pilot",
    "painted a sign",
    "taught a class",
    "found a letter",
)


def told(first: int, end: int) -> dict[str, Any]:
    """Return arguments of `retain`: messages about one person, with one fact each."""
    said = [
        Message(_sentence(number), "Sam", START + timedelta(hours=number), f"m{number}")
        for number in range(first, end)
    ]
    facts = [
        ExtractedFact.model_validate(
            {"what": message.text, "sources": [message.id], "entities": ["Mara Lindqvist"]}
        )
        for message in said
    ]
    return {"content": said, "thread": "talk", "facts": facts}


def _sentence(number: int) -> str:
    """Return a sentence with a unique combination of action, place and number."""
    deed, place = DEEDS[number % len(DEEDS)], PLACES[number // len(DEEDS) % len(PLACES)]
    return f"Mara Lindqvist {deed} in {place} on day {number + 1} of the project, with lamp {number * 7 + 3} lit."


Engine = Callable[[CountedModel], AsyncHindsight]

BUDGETS = ("low", "mid", "high")
LOOKUPS = {"at once": 0, "after three tools": 3, "after all tools it may use": 10}
WAYS = {"low": ("at once", "after all tools it may use"), "mid": tuple(LOOKUPS), "high": tuple(LOOKUPS)[-1:]}
EVIDENCE = ((1, 1), (10, 1), (10, 5), (100, 5))
OPINION = "I think Nora keeps the club well run, because she takes on much of the work."
NUANCES = ("smoothly", "calmly", "kindly", "fairly", "properly")  # one for each question of the sample
OPINIONS = tuple(
    f"I think Mara Lindqvist is good at {skill}, because she has shown it on many days of the project."
    for skill in ("repairs", "selling", "meeting people", "painting", "teaching")
)


async def reflections(sample: Conversation, engine: Engine) -> list[Cost]:
    """Return all rows in the order of the table."""
    costs = [await single(sample, engine, budget) for budget in BUDGETS]
    costs += await near(sample, engine)
    for budget, ways in WAYS.items():
        for way in ways:
            costs += await stepwise(sample, engine, budget, way)
    for facts, opinions in EVIDENCE:
        costs.append(await reinforced(engine, facts, opinions))
    return [*costs, await refreshed(sample, engine)]


async def single(sample: Conversation, engine: Engine, budget: str) -> Cost:
    """Answer the sample's questions from its facts, in one call each."""
    model = CountedModel(ScriptedAnswers())
    async with engine(model) as hindsight:
        bank = await _told(hindsight, sample)
        for question in sample.questions:
            await bank.reflect(question, budget=budget)
    return Cost(f"reflect, single, {budget}", len(sample.questions), model.requests)


async def near(sample: Conversation, engine: Engine) -> list[Cost]:
    """Answer the sample's questions; each answer forms an opinion, and the bank holds similar ones."""
    script = ScriptedAnswers()
    model = CountedModel(script)
    async with engine(model) as hindsight:
        bank = await _told(hindsight, sample)
        script.opinion, script.about = OPINION, "Nora"
        await bank.reflect(sample.questions[0])
        known = len(model.requests)
        for question, word in zip(sample.questions, NUANCES, strict=True):
            script.opinion = OPINION.replace("well run", f"{word} run")
            await bank.reflect(question)
    times = len(sample.questions)
    return _by_prompt("reflect, single, mid, with an opinion near", times, model.requests[known:])


async def stepwise(sample: Conversation, engine: Engine, budget: str, way: str) -> list[Cost]:
    """Answer the sample's questions in steps, after the given number of tool calls."""
    script = ScriptedAnswers()
    script.lookups = LOOKUPS[way]
    model = CountedModel(script)
    async with engine(model) as hindsight:
        bank = await _told(hindsight, sample)
        for question in sample.questions:
            await bank.reflect(question, strategy="agentic", budget=budget)
    return _by_prompt(f"reflect, agentic, {budget}, {way}", len(sample.questions), model.requests)


async def reinforced(engine: Engine, facts: int, opinions: int) -> Cost:
    """Assess new facts about one person as evidence for opinions about that person."""
    script = ScriptedAnswers()
    script.about = "Mara Lindqvist"
    model = CountedModel(script)
    async with engine(model) as hindsight:
        bank = await hindsight.bank("pilots")
        await bank.retain(**told(0, 5))
        for script.opinion in OPINIONS[:opinions]:
            await bank.reflect("How is Mara Lindqvist doing?")
        known = len(model.requests)
        await bank.retain(**told(5, 5 + facts))
        settled = await bank.tasks.settle()
        assert settled.assessed, settled
    return Cost(f"evidence: {facts} facts for {opinions} opinions", settled.assessed, model.requests[known:])


async def refreshed(sample: Conversation, engine: Engine) -> Cost:
    """Refresh a mental model for each question of the sample."""
    model = CountedModel(ScriptedAnswers())
    async with engine(model) as hindsight:
        bank = await _told(hindsight, sample)
        for number, question in enumerate(sample.questions):
            await bank.mental_models.create(f"model {number}", question)
            await bank.mental_models.refresh(f"model {number}")
    return Cost("refresh of a mental model", len(sample.questions), model.requests)


async def _told(hindsight: AsyncHindsight, sample: Conversation) -> AsyncMemoryBank:
    """Create a bank with the sample's facts."""
    bank = await hindsight.bank("sample")
    for session in sample.sessions:
        await bank.retain(session.messages, thread="sample", facts=session.facts)
    return bank


def _by_prompt(name: str, times: int, requests: Sequence[Request]) -> list[Cost]:
    """Return a row for each prompt, in order of first use."""
    prompts = list(dict.fromkeys(request.prompt for request in requests))
    return [
        Cost(
            name if place == 0 else f"- {prompt}",
            times,
            [request for request in requests if request.prompt == prompt],
        )
        for place, prompt in enumerate(prompts)
    ]
