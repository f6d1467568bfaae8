"""The contract of every KeywordIndex, as tests. A backend's test module inherits these classes.

The tests use only words that no stemmer changes and no stop list contains, and compare no scores between
backends.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TypeAlias

import numpy as np
import pytest
from builders import make_mark

from hindsight_integrations.indexes.protocols import KeywordIndex
from hindsight_integrations.model.arrays import IntArray

MakeIndex: TypeAlias = Callable[[str], KeywordIndex]
"""From a bank key to that bank's index, all banks in one engine; a new engine for every test."""

READERS = 8
SEARCHES = 25

CORPUS = {
    1: "red kite over harbour",
    2: "red lantern market",
    3: "red violin concert harbour",
    4: "red copper kettle",
    5: "quartz clock tower",
    6: "winter market stall",
    7: "pepper garden path",
    8: "silver train ticket",
}

SYNTAX = (
    "AND", "OR NOT", "(", ")", "+ -", "text:", 'title: "x*`', '"', "a*", "NEAR(", "{}[]^~", "\\", "';--", "?!",
)  # fmt: skip


def int_ids(*values: int) -> IntArray:
    """These ids as an array, (n,) int64."""
    return np.array(values, np.int64)


def fill(index: KeywordIndex, texts: Mapping[int, str], revision: int = 1) -> None:
    """Add texts with their ids and advance."""
    index.upsert(int_ids(*texts), list(texts.values()))
    index.advance(make_mark(revision))


def found(index: KeywordIndex, text: str, limit: int = 10, among: IntArray | None = None) -> list[int]:
    """Ids of the hits, best first."""
    ids: list[int] = index.search(text, limit, among).ids.tolist()
    return ids


