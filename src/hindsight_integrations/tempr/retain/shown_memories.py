"""The memories shown to the model with a passage, so that it can say which of them no longer hold (decision 110).

Reads the bank and the embedder, changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

import numpy as np

from hindsight_integrations.model.requests import Message, TagsMatch
from hindsight_integrations.model.trace import Channel
from hindsight_integrations.model.turns import Role
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.ports.arrays import Hits, IntArray, Matrix
from hindsight_integrations.ports.embedder import Embedder
from hindsight_integrations.prompts.extract_facts import Passage
from hindsight_integrations.search.bank_view import BankView
from hindsight_integrations.search.channels.keyword import keyword_channel
from hindsight_integrations.search.channels.selection import Selection
from hindsight_integrations.search.channels.semantic import semantic_channel
from hindsight_integrations.search.columns import mentioned_by, of_types, tagged, valid_at
from hindsight_integrations.search.fusion import reciprocal_rank_fusion
from hindsight_integrations.tempr.retain.embedding import embedded
from hindsight_integrations.tempr.retain.retraction.candidates import RETRACTABLE
from hindsight_integrations.tempr.retain.roles import role_of

SHOWN_TOKENS = 1_500  # of memories with one passage; a passage of 3,000 characters has about 750
MOST_TURNS = 32  # of a passage that are searched for, the longest ones; 3,000 characters seldom hold more


def with_memories(
    passages: Sequence[Passage], view: BankView, embedder: Embedder, *, tags: tuple[str, ...], limit: int
) -> list[Passage]:
    """Each passage with the bank's nearest valid memories.

    Args:
        passages: of one conversation; their messages have timestamps.
        view: the bank.
        embedder: the bank's.
        tags: of the retain; memories that a recall with them would not see are not shown.
        limit: at most so many memories a passage.

    Raises:
        ModelError: the embedder failed.
    """
    return [
        replace(passage, memories=nearest_memories(passage.messages, view, embedder, tags=tags, limit=limit))
        for passage in passages
    ]


def nearest_memories(
    messages: Sequence[Message], view: BankView, embedder: Embedder, *, tags: tuple[str, ...], limit: int
) -> tuple[MemoryUnit, ...]:
    """Valid memories nearest to what people say in the messages, oldest first, within a budget of tokens.

    Every turn is searched for by itself, by meaning and by words, and a memory is as near as its nearest turn: what a
    last sentence takes back is found however much was said before it.
    """
    said = [message for message in messages if role_of(message) is Role.USER and message.text.strip()]
    said = sorted(said, key=lambda message: -len(message.text))[:MOST_TURNS]
    moments = [message.timestamp for message in messages if isinstance(message.timestamp, datetime)]
    if not said or not moments or not limit:
        return ()
    columns = view.columns
    mask = valid_at(columns, None) & of_types(columns, RETRACTABLE) & tagged(columns, tags, TagsMatch.ANY)
    mask &= mentioned_by(columns, max(moments))
    selected = Selection(mask, int(mask.sum()))
    if not selected.count:
        return ()
    texts = [message.text for message in said]
    rows = _nearest_rows(texts, embedded(texts, embedder), view, selected, limit=limit)
    units = view.ledger.units(view.bank, rows)
    return _within_budget([units[row] for row in rows.tolist() if row in units], limit)


def _nearest_rows(
    texts: Sequence[str], vectors: Matrix, view: BankView, selected: Selection, *, limit: int
) -> IntArray:
    """Row ids nearest to any of the texts, best first."""
    near = [semantic_channel(view, selected, vector, limit=limit, floor=-1.0) for vector in vectors]
    lists = {Channel.SEMANTIC: _best_of(near)}
    if "keyword" not in view.failures:
        worded = [keyword_channel(view, selected, text, limit=limit) for text in texts]
        lists[Channel.KEYWORD] = _best_of(worded)
    return reciprocal_rank_fusion(lists)[0]


def _best_of(hits: Sequence[Hits]) -> IntArray:
    """Ids of several lists as one, each by its best score; ties by id."""
    ids = np.concatenate([found.ids for found in hits])
    scores = np.concatenate([found.scores for found in hits])
    order = np.lexsort((ids, -scores))
    _, first = np.unique(ids[order], return_index=True)
    best: IntArray = ids[order][np.sort(first)]
    return best


def _within_budget(units: Sequence[MemoryUnit], limit: int) -> tuple[MemoryUnit, ...]:
    """The first of the units that fit the budget together, oldest first; one that does not fit is passed over."""
    kept: list[MemoryUnit] = []
    left = SHOWN_TOKENS
    for unit in units:
        if len(kept) < limit and unit.tokens <= left:
            kept.append(unit)
            left -= unit.tokens
    return tuple(sorted(kept, key=lambda unit: (unit.mentioned_at, unit.id)))
