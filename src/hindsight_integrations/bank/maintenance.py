"""`bank.maintenance`: for whoever runs a bank rather than talks to it."""

from __future__ import annotations

from datetime import datetime

from hindsight_integrations.bank.context import BankVerbs, writes
from hindsight_integrations.bank.unit_changes import stored_unit
from hindsight_integrations.errors import MemoryDamaged
from hindsight_integrations.search.embedding import embed_units
from hindsight_integrations.validation.arguments import checked_unit_id


class AsyncMaintenance(BankVerbs):
    """Vectors made anew, and the audit of corrections."""

    namespace = "maintenance"

    @writes
    async def reindex(self) -> int:
        """Embed every memory anew with the engine's embedder, e.g. after changing it.

        Returns:
            How many were embedded.

        Raises:
            InvalidRequest: the engine was opened read-only.
            ModelError: a memory could not be embedded, or not usably; nothing was changed.
            MemoryDamaged: some are not what was written; nothing was changed.
        """
        return await self._context.tools.workers.write(self._reembed)

    async def edits(self, unit_id: str) -> list[tuple[datetime, tuple[str, ...]]]:
        """When a memory was corrected by `edit` and which fields, oldest first.

        Args:
            unit_id: the memory's id.

        Raises:
            InvalidRequest: the bank holds none of that id.
        """
        context, tools = self._context, self._context.tools
        known = checked_unit_id(unit_id)
        await tools.workers.read(stored_unit, context, known)
        return list(await tools.workers.read(tools.ledger.units.edits, context.name, known))

    def _reembed(self) -> int:
        context, tools = self._context, self._context.tools
        context.projection.catch_up()
        ids = context.projection.view().columns.ids
        stored = tools.ledger.units.get(context.name, ids)
        if len(stored) < len(ids):
            raise MemoryDamaged(context.name, tools.ledger.units.damaged(context.name, ids))
        units = [stored[int(row)] for row in ids]
        vectors = embed_units(units, tools.embedder)
        tools.ledger.set_embedder(context.name, tools.embedder.identity, ids, vectors)
        context.projection.reembedded()
        return len(ids)
