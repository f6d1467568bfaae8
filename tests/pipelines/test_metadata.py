"""Metadata in retain, and metadata filters inside every channel of recall, with Chroma and Lucene."""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_metadata import selects
from table import every_row
from waiting_work import Opened, Reader

from hindsight_integrations import (
    Channel,
    Document,
    Hindsight,
    InvalidRequest,
    MetadataCondition,
    MetadataFilter,
    MetadataGroup,
    MetadataOperator,
    RetainItem,
)
from hindsight_integrations.indexes import hybrid
from hindsight_integrations.model.metadata import OF_LISTS, OF_TEXT, shared_metadata
from hindsight_integrations.sync import MemoryBank
from hindsight_integrations.testing.doubles import HashEmbedder
from hindsight_integrations.validation.metadata import checked_metadata_filter

MEMORIES = 2_000
RARE = (3, 700, 701, 1_402, 1_999)  # those of shelf "attic"
DAY = datetime(2024, 5, 1, tzinfo=UTC)
OSRIC = {"text": "Osric Vane", "type": "PERSON"}
OF_THE_FIRST_DAY = RARE[:-1]
QUESTION = "Which sack of barley did Osric Vane weigh on 1 May 2024?"


def _text(number: int) -> str:
    weigher = "Osric Vane" if number in RARE or number % 20 == 0 else "the miller"
    return f"Sack {number} of barley was weighed by {weigher} on row {number % 17}."


def _fact(number: int) -> dict[str, Any]:
    occurred = DAY + timedelta(minutes=number)
    return {
        "what": _text(number),
        "entities": [OSRIC] if "Osric" in _text(number) else [],
        "occurred_start": occurred.isoformat(),
        "occurred_end": (occurred + timedelta(minutes=1)).isoformat(),
    }


def _metadata(number: int) -> dict[str, Any]:
    shelf = {"shelf": "attic"} if number in RARE else {"shelf": "cellar"} if number % 2 else {}
    return {"number": number, "weighed": number % 3 == 0, "marks": [f"m{number % 5}", "all"], **shelf}


@pytest.fixture(scope="module")
def mill(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryBank]:
    place = tmp_path_factory.mktemp("mill")
    with Hindsight.open(place, embeddings=HashEmbedder(), reranker=None) as engine:
        bank = engine.bank("mill")
        bank.retain_many(
            [
                RetainItem(
                    _text(number),
                    timestamp=DAY - timedelta(days=1),
                    document_id=f"d{number}",
                    facts=[_fact(number)],
                    metadata=_metadata(number),
                )
                for number in range(MEMORIES)
            ]
        )
        yield bank


def numbers(bank: MemoryBank, metadata: Any, **options: Any) -> set[Any]:
    found = bank.recall(QUESTION, metadata=metadata, max_tokens=1_000_000, **options)
    return {item.unit.metadata["number"] for item in found.units}


def listed(bank: MemoryBank, metadata: Any) -> set[Any]:
    return {unit.metadata["number"] for unit in bank.iterate_units(metadata=metadata)}


@pytest.mark.parametrize(
    "limits", [pytest.param("among the few", marks=pytest.mark.slow), "the index asked for more"]
)
def test_a_few_of_many_are_found_in_every_channel(
    mill: MemoryBank, monkeypatch: pytest.MonkeyPatch, limits: str
) -> None:
    """Filters apply before any limit, although Chroma and Lucene do not know them and are queried for more and more hits."""
    if limits == "the index asked for more":
        monkeypatch.setattr(hybrid, "EXACT_LIMIT", 0)
        monkeypatch.setattr(hybrid, "AMONG_LIMIT", 0)
    found = mill.recall(QUESTION, metadata={"shelf": "attic"}, budget="low", max_tokens=100_000)
    assert len(found.units) == len(RARE)
    for channel in Channel:
        of_time = OF_THE_FIRST_DAY if channel is Channel.TEMPORAL else RARE
        assert {item.unit.metadata["number"] for item in found.units if channel in item.channels} == set(
            of_time
        )


