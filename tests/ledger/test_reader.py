"""Contract of the reads; part of `LedgerContract`."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from builders import (
    at,
    make_entity,
    make_event,
    make_unit,
    make_units,
    make_vector,
    make_write_set,
    with_vector,
)
from ledger_support import (
    CLOSED,
    changes,
    commit,
    rich_write_set,
)

from hindsight_integrations.errors import BankNotFound
from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.model.entities import EntityRole
from hindsight_integrations.model.links import LINK_CODES, Link, LinkType
from hindsight_integrations.model.records import Record, RecordKind
from hindsight_integrations.model.units import ValidityKind
from hindsight_integrations.model.writes import MessageKey, UnitWrite


def made_of(key: str, **fields: object) -> UnitWrite:
    """Build a unit with these fields, and its vector."""
    write = with_vector(make_unit(key))
    return replace(write, unit=replace(write.unit, **fields))  # type: ignore[arg-type] # any field of a unit


class TestReader:
    """Units are found by id, message, chunk and record; entities by name and by blocks."""

    def test_links_are_counted_from_both_ends(self, ledger: Ledger, bank: str) -> None:
        """Links of a kind are counted once per unit, from whichever end they were written."""
        kinds = [
            ("u1", "u2", LinkType.SEMANTIC),
            ("u3", "u1", LinkType.SEMANTIC),
            ("u1", "u3", LinkType.TEMPORAL),
        ]
        links = tuple(Link(source, target, kind, 0.9) for source, target, kind in kinds)
        writes = make_write_set(bank=bank, units=make_units("u1", "u2", "u3", "u4", bank=bank))
        commit(ledger, replace(writes, links=links))
        rows = ledger.units.row_ids(bank, ["u1", "u2", "u3", "u4"])
        asked = np.array([*rows.values(), 9999], np.int64)
        names, semantic = ledger.units.link_ends(bank, asked[-3:], asked, LINK_CODES[LinkType.SEMANTIC, None])
        assert names == {rows["u3"]: "u3", rows["u4"]: "u4"}
        assert semantic == {rows["u1"]: 2, rows["u2"]: 1, rows["u3"]: 1}
        _, temporal = ledger.units.link_ends(bank, asked, asked, LINK_CODES[LinkType.TEMPORAL, None])
        assert temporal == {rows["u1"]: 1, rows["u3"]: 1}
        nobody = asked[:0]
        assert ledger.units.link_ends(bank, nobody, nobody, LINK_CODES[LinkType.SEMANTIC, None]) == ({}, {})

    def test_messages_are_known_exactly(self, ledger: Ledger, bank: str) -> None:
        """A message counts as retained only if thread, id and content all agree."""
        kept = [MessageKey("t", str(number), "h") for number in range(1000)]
        commit(ledger, replace(make_write_set(), messages=tuple(kept)))
        others = [MessageKey("t2", "1", "h"), MessageKey("t", "1", "other"), MessageKey("t", "1000", "h")]
        assert ledger.turns.known(bank, [*others, *kept, *kept]) == frozenset(kept)
        assert ledger.turns.known(bank, []) == frozenset()

    def test_units_are_found_by_message_and_chunk(self, ledger: Ledger, bank: str) -> None:
        """The valid units of a message or chunk are found, and no others."""
        units = [
            made_of("both", thread="t", sources=("m1", "m2")),
            made_of("second", thread="t", sources=("m2",)),
            made_of("elsewhere", thread="u", sources=("m1",)),
            made_of("chunk", document_id="d", chunk=1),
            made_of("other chunk", document_id="d", chunk=0),
        ]
        commit(ledger, make_write_set(units=units))
        rows = {
            row: name for name, row in ledger.units.row_ids(bank, [write.unit.id for write in units]).items()
        }
        assert [rows[r] for r in ledger.units.of_messages(bank, [("t", "m1")]).tolist()] == ["both"]
        assert [rows[r] for r in ledger.units.of_messages(bank, [("t", "m2")]).tolist()] == ["both", "second"]
        assert [rows[r] for r in ledger.units.of_chunks(bank, "d", [1, 7]).tolist()] == ["chunk"]
        assert ledger.units.of_messages(bank, []).tolist() == []
        assert ledger.units.of_chunks(bank, "d", []).tolist() == []
        assert ledger.turns.places(bank, ["m1", "m7"]) == [("t", "m1"), ("u", "m1")]
        assert ledger.turns.places(bank, []) == []

    def test_closed_units_are_not_found(self, ledger: Ledger, bank: str) -> None:
        """A closed unit is not closed again by a later edit."""
        units = [made_of("message", thread="t", sources=("m",)), made_of("chunk", document_id="d")]
        commit(ledger, make_write_set(units=units))
        events = [make_event(write.unit.id, ValidityKind.CLOSED, 5) for write in units]
        commit(ledger, make_write_set(1, events=events))
        assert ledger.units.of_messages(bank, [("t", "m")]).tolist() == []
        assert ledger.units.of_chunks(bank, "d", [0]).tolist() == []

    def test_records_are_enumerated_completely(self, ledger: Ledger, bank: str) -> None:
        """Every unit with a matching record is listed in order, closed ones too, ignoring case."""
        records = {
            "u1": (Record(RecordKind.EXPENSE, Decimal("3.41"), "Coffee", "USD"),),
            "u2": (
                Record(RecordKind.TASK, "buy a cake"),
                Record(RecordKind.EXPENSE, Decimal("9.84"), "lunch", "USD"),
            ),
            "u3": (Record(RecordKind.TASK, "call Bob"),),
            "u4": (),
        }
        units = [with_vector(replace(make_unit(name), records=held)) for name, held in records.items()]
        commit(ledger, make_write_set(units=units, events=[make_event("u2", CLOSED)]))
        rows = ledger.units.row_ids(bank, list(records))

        def found(kind: RecordKind | None, category: str | None) -> list[str]:
            wanted = ledger.records.rows(bank, kind=kind, category=category).tolist()
            return [name for row in wanted for name, own in rows.items() if own == row]

        assert found(None, None) == ["u1", "u2", "u3"]
        assert found(RecordKind.EXPENSE, None) == ["u1", "u2"]
        assert found(RecordKind.TASK, None) == ["u2", "u3"]
        assert found(RecordKind.EXPENSE, "coffee") == ["u1"]
        assert found(RecordKind.TASK, "lunch") == []
        assert found(RecordKind.GOAL, None) == []
        expenses = ledger.units.get(bank, ledger.records.rows(bank, kind=RecordKind.EXPENSE))
        assert [expenses[rows[name]].records for name in ("u1", "u2")] == [records["u1"], records["u2"]]

    def test_vectors_are_read_by_unit(self, ledger: Ledger, bank: str) -> None:
        """Vectors are read back exactly; unknown units have none."""
        commit(ledger, make_write_set(0, bank=bank, units=make_units("u1", "u2", bank=bank)))
        row = ledger.units.row_ids(bank, ["u1"])["u1"]
        found = ledger.units.vectors(bank, np.array([row, 10**6], np.int64))
        assert list(found) == [row]
        np.testing.assert_array_equal(found[row], make_vector("u1"))

    def test_an_entity_is_found_by_every_name(self, ledger: Ledger, bank: str) -> None:
        """Every alias finds the entity, with its mentions, last sighting and co-occurring names."""
        commit(ledger, rich_write_set())
        found = ledger.entities.named(bank, ["alice", "alice chen", "nobody"])
        assert found.keys() == {"alice", "alice chen"}
        assert found["alice"] == found["alice chen"]
        alice = found["alice"]
        assert (alice.names, alice.mentions, alice.last_seen) == (("alice", "alice chen"), 2, at(1))
        assert ledger.entities.neighbours(bank, ["e1", "ghost"]) == {"e1": frozenset({"acme"})}

    def test_further_names_and_roles_are_added(self, ledger: Ledger, bank: str) -> None:
        """Writes add aliases and a role to a known entity; a write without a role keeps it."""
        commit(ledger, make_write_set(entities=[make_entity("e1", "alice")]))
        assert changes(ledger, bank).roles.tolist() == []
        commit(ledger, make_write_set(1, entities=[make_entity("e1", "ally", role=EntityRole.USER)]))
        commit(ledger, make_write_set(2, entities=[make_entity("e1", "al")]))
        alice = ledger.entities.named(bank, ["ally"])["ally"]
        assert (alice.name, alice.names, alice.role) == ("Alice", ("alice", "ally", "al"), EntityRole.USER)
        assert changes(ledger, bank).roles.tolist() == list(ledger.entities.row_ids(bank, ["e1"]).values())

    def test_a_shared_name_gives_the_most_mentioned(self, ledger: Ledger, bank: str) -> None:
        """A name shared by two entities finds the more frequently mentioned one; both are candidates."""
        both = [make_entity("e1", "apple"), make_entity("e2", "apple")]
        commit(ledger, make_write_set(units=make_units("u"), entities=both, mentions=[("u", "e2")]))
        assert ledger.entities.named(bank, ["apple"])["apple"].id == "e2"
        assert [entity.id for entity in ledger.entities.candidates(bank, ["apple"], 9)["apple"]] == [
            "e2",
            "e1",
        ]

    def test_candidates_share_a_token_or_are_one_edit_away(self, ledger: Ledger, bank: str) -> None:
        """Entity candidates share a token or are one edit away, the exact name first."""
        names = ["alice", "alice chen", "malice", "office", "bob", "li", "li wei"]
        commit(ledger, make_write_set(entities=[make_entity(f"e-{name}", name) for name in names]))
        found = ledger.entities.candidates(bank, ["alice", "li", "zoe"], 10)
        assert [entity.names[0] for entity in found["alice"]] == ["alice", "alice chen", "malice"]
        assert [entity.names[0] for entity in found["li"]] == ["li", "li wei"]
        assert found["zoe"] == []
        assert len(ledger.entities.candidates(bank, ["alice"], 2)["alice"]) == 2
        assert ledger.entities.candidates(bank, ["alice"], 0) == {"alice": []}

    def test_a_token_everybody_shares_is_not_followed(self, ledger: Ledger, bank: str) -> None:
        """A token shared by very many entities is not used for blocking; only similar names are candidates."""
        many = [make_entity(f"e{n}", f"person {n * 1000:07}") for n in range(600)]
        commit(ledger, make_write_set(entities=many))
        found = ledger.entities.candidates(bank, ["person", "person 0007000"], 5)
        assert found["person"] == []
        assert found["person 0007000"][0].id == "e7"
        assert len(found["person 0007000"]) == 5

    def test_entities_of_units_come_by_name(self, ledger: Ledger, bank: str) -> None:
        """Each unit's entities are listed in order of their names; units without any are left out."""
        commit(ledger, rich_write_set())
        commit(ledger, make_write_set(1, units=make_units("u3")))
        rows = ledger.units.row_ids(bank, ["u1", "u2", "u3"])
        found = ledger.entities.of_units(bank, np.array(list(rows.values())))
        named = {row: [entity.name for entity in entities] for row, entities in found.items()}
        assert named == {rows["u1"]: ["Acme", "Alice"], rows["u2"]: ["Alice"]}
        assert ledger.entities.row_ids(bank, ["e1", "ghost"]).keys() == {"e1"}

    def test_a_snapshot_does_not_move(self, ledger: Ledger, bank: str) -> None:
        """Reads within a snapshot are consistent; a new snapshot shows later writes."""
        commit(ledger, make_write_set(units=make_units("u1")))
        with ledger.snapshot(bank) as reader:
            rows = reader.units.row_ids(bank, ["u1", "u2"])
            assert (
                reader.units.count(bank)
                == len(reader.units.get(bank, np.array(list(rows.values()), np.int64)))
                == 1
            )
        commit(ledger, make_write_set(1, units=make_units("u2")))
        with ledger.snapshot(bank) as reader:
            assert reader.units.count(bank) == 2
        with pytest.raises(BankNotFound), ledger.snapshot("nobody"):
            pass
