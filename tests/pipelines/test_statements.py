"""The number of SQL statements of a turn and of a recall."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import event
from sqlalchemy.engine import Engine

from hindsight_integrations import Hindsight, MemoryBank

MOST_IN_A_TURN = 50
MOST_IN_A_RECALL = 5


@contextmanager
def counted() -> Iterator[list[str]]:
    """Statements executed in the block, by any ledger; many rows of one statement count once."""
    statements: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        statements.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield statements
    finally:
        event.remove(Engine, "before_cursor_execute", note)


def say(bank: MemoryBank, number: int) -> None:
    """A turn of two messages."""
    message: dict[str, Any] = {"role": "user", "name": "Alice", "timestamp": f"2025-03-0{number}T09:00"}
    answer = {"role": "assistant", "timestamp": f"2025-03-0{number}T09:01"}
    bank.retain(
        [
            {**message, "content": f"I met Bob number {number} in Lisbon and we rowed on the Tagus."},
            {**answer, "content": f"Nice, how was Bob {number}?"},
        ],
        thread="t",
    )


def test_a_turn_and_a_recall_take_few_statements(opener: Callable[..., Hindsight], tmp_path: Path) -> None:
    """A turn of two messages takes at most 50, a recall at most 5, including indexes."""
    bank = opener(tmp_path / "data").bank("alice")
    for number in range(1, 5):
        say(bank, number)
        bank.recall("Who did I meet in Lisbon?")
    with counted() as turn:
        say(bank, 5)
    with counted() as recall:
        bank.recall("Whom did Alice meet in Lisbon?")
    assert 10 < len(turn) <= MOST_IN_A_TURN, "\n".join(turn)
    assert 1 < len(recall) <= MOST_IN_A_RECALL, "\n".join(recall)
