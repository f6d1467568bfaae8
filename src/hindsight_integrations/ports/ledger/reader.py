"""LedgerReader: reads of a bank. Nothing here changes anything."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol

from hindsight_integrations.model.embedder import EmbedderIdentity
from hindsight_integrations.model.entities import Entity, EntityChange
from hindsight_integrations.model.erasure import Erasure, ForgetReceipt
from hindsight_integrations.model.opinions import OpinionLog
from hindsight_integrations.model.profile import BankProfile, ProfileChange
from hindsight_integrations.model.records import RecordCategory, RecordKind
from hindsight_integrations.model.tasks import Task, TaskClaim, TaskKind, TaskState
from hindsight_integrations.model.threads import Thread, ThreadMark
from hindsight_integrations.model.turns import SourceTurn
from hindsight_integrations.model.units import MemoryUnit, ValidityEvent
from hindsight_integrations.model.writes import MessageKey, Place
from hindsight_integrations.ports.arrays import IntArray, Matrix, Vector
from hindsight_integrations.ports.ledger.items import ItemReader, ItemWriter
from hindsight_integrations.ports.ledger.mental_models import MentalModelReader, MentalModelWriter
from hindsight_integrations.ports.ledger.observations import ObservationReader
from hindsight_integrations.ports.ledger.values import ArchiveRow, EntitySplit, StoredDocument, UnitEdit


class LedgerTasks(Protocol):
    """A queue with leases: a task whose holder was killed is due again once its lease has ended.

    Many threads and processes may take from it at once. The time is the ledger's alone: callers give durations, so that
    their clocks need not agree. A holder names its lease by a claim, and one whose lease is no longer the task's last
    changes nothing. None of these methods raises a bank's revision.
    """

    def lease_due(
        self,
        kinds: Collection[TaskKind],
        *,
        lasting: timedelta,
        bank: str | None = None,
        besides: Collection[str] = (),
        early: bool = False,
    ) -> Task | None:
        """Take the task of these kinds that has been due longest; None if none is due.

        Due are PENDING tasks whose time has come and LEASED ones whose lease has ended. The lease, counted as an attempt,
        is durable before this returns.

        Args:
            kinds: what the caller can do.
            lasting: how long the lease lasts unless it is renewed.
            bank: of this bank alone; None takes from all, at the same cost however many there are.
            besides: of none of these banks; who does one task of a bank at a time names those that are busy.
            early: a task with a key that was not leased since it was enqueued is due whatever its delay.

        Raises:
            BankNotFound: there is no bank of that name.
        """
        ...

    def renew_lease(self, claim: TaskClaim, *, lasting: timedelta) -> bool:
        """Let a lease last so long from now on; False if it is the task's no more: taken over, taken back, or done."""
        ...

    def fail_task(
        self, claim: TaskClaim, *, reason: str, retry_in: timedelta | None, counted: bool = True
    ) -> bool:
        """End a lease without an outcome; False, and nothing is changed, if it is the task's no more.

        Args:
            claim: the lease.
            reason: why, for people; replaces the task's reason.
            retry_in: PENDING again, due so long from now; None makes it DEAD. DEAD and enqueued again meanwhile, it
                begins anew.
            counted: whether it was an attempt.
        """
        ...

    def next_due(self, kinds: Collection[TaskKind], *, besides: Collection[str] = ()) -> timedelta | None:
        """How long until a task of these kinds is due in any bank but those: zero if one is, None if none waits."""
        ...

    def task_counts(self) -> dict[TaskState, int]:
        """How many tasks of all banks are in each state."""
        ...

    def make_due(self, bank: str, kinds: Collection[TaskKind]) -> int:
        """PENDING and DEAD tasks of these kinds are due now, with no attempts counted; returns how many."""
        ...

    def tasks(self, bank: str) -> list[Task]:
        """All tasks of the bank, in the order they were first enqueued, those done and dead included."""
        ...


