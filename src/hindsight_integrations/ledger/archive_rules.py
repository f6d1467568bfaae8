"""What every ledger checks when it takes a bank from an archive."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, islice

from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.ports.ledger import ArchiveRow

BATCH = 500  # rows written at once: bounds memory, and is past the point where larger ones are quicker

BANK, DOCUMENT, CHUNK, MESSAGE, UNIT = "bank", "document", "chunk", "message", "unit"
CATEGORY, RECORD = "category", "record"
TURN, WAITING = "turn", "waiting_turn"
OBSERVATION, OBSERVATION_FACT, OBSERVED = "observation", "observation_fact", "observed"
EVENT, ENTITY, MENTION, LINK = "event", "entity", "mention", "link"
PROFILE_CHANGE = "profile_change"
MENTAL_MODEL, MENTAL_MODEL_GROUND, DIRECTIVE = "mental_model", "mental_model_ground", "directive"
EDIT, CHANGE, TASK = "edit", "entity_change", "task"
OPINION, WORDING, GROUND = "opinion", "opinion_wording", "opinion_ground"
EVIDENCE, OPERATION = "evidence", "opinion_operation"
ITEM, ITEM_TEXT = "item", "item_text"


def batched(rows: Iterator[ArchiveRow]) -> Iterator[tuple[str, list[ArchiveRow]]]:
    """Rows of one kind together, at most BATCH of them."""
    for kind, same in groupby(rows, lambda row: row.kind):
        while batch := list(islice(same, BATCH)):
            yield kind, batch


def check_empty(units: int, others: int) -> None:
    """Refuse a bank that rows could mix with.

    Args:
        units: memories it holds.
        others: what else it holds: documents, entities, message keys, tasks.

    Raises:
        InvalidRequest: it holds something.
    """
    if units or others:
        held = f"{units} memories" if units else "no memories, but traces of earlier ones"
        remedy = "Import into an empty bank, or empty this one by forget(everything=True)."
        raise InvalidRequest("bank", f"it holds {held}", remedy)


def unreadable(reason: str) -> InvalidRequest:
    """The error for an archive that does not make sense."""
    return InvalidRequest("archive", reason, "It is damaged; export it again. The bank was left as it was.")
