"""What a recall includes beside its units, each with a budget of its own (recall docs, "Expanding Context: Chunks").

What was not requested is empty and costs nothing. The query's filters on tags and validity hold here too; its minimum
scores and `k` are for the units alone (decision 070).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from hindsight_integrations.model.entities import Entity
from hindsight_integrations.model.recalled import EntityObservations, RecalledChunk, RecalledUnit, SourceFact
from hindsight_integrations.model.units import FactType, MemoryUnit
from hindsight_integrations.ports.arrays import IntArray, ranked
from hindsight_integrations.ports.memory_graph import Mentions
from hindsight_integrations.ports.token_counter import TokenCounter
from hindsight_integrations.search.channels.relevance import Relevance
from hindsight_integrations.tempr.recall.context import RecallContext, timed
from hindsight_integrations.tempr.recall.hydration import hydrate
from hindsight_integrations.tempr.recall.packing import pack_units
from hindsight_integrations.tempr.recall.plan import selection
from hindsight_integrations.validation.intake import content_hash

FACTS = tuple(kind for kind in FactType if kind is not FactType.OBSERVATION)


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
        shown = _within_budget(run, np.unique(pairs.units), (FactType.OBSERVATION,), budget)
        found = _by_entity(shown, mentioned, pairs)
        detail["observations"] = sum(len(entity.observations) for entity in found)
    return found


def _mentioned(run: RecallContext, rows: IntArray) -> dict[int, Entity]:
    """The entities the units mention, by row id, in the order they are met."""
    ledger, bank = run.view.ledger, run.view.bank
    named = ledger.entities_of(bank, rows)
    met = {entity.id: entity for row in rows.tolist() for entity in named.get(row, ())}
    places = ledger.entity_rows(bank, list(met))
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


def source_chunks(run: RecallContext, units: Collection[RecalledUnit]) -> tuple[RecalledChunk, ...]:
    """The passages the units came from, in the order of their best unit, as far as the budget goes."""
    if not run.query.chunk_tokens or not units:
        return ()
    with timed(run.trace, "chunks") as detail:
        origins: dict[tuple[str, int], list[str]] = {}
        for item in units:
            if item.unit.document_id is not None:
                origins.setdefault((item.unit.document_id, item.unit.chunk), []).append(item.unit.id)
        from_messages = sum(item.unit.document_id is None for item in units)
        if from_messages:
            run.trace.notes.append(
                f"chunks: {from_messages} memories come from messages, whose text is not kept"
            )
        found = tuple(_chunks(run, origins))
        detail["chunks"], detail["tokens"] = len(found), sum(chunk.tokens for chunk in found)
    return found


def _chunks(run: RecallContext, origins: Mapping[tuple[str, int], list[str]]) -> list[RecalledChunk]:
    """Whole passages, then the beginning of the first that does not fit; erased and damaged ones are left out.

    A passage is 3,000 characters, so skipping one that does not fit (as `pack` does with units) could leave most of a
    small budget unused; its beginning is worth more. Passages are counted here, since only units carry stored counts.
    """
    left = run.query.chunk_tokens
    texts: dict[str, dict[int, str]] = {}
    found = []
    for (document, ordinal), unit_ids in origins.items():
        if document not in texts:
            stored = run.view.ledger.document(run.view.bank, document)
            chunks = stored.chunks if stored else ()
            sound = [chunk for chunk in chunks if content_hash(chunk.text) == chunk.content_hash]
            texts[document] = {chunk.ordinal: chunk.text for chunk in sound}
            if len(sound) < len(chunks):
                run.trace.notes.append(
                    f"chunks: {len(chunks) - len(sound)} passages are damaged and left out"
                )
        whole = texts[document].get(ordinal, "")
        text, tokens = fitting(whole, left, run.tools.tokens)
        cut = len(text) < len(whole)
        if text:
            found.append(RecalledChunk(document, ordinal, text, tokens, tuple(unit_ids), cut))
        left -= tokens
        if cut or left <= 0:
            break
    return found


def fitting(text: str, max_tokens: int, counter: TokenCounter) -> tuple[str, int]:
    """The text or else its longest beginning that costs at most `max_tokens`, and what it costs.

    The beginning is found by halving, and ends between words if it can.
    """

    def cost(part: str) -> int:
        return counter.count([part])[0] if part else 0

    if (tokens := cost(text)) <= max_tokens:
        return text, tokens
    fits, exceeds = 0, len(text)
    while exceeds - fits > 1:
        middle = (fits + exceeds) // 2
        if cost(text[:middle]) <= max_tokens:
            fits = middle
        else:
            exceeds = middle
    start = text[:fits]
    words = start.rstrip() if text[fits].isspace() else (start.rsplit(maxsplit=1) or [""])[0]
    tokens = cost(words)
    return (words, tokens) if tokens <= max_tokens else ("", 0)


def source_facts(run: RecallContext, units: Mapping[int, RecalledUnit]) -> tuple[SourceFact, ...]:
    """What the observations among the units stand on: the facts of the messages they cite, nearest first.

    Facts among the units themselves are left out: their text is there already.
    """
    budget = run.query.source_fact_tokens
    observed = [item.unit for item in units.values() if item.unit.fact_type is FactType.OBSERVATION]
    if not budget or not observed:
        return ()
    with timed(run.trace, "source facts") as detail:
        grounds = {unit.id: _grounds(run, unit) for unit in observed}
        rows = np.array(sorted({row for rows in grounds.values() for row in rows}), np.int64)
        rows = np.setdiff1d(rows, np.array(list(units), np.int64))
        facts = _within_budget(run, rows, FACTS, budget)
        detail["facts"] = len(facts)
    return tuple(
        SourceFact(fact, tuple(name for name, found in grounds.items() if row in found))
        for row, fact in facts.items()
    )


def _grounds(run: RecallContext, observation: MemoryUnit) -> list[int]:
    """Row ids of the units made from the messages an observation cites, the observation itself among them."""
    cited = [(observation.thread, source) for source in observation.sources]
    return run.view.ledger.units_of_messages(run.view.bank, cited).tolist() if cited else []


def _within_budget(
    run: RecallContext, rows: IntArray, types: tuple[FactType, ...], max_tokens: int
) -> dict[int, RecalledUnit]:
    """Those of the units the query's filters let through that fit a budget, by row id, nearest first."""
    query = replace(run.query, types=types, max_tokens=max_tokens, k=None)
    rows = rows[run.view.columns.allowed(rows, selection(run.view.columns, query))]
    if not len(rows):
        return {}
    near = ranked(rows, Relevance(run.view, run.vector)(rows), len(rows))
    packed = pack_units(near.ids, near.scores.astype(np.float64), run.view, query, run.tools.tokens)
    return hydrate(packed, run, {})