KEYS = st.sampled_from(["number", "weighed", "marks", "shelf", "nobody's"])
SCALARS = st.integers(-1, 2_001) | st.sampled_from(
    [0.5, 700.0, True, False, "attic", "cellar", "ATT", "m3", "all", "", "700", "7e2"]
)
LISTS = st.lists(SCALARS, max_size=4)


def _values(operator: MetadataOperator) -> st.SearchStrategy[Any]:
    if operator in OF_LISTS:
        return LISTS
    if operator in OF_TEXT:
        return SCALARS.map(str)
    return SCALARS | LISTS if operator in ("==", "!=") else SCALARS


FILTERS = st.sampled_from(MetadataOperator).flatmap(
    lambda operator: st.builds(MetadataFilter, KEYS, _values(operator), st.just(operator))
)
CONDITIONS = st.recursive(
    FILTERS,
    lambda inner: st.builds(
        MetadataGroup, st.lists(inner, min_size=1, max_size=3), st.sampled_from(MetadataCondition)
    ),
    max_leaves=5,
)


@settings(max_examples=20)
@given(CONDITIONS)
def test_random_filters_select_what_brute_force_does(mill: MemoryBank, condition: Any) -> None:
    """No other memory is returned, and if few match, all of them are."""
    checked = checked_metadata_filter(condition)
    assert checked is not None
    passing = {number for number in range(MEMORIES) if selects(checked, _metadata(number))}
    assert mill.units(metadata=condition, limit=1).total == len(passing)
    found = numbers(mill, condition)
    assert found <= passing
    if len(passing) <= 50:
        assert found == passing


def test_values_of_another_type_pass_nothing(mill: MemoryBank) -> None:
    for key, value, operator in (
        ("number", "seven", "=="),
        ("number", "seven", "<"),
        ("number", True, "=="),
        ("number", True, ">="),
        ("weighed", 1, "=="),
        ("marks", "m3", ">"),
        ("shelf", 5, "<"),
        ("number", "7", "text_match"),
        ("weighed", "True", "contains"),
        ("nobody's", 5, "=="),
    ):
        assert not numbers(mill, MetadataFilter(key, value, operator)), (key, value, operator)


def test_a_filter_that_passes_nothing_is_said(mill: MemoryBank) -> None:
    found = mill.recall(QUESTION, metadata={"shelf": "roof"}, trace=True)
    assert not found.units
    assert "none passes metadata" in found.explain()
    assert "metadata=shelf == roof," in found.explain()
    nested: Any = [
        {"a": 1},
        MetadataGroup([MetadataFilter("b", "x"), MetadataFilter("c", operator="is_empty")], "not"),
    ]
    explained = mill.recall(QUESTION, metadata=nested, trace=True).explain()
    assert "metadata=a == 1 and (not (b == x or c is_empty))," in explained


@every_row(
    "given", ["attic", 5, MetadataFilter("a", 1, "like"), {"a": {"$gt": 5}}, MetadataFilter("a", 1, "in")]
)
def test_what_is_no_filter_is_refused(mill: MemoryBank, given: Any) -> None:
    for verb in (mill.recall, mill.units):
        with pytest.raises(InvalidRequest, match=r"metadata.*(Use|Pass)"):
            verb(*([QUESTION] if verb == mill.recall else []), metadata=given)


