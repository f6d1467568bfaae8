"""LedgerReader: reads of a bank. Nothing here changes anything."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from hindsight_integrations.model.entities import Entity, EntityChange
from hindsight_integrations.model.opinions import OpinionLog
from hindsight_integrations.model.profile import BankProfile, ProfileChange
from hindsight_integrations.model.records import RecordCategory, RecordKind
from hindsight_integrations.model.threads import Thread, ThreadMark
from hindsight_integrations.model.turns import SourceTurn
from hindsight_integrations.model.units import MemoryUnit, ValidityEvent
from hindsight_integrations.model.writes import MessageKey, Place
from hindsight_integrations.ports.arrays import IntArray, Vector
from hindsight_integrations.ports.ledger.items import ItemReader
from hindsight_integrations.ports.ledger.mental_models import MentalModelReader
from hindsight_integrations.ports.ledger.observations import ObservationReader
from hindsight_integrations.ports.ledger.values import StoredDocument


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

    def count(self, bank: str) -> int:
        """How many memories the bank holds, closed ones included; turns that wait are none."""
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
