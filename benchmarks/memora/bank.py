"""Filling a bank with a Memora week and reading back what it holds as valid."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hindsight_integrations import MemoryBank, RetainResult
from hindsight_integrations.config import KeywordBackend, StorageConfig, VectorBackend
from hindsight_integrations.model.units import FactType, MemoryUnit, ValidityKind
from hindsight_integrations.testing.archived import archived_rows

LIGHT = StorageConfig(vectors=VectorBackend.EXACT, keywords=KeywordBackend.FTS5)


@dataclass(frozen=True, slots=True)
class Held:
    """A valid unit: its text, network, the sessions it stands on, and what was taken back of it."""

    text: str
    fact_type: FactType
    sessions: frozenset[int]
    withdrawn: tuple[str, ...]


def extracted_facts(path: Path | None) -> dict[int, list[dict[str, Any]]] | None:
    """Facts by session, from a file of one JSON line a session; None for no file."""
    if path is None:
        return None
    lines = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    return {line["session"]: line["facts"] for line in lines}


def fill(bank: MemoryBank, sessions: list[dict[str, Any]], facts: Path | None) -> list[RetainResult]:
    """Retain every session in order, with extracted facts or (None) verbatim."""
    extracted = extracted_facts(facts)
    return [
        retain_session(bank, session, None if extracted is None else extracted.get(session["session_id"], []))
        for session in sessions
    ]


def retain_session(
    bank: MemoryBank, session: dict[str, Any], facts: list[dict[str, Any]] | None
) -> RetainResult:
    """Retain one session, with extracted facts, or (None) as the engine extracts."""
    number = session["session_id"]
    return bank.retain(list(_messages(session)), timestamp=session["date"], thread=f"S{number}", facts=facts)


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
