"""A bank's vectors in a memory-mapped file: kills, damage, a full disk, and erasure."""

from __future__ import annotations

import errno
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from vectors import nearest, unit_vectors

from hindsight_integrations.errors import IndexOutOfStep
from hindsight_integrations.indexes import exact as vector_file
from hindsight_integrations.indexes.exact import FOLDER, MappedVectorIndex, MappedVectors
from hindsight_integrations.model.arrays import IntArray, Matrix
from hindsight_integrations.model.watermark import Watermark

DIMENSION = 16
VECTORS = unit_vectors(60, DIMENSION)
IDS = np.arange(60, dtype=np.int64)


def mark(revision: int) -> Watermark:
    return Watermark("ab", 1, revision, "cd")


def opened(data: Path, *, tail_rows: int = 1) -> MappedVectorIndex:
    return MappedVectors(data).open("abc", bank="diary", tail_rows=tail_rows)


def filled(data: Path, count: int = 40) -> MappedVectorIndex:
    """An index with its vectors in the file, at revision 1."""
    index = opened(data)
    index.upsert(IDS[:count], VECTORS[:count])
    index.advance(mark(1))
    return index


def files(data: Path) -> list[Path]:
    return sorted((data / FOLDER).iterdir())


def holding(data: Path, rows: IntArray | list[int]) -> list[str]:
    """Return the files that contain any of these vectors."""
    needles = [VECTORS[row].tobytes() for row in rows]
    return [path.name for path in files(data) if any(needle in path.read_bytes() for needle in needles)]


def assert_answers(index: MappedVectorIndex, ids: IntArray, vectors: Matrix) -> None:
    """Check that every search equals brute force."""
    assert index.count() == len(ids)
    for query in VECTORS[::7]:
        right = nearest(ids, vectors, query, 5)
        assert index.search(query[None], 5)[0].ids.tolist() == right.ids.tolist()
        assert index.search_among(query, IDS, 5).ids.tolist() == right.ids.tolist()
        np.testing.assert_allclose(index.similarities(query, ids), vectors @ query, atol=1e-5)


def test_what_was_removed_is_in_no_file(tmp_path: Path) -> None:
    """A removed vector is in no file once the removal is recorded."""
    index = filled(tmp_path)
    assert holding(tmp_path, [5])
    index.remove(np.array([5, 6]))
    index.advance(mark(2))
    assert holding(tmp_path, [5, 6]) == []
    kept = np.delete(IDS[:40], [5, 6])
    assert_answers(index, kept, VECTORS[kept])
    again = opened(tmp_path)
    assert again.watermark == mark(2)
    assert_answers(again, kept, VECTORS[kept])


def test_on_windows_no_file_is_mapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows does not delete a mapped file, so vectors are read, and a removed one is in no file either."""

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a file was mapped")

    monkeypatch.setattr(vector_file, "MAPS_FILES", False)
    monkeypatch.setattr(np, "memmap", refuse)
    test_what_was_removed_is_in_no_file(tmp_path)


def test_the_last_removal_leaves_no_file(tmp_path: Path) -> None:
    """Removing the last vector removes the file; the bank can be filled again."""
    index = filled(tmp_path)
    index.remove(IDS)
    index.advance(mark(2))
    assert files(tmp_path) == []
    index.upsert(IDS[:3], VECTORS[:3])
    index.advance(mark(3))
    assert_answers(opened(tmp_path), IDS[:3], VECTORS[:3])


def test_what_was_replaced_leaves_the_file_when_it_is_written(tmp_path: Path) -> None:
    """A replaced vector is found immediately by its new value, before and after the file is written."""
    index = filled(tmp_path)
    vectors = VECTORS[:40].copy()
    vectors[3:6] = VECTORS[55:58]
    index.upsert(IDS[3:6], VECTORS[55:58])
    assert_answers(index, IDS[:40], vectors)
    index.advance(mark(2))
    assert holding(tmp_path, [3, 4, 5]) == []
    assert_answers(opened(tmp_path), IDS[:40], vectors)


def test_a_running_search_sees_what_it_began_on(tmp_path: Path) -> None:
    """A running search is not affected when the file grows, is rewritten or deleted."""
    index = filled(tmp_path)
    seen = index._held.stored
    index.upsert(IDS[40:], VECTORS[40:])
    index.advance(mark(2))
    index.remove(IDS[:10])
    index.advance(mark(3))
    index.discard()
    assert seen.ids.tolist() == IDS[:40].tolist()
    np.testing.assert_array_equal(seen.matrix, VECTORS[:40])


def test_few_vectors_wait_in_memory(tmp_path: Path) -> None:
    """A turn's vectors are searchable without writing the file, and the durable watermark shows it."""
    filled(tmp_path)
    index = opened(tmp_path, tail_rows=10)
    index.upsert(IDS[40:45], VECTORS[40:45])
    index.advance(mark(2))
    assert_answers(index, IDS[:45], VECTORS[:45])
    assert index.watermark == mark(2)
    assert holding(tmp_path, [40]) == []
    assert opened(tmp_path).watermark == mark(1)


