"""Agents that form opinions in character, update them from evidence, and explain why. Runs without a key and without a network.

    pip install "hindsight-integrations[offline]"
    python examples/opinions.py

Without HINDSIGHT_MODEL the model is scripted. Set it ("openai:gpt-5-mini", with OPENAI_API_KEY and, for your own server,
OPENAI_BASE_URL), and a real model forms its own opinions.
"""

import os
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from langchain_core.messages import BaseMessage

from hindsight_integrations import BankProfile, Disposition, Hindsight, MemoryBank
from hindsight_integrations.testing import ScriptedModel
from hindsight_integrations.testing.doubles import FrozenClock

REMOTE_WORK = [
    ("Ada", "Working remotely saves most of our people an hour on the train every day."),
    ("Ben", "Newcomers at the office learned by sitting next to somebody; remote newcomers take longer."),
    ("Eve", "In our survey two thirds of those who work remotely say that they get more done."),
    ("Joe", "Team leads find it hard to see how remote work is going."),
]
AGENTS = {
    "trusting": BankProfile(
        "Iris", disposition=Disposition(skepticism=1, literalism=2, empathy=5), bias_strength=0.8
    ),
    "skeptical": BankProfile(
        "Otto", disposition=Disposition(skepticism=5, literalism=5, empathy=1), bias_strength=0.8
    ),
}
PYTHON = [
    ("Ada", "Nearly every machine learning library we looked at is written for Python first."),
    ("Ben", "Our simulations in Julia run ten times faster than the same in Python."),
]

# The scripted opinions, and assessments of facts for the opinion on Python.
TRUSTING = "I think remote work is a gain for us, because it gives people back their time and lets them work as suits them."
SKEPTICAL = (
    "I think remote work puts steady results at risk, because learning and oversight suffer at a distance."
)
BEST = "I believe Python is the best language for data science, because its libraries cover everything we do."
QUALIFIED = "I believe Python is good for data science, but slow numerical work is better done in Julia, because it is faster."
MEANS = {
    "written for Python": {
        "assessment": "reinforce",
        "strength": "strong",
        "reason": "The ecosystem is Python's.",
    },
    "Julia": {
        "assessment": "contradict",
        "strength": "strong",
        "reason": "Ten times is much.",
        "rewording": QUALIFIED,
    },
}


def script(messages: list[BaseMessage]) -> dict[str, Any]:
    """Answer the two prompts of this example from their content."""
    character, shown = messages[0].text, messages[1].text
    if "Assess these pairs" in shown:
        new = re.findall(r"fact (\d+)", shown.rpartition("Assess these pairs")[2])
        facts = dict(re.findall(r"^\[(\d+)\] (.*)$", shown.partition("<<<FACTS")[2], re.MULTILINE))
        means = [next(what for word, what in MEANS.items() if word in facts[number]) for number in new]
        return {
            "assessments": [
                {"opinion": 1, "fact": int(n), **what} for n, what in zip(new, means, strict=True)
            ]
        }
    numbers = re.findall(r"^\[(\d+)\]", shown, re.MULTILINE)
    if "Python" in shown:
        return answer(BEST, 0.7, numbers, ["Python"])
    return answer(*((TRUSTING, 0.8) if "Iris" in character else (SKEPTICAL, 0.75)), numbers, ["remote work"])


def answer(opinion: str, confidence: float, numbers: list[str], entities: list[str]) -> dict[str, Any]:
    """Build an answer that is an opinion based on all memories shown."""
    held = {
        "opinion": opinion,
        "confidence": confidence,
        "reasoning": opinion,
        "based_on": numbers,
        "entities": entities,
    }
    return {"text": opinion, "based_on": numbers, "sufficient": True, "opinions": [held]}


def say(bank: MemoryBank, who: str, text: str) -> str:
    """Retain one message as one fact and return its id. Without `facts` the model extracts them."""
    message = {"role": "user", "name": who, "content": text, "id": text}
    (unit_id,) = bank.retain([message], facts=[{"what": text, "sources": [text]}]).unit_ids
    return unit_id


def two_characters(hindsight: Hindsight) -> None:
    """Form two opinions from the same facts, with two characters."""
    print("== Two characters, the same facts ==")
    for name, profile in AGENTS.items():
        bank = hindsight.bank(name)
        bank.profile.set(profile)
        for who, text in REMOTE_WORK:
            say(bank, who, text)
        reflection = bank.reflect("Is remote work good for us?")
        print(f"{name}: {reflection.text}")
        for opinion in bank.opinions.list():
            print(f"  believes ({opinion.confidence:.2f}, {opinion.strength}): {opinion.text}")
        print(
            f"  from {len(reflection.based_on)} memories of",
            *sorted({t.speaker for c in reflection.based_on for t in c.turns}),
        )


def one_trajectory(hindsight: Hindsight, clock: FrozenClock) -> None:
    """Show an opinion's evidence and confidence, and the effect of forgetting a fact."""
    print("\n== An opinion and its evidence ==")
    bank = hindsight.bank("data team")
    say(bank, "Joe", "Python has libraries for all the data science we do.")
    bank.reflect("What is the best language for data science?")
    ids = []
    for who, text in PYTHON:
        clock.advance(timedelta(weeks=6))
        ids.append(say(bank, who, text))
        bank.tasks.settle()  # assesses new facts; automatic with Hindsight.open(..., worker=True)
    for opinion in bank.opinions.list():
        for version in bank.opinions.history(opinion.id).log.versions:
            print(f"from {version.since:%d %B %Y}: {version.text}")
        for point in bank.opinions.trajectory(opinion.id):
            print(f"  {point.moment:%d %B %Y}: {point.after:.2f}")
        for entry in bank.opinions.history(opinion.id).entries:
            row = entry.evidence
            print(
                f"  {entry.before:.2f} -> {entry.after:.2f}: {row.assessment}, {row.strength}, says {row.sources[0]}: {row.reason}"
            )

    print("\n== Forgotten facts are not evidence ==")
    bank.forget(unit=ids[-1])
    for opinion in bank.opinions.list():
        print(f"{opinion.confidence:.2f}: {opinion.text}")


def main() -> None:
    """Run both parts in a temporary directory."""
    model = None if os.environ.get("HINDSIGHT_MODEL") else ScriptedModel(script)
    # The clock is set by hand, because the example spans months; your own program does not need it.
    clock = FrozenClock(datetime(2024, 2, 1, 9, tzinfo=UTC))
    with (
        TemporaryDirectory() as folder,
        Hindsight.open(Path(folder) / "memory", model=model, clock=clock) as hindsight,
    ):
        two_characters(hindsight)
        one_trajectory(hindsight, clock)


if __name__ == "__main__":
    main()
