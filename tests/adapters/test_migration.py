"""Memories are imported from langmem and mem0 with their times."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.store.memory import InMemoryStore
from table import every_row

from hindsight_integrations import Hindsight, InvalidRequest
from hindsight_integrations.migration import (
    aimport_langmem,
    aimport_mem0,
    import_langmem,
    import_mem0,
    moment,
    statement,
)


@pytest.fixture
def langmem_store() -> InMemoryStore:
    """A store with data of langmem's tools, of its manager, and of a profile in a custom schema."""
    store = InMemoryStore()
    store.put(("memories", "alice"), "1", {"content": "Alice's sister Ana moved to Lisbon."})
    store.put(("memories", "alice"), "2", {"kind": "Memory", "content": {"content": "Alice paints barns."}})
    store.put(
        ("memories", "bob"),
        "p",
        {"kind": "UserProfile", "content": {"name": "Bob Okafor", "likes": ["tea", "bees"]}},
    )
    store.put(("memories", "bob"), "empty", {"content": ""})
    store.put(("other", "alice"), "3", {"content": "Alice owns a red kayak."})
    return store


def test_langmem_comes_along_into_the_banks_of_its_users(
    light: Hindsight, langmem_store: InMemoryStore
) -> None:
    """Memories of tools and managers, and profiles, are imported with their times; empty ones are reported."""
    report = import_langmem(langmem_store, light, namespace=("memories",))
    assert (dict(report.banks), report.created, report.known) == ({"alice": 2, "bob": 1}, 3, 0)
    assert [(each.id, each.reason) for each in report.left_out] == [
        ("langmem:memories/bob/empty", "it is empty")
    ]
    (found, *_) = light.bank("alice").recall("Where did Ana move?").units
    item = langmem_store.get(("memories", "alice"), "1")
    assert item is not None
    assert (found.unit.text, found.unit.mentioned_at) == (
        "Alice's sister Ana moved to Lisbon.",
        item.updated_at.replace(microsecond=item.updated_at.microsecond),
    )
    assert found.unit.metadata["namespace"] == "memories/alice"
    assert "Ana" in {entity.name for entity in light.bank("alice").entities.list()}
    profile = light.bank("bob").recall("What does Bob like?").units[0].unit
    assert "likes: bees" in profile.text
    assert profile.metadata["kind"] == "UserProfile"


def test_the_same_import_twice_is_one_memory(light: Hindsight, langmem_store: InMemoryStore) -> None:
    """An item that has changed since replaces its earlier text."""
    bank = light.bank("one")
    first = import_langmem(langmem_store, bank)
    again = import_langmem(langmem_store, bank)
    assert (first.created, again.created, again.known, dict(again.banks)) == (4, 0, 4, {"one": 4})
    langmem_store.put(("other", "alice"), "3", {"content": "Alice owns a blue canoe."})
    assert import_langmem(langmem_store, bank).created == 1
    found = [each.unit.text for each in bank.recall("Which boat does Alice own?").units]
    assert "Alice owns a blue canoe." in found
    assert "Alice owns a red kayak." not in found


def test_a_dry_run_writes_nothing(light: Hindsight, langmem_store: InMemoryStore) -> None:
    """The report lists what would be imported, and into which banks."""
    report = import_langmem(
        langmem_store, light, bank_of=lambda namespace: f"user-{namespace[-1]}", dry_run=True
    )
    assert (dict(report.banks), report.dry_run, light.banks()) == ({"user-alice": 3, "user-bob": 1}, True, [])


@pytest.mark.slow
def test_many_items_come_page_by_page(light: Hindsight) -> None:
    """1,203 items: none is missed between two pages, and none is imported twice; sync and async."""
    store = InMemoryStore()
    for number in range(1_203):
        store.put(("m", "ann"), str(number), {"content": f"Ann bought stamp number {number}."})
    report = asyncio.run(aimport_langmem(store, light))
    assert (report.created, light.bank("ann").count()) == (1_203, 1_203)


