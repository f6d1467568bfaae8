"""Erasure: deletes units and every trace of them from all tables, in one transaction."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain

from sqlalchemy import (
    Column,
    Connection,
    Delete,
    Table,
    Update,
    and_,
    bindparam,
    delete,
    func,
    literal,
    or_,
    select,
    update,
)

from hindsight_integrations.language.packs import LANGUAGES
from hindsight_integrations.ledger.checksums import closing
from hindsight_integrations.ledger.commit import Following
from hindsight_integrations.ledger.copies import note_drop, note_erasure
from hindsight_integrations.ledger.databases import Database
from hindsight_integrations.ledger.losses import advance
from hindsight_integrations.ledger.mental_models import forget_answers
from hindsight_integrations.ledger.observations import (
    change_facts,
    documents_of,
    entities_to_sum_up,
    move_documents,
    note_changed,
    with_observations,
)
from hindsight_integrations.ledger.opinions import (
    closed_by_log,
    erase_opinions,
    follow_grounds,
    follow_own_grounds,
    with_wordings,
)
from hindsight_integrations.ledger.records import erase_unused, touched_categories
from hindsight_integrations.ledger.rows import BankRow, CommitTarget, find_bank
from hindsight_integrations.ledger.sql import (
    Values,
    among,
    count_many,
    in_bank,
    insert,
    key_of,
    refers,
    run_many,
)
from hindsight_integrations.ledger.tables import (
    Int,
    banks,
    chunks,
    documents,
    entities,
    entity_blocks,
    entity_changes,
    entity_names,
    evidence,
    links,
    mentions,
    message_keys,
    metadata,
    records,
    removed,
    retold,
    tasks,
    turns,
    unit_sources,
    units,
    unscrubbed,
    validity_events,
    vectors,
)
from hindsight_integrations.ledger.tasks import Schedule, take_back
from hindsight_integrations.ledger.units import count_memories
from hindsight_integrations.ledger.values import Json, Scrub
from hindsight_integrations.model.erasure import Erasure, ForgetReceipt, WholeNames, identifies_any
from hindsight_integrations.model.names import blocking_keys, normalise_name
from hindsight_integrations.model.tasks import TaskKind
from hindsight_integrations.model.time import Interval, to_micros
from hindsight_integrations.model.units import FactType, UnitKind, ValidityKind
from hindsight_integrations.model.writes import Place

BANK_CONTENT = (
    "units",
    "items",
    "turns",
    "record_categories",
    "entities",
    "documents",
    "chunks",
    "message_keys",
    "threads",
    "tasks",
    "entity_changes",
    "opinion_operations",
)
"""Tables that `everything` empties. Foreign keys delete the rows of tables that depend on units and entities."""

_CONTENT = {
    name: delete(metadata.tables[name]).where(metadata.tables[name].c.bank == bindparam("bank"))
    for name in BANK_CONTENT
}
_DELETE_BANK = delete(banks).where(banks.c.id == bindparam("bank"))
_UNSCRUBBED = insert(unscrubbed).on_conflict_do_nothing()


class _DryRun(Exception):
    """Raised to roll back the transaction of a dry run."""


class Eraser:
    """Erases units and banks permanently."""

    def __init__(self, database: Database, schedule: Schedule) -> None:
        self._database, self._schedule = database, schedule

    def erase(self, bank: str, erasure: Erasure, *, dry_run: bool = False) -> ForgetReceipt:
        """Erase the selected units and everything derived from them.

        - A unit is erased together with its vector, records, links, mentions, validity log, evidence and edits, the
          text of its chunk, waiting tasks that contain its text, entities and names that only it used, and record
          categories that become unused.
        - Units that it had closed become valid again, unless something else closed them too. The receipt lists them.
        - Items are erased with their document. If messages or a time range are selected, however, each item is erased
          with its own messages. Observations and opinions derived from a document are erased with any of its items.
        - Observations of the entities that an erased fact mentions are deleted and made again from the remaining facts.
          Texts of mental models whose prompt contained the fact are deleted; their questions, and directives, stay.
        - Opinion wordings based on an erased fact, and later wordings, are deleted. The wording before them becomes
          valid again; an opinion without a remaining wording is deleted. Selecting an opinion's unit erases all its
          wordings.
        - Reasons written by a model that may have read an erased text are blanked.

        The feed reports the row ids in `removed`. Message keys (a hash, the thread and the message id) are kept, so that
        replaying a conversation does not bring the memory back; `everything` deletes them too.

        Args:
            bank: the bank.
            erasure: what to erase; exactly one of its selectors is set.
            dry_run: erase nothing, and report what would be erased, with names.

        Returns:
            The receipt. Its revision is unchanged if there was nothing to erase.
        """
        with suppress(_DryRun), self._database.writing(bank) as connection:
            row = find_bank(connection, bank)
            receipt = _erased(connection, row, erasure, self._database.clock.now())
            if receipt.revision > row.revision:
                Following.of(CommitTarget(connection, row.id, receipt.revision)).enqueue(self._schedule)
            if dry_run:
                raise _DryRun
        if dry_run:
            return replace(receipt, revision=row.revision, dry_run=True, copies=())
        return replace(receipt, names=())

    def drop_bank(self, bank: str) -> ForgetReceipt:
        """Delete a bank with all its content. The receipt has only counts and the bank's last revision."""
        with self._database.writing(bank) as connection:
            row = find_bank(connection, bank)
            memories = count_memories(connection, row.id)
            _, counts = _erase_all(connection, row.id)
            connection.execute(_DELETE_BANK, {"bank": row.id})
            connection.execute(_UNSCRUBBED, {"bank": row.id})
            copies = note_drop(connection, row.id)
        counts = {kind: count for kind, count in {**counts, "units": memories}.items() if count}
        return ForgetReceipt((), (), counts, row.revision, copies=copies)

    def scrub(self) -> Scrub:
        """Rewrite the storage so that it contains no erased data.

        If the process is killed between `erase` and `scrub`, the next opening for writing does it.
        """
        return self._database.scrub()


