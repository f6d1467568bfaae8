"""The memories shown to the model with a passage, so that it can say which of them no longer hold (decision 110).

Reads the bank and the embedder, changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from itertools import zip_longest

import numpy as np

from hindsight_integrations.model.requests import Message, TagsMatch
from hindsight_integrations.model.turns import Role
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.ports.arrays import Matrix
from hindsight_integrations.ports.embedder import Embedder
from hindsight_integrations.prompts.extract_facts import Passage
from hindsight_integrations.search.bank_view import BankView
from hindsight_integrations.search.channels.selection import Selection
from hindsight_integrations.search.columns import mentioned_by, of_types, tagged, valid_at
from hindsight_integrations.search.embedding import embedded
from hindsight_integrations.search.hybrid import hybrid_search
from hindsight_integrations.search.standing_texts import as_they_stand
from hindsight_integrations.tempr.retain.replacing import names_of_entities
from hindsight_integrations.tempr.retain.retraction.reach import RETRACTABLE
from hindsight_integrations.text.language import Language
from hindsight_integrations.validation.roles import role_of

SHOWN_TOKENS = 1_500  # of memories with one passage; a passage of 3,000 characters has about 750
MOST_TURNS = 32  # of a passage that are searched for, the longest ones; 3,000 characters seldom hold more


def with_memories(
    passages: Sequence[Passage],
    view: BankView,
    embedder: Embedder,
    *,
    tags: tuple[str, ...],
    limit: int,
    languages: Sequence[Language],
) -> list[Passage]:
    """Each passage with the bank's nearest valid memories, without items that were withdrawn (decision 116).

    Args:
        passages: of one conversation; their messages have timestamps.
        view: the bank.
        embedder: the bank's.
        tags: of the retain; memories that a recall with them would not see are not shown.
        limit: at most so many memories a passage.
        languages: the memories may be in.

    Raises:
        ModelError: the embedder failed.
    """
    shown = []
    for passage in passages:
        memories = nearest_memories(
            passage.messages, view, embedder, tags=tags, limit=limit, languages=languages
        )
        shown.append(replace(passage, memories=memories, names=_names_of(memories, view)))
    return shown


def _names_of(memories: Sequence[MemoryUnit], view: BankView) -> dict[str, list[tuple[str, ...]]]:
    """The names of the memories' entities, by memory id."""
    rows = view.ledger.row_ids(view.bank, [unit.id for unit in memories])
    entities = view.ledger.entities_of(view.bank, np.fromiter(rows.values(), np.int64, len(rows)))
    return {unit_id: names_of_entities(entities.get(row, ())) for unit_id, row in rows.items()}


def nearest_memories(
    messages: Sequence[Message],
    view: BankView,
    embedder: Embedder,
    *,
    tags: tuple[str, ...],
    limit: int,
    languages: Sequence[Language],
) -> tuple[MemoryUnit, ...]:
    """Valid memories nearest to what people say in the messages, oldest first, within a budget of tokens.

    Every turn is searched for by itself, by meaning and by words, and its best is shown before the second of any other:
    what a last sentence takes back is found however much was said before it.
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
    return tuple(as_they_stand(_within_budget(rows, view, limit), view.ledger, view.bank, languages).values())


def _nearest_rows(
    texts: Sequence[str], vectors: Matrix, view: BankView, selected: Selection, *, limit: int
) -> list[int]:
    """Row ids nearest to the texts: the best of each text, those first that are nearest, then the second of each, ..."""
    found = (
        hybrid_search(view, selected, text, vector, limit=limit)
        for text, vector in zip(texts, vectors, strict=True)
    )
    ranked = [(cosine, ids.tolist()) for ids, cosine in found]
    ranked.sort(key=lambda one: -one[0])
    rounds = zip_longest(*(ids for _, ids in ranked))
    return list(dict.fromkeys(row for each in rounds for row in each if row is not None))


def _within_budget(rows: Sequence[int], view: BankView, limit: int) -> dict[int, MemoryUnit]:
    """The first of the units that fit the budget together, oldest first; one that does not fit is passed over."""
    units = view.ledger.units(view.bank, np.asarray(rows, np.int64))
    kept: list[tuple[int, MemoryUnit]] = []
    left = SHOWN_TOKENS
    for row, unit in ((row, units[row]) for row in rows if row in units):
        if len(kept) < limit and unit.tokens <= left:
            kept.append((row, unit))
            left -= unit.tokens
    return dict(sorted(kept, key=lambda each: (each[1].mentioned_at, each[1].id)))