MEM0: list[dict[str, Any]] = [
    {
        "id": "a1",
        "memory": "Ann moved to Porto",
        "hash": "h",
        "user_id": "ann",
        "metadata": {"topic": "home", "n": 3},
        "created_at": "2024-07-20T01:30:36.275141-07:00",
        "updated_at": None,
        "categories": ["places"],
    },
    {
        "id": "a2",
        "memory": "Ann is vegetarian",
        "user_id": "ann",
        "created_at": "2024-07-21T10:00:00",
        "updated_at": "2024-08-01T10:00:00",
        "expiration_date": "2020-01-01",
    },
    {
        "id": "b1",
        "memory": "Bob plays chess",
        "agent_id": "coach",
        "created_at": 1_721_000_000,
        "actor_id": "bob",
    },
    {"id": "b2", "data": "Bob lost his keys", "user_id": "bob", "created_at": 1_721_000_000_000},
    {"id": "c1", "memory": "", "user_id": "ann"},
    {"id": "c2", "memory": "Nobody's words"},
    {"memory": "No id", "user_id": "ann"},
]


def test_mem0_comes_along(light: Hindsight) -> None:
    """By user, else agent; times with a zone, without one, and as numbers; metadata keep their types, categories become tags."""
    report = import_mem0({"results": MEM0, "relations": []}, light)
    assert (dict(report.banks), report.created) == ({"ann": 1, "coach": 1, "bob": 1}, 3)
    assert [each.id for each in report.left_out] == ["mem0:a2", "mem0:c1", "mem0:c2", "number 6"]
    assert [
        word in each.reason
        for word, each in zip(["expired", "text", "whose", "id"], report.left_out, strict=True)
    ]
    ann = light.bank("ann").units().units[0]
    assert (ann.text, ann.tags, ann.metadata["n"]) == ("Ann moved to Porto", ("places",), 3)
    assert ann.mentioned_at == datetime(2024, 7, 20, 8, 30, 36, 275141, tzinfo=UTC)
    assert (
        light.bank("coach").units().units[0].mentioned_at == light.bank("bob").units().units[0].mentioned_at
    )
    assert import_mem0(MEM0, light).created == 0


def test_what_was_said_later_ends_what_was_said_before(light: Hindsight) -> None:
    """Whatever the order of the export, memories are retained in the order of their times."""
    later = {"id": "2", "memory": "Ann moved to Oslo.", "user_id": "ann", "created_at": "2024-05-01"}
    earlier = {"id": "1", "memory": "Ann moved to Porto.", "user_id": "ann", "created_at": "2023-05-01"}
    asyncio.run(aimport_mem0([later, earlier], light.asynchronous))
    units = sorted(light.bank("ann").units().units, key=lambda unit: unit.mentioned_at)
    assert [unit.text for unit in units] == ["Ann moved to Porto.", "Ann moved to Oslo."]


@pytest.mark.parametrize("lines", [False, True])
def test_a_file_of_mem0(light: Hindsight, tmp_path: Path, lines: bool) -> None:
    """JSON as written by `json.dump(get_all())`, or one record per line."""
    path = tmp_path / "export.json"
    path.write_text("\n".join(map(json.dumps, MEM0)) if lines else json.dumps({"results": MEM0}))
    assert import_mem0(path, light.bank("all")).created == 4
    assert light.banks() == ["all"]


@every_row("wrong", [{"results": 5}, 5, b"x", {"memory": "x"}])
def test_what_is_no_list_of_memories_is_refused(light: Hindsight, wrong: Any) -> None:
    """The error says what to pass."""
    with pytest.raises(InvalidRequest, match="get_all"):
        import_mem0(wrong, light)


def test_what_cannot_be_retained_is_reported_and_stops_nothing(light: Hindsight) -> None:
    """One record has far too much metadata: the others are imported."""
    fat = {"id": "f", "memory": "Ann has a shed.", "user_id": "ann", "metadata": {"x": "y" * 100_000}}
    report = import_mem0([MEM0[0], fat, "no mapping"], light)  # type: ignore[list-item]
    assert (report.created, [each.id for each in report.left_out]) == (1, ["number 2", "mem0:f"])
    with pytest.raises(InvalidRequest, match="memory"):
        import_mem0(MEM0, {})  # type: ignore[arg-type]
    with pytest.raises(InvalidRequest, match="bank_of"):
        import_langmem(SimpleNamespace(search=lambda *_, **__: [_item()]), light, bank_of=lambda _: "")


def _item() -> Any:
    return SimpleNamespace(
        namespace=("a",), key="k", value={"content": "Ann sings."}, created_at=None, updated_at=None
    )


@given(st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.dates()))
def test_any_time_is_one_or_none(value: Any) -> None:
    """No value in place of a time makes an import fail."""
    found = moment(value)
    assert found is None or found.tzinfo is not None


@given(
    st.recursive(
        st.none() | st.text() | st.integers(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_any_value_has_a_statement(value: Any) -> None:
    """The statement is a text, possibly empty."""
    assert isinstance(statement(value), str)