_REMOVE = insert(removed)


def _erased(connection: Connection, row: BankRow, erasure: Erasure, now: datetime) -> ForgetReceipt:
    """Erase within the open transaction. The receipt contains names."""
    target = CommitTarget(connection, row.id, row.revision + 1)
    names = _names(connection, row.id, erasure)
    whole = _whole_names(connection, row.id, names)
    selected = {
        *_whole(connection, row.id, _chosen(connection, row.id, erasure), whole),
        *_older(connection, row.id, erasure),
        *_telling(connection, row.id, erasure),
    }
    chosen = _with_derived(connection, row.id, sorted(selected), erasure)
    places = reached_turns(connection, row.id, chosen, erasure, whole)
    parents = documents_of(
        connection, row.id, chosen
    )  # the text of an item's document contains the item's text
    touched = entities_to_sum_up(connection, row.id, [*chosen, *parents])
    chosen = sorted({*chosen, *waiting_of(connection, row.id, places)})
    kinds = _kinds_of(connection, row.id, chosen)
    erased = tuple(unit for unit, kind in kinds if kind in {UnitKind.MEMORY, UnitKind.DOCUMENT_ITEM})
    rows = [{"unit": unit, "bank": row.id, "revision": target.revision} for unit in chosen]
    run_many(connection, _REMOVE, rows)
    answers = forget_answers(connection, row.id, [*chosen, *parents])
    restored: list[int] = []
    others = 0
    if erasure.everything:
        gone, counts = _erase_all(connection, row.id)
    else:
        traces = traces_of(connection, row.id, chosen, erasure, places, whole)
        restored = _undo_endings(target, chosen)
        move_documents(target, chosen)
        opinions, revived = erase_opinions(target, chosen, parents)
        gone, counts = _erase_some(connection, row.id, chosen, erasure, traces)
        counts["opinions"] = opinions
        follow_own_grounds(target, revived)
        counts["turns"], others = erase_turns(target, places)
        note_changed(target, touched)
        follow_grounds(target, restored)
    counts["turns"] += sum(kind == UnitKind.TURN for _, kind in kinds)
    counts["mental_models"] = answers
    if not (chosen or others or gone.changes or any(counts.values())):
        return ForgetReceipt((), (), {}, row.revision)
    # A running task may have read the data before the erasure, and could write it back.
    take_back(connection, row.id, now)
    advance(connection, row.id, target.revision)
    copies = note_erasure(connection, row.id, target.revision)
    connection.execute(_UNSCRUBBED, {"bank": row.id})
    return ForgetReceipt(
        erased,
        gone.entities,
        {kind: count for kind, count in {**counts, "units": len(erased)}.items() if count},
        target.revision,
        names=gone.names,
        restored=tuple(unit for unit, _ in _kinds_of(connection, row.id, restored)),
        copies=copies,
    )


_OF_BANK = select(units.c.id).where(units.c.bank == bindparam("bank"))
_NO_ITEMS = _OF_BANK.where(units.c.kind != UnitKind.ITEM.value)
_UNIT = _NO_ITEMS.where(units.c.unit_id == bindparam("unit"))
_UNITS = _NO_ITEMS.where(among(units.c.unit_id, "units"))
_DOCUMENT = _OF_BANK.where(units.c.document == bindparam("document"))
_WINDOW = _NO_ITEMS.where(
    or_(
        and_(units.c.occurred_start < bindparam("end"), units.c.occurred_end > bindparam("start")),
        and_(units.c.mentioned_at >= bindparam("start"), units.c.mentioned_at < bindparam("end")),
    )
)
# Documents with this thread id are not included; they are selected by `document`.
_THREAD = _OF_BANK.where(units.c.thread == bindparam("thread"), units.c.document.is_(None))
_MESSAGE = select(unit_sources.c.unit).where(
    unit_sources.c.bank == bindparam("bank"),
    unit_sources.c.thread == bindparam("thread"),
    unit_sources.c.message == bindparam("message"),
)
_ENTITY = (
    select(mentions.c.unit, mentions.c["text"])
    .join(entities, refers(mentions.c.entity, entities))
    .where(entities.c.bank == bindparam("bank"), entities.c.entity_id == bindparam("entity"))
)
_BEFORE = _NO_ITEMS.where(units.c.mentioned_at < bindparam("before")).add_columns(units.c.tags)
_WORDS = _NO_ITEMS.add_columns(units.c["text"], units.c.context, units.c.metadata)
_TEXTS = select(units.c["text"]).where(units.c.bank == bindparam("bank"))
_TEXTS_OF = select(units.c.id, units.c["text"]).where(in_bank(units), among(units.c.id, "rows"))
_ITEMS = select(units.c.id).where(in_bank(units), among(units.c.head, "rows"))


