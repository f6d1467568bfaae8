"""Enumeration: every matching memory once, in order, page by page; nothing is ranked, and nothing is missed between pages."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from archived import archived_rows
from hypothesis import given, settings
from hypothesis import strategies as st
from table import every_row

from hindsight_integrations import Hindsight, InvalidRequest, MemoryBank, MemoryUnit, UnitPage
from hindsight_integrations.config import HindsightConfig, KeywordBackend, StorageConfig, VectorBackend
from hindsight_integrations.testing.doubles import HashEmbedder

LIGHT = HindsightConfig(storage=StorageConfig(VectorBackend.EXACT, KeywordBackend.FTS5))
DAY = timedelta(days=1)
FIRST = datetime(2024, 1, 1, tzinfo=UTC)


def tell(bank: MemoryBank, thread: str, rows: Sequence[dict[str, Any]], **options: Any) -> list[str]:
    """Retain one fact per message; return the ids of the units."""
    messages = [
        {"content": row["what"], "id": f"{n}", "timestamp": row.pop("mentioned", FIRST)}
        for n, row in enumerate(rows)
    ]
    facts = [{"sources": [f"{n}"], **row} for n, row in enumerate(rows)]
    return list(bank.retain(messages, thread=thread, facts=facts, **options).unit_ids)


def pages(bank: MemoryBank, limit: int, **filters: Any) -> list[UnitPage]:
    found = [bank.units(limit=limit, **filters)]
    while found[-1].cursor:
        found.append(bank.units(limit=limit, cursor=found[-1].cursor, **filters))
    return found


def listed(bank: MemoryBank, limit: int = 7, **filters: Any) -> list[str]:
    return [unit.text for page in pages(bank, limit, **filters) for unit in page.units]


def begins(unit: MemoryUnit) -> datetime:
    return unit.occurred.start if unit.occurred else unit.mentioned_at


@pytest.fixture
def bank(light: Hindsight) -> MemoryBank:
    """60 facts of all kinds: dated and undated, out of order, three networks, two tags, some closed."""
    bank = light.bank("diary")
    for n in range(60):
        row: dict[str, Any] = {
            "what": f"fact {n}",
            "mentioned": FIRST + (n * 7 % 20) * DAY,
            "fact_type": ["world", "experience", "opinion"][n % 3],
            "entities": [{"text": "Ann Lee", "type": "PERSON"}] if n % 4 == 0 else [],
        }
        if n % 2:
            row["occurred_start"] = f"2024-01-{n * 11 % 28 + 1:02d}"
        tell(bank, f"t{n}", [row], tags=[["red"], [], ["red", "blue"]][n // 3 % 3])
    row = {
        "what": "Ann is gone",
        "mentioned": FIRST + 30 * DAY,
        "invalidates": ["fact 4", "fact 22", "fact 31"],
    }
    tell(bank, "end", [row])
    return bank


def everything(bank: MemoryBank) -> list[MemoryUnit]:
    """All units, including closed ones, read from the ledger's rows, in the documented order."""
    stored = [bank.get(row["unit_id"]) for row in archived_rows(bank.archive.export, "units")]
    return sorted(stored, key=begins)


def test_every_filter_agrees_with_brute_force(bank: MemoryBank) -> None:
    """For each filter, all pages together are exactly the memories that a plain loop selects, in its order."""
    every = everything(bank)
    assert sum(unit.closed_at is not None for unit in every) >= 2
    window = (FIRST + 3 * DAY, FIRST + 9 * DAY)

    def in_window(unit: MemoryUnit) -> bool:
        happened = unit.occurred and unit.occurred.start < window[1] and window[0] < unit.occurred.end
        return bool(happened) or window[0] <= unit.mentioned_at < window[1]

    def then(unit: MemoryUnit) -> bool:
        return unit.mentioned_at <= FIRST + 9 * DAY and (
            not unit.closed_at or unit.closed_at > FIRST + 9 * DAY
        )

    cases: list[tuple[dict[str, Any], Any]] = [
        ({}, lambda unit: unit.closed_at is None),
        ({"include_invalidated": True}, lambda unit: True),
        ({"types": ["world", "opinion"]}, lambda unit: unit.fact_type != "experience" and not unit.closed_at),
        ({"types": "bank"}, lambda unit: unit.fact_type == "experience" and not unit.closed_at),
        ({"window": window}, lambda unit: in_window(unit) and not unit.closed_at),
        ({"as_of": FIRST + 9 * DAY}, then),
        (
            {"as_of": FIRST + 9 * DAY, "include_invalidated": True},
            lambda unit: unit.mentioned_at <= FIRST + 9 * DAY,
        ),
        ({"tags": ["blue"]}, lambda unit: (not unit.tags or "blue" in unit.tags) and not unit.closed_at),
        (
            {"tags": ["blue"], "tags_match": "any_strict"},
            lambda unit: "blue" in unit.tags and not unit.closed_at,
        ),
        (
            {"tag_groups": {"and": [{"tags": ["red"]}, {"not": {"tags": ["blue"]}}]}},
            lambda unit: unit.tags == ("red",) and not unit.closed_at,
        ),
    ]
    for filters, wanted in cases:
        expected = [unit.text for unit in every if wanted(unit)]
        assert expected, filters
        assert listed(bank, **filters) == expected, filters
        assert {page.total for page in pages(bank, 7, **filters)} == {len(expected)}
        assert [unit.text for unit in bank.iterate_units(**filters)] == expected


