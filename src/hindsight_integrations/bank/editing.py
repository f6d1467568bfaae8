"""One memory at a time: get and edit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from hindsight_integrations.bank.core import BankCore
from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.model.links import LinkType
from hindsight_integrations.model.time import Interval
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.ports.unit_editing import UnitEdit
from hindsight_integrations.tempr.retain.drafts import Draft
from hindsight_integrations.tempr.retain.link_turn import links_of
from hindsight_integrations.tempr.retain.time_normalisation import embedding_text
from hindsight_integrations.validation.arguments import as_window
from hindsight_integrations.validation.limits import checked_metadata, checked_tags, checked_text

Occurred = Interval | tuple[datetime | str, datetime | str]


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What `edit` was asked to change, checked; None means leave it."""

    text: str | None
    occurred: Interval | None
    tags: tuple[str, ...] | None
    metadata: Mapping[str, str] | None


class EditVerbs(BankCore):
    """The verbs that look at and correct one memory."""

    async def get(self, unit_id: str) -> MemoryUnit:
        """One memory by its id, valid or not.

        Raises:
            InvalidRequest: the bank holds none of that id.
        """
        return await self._tools.workers.read(self._found, unit_id)

    async def edit(
        self,
        unit_id: str,
        *,
        text: str | None = None,
        occurred: Occurred | None = None,
        tags: Iterable[str] | None = None,
        metadata: Mapping[str, object] | None = None,
    ) -> MemoryUnit:
        """Correct a memory in place; it keeps its id, its sources and its validity. What is None stays.

        New text is embedded and indexed, and temporal and semantic links are made anew with text or time; causal links and
        the entities it mentions stay as they are. The old text is not kept; `edits` tells when what was changed.

        Args:
            unit_id: which.
            text: what it says.
            occurred: when it happened: an Interval, or (start, end).
            tags: its visibility tags.
            metadata: its strings.

        Raises:
            InvalidRequest: the bank holds none of that id, nothing is to be changed, or a value is over a limit.
            ModelError: the text could not be embedded; the memory is unchanged.
        """
        self._check_writable("edit")
        wanted = _Wanted(
            checked_text(text, "text") if text is not None else None,
            self._occurred(occurred),
            checked_tags(tags) if tags is not None else None,
            checked_metadata(metadata) if metadata is not None else None,
        )
        if wanted == _Wanted(None, None, None, None):
            raise InvalidRequest(
                "edit", "nothing is to be changed", "Pass text=, occurred=, tags= or metadata=."
            )
        return await self._tools.workers.write(self._corrected, unit_id, wanted)

    async def edits(self, unit_id: str) -> list[tuple[datetime, tuple[str, ...]]]:
        """When a memory was corrected and which fields, oldest first.

        Raises:
            InvalidRequest: the bank holds none of that id.
        """
        await self._tools.workers.read(self._found, unit_id)
        return list(await self._tools.workers.read(self._tools.ledger.unit_edits, self._name, unit_id))

    def _occurred(self, given: Occurred | None) -> Interval | None:
        return given if isinstance(given, Interval) else as_window(given, self._tools.zone)

    def _found(self, unit_id: str) -> MemoryUnit:
        ledger = self._tools.ledger
        rows = ledger.row_ids(self._name, [unit_id])
        units = ledger.units(self._name, np.array(list(rows.values()), np.int64))
        for unit in units.values():
            return unit
        raise InvalidRequest("unit_id", f"{unit_id!r} is not in bank {self._name!r}", "Check the id.")

    def _corrected(self, unit_id: str, wanted: _Wanted) -> MemoryUnit:
        self._check_embedder()
        before = self._found(unit_id)
        fields = tuple(
            name for name in ("text", "occurred", "tags", "metadata") if getattr(wanted, name) is not None
        )
        unit = replace(before, **{name: getattr(wanted, name) for name in fields})
        if wanted.text is not None:
            unit = replace(unit, tokens=self._tools.tokens.count([unit.text])[0])
        edit = UnitEdit(unit, None, None, fields)
        if {"text", "occurred"} & set(fields):
            edit = self._rebuilt(edit)
        self._tools.ledger.edit_unit(self._name, edit, self._tools.clock.now())
        self._projection.catch_up()
        return unit

    def _rebuilt(self, edit: UnitEdit) -> UnitEdit:
        """The edit with a new vector and new temporal and semantic links."""
        unit, embedder = edit.unit, self._tools.embedder
        vectors = embedder.embed_documents([embedding_text(unit.text, unit.occurred, unit.mentioned_at)])
        found = links_of(
            [Draft(unit)], vectors, self._projection.view(), embedder.identity.thresholds.semantic_link
        )
        kept = tuple(
            link for link in found if link.type is not LinkType.CAUSAL and link.source != link.target
        )
        return replace(edit, vector=vectors[0].astype("<f4").tobytes(), links=kept)
