"""What is brought over, and the report of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Record:
    """A memory of another system.

    Attributes:
        id: its own there, with the system's name before it; the id of the document it becomes.
        bank: of which bank it is to be.
        text: what it says.
        said_at: when it got this text; None where nothing says so.
        tags: visibility tags.
        metadata: what else came with it.
    """

    id: str
    bank: str
    text: str
    said_at: datetime | None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What did not come along.

    Attributes:
        id: its own id, or its place among what was given.
        reason: why.
    """

    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did, or would do.

    Attributes:
        banks: records by bank, those that were there already included.
        created: memories that are new.
        known: records that were there already, as they are.
        left_out: what did not come along, and why.
        dry_run: nothing was written; `created` and `known` are 0.
    """

    banks: Mapping[str, int]
    created: int = 0
    known: int = 0
    left_out: tuple[LeftOut, ...] = ()
    dry_run: bool = False