def _chosen(connection: Connection, bank: int, erasure: Erasure) -> list[int]:
    """Return the row ids of the units that an erasure selects."""
    values: dict[str, str | int] = {}
    if erasure.everything:
        statement = _OF_BANK
    elif erasure.unit is not None:
        statement, values["unit"] = _UNIT, erasure.unit
    elif erasure.document is not None:
        statement, values["document"] = _DOCUMENT, erasure.document
    elif erasure.entity is not None:
        said = connection.execute(_ENTITY, {"bank": bank, "entity": erasure.entity})
        return [unit for unit, text in said if not erasure.names or normalise_name(text) in erasure.names]
    elif erasure.window is not None:
        statement, values = _WINDOW, {**_span(erasure.window)}
    elif erasure.message is not None:
        statement, values = _MESSAGE, {"thread": erasure.thread or "", "message": erasure.message}
    elif erasure.thread is not None:
        statement, values["thread"] = _THREAD, erasure.thread
    else:
        return []
    return list(connection.scalars(statement, {"bank": bank, **values}))


def _with_derived(connection: Connection, bank: int, rows: list[int], erasure: Erasure) -> list[int]:
    """Add observations and opinions derived from these units. Selecting an opinion's unit includes all its wordings.

    Items are erased with their document, unless messages or a time range are selected. Everything derived from an item's
    document is erased with the item.
    """
    if not rows:
        return []
    whole = erasure.unit is not None
    if erasure.thread is None and erasure.window is None and erasure.before is None:
        rows = sorted({*rows, *connection.scalars(_ITEMS, {"bank": bank, "rows": rows})})
    parents = documents_of(connection, bank, rows)
    while True:
        derived = with_observations(connection, bank, [*rows, *parents])
        derived = sorted({*with_wordings(connection, bank, derived, whole=whole)} - {*parents})
        if len(derived) == len(rows):
            return derived
        rows, whole = derived, False


def _older(connection: Connection, bank: int, erasure: Erasure) -> list[int]:
    """Return the row ids of the units mentioned before a time, filtered by tags if given."""
    if erasure.before is None:
        return []
    older = connection.execute(_BEFORE, {"bank": bank, "before": to_micros(erasure.before)})
    return [row for row, tags in older if _is_tagged(tags, erasure)]


def _whole_names(connection: Connection, bank: int, names: Collection[str]) -> WholeNames:
    """Return a matcher of the names in the texts of a bank."""
    if not names:
        return WholeNames(())
    uncounted = frozenset(chain.from_iterable(each.names.uncounted for each in LANGUAGES.values()))
    return WholeNames(names, connection.scalars(_TEXTS, {"bank": bank}), uncounted)


def _whole(connection: Connection, bank: int, rows: list[int], whole: WholeNames) -> list[int]:
    """Omit units that contain the names only as part of longer names: "Apollo 2" is not erased with "Apollo"."""
    if not whole or not rows:
        return rows
    texts = connection.execute(_TEXTS_OF, {"bank": bank, "rows": rows})
    return [row for row, text in texts if not whole.only_inside_longer(text)]


def _telling(connection: Connection, bank: int, erasure: Erasure) -> list[int]:
    """Return the row ids of units with a selected id, and of units that contain a selected identifier or name.

    Searches the text, context and metadata of units.
    """
    rows: list[int] = []
    if erasure.units:
        rows += connection.scalars(_UNITS, {"bank": bank, "units": erasure.units})
    if erasure.identifiers or erasure.told:
        names = _whole_names(connection, bank, erasure.told)
        for row, *texts in connection.execute(_WORDS, {"bank": bank}):
            text = " ".join(map(str, texts))
            if names.stand_in(text) or identifies_any(text, erasure.identifiers):
                rows.append(row)
    return rows


_RELEASE_ITEMS = (
    update(units)
    .where(in_bank(units, "of"), among(units.c.head, "rows"))
    .values(kind=UnitKind.MEMORY.value, head=None, number=0, changed=bindparam("at"))
)
_CLOSED_BY = and_(
    in_bank(validity_events),
    validity_events.c.kind == ValidityKind.CLOSED.value,
    among(validity_events.c.by_unit, "rows"),
)
_ENDED = (
    select(units.c.id, units.c.closed_at)
    .distinct()
    .join(validity_events, refers(validity_events.c.unit, units))
    .where(_CLOSED_BY, units.c.fact_type != FactType.OPINION.value, ~among(units.c.id, "rows"))
    .order_by(units.c.id)
)
_DELETE_ENDINGS = delete(validity_events).where(among(validity_events.c.unit, "units"), _CLOSED_BY)
_CLOSE = (
    update(units)
    .where(in_bank(units, "of"), units.c.id == bindparam("row"))
    .values(changed=bindparam("at"), **closing(bindparam("closed", type_=Int)))
)


