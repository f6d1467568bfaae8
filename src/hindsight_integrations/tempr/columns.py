"""Columns: the filterable facts of a bank's units as numpy arrays, and the masks recall applies before any limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime

import numpy as np

from hindsight_integrations.model.requests import TagsMatch
from hindsight_integrations.model.time import to_micros
from hindsight_integrations.model.units import FactType
from hindsight_integrations.ports.arrays import NEVER, UNDATED, BoolArray, IntArray
from hindsight_integrations.ports.ledger import UnitColumns

FACT_TYPES = list(FactType)
SECOND = 1_000_000  # microseconds


@dataclass(frozen=True, slots=True)
class Columns:
    """An immutable snapshot, ordered by row id; every array has length n.

    Attributes:
        ids, types, starts, ends, mentioned, closed, tokens: as in ports.ledger.UnitColumns.
        tag_sets: position of each unit's tag set in `vocabulary`.
        vocabulary: the distinct tag sets.
    """

    ids: IntArray
    types: IntArray
    starts: IntArray
    ends: IntArray
    mentioned: IntArray
    closed: IntArray
    tokens: IntArray
    tag_sets: IntArray
    vocabulary: tuple[frozenset[str], ...]

    def __len__(self) -> int:
        return len(self.ids)

    def positions(self, ids: IntArray) -> IntArray:
        """Where each id stands, (n,); -1 for ids that are not here."""
        if not len(self.ids):
            return np.full(len(ids), -1, np.int64)
        at = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        return np.where(self.ids[at] == ids, at, -1)

    def allowed(self, ids: IntArray, mask: BoolArray) -> BoolArray:
        """For each id whether it is here and the mask (over positions) lets it through."""
        at = self.positions(ids)
        if not len(mask):
            return np.zeros(len(ids), bool)
        inside: BoolArray = (at >= 0) & mask[at]
        return inside

    def points(self) -> IntArray:
        """Each unit's point in time, microseconds: midpoint of its occurrence, else when it was mentioned."""
        return points_in_time(self.starts, self.ends, self.mentioned)


def points_in_time(starts: IntArray, ends: IntArray, mentioned: IntArray) -> IntArray:
    """Midpoint of the occurrence interval, else mentioned_at; all in microseconds."""
    return np.where(starts == UNDATED, mentioned, starts // 2 + ends // 2)


def empty_columns() -> Columns:
    """The columns of a bank without units."""
    none = np.empty(0, np.int64)
    return Columns(none, none, none, none, none, none, none, none, ())


def updated(columns: Columns, changes: UnitColumns, removed: IntArray) -> Columns:
    """A new snapshot with rows changed, added and removed."""
    if not len(changes.ids) and not len(removed):
        return columns
    vocabulary = dict.fromkeys(columns.vocabulary)
    codes = {tags: code for code, tags in enumerate(vocabulary)}
    sets = [frozenset(tags) for tags in changes.tags]
    tag_sets = np.fromiter((codes.setdefault(tags, len(codes)) for tags in sets), np.int64, len(sets))
    stale = np.isin(columns.ids, np.concatenate([changes.ids, removed]))
    fresh = ~np.isin(changes.ids, removed)
    merged = {
        field.name: np.concatenate(
            [getattr(columns, field.name)[~stale], getattr(changes, field.name)[fresh]]
        )
        for field in fields(Columns)
        if field.name not in ("tag_sets", "vocabulary")
    }
    merged["tag_sets"] = np.concatenate([columns.tag_sets[~stale], tag_sets[fresh]])
    if (np.diff(merged["ids"]) < 0).any():  # new rows have higher ids; replaced ones break the order
        order = np.argsort(merged["ids"], kind="stable")
        merged = {name: array[order] for name, array in merged.items()}
    return Columns(**merged, vocabulary=tuple(codes))


def of_types(columns: Columns, types: Sequence[FactType]) -> BoolArray:
    """Units of the given networks."""
    return np.isin(columns.types, [FACT_TYPES.index(fact_type) for fact_type in types])


def no_later(moment: datetime, by: datetime) -> bool:
    """Whether a moment came by another, that one's own second included.

    Facts told together have mention times microseconds apart, to keep their order; validity looks at the second.
    """
    return to_micros(moment) // SECOND <= to_micros(by) // SECOND


def mentioned_by(columns: Columns, moment: datetime) -> BoolArray:
    """Units mentioned no later than a moment, by the second as in `no_later`."""
    said: BoolArray = columns.mentioned // SECOND <= to_micros(moment) // SECOND
    return said


def valid_at(columns: Columns, as_of: datetime | None) -> BoolArray:
    """Units valid now, or at a moment of conversation time: mentioned by then and not yet closed (design section 4).

    By the second, as in `no_later`.
    """
    if as_of is None:
        current: BoolArray = columns.closed == NEVER
        return current
    still_open: BoolArray = columns.closed // SECOND > to_micros(as_of) // SECOND
    return mentioned_by(columns, as_of) & still_open


def tagged(columns: Columns, tags: Sequence[str], match: TagsMatch) -> BoolArray:
    """Units the tags select; see `tags_select` for the truth table."""
    wanted = frozenset(tags)
    if not wanted and match != TagsMatch.EXACT:
        return np.ones(len(columns), bool)
    passing = np.fromiter(
        (tags_select(own, wanted, match) for own in columns.vocabulary), bool, len(columns.vocabulary)
    )
    return passing[columns.tag_sets] if len(columns) else np.zeros(0, bool)


def tags_select(own: frozenset[str], wanted: frozenset[str], match: TagsMatch) -> bool:
    """Whether a unit with tags `own` passes a filter for `wanted` (truth table: notes/upstream 1.4)."""
    if match == TagsMatch.EXACT:
        return own == wanted
    if not own:
        return match in (TagsMatch.ANY, TagsMatch.ALL)
    return wanted <= own if match in (TagsMatch.ALL, TagsMatch.ALL_STRICT) else bool(own & wanted)
