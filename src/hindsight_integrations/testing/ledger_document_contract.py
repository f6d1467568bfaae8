"""The part of the ledger contract about documents, message versions, and the units made from them."""

from __future__ import annotations

from dataclasses import replace

from hindsight_integrations.model.units import ValidityKind
from hindsight_integrations.model.writes import NOWHERE, ChunkWrite, DocumentWrite, MessageKey, UnitWrite
from hindsight_integrations.ports.ledger import Ledger
from hindsight_integrations.testing.builders import at, make_event, make_unit, make_write_set, with_vector
from hindsight_integrations.testing.ledger_support import LedgerFixtures

ONE, TWO = ChunkWrite("d", 0, "one ", "h0", position=0), ChunkWrite("d", 1, "two", "h1", position=1)
DOCUMENT = DocumentWrite("d", "h", "", at(0))


def _made_of(key: str, **fields: object) -> UnitWrite:
    write = with_vector(make_unit(key))
    return replace(write, unit=replace(write.unit, **fields))  # type: ignore[arg-type] # any field of a unit


class LedgerDocumentContract(LedgerFixtures):
    """Promises of ports/document_shelf.py."""

    def test_a_document_is_its_chunks(self, ledger: Ledger, bank: str) -> None:
        """The text read back is the text retained, and an unknown document is None."""
        ledger.commit(replace(make_write_set(), documents=(DOCUMENT,), chunks=(TWO, ONE)))
        stored = ledger.document(bank, "d")
        assert stored is not None
        assert (stored.text, stored.content_hash, stored.next_ordinal) == ("one two", "h", 2)
        assert ledger.document(bank, "other") is None

    def test_a_changed_document_replaces_the_stored_one(self, ledger: Ledger, bank: str) -> None:
        """After a change the new chunks are read in their order, and no ordinal is ever given twice."""
        ledger.commit(replace(make_write_set(), documents=(DOCUMENT,), chunks=(ONE, TWO)))
        three = ChunkWrite("d", 2, "three ", "h2", position=0)
        changes = (three, replace(TWO, position=NOWHERE), replace(ONE, position=1))
        later = replace(DOCUMENT, content_hash="h'", mentioned_at=at(9))
        ledger.commit(replace(make_write_set(1), documents=(later,), chunks=changes))
        stored = ledger.document(bank, "d")
        assert stored is not None
        assert (stored.text, stored.content_hash, stored.next_ordinal) == ("three one ", "h'", 3)

    def test_the_same_document_again_is_no_change(self, ledger: Ledger, bank: str) -> None:
        """A second identical write leaves the revision where it was."""
        writes = replace(make_write_set(), documents=(DOCUMENT,), chunks=(ONE, TWO))
        first = ledger.commit(writes).revision
        assert (
            ledger.commit(replace(writes, expected_revision=first)).revision == ledger.revision(bank) == first
        )

    def test_the_latest_wording_of_a_message_counts(self, ledger: Ledger, bank: str) -> None:
        """A message is known only in the wording retained last, also after an edit back."""
        old, new, other = MessageKey("t", "m", "old"), MessageKey("t", "m", "new"), MessageKey("u", "m", "x")
        for turn, key in enumerate((old, new, old)):
            ledger.commit(replace(make_write_set(turn), messages=(key, other)))
            assert ledger.known_messages(bank, [old, new, other]) == {key, other}
        assert ledger.commit(replace(make_write_set(3), messages=(old, other))).revision == 3

    def test_units_are_found_by_message_and_chunk(self, ledger: Ledger, bank: str) -> None:
        """The valid units of a message, and of a chunk, are found, and nobody else's."""
        units = [
            _made_of("both", thread="t", sources=("m1", "m2")),
            _made_of("second", thread="t", sources=("m2",)),
            _made_of("elsewhere", thread="u", sources=("m1",)),
            _made_of("chunk", document_id="d", chunk=1),
            _made_of("other chunk", document_id="d", chunk=0),
        ]
        ledger.commit(make_write_set(units=units))
        rows = {row: name for name, row in ledger.row_ids(bank, [write.unit.id for write in units]).items()}
        assert [rows[r] for r in ledger.units_of_messages(bank, [("t", "m1")]).tolist()] == ["both"]
        assert [rows[r] for r in ledger.units_of_messages(bank, [("t", "m2")]).tolist()] == ["both", "second"]
        assert [rows[r] for r in ledger.units_of_chunks(bank, "d", [1, 7]).tolist()] == ["chunk"]
        assert (
            ledger.units_of_messages(bank, []).tolist()
            == ledger.units_of_chunks(bank, "d", []).tolist()
            == []
        )

    def test_closed_units_are_not_found(self, ledger: Ledger, bank: str) -> None:
        """What was closed already is not closed again by a later edit."""
        units = [_made_of("said", thread="t", sources=("m",)), _made_of("written", document_id="d")]
        ledger.commit(make_write_set(units=units))
        events = [make_event(write.unit.id, ValidityKind.CLOSED, 5) for write in units]
        ledger.commit(make_write_set(1, events=events))
        assert ledger.units_of_messages(bank, [("t", "m")]).tolist() == []
        assert ledger.units_of_chunks(bank, "d", [0]).tolist() == []
