"""The memories shown to the model with a passage, so that it can say which of them no longer hold (decision 110).

Reads the bank and the embedder, changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import zip_longest

import numpy as np

from hindsight_integrations.model.requests import Message, TagsMatch
from hindsight_integrations.model.turns import Role
from hindsight_integrations.model.units import MemoryUnit, UnitKind
from hindsight_integrations.ports.arrays import IntArray, Matrix
from hindsight_integrations.ports.embedder import Embedder
from hindsight_integrations.prompts.extract_facts import Passage
from hindsight_integrations.search.bank_view import BankView
from hindsight_integrations.search.channels.selection import Selection
from hindsight_integrations.search.columns import memories_and_items, mentioned_by, tagged, valid_at
from hindsight_integrations.search.documents import DocumentItems, valid_items
from hindsight_integrations.search.embedding import embedded
from hindsight_integrations.search.hybrid import hybrid_search
from hindsight_integrations.tempr.retain.replacing import names_of_entities
from hindsight_integrations.tempr.retain.retraction.reach import RETRACTABLE
from hindsight_integrations.validation.roles import role_of

SHOWN_TOKENS = 1_500  # of memories with one passage; a passage of 3,000 characters has about 750
MOST_TURNS = 32  # of a passage that are searched for, the longest ones; 3,000 characters seldom hold more
ITEM_TOKENS = 6  # that the number of an item and its line cost beside its text


@dataclass(frozen=True, slots=True)
class ShownMemories:
    """Memories of a bank as a model is shown them.

    Attributes:
        memories: the oldest first; of documents the heads.
        items: by id of the document, the items that hold, in the order in which they are served.
        names: of the memories' entities, by memory id.
    """

    memories: tuple[MemoryUnit, ...] = ()
    items: Mapping[str, tuple[MemoryUnit, ...]] = field(default_factory=dict)
    names: Mapping[str, Sequence[Sequence[str]]] = field(default_factory=dict)


def with_memories(
    passages: Sequence[Passage],
    view: BankView,
    embedder: Embedder,
    *,
    tags: tuple[str, ...],
    limit: int,
    undone: Sequence[MemoryUnit] = (),
) -> list[Passage]:
    """Each passage with the bank's nearest valid memories, documents with the items that hold.

    Args:
        passages: of one conversation; their messages have timestamps.
        view: the bank.
        embedder: the bank's.
        tags: of the retain; memories that a recall with them would not see are not shown.
        limit: at most so many memories a passage.
        undone: what holds again once the messages have their new wording: shown first.

    Raises:
        ModelError: the embedder failed.
    """
    shown = [
        nearest_memories(passage.messages, view, embedder, tags=tags, limit=limit, undone=undone)
        for passage in passages
    ]
    return [
        replace(passage, memories=found.memories, items=found.items, names=found.names)
        for passage, found in zip(passages, shown, strict=True)
    ]


def nearest_memories(
    messages: Sequence[Message],
    view: BankView,
    embedder: Embedder,
    *,
    tags: tuple[str, ...],
    limit: int,
    undone: Sequence[MemoryUnit] = (),
) -> ShownMemories:
    """Valid memories nearest to what people say in the messages, within a budget of tokens.

    Every turn is searched for by itself, by meaning and by words, and its best is shown before the second of any other:
    what a last sentence takes back is found however much was said before it. An item that is found shows its document.
    """
    said = [message for message in messages if role_of(message) is Role.USER and message.text.strip()]
    said = sorted(said, key=lambda message: -len(message.text))[:MOST_TURNS]
    moments = [message.timestamp for message in messages if isinstance(message.timestamp, datetime)]
    if not said or not moments or not limit:
        return ShownMemories()
    columns = view.columns
    mask = (
        valid_at(columns, None)
        & memories_and_items(columns, RETRACTABLE)
        & tagged(columns, tags, TagsMatch.ANY)
    )
    mask &= mentioned_by(columns, max(moments))
    documents = DocumentItems.at(columns, None)
    mask = documents.as_their_documents(mask, columns)
    selected = Selection(mask, int(mask.sum()))
    texts = [message.text for message in said]
    found = (
        _nearest_rows(texts, embedded(texts, embedder), view, selected, limit=limit) if selected.count else []
    )
    back = view.ledger.row_ids(view.bank, [unit.part_of or unit.id for unit in undone])
    rows = np.array([*back.values(), *found], np.int64)
    held = {unit.id for unit in undone if unit.kind is UnitKind.DOCUMENT_ITEM}
    return _within_budget(documents.documents_of(rows), rows, view, limit, held)


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


def _within_budget(
    documents: IntArray, found: IntArray, view: BankView, limit: int, held: set[str]
) -> ShownMemories:
    """The first of the units that fit the budget together, the oldest first; one that does not fit is passed over.

    A document shows the items that were found, then its others, as many as fit.

    Args:
        documents: row ids of what is shown, the nearest first; the same one may come several times.
        found: what was found of each.
        view: the bank.
        limit: at most so many.
        held: ids of closed items that hold again.
    """
    rows = list(dict.fromkeys(documents.tolist()))
    units = view.ledger.units(view.bank, np.asarray(rows, np.int64))
    items = valid_items(rows, view.ledger, view.bank, held=held)
    nearest = view.ledger.unit_ids(view.bank, np.unique(found))
    ranks = {nearest[row]: rank for rank, row in enumerate(found.tolist()) if row in nearest}
    kept: dict[str, MemoryUnit] = {}
    shown: dict[str, tuple[MemoryUnit, ...]] = {}
    left = SHOWN_TOKENS
    for row in rows:
        unit = units.get(row)
        if unit is None or len(kept) >= limit or unit.tokens > left:
            continue
        kept[unit.id] = unit
        left -= unit.tokens
        own = []
        for item in sorted(items.get(row, ()), key=lambda item: ranks.get(item.id, len(ranks))):
            if item.tokens + ITEM_TOKENS <= left:
                own.append(item)
                left -= item.tokens + ITEM_TOKENS
        if own:
            chosen = {item.id for item in own}
            shown[unit.id] = tuple(item for item in items[row] if item.id in chosen)
    oldest_first = sorted(kept.values(), key=lambda unit: (unit.mentioned_at, unit.id))
    return ShownMemories(tuple(oldest_first), shown, _names_of(oldest_first, view))


def _names_of(memories: Sequence[MemoryUnit], view: BankView) -> dict[str, list[tuple[str, ...]]]:
    """The names of the memories' entities, by memory id."""
    rows = view.ledger.row_ids(view.bank, [unit.id for unit in memories])
    entities = view.ledger.entities_of(view.bank, np.fromiter(rows.values(), np.int64, len(rows)))
    return {unit_id: names_of_entities(entities.get(row, ())) for unit_id, row in rows.items()}
