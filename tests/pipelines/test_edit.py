"""One memory at a time: looked at, corrected, and found by what it says now."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hindsight_integrations import Hindsight, InvalidRequest, Message

TALK = [
    Message("Yesterday Alice bought a red kayak from Harbor Sports.", "Alice", "2024-05-03T10:00", id="m1"),
    Message("Alice named the kayak Thunder.", "Bob", "2024-05-03T10:01", id="m2"),
]


def test_a_corrected_memory_is_found_by_what_it_says_now(
    opener: Callable[..., Hindsight], tmp_path: Path
) -> None:
    """New text is found by meaning, words and time, the old by none of them, after a restart too."""
    engine = opener(tmp_path)
    bank = engine.bank("alice")
    first, second = bank.retain(TALK).unit_ids
    edited = bank.edit(
        first,
        text="Alice rented a purple bicycle.",
        occurred=("2021-03-01", "2021-03-02"),
        tags=["t"],
        metadata={"k": 1},
    )
    for _ in range(2):
        assert bank.get(first) == edited
        assert (edited.id, edited.sources, edited.tags, dict(edited.metadata)) == (
            first,
            ("m1",),
            ("t",),
            {"k": "1"},
        )
        found = bank.recall("Who rented a purple bicycle on March 1, 2021?").units[0]
        assert found.unit == edited
        assert {"semantic", "keyword", "temporal"} <= set(found.channels)
        assert all("keyword" not in i.channels for i in bank.recall("red harbor").units if i.unit.id == first)
        assert bank.get(second).text.endswith("Alice named the kayak Thunder.")
        engine.close()
        engine = opener(tmp_path)
        bank = engine.bank("alice")
    assert engine.doctor().failures == {}


def test_an_edit_is_audited_without_the_old_text(light: Hindsight) -> None:
    """The log says when which fields changed; the same conversation again does not undo the correction."""
    bank = light.bank("alice")
    first, _ = bank.retain(TALK).unit_ids
    bank.edit(first, text="Alice rented a bicycle.")
    bank.edit(first, tags=["x"])
    assert [fields for _, fields in bank.maintenance.edits(first)] == [("text",), ("tags",)]
    assert bank.retain(TALK).created == 0
    assert bank.get(first).text == "Alice rented a bicycle."


def test_tags_alone_cost_no_embedding(light: Hindsight) -> None:
    """Correcting tags leaves text, time and links alone, and filters see them at once."""
    bank = light.bank("alice")
    _, second = bank.retain(TALK).unit_ids
    bank.edit(second, tags=["boats"])
    assert [i.unit.id for i in bank.recall("kayak", tags=["boats"], tags_match="any_strict").units] == [
        second
    ]


@pytest.mark.parametrize(
    "changes", [{}, {"text": " "}, {"tags": "x"}, {"occurred": ("2024-05-02", "2024-05-01")}]
)
def test_a_senseless_edit_is_refused(light: Hindsight, changes: Any) -> None:
    """Nothing to change, empty text, bad tags or a backward time: an error, and the memory is as it was."""
    bank = light.bank("alice")
    first, _ = bank.retain(TALK).unit_ids
    before = bank.get(first)
    with pytest.raises(InvalidRequest):
        bank.edit(first, **changes)
    assert (bank.get(first), bank.maintenance.edits(first)) == (before, [])


def test_an_unknown_id_is_named(light: Hindsight) -> None:
    """Asking for, or correcting, a memory that is not there names the id."""
    bank = light.bank("alice")
    for call in (bank.get, bank.maintenance.edits, lambda key: bank.edit(key, text="x")):
        with pytest.raises(InvalidRequest, match="nobody"):
            call("nobody")