def _undo_endings(target: CommitTarget, rows: list[int]) -> list[int]:
    """Restore units that only these units closed; return their row ids, ascending. Call it before these units are deleted.

    The closing event is deleted from the log too. Opinion wordings have their own rules (`erase_opinions`). Items whose
    document is erased become independent memories.
    """
    if not rows:
        return []
    connection, bank = target.connection, target.bank
    connection.execute(_RELEASE_ITEMS, {"of": bank, "at": target.revision, "rows": rows})
    ended = connection.execute(_ENDED, {"bank": bank, "rows": rows}).all()
    if not ended:
        return []
    endings = {"bank": bank, "units": [unit.id for unit in ended], "rows": rows}
    connection.execute(_DELETE_ENDINGS, endings)
    after = [(row, closed_at, closed_by_log(connection, bank, row)) for row, closed_at in ended]
    changed: list[Values] = [
        {"of": bank, "row": row, "closed": closed, "at": target.revision}
        for row, closed_at, closed in after
        if closed != closed_at
    ]
    run_many(connection, _CLOSE, changed)
    parents = move_documents(target, [row for row, _ in ended])
    change_facts(target, {*(unit["row"] for unit in changed), *parents})
    return [unit["row"] for unit in changed if unit["closed"] is None]


_KINDS = (
    select(units.c.unit_id, units.c.kind)
    .where(in_bank(units), among(units.c.id, "rows"))
    .order_by(units.c.id)
)
_NAMES = select(entities.c.names).where(
    entities.c.bank == bindparam("bank"), entities.c.entity_id == bindparam("entity")
)


def _kinds_of(connection: Connection, bank: int, rows: list[int]) -> Sequence[tuple[str, str]]:
    """Return (unit id, kind) of each unit with these row ids."""
    return connection.execute(_KINDS, {"bank": bank, "rows": rows}).all() if rows else ()


def _names(connection: Connection, bank: int, erasure: Erasure) -> frozenset[str]:
    """Return the normalised names to erase: the selected names, or all names of the selected entity."""
    if erasure.names or erasure.entity is None:
        return frozenset({*erasure.names, *erasure.told})
    names = connection.scalar(_NAMES, {"bank": bank, "entity": erasure.entity})
    return frozenset({*json.loads(names or "[]"), *erasure.told})


_HANGING: dict[Table, tuple[Column[int], ...]] = {
    vectors: (vectors.c.unit,),
    records: (records.c.unit,),
    links: (links.c.source, links.c.target),
    mentions: (mentions.c.unit,),
    validity_events: (validity_events.c.unit,),
    evidence: (evidence.c.opinion, evidence.c.fact, evidence.c.version),
}
_GOING = select(
    *(
        select(func.count())
        .where(in_bank(table), or_(*(among(column, "rows") for column in columns)))
        .label(table.name)
        for table, columns in _HANGING.items()
    )
)
"""Statements that count rows of other tables that are deleted together with units."""


def _erase_some(
    connection: Connection, bank: int, rows: list[int], erasure: Erasure, traces: Traces
) -> tuple[ErasedNames, dict[str, int]]:
    """Erase traces and names, then the units, which are needed to find them."""
    counts = erase_traces(connection, bank, rows, erasure, traces)
    gone = erase_names(connection, bank, rows, erasure)
    if rows:
        touched = touched_categories(connection, bank, rows)
        counts |= connection.execute(_GOING, {"bank": bank, "rows": rows}).mappings().one()
        _delete(connection, bank, units, rows)
        counts["categories"] = erase_unused(connection, bank, touched)
    return gone, {**counts, "entities": len(gone.entities), "names": gone.lost}


_ENTITIES = (
    select(entities.c.entity_id, entities.c.names)
    .where(entities.c.bank == bindparam("bank"))
    .order_by(entities.c.id)
)


def _erase_all(connection: Connection, bank: int) -> tuple[ErasedNames, dict[str, int]]:
    known = connection.execute(_ENTITIES, {"bank": bank}).all()
    names = {name for entity in known for name in json.loads(entity.names)}
    counts = {
        name: connection.execute(statement, {"bank": bank}).rowcount for name, statement in _CONTENT.items()
    }
    return ErasedNames(tuple(entity.entity_id for entity in known), tuple(sorted(names)), 0, 0), counts


@dataclass(frozen=True, slots=True)
class Traces:
    """Traces that identify task payloads with erased data.

    Attributes:
        texts: texts of erased units. A message of any conversation that equals one is removed; a payload of `threads` or
            `documents` that contains one anywhere is deleted. In other payloads, the same words inside a longer text are
            considered unrelated.
        messages: (thread, message id) of erased messages, which are removed from payloads.
        threads: conversations of the erased units. Messages retained without a thread ("") do not form a conversation.
        documents: documents of the erased units.
        document: payloads of this document are deleted.
        thread: messages of this thread are removed.
        window: messages sent in this interval are removed.
        tags: tags that limit `window` to payloads with one of them; empty means all payloads.
        names: messages that contain one of these names are removed.
        identifiers: messages that contain one of these identifiers, in any notation, are removed.
    """

    texts: frozenset[str] = frozenset()
    messages: frozenset[Place] = frozenset()
    threads: frozenset[str] = frozenset()
    documents: frozenset[str] = frozenset()
    document: str | None = None
    thread: str | None = None
    window: Interval | None = None
    tags: frozenset[str] = frozenset()
    names: WholeNames = field(default_factory=lambda: WholeNames(()))
    identifiers: tuple[str, ...] = ()


