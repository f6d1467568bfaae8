"""OpinionReader: opinions with the evidence they rest on (paper sections 5.4.1 and 5.5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hindsight_integrations.model.opinions import OpinionLog
from hindsight_integrations.ports.arrays import IntArray


class OpinionReader(Protocol):
    """Reads of one bank's opinions. What they say is as of the read; confidence is computed, see `model/confidence.py`."""

    def opinions(self, bank: str, opinion_ids: Sequence[str] | None = None) -> list[OpinionLog]:
        """These opinions, or all, in the order they were formed; those without a valid wording too.

        Unknown ids and opinions that cannot be read are left out.
        """
        ...

    def opinions_of(self, bank: str, ids: IntArray) -> dict[int, str]:
        """Opinion id of each of these units (by row id) that is a wording of one; others are left out."""
        ...

    def formed_by(self, bank: str, operation: str) -> tuple[str, ...] | None:
        """Ids of the opinions a reflection formed, by its operation key; None if none of that key was recorded."""
        ...

    def facts_since(self, bank: str, revision: int) -> IntArray:
        """Row ids of the valid world and experience memories that came, or were corrected, after a revision, ascending."""
        ...
