"""Contract of followed threads; part of `LedgerContract`."""

from __future__ import annotations

from dataclasses import replace

from builders import BANK
from ledger_support import commit
from ledger_turns import THREAD, conversation, make_fact

from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.model.erasure import Erasure
from hindsight_integrations.model.turns import Thread, ThreadEntry, ThreadMark, ThreadWrite
from hindsight_integrations.model.writes import WriteSet

FIRST = ThreadMark(2, "digest", "m2")


def followed(revision: int, *entries: ThreadEntry, mark: ThreadMark = FIRST, namespace: str = "") -> WriteSet:
    """Build a write set that only follows THREAD."""
    return WriteSet(BANK, revision, thread=ThreadWrite(THREAD, namespace, mark, entries))


class TestThreads:
    """The log of a thread: which messages were seen, in which order, and what a fork discarded."""

    def test_a_thread_never_followed_is_empty(self, ledger: Ledger, bank: str) -> None:
        """An unknown thread has the mark of an empty list."""
        assert ledger.turns.thread_mark(bank, THREAD, "") == ThreadMark()
        assert ledger.turns.thread(bank, THREAD, "") == Thread()
        assert ledger.turns.dropped(bank, [(THREAD, "m1")]) == frozenset()

    def test_a_log_is_kept_without_a_revision(self, ledger: Ledger, bank: str) -> None:
        """Following an unchanged conversation does not raise the revision."""
        entries = ThreadEntry("m1", "h1"), ThreadEntry("m2", "h2", "m1")
        assert commit(ledger, followed(0, *entries)).revision == 0
        assert ledger.turns.thread_mark(bank, THREAD, "") == FIRST
        log = ledger.turns.thread(bank, THREAD, "")
        assert list(log.entries.values()) == list(entries)
        assert (
            ledger.turns.thread(bank, THREAD, "part of it")
            == ledger.turns.thread(bank, "another", "")
            == Thread()
        )

    def test_an_entry_takes_the_place_of_the_one_of_its_id(self, ledger: Ledger, bank: str) -> None:
        """An entry with a known id keeps its order and parent."""
        commit(ledger, followed(0, ThreadEntry("m1", "h1"), ThreadEntry("m2", "h2", "m1")))
        later = ThreadMark(3, "later", "m3")
        commit(
            ledger,
            followed(0, ThreadEntry("m1", "anew", gone=True), ThreadEntry("m3", "h3", "m2"), mark=later),
        )
        log = ledger.turns.thread(bank, THREAD, "")
        assert log.mark == later
        assert [(each.message_id, each.content_hash, each.gone) for each in log.entries.values()] == [
            ("m1", "anew", True),
            ("m2", "h2", False),
            ("m3", "h3", False),
        ]

    def test_a_message_is_dropped_where_no_list_has_it(self, ledger: Ledger, bank: str) -> None:
        """A message is discarded only if no list of the thread contains it."""
        gone = ThreadEntry("m1", "h1", gone=True)
        commit(ledger, followed(0, gone, ThreadEntry("m2", "h2", gone=True)))
        commit(ledger, followed(0, replace(gone, gone=False), namespace="part"))
        places = [(THREAD, "m1"), (THREAD, "m2"), (THREAD, "m3"), ("another", "m2")]
        assert ledger.turns.dropped(bank, places) == {(THREAD, "m2")}

    def test_closed_memories_of_messages_are_found_if_asked_for(self, ledger: Ledger, bank: str) -> None:
        """Closed memories of messages can be found, so that a fork back restores them."""
        commit(ledger, replace(conversation(), units=(make_fact("u1", "m1"), make_fact("u2", "m1", "m2"))))
        rows = ledger.units.row_ids(bank, ["u1", "u2"])
        assert ledger.units.of_messages(bank, [(THREAD, "m1")]).tolist() == sorted(rows.values())
        assert ledger.units.of_messages(bank, [(THREAD, "m1")], closed=True).tolist() == []

    def test_forgetting_everything_forgets_what_was_seen(self, ledger: Ledger, bank: str) -> None:
        """Forgetting everything makes a conversation new; forgetting one message does not make that message new."""
        commit(ledger, conversation())
        commit(ledger, followed(ledger.revision(bank), ThreadEntry("m1", "h1")))
        ledger.erasure.erase(bank, Erasure(thread=THREAD))
        assert ledger.turns.thread_mark(bank, THREAD, "") == FIRST
        ledger.erasure.erase(bank, Erasure(everything=True))
        assert ledger.turns.thread(bank, THREAD, "") == Thread()