class Scrub(StrEnum):
    """What became of an attempt to rewrite the files so that nothing erased is left in them."""

    CLEAN = "clean"
    """Nothing erased is left in the ledger's storage."""

    WAITING = "waiting"
    """Another process reads an older state; the next erasure or the next open tries again."""

    NOT_OURS = "not ours"
    """The storage is not this ledger's to rewrite: opened read-only, or a server's, whose logs and backups keep it."""


class LedgerMaintenance(MentalModelWriter, ItemWriter, Protocol):
    """Erasure, corrections, entities by hand, mental models, archives, another embedder.

    Called from the engine's writer thread only, but for `archive_rows`. What changes a bank's content raises its
    revision; what changes links or mentions in place raises the feed's `graph_epoch` with it.
    """

    def erase(self, bank: str, erasure: Erasure, *, dry_run: bool = False) -> ForgetReceipt:
        """Erase the chosen units with all that derives from them.

        With a unit go its vector, records, links, mentions, validity log, evidence and edits, the chunk it came from,
        waiting tasks that carry its text, entities nothing else mentions, names of surviving entities that only it used,
        and categories and spellings of them in which no other record is given. What it ended holds again, unless
        something else ended it too, and the receipt lists it. With a document go its items, but not where messages or
        moments are chosen: then each item goes with the messages that it was made from. With an item goes what retells
        its document, which counts as changed.
        With a fact go all observations made of the entities it mentions, which are made anew of what is left, and the texts
        of mental models whose writers were shown it; their questions and the directives stay.
        With it go too the wordings of opinions that stand on it, and those worded after them; the wording before holds
        again, and an opinion without any goes. Whoever names an opinion's unit means the opinion with all its wordings.
        Reasons that were written by a model which may have read it are blanked.
        The feed's `removed` reports its row id.

        Message keys stay (a hash, the thread and the message id), so that a replayed conversation does not bring the
        memory back; `everything` drops them too.

        Args:
            bank: the bank.
            erasure: what; exactly one field set.
            dry_run: say what would be erased, with names, and erase nothing.

        Returns:
            The receipt; its revision is unchanged where there was nothing to erase.
        """
        ...

    def drop_bank(self, bank: str) -> int:
        """Delete the bank itself with all it holds; returns how many units it held."""
        ...

    def forget_profile_history(self, bank: str) -> int:
        """Erase every profile the bank was given but the present one, which keeps its number; returns how many.

        No commit: the revision stays. `scrub` removes them from the storage.
        """
        ...

    def scrub(self) -> Scrub:
        """Rewrite the storage so that nothing erased is left in it.

        A kill between `erase` and `scrub` is made up for when the ledger is next opened for writing.
        """
        ...

    def edit_unit(self, bank: str, edit: UnitEdit, made_at: datetime) -> int:
        """Correct a unit in place; returns the new revision. The feed reports its columns, vector and text again.

        The old text is not kept; the audit says when and which fields.
        Evidence that was judged by another text, of the fact or against the opinion, is deleted; its facts are among
        `facts_since` of the opinion again.

        Raises:
            InvalidRequest: the unit, or one that it is linked to, is not in the bank.
        """
        ...

    def merge_entities(self, bank: str, keep: str, merged: str, made_at: datetime) -> EntityChange:
        """Move all names and mentions of one entity (by id) to another; the merged one is removed.

        What was made of the facts of either goes; so it does when an entity is split, or either is undone.
        """
        ...

    def split_entity(self, bank: str, split: EntitySplit, made_at: datetime) -> EntityChange:
        """Make a new entity, of the same type, of some names and mentions of another."""
        ...

    def alias_entity(
        self, bank: str, entity_id: str, names: Sequence[str], made_at: datetime
    ) -> EntityChange:
        """Give an entity further normalised names."""
        ...

    def undo_entity_change(self, bank: str, change_id: int) -> EntityChange:
        """Put back what a change did; mentions retained since stay where they are.

        Raises:
            InvalidRequest: there is no such change, it was undone, or a later change stands on it.
        """
        ...

    def merge_categories(self, bank: str, kind: RecordKind, keep: str, merged: str) -> RecordCategory:
        """Move all records and spellings of one category to another, which is returned; the merged one is removed.

        Both are named by any of their spellings. `split_category` with the spellings of the merged one undoes it: each
        record keeps the spelling it was given in.

        Raises:
            InvalidRequest: one of them is not known, or they are one.
        """
        ...

    def split_category(
        self, bank: str, kind: RecordKind, name: str, spellings: Sequence[str]
    ) -> RecordCategory:
        """Make a new category of some spellings of another, with the records that were given in them.

        It is called by the first of them. Whoever merges the two again has what was before.

        Raises:
            InvalidRequest: the category is not known, has not these spellings, or one of them is its name.
        """
        ...

    def set_embedder(self, bank: str, embedder: EmbedderIdentity, ids: IntArray, vectors: Matrix) -> int:
        """Record who makes the bank's vectors and replace the vectors of `ids`; returns the new revision.

        With no ids it only records the embedder. The feed then reports those vectors again.

        Args:
            bank: the bank.
            embedder: who makes its vectors from now on.
            ids: row ids (n,).
            vectors: their vectors, (n, dimension), unit norm.

        Raises:
            InvalidRequest: some of the bank's vectors would keep another dimension.
        """
        ...

    def archive_rows(self, bank: str) -> Generator[ArchiveRow, None, None]:
        """Everything the bank holds, in an order it can be restored in; one consistent snapshot, never all in memory.

        To be consumed, or closed, on the thread that began it.
        """
        ...

    def restore_rows(self, bank: str, rows: Iterator[ArchiveRow]) -> int:
        """Fill an empty bank; returns how many memories. What `rows` raises undoes everything.

        Raises:
            ArchiveInvalid: a row, or all of them together, cannot be of an archive; rows are counted from line 2 on.
            InvalidRequest: the bank is not empty.
        """
        ...


