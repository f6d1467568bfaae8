"""Opening a bank: data that a question needs is read when it is needed, with the same result."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hindsight_integrations import Hindsight, HindsightConfig, MemoryBank, Message
from hindsight_integrations.bank.context import BankContext
from hindsight_integrations.config import KeywordBackend, StorageConfig, VectorBackend
from hindsight_integrations.indexes import exact
from hindsight_integrations.indexes.bank_view import BankView
from hindsight_integrations.indexes.spreading_activation import hub_entities
from hindsight_integrations.ledger.feed import Feed

NAMED = "What did Marta Keller repair?"
TALK = [
    Message(text, speaker, f"2024-05-{day:02}T10:00", id=f"m{day}")
    for day, (speaker, text) in enumerate(
        [
            ("Alice", "Marta Keller repaired the old ferry in Porto."),
            ("Bob", "The ferry in Porto sails again on Sundays."),
            ("Alice", "Ines Duarte paid Marta Keller for the repair."),
            ("Bob", "Ines Duarte keeps bees behind the lighthouse."),
        ],
        start=1,
    )
]


def facts(count: int) -> list[dict[str, Any]]:
    """Facts that mention a hub, and one other person each."""
    return [
        {
            "what": f"Harbor Club lent Person{number} Name{number} boat {number}.",
            "entities": [
                {"text": "Harbor Club", "type": "ORGANIZATION"},
                {"text": f"Person{number} Name{number}", "type": "PERSON"},
            ],
        }
        for number in range(count)
    ]


@pytest.fixture
def graph_reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The revision from which links and mentions were read, for each read."""
    reads: list[int] = []
    real = Feed.graph

    def graph(self: Feed, since: int) -> Any:
        reads.append(since)
        return real(self, since)

    monkeypatch.setattr(Feed, "graph", graph)
    return reads


def told_before(engine: Hindsight) -> None:
    """A bank that contains the talk, closed again."""
    engine.bank("alice").retain(TALK, thread="t")
    engine.close()


def graph_of(bank: MemoryBank) -> Any:
    return bank.asynchronous._context.projection.view().graph


def test_the_graph_is_read_when_it_is_first_walked(
    opener: Callable[..., Hindsight], tmp_path: Path, graph_reads: list[int]
) -> None:
    """Neither opening, retaining nor a question without a name reads the graph; one with a name reads it once."""
    told_before(opener(tmp_path))
    bank = opener(tmp_path).bank("alice")
    assert bank.recall("what sails again on sundays").units
    bank.retain(
        [Message("The lighthouse was painted white.", "Bob", "2024-05-09T10:00", id="m9")], thread="t"
    )
    assert graph_reads == []
    before = {item.unit.text for item in bank.recall(NAMED).units if "graph" in item.channels}
    assert any("Marta Keller" in text for text in before)
    assert graph_reads == [0]
    bank.retain([Message("Marta Keller sold her anvil.", "Bob", "2024-05-10T10:00", id="m10")], thread="t")
    after = {item.unit.text for item in bank.recall(NAMED).units if "graph" in item.channels}
    assert any("sold her anvil" in text for text in after - before)
    assert graph_reads[0] == 0
    assert 0 not in graph_reads[1:]


def test_a_graph_read_late_is_the_graph_that_was_followed(
    opener: Callable[..., Hindsight], tmp_path: Path
) -> None:
    """A graph that was updated from the first memory on and one read after merges and erasures are equal."""
    engine = opener(tmp_path)
    bank = engine.bank("alice")
    assert graph_of(bank).counts() == (0, 0, 0, 0)
    created = bank.retain([Message("Notes.", "Alice", "2024-05-01", id="n")], facts=facts(12)).unit_ids
    bank.retain(TALK, thread="t")
    bank.forget(unit=created[3])
    one, other = (bank.entities.list(f"Person{number}")[0].id for number in (4, 5))
    bank.entities.merge(one, other)
    followed = told(bank)
    engine.close()
    again = opener(tmp_path).bank("alice")
    assert told(again) == followed


def told(bank: MemoryBank) -> list[Any]:
    """Everything that a graph and the hubs contain about a bank."""
    view = bank.asynchronous._context.projection.view()
    graph, units = view.graph, view.columns.ids
    links, mentions = graph.links(units), graph.entities_of(units)
    arrays = (links.sources, links.targets, links.codes, links.weights, mentions.units, mentions.entities)
    return [graph.counts(), view.hubs.tolist(), *(array.tolist() for array in arrays)]


def test_hubs_are_those_of_the_graph(opener: Callable[..., Hindsight], tmp_path: Path) -> None:
    """The hubs from the ledger's counts are those from counting the graph's edges, after each kind of change."""
    engine = opener(tmp_path)
    bank = engine.bank("alice")
    created = bank.retain([Message("Notes.", "Alice", "2024-05-01", id="n")], facts=facts(30)).unit_ids
    seen = [hubs_as_counted(bank)]
    bank.retain(TALK, thread="t")
    seen.append(hubs_as_counted(bank))
    names = [bank.entities.list(f"Person{number} ")[0].id for number in range(8)]
    for name in names[1:]:
        bank.entities.merge(names[0], name)
    seen.append(hubs_as_counted(bank))
    for unit in created[:26]:
        bank.forget(unit=unit)
    seen.append(hubs_as_counted(bank))
    assert len({tuple(hubs) for hubs in seen}) >= 3


