"""LedgerMaintenance: changes made by hand or for good, each a transaction of its own."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from hindsight_integrations.model.embedder import EmbedderIdentity
from hindsight_integrations.model.entities import EntityChange
from hindsight_integrations.model.erasure import Erasure, ForgetReceipt
from hindsight_integrations.model.records import RecordCategory, RecordKind
from hindsight_integrations.ports.arrays import IntArray, Matrix
from hindsight_integrations.ports.ledger.items import ItemWriter
from hindsight_integrations.ports.ledger.mental_models import MentalModelWriter
from hindsight_integrations.ports.ledger.values import ArchiveRow, EntitySplit, UnitEdit


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
        """Fill an empty bank; returns how many units. What `rows` raises undoes everything.

        Raises:
            InvalidRequest: the bank is not empty, or a row cannot be read.
        """
        ...
