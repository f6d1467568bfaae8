"""`bank.records`: what of the memories can be added up or listed, completely and exactly."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import TypeAlias

from hindsight_integrations.bank.context import BankVerbs
from hindsight_integrations.bank.entities import MAX_NAME
from hindsight_integrations.choices import choice
from hindsight_integrations.model.aggregates import Aggregate, Aggregation, RecordEntry
from hindsight_integrations.tempr.listing.aggregation import aggregate
from hindsight_integrations.tempr.listing.records import RecordFilter, find_records, record_filter
from hindsight_integrations.validation.arguments import Window, checked_instant, checked_window
from hindsight_integrations.validation.limits import checked_text

Entries: TypeAlias = list[RecordEntry]  # inside the class `list` is the verb


class AsyncRecords(BankVerbs):
    """The bank's records."""

    namespace = "records"

    async def list(
        self,
        *,
        kind: str | None = None,
        category: str | None = None,
        unit: str | None = None,
        window: Window = None,
        as_of: datetime | str | None = None,
        include_invalidated: bool = False,
    ) -> Entries:
        """Every record of this sort with the memory it stands in, in order of time. Nothing is ranked or cut.

        What a caller asks for is read as what was stored: "coffees", "food (coffee)" and "coffee purchase" ask for coffee,
        "steps" for the quantities counted in steps too. What the bank has nothing of gives an empty list.

        Args:
            kind: a `RecordKind` ("expense", "quantity", "task", ...), or any word that facts may have for one ("steps",
                "todo"); None means any.
            category: the finer sort, "coffee"; None means any.
            unit: of the values, in any spelling: "USD", "dollars", "steps/day"; None means any.
            window: (start, end) of when it happened, or was mentioned if it has no time of its own.
            as_of: a moment of conversation time; what was valid then. None means what is valid now.
            include_invalidated: also records that are no longer valid, alone or with their memory; with `as_of`, all that had
                been mentioned by then.

        Raises:
            InvalidRequest: a time cannot be read, or a word is too long.
            MemoryDamaged: some are not what was written, and are not served.
        """
        wanted = self._wanted(kind, category, unit, window=window, as_of=as_of)
        return await self._find(replace(wanted, include_invalidated=bool(include_invalidated)))

    async def aggregate(
        self,
        how: Aggregation | str,
        *,
        kind: str | None = None,
        category: str | None = None,
        unit: str | None = None,
        window: Window = None,
        as_of: datetime | str | None = None,
    ) -> Aggregate:
        """One exact value over valid records, with the memories and the spellings of categories that entered it.

        Values in units of one measure are converted exactly into the unit most of them have ("km" and "mi"), and the result
        says so. Without a kind, records of kind OTHER are left out, and the result says so too; `kind="other"` takes them.

        Args:
            how: sum, count, mean, min, max or last.
            kind: as in `list`.
            category: as in `list`; of one that the bank has nothing of, sum and count are 0 and the others None.
            unit: as in `list`.
            window: as in `list`.
            as_of: as in `list`.

        Raises:
            InvalidRequest: `how` is not known, or values that measure different things would be added or compared, such as
                money of two currencies.
            MemoryDamaged: some of the records are not what was written; a sum without them would be wrong.
        """
        chosen = choice(Aggregation, how, "how")
        wanted = self._wanted(kind, category, unit, window=window, as_of=as_of)
        return aggregate(await self._find(wanted), chosen, other=wanted.kind is not None)

    def _wanted(
        self,
        kind: str | None,
        category: str | None,
        unit: str | None,
        *,
        window: Window,
        as_of: datetime | str | None,
    ) -> RecordFilter:
        words = {"kind": kind, "category": category, "unit": unit}
        checked = {n: None if word is None else checked_text(word, n, MAX_NAME) for n, word in words.items()}
        dates = self._context.tools.dates
        return replace(
            record_filter(**checked),
            window=checked_window(window, dates),
            as_of=checked_instant(as_of, "as_of", dates),
        )

    async def _find(self, wanted: RecordFilter) -> Entries:
        async with self._context.viewing() as view:
            return await self._context.tools.workers.read(find_records, view, wanted)
