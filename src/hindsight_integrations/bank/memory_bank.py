"""AsyncMemoryBank: one bank with its core verbs, and the namespaces of all others."""

from __future__ import annotations

from hindsight_integrations.bank.archive import AsyncArchive
from hindsight_integrations.bank.entities import AsyncEntities
from hindsight_integrations.bank.items import AsyncItems
from hindsight_integrations.bank.maintenance import AsyncMaintenance
from hindsight_integrations.bank.mental_models import AsyncDirectives, AsyncMentalModels
from hindsight_integrations.bank.opinions import AsyncOpinions
from hindsight_integrations.bank.profile import AsyncProfile
from hindsight_integrations.bank.reading import ListingVerbs
from hindsight_integrations.bank.records import AsyncRecords
from hindsight_integrations.bank.reflect_stages import AsyncReflectStages
from hindsight_integrations.bank.reflecting import ReflectingVerbs
from hindsight_integrations.bank.tasks import AsyncTasks
from hindsight_integrations.bank.threads import AsyncThreads
from hindsight_integrations.bank.writing import WritingVerbs
from hindsight_integrations.model.profile import BankProfile
from hindsight_integrations.model.references import BankReference, DisplayedBank
from hindsight_integrations.model.tasks import WorkerMode
from hindsight_integrations.validation.arguments import checked_profile


class AsyncMemoryBank(WritingVerbs, ReflectingVerbs, ListingVerbs, DisplayedBank):
    """One bank of memories: retain, recall, reflect. Made by `AsyncHindsight.bank`; usable from any event loop."""

    def with_profile(self, profile: BankProfile) -> AsyncMemoryBank:
        """The same bank, whose `reflect` answers as another agent; nothing of that is stored.

        Args:
            profile: in whose character it answers, whatever the bank's own is, then or now.

        Raises:
            InvalidRequest: it is no profile, or its name or background is blank, too long or cannot be stored.
        """
        return AsyncMemoryBank(self._context, answering_as=checked_profile(profile))

    @property
    def name(self) -> str:
        """The bank's id."""
        return self._context.name

    @property
    def reference(self) -> BankReference:
        """Where the bank is to be found again, also from another process; see `bank_at`."""
        return BankReference(self._context.services.place, self.name)

    @property
    def worker(self) -> WorkerMode:
        """Who does the bank's waiting work without being called: none, own or elsewhere."""
        return self._context.services.worker

    @property
    def entities(self) -> AsyncEntities:
        """Who is who: list, merge, split, alias, undo, changes."""
        return AsyncEntities(self._context)

    @property
    def records(self) -> AsyncRecords:
        """What can be added up or listed: list, aggregate, categories, merge, split."""
        return AsyncRecords(self._context)

    @property
    def opinions(self) -> AsyncOpinions:
        """What the agent believes, how firmly, and why: list, get, history, trajectory, forget."""
        return AsyncOpinions(self._context)

    @property
    def reflect_stages(self) -> AsyncReflectStages:
        """A reflection stage by stage: recall, think, call_tool, answer, assess, commit."""
        return AsyncReflectStages(self._context, answering_as=self._answering_as)

    @property
    def profile(self) -> AsyncProfile:
        """Who the agent behind the bank is, and was: get, set, history, restore, forget_history."""
        return AsyncProfile(self._context)

    @property
    def mental_models(self) -> AsyncMentalModels:
        """Standing questions whose answers are kept: create, get, list, refresh, delete."""
        return AsyncMentalModels(self._context)

    @property
    def directives(self) -> AsyncDirectives:
        """Rules that every answer keeps: add, list, remove."""
        return AsyncDirectives(self._context)

    @property
    def tasks(self) -> AsyncTasks:
        """Work left over from a model that failed: list, settle, retry."""
        return AsyncTasks(self._context)

    @property
    def threads(self) -> AsyncThreads:
        """Conversations as they go on: follow."""
        return AsyncThreads(self._context)

    @property
    def items(self) -> AsyncItems:
        """Values kept by namespace and key: get, write, search, namespaces, forget, expire."""
        return AsyncItems(self._context)

    @property
    def archive(self) -> AsyncArchive:
        """The bank as one portable file: export, load."""
        return AsyncArchive(self._context)

    @property
    def maintenance(self) -> AsyncMaintenance:
        """For whoever runs the bank: reindex, edits."""
        return AsyncMaintenance(self._context)