def without(payload: str, traces: Traces) -> str | None:
    """Return the payload without erased data; None if no messages remain or it would still contain erased data."""
    try:
        value: Json = json.loads(payload)
    except ValueError:
        return payload
    if not isinstance(value, dict):
        return payload
    thread, document = str(value.get("thread", "")), value.get("document_id") or value.get("document")
    if traces.document is not None and document == traces.document:
        return None
    if traces.tags and not traces.tags & {*_texts_in(value.get("tags"))}:
        traces = replace(traces, window=None)
    if _forgotten(value, thread, traces):
        return None
    kept = {name: _cleaned(member, thread, traces) for name, member in value.items()}
    if value.get("messages") and not kept["messages"]:
        return None
    if document:
        same_source = document in traces.documents
    # without a thread id, a payload belongs to the erased conversation only if it contained an erased message
    else:
        same_source = thread in traces.threads if thread else kept != value
    if same_source and any(erased in text for text in _texts_in(kept) for erased in traces.texts):
        return None
    return payload if kept == value else json.dumps(kept, ensure_ascii=False)


def _cleaned(value: Json, thread: str, traces: Traces) -> Json:
    if isinstance(value, list):
        return [_cleaned(item, thread, traces) for item in value if not _forgotten(item, thread, traces)]
    if isinstance(value, dict):
        return {name: _cleaned(member, thread, traces) for name, member in value.items()}
    return value


def _forgotten(value: Json, thread: str, traces: Traces) -> bool:
    """Return whether a value is a message to erase, or a payload whose single text came from such messages."""
    if not isinstance(value, dict) or "text" not in value:
        return False
    if value["text"] in traces.texts:
        return True
    said = f"{value.get('speaker')}: {value['text']}"
    if traces.thread == thread or traces.names.stand_in(said) or identifies_any(said, traces.identifiers):
        return True
    sent = value.get("timestamp", value.get("said_at"))
    inside = traces.window is not None and isinstance(sent, str) and _within(sent, traces.window)
    sources = value.get("sources", [value.get("id")])
    said_in = [source for source in sources if isinstance(source, str)] if isinstance(sources, list) else []
    return inside or any((thread, message) in traces.messages for message in said_in)


def _within(sent: str, window: Interval) -> bool:
    try:
        moment = datetime.fromisoformat(sent)
    except ValueError:
        return False
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return window.start <= aware < window.end


def _texts_in(value: Json) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for part in value:
            yield from _texts_in(part)
    elif isinstance(value, dict):
        for part in value.values():
            yield from _texts_in(part)


@dataclass(frozen=True, slots=True)
class KeptNames:
    """The names that an entity keeps after an erasure.

    Attributes:
        name: the canonical name; replaced by a name that is still used if only erased units used it.
        names: its normalised names, in order; never empty.
        dropped: normalised names that only erased units used.
    """

    name: str
    names: tuple[str, ...]
    dropped: frozenset[str]


def kept_names(
    name: str, names: Sequence[str], forgotten: Collection[str], remaining: Sequence[str]
) -> KeptNames:
    """Decide which names an entity keeps.

    Args:
        name: the entity's canonical name.
        names: the entity's normalised names, in order.
        forgotten: names by which erased units mention it.
        remaining: names by which other units mention it, at least one, latest last.
    """
    dropped = frozenset(map(normalise_name, forgotten)) - frozenset(map(normalise_name, remaining))
    spare = remaining[-1]
    kept = tuple(known for known in names if known not in dropped) or (normalise_name(spare),)
    return KeptNames(spare if normalise_name(name) in dropped else name, kept, dropped)


EARLIEST = datetime.min.replace(tzinfo=UTC)

_BY_ROW_IDS = {
    table.name: delete(table).where(in_bank(table), among(table.c.id, "ids"))
    for table in (units, entities, entity_changes, tasks, validity_events)
}


def _delete(connection: Connection, bank: int, table: Table, ids: Collection[int]) -> None:
    if ids:
        connection.execute(_BY_ROW_IDS[table.name], {"bank": bank, "ids": ids})


def erase_traces(
    connection: Connection, bank: int, rows: list[int], erasure: Erasure, traces: Traces
) -> dict[str, int]:
    """Erase the traces of these units and of the selected document; return the number of erased rows by kind."""
    return {
        "chunks": _erase_texts(connection, _CHUNKS, bank, rows, erasure.document),
        "documents": _erase_texts(connection, _DOCUMENTS, bank, rows, erasure.document),
        "tasks": _erase_tasks(connection, bank, traces),
        "reasons": _erase_reasons(connection, bank, rows),
    }


# The hash of a chunk is kept, so that an equal chunk is not extracted again.
_CHUNKS = (
    delete(chunks).where(chunks.c.bank == bindparam("bank"), chunks.c.document == bindparam("document")),
    update(chunks)
    .where(
        chunks.c.bank == bindparam("of"),
        chunks.c.document == units.c.document,
        chunks.c.ordinal == units.c.chunk,
        in_bank(units, "of"),
        among(units.c.id, "rows"),
    )
    .values(text=""),
)
_STAYING = select(units.c.id).where(
    units.c.bank == bindparam("of"), units.c.document == documents.c.id, ~among(units.c.id, "rows")
)
_DOCUMENTS = (
    delete(documents).where(documents.c.bank == bindparam("bank"), documents.c.id == bindparam("document")),
    update(documents)
    .where(
        documents.c.bank == bindparam("of"),
        documents.c.id.in_(select(units.c.document).where(in_bank(units, "of"), among(units.c.id, "rows"))),
        ~_STAYING.exists(),
    )
    .values(context="", metadata="{}", tags="[]"),
)
"""Statements for the selected document, which delete it or its chunks; and for other documents, which blank the chunks the
units came from, or the context, metadata and tags of documents that lose their last unit.
"""


