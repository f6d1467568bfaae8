"""The passages and turns that the recalled units came from, within a budget of their own (recall docs, "Expanding Context: Chunks").

The query's filters on tags and time hold for turns as they do for units.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hindsight_integrations.model.recalled import RecalledChunk, RecalledUnit
from hindsight_integrations.model.requests import RecallQuery, TagsMatch
from hindsight_integrations.model.text import content_hash
from hindsight_integrations.model.time import no_later
from hindsight_integrations.model.turns import SourceTurn
from hindsight_integrations.ports.arrays import BoolArray
from hindsight_integrations.ports.token_counter import TokenCounter
from hindsight_integrations.search.columns import Columns, group_selects, tags_select, valid_at
from hindsight_integrations.tempr.recall.context import RecallContext, timed


@dataclass(frozen=True, slots=True)
class Source:
    """Where recalled units came from: a passage of a document, or a turn.

    Attributes:
        document_id: the document; None for a turn.
        ordinal: which passage of it; 0 for a turn.
        turn: the turn; None for a passage.
    """

    document_id: str | None = None
    ordinal: int = 0
    turn: SourceTurn | None = None


def source_chunks(run: RecallContext, units: Mapping[int, RecalledUnit]) -> tuple[RecalledChunk, ...]:
    """What the units (by row id) came from, in the order of their best unit, as far as the budget goes."""
    if not run.query.chunk_tokens or not units:
        return ()
    with timed(run.trace, "chunks") as detail:
        turns = _turns(run, units)
        sources: dict[Source, list[str]] = {}
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


def _sources(item: RecalledUnit, turns: Sequence[SourceTurn] | None) -> list[Source] | None:
    """What a unit came from, beside what the units themselves show; None if that is not known any more."""
    if item.unit.document_id is not None:
        return [Source(item.unit.document_id, item.unit.chunk)]
    if item.unit.speaker:
        return []
    return None if turns is None else [Source(turn=turn) for turn in turns]


def _turns(run: RecallContext, units: Mapping[int, RecalledUnit]) -> dict[int, list[SourceTurn]]:
    """The turns of each unit that may be shown, without those that are among the units word for word."""
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
    """Whether a query's filters on tags and time let a turn through."""
    own = frozenset(turn.tags)
    by_then = query.as_of is None or no_later(turn.said_at, query.as_of)
    asked = query.tags or query.tags_match is TagsMatch.EXACT
    tagged = not asked or tags_select(own, frozenset(query.tags), query.tags_match)
    return by_then and tagged and all(group_selects(own, group) for group in query.tag_groups)


def with_history(turn: SourceTurn, columns: Columns, valid: BoolArray) -> SourceTurn:
    """The turn, marked as history where none of the memories made from it is among those valid (a mask over positions)."""
    rows = np.array(turn.memories, np.int64)
    return replace(turn, history=bool(len(rows)) and not columns.allowed(rows, valid).any())


def _chunks(run: RecallContext, sources: Mapping[Source, Sequence[str]]) -> list[RecalledChunk]:
    """Whole passages, then the beginning of the first that does not fit; erased ones are left out.

    A passage is 3,000 characters, so skipping one that does not fit (as `pack` does with units) could leave most of a
    small budget unused; its beginning is worth more. Passages are counted here, since only units carry stored counts.
    """
    left = run.query.chunk_tokens
    passages = _passages(run, sources)
    found = []
    for source, unit_ids in sources.items():
        whole = source.turn.spoken if source.turn else passages.get((source.document_id, source.ordinal), "")
        text, tokens = fitting(whole, left, run.tools.tokens)
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


def _passages(run: RecallContext, sources: Iterable[Source]) -> dict[tuple[str | None, int], str]:
    """The passages of the documents among the sources, by document and ordinal; damaged ones are left out."""
    documents = dict.fromkeys(source.document_id for source in sources if source.document_id is not None)
    stored = (run.view.ledger.units.document(run.view.bank, document) for document in documents)
    chunks = [chunk for found in stored if found for chunk in found.chunks]
    sound = [chunk for chunk in chunks if content_hash(chunk.text) == chunk.content_hash]
    if len(sound) < len(chunks):
        run.trace.notes.append(f"chunks: {len(chunks) - len(sound)} passages are damaged and left out")
    return {(chunk.document_id, chunk.ordinal): chunk.text for chunk in sound}


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
