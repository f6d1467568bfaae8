"""AsyncMemoryBank: one bank with its core verbs, and the namespaces of all others."""

from __future__ import annotations

from hindsight_integrations.bank.archive import AsyncArchive
from hindsight_integrations.bank.entities import AsyncEntities
from hindsight_integrations.bank.listing import ListingVerbs
from hindsight_integrations.bank.maintenance import AsyncMaintenance
from hindsight_integrations.bank.reading import ReadingVerbs
from hindsight_integrations.bank.tasks import AsyncTasks
from hindsight_integrations.bank.writing import WritingVerbs


class AsyncMemoryBank(WritingVerbs, ReadingVerbs, ListingVerbs):
    """One bank of memories: retain, recall, reflect. Made by `AsyncHindsight.bank`; usable from any event loop."""

    @property
    def name(self) -> str:
        """The bank's id."""
        return self._context.name

    @property
    def entities(self) -> AsyncEntities:
        """Who is who: list, merge, split, alias, undo, changes."""
        return AsyncEntities(self._context)

    @property
    def tasks(self) -> AsyncTasks:
        """Work left over from a model that failed: list, settle, retry."""
        return AsyncTasks(self._context)

    @property
    def archive(self) -> AsyncArchive:
        """The bank as one portable file: export, load."""
        return AsyncArchive(self._context)

    @property
    def maintenance(self) -> AsyncMaintenance:
        """For whoever runs the bank: reindex, edits."""
        return AsyncMaintenance(self._context)
