"""Manual changes of entities: merge, split, alias, undo; answers and later retains follow them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from table import every_row

from hindsight_integrations import Hindsight, InvalidRequest, MemoryBank, Message

PEOPLE = ["Robert Miller", "Bob", "Captain"]


def retain_each(bank: MemoryBank, *texts: str) -> None:
    """Retain facts with the entities that an extraction would name: people, boats and places."""
    start = bank.count()
    for place, text in enumerate(texts, start):
        found = [{"text": name, "type": "PERSON"} for name in PEOPLE if name in text]
        found += [{"text": "Thunder", "type": "PRODUCT"}] if "Thunder" in text else []
        found += [{"text": "Lisbon", "type": "LOCATION"}] if "Lisbon" in text else []
        message = Message(text, "Narrator", f"2024-05-{place + 1:02}", id=f"m{place}")
        bank.retain([message], facts=[{"what": text, "sources": [f"m{place}"], "entities": found}])


@pytest.fixture
def bank(light: Hindsight) -> MemoryBank:
    bank = light.bank("b")
    retain_each(
        bank, "Robert Miller sails the Thunder.", "Bob bought rope in Lisbon.", "Bob painted the Thunder red."
    )
    return bank


def names(bank: MemoryBank) -> dict[str, int]:
    return {entity.name: entity.mentions for entity in bank.entities.list() if entity.name != "Narrator"}


def about(bank: MemoryBank, query: str) -> dict[str, tuple[str, ...]]:
    return {item.unit.text: item.entities for item in bank.recall(query).units}


def test_entities_are_listed(bank: MemoryBank) -> None:
    """Entities have type, names and mention counts, the most mentioned first; a prefix filters them."""
    assert names(bank) == {"Bob": 2, "Thunder": 2, "Robert Miller": 1, "Lisbon": 1}
    assert [(e.name, e.names) for e in bank.entities.list("ROB")] == [("Robert Miller", ("robert miller",))]
    assert len(bank.entities.list(limit=2)) == 2
    with pytest.raises(InvalidRequest, match="limit"):
        bank.entities.list(limit=0)


def test_two_merged_entities_are_one_and_can_be_parted(bank: MemoryBank) -> None:
    """After a merge both names refer to one entity, in memories, graph and later retains; undo restores everything."""
    before = names(bank), about(bank, "rope in Lisbon")
    change = bank.entities.merge("Robert Miller", "Bob")
    assert names(bank) == {"Robert Miller": 3, "Thunder": 2, "Lisbon": 1}
    assert "Robert Miller" in next(iter(about(bank, "rope in Lisbon").values()))
    bank.entities.undo(change.id)
    assert (names(bank), about(bank, "rope in Lisbon")) == before
    assert [c.undone for c in bank.entities.changes()] == [True]
    bank.entities.merge("Robert Miller", "Bob")
    retain_each(bank, "Bob sold the Thunder.")
    assert names(bank)["Robert Miller"] == 4


def test_the_graph_follows_a_merge(bank: MemoryBank) -> None:
    """The graph follows the merge and its undo without reopening."""

    def degrees() -> list[int]:
        view = bank.asynchronous._context.projection.view()
        rows = view.ledger.entities.row_ids("b", [entity.id for entity in bank.entities.list()])
        counts = {key: len(view.graph.units_of(np.array([row])).units) for key, row in rows.items()}
        return [counts[entity.id] for entity in bank.entities.list()]

    assert degrees() == [entity.mentions for entity in bank.entities.list()]
    change = bank.entities.merge("Robert Miller", "Bob")
    assert degrees() == [entity.mentions for entity in bank.entities.list()]
    bank.entities.undo(change.id)
    assert degrees() == [entity.mentions for entity in bank.entities.list()]


def test_a_split_stays_split(bank: MemoryBank) -> None:
    """A split moves the mentions of the name, and later mentions belong to the new entity."""
    merged = bank.entities.merge("Robert Miller", "Bob")
    change = bank.entities.split("Robert Miller", names=["Bob"])
    assert names(bank) == {"Bob": 2, "Thunder": 2, "Robert Miller": 1, "Lisbon": 1}
    retain_each(bank, "Bob sold the Thunder.", "Robert Miller wept.")
    assert (names(bank)["Bob"], names(bank)["Robert Miller"]) == (3, 2)
    with pytest.raises(InvalidRequest, match=f"change {change.id} depends on it"):
        bank.entities.undo(merged.id)
    bank.entities.undo(change.id)
    assert names(bank)["Robert Miller"] == 5


def test_an_alias_is_understood_later(bank: MemoryBank) -> None:
    """A manually added alias refers to its entity from then on, until it is undone."""
    change = bank.entities.alias("Robert Miller", "Captain")
    retain_each(bank, "Captain steered the Thunder.")
    assert names(bank)["Robert Miller"] == 2
    bank.entities.undo(change.id)
    assert [(c.kind, c.undone) for c in bank.entities.changes()] == [("alias", True)]
    retain_each(bank, "Captain slept.")
    assert (names(bank)["Robert Miller"], names(bank)["Captain"]) == (2, 1)
    with pytest.raises(InvalidRequest, match=r"entities\.merge"):
        bank.entities.alias("Robert Miller", "Bob")


def test_changes_survive_reopening(opener: Callable[..., Hindsight], tmp_path: Path) -> None:
    """The ledger contains the changes and their audit log."""
    with opener(tmp_path) as engine:
        retain_each(engine.bank("b"), "Robert Miller sails.", "Bob bought rope.")
        change = engine.bank("b").entities.merge("Robert Miller", "Bob")
    bank = opener(tmp_path).bank("b")
    assert bank.entities.changes() == [change]
    assert names(bank) == {"Robert Miller": 2}
    bank.entities.undo(change.id)
    assert names(bank) == {"Robert Miller": 1, "Bob": 1}


@every_row(
    "call",
    [
        lambda bank: bank.entities.merge("Bob", "Nobody"),
        lambda bank: bank.entities.merge("Bob", "bob"),
        lambda bank: bank.entities.split("Bob", names=["Bob"]),
        lambda bank: bank.entities.split("Bob", names=["Rob"]),
        lambda bank: bank.entities.split("Bob", names="Bob"),
        lambda bank: bank.entities.alias("Bob", "  "),
        lambda bank: bank.entities.undo(77),
    ],
)
def test_what_cannot_be_done_changes_nothing(bank: MemoryBank, call: Any) -> None:
    """An invalid change is rejected with its reason, and no entity changes."""
    before = bank.entities.list()
    with pytest.raises(InvalidRequest):
        call(bank)
    assert bank.entities.list() == before
