"""From row ids to the units a caller gets: the only place where recall reads whole units to return."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

import numpy as np

from hindsight_integrations.model.recalled import RecalledUnit, RecallReason
from hindsight_integrations.model.requests import ResultOrder
from hindsight_integrations.model.trace import Channel, ChannelHit
from hindsight_integrations.ports.arrays import Hits, IntArray
from hindsight_integrations.search.columns import valid_at
from hindsight_integrations.search.held_opinions import as_held
from hindsight_integrations.tempr.recall.context import RecallContext
from hindsight_integrations.tempr.recall.packing import Packed

NO_REASONS: Mapping[int, RecallReason] = MappingProxyType({})


def hydrate(
    packed: Packed,
    run: RecallContext,
    lists: Mapping[Channel, Hits],
    reasons: Mapping[int, RecallReason] = NO_REASONS,
) -> dict[int, RecalledUnit]:
    """The packed units by row id, best first, with entities, items of documents and each channel's rank and score.

    Units erased since the view was made, and damaged ones, are left out and noted as missing.
    """
    ids, view = packed.ids, run.view
    stored = as_held(run.units(ids), view.ledger, view.bank, as_of=run.query.as_of)
    entities = view.ledger.entities.of_units(view.bank, ids)
    run.missing.update(row for row in ids.tolist() if row not in stored)
    valid = set(ids[view.columns.allowed(ids, valid_at(view.columns, run.query.as_of))].tolist())
    found = {channel: channel_hits(hits, ids) for channel, hits in lists.items()}
    return {
        row: RecalledUnit(
            unit=stored[row],
            score=float(score),
            channels={channel: hits[row] for channel, hits in found.items() if row in hits},
            entities=tuple(entity.name for entity in entities.get(row, ())),
            valid=row in valid,
            document=packed.items.get(row),
            form=run.query.form,
            reason=reasons.get(row, RecallReason.FOUND),
            asked_at=run.query.query_timestamp,
        )
        for row, score in zip(ids.tolist(), packed.scores, strict=True)
        if row in stored
    }


def channel_hits(hits: Hits, wanted: IntArray) -> dict[int, ChannelHit]:
    """Where a channel put the units wanted; most of its hits are not among them."""
    at = np.flatnonzero(np.isin(hits.ids, wanted))
    rows, scores = hits.ids[at].tolist(), hits.scores[at].tolist()
    return {
        row: ChannelHit(rank + 1, score) for rank, row, score in zip(at.tolist(), rows, scores, strict=True)
    }


def in_order(units: Iterable[RecalledUnit], order: ResultOrder) -> tuple[RecalledUnit, ...]:
    """Units, best first, as they are returned: as they are, or oldest first, of two of one moment the better one first."""
    if order is ResultOrder.RANK:
        return tuple(units)
    return tuple(sorted(units, key=lambda item: item.unit.began))
