"""Number of model calls and prompt tokens of each operation of the engine.

    hindsight-evals bench model_calls [--facts 3,30,300,5000] [--out FILE]

The operations: retain of the garden-club conversation (`hindsight_evals/garden_club`, six sessions), by
message and by session, verbatim (where the model only determines what messages end), concise and full; the
observations of one entity, by number of facts; a merge into the background, by its length; an answer at once
and in steps, with and without a similar existing opinion; the assessment of evidence; and the refresh of a
mental model. The model is a script that answers every prompt validly (`economy/scripted_answers.py`), so
there are no repairs; a real model adds calls, but not kinds of call. Tokens are cl100k, of all messages and
the answer's schema. "Fixed" is the system message and the schema, which are identical in every call of a row,
so that services can cache them; in answers they depend on the profile.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from hindsight_evals.benchmarks.economy.reflections import Cost, reflections, told
from hindsight_evals.benchmarks.economy.scripted_answers import ScriptedAnswers
from hindsight_evals.benchmarks.extraction.model import CountedModel
from hindsight_evals.benchmarks.locomo.table import render
from hindsight_evals.garden_club import Conversation, garden_club
from hindsight_integrations import AsyncHindsight, HindsightConfig
from hindsight_integrations.config import ExtractionMode, ObservationConfig
from hindsight_integrations.testing.doubles import HashEmbedder

HEADER = ("", "times", "calls", "a call", "fixed", "rest", "in all")
MODES = (ExtractionMode.VERBATIM, ExtractionMode.CONCISE, ExtractionMode.NARRATIVE)
UNOBSERVED = ObservationConfig(mode="off")
BATCH = 250  # number of facts in one retain
SNIPPETS = (
    "I am a guide at the harbour museum.",
    "I have worked with ship models for nine years. I grew up in a village by the sea. I speak three languages.",
    "I am fond of old maps. I know the tides of this coast. I never sail at night. I keep a log of every visit.",
    "I take care of the museum's lighthouse.",
)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--facts", type=_numbers, default=[3, 30, 300, 5_000], help="of the entity summed up")
    parser.add_argument("--out", type=Path, help="write the numbers here as JSON")
    options = parser.parse_args(argv)
    costs = asyncio.run(measured(options.facts))
    print(render("calls of the model and tokens of their prompts", HEADER, [cost.row() for cost in costs]))
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps([asdict(cost) for cost in costs], indent=1) + "\n")


async def measured(facts: Sequence[int]) -> list[Cost]:
    """Return all rows in the order of the table."""
    sample = garden_club()
    costs = [await retained(sample, mode, whole=whole) for whole in (False, True) for mode in MODES]
    for number in facts:
        costs += await observed(number)
    return [*costs, await kept_up(sample), *await merged(), *await reflections(sample, _engine)]


async def retained(sample: Conversation, mode: ExtractionMode, *, whole: bool) -> Cost:
    """Retain the conversation in one mode, by message or by session."""
    model = _counted(sample)
    items = [
        messages
        for session in sample.sessions
        for messages in ([session.messages] if whole else [[message] for message in session.messages])
    ]
    async with _engine(model, mode=mode) as engine:
        bank = await engine.bank("sample")
        for messages in items:
            result = await bank.retain(messages, thread="sample")
            # Facts from questions may be dropped in verbatim mode.
            assert mode is ExtractionMode.VERBATIM or not result.dropped, result.dropped
    return Cost(f"retain of a {'session' if whole else 'message'}, {mode}", len(items), model.requests)


async def observed(number: int) -> list[Cost]:
    """Make the observations of an entity with this number of facts, and again after one more fact."""
    model = CountedModel(ScriptedAnswers())
    async with _engine(model, observations=ObservationConfig(delay_s=0)) as engine:
        bank = await engine.bank("pilots")
        for start in range(0, number, BATCH):
            await bank.retain(**told(start, min(start + BATCH, number)))
        await bank.tasks.settle()
        first = list(model.requests)
        await bank.retain(**told(number, number + 1))
        await bank.tasks.settle()
    return [
        Cost(f"observations of {number:,} facts", 1, first),
        Cost(f"- anew after one more, of {number + 1:,}", 1, model.requests[len(first) :]),
    ]


async def kept_up(sample: Conversation) -> Cost:
    """Update the observations of all entities of the conversation after each session."""
    model = CountedModel(ScriptedAnswers())
    async with _engine(model, observations=ObservationConfig(delay_s=0)) as engine:
        bank = await engine.bank("sample")
        made = 0
        for session in sample.sessions:
            await bank.retain(session.messages, thread="sample", facts=session.facts)
            made += (await bank.tasks.settle()).observed
    return Cost("observations of an entity whose facts a session changed", made, model.requests)


async def merged() -> list[Cost]:
    """Merge snippets one by one into the growing background."""
    costs = []
    model = CountedModel(ScriptedAnswers())
    async with _engine(model) as engine:
        bank = await engine.bank("guide")
        for snippet in SNIPPETS:
            before, asked = (await bank.profile.get()).background, len(model.requests)
            await bank.profile.merge_background(snippet)
            name = f"merge into a background of {len(before)} characters"
            costs.append(Cost(name, 1, model.requests[asked:]))
    return costs


def _counted(sample: Conversation) -> CountedModel:
    messages = [message for session in sample.sessions for message in session.messages]
    facts = [fact for session in sample.sessions for fact in session.facts]
    return CountedModel(ScriptedAnswers(messages, facts))


def _engine(
    model: CountedModel,
    *,
    mode: ExtractionMode = ExtractionMode.AUTO,
    observations: ObservationConfig = UNOBSERVED,
) -> AsyncHindsight:
    """Return an in-memory engine without a reranker; observations are off unless they are measured."""
    config = HindsightConfig(observations=observations)
    config = replace(config, retain=replace(config.retain, extraction=mode))
    return AsyncHindsight.open(
        ":memory:", embeddings=HashEmbedder(), reranker=None, model=model, config=config
    )


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


if __name__ == "__main__":
    main()