@every_row("limit", [1, 2, 60, 61, 1000])
def test_pages_of_any_size_are_the_same_list(bank: MemoryBank, limit: int) -> None:
    """The list does not depend on the page size; no page is longer than requested, and only the last has no cursor."""
    found = pages(bank, limit, include_invalidated=True)
    assert [unit for page in found for unit in page.units] == everything(bank)
    assert all(len(page.units) == limit for page in found[:-1])
    assert found[-1].units
    newest = pages(bank, limit, include_invalidated=True, newest_first=True)
    assert [unit for page in newest for unit in page.units] == everything(bank)[::-1]
    skipped = bank.units(include_invalidated=True, limit=limit, offset=7)
    assert list(skipped.units) == everything(bank)[7 : 7 + limit]
    assert skipped.total == len(everything(bank))


@pytest.mark.slow
def test_an_entity_of_two_thousand_memories_is_listed_completely(light: Hindsight) -> None:
    """By name, alias and id, all 2,000 memories of Mia Wong are listed, and none of the 300 of somebody else."""
    bank = light.bank("crowd")
    rows = [
        {"what": f"Mia note {n}", "entities": [{"text": "Mia Wong", "type": "PERSON"}]} for n in range(2000)
    ] + [{"what": f"Jo note {n}", "entities": [{"text": "Jo Park", "type": "PERSON"}]} for n in range(300)]
    tell(bank, "t", rows)
    bank.entities.alias("Mia Wong", "Mimi")
    (mia,) = bank.entities.list("mia")
    for name in ("Mia Wong", "mimi", mia.id):
        texts = listed(bank, 300, entity=name)
        assert (len(texts), set(texts)) == (2000, {f"Mia note {n}" for n in range(2000)})
    first = bank.units(entity="Mia Wong", limit=10)
    assert bank.units(entity="mimi", limit=10, cursor=first.cursor).total == 2000
    bank.entities.merge("Mia Wong", "Jo Park")
    assert bank.units(entity="Mia Wong").total == 2300


def test_an_unknown_entity_is_refused(bank: MemoryBank) -> None:
    """An unknown name is an error, not an empty list."""
    with pytest.raises(InvalidRequest, match="entity: 'Nobody' is not known"):
        bank.units(entity="Nobody")


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_retains_between_pages_shift_nothing(data: st.DataObject) -> None:
    """Whatever is retained between two pages, each memory that existed at the first page is listed exactly once."""
    with Hindsight.open(":memory:", embeddings=HashEmbedder(), reranker=None, config=LIGHT) as engine:
        bank = engine.bank("busy")
        days = data.draw(st.lists(st.integers(0, 9), min_size=1, max_size=12))
        tell(bank, "t", [{"what": f"old {n}", "mentioned": FIRST + day * DAY} for n, day in enumerate(days)])
        expected = listed(bank)
        limit = data.draw(st.integers(1, 4))
        page = bank.units(limit=limit)
        found = [unit.text for unit in page.units]
        for turn in range(100):
            if page.cursor is None:
                break
            moment = FIRST + data.draw(st.integers(0, 9)) * DAY
            tell(bank, f"n{turn}", [{"what": f"new {turn}", "mentioned": moment}])
            page = bank.units(limit=limit, cursor=page.cursor)
            found += [unit.text for unit in page.units]
        assert found == expected


