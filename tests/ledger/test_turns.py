"""Contract of source turns and waiting turns; part of `LedgerContract`."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np
from builders import (
    at,
    make_entity,
    make_event,
    make_unit,
    make_write_set,
    with_vector,
)
from ledger_support import CLOSED, changes, commit
from ledger_turns import THREAD, conversation, make_fact, make_key, make_turn, make_waiting

from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.model.arrays import WAITING
from hindsight_integrations.model.erasure import Erasure
from hindsight_integrations.model.time import Interval
from hindsight_integrations.model.turns import Role, SourceTurn
from hindsight_integrations.model.units import FactType, UnitKind


class TestTurnReads:
    """A message's latest text is found by message, memory and conversation."""

    def test_turns_come_back_as_they_were_said(self, ledger: Ledger, bank: str) -> None:
        """Text, speaker, role, time, thread, tags and resulting memories are read back."""
        commit(ledger, conversation())
        rows = ledger.units.row_ids(bank, ["f1", "f2"])
        first = SourceTurn(
            THREAD, "m1", "I bought a kayak.", "Alice", Role.USER, at(0), ("tag",), (rows["f1"], rows["f2"])
        )
        assert ledger.turns.get(bank, [(THREAD, "m1"), (THREAD, "none"), ("other", "m1")]) == {
            (THREAD, "m1"): first
        }
        assert [turn.message_id for turn in ledger.turns.of_thread(bank, THREAD)] == ["m1", "m2"]
        assert ledger.turns.of_thread(bank, "other") == []
        by_unit = ledger.turns.of_units(bank, np.array([rows["f2"], rows["f1"], 999]))
        assert {row: [turn.message_id for turn in turns] for row, turns in by_unit.items()} == {
            rows["f1"]: ["m1"],
            rows["f2"]: ["m1", "m2"],
        }

    def test_a_message_that_is_a_unit_is_read_from_it(self, ledger: Ledger, bank: str) -> None:
        """A verbatim message shares its unit's text, including edits."""
        unit = replace(
            make_unit("v", "Alice: Hello.", hours=2, tags=("own",)),
            thread=THREAD,
            sources=("m1",),
            speaker="Alice",
        )
        writes = replace(
            make_write_set(units=[with_vector(unit)]),
            messages=(make_key("m1"),),
            turns=(make_turn("m1", "Hello.", unit_id="v"),),
        )
        commit(ledger, writes)
        (turn,) = ledger.turns.of_thread(bank, THREAD)
        assert (turn.text, turn.speaker, turn.said_at, turn.tags) == ("Hello.", "Alice", at(2), ("own",))
        assert commit(ledger, replace(writes, expected_revision=1)).revision == 1

    def test_turns_are_found_by_exact_words(self, ledger: Ledger, bank: str) -> None:
        """Turns are found by words, ignoring case, accents and spacing, in chronological order."""
        unit = replace(
            make_unit("v", "Alice: A café in Brünn sold\nmy  Kayak.", hours=-1),
            thread=THREAD,
            sources=("m0",),
            speaker="Alice",
        )
        writes = conversation()
        commit(
            ledger,
            replace(
                writes,
                units=(*writes.units, with_vector(unit)),
                messages=(*writes.messages, make_key("m0")),
                turns=(*writes.turns, make_turn("m0", "", unit_id="v")),
            ),
        )
        found = {
            words: [message for _, message in ledger.turns.saying(bank, words)]
            for words in ("KAYAK", "Cafe in Brunn", "sold my kayak", "a", "kayak boat", "Alice")
        }
        assert found == {
            "KAYAK": ["m0", "m1"],
            "Cafe in Brunn": ["m0"],
            "sold my kayak": ["m0"],
            "a": ["m0", "m1", "m2"],
            "kayak boat": [],
            "Alice": [],
        }

    def test_an_edited_message_keeps_its_latest_wording(self, ledger: Ledger, bank: str) -> None:
        """An edit replaces a message's text, or removes it if the new text is not kept."""
        commit(ledger, conversation())
        edit = replace(make_write_set(1), messages=(make_key("m1", "h2"), make_key("m2", "h2")))
        commit(ledger, replace(edit, turns=(make_turn("m1", "I bought a canoe."),)))
        assert {turn.message_id: turn.text for turn in ledger.turns.of_thread(bank, THREAD)} == {
            "m1": "I bought a canoe."
        }

    def test_a_turn_whose_memories_are_closed_is_history(self, ledger: Ledger, bank: str) -> None:
        """A turn is history only if it has memories and all are closed."""
        writes = replace(conversation(), events=(make_event("f1", CLOSED, 5),))
        commit(
            ledger,
            replace(
                writes,
                messages=(*writes.messages, make_key("m3")),
                turns=(*writes.turns, make_turn("m3", "Fine.", hours=2)),
            ),
        )
        assert [turn.history for turn in ledger.turns.of_thread(bank, THREAD)] == [False, False, False]
        commit(ledger, make_write_set(1, events=[make_event("f2", CLOSED, 6)]))
        assert [turn.history for turn in ledger.turns.of_thread(bank, THREAD)] == [True, True, False]


