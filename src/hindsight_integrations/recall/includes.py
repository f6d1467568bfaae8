"""Optional additions to a recall's units, each with a separate budget (recall docs, "Expanding Context: Chunks").

Additions that were not requested are empty and cost nothing. The query's filters on tags and validity apply here too; its minimum
scores and `k` apply only to the units.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from hindsight_integrations.indexes.bank_view import BankView
from hindsight_integrations.indexes.columns import Columns, group_selects, tags_select, valid_at
from hindsight_integrations.indexes.spreading_activation import Relevance
from hindsight_integrations.model.arrays import BoolArray, IntArray, ranked
from hindsight_integrations.model.entities import Entity
from hindsight_integrations.model.links import Mentions
from hindsight_integrations.model.recalled import EntityObservations, RecalledChunk, RecalledUnit, SourceFact
from hindsight_integrations.model.requests import RecallQuery, TagsMatch
from hindsight_integrations.model.text import content_hash
from hindsight_integrations.model.time import no_later
from hindsight_integrations.model.turns import SourceTurn
from hindsight_integrations.model.units import TOLD_NETWORKS, FactType, MemoryUnit
from hindsight_integrations.models.protocols import TokenCounter
from hindsight_integrations.recall.context import RecallContext, timed
from hindsight_integrations.recall.packing import hydrate, pack_units
from hindsight_integrations.recall.plan import selection
from hindsight_integrations.recall.rerank import OBSERVED, grounds_of, observations_among


@dataclass(frozen=True, slots=True)
class UnitSource:
    """The source of recalled units: a passage of a document, or a turn.

    Attributes:
        document_id: the document; None for a turn.
        ordinal: ordinal of the passage; 0 for a turn.
        turn: the turn; None for a passage.
    """

    document_id: str | None = None
    ordinal: int = 0
    turn: SourceTurn | None = None


def source_chunks(run: RecallContext, units: Mapping[int, RecalledUnit]) -> tuple[RecalledChunk, ...]:
    """Return the sources of the units (by row id) that fit the budget, in the order of their best unit."""
    if not run.query.chunk_tokens or not units:
        return ()
    with timed(run.trace, "chunks") as detail:
        turns = _turns(run, units)
        sources: dict[UnitSource, list[str]] = {}
        missing = 0
        for row, item in units.items():
            own = _sources(item, turns.get(row))
            missing += own is None
            for source in own or ():
                sources.setdefault(source, []).append(item.unit.id)
        if missing:
            run.trace.notes.append(f"chunks: {missing} memories come from messages whose text is not kept")
        found = tuple(_chunks(run, sources))
        detail["chunks"], detail["tokens"] = len(found), sum(chunk.tokens for chunk in found)
    return found


def _sources(item: RecalledUnit, turns: Sequence[SourceTurn] | None) -> list[UnitSource] | None:
    """Return a unit's sources, except those that the unit repeats verbatim; None if their text was not stored."""
    if item.unit.document_id is not None:
        return [UnitSource(item.unit.document_id, item.unit.chunk)]
    if item.unit.speaker:
        return []
    return None if turns is None else [UnitSource(turn=turn) for turn in turns]


def _turns(run: RecallContext, units: Mapping[int, RecalledUnit]) -> dict[int, list[SourceTurn]]:
    """Return, by row id, each unit's source turns that may be shown, except turns that are returned as verbatim units."""
    query, view = run.query, run.view
    shown = {(item.unit.thread, *item.unit.sources) for item in units.values() if item.unit.speaker}
    stored = view.ledger.turns.of_units(view.bank, np.array(list(units), np.int64))
    valid = valid_at(view.columns, query.as_of)
    return {
        row: [
            with_history(turn, view.columns, valid)
            for turn in turns
            if (turn.thread, turn.message_id) not in shown and may_show(turn, query)
        ]
        for row, turns in stored.items()
    }


def may_show(turn: SourceTurn, query: RecallQuery) -> bool:
    """Return whether a turn passes a query's filters on tags and time."""
    own = frozenset(turn.tags)
    by_then = query.as_of is None or no_later(turn.said_at, query.as_of)
    asked = query.tags or query.tags_match is TagsMatch.EXACT
    tagged = not asked or tags_select(own, frozenset(query.tags), query.tags_match)
    return by_then and tagged and all(group_selects(own, group) for group in query.tag_groups)


def with_history(turn: SourceTurn, columns: Columns, valid: BoolArray) -> SourceTurn:
    """Set the turn's `history` flag if all memories made from it are invalid (`valid` is a mask over positions)."""
    rows = np.array(turn.memories, np.int64)
    return replace(turn, history=bool(len(rows)) and not columns.allowed(rows, valid).any())


