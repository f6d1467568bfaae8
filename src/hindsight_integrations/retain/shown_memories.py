"""The memories shown to the model with a passage, so that it can say which of them no longer hold.

Reads the bank and the embedder, changes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import zip_longest

import numpy as np

from hindsight_integrations.indexes.bank_view import BankView
from hindsight_integrations.indexes.columns import memories_and_items, mentioned_by, tagged, valid_at
from hindsight_integrations.indexes.documents import DocumentItems, valid_items
from hindsight_integrations.indexes.embedding import embedded
from hindsight_integrations.indexes.hybrid import Selection, hybrid_search
from hindsight_integrations.model.arrays import IntArray, Matrix
from hindsight_integrations.model.records import RecordKind
from hindsight_integrations.model.requests import Message, TagsMatch
from hindsight_integrations.model.turns import Role
from hindsight_integrations.model.units import MemoryUnit, ValidityKind
from hindsight_integrations.models.protocols import Embedder
from hindsight_integrations.prompts.extract_facts import Passage, records_beside
from hindsight_integrations.retain.changes import RETRACTABLE
from hindsight_integrations.retain.replacing import names_of_entities
from hindsight_integrations.validation.messages import role_of

SHOWN_TOKENS = 1_500  # of memories with one passage; a passage of 3,000 characters has about 750
MOST_TURNS = 32  # of a passage that are searched for, the longest ones; 3,000 characters seldom hold more
ITEM_TOKENS = 6  # that the number of an item and its line cost beside its text
RECORD_CHARACTERS = 3  # of the records beside a memory, counted as a token
WIDER = 3  # times as many memories are looked at as are shown
NEAREST_SHARE = 3  # of the places every third goes to what is nearest, whatever it tells
QUESTION_CHARACTERS = 200  # of what was said before a person's turn, its end, that are searched for with it
SAME_DAY = timedelta(days=1)

_DATED = {RecordKind.EVENT, RecordKind.EXPENSE, RecordKind.INCOME, RecordKind.QUANTITY}
"""Kinds of records whose time passes; a task, a goal or a preference stays open until it is ended."""


@dataclass(frozen=True, slots=True)
class ShownMemories:
    """Memories of a bank as a model is shown them.

    Attributes:
        memories: the oldest first; of documents the heads.
        items: by id of the document, the items that hold, in the order in which they are served.
        names: of the memories' entities, by memory id.
        hidden: by id of the document, how many more items hold, for which there was no room.
    """

    memories: tuple[MemoryUnit, ...] = ()
    items: Mapping[str, tuple[MemoryUnit, ...]] = field(default_factory=dict)
    names: Mapping[str, Sequence[Sequence[str]]] = field(default_factory=dict)
    hidden: Mapping[str, int] = field(default_factory=dict)


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
        nearest_memories(
            passage.messages, view, embedder, tags=tags, limit=limit, before=passage.before, undone=undone
        )
        for passage in passages
    ]
    return [
        replace(passage, memories=found.memories, items=found.items, names=found.names, hidden=found.hidden)
        for passage, found in zip(passages, shown, strict=True)
    ]


def nearest_memories(
    messages: Sequence[Message],
    view: BankView,
    embedder: Embedder,
    *,
    tags: tuple[str, ...],
    limit: int,
    before: Sequence[Message] = (),
    undone: Sequence[MemoryUnit] = (),
) -> ShownMemories:
    """Valid memories nearest to what people say in the messages, within a budget of tokens; see `in_order_of_use`.

    Every turn is searched for by itself, by meaning and by words, with the end of what it answers: "Not any more." names
    nothing. Its best comes before the second of any other: what a last sentence takes back is found however much was said
    before it. An item that is found shows its document.
    """
    said = _turns(messages, before)
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
    found = (
        _nearest_rows(said, embedded(said, embedder), view, selected, limit=WIDER * limit)
        if selected.count
        else []
    )
    back = view.ledger.units.row_ids(view.bank, [unit.part_of or unit.id for unit in undone])
    rows = np.array([*back.values(), *found], np.int64)
    held = {unit.id for unit in undone}
    return _within_budget(documents.documents_of(rows), rows, view, limit, max(moments), held)


def in_order_of_use(nearest: Sequence[int], over: Collection[int], limit: int) -> list[int]:
    """The order in which memories take the places they are shown in. Pure.

    A third of the places goes to the nearest, whatever they tell, so that what is over can still be corrected. The others go to
    what is open, the nearest first: everything but what is over, so that an address, which has no record, is as good as a
    task. What is over fills what is left.

    Args:
        nearest: row ids, the nearest first.
        over: those of them that are over; see `is_over`.
        limit: how many places there are.
    """
    first = nearest[: -(-limit // NEAREST_SHARE)]
    return list(dict.fromkeys((*first, *(row for row in nearest if row not in over), *nearest)))


def is_over(unit: MemoryUnit, ended: Sequence[MemoryUnit], moment: datetime) -> bool:
    """Whether a memory tells only what is over, so that little can change of it. Pure.

    An event that has taken place; what was spent or measured on an earlier day; that something with a record (a task, an
    item of a document) was done, cancelled or removed, and no more.

    Args:
        unit: a memory without items.
        ended: what it ended.
        moment: of the passage.
    """
    kinds = {record.kind for record in unit.records}
    if not kinds:
        return any(each.records for each in ended)
    if not kinds <= _DATED:
        return False
    if unit.occurred:
        return unit.occurred.end <= moment
    return RecordKind.EVENT not in kinds and unit.mentioned_at + SAME_DAY <= moment


def _turns(messages: Sequence[Message], before: Sequence[Message]) -> list[str]:
    """What people say, the longest turns first, each behind the end of what the assistant said just before it."""
    said = []
    earlier = before[-1] if before else None
    for message in messages:
        if role_of(message) is Role.USER and message.text.strip():
            answers = earlier is not None and role_of(earlier) is Role.ASSISTANT
            question = earlier.text[-QUESTION_CHARACTERS:] if earlier and answers else ""
            said.append((len(message.text), f"{question} {message.text}".strip()))
        earlier = message
    return [text for _, text in sorted(said, key=lambda turn: -turn[0])[:MOST_TURNS]]


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
    documents: IntArray, found: IntArray, view: BankView, limit: int, moment: datetime, held: set[str]
) -> ShownMemories:
    """The first of the units that fit the budget together, the oldest of them first; one that does not fit is passed over.

    A document shows the items that were found, then its others, as many as fit.

    Args:
        documents: row ids of what is shown, the nearest first; the same one may come several times.
        found: what was found of each.
        view: the bank.
        limit: at most so many.
        moment: of the passage.
        held: ids of closed memories and items that hold again.
    """
    rows = list(dict.fromkeys(documents.tolist()))[: WIDER * limit]
    units = view.ledger.units.get(view.bank, np.asarray(rows, np.int64))
    items = valid_items(rows, view.ledger, view.bank, held=held)
    found = found[np.isin(documents, rows)]
    nearest = view.ledger.units.unit_ids(view.bank, np.unique(found))
    ranks = {nearest[row]: rank for rank, row in enumerate(found.tolist()) if row in nearest}
    kept: dict[str, MemoryUnit] = {}
    shown: dict[str, tuple[MemoryUnit, ...]] = {}
    hidden: dict[str, int] = {}
    left = SHOWN_TOKENS
    plain = {row: unit for row, unit in units.items() if not items.get(row) and unit.id not in held}
    over = _over(plain, view, moment)
    for row in in_order_of_use(rows, over, limit):
        unit = units.get(row)
        if unit is None or len(kept) >= limit:
            continue
        tokens = unit.tokens + len(records_beside(unit)) // RECORD_CHARACTERS
        if tokens > left:
            continue
        kept[unit.id] = unit
        left -= tokens
        own = []
        for item in sorted(items.get(row, ()), key=lambda item: ranks.get(item.id, len(ranks))):
            if item.tokens + ITEM_TOKENS <= left:
                own.append(item)
                left -= item.tokens + ITEM_TOKENS
        if own:
            chosen = {item.id for item in own}
            shown[unit.id] = tuple(item for item in items[row] if item.id in chosen)
        if no_room := len(items.get(row, ())) - len(own):
            hidden[unit.id] = no_room
    oldest_first = sorted(kept.values(), key=lambda unit: (unit.mentioned_at, unit.id))
    return ShownMemories(tuple(oldest_first), shown, _names_of(oldest_first, view), hidden)


def _over(units: Mapping[int, MemoryUnit], view: BankView, moment: datetime) -> set[int]:
    """Row ids of the units that are over."""
    ended: dict[str, list[str]] = {}
    for event in view.ledger.units.stated_by(
        view.bank, [unit.id for unit in units.values() if not unit.records]
    ):
        if event.kind is ValidityKind.CLOSED and event.by_unit:
            ended.setdefault(event.by_unit, []).append(event.unit_id)
    rows = view.ledger.units.row_ids(view.bank, [unit_id for some in ended.values() for unit_id in some])
    stored = view.ledger.units.get(view.bank, np.array(sorted(rows.values()), np.int64))
    gone = {unit.id: unit for unit in stored.values()}
    return {
        row
        for row, unit in units.items()
        if is_over(unit, [gone[key] for key in ended.get(unit.id, ()) if key in gone], moment)
    }


def _names_of(memories: Sequence[MemoryUnit], view: BankView) -> dict[str, list[tuple[str, ...]]]:
    """The names of the memories' entities, by memory id."""
    rows = view.ledger.units.row_ids(view.bank, [unit.id for unit in memories])
    entities = view.ledger.entities.of_units(view.bank, np.fromiter(rows.values(), np.int64, len(rows)))
    return {unit_id: names_of_entities(entities.get(row, ())) for unit_id, row in rows.items()}
