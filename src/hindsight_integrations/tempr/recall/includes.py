"""What a recall includes beside its units, each with a budget of its own (recall docs, "Expanding Context: Chunks").

What was not requested is empty and costs nothing. The query's filters on tags and validity hold here too; its minimum
scores and `k` are for the units alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from hindsight_integrations.model.entities import Entity
from hindsight_integrations.model.recalled import EntityObservations, RecalledUnit, SourceFact
from hindsight_integrations.model.units import TOLD_NETWORKS, FactType, MemoryUnit
from hindsight_integrations.ports.arrays import IntArray, ranked
from hindsight_integrations.ports.memory_graph import Mentions
from hindsight_integrations.search.channels.relevance import Relevance
from hindsight_integrations.tempr.recall.context import RecallContext, timed
from hindsight_integrations.tempr.recall.hydration import hydrate
from hindsight_integrations.tempr.recall.observations import OBSERVED, grounds_of, observations_among, stood
from hindsight_integrations.tempr.recall.packing import pack_units
from hindsight_integrations.tempr.recall.plan import selection


def entity_observations(run: RecallContext, rows: IntArray) -> tuple[EntityObservations, ...]:
    """Observations of the entities these units (by row id) mention, nearest to the question first.

    Those among the units themselves are left out: their text is there already.
    """
    budget = run.query.entity_tokens
    if not budget or not len(rows):
        return ()
    with timed(run.trace, "entities") as detail:
        mentioned = _mentioned(run, rows)
        pairs = _observed(run, mentioned, rows)
        observed = observations_among(run.view, np.unique(pairs.units))
        observed = observed[stood(run.view, observed, run.query.as_of)]
        shown = _within_budget(run, observed, OBSERVED, budget)
        found = _with_stale(run, shown, _by_entity(shown, mentioned, pairs))
        detail["observations"] = sum(len(entity.observations) for entity in found)
    return found


def _mentioned(run: RecallContext, rows: IntArray) -> dict[int, Entity]:
    """The entities the units mention, by row id, in the order they are met."""
    ledger, bank = run.view.ledger, run.view.bank
    named = ledger.entities.of_units(bank, rows)
    met = {entity.id: entity for row in rows.tolist() for entity in named.get(row, ())}
    places = ledger.entities.row_ids(bank, list(met))
    return {places[name]: entity for name, entity in met.items() if name in places}


def _observed(run: RecallContext, mentioned: Mapping[int, Entity], rows: IntArray) -> Mentions:
    """(observation, entity) pairs of these entities, the units themselves left out."""
    if "graph" in run.view.failures:
        run.trace.notes.append("entities: left out, the graph is broken")
        return Mentions(np.empty(0, np.int64), np.empty(0, np.int64))
    pairs = run.view.graph.units_of(np.array(sorted(mentioned), np.int64))
    fresh = ~np.isin(pairs.units, rows)
    return Mentions(pairs.units[fresh], pairs.entities[fresh])


def _by_entity(
    shown: Mapping[int, RecalledUnit], mentioned: Mapping[int, Entity], mentions: Mentions
) -> tuple[EntityObservations, ...]:
    """Each observation once, beneath the first of its entities."""
    pairs = set(zip(mentions.units.tolist(), mentions.entities.tolist(), strict=True))
    left = dict(shown)
    found = []
    for place, entity in mentioned.items():
        observations = [left.pop(row) for row in list(left) if (row, place) in pairs]
        if observations:
            found.append(EntityObservations(entity.id, entity.name, tuple(observations)))
    return tuple(found)


def _with_stale(
    run: RecallContext, shown: Mapping[int, RecalledUnit], found: tuple[EntityObservations, ...]
) -> tuple[EntityObservations, ...]:
    """The entities, marked where something shown of them was made of facts that have changed since."""
    if not found:
        return ()
    ledger, bank = run.view.ledger, run.view.bank
    grounds = ledger.observations.grounds_of(bank, np.array(list(shown), np.int64))
    made = {shown[row].unit.id for row in grounds}
    changed = ledger.observations.facts_changed(bank, [entity.id for entity in found])
    return tuple(
        replace(
            entity, stale=entity.id in changed and any(item.unit.id in made for item in entity.observations)
        )
        for entity in found
    )


def source_facts(run: RecallContext, units: Mapping[int, RecalledUnit]) -> tuple[SourceFact, ...]:
    """What the observations among the units stand on, nearest first: the facts they were made from, or the message they cite.

    Facts among the units themselves are left out: their text is there already.
    """
    budget = run.query.source_fact_tokens
    observed = {row: item.unit for row, item in units.items() if item.unit.fact_type in OBSERVED}
    if not budget or not observed:
        return ()
    with timed(run.trace, "source facts") as detail:
        made = grounds_of(run.view, np.array(list(observed), np.int64))
        grounds = {
            unit.id: made[row].tolist() if row in made else _cited(run, unit)
            for row, unit in observed.items()
        }
        rows = np.array(sorted({row for rows in grounds.values() for row in rows}), np.int64)
        rows = np.setdiff1d(rows, np.array(list(units), np.int64))
        facts = _within_budget(run, rows, TOLD_NETWORKS, budget)
        detail["facts"] = len(facts)
    return tuple(
        SourceFact(fact, tuple(name for name, found in grounds.items() if row in found))
        for row, fact in facts.items()
    )


def _cited(run: RecallContext, observation: MemoryUnit) -> list[int]:
    """Row ids of the units made from the messages a retained observation cites, the observation itself among them."""
    cited = [(observation.thread, source) for source in observation.sources]
    return run.view.ledger.units.of_messages(run.view.bank, cited).tolist() if cited else []


def _within_budget(
    run: RecallContext, rows: IntArray, types: tuple[FactType, ...], max_tokens: int
) -> dict[int, RecalledUnit]:
    """Those of the units the query's filters let through that fit a budget, by row id, nearest first."""
    query = replace(run.query, types=types, max_tokens=max_tokens, k=None)
    rows = rows[run.view.columns.allowed(rows, selection(run.view.columns, query))]
    if not len(rows):
        return {}
    near = ranked(rows, Relevance(run.view, run.vector)(rows), len(rows))
    scores = near.scores.astype(np.float64)
    packed = pack_units(near.ids, scores, run.view, query, run.tools, items=run.items)
    return hydrate(packed, run, {})