def _erase_texts(
    connection: Connection,
    statements: tuple[Delete, Update],
    bank: int,
    rows: list[int],
    document: str | None,
) -> int:
    """Execute _CHUNKS or _DOCUMENTS for a document and units; return the number of rows changed."""
    delete_named, empty = statements
    count = 0
    if document is not None:
        count = connection.execute(delete_named, {"bank": bank, "document": document}).rowcount
    if rows:
        count += connection.execute(empty, {"of": bank, "rows": rows}).rowcount
    return count


_PAYLOADS = select(tasks.c.id, tasks.c.payload).where(
    tasks.c.bank == bindparam("bank"), tasks.c.payload != "", tasks.c.payload != "{}"
)
# The error message of a task may quote its payload, so it is erased too.
_REPLACE_PAYLOAD = (
    update(tasks)
    .where(in_bank(tasks, "of"), tasks.c.id == bindparam("task"))
    .values(payload=bindparam("kept"), last_error="")
)


def _erase_tasks(connection: Connection, bank: int, traces: Traces) -> int:
    """Remove erased data from waiting tasks; return the number of tasks changed or deleted."""
    waiting = connection.execute(_PAYLOADS, {"bank": bank}).all()
    after = [(task, payload, without(payload, traces)) for task, payload in waiting]
    changed = [{"of": bank, "task": task, "kept": kept} for task, payload, kept in after if kept != payload]
    run_many(connection, _REPLACE_PAYLOAD, [row for row in changed if row["kept"]])
    _delete(connection, bank, tasks, [row["task"] for row in changed if not row["kept"]])
    return len(changed)


_EVENT = select(
    validity_events.c.id, validity_events.c.unit, validity_events.c.kind, validity_events.c.effective_at
)
_BY_UNITS = _EVENT.where(in_bank(validity_events), among(validity_events.c.by_unit, "rows"))
_BY_NOBODY = _EVENT.where(
    in_bank(validity_events),
    among(validity_events.c.unit, "units"),
    validity_events.c.by_unit.is_(None),
    validity_events.c.reason == "",
)
_BLANK_EVENTS = (
    update(validity_events)
    .where(in_bank(validity_events, "of"), among(validity_events.c.id, "events"))
    .values(by_unit=None, reason="")
)


def _erase_reasons(connection: Connection, bank: int, rows: list[int]) -> int:
    """Blank the author and reason of events that these units caused; return the number of affected events.

    Events that become equal are merged into the newest one, because a unit's state depends on the order of its log.
    """
    events = connection.execute(_BY_UNITS, {"bank": bank, "rows": rows}).all() if rows else []
    if not events:
        return 0
    closed = {"bank": bank, "units": [event.unit for event in events]}
    others = connection.execute(_BY_NOBODY, closed).all()
    logged = sorted((*events, *others))
    newest = {*{tuple(key): event for event, *key in logged}.values()}
    _delete(connection, bank, validity_events, [event.id for event in logged if event.id not in newest])
    kept = [event.id for event in events if event.id in newest]
    connection.execute(_BLANK_EVENTS, {"of": bank, "events": kept})
    return len(events)


_SAID_WHERE = select(units.c["text"], units.c.document, units.c.thread).where(
    in_bank(units), among(units.c.id, "rows")
)


def traces_of(
    connection: Connection,
    bank: int,
    rows: list[int],
    erasure: Erasure,
    messages: set[Place],
    names: WholeNames,
) -> Traces:
    """Collect the traces that identify waiting tasks with these units, messages or names."""
    erased = connection.execute(_SAID_WHERE, {"bank": bank, "rows": rows}).all()
    return Traces(
        texts=frozenset(unit.text for unit in erased if unit.text),
        messages=frozenset(messages),
        threads=frozenset(unit.thread for unit in erased if unit.document is None),
        documents=frozenset(unit.document for unit in erased if unit.document is not None),
        document=erasure.document,
        # With `message`, `thread` only locates the message; the other messages of the thread are kept.
        thread=erasure.thread if erasure.message is None else None,
        # `before` is stored as a window without a start, because the two are mutually exclusive.
        window=erasure.window if erasure.before is None else Interval(EARLIEST, erasure.before),
        tags=frozenset(erasure.tags),
        names=names,
        identifiers=erasure.identifiers,
    )


@dataclass(frozen=True, slots=True)
class ErasedNames:
    """The entities and names that an erasure removed.

    Attributes:
        entities: ids of the erased entities.
        names: erased normalised names, of erased and of remaining entities, sorted.
        lost: number of names removed from remaining entities.
        changes: number of deleted audit entries.
    """

    entities: tuple[str, ...]
    names: tuple[str, ...]
    lost: int
    changes: int