class TestWaiting:
    """A waiting turn is a unit of a separate kind: in columns, vectors and texts only."""

    def test_a_waiting_turn_is_no_memory(self, ledger: Ledger, bank: str) -> None:
        """A waiting turn is not counted as a memory, is not in the graph, and has its own type."""
        receipt = commit(
            ledger,
            replace(
                make_write_set(units=[make_fact("f", "m1"), make_waiting("w", "m2")]),
                messages=(make_key("m1"), make_key("m2")),
            ),
        )
        assert receipt.created == ("f", "w")
        rows, new = ledger.units.row_ids(bank, ["f", "w"]), changes(ledger, bank)
        assert (ledger.units.count(bank), new.count, new.vector_count) == (1, 2, 2)
        assert new.columns.types.tolist() == [0, WAITING + list(FactType).index(FactType.EXPERIENCE)]
        assert new.graph[0].tolist() == [rows["f"]]
        assert ledger.units.of_messages(bank, [(THREAD, "m1"), (THREAD, "m2")]).tolist() == [rows["f"]]
        assert ledger.units.get(bank, np.array([rows["w"]]))[rows["w"]].kind is UnitKind.TURN

    def test_one_without_a_vector_is_in_texts_alone(self, ledger: Ledger, bank: str) -> None:
        """A waiting turn may lack a vector after an embedder failure, and get one later."""
        commit(ledger, make_write_set(units=[make_waiting("w", "m1", vector=False)]))
        new = changes(ledger, bank)
        assert (new.count, new.vector_count, new.texts[1]) == (1, 0, ["Alice: w"])

    def test_extraction_ends_it_without_an_erasure(self, ledger: Ledger, bank: str) -> None:
        """Extraction removes the waiting turn in the commit of its facts, without counting as erasure."""
        waiting = make_waiting("w", "m1", "I bought a kayak.")
        turn = make_turn("m1", "I bought a kayak.", unit_id="w")
        commit(ledger, replace(make_write_set(units=[waiting]), messages=(make_key("m1"),), turns=(turn,)))
        assert ledger.turns.of_thread(bank, THREAD)[0].text == "I bought a kayak."
        row = ledger.units.row_ids(bank, ["w"])["w"]
        kept = replace(turn, unit_id=None)
        commit(
            ledger,
            replace(
                make_write_set(1, units=[make_fact("f", "m1")]), turns=(kept,), extracted=("w", "f", "x")
            ),
        )
        assert ledger.units.row_ids(bank, ["w", "f"]).keys() == {"f"}
        assert ledger.turns.of_thread(bank, THREAD)[0].text == "I bought a kayak."
        new = changes(ledger, bank, 1)
        assert (new.removed.tolist(), new.erased, new.texts[1]) == ([row], False, ["fact f"])

    def test_an_edit_ends_what_waited_of_the_earlier_wording(self, ledger: Ledger, bank: str) -> None:
        """An edited message waits with its new text only; repeating the write set changes nothing."""
        commit(ledger, replace(make_write_set(units=[make_waiting("w1", "m1")]), messages=(make_key("m1"),)))
        again = replace(make_write_set(1, units=[make_waiting("w2", "m1")]), messages=(make_key("m1", "h2"),))
        assert commit(ledger, again).revision == 2
        assert ledger.units.row_ids(bank, ["w1", "w2"]).keys() == {"w2"}
        assert commit(ledger, replace(again, expected_revision=2)).revision == 2


