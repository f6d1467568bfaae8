"""AsyncMemoryBank: retain, recall, reflect, and a namespace for each group of other methods."""

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
    """A bank of memories. Created by `AsyncHindsight.bank`; can be used from any event loop."""

    def with_profile(self, profile: BankProfile) -> AsyncMemoryBank:
        """Return the same bank with another profile for `reflect`; the bank's own profile does not change.

        Args:
            profile: the profile to use instead of the bank's own.

        Raises:
            InvalidRequest: it is not a profile, or its name or background is blank, too long or cannot be stored.
        """
        return AsyncMemoryBank(self._context, answering_as=checked_profile(profile))

    @property
    def name(self) -> str:
        """The bank's name."""
        return self._context.name

    @property
    def generation(self) -> int:
        """A number that distinguishes the bank from forgotten banks with the same name."""
        return self._context.generation

    @property
    def reference(self) -> BankReference:
        """A reference from which `bank_at` gets the bank, even in another process."""
        return BankReference(self._context.services.place, self.name)

    @property
    def worker(self) -> WorkerMode:
        """Where the bank's background tasks run."""
        return self._context.services.worker

    @property
    def entities(self) -> AsyncEntities:
        """Entities: list, observations, merge, split, alias, undo, changes."""
        return AsyncEntities(self._context)

    @property
    def records(self) -> AsyncRecords:
        """Records, the typed values in memories: list, aggregate, categories, merge, split."""
        return AsyncRecords(self._context)

    @property
    def opinions(self) -> AsyncOpinions:
        """Opinions of the agent with their confidence and evidence: list, get, history, trajectory, forget."""
        return AsyncOpinions(self._context)

    @property
    def reflect_stages(self) -> AsyncReflectStages:
        """The steps of a reflection: recall, think, call_tool, answer, assess, commit."""
        return AsyncReflectStages(self._context, answering_as=self._answering_as)

    @property
    def profile(self) -> AsyncProfile:
        """Profile of the agent: get, set, history, restore, forget_history."""
        return AsyncProfile(self._context)

    @property
    def mental_models(self) -> AsyncMentalModels:
        """Questions with stored answers: create, get, list, refresh, delete."""
        return AsyncMentalModels(self._context)

    @property
    def directives(self) -> AsyncDirectives:
        """Rules that every answer follows: add, list, remove."""
        return AsyncDirectives(self._context)

    @property
    def tasks(self) -> AsyncTasks:
        """Background tasks of the bank: list, settle, retry."""
        return AsyncTasks(self._context)

    @property
    def threads(self) -> AsyncThreads:
        """Follow conversations that continue and fork: follow."""
        return AsyncThreads(self._context)

    @property
    def items(self) -> AsyncItems:
        """Values by namespace and key: get, write, search, namespaces, forget, expire."""
        return AsyncItems(self._context)

    @property
    def archive(self) -> AsyncArchive:
        """Export and import of the bank as a single file: export, load."""
        return AsyncArchive(self._context)

    @property
    def maintenance(self) -> AsyncMaintenance:
        """Maintenance of the bank: reindex, edits."""
        return AsyncMaintenance(self._context)