def test_types_last_through_edits_archives_and_reopening(opener: Any, tmp_path: Path) -> None:
    values: dict[str, Any] = {
        "n": 10,
        "f": 9.5,
        "b": True,
        "l": ["a", 1, False],
        "s": "10",
        "e": [],
        "o": DAY,
        "x": None,
    }
    kept = {**values, "o": "2024-05-01 00:00:00+00:00"}
    del kept["x"]
    engine = opener(tmp_path / "memory")
    bank = engine.bank("a")
    bank.retain(Document("The mill has ten sacks.", id="d", metadata=values), metadata={"call": 1})
    bank.retain([{"role": "user", "content": "The mill has a wheel."}], metadata=values)
    bank.threads.follow(
        [{"role": "user", "content": "The mill has a cat.", "id": "m"}], thread="t", metadata=values
    )
    out = io.StringIO()
    bank.archive.export(out)
    copy = opener().bank("copy")
    copy.archive.load(io.StringIO(out.getvalue()))
    engine.close()
    reopened = opener(tmp_path / "memory").bank("a")
    for each in (copy, reopened):
        found = [dict(unit.metadata) for unit in each.iterate_units()]
        assert sorted(map(repr, found)) == sorted(map(repr, [{**kept, "call": 1}, kept, kept]))
    (unit,) = reopened.iterate_units(metadata={"call": 1})
    reopened.edit(unit.id, metadata={"n": 11, "call": "2"})
    assert not list(reopened.iterate_units(metadata={"call": 1}))
    assert [item.unit.id for item in reopened.recall("mill", metadata=[{"n": 11}, {"call": 2}]).units] == [
        unit.id
    ]
    assert len(reopened.recall("mill", metadata={"key": "n", "operator": "<", "value": 11}).units) == 2


@pytest.mark.directory
def test_banks_that_hold_text_are_filtered_by_number(opener: Any, tmp_path: Path) -> None:
    """A number that was passed as text is compared as a number."""
    with Hindsight.open(tmp_path / "old", embeddings=HashEmbedder(), reranker=None) as engine:
        for number in (9, 10, 100):
            engine.bank("a").retain(
                f"Sack {number} is here.", metadata={"number": str(number), "done": "True"}
            )
    bank = opener(tmp_path / "old").bank("a")
    assert {unit.metadata["number"] for unit in bank.iterate_units()} == {"9", "10", "100"}
    for operator, value, names in (
        (">", 9, {"10", "100"}),
        (">", "9", {"10", "100"}),
        ("==", 10, {"10"}),
        ("in", [9, 100.0], {"9", "100"}),
        ("<=", 10.5, {"9", "10"}),
    ):
        assert numbers(bank, MetadataFilter("number", value, operator)) == names
    assert numbers(bank, {"done": True}) == set()
    assert numbers(bank, {"done": "True"}) == {"9", "10", "100"}


def test_turns_that_wait_keep_to_the_filter(opened: Opened, reader: Reader) -> None:
    """Messages that wait for a model are found by their metadata meanwhile."""
    reader.gate.clear()
    engine = opened()
    bank = engine.bank("a")
    for number in (1, 2):
        said = {"role": "user", "content": f"Osric Vane weighed sack {number}."}
        bank.retain([said], thread=str(number), metadata={"number": number}, background=True)
    assert numbers(bank, {"number": 2}) == {2}
    assert numbers(bank, MetadataFilter("number", 2, "<")) == {1}
    reader.gate.set()


def test_what_is_included_keeps_to_the_filter(light: Hindsight) -> None:
    """It also applies to included observations; turns are returned with the memory that matched."""
    bank = light.bank("a")
    for number in (1, 2):
        messages = [{"role": "user", "content": f"Osric Vane weighed sack {number}.", "id": f"m{number}"}]
        seen = {"what": f"Osric Vane is a careful weigher of sack {number}.", "fact_type": "observation"}
        told = {"what": messages[0]["content"]}
        facts = [{**fact, "entities": [OSRIC], "sources": [f"m{number}"]} for fact in (told, seen)]
        bank.retain(messages, facts=facts, thread=str(number), metadata={"number": number})
    found = bank.recall(QUESTION, metadata={"number": 2}, include_entities=True, include_chunks=True)
    assert {item.unit.metadata["number"] for item in found.units} == {2}
    shown = [item.text for entity in found.entities for item in entity.observations]
    assert shown == ["Osric Vane is a careful weigher of sack 2."]
    assert [chunk.text for chunk in found.chunks] == ["user: Osric Vane weighed sack 2."]


def test_observations_inherit_what_their_facts_share() -> None:
    told: list[dict[str, Any]] = [
        {"user": "u", "n": 1, "b": True},
        {"user": "u", "n": 1.0, "b": True, "x": 1},
        {"user": "u", "n": 1},
    ]
    assert shared_metadata(told) == {"user": "u"}
    assert shared_metadata(told[:1]) == told[0]