class KeywordIndexContract:
    """Inherit and provide a fixture `make_index` (see MakeIndex)."""

    @pytest.fixture
    def index(self, make_index: MakeIndex) -> KeywordIndex:
        """A new, empty index."""
        return make_index("bank")

    def test_new_index_is_empty(self, index: KeywordIndex) -> None:
        """A new index is empty, has no watermark and finds nothing, without an error."""
        assert (index.count(), index.watermark) == (0, None)
        assert found(index, "harbour") == []

    def test_finds_texts_by_their_words(self, index: KeywordIndex) -> None:
        """A word finds exactly the texts that contain it, ignoring case."""
        fill(index, CORPUS)
        assert sorted(found(index, "harbour")) == [1, 3]
        assert found(index, "QUARTZ") == [5]
        assert found(index, "submarine") == []

    def test_hits_have_the_promised_types(self, index: KeywordIndex) -> None:
        """Ids are int64 and scores positive, descending float32, so that callers can mask and fuse them."""
        fill(index, CORPUS)
        hits = index.search("red harbour kite", 10)
        assert hits.ids.dtype == np.int64
        assert hits.scores.dtype == np.float32
        assert len(hits) == 4
        assert (hits.scores > 0).all()
        assert (np.diff(hits.scores) <= 0).all()

    def test_rare_words_weigh_more(self, index: KeywordIndex) -> None:
        """Of two texts with one query word each, the one with the rarer word comes first."""
        fill(index, {**CORPUS, 9: "red quiet lane", 10: "indigo quiet lane"})
        assert found(index, "red indigo", 1) == [10]

    def test_more_query_words_weigh_more(self, index: KeywordIndex) -> None:
        """A text with both query words ranks before texts with one."""
        fill(index, CORPUS)
        assert found(index, "red market", 1) == [2]

    def test_shorter_texts_weigh_more(self, index: KeywordIndex) -> None:
        """Of two texts that contain the word once, the shorter ranks first."""
        fill(index, {**CORPUS, 20: "indigo garden path market stall winter", 21: "indigo garden"})
        assert found(index, "indigo") == [21, 20]

    def test_repeated_words_weigh_more(self, index: KeywordIndex) -> None:
        """Of two equally long texts, the one that contains the word twice ranks first."""
        fill(index, {**CORPUS, 20: "indigo garden path", 21: "indigo indigo path"})
        assert found(index, "indigo") == [21, 20]

    def test_limit_cuts_the_same_list(self, index: KeywordIndex) -> None:
        """A smaller limit gives the beginning of the longer list; 0 gives nothing, a huge limit everything."""
        fill(index, CORPUS)
        everything = found(index, "red market harbour", 2**40)
        assert len(everything) == 5
        for limit in range(6):
            assert found(index, "red market harbour", limit) == everything[:limit]

    def test_ties_are_ordered_by_id(self, index: KeywordIndex) -> None:
        """Equal texts are ordered by id, whatever the order or batch of their insertion, so pages and runs agree."""
        fill(index, CORPUS)
        for revision, row in enumerate((40, 12, 33, 25, 18), start=2):
            fill(index, {row: "indigo garden path"}, revision)
        hits = index.search("indigo", 10)
        assert hits.ids.tolist() == [12, 18, 25, 33, 40]
        assert len(set(hits.scores.tolist())) == 1
        assert found(index, "indigo", 2) == [12, 18]

    def test_filter_works_before_the_limit(self, index: KeywordIndex) -> None:
        """A search among few texts returns the best of them, even if many others match better."""
        fill(index, {**dict.fromkeys(range(100, 160), "indigo"), 7: "indigo garden path", 8: "silver train"})
        assert found(index, "indigo", 1, int_ids(7, 8)) == [7]
        assert found(index, "indigo", 3, int_ids(8, 9)) == []
        assert found(index, "indigo", 3, int_ids()) == []

    def test_filter_changes_no_score(self, index: KeywordIndex) -> None:
        """A filtered result is the unfiltered one without the other rows."""
        fill(index, CORPUS)
        whole, part = index.search("red harbour", 10), index.search("red harbour", 10, int_ids(1, 2, 5))
        expected = {row: score for row, score in zip(whole.ids, whole.scores, strict=True) if row in {1, 2}}
        assert dict(zip(part.ids, part.scores, strict=True)) == expected

    def test_upsert_replaces(self, index: KeywordIndex) -> None:
        """A replaced text is found by its new words only, and counts once."""
        fill(index, CORPUS)
        fill(index, {3: "quartz sand"}, 2)
        assert index.count() == len(CORPUS)
        assert found(index, "violin") == []
        assert sorted(found(index, "quartz")) == [3, 5]

    def test_last_of_a_double_id_stays(self, index: KeywordIndex) -> None:
        """An id that occurs twice in one batch is one text: the later one."""
        index.upsert(int_ids(7, 8, 7), ["violin", "harbour", "quartz"])
        index.advance(make_mark(1))
        assert index.count() == 2
        assert (found(index, "violin"), found(index, "quartz")) == ([], [7])

    def test_replay_changes_nothing(self, index: KeywordIndex) -> None:
        """Applying a batch again after a crash gives the same count and the same scores."""
        fill(index, CORPUS)
        before = index.search("red harbour market", 10)
        fill(index, CORPUS)
        after = index.search("red harbour market", 10)
        assert index.count() == len(CORPUS)
        assert after.ids.tolist() == before.ids.tolist()
        assert after.scores.tolist() == before.scores.tolist()

    def test_removed_texts_are_not_found(self, index: KeywordIndex) -> None:
        """A removed text is not found; unknown ids are ignored."""
        fill(index, CORPUS)
        index.remove(int_ids(1, 999))
        index.advance(make_mark(2))
        assert index.count() == len(CORPUS) - 1
        assert found(index, "kite") == []
        assert found(index, "harbour") == [3]

    def test_what_was_told_is_searched_apart(self, index: KeywordIndex) -> None:
        """A text is found by the words of its source turns if these are searched, otherwise only by its own."""
        index.upsert(
            int_ids(7, 8),
            ["She adopted a dog.", "A quiet week."],
            ["She adopted a dog.\nMax is a beagle!", ""],
        )
        index.advance(make_mark(1))
        assert found(index, "beagle") == []
        assert index.search("beagle", 5, told=True).ids.tolist() == [7]
        assert index.search("adopted", 5, int_ids(8), told=True).ids.tolist() == []
        assert index.search("quiet", 5, told=True).ids.tolist() == []
        assert (index.count(), found(index, "quiet")) == (2, [8])

    def test_what_was_told_goes_with_its_text(self, index: KeywordIndex) -> None:
        """Words of the source turns of replaced and removed texts are not found."""
        index.upsert(int_ids(7, 8), ["first", "second"], ["first violin", "second violin"])
        index.advance(make_mark(1))
        index.upsert(int_ids(7), ["first"])
        index.remove(int_ids(8))
        assert index.search("violin", 5, told=True).ids.tolist() == []

    def test_removed_texts_leave_the_statistics(self, index: KeywordIndex, make_index: MakeIndex) -> None:
        """Scores after a removal are those of an index that never contained the text."""
        fill(index, {**CORPUS, 50: "harbour " * 30, 51: "harbour red"})
        index.remove(int_ids(50, 51))
        index.advance(make_mark(2))
        never = make_index("never")
        fill(never, CORPUS)
        after, expected = index.search("harbour red", 10), never.search("harbour red", 10)
        assert after.scores.tolist() == expected.scores.tolist()

    def test_batches_do_not_change_scores(self, index: KeywordIndex, make_index: MakeIndex) -> None:
        """Texts added one by one have the same scores as texts added at once."""
        for revision, (row, text) in enumerate(CORPUS.items(), start=1):
            fill(index, {row: text}, revision)
        at_once = make_index("once")
        fill(at_once, CORPUS)
        one_by_one, together = index.search("red harbour", 10), at_once.search("red harbour", 10)
        assert one_by_one.ids.tolist() == together.ids.tolist()
        assert one_by_one.scores.tolist() == together.scores.tolist()

    def test_advance_shows_and_records(self, index: KeywordIndex) -> None:
        """After `advance` written texts are found, and the watermark is updated."""
        fill(index, CORPUS, 5)
        assert (index.watermark, found(index, "quartz")) == (make_mark(5), [5])
        index.advance(make_mark(9))
        assert index.watermark == make_mark(9)

    def test_changes_are_visible_at_once(self, index: KeywordIndex) -> None:
        """Written texts are found and removed ones are not; the watermark stays until `advance`."""
        fill(index, CORPUS, 5)
        index.upsert(int_ids(9, 3), ["indigo garden", "indigo sand"])
        index.remove(int_ids(1))
        assert index.watermark == make_mark(5)
        assert (index.count(), found(index, "indigo")) == (len(CORPUS), [3, 9])
        assert (found(index, "violin"), found(index, "kite")) == ([], [])
        index.advance(make_mark(6))
        assert (index.watermark, found(index, "indigo")) == (make_mark(6), [3, 9])

    def test_changes_in_steps_give_the_same_scores(self, index: KeywordIndex, make_index: MakeIndex) -> None:
        """Texts made visible one by one, some replaced and removed, have the same scores as texts committed at once."""
        for row, text in {**CORPUS, 30: "harbour " * 30}.items():
            index.upsert(int_ids(row), [text if row != 2 else "red harbour winter"])
            index.upsert(int_ids(2), [CORPUS[2]])
        index.remove(int_ids(30))
        at_once = make_index("once")
        fill(at_once, CORPUS)
        shown, recorded = index.search("red harbour", 10), at_once.search("red harbour", 10)
        assert shown.ids.tolist() == recorded.ids.tolist()
        assert shown.scores.tolist() == recorded.scores.tolist()

    def test_upsert_returns_whether_removed_words_may_be_in_the_files(self, index: KeywordIndex) -> None:
        """Only after a removal or replacement may the files contain old words, until the next `advance`."""
        fill(index, CORPUS)
        assert not index.upsert(int_ids(9), ["indigo garden"])
        assert index.upsert(int_ids(9), ["indigo sand"])
        assert index.upsert(int_ids(10), ["amber garden"])
        index.advance(make_mark(2))
        assert not index.upsert(int_ids(), [])
        index.remove(int_ids(9))
        assert index.upsert(int_ids(), [])

    def test_reverted_changes_can_be_written_again(self, index: KeywordIndex) -> None:
        """After `revert` the index is usable, and writing everything after its watermark again gives the full state."""
        fill(index, CORPUS, 5)
        index.upsert(int_ids(9), ["indigo garden"])
        index.remove(int_ids(5))
        index.revert()
        mark = index.watermark
        assert mark in (make_mark(5), None)
        if mark is None:
            index.upsert(int_ids(*CORPUS), list(CORPUS.values()))
        index.upsert(int_ids(9), ["indigo garden"])
        index.remove(int_ids(5))
        assert (index.count(), found(index, "indigo"), found(index, "quartz")) == (len(CORPUS), [9], [])

    def test_nothing_to_do_is_fine(self, index: KeywordIndex) -> None:
        """Empty batches are not errors."""
        index.upsert(int_ids(), [])
        index.remove(int_ids())
        index.advance(make_mark(1))
        assert index.count() == 0

    @pytest.mark.parametrize("syntax", SYNTAX)
    def test_query_syntax_means_nothing(self, index: KeywordIndex, syntax: str) -> None:
        """Operators, quotes and brackets in a question neither fail nor change the result."""
        fill(index, CORPUS)
        assert found(index, f"{syntax} quartz {syntax}") == [5]
        assert found(index, f"kite {syntax} quartz") == found(index, "kite quartz")

    @pytest.mark.parametrize(
        "text", ["", "  \n", "?!... --", "\U0001f600 \U0001f680", "the of and", "\x00\x07", "\ud800"]
    )
    def test_texts_without_searchable_words_find_nothing(self, index: KeywordIndex, text: str) -> None:
        """Blank, punctuation, emoji, stop-word and malformed queries give no hits and no error."""
        fill(index, {**CORPUS, 30: "\U0001f600 the party and the \U0001f680"})
        assert found(index, text) == []

    def test_odd_characters_do_no_harm(self, index: KeywordIndex) -> None:
        """Words are found despite lone surrogates, control characters and emoji in a text or question."""
        fill(index, {1: "quartz \ud83d clock \x00 \U0001f600", 2: "kettle\x1b copper"})
        assert found(index, "quartz") == [1]
        assert found(index, "\udc00 copper \x00 \U0001f680") == [2]

    def test_huge_query_is_answered(self, index: KeywordIndex) -> None:
        """A question of 100 kB with thousands of distinct words is answered by its first words."""
        fill(index, CORPUS)
        query = "quartz " + " ".join(f"word{number}" for number in range(12_000))
        assert len(query) > 100_000
        assert found(index, query) == [5]

    def test_huge_text_is_indexed(self, index: KeywordIndex) -> None:
        """A very long text, and a word of thousands of letters, are stored without an error."""
        fill(index, {1: "filler " * 20_000 + "quartz", 2: "x" * 50_000 + " copper"})
        assert (found(index, "quartz"), found(index, "copper")) == ([1], [2])

    def test_row_ids_may_be_large(self, index: KeywordIndex) -> None:
        """Ids beyond 32 bits are returned unchanged."""
        fill(index, {2**40: "quartz clock", 3: "kettle", 4: "violin"})
        assert found(index, "quartz", 5, int_ids(3, 2**40)) == [2**40]

    def test_other_banks_change_nothing(self, index: KeywordIndex, make_index: MakeIndex) -> None:
        """A bank's scores do not depend on other banks, so nothing about them leaks."""
        fill(index, CORPUS)
        before = index.search("red harbour quartz", 10)
        fill(make_index("other"), dict.fromkeys(range(1, 60), "quartz harbour " * 5))
        after = index.search("red harbour quartz", 10)
        assert after.ids.tolist() == before.ids.tolist()
        assert after.scores.tolist() == before.scores.tolist()

    def test_clear_empties(self, index: KeywordIndex, make_index: MakeIndex) -> None:
        """After `clear` the bank is empty, including the watermark, can be filled again, and other banks are unchanged."""
        other = make_index("other")
        fill(other, CORPUS, 3)
        fill(index, CORPUS, 5)
        index.clear()
        assert (index.count(), index.watermark, found(index, "quartz")) == (0, None, [])
        fill(index, {1: "quartz"}, 2)
        assert (index.count(), index.watermark) == (1, make_mark(2))
        assert (other.count(), other.watermark) == (len(CORPUS), make_mark(3))

    def test_each_thread_gets_its_own_answer(self, index: KeywordIndex) -> None:
        """Eight threads that search concurrently, while memories are written, each get the answer to their own question."""
        own = {reader: [1000 * reader + n for n in range(reader + 1)] for reader in range(READERS)}
        fill(index, {row: f"reader{reader} note{row}" for reader, rows in own.items() for row in rows})
        start = threading.Barrier(READERS + 1, timeout=30)

        def read(reader: int) -> list[list[int]]:
            start.wait()
            return [found(index, f"reader{reader}", 50) for _ in range(SEARCHES)]

        def write() -> None:
            start.wait()
            for revision in range(2, 8):
                fill(index, {100_000 + revision: f"fresh words {revision}"}, revision)

        with ThreadPoolExecutor(READERS + 1) as pool:
            writing = pool.submit(write)
            for reader, answers in enumerate(pool.map(read, range(READERS))):
                assert [sorted(answer) for answer in answers] == [own[reader]] * SEARCHES
            writing.result()
        assert len(found(index, "fresh")) == 6


