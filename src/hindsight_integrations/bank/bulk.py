"""The verb for many retains at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from hindsight_integrations.bank.core import BankCore
from hindsight_integrations.errors import HindsightError, InvalidRequest
from hindsight_integrations.model.bulk import BulkResult
from hindsight_integrations.model.requests import RetainItem
from hindsight_integrations.tempr.retain.bulk import Given, retain_many
from hindsight_integrations.validation.limits import checked_count
from hindsight_integrations.validation.retain_request import Source, retain_request

BATCH_SIZE = 64  # items; about what one commit of a few hundred facts holds


class BulkVerbs(BankCore):
    """Retaining many documents and conversations."""

    async def retain_many(
        self,
        items: Iterable[RetainItem],
        *,
        progress: Callable[[int, int], object] | None = None,
        batch_size: int = BATCH_SIZE,
    ) -> BulkResult:
        """Remember many texts, documents and conversations: embedded and committed in batches.

        One bad item does not stop the others: its error is in the result and nothing of it is stored. What is already
        remembered is skipped, so that after a kill the same call does what is left.

        Args:
            items: what to retain; of two versions of one document or message the later one wins.
            progress: called after each batch with the number of items done, and of all; what it raises stops the work.
            batch_size: at most so many items a commit.

        Raises:
            InvalidRequest: batch_size is not positive, or an item is no RetainItem.
            EngineClosed: the engine was closed; batches committed before stay.
        """
        self._check_writable("retain_many")
        size = checked_count(batch_size, "batch_size", most=10_000)
        given = [self._given(item) for item in items]
        await self._tools.workers.write(self._claim_embedder)
        outcomes = await retain_many(
            given,
            self._retain_tools(),
            batch_size=size,
            concurrent=self._tools.config.retain.concurrent_extractions,
            progress=progress,
        )
        return BulkResult(tuple(outcomes))

    def _given(self, item: RetainItem) -> Given:
        if not isinstance(item, RetainItem):
            raise InvalidRequest("items", f"{type(item).__name__} is not a RetainItem", "Wrap it in one.")
        about = Source(
            item.timestamp,
            item.thread,
            item.document_id,
            item.context,
            item.entities,
            item.tags,
            item.metadata or {},
        )
        tools = self._tools
        try:
            return retain_request(
                item.content, about, item.facts, bank=self._name, clock=tools.clock, zone=tools.zone
            )
        except HindsightError as error:
            return error