def hubs_as_counted(bank: MemoryBank) -> list[int]:
    """The view's hubs, after comparing them with the graph's edges."""
    view = bank.asynchronous._context.projection.view()
    mentions = view.graph.entities_of(view.columns.ids)
    entities, degrees = np.unique(mentions.entities, return_counts=True)
    with view.ledger.feed(view.bank) as feed:  # type: ignore[attr-defined]
        roles = feed.roles()
    expected = hub_entities(entities, degrees, len(view.columns), roles)
    assert view.hubs.tolist() == expected.tolist()
    hubs: list[int] = expected.tolist()
    return hubs


def test_many_may_be_the_first_to_ask(
    opener: Callable[..., Hindsight], tmp_path: Path, graph_reads: list[int]
) -> None:
    """Eight threads that name somebody, while another one retains, read the graph once and all get their answer."""
    told_before(opener(tmp_path))
    bank = opener(tmp_path).bank("alice")

    def ask(_: int) -> bool:
        return any("graph" in item.channels for item in bank.recall(NAMED).units)

    def write() -> None:
        for number in range(5):
            # with one more memory Marta is a hub, which transmits no activation
            text = f"Ivo Brandt bought nail number {number}."
            bank.retain([Message(text, "Bob", "2024-06-01T10:00", id=f"w{number}")], thread="t")

    with ThreadPoolExecutor(9) as pool:
        writing = pool.submit(write)
        assert all(pool.map(ask, range(24)))
        writing.result()
    assert graph_reads.count(0) == 1
    assert graph_of(bank).counts()[0] == len(TALK) + 5


@pytest.mark.parametrize("before", [0, len(TALK)])
def test_a_walk_finds_nothing_newer_than_what_recall_looks_at(
    opener: Callable[..., Hindsight], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: int
) -> None:
    """A commit between the view of the bank and the walk in its graph adds no memory to the answer and does not break it."""
    bank = opener(tmp_path).bank("alice")
    if before:
        bank.retain(TALK[:before], thread="t")
    seen = bank.asynchronous._context.projection.view()
    bank.retain([Message("Marta Keller sold her anvil.", "Bob", "2024-05-10T10:00", id="m10")], thread="t")

    async def as_it_was(*_: object) -> BankView:
        return seen

    monkeypatch.setattr(BankContext, "current_view", as_it_was)
    found = bank.recall(NAMED)
    assert len(found.units) == before
    assert not any("anvil" in item.unit.text for item in found.units)


SMALL_FILES = [VectorBackend.EXACT, VectorBackend.CHROMA]


@pytest.fixture(params=SMALL_FILES)
def filed(
    request: pytest.FixtureRequest, opener: Callable[..., Hindsight], monkeypatch: pytest.MonkeyPatch
) -> Callable[[Path], Hindsight]:
    """Opens engines that write mapped vectors from the first one on."""
    monkeypatch.setattr(exact, "TAIL_ROWS", 1)
    config = HindsightConfig(storage=StorageConfig(vectors=request.param, keywords=KeywordBackend.FTS5))
    return lambda path: opener(path, config=config)


def test_vectors_are_mapped_and_not_read(
    filed: Callable[[Path], Hindsight], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reopened bank answers as before, and only the probed vector is read from the ledger."""
    engine = filed(tmp_path)
    engine.bank("alice").retain(TALK, thread="t")
    before = [item.unit.id for item in engine.bank("alice").recall("bees behind the lighthouse").units]
    engine.close()
    read: list[int] = []
    real = Feed.vectors

    def vectors(self: Feed, since: int) -> Iterator[Any]:
        for ids, matrix in real(self, since):
            read.extend(ids.tolist())
            yield ids, matrix

    monkeypatch.setattr(Feed, "vectors", vectors)
    again = filed(tmp_path).bank("alice")
    assert [item.unit.id for item in again.recall("bees behind the lighthouse").units] == before
    assert read == []


@pytest.mark.directory
def test_an_erased_vector_is_in_no_mapped_file(filed: Callable[[Path], Hindsight], tmp_path: Path) -> None:
    """After `forget`, also of a whole bank, no file of the scorer contains an erased vector."""
    engine = filed(tmp_path)
    bank = engine.bank("alice")
    units = bank.retain(TALK, thread="t").unit_ids
    ledger = bank.asynchronous._context.services.ledger
    rows = ledger.units.row_ids("alice", units)
    vectors = ledger.units.vectors("alice", np.array(list(rows.values())))
    gone = vectors[rows[units[0]]].tobytes()
    assert holding(tmp_path, gone)
    assert bank.forget(unit=units[0]).files_clean
    assert holding(tmp_path, gone) == []
    assert holding(tmp_path, vectors[rows[units[1]]].tobytes())
    engine.forget_bank("alice")
    assert [path for path in (tmp_path / exact.FOLDER).iterdir() if path.is_file()] == []


def holding(data: Path, needle: bytes) -> list[str]:
    """The scorer's files that contain these bytes."""
    return [path.name for path in (data / exact.FOLDER).iterdir() if needle in path.read_bytes()]


@pytest.mark.directory
@pytest.mark.parametrize("suffix", [".vectors", ".ids", ".json"])
def test_damaged_or_deleted_files_are_made_again(
    filed: Callable[[Path], Hindsight], tmp_path: Path, suffix: str
) -> None:
    """The folder of mapped vectors can be deleted or damaged like any index: it is rebuilt from the ledger."""
    engine = filed(tmp_path)
    engine.bank("alice").retain(TALK, thread="t")
    before = [item.unit.id for item in engine.bank("alice").recall("bees behind the lighthouse").units]
    engine.close()
    for path in (tmp_path / exact.FOLDER).iterdir():
        if path.suffix == suffix:
            path.write_bytes(bytes(path.stat().st_size))
    again = filed(tmp_path)
    assert [item.unit.id for item in again.bank("alice").recall("bees behind the lighthouse").units] == before
    assert again.doctor().failures == {}