class PersistentKeywordIndexContract(KeywordIndexContract):
    """For an index that survives its engine. Also provide a fixture `reopen`: closes the engine, returns a new MakeIndex."""

    def test_survives_reopening(self, index: KeywordIndex, reopen: Callable[[], MakeIndex]) -> None:
        """Texts, scores and the watermark are the same in the next run of the program."""
        fill(index, CORPUS, 5)
        before = index.search("red harbour", 10)
        again = reopen()("bank")
        after = again.search("red harbour", 10)
        assert (again.watermark, again.count()) == (make_mark(5), len(CORPUS))
        assert after.ids.tolist() == before.ids.tolist()
        assert after.scores.tolist() == before.scores.tolist()

    def test_close_keeps_the_data(self, index: KeywordIndex, make_index: MakeIndex) -> None:
        """A closed bank can be opened again in the same engine with its whole content."""
        fill(index, CORPUS, 5)
        index.close()
        again = make_index("bank")
        assert (again.watermark, found(again, "quartz")) == (make_mark(5), [5])

    def test_unrecorded_changes_can_be_replayed(
        self, index: KeywordIndex, reopen: Callable[[], MakeIndex]
    ) -> None:
        """Changes without `advance` do not move the watermark, so replaying from it gives the full state."""
        fill(index, CORPUS, 5)
        index.upsert(int_ids(9), ["indigo garden"])
        index.remove(int_ids(5))
        again = reopen()("bank")
        assert again.watermark == make_mark(5)
        again.upsert(int_ids(9), ["indigo garden"])
        again.remove(int_ids(5))
        again.advance(make_mark(6))
        assert (again.count(), found(again, "indigo"), found(again, "quartz")) == (len(CORPUS), [9], [])
