"""Filling a bank with a Memora week and reading back what it holds as valid."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hindsight_integrations import MemoryBank, RetainResult
from hindsight_integrations.model.units import FactType, MemoryUnit, ValidityKind
from hindsight_integrations.testing.archived import archived_rows


@dataclass(frozen=True, slots=True)
class Held:
    """A valid unit: its text, network, the sessions it stands on, and what was taken back of it."""

    text: str
    fact_type: FactType
    sessions: frozenset[int]
    withdrawn: tuple[str, ...]


def fill(bank: MemoryBank, sessions: list[dict[str, Any]], facts: Path | None) -> list[RetainResult]:
    """Retain every session in order, with extracted facts or (None) verbatim."""
    extracted = {}
    if facts is not None:
        lines = (json.loads(line) for line in facts.read_text(encoding="utf-8").splitlines())
        extracted = {line["session"]: line["facts"] for line in lines}
    return [
        bank.retain(
            list(_messages(session)),
            timestamp=session["date"],
            thread=f"S{session['session_id']}",
            facts=extracted.get(session["session_id"], []) if facts is not None else None,
        )
        for session in sessions
    ]


def _messages(session: dict[str, Any]) -> Iterator[dict[str, str]]:
    for turn in session["conversation"]:
        if turn["message"].strip():
            role = "user" if turn["speaker"] == "user_agent" else "assistant"
            yield {"role": role, "content": turn["message"], "id": f"S{session['session_id']}:{turn['turn']}"}


def all_units(bank: MemoryBank) -> list[MemoryUnit]:
    """Every unit of the bank, closed ones included, in the order in which they were retained."""
    return [bank.get(row["unit_id"]) for row in archived_rows(bank.archive.export, "unit")]


def held(bank: MemoryBank) -> list[Held]:
    """Every valid unit."""
    return [
        Held(
            unit.text,
            unit.fact_type,
            frozenset(int(source.split(":")[0][1:]) for source in unit.sources),
            tuple(e.reason for e in bank.history(unit.id) if e.kind is ValidityKind.AMENDED),
        )
        for unit in all_units(bank)
        if unit.closed_at is None
    ]
