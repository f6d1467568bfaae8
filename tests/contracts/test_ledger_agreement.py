"""The SQLite ledger in memory and on disk gives the same results, whatever is written."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory

from builders import (
    BANK,
    make_entity,
    make_event,
    make_item,
    make_unit,
    make_write_set,
    with_vector,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from ledger_support import changes, commit

from hindsight_integrations.errors import HindsightError
from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.model.arrays import IntArray
from hindsight_integrations.model.entities import EntityRole
from hindsight_integrations.model.links import Link, LinkType
from hindsight_integrations.model.records import Record, RecordKind
from hindsight_integrations.model.units import ValidityKind
from hindsight_integrations.model.writes import WriteSet

UNITS, ITEMS = ["u1", "u2", "u3", "u4"], ["i1", "i2"]
ENTITIES = ["e1", "e2", "e3"]
NAMES = ["alice", "alice chen", "malice", "bob"]

UNIT_IDS, ENTITY_IDS = st.sampled_from(UNITS), st.sampled_from(ENTITIES)
HOURS = st.integers(0, 5)
RECORDS = st.lists(
    st.builds(
        lambda kind, value, category, stated: Record(kind, value, category, stated=stated),
        st.sampled_from([RecordKind.EXPENSE, RecordKind.TASK]),
        st.sampled_from([Decimal("3.10"), "buy milk"]),
        st.sampled_from(["", "tea", "Tea", "food"]),
        st.sampled_from(["", "tea", "food (tea)"]),
    ),
    max_size=2,
)
UNIT_WRITES = st.builds(
    lambda key, hours, records: with_vector(replace(make_unit(key, hours=hours), records=tuple(records))),
    UNIT_IDS,
    HOURS,
    RECORDS,
)
ITEM_WRITES = st.builds(
    lambda key, document, number: with_vector(make_item(key, document, number)),
    st.sampled_from(ITEMS),
    UNIT_IDS,
    st.integers(1, 3),
)
ENTITY_WRITES = st.builds(
    lambda key, names, role: make_entity(key, *names, role=role),
    ENTITY_IDS,
    st.lists(st.sampled_from(NAMES), min_size=1, max_size=2),
    st.sampled_from(EntityRole),
)
EVENTS = st.builds(
    make_event,
    st.sampled_from([*UNITS, *ITEMS]),
    st.sampled_from(ValidityKind),
    HOURS,
    by_unit=st.none() | UNIT_IDS,
)
LINKS = st.builds(
    Link,
    UNIT_IDS,
    UNIT_IDS,
    st.sampled_from([LinkType.SEMANTIC, LinkType.TEMPORAL]),
    st.sampled_from([0.25, 0.5, 1.0]),
)
WRITE_SETS = st.builds(
    lambda units, items, entities, mentions, events, links: replace(
        make_write_set(units=[*units, *items], entities=entities, mentions=mentions, events=events),
        links=tuple(links),
    ),
    st.lists(UNIT_WRITES, max_size=3),
    st.lists(ITEM_WRITES, max_size=1),
    st.lists(ENTITY_WRITES, max_size=3),
    st.lists(st.tuples(UNIT_IDS, ENTITY_IDS), max_size=3),
    st.lists(EVENTS, max_size=2),
    st.lists(LINKS, max_size=3),
)


def outcome(ledger: Ledger, writes: WriteSet) -> object:
    """The result of a commit on the current revision: the receipt, or the kind of error."""
    try:
        return commit(ledger, replace(writes, expected_revision=ledger.revision(BANK)))
    except HindsightError as error:
        return type(error)


def contents(ledger: Ledger, since: int) -> object:
    """The whole content of the ledger, with unit and entity ids instead of row ids."""
    units = {row: key for key, row in ledger.units.row_ids(BANK, [*UNITS, *ITEMS]).items()}
    entities = {row: key for key, row in ledger.entities.row_ids(BANK, ENTITIES).items()}

    def named(rows: IntArray, names: dict[int, str]) -> list[str]:
        return [names[row] for row in rows.tolist()]

    new = changes(ledger, BANK, since)
    columns, vectors, texts, (added, edges, mentions) = new.columns, new.vectors, new.texts, new.graph
    ends = zip(named(edges.sources, units), named(edges.targets, units), strict=True)
    return (
        (named(columns.ids, units), columns.closed.tolist(), columns.mentioned.tolist(), columns.tags),
        (named(columns.gaps[:, 0], units), columns.gaps[:, 1:].tolist()),
        (
            named(vectors[0], units),
            vectors[1].tolist(),
            named(texts[0], units),
            texts[1],
            named(added, units),
        ),
        sorted(zip(ends, edges.codes.tolist(), edges.weights.tolist(), strict=True)),
        sorted(zip(named(mentions.units, units), named(mentions.entities, entities), strict=True)),
        (named(new.roles, entities), [ledger.units.validity(BANK, key) for key in [*UNITS, *ITEMS]]),
        (ledger.entities.named(BANK, NAMES), ledger.entities.candidates(BANK, NAMES, 2)),
        {units[row]: found for row, found in ledger.entities.of_units(BANK, columns.ids).items()},
        {units[row]: unit for row, unit in ledger.units.get(BANK, columns.ids).items()},
        (
            ledger.records.categories(BANK),
            named(ledger.records.rows(BANK, category="tea"), units),
            ledger.units.damaged(BANK),
        ),
        (
            named(columns.heads[columns.heads > 0], units),
            {
                units[row]: [units[item] for item in own]
                for row, own in ledger.units.items_of(BANK, columns.ids).items()
            },
        ),
    )


@settings(max_examples=30, deadline=None)
@given(sequence=st.lists(WRITE_SETS, max_size=5))
def test_memory_and_disk_hold_the_same(sequence: list[WriteSet]) -> None:
    """Receipts, errors, feeds and reads are equal, before and after a restart, so pipeline tests can run in memory."""
    with TemporaryDirectory() as folder:
        memory, disk = Ledger.open(":memory:"), Ledger.open(Path(folder))
        for ledger in (memory, disk):
            ledger.create_bank(BANK)
        for writes in sequence:
            assert outcome(memory, writes) == outcome(disk, writes)
            assert outcome(memory, writes) == outcome(disk, writes)
        disk.close()
        disk = Ledger.open(Path(folder))
        for since in range(memory.revision(BANK) + 1):
            assert contents(memory, since) == contents(disk, since)
        for ledger in (memory, disk):
            ledger.close()
