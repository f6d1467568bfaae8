"""Columns: the filterable facts of a bank's units as numpy arrays, and the masks recall applies before any limit."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

import numpy as np

from hindsight_integrations.ledger.values import UnitColumns
from hindsight_integrations.model.metadata import MetadataTest
from hindsight_integrations.model.requests import TagAnd, TagGroup, TagLeaf, TagNot, TagsMatch
from hindsight_integrations.model.time import SECOND, to_micros
from hindsight_integrations.model.units import FactType
from hindsight_integrations.ports.arrays import (
    IN_DOCUMENT,
    NEVER,
    STORED,
    UNDATED,
    WAITING,
    BoolArray,
    IntArray,
    no_gaps,
)
from hindsight_integrations.search.metadata_rows import MetadataRows

Code = TypeVar("Code", bound=Hashable)

FACT_TYPES = list(FactType)


@dataclass(frozen=True, slots=True)
class Columns:
    """An immutable snapshot, ordered by row id; every array has length n.

    Attributes:
        ids, types, starts, ends, mentioned, closed, tokens, compact, heads, lasting: as in `UnitColumns`; turns that wait for
            extraction, items of documents and texts of stored items have types of their own; `found_types` takes the first
            two in, nothing the last.
        tag_sets: position of each unit's tag set in `vocabulary`.
        threads: position of each turn's conversation in `thread_names`; 0 for units that are not one message word for word.
        speakers: position of each turn's speaker in `speaker_names`; 0 likewise.
        metadata: each unit's row in `metadata_rows`.
        vocabulary: the distinct tag sets.
        thread_names: the distinct conversations of turns, the first one empty.
        speaker_names: the distinct speakers, the first one empty.
        metadata_rows: the distinct metadata; what later snapshots add to it is not of this one.
        gaps: as in `UnitColumns`.
    """

    ids: IntArray
    types: IntArray
    starts: IntArray
    ends: IntArray
    mentioned: IntArray
    closed: IntArray
    tokens: IntArray
    compact: IntArray
    heads: IntArray
    lasting: IntArray
    tag_sets: IntArray
    threads: IntArray
    speakers: IntArray
    metadata: IntArray
    vocabulary: tuple[frozenset[str], ...]
    thread_names: tuple[str, ...]
    speaker_names: tuple[str, ...]
    metadata_rows: MetadataRows
    gaps: IntArray = field(default_factory=no_gaps)

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

    @property
    def waiting(self) -> BoolArray:
        """Which of them are turns that wait for extraction, (n,)."""
        turns: BoolArray = (self.types >= WAITING) & (self.types < STORED)
        return turns

    def points(self) -> IntArray:
        """Each unit's point in time, microseconds: midpoint of its occurrence, else when it was mentioned."""
        return points_in_time(self.starts, self.ends, self.mentioned)


ARRAYS = (
    "ids",
    "types",
    "starts",
    "ends",
    "mentioned",
    "closed",
    "tokens",
    "compact",
    "heads",
    "lasting",
    "tag_sets",
    "threads",
    "speakers",
    "metadata",
)