class TurnReader(Protocol):
    """Reads of one bank's turns, each in its latest wording, wherever its text is kept: by itself, or as the unit that it is.

    A turn whose text was not kept, or was erased, is left out.
    """

    def turns(self, bank: str, places: Sequence[Place]) -> dict[Place, SourceTurn]:
        """The turns of these (thread, message id)."""
        ...

    def turns_of_units(self, bank: str, ids: IntArray) -> dict[int, tuple[SourceTurn, ...]]:
        """The turns that each of these units (by row id) was made from, by time; units without any are left out."""
        ...

    def thread_turns(self, bank: str, thread: str) -> list[SourceTurn]:
        """The turns of a conversation, by time, then by message id."""
        ...

    def turns_saying(self, bank: str, words: str) -> list[Place]:
        """(thread, message id) of every turn whose text has these words in this order, by time, then by message id.

        Compared by `folded_text`: without regard to case, diacritics and white space. Reads every turn of the bank.
        """
        ...


class ThreadReader(Protocol):
    """Reads of one bank's threads, which commits write (`WriteSet.thread`)."""

    def thread_mark(self, bank: str, thread: str, namespace: str) -> ThreadMark:
        """How far a thread was read; of one never followed the mark of an empty list."""
        ...

    def dropped_messages(self, bank: str, places: Sequence[Place]) -> frozenset[Place]:
        """Which of these messages forks dropped: no list of their thread has them on its branch."""
        ...

    def thread(self, bank: str, thread: str, namespace: str) -> Thread:
        """The whole log of a thread; an empty one if it was never followed."""
        ...


class ProfileReader(Protocol):
    """Reads of one bank's profiles. The present one is `BankHeader.profile` too."""

    def profile_changes(self, bank: str) -> list[ProfileChange]:
        """Every profile the bank was given, by number; none for a bank that was never given one."""
        ...

    def profile_change(self, bank: str, number: int | None = None) -> ProfileChange | None:
        """One of them, the newest if no number is given; None if there is none."""
        ...

    def profile_at(self, bank: str, moment: datetime) -> BankProfile:
        """The profile the bank had at a moment: a neutral one before its first change.

        What takes effect in the second of the moment has taken effect.
        """
        ...