_TOUCHED = (
    select(entities.c.id, entities.c.entity_id, entities.c.name, entities.c.names)
    .where(
        or_(
            and_(
                in_bank(entities),
                entities.c.id.in_(
                    select(mentions.c.entity).where(in_bank(mentions), among(mentions.c.unit, "rows"))
                ),
            ),
            and_(entities.c.bank == bindparam("bank"), entities.c.entity_id == bindparam("entity")),
        )
    )
    .order_by(entities.c.id)
)
_MENTIONS = (
    select(mentions.c.entity, mentions.c.unit, mentions.c["text"])
    .where(in_bank(mentions), among(mentions.c.entity, "entities"))
    .order_by(mentions.c.entity, mentions.c.unit)
)
# The mention count and the latest mention of an entity in the remaining units.
_REMAINING = (
    select(mentions.c.entity, func.count(), func.max(units.c.mentioned_at))
    .join(units, refers(mentions.c.unit, units))
    .where(
        in_bank(mentions),
        among(mentions.c.entity, "entities"),
        units.c.fact_type != FactType.OBSERVATION.value,
        ~among(mentions.c.unit, "rows"),
    )
    .group_by(mentions.c.entity)
)
_KEEP_ENTITY = (
    update(entities)
    .where(in_bank(entities, "of"), entities.c.id == bindparam("row"))
    .values(
        name=bindparam("kept_name"),
        names=bindparam("kept_names"),
        mentions=bindparam("count"),
        last_seen=bindparam("latest"),
    )
)
_DELETE_NAME = delete(entity_names).where(
    in_bank(entity_names, "of"),
    entity_names.c.entity == bindparam("row"),
    entity_names.c.name == bindparam("dropped"),
)
_DELETE_BLOCK = delete(entity_blocks).where(
    in_bank(entity_blocks, "of"),
    entity_blocks.c.entity == bindparam("row"),
    entity_blocks.c.block == bindparam("dropped"),
)
_DELETE_OBSERVING = delete(tasks).where(
    tasks.c.bank == bindparam("bank"),
    tasks.c.kind == TaskKind.OBSERVE.value,
    tasks.c["key"] != literal("", literal_execute=True),  # needed for the partial index
    among(tasks.c["key"], "keys"),
)


def erase_names(connection: Connection, bank: int, rows: list[int], erasure: Erasure) -> ErasedNames:
    """Erase entities and names that only these units used. Call it before the units are deleted.

    Args:
        connection: the writer.
        bank: row id of the bank.
        rows: row ids of the units to be erased.
        erasure: may select an entity, or some of its names, to be erased in any case.
    """
    touched = connection.execute(_TOUCHED, {"bank": bank, "rows": rows, "entity": erasure.entity}).all()
    if not touched:
        return ErasedNames((), (), 0, 0)
    values = {"bank": bank, "entities": [entity.id for entity in touched], "rows": rows}
    counts = {entity: (count, latest) for entity, count, latest in connection.execute(_REMAINING, values)}
    erased = set(rows)
    going: dict[int, list[str]] = defaultdict(list)
    staying: dict[int, list[str]] = defaultdict(list)
    for entity, unit, text in connection.execute(_MENTIONS, values):
        (going if unit in erased else staying)[entity].append(text)
    orphans: dict[int, str] = {}
    kept: dict[int, KeptNames] = {}
    names: set[str] = set()
    lost = 0
    for entity, entity_id, name, text in touched:
        known = json.loads(text)
        named = entity_id == erasure.entity
        if not staying[entity] or (named and not erasure.names):
            orphans[entity] = entity_id
            names |= set(known)
            continue
        words = [*going[entity], *(erasure.names if named else ())]
        kept[entity] = kept_names(name, known, words, staying[entity])
        lost += sum(known_name not in kept[entity].names for known_name in known)
    _keep_names(connection, bank, kept, counts)
    dropped = {name for names_kept in kept.values() for name in names_kept.dropped}
    changes = _drop_audit(connection, bank, {*orphans.values(), *dropped})
    _delete(connection, bank, entities, list(orphans))
    if orphans:
        connection.execute(_DELETE_OBSERVING, {"bank": bank, "keys": list(orphans.values())})
    return ErasedNames(tuple(orphans.values()), tuple(sorted(names | dropped)), lost, changes)


def _keep_names(
    connection: Connection, bank: int, kept: dict[int, KeptNames], counts: dict[int, tuple[int, int | None]]
) -> None:
    """Write the names and mention counts of remaining entities."""
    rows, names, keys = [], [], []
    for entity, remaining in kept.items():
        count, latest = counts.get(entity, (0, None))
        rows.append(
            {
                "of": bank,
                "row": entity,
                "kept_name": remaining.name,
                "kept_names": json.dumps(remaining.names),
                "count": count,
                "latest": latest,
            }
        )
        names += [{"of": bank, "row": entity, "dropped": name} for name in remaining.dropped]
        stale = {key for name in remaining.dropped for key in blocking_keys(name)}
        stale -= {key for name in remaining.names for key in blocking_keys(name)}
        keys += [{"of": bank, "row": entity, "dropped": key} for key in stale]
    run_many(connection, _KEEP_ENTITY, rows)
    run_many(connection, _DELETE_NAME, names)
    run_many(connection, _DELETE_BLOCK, keys)


_AUDIT = select(entity_changes.c.id, entity_changes.c.detail).where(
    entity_changes.c.bank == bindparam("bank")
)


def _drop_audit(connection: Connection, bank: int, forgotten: Collection[str]) -> int:
    """Delete audit entries with an erased id or name, whose changes can no longer be undone; return their number."""
    if not forgotten:
        return 0
    words = [json.dumps(word) for word in forgotten]
    audit = connection.execute(_AUDIT, {"bank": bank})
    stale = [change for change, detail in audit if any(word in detail for word in words)]
    _delete(connection, bank, entity_changes, stale)
    return len(stale)


