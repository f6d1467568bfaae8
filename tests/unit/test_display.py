"""How results look in a shell and a notebook, and their conversion to data."""

from __future__ import annotations

import json
import pickle
import sys
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from builders import at, make_unit
from table import every_row

from hindsight_integrations import (
    Aggregate,
    Assessment,
    Evidence,
    ForgetReceipt,
    Hindsight,
    MemoryUnit,
    MissingDependency,
    Opinion,
    OpinionHistory,
    RecalledUnit,
    RecallResult,
    Record,
    RecordEntries,
    RecordEntry,
    RecordKind,
    Reflection,
    RetainResult,
    UnitPage,
)
from hindsight_integrations.engine.health import Health, TaskHealth
from hindsight_integrations.model.display import LINE, Displayed, one_line
from hindsight_integrations.model.opinions import (
    EvidenceEntry,
    EvidenceStrength,
    OpinionLog,
    OpinionOrigin,
    OpinionVersion,
    UpdateRule,
)
from hindsight_integrations.model.record_digest import RecordDigest, RecordRow
from hindsight_integrations.model.references import BankReference, DisplayedBank
from hindsight_integrations.model.reflections import OpinionChange, OpinionOutcome
from hindsight_integrations.model.requests import RecallQuery
from hindsight_integrations.model.results import Dropped
from hindsight_integrations.model.rows import Tabular
from hindsight_integrations.model.tasks import WorkerMode
from hindsight_integrations.model.trace import Channel, ChannelHit
from hindsight_integrations.model.units import FactType

HOSTILE = "<script>alert('x')</script> & <img src=x onerror=alert(1)>"
COFFEE = Record(RecordKind.EXPENSE, Decimal("4.50"), "coffee", "USD", stated="coffees")