def points_in_time(starts: IntArray, ends: IntArray, mentioned: IntArray) -> IntArray:
    """Midpoint of the occurrence interval, else mentioned_at; all in microseconds."""
    return np.where(starts == UNDATED, mentioned, starts // 2 + ends // 2)


def empty_columns() -> Columns:
    """The columns of a bank without units."""
    none = np.empty(0, np.int64)
    arrays = dict.fromkeys(ARRAYS, none)
    return Columns(
        **arrays, vocabulary=(), thread_names=("",), speaker_names=("",), metadata_rows=MetadataRows()
    )


@dataclass(frozen=True, slots=True)
class Codes:
    """Position of each distinct tag set, conversation, speaker and metadata; grows as new ones come."""

    tag_sets: dict[frozenset[str], int]
    threads: dict[str, int]
    speakers: dict[str, int]
    metadata: MetadataRows

    @classmethod
    def of(cls, columns: Columns) -> Codes:
        """Those of a snapshot."""
        return cls(
            _positions(columns.vocabulary),
            _positions(columns.thread_names),
            _positions(columns.speaker_names),
            columns.metadata_rows,
        )


def snapshot(arrays: Mapping[str, IntArray], codes: Codes, gaps: IntArray, before: Columns) -> Columns:
    """Columns of these arrays; names are an earlier snapshot's where none came to them."""
    return Columns(
        **arrays,
        vocabulary=_names(codes.tag_sets, before.vocabulary),
        thread_names=_names(codes.threads, before.thread_names),
        speaker_names=_names(codes.speakers, before.speaker_names),
        metadata_rows=codes.metadata,
        gaps=gaps,
    )


def _names(codes: Mapping[Code, int], before: tuple[Code, ...]) -> tuple[Code, ...]:
    return before if len(before) == len(codes) else tuple(codes)


def coded_arrays(changes: UnitColumns, codes: Codes) -> dict[str, IntArray]:
    """The changed rows' values for every column of ARRAYS."""
    coded = {
        "tag_sets": _coded([frozenset(tags) for tags in changes.tags], codes.tag_sets),
        "threads": _coded([thread for thread, _ in changes.turns], codes.threads),
        "speakers": _coded([speaker for _, speaker in changes.turns], codes.speakers),
        "metadata": np.array(codes.metadata.coded(changes.metadata), np.int64),
    }
    return coded | {name: getattr(changes, name) for name in ARRAYS if name not in coded}


def updated(columns: Columns, changes: UnitColumns, removed: IntArray) -> Columns:
    """A new snapshot with rows changed, added and removed, all of it made anew; `GrowingColumns` does what it can without."""
    if not len(changes.ids) and not len(removed):
        return columns
    codes = Codes.of(columns)
    given = coded_arrays(changes, codes)
    stale = np.isin(columns.ids, np.concatenate([changes.ids, removed]))
    fresh = ~np.isin(changes.ids, removed)
    merged = {name: np.concatenate([getattr(columns, name)[~stale], given[name][fresh]]) for name in ARRAYS}
    if (np.diff(merged["ids"]) < 0).any():  # new rows have higher ids; replaced ones break the order
        order = np.argsort(merged["ids"], kind="stable")
        merged = {name: array[order] for name, array in merged.items()}
    untouched = columns.gaps[~np.isin(columns.gaps[:, 0], np.concatenate([changes.ids, removed]))]
    gaps = np.concatenate([untouched, changes.gaps[~np.isin(changes.gaps[:, 0], removed)]])
    return snapshot(merged, codes, gaps, columns)


def _positions(values: Sequence[Code]) -> dict[Code, int]:
    return {value: code for code, value in enumerate(values)}


def _coded(values: Sequence[Code], codes: dict[Code, int]) -> IntArray:
    """Each value's position among the distinct ones, to which new ones are added."""
    return np.fromiter((codes.setdefault(value, len(codes)) for value in values), np.int64, len(values))


def of_types(columns: Columns, types: Sequence[FactType]) -> BoolArray:
    """Memories of the given networks."""
    return _of_codes(columns, types, 0)


def memories_and_items(columns: Columns, types: Sequence[FactType]) -> BoolArray:
    """Memories of the given networks, and items of their documents."""
    return _of_codes(columns, types, 0, IN_DOCUMENT)


def found_types(columns: Columns, types: Sequence[FactType]) -> BoolArray:
    """Units of the given networks, items of their documents, and turns that wait which would be of them word for word."""
    return _of_codes(columns, types, 0, WAITING, IN_DOCUMENT)


def _of_codes(columns: Columns, types: Sequence[FactType], *shifts: int) -> BoolArray:
    wanted = np.zeros(IN_DOCUMENT + len(FACT_TYPES), bool)
    wanted[[FACT_TYPES.index(fact_type) + shift for fact_type in types for shift in shifts]] = True
    return wanted[columns.types]


def mentioned_by(columns: Columns, moment: datetime) -> BoolArray:
    """Units mentioned no later than a moment, by the second as in `model.time.no_later`."""
    mentioned: BoolArray = columns.mentioned // SECOND <= to_micros(moment) // SECOND
    return mentioned


def valid_at(columns: Columns, as_of: datetime | None) -> BoolArray:
    """Units valid now, or at a moment of conversation time: mentioned by then and not yet closed.

    By the second, as in `model.time.no_later`. Nor was it valid between a closing and its restoring.
    """
    if as_of is None:
        current: BoolArray = columns.closed == NEVER
        return current
    moment = to_micros(as_of) // SECOND
    still_open: BoolArray = columns.closed // SECOND > moment
    rows, closed, restored = columns.gaps.T
    still_open[columns.positions(rows[(closed // SECOND <= moment) & (moment < restored // SECOND)])] = False
    return mentioned_by(columns, as_of) & still_open


def shown_at(columns: Columns, as_of: datetime | None, *, include_invalidated: bool) -> BoolArray:
    """Units valid now or at a moment; with `include_invalidated` all, of a moment all that had been mentioned by then."""
    if not include_invalidated:
        return valid_at(columns, as_of)
    return np.ones(len(columns), bool) if as_of is None else mentioned_by(columns, as_of)


def tagged(columns: Columns, tags: Sequence[str], match: TagsMatch) -> BoolArray:
    """Units the tags select; see `tags_select` for the truth table."""
    wanted = frozenset(tags)
    if not wanted and match != TagsMatch.EXACT:
        return np.ones(len(columns), bool)
    return _by_tag_set(columns, lambda own: tags_select(own, wanted, match))


def in_groups(columns: Columns, groups: Sequence[TagGroup]) -> BoolArray:
    """Units all the groups select; every unit where there is none."""
    if not groups:
        return np.ones(len(columns), bool)
    return _by_tag_set(columns, lambda own: all(group_selects(own, group) for group in groups))


def with_metadata(columns: Columns, condition: MetadataTest | None) -> BoolArray:
    """Units whose metadata a condition lets through; every unit where there is none."""
    if condition is None:
        return np.ones(len(columns), bool)
    return columns.metadata_rows.passing(condition)[columns.metadata]


def _by_tag_set(columns: Columns, selects: Callable[[frozenset[str]], bool]) -> BoolArray:
    """A condition on tags, worked out once for each distinct set of them."""
    passing = np.fromiter(map(selects, columns.vocabulary), bool, len(columns.vocabulary))
    return passing[columns.tag_sets] if len(columns) else np.zeros(0, bool)


def tags_select(own: frozenset[str], wanted: frozenset[str], match: TagsMatch) -> bool:
    """Whether a unit with tags `own` passes a filter for `wanted` as `TagsMatch` says."""
    if match == TagsMatch.EXACT:
        return own == wanted
    if not own:
        return match in (TagsMatch.ANY, TagsMatch.ALL)
    return wanted <= own if match in (TagsMatch.ALL, TagsMatch.ALL_STRICT) else bool(own & wanted)


def group_selects(own: frozenset[str], group: TagGroup) -> bool:
    """Whether a unit with tags `own` passes a boolean condition on tags."""
    if isinstance(group, TagLeaf):
        return tags_select(own, frozenset(group.tags), group.match)
    if isinstance(group, TagNot):
        return not group_selects(own, group.group)
    combine = all if isinstance(group, TagAnd) else any
    return combine(group_selects(own, part) for part in group.groups)
