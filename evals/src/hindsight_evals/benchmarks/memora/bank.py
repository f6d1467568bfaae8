"""Fill a bank with a Memora week, and read its valid memories."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from hindsight_evals.datasets.memora import MemoraSession
from hindsight_integrations import ExtractedFact, MemoryBank, RetainResult
from hindsight_integrations.config import KeywordBackend, StorageConfig, VectorBackend
from hindsight_integrations.model.units import FactType, MemoryUnit

Facts = Mapping[int, Sequence[ExtractedFact]]

LIGHT = StorageConfig(vectors=VectorBackend.EXACT, keywords=KeywordBackend.FTS5)


@dataclass(frozen=True, slots=True)
class Held:
    """A valid unit, or an item of a document: its text, its network and its source sessions."""

    text: str
    fact_type: FactType
    sessions: frozenset[int]


def fill(
    bank: MemoryBank,
    sessions: Sequence[MemoraSession],
    facts: Facts | None,
    moments: Sequence[datetime] | None = None,
) -> list[RetainResult]:
    """Retain every session in order, with extracted facts or (None) verbatim, on its own date or at the given moment."""
    return [
        retain_session(
            bank,
            session,
            None if facts is None else facts.get(session.session_id, ()),
            None if moments is None else moments[place],
        )
        for place, session in enumerate(sessions)
    ]


def retain_session(
    bank: MemoryBank,
    session: MemoraSession,
    facts: Sequence[ExtractedFact] | None,
    moment: datetime | None = None,
) -> RetainResult:
    """Retain one session, with extracted facts, or (None) with the engine's extraction."""
    timestamp = moment or session.date.isoformat()
    return bank.retain(
        session_messages(session), timestamp=timestamp, thread=f"S{session.session_id}", facts=facts
    )


def session_messages(session: MemoraSession) -> list[dict[str, str]]:
    """Return the messages of a session that have text, dated by its day."""
    return [
        {
            "role": "user" if turn.speaker == "user_agent" else "assistant",
            "content": turn.message,
            "id": f"S{session.session_id}:{turn.turn}",
            "timestamp": session.date.isoformat(),
        }
        for turn in session.conversation
        if turn.message.strip()
    ]


def all_units(bank: MemoryBank) -> list[MemoryUnit]:
    """Return every unit of the bank, invalid ones included, in the order of its archive, which is the order of retain."""
    file = io.StringIO()
    bank.archive.export(file)
    rows = map(json.loads, file.getvalue().splitlines()[1:-1])  # without the header and the seal
    units = [
        fields for kind, fields in rows if kind == "units" and fields["kind"] in ("memory", "document_item")
    ]
    return [bank.get(fields["unit_id"]) for fields in units]


def held(bank: MemoryBank) -> list[Held]:
    """Return every valid unit and item."""
    return [
        Held(
            unit.text,
            unit.fact_type,
            frozenset(int(source.split(":")[0][1:]) for source in unit.sources),
        )
        for unit in all_units(bank)
        if unit.closed_at is None
    ]