def _chunks(run: RecallContext, sources: Mapping[UnitSource, Sequence[str]]) -> list[RecalledChunk]:
    """Return the passages that fit, then the beginning of the first one that does not; erased passages are left out.

    A passage has about 3,000 characters, so skipping one that does not fit (as `pack` does with units) could
    leave most of a small budget unused. Passages are tokenised here, because only units have stored token
    counts.
    """
    left = run.query.chunk_tokens
    passages = _passages(run, sources)
    found = []
    for source, unit_ids in sources.items():
        whole = source.turn.spoken if source.turn else passages.get((source.document_id, source.ordinal), "")
        text, tokens = fitting(whole, left, run.services.tokens)
        cut = len(text) < len(whole)
        if text:
            found.append(
                RecalledChunk(
                    source.document_id, source.ordinal, text, tokens, tuple(unit_ids), cut, source.turn
                )
            )
        left -= tokens
        if cut or left <= 0:
            break
    return found


def _passages(run: RecallContext, sources: Iterable[UnitSource]) -> dict[tuple[str | None, int], str]:
    """Read the passages of documents among the sources, by document and ordinal; damaged passages are left out."""
    documents = dict.fromkeys(source.document_id for source in sources if source.document_id is not None)
    stored = (run.view.ledger.units.document(run.view.bank, document) for document in documents)
    chunks = [chunk for found in stored if found for chunk in found.chunks]
    sound = [chunk for chunk in chunks if content_hash(chunk.text) == chunk.content_hash]
    if len(sound) < len(chunks):
        run.trace.notes.append(f"chunks: {len(chunks) - len(sound)} passages are damaged and left out")
    return {(chunk.document_id, chunk.ordinal): chunk.text for chunk in sound}


def fitting(text: str, max_tokens: int, counter: TokenCounter) -> tuple[str, int]:
    """Return the text, or its longest beginning of at most `max_tokens`, and its cost in tokens.

    The beginning is found by bisection, and ends between words if possible.
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


def stood(view: BankView, rows: IntArray, as_of: datetime | None) -> BoolArray:
    """Return a mask of units (by row id), (n,): False for an observation with a source fact that was not valid at `as_of`.

    The observation's own dates are not sufficient: a fact may have been invalid at `as_of` and become valid
    again later.
    """
    if as_of is None or not len(rows):
        return np.ones(len(rows), bool)
    held = valid_at(view.columns, as_of)
    fallen = [
        observation
        for observation, facts in grounds_of(view, observations_among(view, rows)).items()
        if not view.columns.allowed(facts, held).all()
    ]
    return ~np.isin(rows, np.array(fallen, np.int64))


def entity_observations(run: RecallContext, rows: IntArray) -> tuple[EntityObservations, ...]:
    """Return observations of the entities that units (by row id) mention, most similar to the question first.

    Observations among the units themselves are left out, since their text is already returned.
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
    """Return the entities the units mention, by row id, in order of first mention."""
    ledger, bank = run.view.ledger, run.view.bank
    named = ledger.entities.of_units(bank, rows)
    met = {entity.id: entity for row in rows.tolist() for entity in named.get(row, ())}
    places = ledger.entities.row_ids(bank, list(met))
    return {places[name]: entity for name, entity in met.items() if name in places}


def _observed(run: RecallContext, mentioned: Mapping[int, Entity], rows: IntArray) -> Mentions:
    """Return pairs of an observation and an entity for the mentioned entities, without observations that are in `rows`."""
    if "graph" in run.view.failures:
        run.trace.notes.append("entities: left out, the graph is broken")
        return Mentions(np.empty(0, np.int64), np.empty(0, np.int64))
    pairs = run.view.graph.units_of(np.array(sorted(mentioned), np.int64))
    fresh = ~np.isin(pairs.units, rows)
    return Mentions(pairs.units[fresh], pairs.entities[fresh])


def _by_entity(
    shown: Mapping[int, RecalledUnit], mentioned: Mapping[int, Entity], mentions: Mentions
) -> tuple[EntityObservations, ...]:
    """Group observations by entity; an observation of several entities is listed once, under the first."""
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
    """Mark an entity as stale if its facts have changed since its observations were made from them."""
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
    """Return the facts on which observations among the units are based, most similar to the question first.

    These are the facts from which an observation was made, or facts made from the messages that it cites. Facts that are
    among the units themselves are omitted, because recall returns them anyway.
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
    """Return the row ids of units made from messages that a retained observation cites, and of the observation itself."""
    cited = [(observation.thread, source) for source in observation.sources]
    return run.view.ledger.units.of_messages(run.view.bank, cited).tolist() if cited else []


def _within_budget(
    run: RecallContext, rows: IntArray, types: tuple[FactType, ...], max_tokens: int
) -> dict[int, RecalledUnit]:
    """Return the units that pass the query's filters and fit a budget, by row id, most similar to the question first."""
    query = replace(run.query, types=types, max_tokens=max_tokens, k=None)
    rows = rows[run.view.columns.allowed(rows, selection(run.view.columns, query))]
    if not len(rows):
        return {}
    near = ranked(rows, Relevance(run.view, run.vector)(rows), len(rows))
    scores = near.scores.astype(np.float64)
    packed = pack_units(near.ids, scores, run.view, query, run.services, items=run.items)
    return hydrate(packed, run, {})
