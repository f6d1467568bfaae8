"""What every Ledger promises of entities and of its change feed, as tests; a part of `LedgerContract`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.model.entities import EntityRole
from hindsight_integrations.model.links import Link, LinkType
from hindsight_integrations.model.time import Interval, to_micros
from hindsight_integrations.model.units import FactType
from hindsight_integrations.ports.arrays import NEVER, UNDATED
from hindsight_integrations.ports.ledger import Ledger
from hindsight_integrations.ports.memory_graph import LINK_CODES
from hindsight_integrations.testing.builders import (
    DIMENSION,
    at,
    make_embedder,
    make_entity,
    make_event,
    make_unit,
    make_units,
    make_vector,
    make_write_set,
    with_vector,
)
from hindsight_integrations.testing.ledger_support import (
    AMENDED,
    CLOSED,
    NO_IDS,
    NO_VECTORS,
    LedgerFixtures,
    everything_of,
    rich_write_set,
)


class LedgerReadContract(LedgerFixtures):
    """Entities are found by name and by blocks; feeds tell exactly what came after a revision."""

    def test_an_entity_is_found_by_every_name(self, ledger: Ledger, bank: str) -> None:
        """Aliases lead to one entity, with its mentions, last sighting and the names it keeps company with."""
        ledger.commit(rich_write_set())
        found = ledger.entities_named(bank, ["alice", "alice chen", "nobody"])
        assert found.keys() == {"alice", "alice chen"}
        assert found["alice"] == found["alice chen"]
        alice = found["alice"]
        assert (alice.names, alice.mentions, alice.last_seen) == (("alice", "alice chen"), 2, at(1))
        assert ledger.entity_neighbours(bank, ["e1", "ghost"]) == {"e1": frozenset({"acme"})}

    def test_further_names_and_roles_are_added(self, ledger: Ledger, bank: str) -> None:
        """A known entity learns aliases and a role; a write without role never takes one away."""
        ledger.commit(make_write_set(entities=[make_entity("e1", "alice")]))
        assert ledger.roles(bank).tolist() == []
        ledger.commit(make_write_set(1, entities=[make_entity("e1", "ally", role=EntityRole.USER)]))
        ledger.commit(make_write_set(2, entities=[make_entity("e1", "al")]))
        alice = ledger.entities_named(bank, ["ally"])["ally"]
        assert (alice.name, alice.names, alice.role) == ("Alice", ("alice", "ally", "al"), EntityRole.USER)
        assert ledger.roles(bank).tolist() == list(ledger.entity_rows(bank, ["e1"]).values())

    def test_a_shared_name_gives_the_most_mentioned(self, ledger: Ledger, bank: str) -> None:
        """Where two entities share a name, the one spoken of more often answers to it; both are candidates."""
        both = [make_entity("e1", "apple"), make_entity("e2", "apple")]
        ledger.commit(make_write_set(units=make_units("u"), entities=both, mentions=[("u", "e2")]))
        assert ledger.entities_named(bank, ["apple"])["apple"].id == "e2"
        assert [entity.id for entity in ledger.entity_candidates(bank, ["apple"], 9)["apple"]] == ["e2", "e1"]

    def test_candidates_share_a_token_or_are_one_edit_away(self, ledger: Ledger, bank: str) -> None:
        """Resolution sees near names, the exact one first, and nothing that merely exists."""
        names = ["alice", "alice chen", "malice", "office", "bob", "li", "li wei"]
        ledger.commit(make_write_set(entities=[make_entity(f"e-{name}", name) for name in names]))
        found = ledger.entity_candidates(bank, ["alice", "li", "zoe"], 10)
        assert [entity.names[0] for entity in found["alice"]] == ["alice", "alice chen", "malice"]
        assert [entity.names[0] for entity in found["li"]] == ["li", "li wei"]
        assert found["zoe"] == []
        assert len(ledger.entity_candidates(bank, ["alice"], 2)["alice"]) == 2
        assert ledger.entity_candidates(bank, ["alice"], 0) == {"alice": []}

    def test_a_token_everybody_shares_is_not_followed(self, ledger: Ledger, bank: str) -> None:
        """Among very many "person ..." entities only names near the one asked for are candidates, itself first."""
        many = [make_entity(f"e{n}", f"person {n * 1000:07}") for n in range(600)]
        ledger.commit(make_write_set(entities=many))
        found = ledger.entity_candidates(bank, ["person", "person 0007000"], 5)
        assert found["person"] == []
        assert found["person 0007000"][0].id == "e7"
        assert len(found["person 0007000"]) == 5

    def test_entities_of_units_come_by_name(self, ledger: Ledger, bank: str) -> None:
        """Each unit's entities are listed in order of their names; units without any are left out."""
        ledger.commit(rich_write_set())
        ledger.commit(make_write_set(1, units=make_units("u3")))
        rows = ledger.row_ids(bank, ["u1", "u2", "u3"])
        found = ledger.entities_of(bank, np.array(list(rows.values())))
        named = {row: [entity.name for entity in entities] for row, entities in found.items()}
        assert named == {rows["u1"]: ["Acme", "Alice"], rows["u2"]: ["Alice"]}
        assert ledger.entity_rows(bank, ["e1", "ghost"]).keys() == {"e1"}

    def test_columns_describe_units(self, ledger: Ledger, bank: str) -> None:
        """The columns recall filters by carry the units' times, type, validity, cost and tags."""
        span = Interval(at(-2), at(-1))
        dated = make_unit("u1", "two words", fact_type=FactType.EXPERIENCE, hours=3, tags=("a",))
        ledger.commit(
            make_write_set(
                units=[with_vector(replace(dated, occurred=span)), with_vector(make_unit("u2"))],
                events=[make_event("u2", CLOSED, 4)],
            )
        )
        columns = ledger.columns(bank, 0)
        rows = ledger.row_ids(bank, ["u1", "u2"])
        assert columns.ids.tolist() == [rows["u1"], rows["u2"]]
        assert columns.types.tolist() == [list(FactType).index(FactType.EXPERIENCE), 0]
        assert columns.starts.tolist() == [to_micros(span.start), UNDATED]
        assert columns.ends.tolist() == [to_micros(span.end), UNDATED]
        assert columns.mentioned.tolist() == [to_micros(at(3)), to_micros(at(0))]
        assert columns.closed.tolist() == [NEVER, to_micros(at(4))]
        assert columns.tokens.tolist() == [2, 2]
        assert columns.tags == [("a",), ()]
        assert columns.ids.dtype == columns.closed.dtype == np.int64

    def test_feeds_tell_what_is_new_since_a_revision(self, ledger: Ledger, bank: str) -> None:
        """An index that reached revision r gets exactly what was committed after r."""
        ledger.commit(rich_write_set())
        late = Link("u3", "u1", LinkType.TEMPORAL, 0.25)
        ledger.commit(
            replace(
                make_write_set(1, units=make_units("u3"), mentions=[("u3", "e1"), ("u2", "e2")]),
                links=(late,),
            )
        )
        rows, names = ledger.row_ids(bank, ["u1", "u2", "u3"]), ledger.entity_rows(bank, ["e1", "e2"])
        assert ledger.columns(bank, 1).ids.tolist() == [rows["u3"]]
        ids, vectors = ledger.vectors(bank, 1)
        assert (ids.tolist(), vectors.shape) == ([rows["u3"]], (1, DIMENSION))
        assert vectors.dtype == np.float32
        assert vectors[0] == pytest.approx(make_vector("u3"))
        assert ledger.texts(bank, 1)[1] == ["fact u3"]
        units, edges, mentions = ledger.graph(bank, 1)
        assert units.tolist() == [rows["u3"]]
        assert (edges.sources.tolist(), edges.targets.tolist()) == ([rows["u3"]], [rows["u1"]])
        assert (edges.codes.tolist(), edges.weights.tolist()) == (
            [LINK_CODES[LinkType.TEMPORAL, None]],
            [0.25],
        )
        pairs = list(zip(mentions.units.tolist(), mentions.entities.tolist(), strict=True))
        assert pairs == [(rows["u2"], names["e2"]), (rows["u3"], names["e1"])]
        assert everything_of(ledger)[0] == 2
        assert len(ledger.columns(bank, 2).ids) == len(ledger.graph(bank, 2)[1].sources) == 0

    def test_a_validity_event_moves_columns_only(self, ledger: Ledger, bank: str) -> None:
        """Closing a unit reports its columns again, but not its text, vector or links; an amendment none of them."""
        ledger.commit(make_write_set(units=make_units("u1", "u2")))
        ledger.commit(make_write_set(1, events=[make_event("u1", CLOSED, 1)]))
        ledger.commit(make_write_set(2, events=[make_event("u2", AMENDED, 1)]))
        assert ledger.columns(bank, 1).ids.tolist() == [ledger.row_ids(bank, ["u1"])["u1"]]
        assert len(ledger.columns(bank, 2).ids) == 0
        assert ledger.texts(bank, 1)[1] == []
        assert len(ledger.vectors(bank, 1)[0]) == 0
        assert len(ledger.graph(bank, 1)[0]) == 0

    def test_the_embedder_is_recorded(self, ledger: Ledger, bank: str) -> None:
        """A bank remembers its embedder; recording it alone is no commit."""
        assert ledger.set_embedder(bank, make_embedder(), NO_IDS, NO_VECTORS) == 0
        assert ledger.bank(bank, create=False).embedder == make_embedder()
        with pytest.raises(InvalidRequest):
            ledger.commit(make_write_set(units=[with_vector(make_unit("u"), DIMENSION + 1)]))

    def test_embedding_anew_replaces_vectors(self, ledger: Ledger, bank: str) -> None:
        """After reindex with another model the feed gives the new vectors once, and only them."""
        ledger.commit(make_write_set(units=make_units("u1", "u2")))
        ids = ledger.columns(bank, 0).ids
        longer = np.eye(2, DIMENSION + 2, dtype=np.float32)
        other = make_embedder("other", DIMENSION + 2)
        assert ledger.set_embedder(bank, other, ids, longer) == 2
        found, vectors = ledger.vectors(bank, 1)
        assert found.tolist() == ids.tolist()
        assert vectors.tolist() == longer.tolist()
        assert len(ledger.vectors(bank, 2)[0]) == len(ledger.columns(bank, 1).ids) == 0
        assert ledger.bank(bank, create=False).embedder == other
        ledger.commit(make_write_set(2, units=[with_vector(make_unit("u3"), DIMENSION + 2)]))

    def test_half_a_re_embedding_is_refused(self, ledger: Ledger, bank: str) -> None:
        """A bank never ends up with vectors of two lengths."""
        ledger.commit(make_write_set(units=make_units("u1", "u2")))
        before = everything_of(ledger)
        for ids in (ledger.columns(bank, 0).ids[:1], NO_IDS):
            with pytest.raises(InvalidRequest):
                ledger.set_embedder(bank, make_embedder("o", 6), ids, np.ones((len(ids), 6), np.float32))
        assert everything_of(ledger) == before
        assert ledger.bank(bank, create=False).embedder is None
