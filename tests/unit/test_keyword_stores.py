"""Lucene and FTS5 keyword indexes beyond the contract: repair, eviction, erasure, agreement."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from builders import make_mark
from keyword_index_contract import CORPUS, fill, found, int_ids
from table import every_row

from hindsight_integrations.errors import EngineClosed, IndexOutOfStep
from hindsight_integrations.indexes.fts5 import Fts5Keywords, query_words
from hindsight_integrations.indexes.lucene import LuceneKeywords
from hindsight_integrations.indexes.store_pool import MAX_QUERY_TERMS, KeywordStores

BACKENDS: list[Callable[..., KeywordStores]] = [LuceneKeywords, Fts5Keywords]


@pytest.fixture(params=BACKENDS, ids=["lucene", "fts5"])
def backend(request: pytest.FixtureRequest) -> Callable[..., KeywordStores]:
    chosen: Callable[..., KeywordStores] = request.param
    return chosen


@pytest.fixture
def stores(backend: Callable[..., KeywordStores], tmp_path: Path) -> Iterator[KeywordStores]:
    stores = backend(tmp_path, open_stores=2)
    yield stores
    stores.close()


def index_files(folder: Path) -> list[Path]:
    """Return the index's files, without Lucene's lock."""
    return [path for path in folder.rglob("*") if path.is_file() and path.name != "write.lock"]


def spoil(folder: Path) -> None:
    """Overwrite every index file with noise, as a failing disk would."""
    for path in index_files(folder):
        path.write_bytes(b"\x5a" * max(path.stat().st_size, 64))


def test_broken_index_says_so_and_can_be_cleared(
    backend: Callable[..., KeywordStores], tmp_path: Path
) -> None:
    """Corrupt files raise an error that names the bank, and `clear` makes the index usable again."""
    stores = backend(tmp_path)
    fill(stores.open("bank"), CORPUS, 5)
    stores.close()
    spoil(tmp_path)
    stores = backend(tmp_path)
    index = stores.open("bank")
    for use in (lambda: index.watermark, lambda: index.search("quartz", 1), index.count):
        with pytest.raises(IndexOutOfStep, match="'bank'"):
            use()
    index.clear()
    assert (index.watermark, index.count()) == (None, 0)
    fill(index, CORPUS, 6)
    assert (index.watermark, found(index, "quartz")) == (make_mark(6), [5])
    stores.close()


def test_lucene_index_missing_a_file_can_be_cleared(tmp_path: Path) -> None:
    """A missing segment file is reported, leaves no lock, and can be cleared."""
    stores = LuceneKeywords(tmp_path)
    fill(stores.open("bank"), CORPUS, 5)
    stores.close()
    next((tmp_path / "lucene" / "bank").glob("_*")).unlink()
    stores = LuceneKeywords(tmp_path)
    index = stores.open("bank")
    with pytest.raises(IndexOutOfStep):
        index.search("quartz", 1)
    index.clear()
    fill(index, CORPUS, 6)
    assert found(index, "quartz") == [5]
    stores.close()


def test_broken_bank_leaves_the_others_alone(stores: KeywordStores, tmp_path: Path) -> None:
    """Corrupt files of one bank do not affect other banks."""
    fill(stores.open("good"), CORPUS)
    bad = stores.open("bad")
    fill(bad, CORPUS)
    bad.close()
    for path in (path for path in index_files(tmp_path) if "bad" in str(path)):
        path.write_bytes(b"\x5a" * 100)
    with pytest.raises(IndexOutOfStep):
        stores.open("bad").count()
    assert found(stores.open("good"), "quartz") == [5]


def test_more_banks_than_open_files(stores: KeywordStores) -> None:
    """More banks than open stores all answer, and lose nothing."""
    banks = {f"bank{number}": stores.open(f"bank{number}") for number in range(6)}
    for revision in (1, 2):
        for number, index in enumerate(banks.values()):
            fill(index, {10 * number + revision: f"indigo garden {revision}"}, revision)
    assert len(stores._stores) == 2
    for number, index in enumerate(banks.values()):
        assert (index.watermark, index.count()) == (make_mark(2), 2)
        assert found(index, "indigo") == [10 * number + 1, 10 * number + 2]


def test_eviction_between_write_and_advance_loses_nothing(stores: KeywordStores) -> None:
    """Banks evicted between write and `advance` lose nothing."""
    banks = [stores.open(f"bank{number}") for number in range(5)]
    for index in banks:
        index.upsert(int_ids(1), ["indigo garden"])
    for index in banks:
        index.advance(make_mark(3))
    assert [(index.watermark, found(index, "indigo")) for index in banks] == [(make_mark(3), [1])] * 5


def test_error_never_lets_the_watermark_run_ahead(stores: KeywordStores) -> None:
    """After an error that loses unrecorded changes, the index rejects `advance` until it is reopened."""
    index = stores.open("bank")
    fill(index, CORPUS, 5)
    index.upsert(int_ids(9), ["indigo garden"])
    with pytest.raises(IndexOutOfStep, match="disk on fire"):
        stores.use("bank", lambda _: broken_disk())
    with pytest.raises(IndexOutOfStep, match="were lost"):
        index.advance(make_mark(6))
    again = stores.open("bank")
    assert (again.watermark, found(again, "indigo")) == (make_mark(5), [])


def broken_disk() -> None:
    raise OSError("disk on fire")


def test_forgotten_words_leave_the_files(stores: KeywordStores, tmp_path: Path) -> None:
    """Words of an erased memory are not in the index files."""
    index = stores.open("bank")
    fill(index, {**CORPUS, 9: "zyxwvsecretbox indigo"}, 1)
    assert any(b"zyxwvsecretbox" in path.read_bytes() for path in index_files(tmp_path))
    index.remove(int_ids(9))
    index.advance(make_mark(2))
    assert not any(b"zyxwvsecret" in path.read_bytes() for path in index_files(tmp_path))


def test_words_that_a_killed_process_did_not_commit_leave_the_files(tmp_path: Path) -> None:
    """FTS5's log of a killed process may contain texts that the ledger has forgotten since; opening the index removes them."""
    stores = Fts5Keywords(tmp_path / "killed")
    texts = [
        "quetzalcoatl",
        *(f"filler {number} " * 300 for number in range(2_000)),
    ]  # more than SQLite's cache
    stores.open("bank").upsert(int_ids(*range(1, len(texts) + 1)), texts)
    shutil.copytree(
        tmp_path / "killed", tmp_path / "left"
    )  # the content of the disk if the process is killed now
    stores.close()
    left = index_files(tmp_path / "left")
    assert any(b"quetzalcoatl" in path.read_bytes() for path in left)
    stores = Fts5Keywords(tmp_path / "left")
    assert stores.open("bank").count() == 0
    assert not any(b"quetzalcoatl" in path.read_bytes() for path in left if path.exists())
    stores.close()