def test_a_bank_filled_at_one_go_is_not_held_in_memory(tmp_path: Path) -> None:
    """During a large replay, most of it is written to the file before it is recorded; after a kill it starts again."""
    index = opened(tmp_path, tail_rows=10)
    for start in range(0, 60, 6):
        index.upsert(IDS[start : start + 6], VECTORS[start : start + 6])
        assert len(index._held.tail) < 12
    killed = opened(tmp_path)
    assert (killed.watermark, killed.count(), files(tmp_path)) == (None, 0, [])


def test_a_kill_between_the_rows_and_their_record(tmp_path: Path) -> None:
    """Rows written but not recorded are cut off when the file is opened."""
    filled(tmp_path)
    record = tmp_path / FOLDER / "abc.json"
    before = record.read_bytes()
    index = opened(tmp_path)
    index.upsert(IDS[40:], VECTORS[40:])
    index.advance(mark(2))
    index.close()
    record.write_bytes(before)
    assert holding(tmp_path, [50])
    again = opened(tmp_path)
    assert again.watermark == mark(1)
    assert holding(tmp_path, IDS[40:]) == []
    assert_answers(again, IDS[:40], VECTORS[:40])


def test_a_kill_while_the_file_is_written_again(tmp_path: Path) -> None:
    """Files from before a rewrite, or of one that was never recorded, are deleted when the bank is opened."""
    index = filled(tmp_path)
    old = {path: path.read_bytes() for path in files(tmp_path)}
    index.remove(IDS[:5])
    index.advance(mark(2))
    for path, held in old.items():
        if path.suffix != ".json":
            path.write_bytes(held)
    assert holding(tmp_path, [2])
    assert_answers(opened(tmp_path), IDS[5:40], VECTORS[5:40])
    assert holding(tmp_path, [2]) == []


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "abc.1.vectors").unlink(),
        lambda folder: (folder / "abc.1.ids").unlink(),
        lambda folder: (folder / "abc.1.vectors").write_bytes(b"short"),
        lambda folder: (folder / "abc.1.vectors").write_bytes(bytes(40 * DIMENSION * 4)),
        lambda folder: (folder / "abc.1.ids").write_bytes(bytes(40 * 8)),
        lambda folder: (folder / "abc.json").write_text("{"),
        lambda folder: (folder / "abc.json").write_text("[]"),
        lambda folder: (folder / "abc.json").write_text('{"mark": "", "rows": 1e99}'),
        lambda folder: (folder / "abc.json").write_text(
            (folder / "abc.json").read_text().replace('"rows": 40', f'"rows": {10**30}')
        ),
        lambda folder: (folder / "abc.json").write_text(
            (folder / "abc.json").read_text().replace('"dimension": 16', '"dimension": "x"')
        ),
        lambda folder: (folder / "abc.json").write_bytes(b"\xff\x00"),
    ],
)
def test_damage_is_known_and_the_bank_starts_over(tmp_path: Path, damage: Any) -> None:
    """Damaged files are dropped, and the vectors are restored from the ledger."""
    filled(tmp_path).close()
    damage(tmp_path / FOLDER)
    index = opened(tmp_path)
    assert (index.watermark, index.count(), files(tmp_path)) == (None, 0, [])
    index.upsert(IDS[:20], VECTORS[:20])
    index.advance(mark(1))
    assert_answers(opened(tmp_path), IDS[:20], VECTORS[:20])


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """If not empty, half of the next write succeeds, and then the disk is full."""
    full: list[bool] = []
    written = vector_file._write

    def write(path: Path, arrays: Iterable[Any], mode: str, *, at: int = 0) -> int:
        size = written(path, arrays, mode, at=at)
        if full and path.suffix == ".vectors":
            with path.open("r+b") as file:
                file.truncate((at + size) // 2)
            raise OSError(errno.ENOSPC, "No space left on device")
        return size

    monkeypatch.setattr(vector_file, "_write", write)
    return full


def test_a_full_disk_costs_no_answer(tmp_path: Path, full_disk: list[bool]) -> None:
    """Vectors that cannot be written are still found, and written once there is space."""
    index = filled(tmp_path)
    full_disk.append(True)
    index.upsert(IDS[40:], VECTORS[40:])
    index.advance(mark(2))
    assert_answers(index, IDS, VECTORS)
    assert_answers(opened(tmp_path), IDS[:40], VECTORS[:40])
    full_disk.clear()
    index.advance(mark(3))
    again = opened(tmp_path)
    assert again.watermark == mark(3)
    assert_answers(again, IDS, VECTORS)


def test_an_erasure_on_a_full_disk_deletes_the_file(tmp_path: Path, full_disk: list[bool]) -> None:
    """If the file cannot be rewritten for an erasure, it is deleted, and searches continue."""
    index = filled(tmp_path)
    full_disk.append(True)
    index.remove(IDS[:5])
    index.advance(mark(2))
    assert files(tmp_path) == []
    assert_answers(index, IDS[5:40], VECTORS[5:40])
    full_disk.clear()
    index.upsert(IDS[40:50], VECTORS[40:50])
    index.advance(mark(3))
    assert_answers(index, IDS[5:50], VECTORS[5:50])
    assert_answers(opened(tmp_path), IDS[5:50], VECTORS[5:50])


def test_files_deleted_under_an_open_bank_come_back(tmp_path: Path) -> None:
    """Deleting the files of an open bank loses nothing."""
    index = filled(tmp_path)
    for path in files(tmp_path):
        path.unlink()
    for revision in (2, 3):  # the first write detects it, the second creates the files again
        index.upsert(IDS[38 + revision :][:1], VECTORS[38 + revision :][:1])
        index.advance(mark(revision))
    assert_answers(index, IDS[:42], VECTORS[:42])
    assert_answers(opened(tmp_path), IDS[:42], VECTORS[:42])


def test_another_dimension_is_refused(tmp_path: Path) -> None:
    """Vectors with another dimension are rejected, and the index is unchanged."""
    index = filled(tmp_path)
    with pytest.raises(IndexOutOfStep, match=r"'diary'.*16 dimensions, the new ones 8"):
        index.upsert(IDS[:2], unit_vectors(2, 8))
    assert_answers(index, IDS[:40], VECTORS[:40])


def test_two_banks_share_a_folder(tmp_path: Path) -> None:
    """Clearing a bank keeps the files of another whose key has the same prefix."""
    index = filled(tmp_path)
    other = MappedVectors(tmp_path).open("abcd", tail_rows=1)
    other.upsert(IDS[:9], VECTORS[:9])
    other.advance(mark(1))
    index.discard()
    assert_answers(MappedVectors(tmp_path).open("abcd"), IDS[:9], VECTORS[:9])
