"""Model calls and prompt tokens of conversations whose turns are extracted one by one, when idle, or by session.

    hindsight-evals bench turn_cost --memora FILE... --locomo FILE... [--out FILE]

Each session is a thread, and a turn consists of two messages. Turns are followed in sequence without a
worker, with the clock set to the messages' times, so that pauses are those of the conversation. At the end,
waiting turns are settled. The model returns the first sentence of each message. It needs no repairs, and its
facts are shorter than a real model's. Tokens are cl100k, of all messages of a prompt and the answer's schema.
"Fixed" is the system message and the schema, which are identical in every call, so that services can cache
them. A "warm" call comes less than five minutes after the previous one, while the cache is valid.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from hindsight_evals.benchmarks.extraction.model import CountedModel
from hindsight_evals.benchmarks.locomo.table import render
from hindsight_evals.datasets.locomo import load_locomo
from hindsight_evals.datasets.memora import load_memora
from hindsight_evals.episode import Episode, Session
from hindsight_integrations import AsyncHindsight, HindsightConfig, Message
from hindsight_integrations.config import (
    Extract,
    KeywordBackend,
    ObservationConfig,
    StorageConfig,
    VectorBackend,
)
from hindsight_integrations.models.protocols import Completion, Prompt
from hindsight_integrations.testing.doubles import FrozenClock, HashEmbedder

T = TypeVar("T", bound=BaseModel)

HEADER = ("", "turns", "calls", "warm", "a call", "fixed", "in all", "of turn")
TURN = 2  # number of messages
SENTENCE = 200  # number of characters
CACHED_FOR = timedelta(minutes=5)
LINE = re.compile(r"^\[([^\]]+)\] \((?:[^()]|\([^()]*\))*\) ([^\n]*)", re.MULTILINE)


class StatingModel:
    """A model that returns the first sentence of each message of a passage."""

    name = "stating"

    async def complete(self, prompt: Prompt[T]) -> Completion[T]:
        """Return one fact for each message; the judgment of endings is empty."""
        if prompt.name != "extract_facts":
            return Completion(prompt.schema.model_validate({"endings": []}))
        shown = prompt.messages[1].text
        passage = shown[shown.index("<<<PASSAGE") : shown.index("PASSAGE>>>")]
        facts = [
            {"what": re.split(r"(?<=[.!?])\s", said)[0][:SENTENCE], "sources": [place]}
            for place, said in LINE.findall(passage)
        ]
        return Completion(prompt.schema.model_validate({"facts": facts}))


@dataclass(slots=True)
class Cost:
    """The cost of one conversation's turns.

    Attributes:
        name: the conversation.
        extract: when its turns were extracted.
        turns: the number of turns.
        memories: the number of memories.
        fixed: number of tokens that are the same in every call.
        moments: the time of each call in the conversation.
        tokens: tokens of each prompt.
    """

    name: str
    extract: Extract
    turns: int = 0
    memories: int = 0
    fixed: int = 0
    moments: list[datetime] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)

    def row(self, whole: Cost) -> tuple[str, ...]:
        """Return a table row, with the tokens as a share of those of `whole`."""
        later = zip(self.moments, self.moments[1:], strict=False)
        warm = sum(after - before <= CACHED_FOR for before, after in later)
        total = sum(self.tokens)
        counts = (f"{count:,}" for count in (self.turns, len(self.tokens), warm))
        per_call = (f"{total / len(self.tokens):,.0f}", f"{self.fixed:,}", f"{total:,}")
        return (f"{self.name}, {self.extract}", *counts, *per_call, f"{total / sum(whole.tokens):.0%}")


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, print the table, write the numbers."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--memora", type=Path, nargs="*", default=[], help="files of Memora")
    parser.add_argument(
        "--locomo", type=Path, nargs="*", default=[], help="files of LoCoMo, one conversation each"
    )
    parser.add_argument(
        "--extract", type=Extract, nargs="*", default=[*Extract], help="the first one is the whole of shares"
    )
    parser.add_argument("--out", type=Path, help="write the numbers here as JSON")
    options = parser.parse_args(argv)
    episodes = [load_memora(path) for path in options.memora]
    episodes += [episode for path in options.locomo for episode in load_locomo(path)]
    rows, costs = [], []
    for episode in episodes:
        measured = [asyncio.run(followed(episode, extract)) for extract in options.extract]
        rows += [cost.row(measured[0]) for cost in measured]
        costs += measured
    print(render("calls of the model and tokens of their prompts", HEADER, rows))
    if options.out:
        numbers = [asdict(cost) | {"moments": [f"{each:%FT%T}" for each in cost.moments]} for cost in costs]
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(numbers, indent=1) + "\n")


async def followed(episode: Episode, extract: Extract) -> Cost:
    """Follow the turns of an episode, and settle waiting ones at its end."""
    model, clock = CountedModel(StatingModel()), FrozenClock(episode.sessions[0].moment)
    cost = Cost(episode.name, extract)

    def count_calls() -> None:
        cost.moments += [clock.now()] * (len(model.requests) - len(cost.moments))

    storage = StorageConfig(VectorBackend.EXACT, KeywordBackend.FTS5)
    config = HindsightConfig(storage=storage, observations=ObservationConfig(mode="off"))
    async with AsyncHindsight.open(
        ":memory:", embeddings=HashEmbedder(), reranker=None, model=model, config=config, clock=clock
    ) as engine:
        bank = await engine.bank("bank")
        for session in episode.sessions:
            for turn in _turns(session):
                clock.set(max(clock.now(), _moment(turn[-1], session)))
                await bank.threads.follow(turn, thread=session.id, extract=extract)
                cost.turns += 1
                count_calls()
        await bank.tasks.settle()
        count_calls()
        cost.memories = await bank.count()
    cost.tokens = [each.system + each.user + each.schema for each in model.requests]
    cost.fixed = max(each.system + each.schema for each in model.requests)
    return cost


def _turns(session: Session) -> list[list[Message]]:
    """Return the list of messages as it is after each turn."""
    messages = [replace(message, timestamp=_moment(message, session)) for message in session.messages]
    ends = [*range(TURN, len(messages), TURN), len(messages)]
    return [messages[:end] for end in ends]


def _moment(message: Message, session: Session) -> datetime:
    return message.timestamp if isinstance(message.timestamp, datetime) else session.moment


if __name__ == "__main__":
    main()
