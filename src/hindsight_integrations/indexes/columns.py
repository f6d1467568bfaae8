"""Columns: filterable attributes of a bank's units as numpy arrays, and the masks that recall applies before any limit."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from hindsight_integrations.ledger.values import ItemUnits, UnitColumns
from hindsight_integrations.model.arrays import (
    IN_DOCUMENT,
    NEVER,
    STORED,
    UNDATED,
    WAITING,
    BoolArray,
    IntArray,
    no_gaps,
)
from hindsight_integrations.model.items import Namespace
from hindsight_integrations.model.metadata import (
    MetadataCondition,
    MetadataFilter,
    MetadataTest,
    MetadataValue,
    value_test,
)
from hindsight_integrations.model.requests import TagAnd, TagGroup, TagLeaf, TagNot, TagsMatch
from hindsight_integrations.model.time import SECOND, to_micros
from hindsight_integrations.model.units import FactType


def _nothing() -> IntArray:
    return np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class ItemColumns:
    """An immutable snapshot of the units that are texts of stored items; every array has length n.

    Attributes:
        units: row ids, ascending.
        items: row id of each text's item.
        codes: position of the item's namespace in `namespaces`.
        namespaces: the distinct namespaces. Later snapshots share this list and may append to it.
        positions: position of each namespace in `namespaces`; shared in the same way.
    """

    units: IntArray = field(default_factory=_nothing)
    items: IntArray = field(default_factory=_nothing)
    codes: IntArray = field(default_factory=_nothing)
    namespaces: list[Namespace] = field(default_factory=list)
    positions: dict[Namespace, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.units)

    def changed(self, new: ItemUnits, removed: IntArray) -> ItemColumns:
        """Return the next snapshot, with units removed and new ones appended."""
        if not len(new.units) and not (len(self) and len(removed)):
            return self
        keep = ~np.isin(self.units, removed)
        codes = np.fromiter(map(self._code, new.namespaces), np.int64, len(new.namespaces))
        return ItemColumns(
            units=np.concatenate([self.units[keep], new.units]),
            items=np.concatenate([self.items[keep], new.items]),
            codes=np.concatenate([self.codes[keep], codes]),
            namespaces=self.namespaces,
            positions=self.positions,
        )

    def under(self, prefix: Namespace) -> tuple[IntArray, IntArray]:
        """Return the units, and the item of each, whose namespace starts with a prefix."""
        if not prefix:
            return self.units, self.items
        labels = len(prefix)
        inside = np.array([namespace[:labels] == prefix for namespace in self.namespaces], bool)
        chosen = inside[self.codes] if len(self) else np.empty(0, bool)
        return self.units[chosen], self.items[chosen]

    def _code(self, namespace: Namespace) -> int:
        code = self.positions.setdefault(namespace, len(self.namespaces))
        if code == len(self.namespaces):
            self.namespaces.append(namespace)
        return code


def items_in_order(units: IntArray, of: tuple[IntArray, IntArray]) -> IntArray:
    """Map units to their items, in the units' order, without duplicates; units without an item are left out.

    `of` has row ids of units, ascending, and the item of each.
    """
    known, items = of
    if not len(known) or not len(units):
        return _nothing()
    at = np.minimum(np.searchsorted(known, units), len(known) - 1)
    matching = items[at[known[at] == units]]
    _, first = np.unique(matching, return_index=True)
    ordered: IntArray = matching[np.sort(first)]
    return ordered


# Number of latest rows and pairs in the lookup tables; repeated metadata usually recur within that many.
REMEMBERED = 4_096

Codes32 = npt.NDArray[np.int32]


class _Growing:
    """An append-only array of integers; slices that were read earlier stay unchanged."""

    __slots__ = ("_buffer", "_used")

    def __init__(self) -> None:
        self._buffer: Codes32 = np.empty(0, np.int32)
        self._used = 0

    def __len__(self) -> int:
        return self._used

    def append(self, values: Sequence[int]) -> None:
        total = self._used + len(values)
        if total > len(self._buffer):
            grown = np.empty(max(total, int(1.25 * self._used), 64), np.int32)
            grown[: self._used] = self._buffer[: self._used]
            self._buffer = grown
        self._buffer[self._used : total] = values
        self._used = total

    def array(self) -> Codes32:
        """The current content. The length is read first, because another thread may append."""
        used = self._used
        return self._buffer[:used]


class MetadataRows:
    """Distinct metadata by row number; row 0 is empty. Append-only and shared by snapshots: one writer, many readers.

    Only repetitions of the last REMEMBERED rows and pairs are recognised, which bounds the lookup tables.
    """

    def __init__(self) -> None:
        self._keys: dict[str, int] = {}
        self._values: list[MetadataValue] = []
        self._pair_keys, self._pairs, self._ends = _Growing(), _Growing(), _Growing()
        self._known_rows: dict[str, int] = {}
        self._known_pairs: dict[tuple[int, str], int] = {}
        self._ends.append([0])

    def __len__(self) -> int:
        return len(self._ends)

    def coded(self, written: Iterable[str]) -> list[int]:
        """Return the row number of each metadata, given as JSON; empty text means none.

        Anything but a JSON object counts as empty: it comes from a damaged memory, which is reported when it is read.
        """
        return [self._row(text) if text else 0 for text in written]

    def _row(self, text: str) -> int:
        if (row := self._known_rows.get(text)) is not None:
            return row
        try:
            metadata = json.loads(text)
        except ValueError:
            metadata = None
        row = 0
        if isinstance(metadata, dict) and metadata:
            self._pairs.append([self._pair(key, value) for key, value in metadata.items()])
            self._ends.append([len(self._pairs)])
            row = len(self._ends) - 1
        if len(self._known_rows) >= REMEMBERED:
            self._known_rows.clear()
        self._known_rows[text] = row
        return row

    def _pair(self, key: str, value: Any) -> int:  # noqa: ANN401 - any JSON value
        name = self._keys.setdefault(key, len(self._keys))
        known = (name, repr(value))  # repr distinguishes 1, 1.0, "1" and True
        if (pair := self._known_pairs.get(known)) is not None:
            return pair
        self._values.append(value)
        self._pair_keys.append([name])
        if len(self._known_pairs) >= REMEMBERED:
            self._known_pairs.clear()
        self._known_pairs[known] = len(self._values) - 1
        return len(self._values) - 1

    def passing(self, condition: MetadataTest) -> BoolArray:
        """Return a mask of the rows that match a condition, (rows,)."""
        return self._passing(condition, self._ends.array())

    def _passing(self, condition: MetadataTest, ends: Codes32) -> BoolArray:
        if isinstance(condition, MetadataFilter):
            return self._passing_filter(condition, ends)
        parts = [self._passing(part, ends) for part in condition.filters]
        if not parts or condition.condition == MetadataCondition.AND:
            return np.logical_and.reduce(parts, axis=0) if parts else np.ones(len(ends), bool)
        anywhere: BoolArray = np.logical_or.reduce(parts, axis=0)
        return anywhere if condition.condition == MetadataCondition.OR else ~anywhere

    def _passing_filter(self, wanted: MetadataFilter, ends: Codes32) -> BoolArray:
        test = value_test(wanted)
        without_key = test(None)
        passed = np.full(len(ends), without_key)
        name = self._keys.get(wanted.key)
        if name is None:
            return passed
        pairs, pair_keys = self._pairs.array()[: ends[-1]], self._pair_keys.array()
        of_key = np.flatnonzero(pair_keys == name)
        verdicts = np.zeros(len(pair_keys), np.int8)
        verdicts[of_key] = [1 + test(self._values[pair]) for pair in of_key.tolist()]
        results = verdicts[pairs]
        at = np.flatnonzero(results)
        passed[np.searchsorted(ends, at, side="right")] = results[at] == 2
        return passed


Code = TypeVar("Code", bound=Hashable)

FACT_TYPES = list(FactType)


@dataclass(frozen=True, slots=True)
class Columns:
    """An immutable snapshot of a bank's units, ordered by row id; every array has length n.

    Attributes:
        ids, types, starts, ends, mentioned, closed, tokens, compact, heads, lasting: as in `UnitColumns`;
            turns waiting for extraction, items of documents and texts of stored items have separate type
            codes, of which `found_types` selects the first two.
        tag_sets: position of each unit's tag set in `vocabulary`.
        threads: position of each turn's thread in `thread_names`; 0 for units that are not verbatim turns.
        speakers: position of each turn's speaker in `speaker_names`; 0 for units that are not verbatim turns.
        metadata: row of each unit's metadata in `metadata_rows`.
        vocabulary: the distinct tag sets.
        thread_names: the distinct threads of turns; the first one is empty.
        speaker_names: the distinct speakers; the first one is empty.
        metadata_rows: the distinct metadata. Later snapshots share this table and may append to it.
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
        """Return the position of each id, (n,); -1 for unknown ids."""
        if not len(self.ids):
            return np.full(len(ids), -1, np.int64)
        at = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        return np.where(self.ids[at] == ids, at, -1)

    def allowed(self, ids: IntArray, mask: BoolArray) -> BoolArray:
        """Return a mask of the ids that are known and selected by a mask over positions."""
        at = self.positions(ids)
        if not len(mask):
            return np.zeros(len(ids), bool)
        inside: BoolArray = (at >= 0) & mask[at]
        return inside

    @property
    def waiting(self) -> BoolArray:
        """Mask of the turns waiting for extraction, (n,)."""
        turns: BoolArray = (self.types >= WAITING) & (self.types < STORED)
        return turns

    def points(self) -> IntArray:
        """Return each unit's point in time in microseconds: the midpoint of its occurrence, else its mention."""
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
    """Return the midpoint of the occurrence interval, else mentioned_at; all in microseconds."""
    return np.where(starts == UNDATED, mentioned, starts // 2 + ends // 2)


def empty_columns() -> Columns:
    """Return the columns of a bank without units."""
    none = np.empty(0, np.int64)
    arrays = dict.fromkeys(ARRAYS, none)
    return Columns(
        **arrays, vocabulary=(), thread_names=("",), speaker_names=("",), metadata_rows=MetadataRows()
    )


@dataclass(frozen=True, slots=True)
class Codes:
    """Codes of the distinct tag sets, threads, speakers and metadata; new ones are added as they occur."""

    tag_sets: dict[frozenset[str], int]
    threads: dict[str, int]
    speakers: dict[str, int]
    metadata: MetadataRows

    @classmethod
    def of(cls, columns: Columns) -> Codes:
        """Return the codes of a snapshot."""
        return cls(
            _positions(columns.vocabulary),
            _positions(columns.thread_names),
            _positions(columns.speaker_names),
            columns.metadata_rows,
        )


def snapshot(arrays: Mapping[str, IntArray], codes: Codes, gaps: IntArray, before: Columns) -> Columns:
    """Build columns from arrays; unchanged lists of names are shared with the earlier snapshot."""
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
    """Return the values of the changed rows, by column of ARRAYS."""
    coded = {
        "tag_sets": _coded([frozenset(tags) for tags in changes.tags], codes.tag_sets),
        "threads": _coded([thread for thread, _ in changes.turns], codes.threads),
        "speakers": _coded([speaker for _, speaker in changes.turns], codes.speakers),
        "metadata": np.array(codes.metadata.coded(changes.metadata), np.int64),
    }
    return coded | {name: getattr(changes, name) for name in ARRAYS if name not in coded}


def updated(columns: Columns, changes: UnitColumns, removed: IntArray) -> Columns:
    """Build a new snapshot with rows changed, added and removed, by copying; `GrowingColumns` avoids copies."""
    if not len(changes.ids) and not len(removed):
        return columns
    codes = Codes.of(columns)
    coded = coded_arrays(changes, codes)
    stale = np.isin(columns.ids, np.concatenate([changes.ids, removed]))
    fresh = ~np.isin(changes.ids, removed)
    merged = {name: np.concatenate([getattr(columns, name)[~stale], coded[name][fresh]]) for name in ARRAYS}
    if (np.diff(merged["ids"]) < 0).any():  # new rows have higher ids, but replaced rows are out of order
        order = np.argsort(merged["ids"], kind="stable")
        merged = {name: array[order] for name, array in merged.items()}
    untouched = columns.gaps[~np.isin(columns.gaps[:, 0], np.concatenate([changes.ids, removed]))]
    gaps = np.concatenate([untouched, changes.gaps[~np.isin(changes.gaps[:, 0], removed)]])
    return snapshot(merged, codes, gaps, columns)


def _positions(values: Sequence[Code]) -> dict[Code, int]:
    return {value: code for code, value in enumerate(values)}


def _coded(values: Sequence[Code], codes: dict[Code, int]) -> IntArray:
    """Return the code of each value, adding codes for new values."""
    return np.fromiter((codes.setdefault(value, len(codes)) for value in values), np.int64, len(values))


def of_types(columns: Columns, types: Sequence[FactType]) -> BoolArray:
    """Return a mask of the memories in the given networks."""
    return _of_codes(columns, types, 0)


def memories_and_items(columns: Columns, types: Sequence[FactType]) -> BoolArray:
    """Return a mask of the memories in the given networks, and of the items of their documents."""
    return _of_codes(columns, types, 0, IN_DOCUMENT)


def found_types(columns: Columns, types: Sequence[FactType]) -> BoolArray:
    """Return a mask of the memories, document items and waiting turns whose fact type is among the given ones."""
    return _of_codes(columns, types, 0, WAITING, IN_DOCUMENT)


def _of_codes(columns: Columns, types: Sequence[FactType], *shifts: int) -> BoolArray:
    wanted = np.zeros(IN_DOCUMENT + len(FACT_TYPES), bool)
    wanted[[FACT_TYPES.index(fact_type) + shift for fact_type in types for shift in shifts]] = True
    return wanted[columns.types]


def mentioned_by(columns: Columns, moment: datetime) -> BoolArray:
    """Return a mask of the units mentioned no later than a moment, compared by seconds as in `model.time.no_later`."""
    mentioned: BoolArray = columns.mentioned // SECOND <= to_micros(moment) // SECOND
    return mentioned


def valid_at(columns: Columns, as_of: datetime | None) -> BoolArray:
    """Return a mask of the units valid now, or at a moment of conversation time: mentioned by then and not yet closed.

    Times are compared by seconds, as in `model.time.no_later`. A unit is also invalid between a closing and a
    later restoration.
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
    """Return a mask of the units valid now or at a moment; with `include_invalidated`, of all mentioned by then."""
    if not include_invalidated:
        return valid_at(columns, as_of)
    return np.ones(len(columns), bool) if as_of is None else mentioned_by(columns, as_of)


def tagged(columns: Columns, tags: Sequence[str], match: TagsMatch) -> BoolArray:
    """Return a mask of the units that the tags select; see `tags_select`."""
    wanted = frozenset(tags)
    if not wanted and match != TagsMatch.EXACT:
        return np.ones(len(columns), bool)
    return _by_tag_set(columns, lambda own: tags_select(own, wanted, match))


def in_groups(columns: Columns, groups: Sequence[TagGroup]) -> BoolArray:
    """Return a mask of the units that all groups select; of all units if there are no groups."""
    if not groups:
        return np.ones(len(columns), bool)
    return _by_tag_set(columns, lambda own: all(group_selects(own, group) for group in groups))


def with_metadata(columns: Columns, condition: MetadataTest | None) -> BoolArray:
    """Return a mask of the units whose metadata match a condition; of all units if there is no condition."""
    if condition is None:
        return np.ones(len(columns), bool)
    return columns.metadata_rows.passing(condition)[columns.metadata]


def _by_tag_set(columns: Columns, selects: Callable[[frozenset[str]], bool]) -> BoolArray:
    """Return a mask of the units whose tags match a condition, which is evaluated once for each distinct tag set."""
    passing = np.fromiter(map(selects, columns.vocabulary), bool, len(columns.vocabulary))
    return passing[columns.tag_sets] if len(columns) else np.zeros(0, bool)


def tags_select(own: frozenset[str], wanted: frozenset[str], match: TagsMatch) -> bool:
    """Return whether a unit with tags `own` matches a filter for `wanted`, by the rules of `TagsMatch`."""
    if match == TagsMatch.EXACT:
        return own == wanted
    if not own:
        return match in (TagsMatch.ANY, TagsMatch.ALL)
    return wanted <= own if match in (TagsMatch.ALL, TagsMatch.ALL_STRICT) else bool(own & wanted)


def group_selects(own: frozenset[str], group: TagGroup) -> bool:
    """Return whether a unit with tags `own` matches a boolean condition on tags."""
    if isinstance(group, TagLeaf):
        return tags_select(own, frozenset(group.tags), group.match)
    if isinstance(group, TagNot):
        return not group_selects(own, group.group)
    combine = all if isinstance(group, TagAnd) else any
    return combine(group_selects(own, part) for part in group.groups)
