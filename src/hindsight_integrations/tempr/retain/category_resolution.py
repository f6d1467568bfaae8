"""Category resolution: the categories that records state to the bank's (decision 113). Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from hindsight_integrations.model.records import Record, RecordCategory
from hindsight_integrations.tempr.retain.drafts import Draft
from hindsight_integrations.text.vocabulary.known_categories import KnownCategories


def resolve_categories(
    drafts: Sequence[Draft], lookup: Callable[[], Sequence[RecordCategory]]
) -> list[Draft]:
    """The drafts, the category of each record being the bank's name for it; what was stated stays in `stated`.

    Which records share a category does not depend on the order of the drafts, only what a new category is called does. What
    was merged or parted by hand before stays so.

    Args:
        drafts: in order.
        lookup: the bank's categories, the most used of a kind first; asked where a draft has records.
    """
    if not any(draft.unit.records for draft in drafts):
        return [*drafts]
    known = KnownCategories(lookup())

    def resolved(record: Record) -> Record:
        stated = record.stated or record.category
        return replace(record, category=known.resolved(stated, record.kind)) if stated else record

    return [
        replace(draft, unit=replace(draft.unit, records=tuple(map(resolved, draft.unit.records))))
        if draft.unit.records
        else draft
        for draft in drafts
    ]
