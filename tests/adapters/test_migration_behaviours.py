"""What a user of langmem or mem0 expects of an import, written without knowledge of the code."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore
from table import every_row

from hindsight_integrations import Hindsight, HindsightError
from hindsight_integrations.langgraph import HindsightStore
from hindsight_integrations.migration import (
    ImportReport,
    aimport_langmem,
    aimport_mem0,
    import_langmem,
    import_mem0,
)

BOTH_FACES = pytest.mark.parametrize("face", ["sync", "async"])


def mem0(face: str, *args: Any, **options: Any) -> ImportReport:
    return asyncio.run(aimport_mem0(*args, **options)) if face == "async" else import_mem0(*args, **options)


def langmem(face: str, *args: Any, **options: Any) -> ImportReport:
    return (
        asyncio.run(aimport_langmem(*args, **options))
        if face == "async"
        else import_langmem(*args, **options)
    )


def texts(engine: Hindsight, bank: str) -> list[str]:
    return sorted(unit.text for unit in engine.bank(bank).iterate_units())


def record(number: int, **fields: Any) -> dict[str, Any]:
    return {
        "id": f"id-{number}",
        "memory": f"Ann paddled trip {number}.",
        "user_id": "ann",
        "created_at": "2023-05-06T10:00:00+00:00",
        **fields,
    }


@BOTH_FACES
@pytest.mark.parametrize("wrap", [lambda it: it, lambda it: {"results": it}], ids=["list", "results"])
def test_memories_come_with_their_times_and_once(
    light: Hindsight, face: str, wrap: Callable[[Any], Any]
) -> None:
    given = wrap([record(1), record(2, created_at="2023-06-07T10:00:00-07:00")])
    report = mem0(face, given, light)
    assert (report.created, report.known, report.left_out) == (2, 0, ())
    assert dict(report.banks) == {"ann": 2}
    assert texts(light, "ann") == ["Ann paddled trip 1.", "Ann paddled trip 2."]
    assert sorted(unit.mentioned_at for unit in light.bank("ann").iterate_units()) == [
        datetime(2023, 5, 6, 10, tzinfo=UTC),
        datetime(2023, 6, 7, 17, tzinfo=UTC),
    ]
    again = mem0(face, given, light)
    assert (again.created, again.known) == (0, 2)
    assert len(texts(light, "ann")) == 2


@BOTH_FACES
def test_each_user_gets_a_bank(light: Hindsight, face: str) -> None:
    mem0(face, [record(1), record(2, user_id="ben@example.com")], light)
    assert sorted(light.banks()) == ["ann", "ben@example.com"]
    assert texts(light, "ben@example.com") == ["Ann paddled trip 2."]


@BOTH_FACES
def test_all_into_one_bank_or_as_a_function_says(light: Hindsight, face: str) -> None:
    mem0(face, [record(1), record(2, user_id="ben")], light.bank("all"))
    assert len(texts(light, "all")) == 2
    report = mem0(
        face, [record(1), record(2)], light, bank_of=lambda it: "odd" if it["id"] == "id-1" else None
    )
    assert dict(report.banks) == {"odd": 1}
    assert len(report.left_out) == 1


@BOTH_FACES
def test_a_dry_run_writes_nothing(light: Hindsight, face: str) -> None:
    report = mem0(face, [record(1)], light, dry_run=True)
    assert report.dry_run
    assert dict(report.banks) == {"ann": 1}
    assert light.banks() == []


WRONG: list[Any] = [
    # a record without text or owner
    {},
    {"id": "x", "memory": "", "user_id": "ann"},
    {"id": "x", "memory": "   ", "user_id": "ann"},
    {"id": "x", "memory": None, "user_id": "ann"},
    {"id": "x", "memory": 3, "user_id": "ann"},
    {"id": "x", "memory": "No owner."},
    {"id": "x", "memory": "Empty owner.", "user_id": ""},
    {"id": "x", "memory": "Expired.", "user_id": "ann", "expiration_date": "2020-01-01"},
    "text",
    None,
    3,
    ["a"],
]


@BOTH_FACES
@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_a_record_that_cannot_come_is_reported_and_the_others_come(
    light: Hindsight, face: str, wrong: Any
) -> None:
    report = mem0(face, [record(1), wrong, record(2)], light)
    assert report.created == 2
    assert len(report.left_out) == 1
    assert "owner" not in str(report.left_out).replace("no owner", "")  # no memory text in a report
    assert len(texts(light, "ann")) == 2


@pytest.mark.parametrize(
    "fields",
    [
        {"created_at": "yesterday"},
        {"created_at": None},
        {"created_at": 1_700_000_000},
        {"metadata": None},
        {"metadata": {"deep": {"a": [1, {"b": None}]}}},
        {"metadata": "text"},
        {"categories": ["sport", "boats"]},
        {"categories": None},
        {"categories": "sport"},
        {"memory": "Zoë 🛶 \u0000 東京"},
        {"memory": "long " * 20_000},
        {"id": None},
        {"id": 7},
        {"score": 0.3, "hash": "abc", "unknown_field": [1]},
        {"expiration_date": None},
        {"expiration_date": "2999-01-01"},
        {"user_id": 7},
    ],
    ids=lambda fields: str(fields)[:40],
)
def test_odd_fields_end_no_import(light: Hindsight, fields: dict[str, Any]) -> None:
    """Each record is imported or reported; nothing is raised, and the next record is imported."""
    report = import_mem0([record(1, **fields), record(2)], light)
    assert report.created + len(report.left_out) == 2
    assert "Ann paddled trip 2." in texts(light, "ann")
    known = import_mem0([record(1, **fields), record(2)], light)
    assert (known.created, known.known) == (0, report.created)


@BOTH_FACES
def test_a_file_of_either_form(light: Hindsight, tmp_path: Path, face: str) -> None:
    whole, lines = tmp_path / "export.json", tmp_path / "export.jsonl"
    whole.write_text(json.dumps({"results": [record(1)]}), encoding="utf-8")
    lines.write_text("\n".join(json.dumps(record(number)) for number in (2, 3)) + "\n", encoding="utf-8")
    assert mem0(face, whole, light).created == 1
    assert mem0(face, str(lines), light).created == 2


@every_row("given", [None, 3, {"memories": 3}, "no such file.json"], ids=str)
def test_what_is_no_export_is_refused(light: Hindsight, given: Any) -> None:
    with pytest.raises((HindsightError, OSError)):
        import_mem0(given, light)


@every_row("content", ["not json", "{", "3", "\x00\x01"])
def test_a_file_that_is_no_export_is_refused(light: Hindsight, tmp_path: Path, content: str) -> None:
    path = tmp_path / "export.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(HindsightError):
        import_mem0(path, light)
    assert light.banks() == []


def test_an_export_without_memories_brings_none(light: Hindsight, tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("", encoding="utf-8")
    exports: list[Any] = [[], {"results": []}, tmp_path / "empty.jsonl"]
    for given in exports:
        assert import_mem0(given, light) == ImportReport({})
    assert light.banks() == []


@pytest.mark.parametrize("memory", [None, "path", 3])
def test_what_is_no_memory_is_refused(memory: Any) -> None:
    with pytest.raises((HindsightError, TypeError)):
        import_mem0([record(1)], memory)
    with pytest.raises((HindsightError, TypeError)):
        import_langmem(InMemoryStore(), memory)


def langmem_store(store: Any) -> Any:
    store.put(("memories", "ann"), "a", {"kind": "Memory", "content": {"content": "Ann owns a green kayak."}})
    store.put(("memories", "ann"), "b", {"content": "Ann bakes bread."})
    store.put(
        ("memories", "ben"), "c", {"kind": "Profile", "content": {"name": "Ben", "hobbies": ["sailing"]}}
    )
    store.put(("cache",), "d", {"x": 1})
    return store


@BOTH_FACES
@pytest.mark.parametrize("source", ["memory", "hindsight"])
def test_langmem_comes_by_users_and_once(light: Hindsight, face: str, source: str) -> None:
    store = langmem_store(InMemoryStore() if source == "memory" else HindsightStore(light, bank="langmem's"))
    report = langmem(face, store, light, namespace=("memories",))
    assert dict(report.banks) == {"ann": 2, "ben": 1}
    assert texts(light, "ann") == ["Ann bakes bread.", "Ann owns a green kayak."]
    (profile,) = texts(light, "ben")
    assert "Ben" in profile
    assert "sailing" in profile
    again = langmem(face, store, light, namespace=("memories",))
    assert (again.created, again.known) == (0, 3)
    assert langmem(face, store, light, namespace=("nobody",)).banks == {}


@BOTH_FACES
def test_an_item_that_changed_takes_the_place_of_its_earlier_text(light: Hindsight, face: str) -> None:
    store = langmem_store(InMemoryStore())
    langmem(face, store, light, namespace=("memories",))
    store.put(("memories", "ann"), "b", {"content": "Ann bakes cakes."})
    langmem(face, store, light, namespace=("memories",))
    assert texts(light, "ann") == ["Ann bakes cakes.", "Ann owns a green kayak."]


@pytest.mark.slow
@BOTH_FACES
def test_thousands_of_items_of_langmem_come_page_by_page(light: Hindsight, face: str) -> None:
    store = InMemoryStore()
    for number in range(1_200):
        store.put(("m", "ann"), f"k{number}", {"content": f"Ann saw bird number {number}."})
    assert langmem(face, store, light).created == 1_200
    assert len(texts(light, "ann")) == 1_200


def test_times_of_langmem_come_along(light: Hindsight) -> None:
    store = InMemoryStore()
    store.put(("m", "ann"), "k", {"content": "Ann saw a bird."})
    long_ago = datetime(2022, 1, 2, 3, tzinfo=UTC)
    item = store._data["m", "ann"]["k"]  # a store of several years
    item.created_at, item.updated_at = long_ago, long_ago + timedelta(days=1)
    import_langmem(store, light)
    (unit,) = light.bank("ann").iterate_units()
    assert unit.mentioned_at in (item.created_at, item.updated_at)