def test_what_is_closed_or_erased_between_pages_is_not_listed_as_valid(light: Hindsight) -> None:
    """A memory withdrawn after the first page is missing from the second, or marked with include_invalidated; the others stay."""
    bank = light.bank("moving")
    homes = [
        "User lives in Paris near the canal",
        "User keeps bees on a roof",
        "User repairs clocks at night",
    ]
    ids = tell(bank, "t", [{"what": home, "mentioned": FIRST + n * DAY} for n, home in enumerate(homes)])
    valid, every = bank.units(limit=1), bank.units(limit=1, include_invalidated=True)
    tell(bank, "u", [{"what": "The bees left", "mentioned": FIRST + 5 * DAY, "invalidates": [homes[1]]}])
    assert [unit.text for unit in bank.units(cursor=valid.cursor).units] == [homes[2]]
    later = bank.units(cursor=every.cursor, include_invalidated=True).units
    assert [(unit.text, unit.closed_at is None) for unit in later] == [(homes[1], False), (homes[2], True)]
    bank.forget(unit=ids[2])
    assert bank.units(cursor=valid.cursor) == UnitPage((), 1)


def test_a_cursor_belongs_to_its_bank_and_filters(light: Hindsight) -> None:
    """A cursor of another bank or other filters, or a damaged one, is rejected; another page size is allowed."""
    bank, other = light.bank("one"), light.bank("two")
    for target in (bank, other):
        rows = [{"what": f"fact {n}", "entities": [{"text": "Ann Lee", "type": "PERSON"}]} for n in range(5)]
        tell(target, "t", rows, tags=["red"])
    cursor = bank.units(limit=2, entity="Ann Lee").cursor
    assert cursor is not None
    assert len(bank.units(limit=3, entity="Ann Lee", cursor=cursor).units) == 3
    swapped = ("A" if cursor[5] != "A" else "B").join((cursor[:5], cursor[6:]))
    refused: list[tuple[MemoryBank, dict[str, Any], Any]] = [
        (other, {"entity": "Ann Lee"}, cursor),
        (bank, {}, cursor),
        (bank, {"entity": "Ann Lee", "types": ["world"]}, cursor),
        (bank, {"entity": "Ann Lee", "as_of": "2024-01-05"}, cursor),
        (bank, {"entity": "Ann Lee", "tags": ["red"]}, cursor),
        (bank, {"entity": "Ann Lee", "include_invalidated": True}, cursor),
        *(
            (bank, {"entity": "Ann Lee"}, bad)
            for bad in (swapped, cursor[:-4], cursor + "AAAA", "", "ä", "!", 7, b"x")
        ),
    ]
    for target, filters, bad in refused:
        with pytest.raises(InvalidRequest, match="cursor: it does not belong to this bank and these filters"):
            target.units(cursor=bad, **filters)


@every_row(
    ("options", "message"),
    [
        ({"limit": 0}, "limit: 0 is not a whole number from 1 to 10,000"),
        ({"limit": 10_001}, "limit"),
        ({"types": []}, "types: it is empty"),
        ({"types": ["dream"]}, "Use one of: world"),
        ({"tags": "red"}, "is a single string"),
        ({"tags_match": "most"}, "Use one of: any, all"),
        ({"window": ("2024-02-01", "2024-01-01")}, "before it starts"),
        ({"as_of": "never"}, "as_of: 'never' cannot be read"),
        ({"entity": ""}, "entity: it is empty"),
    ],
)
def test_options_are_checked(bank: MemoryBank, options: dict[str, Any], message: str) -> None:
    """Each option out of range raises InvalidRequest naming it, in both methods."""
    with pytest.raises(InvalidRequest, match=message):
        bank.units(**options)
    if "limit" not in options:
        with pytest.raises(InvalidRequest, match=message):
            next(iter(bank.iterate_units(**options)))


def test_an_empty_bank_has_one_empty_page(real: Hindsight) -> None:
    """An empty bank gives one empty page without a cursor, not an error."""
    bank = real.bank("empty")
    assert bank.units() == UnitPage((), 0)
    assert list(bank.iterate_units()) == []


def test_the_iterator_serves_async_code_too(bank: MemoryBank) -> None:
    """`async for` on the async bank gives the same as `for` on the sync one."""

    async def gathered() -> list[str]:
        return [unit.text async for unit in bank.asynchronous.iterate_units(entity="Ann Lee")]

    assert asyncio.run(gathered()) == listed(bank, entity="Ann Lee") != []