def test_both_backends_agree_on_the_best_match(tmp_path: Path) -> None:
    """Lucene and FTS5 rank the same memory first for plain words."""
    questions = (
        "red kite",
        "lantern market",
        "violin",
        "quartz tower",
        "winter stall",
        "garden",
        "silver ticket",
    )
    answers = []
    for make in BACKENDS:
        stores = make(tmp_path)
        index = stores.open("bank")
        fill(index, CORPUS)
        answers.append([found(index, question, 1) for question in questions])
        stores.close()
    assert answers[0] == answers[1] == [[1], [2], [3], [5], [6], [7], [8]]


@every_row("question", ["Alice's teapot", "teapots", "Alice\u2019s", "the teapot of Alice"])
def test_word_forms_are_matched(stores: KeywordStores, question: str) -> None:
    """Plurals and possessives find the base form."""
    fill(stores.open("bank"), {**CORPUS, 9: "Alice bought one teapot for Bob"})
    assert found(stores.open("bank"), question, 1) == [9]


def test_query_words_are_capped_and_distinct() -> None:
    """FTS5 queries have a bounded number of distinct words, without stop words."""
    assert query_words("The cat's cat, and THE dog") == ["cat", "dog"]
    assert len(query_words(" ".join(f"w{number}" for number in range(5000)))) == MAX_QUERY_TERMS


def test_closed_engine_and_closed_bank_refuse(stores: KeywordStores) -> None:
    """Use after close is a clear error, and closing twice is fine."""
    bank, other = stores.open("bank"), stores.open("other")
    fill(bank, CORPUS)
    bank.close()
    with pytest.raises(EngineClosed):
        bank.search("quartz", 1)
    stores.close()
    stores.close()
    for use in (
        other.count,
        other.clear,
        lambda: other.search("quartz", 1),
        lambda: other.advance(make_mark(1)),
    ):
        with pytest.raises(EngineClosed):
            use()


def test_lucene_files_others_wrote_to_are_not_searched(tmp_path: Path) -> None:
    """Bytes changed under an open index are reported until it is cleared."""
    stores = LuceneKeywords(tmp_path)
    index = stores.open("bank")
    fill(index, CORPUS, 5)
    spoil(tmp_path)
    for _ in range(2):
        with pytest.raises(IndexOutOfStep, match="'bank'"):
            index.search("quartz", 1)
    index.clear()
    fill(index, CORPUS, 6)
    assert found(index, "quartz") == [5]
    stores.close()


def test_lucene_files_only_touched_are_read_again(tmp_path: Path) -> None:
    """If only a file's time changed, one search fails and the next one works."""
    stores = LuceneKeywords(tmp_path)
    index = stores.open("bank")
    fill(index, CORPUS, 5)
    for path in index_files(tmp_path):
        os.utime(path, (1, 1))
    with pytest.raises(IndexOutOfStep, match="changed or removed by another program"):
        index.search("quartz", 1)
    assert (index.watermark, found(index, "quartz")) == (make_mark(5), [5])
    stores.close()


def test_a_lucene_index_removed_while_open_does_not_come_back_empty(tmp_path: Path) -> None:
    """An index directory removed while open is reported by every call until it is cleared."""
    stores = LuceneKeywords(tmp_path, open_stores=1)
    index, other = stores.open("bank"), stores.open("other")
    fill(index, CORPUS, 5)
    fill(other, CORPUS, 5)  # the only copy, because the first one was moved away
    shutil.rmtree(tmp_path / "lucene" / "bank")
    for _ in range(2):
        with pytest.raises(IndexOutOfStep, match="'bank'"):
            index.search("quartz", 1)
    assert found(other, "quartz") == [5]
    index.clear()
    assert (index.watermark, index.count()) == (None, 0)
    stores.close()


def test_a_flipped_byte_in_a_lucene_index_is_found_on_opening(tmp_path: Path) -> None:
    """A flipped byte is found when the index is opened."""
    stores = LuceneKeywords(tmp_path)
    fill(stores.open("bank"), CORPUS, 5)
    stores.close()
    (data,) = (tmp_path / "lucene" / "bank").glob("*.cfs")
    content = bytearray(data.read_bytes())
    content[len(content) // 2] ^= 0x01
    data.write_bytes(content)
    stores = LuceneKeywords(tmp_path)
    with pytest.raises(IndexOutOfStep, match="'bank'"):
        stores.open("bank").search("quartz", 1)
    stores.close()
