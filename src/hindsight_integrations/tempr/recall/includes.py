"""What a recall returns besides its units, each with a budget of its own: observations, passages, source facts."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from hindsight_integrations.model.entities import Entity
from hindsight_integrations.model.recalled import EntityObservations, RecalledChunk, RecalledUnit, SourceFact
from hindsight_integrations.model.units import FactType, MemoryUnit
from hindsight_integrations.ports.arrays import IntArray, ranked
from hindsight_integrations.ports.memory_graph import Mentions
from hindsight_integrations.search.bank_view import BankView
from hindsight_integrations.search.channels import Relevance
from hindsight_integrations.tempr.recall.amendments import pack_ranked
from hindsight_integrations.tempr.recall.hydration import hydrate
from hindsight_integrations.tempr.recall.passages import PassageBudget
from hindsight_integrations.tempr.recall.plan import RecallPlan, selection
from hindsight_integrations.tempr.recall.timing import Timer
from hindsight_integrations.tempr.recall.tools import RecallTools

FACTS = tuple(kind for kind in FactType if kind is not FactType.OBSERVATION)


class Besides:
    """The extras of one recall. What was not asked for is empty and costs nothing.

    The query's filters on tags and validity hold here too; its thresholds and `k` are for the units alone.
    """

    def __init__(self, recalled: RecallPlan, view: BankView, tools: RecallTools, timer: Timer) -> None:
        self._plan, self._view, self._tools, self._timer = recalled, view, tools, timer

    def entities(self, rows: IntArray) -> tuple[EntityObservations, ...]:
        """Observations of the entities these units (by row id) mention, nearest to the question first.

        Those among the units themselves are left out: their text is there already.
        """
        if not self._plan.query.entity_tokens or not len(rows):
            return ()
        with self._timer.stage("entities") as detail:
            mentioned = self._mentioned(rows)
            mentions = self._observed(mentioned, rows)
            budget = self._plan.query.entity_tokens
            shown = self._packed(np.unique(mentions.units), (FactType.OBSERVATION,), budget)
            found = _by_entity(shown, mentioned, mentions)
            detail["observations"] = sum(len(entity.observations) for entity in found)
        return found

    def chunks(self, units: Collection[RecalledUnit]) -> tuple[RecalledChunk, ...]:
        """The passages the units came from, in the order of their best unit, as far as the budget goes."""
        if not self._plan.query.chunk_tokens or not units:
            return ()
        with self._timer.stage("chunks") as detail:
            origins: dict[tuple[str, int], list[str]] = {}
            for item in units:
                if item.unit.document_id is not None:
                    origins.setdefault((item.unit.document_id, item.unit.chunk), []).append(item.unit.id)
            told = sum(item.unit.document_id is None for item in units)
            if told:
                self._timer.trace.notes.append(
                    f"chunks: {told} memories come from messages, whose text is not kept"
                )
            found = tuple(self._passages(origins))
            detail["chunks"], detail["tokens"] = len(found), sum(chunk.tokens for chunk in found)
        return found

    def source_facts(self, units: Mapping[int, RecalledUnit]) -> tuple[SourceFact, ...]:
        """What the observations among the units stand on: the facts of the messages they cite, nearest first.

        Facts among the units themselves are left out: their text is there already.
        """
        observed = [item.unit for item in units.values() if item.unit.fact_type is FactType.OBSERVATION]
        if not self._plan.query.source_fact_tokens or not observed:
            return ()
        with self._timer.stage("source facts") as detail:
            grounds = {unit.id: self._grounds(unit) for unit in observed}
            rows = np.array(sorted({row for rows in grounds.values() for row in rows}), np.int64)
            rows = np.setdiff1d(rows, np.array(list(units), np.int64))
            facts = self._packed(rows, FACTS, self._plan.query.source_fact_tokens)
            detail["facts"] = len(facts)
        return tuple(
            SourceFact(fact, tuple(name for name, found in grounds.items() if row in found))
            for row, fact in facts.items()
        )

    def _mentioned(self, rows: IntArray) -> dict[int, Entity]:
        """The entities the units mention, by row id, in the order they are met."""
        ledger, bank = self._view.ledger, self._view.bank
        named = ledger.entities_of(bank, rows)
        met = {entity.id: entity for row in rows.tolist() for entity in named.get(row, ())}
        places = ledger.entity_rows(bank, list(met))
        return {places[name]: entity for name, entity in met.items() if name in places}

    def _observed(self, mentioned: Mapping[int, Entity], rows: IntArray) -> Mentions:
        """(observation, entity) pairs of these entities, the units themselves left out."""
        if "graph" in self._view.failures:
            self._timer.trace.notes.append("entities: left out, the graph is broken")
            return Mentions(np.empty(0, np.int64), np.empty(0, np.int64))
        pairs = self._view.graph.units_of(np.array(sorted(mentioned), np.int64))
        fresh = ~np.isin(pairs.units, rows)
        return Mentions(pairs.units[fresh], pairs.entities[fresh])

    def _packed(
        self, rows: IntArray, types: tuple[FactType, ...], max_tokens: int
    ) -> dict[int, RecalledUnit]:
        """Those of the units the query's filters let through that fit a budget, by row id, nearest first."""
        query = replace(self._plan.query, types=types, max_tokens=max_tokens, k=None)
        rows = rows[self._view.columns.allowed(rows, selection(self._view.columns, query))]
        if not len(rows):
            return {}
        near = ranked(rows, Relevance(self._view, self._plan.vector)(rows), len(rows))
        kept = pack_ranked(near.ids, near.scores.astype(np.float64), self._view, query, self._tools.tokens)
        return hydrate(kept, self._view, as_of=query.as_of, lists={})

    def _grounds(self, observation: MemoryUnit) -> list[int]:
        """Row ids of the units made from the messages an observation cites, the observation itself among them."""
        cited = [(observation.thread, source) for source in observation.sources]
        return self._view.ledger.units_of_messages(self._view.bank, cited).tolist() if cited else []

    def _passages(self, origins: Mapping[tuple[str, int], list[str]]) -> list[RecalledChunk]:
        """The passages' texts; those of erased documents, and erased passages, are gone."""
        budget = PassageBudget(self._plan.query.chunk_tokens, self._tools.tokens)
        texts: dict[str, dict[int, str]] = {}
        found = []
        for (document, ordinal), unit_ids in origins.items():
            if document not in texts:
                stored = self._view.ledger.document(self._view.bank, document)
                texts[document] = {c.ordinal: c.text for c in stored.chunks} if stored else {}
            text, tokens = budget.take(texts[document].get(ordinal, ""))
            if text:
                cut = len(text) < len(texts[document][ordinal])
                found.append(RecalledChunk(document, ordinal, text, tokens, tuple(unit_ids), cut))
            if budget.spent:
                break
        return found


def _by_entity(
    shown: Mapping[int, RecalledUnit], mentioned: Mapping[int, Entity], mentions: Mentions
) -> tuple[EntityObservations, ...]:
    """Each observation once, beneath the first of its entities."""
    pairs = set(zip(mentions.units.tolist(), mentions.entities.tolist(), strict=True))
    told: set[int] = set()
    found = []
    for place, entity in mentioned.items():
        rows = [row for row in shown if (row, place) in pairs and row not in told]
        told.update(rows)
        if rows:
            found.append(EntityObservations(entity.id, entity.name, tuple(shown[row] for row in rows)))
    return tuple(found)