_SOURCES = select(unit_sources.c.thread, unit_sources.c.message).where(
    in_bank(unit_sources), among(unit_sources.c.unit, "rows")
)
_MESSAGES = select(message_keys.c.thread, message_keys.c.message).where(
    message_keys.c.bank == bindparam("bank"), message_keys.c.thread == bindparam("thread")
)
_KEPT = select(turns.c.thread, turns.c.message).where(
    turns.c.bank == bindparam("bank"), turns.c.unit.is_(None)
)
_KEPT_WITHIN = _KEPT.where(turns.c.said_at >= bindparam("start"), turns.c.said_at < bindparam("end"))
_KEPT_BEFORE = _KEPT.where(turns.c.said_at < bindparam("before")).add_columns(turns.c.tags)
_KEPT_TEXTS = _KEPT.add_columns(turns.c.speaker, turns.c["text"])
_WAITING = (
    select(unit_sources.c.thread, unit_sources.c.message)
    .select_from(units.join(unit_sources, refers(unit_sources.c.unit, units)))
    .where(
        units.c.bank == bindparam("bank"),
        units.c.kind == literal(UnitKind.TURN.value, literal_execute=True),  # needed for the partial index
    )
)
_WAITING_ROWS = _WAITING.add_columns(units.c.id)
_WAITING_TEXTS = _WAITING.add_columns(units.c["text"])


def reached_turns(
    connection: Connection, bank: int, rows: list[int], erasure: Erasure, names: WholeNames
) -> set[Place]:
    """Return the messages whose text must be erased: sources of the units, and messages that the erasure selects.

    Args:
        connection: the writer.
        bank: row id of the bank.
        rows: row ids of the units to be erased.
        erasure: what to erase.
        names: names of the entity to erase, if one is selected.
    """
    places: set[Place] = set()
    if rows:
        places.update(connection.execute(_SOURCES, {"bank": bank, "rows": rows}).all())
    if erasure.message is not None:
        places.add((erasure.thread or "", erasure.message))
    elif erasure.thread is not None:
        places.update(connection.execute(_MESSAGES, {"bank": bank, "thread": erasure.thread}).all())
    if erasure.before is not None:
        said = connection.execute(_KEPT_BEFORE, {"bank": bank, "before": to_micros(erasure.before)})
        places.update((thread, message) for thread, message, tags in said if _is_tagged(tags, erasure))
    if erasure.window is not None:
        values = {"bank": bank, **_span(erasure.window)}
        places.update(connection.execute(_KEPT_WITHIN, values).all())
    return places | _naming(connection, bank, names, erasure.identifiers)


def _is_tagged(tags: str, erasure: Erasure) -> bool:
    """Return whether a row's tags (JSON) match the erasure's tags. An erasure without tags matches all rows."""
    return not erasure.tags or not {*erasure.tags}.isdisjoint(json.loads(tags))


def _span(window: Interval) -> dict[str, int]:
    return {"start": to_micros(window.start), "end": to_micros(window.end)}


def waiting_of(connection: Connection, bank: int, places: set[Place]) -> list[int]:
    """Return the row ids of turns that wait for extraction, among these messages."""
    waiting = connection.execute(_WAITING_ROWS, {"bank": bank}) if places else ()
    return [unit for thread, message, unit in waiting if (thread, message) in places]


_RETELL = insert(retold).from_select(
    ["unit", "bank", "revision"],
    select(unit_sources.c.unit, unit_sources.c.bank, bindparam("at", type_=retold.c.revision.type)).where(
        unit_sources.c.bank == bindparam("of"),
        unit_sources.c.thread == bindparam("in_thread"),
        unit_sources.c.message == bindparam("said"),
    ),
)
_RETELL = _RETELL.on_conflict_do_update(
    constraint=key_of(retold), set_={"revision": _RETELL.excluded.revision}
)
_DELETE_TURN = delete(turns).where(
    turns.c.bank == bindparam("of"),
    turns.c.thread == bindparam("in_thread"),
    turns.c.message == bindparam("said"),
)
_DELETE_UNIT_TURN = _DELETE_TURN.where(turns.c.unit.is_not(None))


def erase_turns(target: CommitTarget, places: set[Place]) -> tuple[int, int]:
    """Erase the texts of these messages; return (number of stored texts erased, number of other rows changed).

    Remaining memories that were made from them are indexed again without the erased words.
    """
    rows = [
        {"at": target.revision, "of": target.bank, "in_thread": thread, "said": message}
        for thread, message in places
    ]
    others = count_many(target.connection, _RETELL, rows)
    others += count_many(target.connection, _DELETE_UNIT_TURN, rows)
    return count_many(target.connection, _DELETE_TURN, rows), others


def _naming(connection: Connection, bank: int, names: WholeNames, identifiers: Collection[str]) -> set[Place]:
    """Return stored or waiting messages whose text or speaker contains a name as whole words, or an identifier."""
    if not names and not identifiers:
        return set()
    kept = (
        (thread, message, f"{speaker}: {text}")
        for thread, message, speaker, text in connection.execute(_KEPT_TEXTS, {"bank": bank})
    )
    return {
        (thread, message)
        for thread, message, text in chain(kept, connection.execute(_WAITING_TEXTS, {"bank": bank}))
        if names.stand_in(text) or identifies_any(text, identifiers)
    }