class NamedBank(DisplayedBank):
    """The displayed parts of a bank."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def reference(self) -> BankReference:
        return BankReference("/data/memory", self.name)


def recall_of(*units: MemoryUnit, query: str = "") -> RecallResult:
    hits = {Channel.SEMANTIC: ChannelHit(1, 0.9), Channel.GRAPH: ChannelHit(3, 0.4)}
    recalled = tuple(RecalledUnit(unit, 0.5, channels=hits, entities=("Ana",)) for unit in units)
    asked = RecallQuery(query, at(0), max_tokens=4096) if query else None
    return RecallResult(recalled, tokens=54, confidence=0.7, query=asked)


def history_of(text: str) -> OpinionHistory:
    row = Evidence(
        unit_id="fact",
        sources=(text,),
        assessment=Assessment.REINFORCE,
        strength=EvidenceStrength.STRONG,
        rule=UpdateRule.ADDITIVE,
        step=0.15,
        reason=text,
        version="opinion",
        effective_at=at(1),
        recorded_at=at(1),
        revision=2,
    )
    version = OpinionVersion("opinion", text, at(0), "", (), 1)
    log = OpinionLog(
        "opinion", 0.7, at(0), at(0), 1, OpinionOrigin.REFLECT, "", 0, "", (), (), (version,), (row,)
    )
    return OpinionHistory(log, (EvidenceEntry(row, True, 0.7, 0.85),), 0.85)


def digest_of(text: str) -> RecordDigest:
    row = RecordRow(text, "a", COFFEE, at(0))
    return RecordDigest(
        RecordKind.EXPENSE, ("coffee",), None, (), (), (), text, (row,), tokens=5, of=1, unit_ids=("a",)
    )


def results_with(text: str) -> list[Displayed]:
    """Build one result of each kind, containing the text."""
    unit = make_unit("a", text)
    recalled = recall_of(unit, query=text)
    return [
        unit,
        recalled[0],
        replace(recalled, records=(digest_of(text),)),
        UnitPage((unit,), total=3, cursor="next"),
        RetainResult(("a",), 1, {FactType.WORLD: 1}, 2, (Dropped(text, text),), revision=7),
        Reflection(
            text,
            recalled.units,
            extractive=False,
            recalled=recalled,
            opinions=(OpinionChange(OpinionOutcome.FORMED, text, 0.7),),
            notes=(text,),
        ),
        Opinion("o", "u", text, 0.78, at(0), None, ("Ana",), (), OpinionOrigin.REFLECT, evidence=4),
        history_of(text),
        RecordEntry(COFFEE, unit),
        RecordEntries([RecordEntry(COFFEE, unit)]),
        Aggregate(Decimal("4.50"), "USD", (unit,), spellings=(text,)),
        digest_of(text),
        ForgetReceipt(("a",), (), {"units": 1, "message_keys": 2}, 8, dry_run=True, names=(text,)),
        Health({"embedder": text}, {text: (3, 7)}, {}, {}, TaskHealth(WorkerMode.NONE, False, 0, 0)),
        NamedBank(text),
    ]


def test_a_result_prints_as_one_short_line_however_large_it_is() -> None:
    """500 memories of 5,000 characters do not flood the terminal, and a line break in one does not break the line."""
    text = "word\n" * 1_000
    large = recall_of(*(make_unit(f"u{number}", text) for number in range(500)), query=text)
    for result in [large, UnitPage(tuple(each.unit for each in large), 500), *results_with(text)]:
        line = repr(result)
        assert len(line) <= 200, line
        assert "\n" not in line
        assert line.startswith(type(result).__name__ + "(")


@every_row(
    ("number", "line"),
    [
        (0, "MemoryUnit('I like plums.', world, 2025-03-01, a)"),
        (1, "RecalledUnit('I like plums.', score 0.5, semantic 1, graph 3)"),
        (2, "RecallResult('I like plums.', 1 memory, 54 tokens, confidence 0.70)"),
        (3, "UnitPage(1 of 3 memories, more pages)"),
        (4, "RetainResult(1 created, 2 messages skipped, 1 dropped, revision 7)"),
        (5, "Reflection('I like plums.', from 1 memory, 1 opinion)"),
        (6, "Opinion('I like plums.', confidence 0.78 (strong), 4 facts as evidence)"),
        (7, "OpinionHistory('I like plums.', confidence 0.70 to 0.85, 1 fact as evidence)"),
        (8, "RecordEntry('I like plums.', expense coffee 4.50 USD, 2025-03-01)"),
        (9, "RecordEntries(1 record)"),
        (10, "Aggregate(4.50 USD, from 1 memory)"),
        (11, "RecordDigest(expense coffee, 1 record)"),
        (12, "ForgetReceipt(dry run, 1 units, 2 message keys)"),
        (13, "Health(1 bank, no failures)"),
        (14, "NamedBank('I like plums.', /data/memory)"),
    ],
)
def test_the_line_says_what_a_reader_looks_for(number: int, line: str) -> None:
    assert repr(results_with("I like plums.")[number]) == line


def test_html_shows_a_memory_as_text_never_as_markup() -> None:
    """A memory that contains a script is shown as text, so that nobody who writes to a bank can run code in a notebook."""
    for result in results_with(HOSTILE):
        page = result._repr_html_()
        assert "<script" not in page
        assert "<img" not in page
        if not isinstance(result, RetainResult | ForgetReceipt):
            assert "&lt;script&gt;" in page


def test_html_leaves_colours_to_the_theme() -> None:
    """Tables have no colours of their own."""
    for result in results_with("plums"):
        assert "color" not in result._repr_html_()
        assert "background" not in result._repr_html_()


def test_a_long_text_is_folded_and_a_long_table_is_cut() -> None:
    """Long texts are folded, and of 500 memories the first 50 are shown."""
    text = "word " * 1_000 + "end"
    page = recall_of(*(make_unit(f"u{number}", text) for number in range(500)))._repr_html_()
    assert page.count("<details>") == 50
    assert "end</details>" in page
    assert "450 more" in page


def test_a_result_counts_iterates_and_indexes_its_memories() -> None:
    """Results support iteration, indexing, slicing, `len` and truth value."""
    units = tuple(make_unit(key) for key in "abc")
    result, page = recall_of(*units), UnitPage(units, 3)
    assert [each.unit.id for each in result] == ["a", "b", "c"]
    assert result[0].unit.id == "a"
    assert result[-1].unit.id == "c"
    assert [each.unit.id for each in result[:2]] == ["a", "b"]
    assert (len(result), len(page), page[1], list(page)) == (3, 3, units[1], list(units))
    assert result
    assert page
    assert not recall_of()
    assert not UnitPage((), 0)


@every_row("result", [each for each in results_with("plums") if not isinstance(each, NamedBank)])
def test_a_result_is_equal_to_its_pickled_copy(result: Displayed) -> None:
    """A pickled result is equal to the original."""
    assert pickle.loads(pickle.dumps(result)) == result  # noqa: S301 - our own
    assert not hasattr(result, "__dict__") or isinstance(result, list)


@every_row("result", [each for each in results_with(HOSTILE) if isinstance(each, Tabular)])
def test_rows_are_json_with_one_set_of_keys(result: Tabular) -> None:
    (row,) = result.to_dicts()
    assert json.loads(json.dumps([row])) == [row]


def test_a_row_of_a_recall_says_what_the_memory_is_and_why_it_is_there() -> None:
    (row,) = recall_of(replace(make_unit("a", "I like plums."), metadata={"years": (1, 2)})).to_dicts()
    wanted = {
        "id": "a",
        "text": "I like plums.",
        "mentioned_at": "2025-03-01T12:00:00+00:00",
        "occurred_start": None,
        "rank": 1,
        "score": 0.5,
        "entities": ["Ana"],
        "metadata": {"years": [1, 2]},
        "semantic_rank": 1,
        "keyword_rank": None,
        "graph_rank": 3,
    }
    assert {key: row[key] for key in wanted} == wanted


def test_a_row_of_a_record_keeps_every_digit() -> None:
    """Amounts are text in JSON and `Decimal` in a data frame."""
    (row,) = RecordEntries([RecordEntry(COFFEE, make_unit("a"))]).to_dicts()
    assert (row["value"], row["unit"], row["at"]) == ("4.50", "USD", "2025-03-01T12:00:00+00:00")


def test_without_pandas_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingDependency, match=r'pandas.*pip install "hindsight-integrations\[plots\]"'):
        recall_of().to_pandas()


def test_a_data_frame_has_times_and_exact_numbers_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    """pandas is given datetimes and Decimals, so that it sorts and sums without parsing."""
    pandas = ModuleType("pandas")
    pandas.DataFrame = list  # type: ignore[attr-defined] # as far as it is used
    monkeypatch.setitem(sys.modules, "pandas", pandas)
    frame: Any = RecordEntries([RecordEntry(COFFEE, make_unit("a"))]).to_pandas()
    assert (frame[0]["value"], frame[0]["at"]) == (Decimal("4.50"), at(0))


def test_banks_show_name_and_place_sync_and_async_alike_and_after_close(
    opener: Callable[..., Hindsight], tmp_path: Path
) -> None:
    """Displaying a bank reads nothing, so it works after close too."""
    engine, memory = opener(tmp_path), opener()
    bank = engine.bank("alice <b>")
    engine.close()
    shown = f"('alice <b>', {tmp_path.resolve()})"
    for face in (bank, bank.asynchronous):
        assert repr(face) == one_line(type(face).__name__ + shown, LINE)
        assert "alice &lt;b&gt;" in face._repr_html_()
    assert repr(memory.bank("bob")) == "MemoryBank('bob', in memory)"
    page, line = bank._repr_html_(), bank.asynchronous._repr_html_()
    assert page.replace("MemoryBank", "AsyncMemoryBank") == line


def test_records_of_a_bank_convert_to_data(light: Hindsight) -> None:
    """`bank.records.list(...)` returns a list that also converts to rows."""
    bank = light.bank("alice")
    bank.retain(
        [{"role": "user", "content": "Coffee for 4.50 USD.", "id": "m"}],
        facts=[
            {
                "what": "Alice paid 4.50 USD for coffee.",
                "sources": ["m"],
                "records": [{"kind": "expense", "category": "coffee", "value": "4.50", "unit": "USD"}],
            }
        ],
    )
    records = bank.records.list(kind="expense")
    assert [row["value"] for row in records.to_dicts()] == ["4.50"]
    assert records == [records[0]]
    assert bank.records.list(kind="income") == []
