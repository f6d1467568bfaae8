"""Composed documents: their items at a time, in order, and within a budget."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import numpy as np
import pytest
from builders import BANK, at, make_event, make_item, make_unit, make_units, make_write_set, with_vector
from hypothesis import given
from hypothesis import strategies as st
from ledger_support import CLOSED, RESTORED, changes, commit
from table import every_row

from hindsight_integrations.indexes.columns import empty_columns, updated
from hindsight_integrations.indexes.documents import DocumentItems, as_they_stand, read_items, valid_items
from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.model.arrays import Hits
from hindsight_integrations.model.documents import document_text, in_served_order
from hindsight_integrations.model.erasure import Erasure
from hindsight_integrations.model.recalled import ServedItems
from hindsight_integrations.models.tokens import default_token_counter
from hindsight_integrations.recall.documents import ServedDocument

ITEMS = [
    make_item("i1", "d", 1, "two shirts", field="Clothes"),
    make_item("i2", "d", 2, "passport"),
    make_item("i3", "d", 3, "a hat", field="clothes", hours=2),
]


@pytest.fixture
def ledger() -> Ledger:
    """A list "d" of hour 0 with two items and one from hour 2; and a plain fact "f"."""
    opened = Ledger.open(":memory:")
    opened.create_bank(BANK)
    units = [with_vector(make_unit("d", "Packing list")), *map(with_vector, ITEMS), *make_units("f")]
    commit(opened, make_write_set(units=units))
    return opened


def served(ledger: Ledger, as_of: datetime | None = None) -> dict[str, list[str]]:
    """Return the ids of the items served with each document, at a time or now."""
    columns = updated(empty_columns(), changes(ledger).columns, np.empty(0, np.int64))
    names = ledger.units.unit_ids(BANK, columns.ids)
    found = DocumentItems.at(columns, as_of).rows_of(columns.ids)
    return {names[head]: [names[item] for item in items] for head, items in found.items()}


def test_items_are_grouped_by_field_in_the_order_in_which_fields_appeared() -> None:
    """However a field is spelt; within a field, by number."""
    assert [item.id for item in in_served_order(reversed(ITEMS))] == ["i1", "i3", "i2"]


@every_row(
    ("left_out", "last"),
    [(0, "- passport"), (1, "[cut: 1 more item]"), (2, "[cut: 2 more items]")],
    ids=["whole", "one", "two"],
)
def test_a_document_is_its_head_and_a_line_for_each_item(left_out: int, last: str) -> None:
    """A document is its head and one line per item, with the number of omitted items."""
    lines = document_text("Packing list", ITEMS[:2], left_out=left_out).splitlines()
    assert lines[:3] == ["Packing list", "- Clothes: two shirts", "- passport"]
    assert lines[-1] == last


def test_at_a_moment_the_items_of_then_are_served(ledger: Ledger) -> None:
    """At a time, the items valid then are served."""
    events = [make_event("i1", CLOSED, 3), make_event("i2", CLOSED, 4)]
    commit(ledger, make_write_set(1, events=events))
    commit(ledger, make_write_set(2, events=[make_event("i1", RESTORED, 5)]))
    moments = {hours: served(ledger, at(hours)) for hours in (1, 2, 3, 4, 5)}
    assert moments == {
        1: {"d": ["i1", "i2"]},
        2: {"d": ["i1", "i2", "i3"]},
        3: {"d": ["i2", "i3"]},
        4: {"d": ["i3"]},
        5: {"d": ["i1", "i3"]},
    }
    assert served(ledger) == {"d": ["i1", "i3"]}


def test_a_document_that_ended_is_served_with_what_held_until_then(ledger: Ledger) -> None:
    """With history the list has its last items; items removed before are not shown."""
    commit(ledger, make_write_set(1, events=[make_event("i2", CLOSED, 3)]))
    ending = [make_event(unit, CLOSED, 5) for unit in ("d", "i1", "i3")]
    commit(ledger, make_write_set(2, events=ending))
    assert served(ledger) == {"d": ["i1", "i3"]}


def test_an_item_without_a_valid_document_stands_by_itself(ledger: Ledger) -> None:
    """An item whose document ended or was forgotten is served separately."""
    commit(ledger, make_write_set(1, events=[make_event("d", CLOSED, 5), make_event("i1", CLOSED, 5)]))
    assert served(ledger) == {"d": ["i1"]}
    ledger.erasure.erase(BANK, Erasure(units=("i1",)))
    assert served(ledger) == {}


def test_a_document_stands_for_its_items_where_the_best_of_them_stood(ledger: Ledger) -> None:
    """The document is returned once, with the score of its best item; other units keep theirs."""
    columns = updated(empty_columns(), changes(ledger).columns, np.empty(0, np.int64))
    row = ledger.units.row_ids(BANK, ["d", "i1", "i3", "f"])
    hits = Hits(np.array([row["i3"], row["f"], row["d"], row["i1"]]), np.array([0.9, 0.8, 0.7, 0.6]))
    whole = DocumentItems.at(columns, None).whole(hits)
    assert (whole.ids.tolist(), whole.scores.tolist()) == ([row["d"], row["f"]], [0.9, 0.8])


def test_what_is_shown_to_a_model_is_the_whole_document(ledger: Ledger) -> None:
    """It contains no removed items; a field stays at its first position. A plain fact is unchanged."""
    commit(ledger, make_write_set(1, events=[make_event("i1", CLOSED, 3)]))
    row = ledger.units.row_ids(BANK, ["d", "f", "i2", "i3"])
    stored = ledger.units.get(BANK, np.array([row["d"], row["f"]]))
    shown = as_they_stand(stored, ledger, BANK)
    assert shown[row["d"]].text == "Packing list\n- clothes: a hat\n- passport"
    assert shown[row["f"]] == stored[row["f"]]
    assert [item.id for item in valid_items([row["d"]], ledger, BANK)[row["d"]]] == ["i3", "i2"]
    held = valid_items([row["d"]], ledger, BANK, held=("i1",))[row["d"]]
    assert [item.id for item in held] == ["i1", "i3", "i2"]
    read = read_items({row["d"]: [row["i2"], row["i3"]]}, ledger, BANK)
    assert [item.id for item in read[row["d"]]] == ["i3", "i2"]


@given(words=st.lists(st.integers(1, 30), min_size=2, max_size=12), budget=st.integers(0, 400))
def test_of_a_document_that_does_not_fit_the_best_items_are_served(words: list[int], budget: int) -> None:
    """The best items that fit are served in document order, with the number of missing ones."""
    counter = default_token_counter()
    items = tuple(
        replace(ITEMS[0], id=f"i{n}", number=n + 1, text="tea " * size) for n, size in enumerate(words)
    )
    best_first = tuple(reversed(range(len(items))))
    cost = counter.count([document_text("List", items)])[0]
    short = ServedDocument("List", ServedItems(items, cost), best_first).within(budget, counter)

    def spent(count: int) -> int:
        return counter.count([document_text("List", items[-count:], left_out=len(items) - count)])[0]

    if short is None:
        assert spent(1) > budget
        return
    assert short.items == items[len(items) - len(short.items) :]
    assert short.left_out == len(items) - len(short.items) > 0
    assert short.tokens == spent(len(short.items)) <= budget
    assert len(short.items) == len(items) - 1 or spent(len(short.items) + 1) > budget
