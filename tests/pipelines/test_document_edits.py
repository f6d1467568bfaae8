"""Documents and lists over months of edits: recall returns exactly the valid items, at every moment.

The author of the scenarios had read the format of `facts=` but not the code.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from table import every_row

from hindsight_integrations import Hindsight
from hindsight_integrations.sync import MemoryBank

DATA = Path(__file__).parent / "data"
UNKNOWN = "6f1f8a0e-0000-5c57-9d4c-6a3f0e2b7d11"

Held = list[list[str]] | None


def scenarios(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / name).read_text().splitlines()]


def named(scenario: dict[str, Any]) -> str:
    return str(scenario["name"])


class Edited:
    """A bank in which a scenario is retained step by step."""

    def __init__(self, bank: MemoryBank) -> None:
        self.bank = bank
        self.documents: dict[str, str] = {}

    def retain(self, step: dict[str, Any]) -> None:
        facts = [self._fact(fact, step["message"]) for fact in step["facts"]]
        message = {"role": "user", "content": step["text"], "id": step["message"], "timestamp": step["at"]}
        result = self.bank.retain([message], facts=facts)
        for fact, unit_id in zip(step["facts"], result.unit_ids, strict=True):
            if "label" in fact:
                self.documents[fact["label"]] = unit_id

    def _fact(self, fact: dict[str, Any], message: str) -> dict[str, Any]:
        changes = [
            {"unit_id": self.documents.get(change["document"], UNKNOWN), **without(change, "document")}
            for change in fact.get("changes", ())
        ]
        given = {**without(fact, "label"), "changes": changes, "sources": [message]}
        if "adds_to" in fact:
            given["adds_to"] = {"unit_id": self.documents.get(fact["adds_to"]["document"], UNKNOWN)}
        return given

    def held(self, label: str, as_of: str | None = None) -> Held:
        """The valid items as recall returns them; None if the document is invalid."""
        unit_id = self.documents[label]
        head = self.bank.get(unit_id).text
        found = self.bank.recall(head, as_of=as_of, max_tokens=50_000)
        served = next((unit for unit in found.units if unit.unit.id == unit_id), None)
        items = self.bank.document_items(unit_id, as_of=as_of)
        if served is None:
            return None
        lines = [f"- {item.text}" for item in items]
        assert served.text == "\n".join([head, *lines]), "the text is the head and a line for each item"
        return [[item.records[0].stated, item.records[0].words] for item in items]


def without(fields: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name not in names}


def moments(scenario: dict[str, Any]) -> Iterator[tuple[str, dict[str, Held], dict[str, Held] | None]]:
    for step in scenario["steps"]:
        yield step["at"], step["holds"], step.get("or_holds")


@every_row("scenario", scenarios("document_edits.jsonl"), ids=named)
def test_what_is_served_has_the_items_that_hold_at_every_moment(
    scenario: dict[str, Any], light: Hindsight
) -> None:
    """After each step, and at the end with `as_of` each step."""
    edited = Edited(light.bank(scenario["name"]))
    for step in scenario["steps"]:
        edited.retain(step)
        assert {label: edited.held(label) for label in step["holds"]} == step["holds"], step["message"]
    for at, holds, _ in moments(scenario):
        assert {label: edited.held(label, as_of=at) for label in holds} == holds, f"as of {at}"


@every_row("scenario", scenarios("bad_document_edits.jsonl"), ids=named)
def test_a_change_that_cannot_be_made_loses_nothing(scenario: dict[str, Any], light: Hindsight) -> None:
    """Item numbers that do not exist, memories that are not documents, and twenty documents at once lose nothing."""
    edited = Edited(light.bank(scenario["name"]))
    for step in scenario["steps"]:
        edited.retain(step)
        held = {label: edited.held(label) for label in step["holds"]}
        assert held in (step["holds"], step.get("or_holds")), step["message"]
    for words in scenario.get("still_said", ()):
        found = edited.bank.recall(words, max_tokens=50_000)
        assert any(words.casefold() in unit.text.casefold() for unit in found.units), words