class TestTurnErasure:
    """A turn is erased with any memory made from it, and can be selected directly."""

    def test_a_turn_goes_with_any_of_its_memories(self, ledger: Ledger, bank: str) -> None:
        """Erasing one of a message's memories erases its text; the other memories stay."""
        commit(ledger, conversation())
        receipt = ledger.erasure.erase(bank, Erasure(unit="f1"))
        assert (receipt.unit_ids, receipt.counts["turns"]) == (("f1",), 1)
        assert [turn.message_id for turn in ledger.turns.of_thread(bank, THREAD)] == ["m2"]
        assert changes(ledger, bank, 1).erased

    def test_turns_without_memories_are_reached(self, ledger: Ledger) -> None:
        """Turns without memories are erased by time, conversation, message and entity name."""
        texts = {
            "m1": "Anna Berg rang.",
            "m2": "Annabel rang.",
            "m3": "The berg of ANNA  BERG's.",
            "m4": "Hm.",
        }
        turns = tuple(make_turn(key, text, hours=n) for n, (key, text) in enumerate(texts.items()))
        selectors = {
            Erasure(entity="e"): ["m2", "m4"],
            Erasure(window=Interval(at(1), at(1) + timedelta(minutes=1))): ["m1", "m3", "m4"],
            Erasure(thread=THREAD, message="m4"): ["m1", "m2", "m3"],
            Erasure(thread=THREAD): [],
            Erasure(everything=True): [],
        }
        for place, (selector, left) in enumerate(selectors.items()):
            name = ledger.create_bank(f"bank {place}").name
            writes = make_write_set(bank=name, entities=[make_entity("e", "anna berg")])
            commit(ledger, replace(writes, messages=tuple(map(make_key, texts)), turns=turns))
            receipt = ledger.erasure.erase(name, selector)
            assert [turn.message_id for turn in ledger.turns.of_thread(name, THREAD)] == left
            assert (receipt.counts["turns"], receipt.unit_ids) == (len(texts) - len(left), ())
            assert changes(ledger, name, 1).erased
            repeated = ledger.erasure.erase(name, Erasure(thread="none")).counts
            assert repeated == {}

    def test_conversations_and_messages_go_with_their_memories(self, ledger: Ledger, bank: str) -> None:
        """Erasing a message or conversation erases its memories; a document with the same name stays."""
        document = with_vector(replace(make_unit("d"), thread=THREAD, document_id="doc"))
        commit(ledger, conversation())
        commit(ledger, make_write_set(1, units=[document]))
        assert ledger.erasure.erase(bank, Erasure(thread=THREAD, message="m2")).unit_ids == ("f2",)
        assert ledger.erasure.erase(bank, Erasure(thread=THREAD)).unit_ids == ("f1",)
        assert ledger.units.row_ids(bank, ["d"])
        assert ledger.turns.of_thread(bank, THREAD) == []

    def test_what_waits_is_erased_as_its_message_is(self, ledger: Ledger, bank: str) -> None:
        """A waiting turn is erased with its message and counted as a turn."""
        waiting = [make_waiting("w1", "m1", "Anna rang."), make_waiting("w2", "m2"), make_waiting("w3", "m3")]
        writes = make_write_set(units=waiting, entities=[make_entity("e", "anna")])
        commit(ledger, replace(writes, messages=tuple(map(make_key, ("m1", "m2", "m3")))))
        for selector in (Erasure(entity="e"), Erasure(thread=THREAD, message="m2"), Erasure(unit="w3")):
            receipt = ledger.erasure.erase(bank, selector)
            assert (receipt.unit_ids, receipt.counts["turns"]) == ((), 1)
        assert changes(ledger, bank).count == 0


class TestTurns:
    """Source turns, waiting turns, and their erasure."""

    def test_turns_travel_in_archives(self, ledger: Ledger, bank: str) -> None:
        """Texts, links to units and waiting turns survive an archive."""
        writes = conversation()
        waiting = [make_waiting("w1", "m3"), make_waiting("w2", "m4", vector=False)]
        commit(
            ledger,
            replace(
                writes,
                units=(*writes.units, *waiting),
                messages=(*writes.messages, make_key("m3"), make_key("m4")),
                turns=(
                    *writes.turns,
                    make_turn("m3", "w1", unit_id="w1"),
                    make_turn("m4", "w2", unit_id="w2"),
                ),
            ),
        )
        copy = ledger.create_bank("copy").name
        assert ledger.archive.restore(copy, iter(list(ledger.archive.rows(bank)))) == 2
        ours, theirs = (
            [replace(turn, memories=()) for turn in ledger.turns.of_thread(name, THREAD)]
            for name in (bank, copy)
        )
        assert ours == theirs
        assert [turn.text for turn in theirs] == ["I bought a kayak.", "w1", "w2", "And a boat."]
        new = changes(ledger, copy)
        assert (ledger.units.count(copy), new.count, new.vector_count) == (2, 4, 3)
