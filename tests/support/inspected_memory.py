"""The inspector as a process, and a bank for it: 10,000 rule-based memories from two years."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count, islice
from pathlib import Path
from typing import Any

import opinionated_banks
from opinionated_banks import Agent, assessing

import hindsight_integrations
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
ASSESSED = 100  # facts, as evidence for or against the opinion: enough to see it move
BATCH = 1_000  # items per commit; every commit waits for the disk and refreshes the indexes


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


def build(path: Path) -> None:
    """Create the memory in a new directory, in a bank named locomo."""
    config = HindsightConfig(observations=ObservationConfig("off"), opinions=OpinionConfig(delay_s=0.0))
    agent = Agent({"assess_evidence": assessing(verdict)})
    with Hindsight.open(path, config=config, model=agent) as hindsight:
        bank = hindsight.bank("locomo")
        stated = {"what": OPINION, "fact_type": "opinion", "confidence": 0.6, "sources": ["o"],
                  "entities": [{"text": "Ada Brandt", "type": "PERSON"}]}  # fmt: skip
        opinion = {"id": "o", "role": "assistant", "content": OPINION, "timestamp": FIRST - timedelta(days=1)}
        bank.retain([opinion], thread="opinions", facts=[stated])
        items = [
            RetainItem(
                [{"id": f"m{number}", "content": fact["what"], "timestamp": at}],
                "days",
                facts=[{**fact, "sources": [f"m{number}"]}],
            )
            for number, (at, fact) in enumerate(islice(facts(), MEMORIES))
        ]
        bank.retain_many(items[:ASSESSED])
        bank.tasks.settle()
        bank.retain_many(items[ASSESSED:], batch_size=BATCH)
        (first,) = bank.units(types=["world"], limit=1).units
        bank.withdraw(first.id, reason="told by mistake")


def cached_memory(folder: Path) -> Path:
    """Return the memory in a folder, and build it there unless a memory of the same sources exists.

    The inspector reads a memory and does not make it, so changes of the server, the command line and the page keep it.
    """
    package = Path(hindsight_integrations.__file__).parent
    sources = [
        Path(__file__),
        Path(opinionated_banks.__file__),
        *(
            file
            for file in sorted(package.rglob("*.py"))
            if file.relative_to(package).parts[0] not in {"server", "cli"}
        ),
    ]
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in sources)).hexdigest()[:16]
    memory = folder / digest
    if not memory.exists():
        shutil.rmtree(folder, ignore_errors=True)
        build(folder / "unfinished")
        (folder / "unfinished").rename(memory)
    return memory


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
