"""A bank with three facts about remote work, and scripts of a model with opinions on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hindsight_integrations import Hindsight, HindsightConfig, MemoryBank
from hindsight_integrations.testing.scripted_model import ScriptedModel

Opener = Callable[..., Hindsight]

QUESTION = "What do you think about remote work?"
FACTS = (
    "Remote work removes the commute, which saves an hour a day.",
    "Remote work lacks the chance meetings and the mentors of an office.",
    "In a survey 65% of those in remote work said that they get more done.",
)
GAIN = "I think remote work is a gain because it removes the commute and leaves room for flexible work."
LOSS = "I think remote work is a loss because it lacks the chance meetings and the mentors of an office."


def opinion(text: str, *based_on: str, confidence: float = 0.7) -> dict[str, Any]:
    return {
        "opinion": text,
        "confidence": confidence,
        "reasoning": "It says so.",
        "based_on": list(based_on),
        "entities": ["remote work"],
    }


def relation(kind: str, strength: str = "strong", new: int = 1, held: int = 1) -> dict[str, Any]:
    return {"new": new, "held": held, "relation": kind, "strength": strength, "reason": "It says so."}


def single(*opinions: dict[str, Any]) -> dict[str, Any]:
    return {"text": "It has two sides.", "based_on": ["1"], "sufficient": True, "opinions": list(opinions)}


def stepping(*opinions: dict[str, Any]) -> list[Any]:
    """The replies of a reflection in steps: two calls, the answer, its opinions."""
    found = {"text": "It has two sides.", "based_on": ["1", "2"], "sufficient": True}
    steps = [
        {"thought": "who", "tool": "recall", "arguments": {"query": "mentors of an office"}},
        {"thought": "when", "tool": "chronology", "arguments": {}},
        {"thought": "so", "tool": "answer", "arguments": [], "answer": found},
    ]
    return [*steps, {"opinions": list(opinions)}]


def remembering(opener: Opener, config: HindsightConfig, model: ScriptedModel | list[Any]) -> MemoryBank:
    model = model if isinstance(model, ScriptedModel) else ScriptedModel(model)
    bank = opener(model=model, config=config).bank("mira")
    for day, fact in enumerate(FACTS, 1):
        given = {"what": fact, "entities": [{"text": "remote work", "type": "CONCEPT"}]}
        bank.retain(
            [{"role": "user", "content": fact, "id": f"m{day}", "name": f"p{day}"}],
            facts=[{**given, "sources": [f"m{day}"]}],
            timestamp=f"2024-06-{day:02}T10:00",
            thread="t",
        )
    return bank


def held(bank: MemoryBank) -> list[Any]:
    """All opinions with wordings, confidence and evidence, except values that depend on the time of writing."""
    found = []
    for each in bank.opinions.list(include_closed=True):
        log = bank.opinions.history(each.id).log
        rows = [(bank.get(row.unit_id).text, row.assessment, row.strength, row.step) for row in log.evidence]
        grounds = [[bank.get(unit).text for unit in version.based_on] for version in log.versions]
        found.append((each.text, each.confidence, log.operation, rows, grounds, log.assessed_to))
    return found


SCRIPTS = {
    "single": (
        [single(opinion(GAIN, "1"))],
        [single(opinion(LOSS, "2")), {"relations": [relation("opposes")]}],
    ),
    "agentic": (
        stepping(opinion(GAIN, "1")),
        [*stepping(opinion(LOSS, "2")), {"relations": [relation("opposes", "mild")]}],
    ),
}