# OpinionReader: opinions with the evidence they rest on (paper sections 5.4.1 and 5.5).
class OpinionReader(Protocol):
    """Reads of one bank's opinions. What they say is as of the read; confidence is computed, see `model/confidence.py`."""

    def opinions(self, bank: str, opinion_ids: Sequence[str] | None = None) -> list[OpinionLog]:
        """These opinions, or all, in the order they were formed; those without a valid wording too.

        Unknown ids and opinions that cannot be read are left out.
        """
        ...

    def opinions_of(self, bank: str, ids: IntArray) -> dict[int, str]:
        """Opinion id of each of these units (by row id) that is a wording of one; others are left out."""
        ...

    def formed_by(self, bank: str, operation: str) -> tuple[str, ...] | None:
        """Ids of the opinions a reflection formed, by its operation key; None if none of that key was recorded."""
        ...

    def facts_since(self, bank: str, revision: int) -> IntArray:
        """Row ids of the valid world and experience memories that came, or were corrected, after a revision, ascending."""
        ...


class LedgerReader(
    TurnReader,
    ObservationReader,
    OpinionReader,
    ProfileReader,
    MentalModelReader,
    ThreadReader,
    ItemReader,
    Protocol,
):
    """Reads of one bank, bounded by their arguments. Row ids are int64 and never reused, forgotten ones included.

    Raises:
        BankNotFound: by every method, where there is no such bank.
    """

    def snapshot(self, bank: str) -> AbstractContextManager[LedgerReader]:
        """Several reads of one state of the bank; within a snapshot or a transaction, of its state."""
        ...

    def count(self, bank: str) -> int:
        """How many memories the bank holds, closed ones included; turns that wait are none."""
        ...

    def latest_mention(self, bank: str) -> datetime | None:
        """The mention time of what was written last, the latest of one commit; None if the bank holds nothing."""
        ...

    def units(self, bank: str, ids: IntArray) -> dict[int, MemoryUnit]:
        """The units of these row ids; unknown ids and damaged units are left out. Two queries."""
        ...

    def damaged(self, bank: str, ids: IntArray | None = None) -> tuple[str, ...]:
        """Unit ids of those of these units (of all, if None) that are not what was written, in row order."""
        ...

    def damaged_vectors(self, bank: str) -> tuple[str, ...]:
        """Unit ids of the units whose stored vector is not what was written, in row order."""
        ...

    def row_ids(self, bank: str, unit_ids: Sequence[str]) -> dict[str, int]:
        """Row ids of these unit ids; unknown ones are left out."""
        ...

    def unit_ids(self, bank: str, ids: IntArray) -> dict[int, str]:
        """Unit ids of these row ids; unknown ones are left out."""
        ...

    def vectors_of(self, bank: str, ids: IntArray) -> dict[int, Vector]:
        """Stored vectors (dimension,) by row id; unknown ids are left out."""
        ...

    def link_counts(self, bank: str, ids: IntArray, code: int) -> dict[int, int]:
        """How many links of one code (LINK_CODES) each of these units has, in either direction; units without any are left out."""
        ...

    def record_rows(
        self, bank: str, *, kind: RecordKind | None = None, category: str | None = None
    ) -> IntArray:
        """Row ids of every unit with a record of this kind and category (None means any), ascending; closed ones too.

        A category is found by any of its spellings, without regard to case and white space; "" means none. It is complete,
        so that sums are exact. One indexed query.
        """
        ...

    def categories(self, bank: str, kind: RecordKind | None = None) -> list[RecordCategory]:
        """Categories of records (of one kind, if given): by kind, the most used first, then by name."""
        ...

    def category_units(
        self, bank: str, kind: RecordKind | None = None
    ) -> dict[tuple[RecordKind, str], tuple[str, ...]]:
        """Units of the values of each category's records, by kind and name, the most used first; of those that have any."""
        ...

    def validity(self, bank: str, unit_id: str) -> list[ValidityEvent]:
        """A unit's validity log, by effective time, then in the order recorded; empty for an unknown unit."""
        ...

    def stated_by(self, bank: str, unit_ids: Sequence[str]) -> list[ValidityEvent]:
        """What these units say of others: every closing by them, in the order recorded."""
        ...

    def items_of(self, bank: str, ids: IntArray) -> dict[int, tuple[int, ...]]:
        """Row ids of the items of these documents (by row id), closed ones included, by number; others are left out."""
        ...

    def unit_edits(self, bank: str, unit_id: str) -> list[tuple[datetime, tuple[str, ...]]]:
        """(when, fields) of a unit's corrections, oldest first."""
        ...

    def known_messages(self, bank: str, keys: Sequence[MessageKey]) -> frozenset[MessageKey]:
        """Which of these messages were retained already, and in no other wording since: the latest version counts."""
        ...

    def document(self, bank: str, document_id: str) -> StoredDocument | None:
        """A document and its present chunks, in order; None if it was never retained."""
        ...

    def units_of_chunks(self, bank: str, document_id: str, ordinals: Sequence[int]) -> IntArray:
        """Row ids of the valid units made from these chunks of a document, ascending."""
        ...

    def units_of_messages(
        self, bank: str, messages: Sequence[tuple[str, str]], *, closed: bool = False, waiting: bool = False
    ) -> IntArray:
        """Row ids of the valid (or of the closed) memories with one of these (thread, message id) among their sources, ascending.

        Items of documents are among them. Turns that wait for extraction are among them if asked for.
        """
        ...

    def places_of_messages(self, bank: str, messages: Sequence[str]) -> list[tuple[str, str]]:
        """The (thread, message id) of any thread with one of these ids on which a memory stands, in order."""
        ...

    def entities_named(self, bank: str, names: Sequence[str]) -> dict[str, Entity]:
        """Entity by normalised name or alias, for those of `names` the bank knows.

        Where a name stands for several entities (same name, other type) the key's value is the most mentioned one;
        use `find_entities` to see all.
        """
        ...

    def find_entities(self, bank: str, name: str) -> list[Entity]:
        """All entities of that id or exact normalised name, by falling mentions, then id."""
        ...

    def list_entities(self, bank: str, prefix: str, limit: int) -> list[Entity]:
        """Entities having a normalised name that starts with `prefix`, the most mentioned first, then by name."""
        ...

    def entity_candidates(self, bank: str, names: Sequence[str], limit: int) -> dict[str, list[Entity]]:
        """For each normalised name, known entities of that name, sharing a whole token with it, or one edit away.

        At most `limit` per name, exact names first, then by shared blocks, then by mentions, then by id. A token that
        very many entities share is not followed. Never scans all entities.
        """
        ...

    def entity_neighbours(self, bank: str, entity_ids: Sequence[str]) -> dict[str, frozenset[str]]:
        """For each entity the normalised names it was lately mentioned with, at most 50 (paper eq. 2, co-occurrence).

        Entities never mentioned with another are left out, unknown ones too.
        """
        ...

    def entities_of(self, bank: str, ids: IntArray) -> dict[int, list[Entity]]:
        """The entities each unit (by row id) mentions, by name; units without any are left out."""
        ...

    def entity_rows(self, bank: str, entity_ids: Sequence[str]) -> dict[str, int]:
        """Row ids of entities, as the graph names them."""
        ...

    def mention_texts(self, bank: str, entity_id: str) -> list[tuple[str, str]]:
        """(unit id, text as written) of an entity's mentions, in unit order."""
        ...

    def exact_names(self, bank: str, entity_id: str) -> frozenset[str]:
        """Normalised names that are the entity's for certain: what it is called, and what was given it by hand.

        Whatever other names it answers to were taken for these because they look alike.
        """
        ...

    def entity_changes(self, bank: str) -> list[EntityChange]:
        """Every merge, split and alias made by hand, oldest first, undone ones included."""
        ...
