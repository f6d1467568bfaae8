"""What every ledger checks when it takes a bank from an archive."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, islice

from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.ports.ledger import ArchiveRow

BATCH = 500  # rows written at once: bounds memory, and is past the point where larger ones are quicker

BANK, DOCUMENT, CHUNK, MESSAGE, UNIT = "bank", "document", "chunk", "message", "unit"
EVENT, ENTITY, MENTION, LINK = "event", "entity", "mention", "link"
EDIT, CHANGE, EVIDENCE, TASK = "edit", "entity_change", "evidence", "task"


def batched(rows: Iterator[ArchiveRow]) -> Iterator[tuple[str, list[ArchiveRow]]]:
    """Rows of one kind together, at most BATCH of them."""
    for kind, same in groupby(rows, lambda row: row.kind):
        while batch := list(islice(same, BATCH)):
            yield kind, batch


def check_empty(units: int) -> None:
    """Raises InvalidRequest where the bank holds units."""
    if units:
        raise InvalidRequest("bank", f"it holds {units} memories", "Import into an empty bank.")


def unreadable(reason: str) -> InvalidRequest:
    """The error for an archive that does not make sense."""
    return InvalidRequest("archive", reason, "It is damaged; export it again. The bank was left as it was.")
