"""Shared helpers of the ledger's tests of source turns and waiting turns."""

from __future__ import annotations

from dataclasses import replace

from builders import (
    at,
    make_unit,
    make_vector,
    make_write_set,
    with_vector,
)

from hindsight_integrations.model.turns import Role
from hindsight_integrations.model.units import FactType, UnitKind
from hindsight_integrations.model.writes import MessageKey, TurnWrite, UnitWrite, WriteSet

THREAD = "t"


def make_key(message: str, wording: str = "h") -> MessageKey:
    """The key of a message of THREAD."""
    return MessageKey(THREAD, message, wording)


def make_turn(message: str, text: str, *, hours: float = 0, unit_id: str | None = None) -> TurnWrite:
    """A turn by Alice in THREAD."""
    return TurnWrite(make_key(message), text, "Alice", Role.USER, at(hours), ("tag",), unit_id)


def make_waiting(unit_id: str, message: str, text: str = "", *, vector: bool = True) -> UnitWrite:
    """A message of THREAD that waits for extraction."""
    unit = replace(
        make_unit(unit_id, f"Alice: {text or unit_id}", fact_type=FactType.EXPERIENCE),
        thread=THREAD,
        sources=(message,),
        speaker="Alice",
        kind=UnitKind.TURN,
    )
    return UnitWrite(unit, make_vector(unit_id).tobytes() if vector else b"")


def make_fact(unit_id: str, *messages: str) -> UnitWrite:
    """A memory made from messages of THREAD."""
    return with_vector(replace(make_unit(unit_id), thread=THREAD, sources=messages))


def conversation(revision: int = 0) -> WriteSet:
    """Two messages stored as text, with a memory of the first and one of both."""
    return replace(
        make_write_set(revision, units=[make_fact("f1", "m1"), make_fact("f2", "m1", "m2")]),
        messages=(make_key("m1"), make_key("m2")),
        turns=(make_turn("m2", "And a boat.", hours=1), make_turn("m1", "I bought a kayak.")),
    )
