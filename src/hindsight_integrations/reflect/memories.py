"""Recall for a reflection, in tiers: mental models, observations, facts; beliefs apart (reference, "Retrieval Priority")."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from hindsight_integrations.model.recalled import RecalledUnit
from hindsight_integrations.model.reflections import MemoryTiers
from hindsight_integrations.model.requests import RecallQuery
from hindsight_integrations.model.units import FactType
from hindsight_integrations.reflect.context import ReflectContext

OBSERVATION_SHARE = 0.2  # of the token budget, at most, for what entities' facts were summed up as
BELIEF_SHARE = 0.1  # of it, at most, for what the agent believes


async def recalled_tiers(query: RecallQuery, context: ReflectContext) -> MemoryTiers:
    """What is known of a question, within its token budget: step 1 of reflect (paper section 6.1).

    What the shares of beliefs and observations leave over is the facts'.
    """
    models = await context.mental_models(query)
    taken = sum(context.services.tokens.count([model.text for model in models])) if models else 0
    left = max(1, query.max_tokens - taken)
    held = await context.recall(
        replace(
            query, types=(FactType.OPINION,), record_tokens=0, max_tokens=max(1, round(left * BELIEF_SHARE))
        )
    )
    most_observed = round(left * OBSERVATION_SHARE)
    found = await context.recall(
        replace(
            query,
            types=tuple(kind for kind in query.types if kind is not FactType.OPINION),
            max_tokens=max(1, left - held.tokens - most_observed),
            entity_tokens=most_observed,
        )
    )
    included = (item for entity in found.entities for item in entity.observations)
    return MemoryTiers(
        recalled=found,
        mental_models=tuple(models),
        observations=in_time_order([*(item for item in found.units if _observed(item)), *included]),
        facts=in_time_order(item for item in found.units if not _observed(item)),
        beliefs=in_time_order(held.units),
    )


def in_time_order(units: Iterable[RecalledUnit]) -> tuple[RecalledUnit, ...]:
    """Memories by when they happened, else were mentioned, each once."""
    return tuple(sorted({item.unit.id: item for item in units}.values(), key=_moment))


def _moment(item: RecalledUnit) -> tuple[datetime, datetime, str]:
    unit = item.unit
    return unit.began, unit.mentioned_at, unit.id


def _observed(item: RecalledUnit) -> bool:
    return item.unit.fact_type is FactType.OBSERVATION
