"""The inspector as a process, and a bank for it: 10,000 rule-based memories from two years."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

from opinionated_banks import Agent, assessing

from hindsight_integrations import Hindsight, HindsightConfig, RetainItem
from hindsight_integrations.config import ObservationConfig, OpinionConfig

MEMORIES = 10_000
FIRST = datetime(2022, 1, 3, 8, tzinfo=UTC)
PEOPLE = [
    "Ada Brandt",
    "Bela Nagy",
    "Cleo Park",
    "Dora Wolf",
    "Edda Lind",
    "Finn Moore",
    "Greta Holm",
    "Hugo Sand",
]
PLACES = ["Oslo", "Lisbon", "Graz", "Turin", "Ghent", "Porto", "Riga", "Bergen", "Malmo", "Delft"]
DEEDS = [
    "met a friend in",
    "took a train to",
    "gave a talk in",
    "looked for a flat in",
    "ran a race in",
    "was ill in",
]
THINGS = ["coffee", "books", "groceries", "train tickets"]
OPINION = "I think that Ada Brandt is a good speaker, because her talks are well attended."
MOST_A_COMMIT = 100


def facts() -> Iterator[tuple[datetime, dict[str, Any]]]:
    """Facts in order of time; every fifth one is an expense, and some moves end the previous one."""
    for number in count():
        at = FIRST + timedelta(hours=2 * number)
        who, where = PEOPLE[number % len(PEOPLE)], PLACES[number * 7 % len(PLACES)]
        day = {"occurred_start": f"{at:%Y-%m-%d}", "occurred_end": f"{at:%Y-%m-%d}"} if number % 3 else {}
        if number % 5 == 0:
            what, price = THINGS[number % len(THINGS)], f"{3 + number % 11}.{number % 10}0"
            record = {"kind": "expense", "value": price, "unit": "EUR", "category": what}
            yield at, {"what": f"{who} paid {price} EUR for {what} in {where} (receipt {number}).", "records": [record],
                       "entities": [{"text": who, "type": "PERSON"}], **day}  # fmt: skip
        else:
            deed = DEEDS[number * 5 % len(DEEDS)]
            yield at, {"what": f"{who} {deed} {where} on trip {number}.", **day,
                       "entities": [{"text": who, "type": "PERSON"}, {"text": where, "type": "LOCATION"}]}  # fmt: skip


def verdict(_: str, fact: str) -> tuple[str, str]:
    if "gave a talk" in fact:
        return "reinforce", "mild"
    return ("weaken", "mild") if "was ill" in fact else ("neutral", "mild")


def build(path: Path, memories: int = MEMORIES) -> None:
    """Create the memory in a new directory, in a bank named locomo."""
    config = HindsightConfig(observations=ObservationConfig("off"), opinions=OpinionConfig(delay_s=0.0))
    agent = Agent({"assess_evidence": assessing(verdict)})
    with Hindsight.open(path, config=config, model=agent) as hindsight:
        bank = hindsight.bank("locomo")
        told = {"what": OPINION, "fact_type": "opinion", "confidence": 0.6, "sources": ["o"],
                "entities": [{"text": "Ada Brandt", "type": "PERSON"}]}  # fmt: skip
        opinion = {"id": "o", "role": "assistant", "content": OPINION, "timestamp": FIRST - timedelta(days=1)}
        bank.retain([opinion], thread="opinions", facts=[told])
        told_facts = facts()
        for batch in range(memories // MOST_A_COMMIT):
            items = []
            for place in range(MOST_A_COMMIT):
                at, fact = next(told_facts)
                message = {"id": f"m{batch}-{place}", "content": fact["what"], "timestamp": at}
                items.append(RetainItem([message], "days", facts=[{**fact, "sources": [message["id"]]}]))
            bank.retain_many(items)
            if batch == 0:  # enough evidence to change the opinion visibly
                bank.tasks.settle()
        (first,) = bank.units(types=["world"], limit=1).units
        bank.withdraw(first.id, reason="told by mistake")


class Inspector:
    """A running `hindsight-memory inspect`.

    Attributes:
        address: the address that it printed, with the token.
        origin: the address without path and token.
    """

    def __init__(self, path: Path, *options: str) -> None:
        command = [sys.executable, "-m", "hindsight_integrations.cli", "inspect", str(path), "--no-browser"]
        self._process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        lines = iter(self._process.stdout.readline, "")
        self.address = next(line.strip() for line in lines if line.startswith("http://127.0.0.1:"))
        self.origin = self.address.partition("/#")[0]

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(30)
