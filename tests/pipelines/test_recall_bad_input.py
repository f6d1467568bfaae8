"""Invalid recalls: every invalid option is named, every unusual question answered, and no broken index gives an incomplete answer."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from background import search_chroma_in_small_banks, wait_for_background
from table import every_row

from hindsight_integrations import Channel, Hindsight, InvalidRequest, MemoryBank, RecallResult, StorageError

HOUSES = [
    ("Ann Lee keeps bees behind the chapel", "2024-03-05"),
    ("Bo Chen tunes pianos in the harbour", "2024-03-20"),
    ("Cy Diaz grows figs on a balcony", "2024-04-02"),
]


def fill(bank: MemoryBank) -> MemoryBank:
    messages = [{"content": what, "id": str(n)} for n, (what, _) in enumerate(HOUSES)]
    facts = [
        {"what": what, "occurred_start": day, "sources": [str(n)]} for n, (what, day) in enumerate(HOUSES)
    ]
    bank.retain(messages, facts=facts, timestamp="2024-05-01", tags=["street"])
    return bank


def texts(result: RecallResult) -> list[str]:
    return [item.unit.text for item in result.units]


@every_row(
    ("query", "message"),
    [
        ("x " * 50_000, "query: it has 100,000 characters, over the limit of 8,000"),
        ("\n\t\r ", "query: it is empty"),
        ("\x00\x01", "query: it is empty"),
        (None, "query: it is NoneType, not text"),
        (b"figs", "query: it is bytes, not text"),
        (["figs"], "query: it is list, not text"),
    ],
)
def test_what_is_no_question_says_why(light: Hindsight, query: Any, message: str) -> None:
    """100 kB, white space, control characters and values that are not text are rejected with the reason."""
    with pytest.raises(InvalidRequest, match=message):
        fill(light.bank("street")).recall(query)


@every_row(
    "query",
    [
        "who are you and what is it to me",
        "\U0001f41d\U0001f3b9\U0001f95d" * 50,
        "?!... ---- (((( \"\"\" '''' ::: ^^^ ~~ ** \\\\ && || //",
        "\u200b\u200c\u200d\ufeff\u2060",
        "\u202e\u202d\u2066",
        "figs " * 1_600,
        "a" * 8_000,
        "figs AND NOT (pianos OR",
        "'; DROP TABLE units; --",
    ],
    ids=["stop words", "emoji", "signs", "zero width", "bidi", "8 kB", "one word", "syntax", "sql"],
)
def test_odd_questions_leave_recall_as_it_was(real: Hindsight, query: str) -> None:
    """Every question gets an answer within its budget without duplicates, and the next question works."""
    bank = fill(real.bank("street"))
    found = bank.recall(query, max_tokens=30)
    assert found.tokens == sum(item.unit.tokens for item in found.units) <= 30
    assert len(set(texts(found))) == len(found.units)
    assert set(texts(found)) <= {what for what, _ in HOUSES}
    assert texts(bank.recall("who grows figs?"))[0] == HOUSES[2][0]


@every_row(
    ("options", "message"),
    [
        ({"max_tokens": True}, "max_tokens: True is not a whole number"),
        ({"max_tokens": "100"}, "max_tokens: '100' is not"),
        ({"max_tokens": 10_000_001}, "max_tokens: 10000001 is not a whole number from 1 to 10,000,000"),
        ({"max_tokens": float("nan")}, "max_tokens: nan is not"),
        ({"k": -1}, "k: -1 is not a whole number from 1"),
        ({"k": 10_001}, "k: 10001 is not"),
        ({"k": 2.0}, "k: 2.0 is not"),
        ({"types": "dream"}, "types: 'dream' is not a known choice"),
        ({"types": [None]}, "types: None is not a known choice"),
        ({"tags_match": ""}, "tags_match: '' is not a known choice"),
        ({"tags_match": None}, "tags_match: None is not"),
        ({"budget": 3}, "budget: 3 is not"),
        ({"tags": [7]}, "tag: it is int, not text"),
        ({"window": ("2024-03-01", "2024-03-01")}, "it ends .* before it starts"),
        ({"window": ("2024-03-01T12:00+02:00", "2024-03-01T10:00Z")}, "it ends .* before it starts"),
        ({"window": ("soon", "later")}, "window: 'soon' cannot be read as a time"),
        ({"window": (datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=9))), "2024-01-01")}, "out of range"),
        ({"as_of": "2024-13-01"}, "as_of: '2024-13-01' cannot be read"),
        ({"query_timestamp": "tomorrow"}, "query_timestamp: 'tomorrow' cannot be read"),
    ],
)
def test_options_out_of_range_say_why(light: Hindsight, options: dict[str, Any], message: str) -> None:
    """Every invalid option raises InvalidRequest that names it, and the bank still answers."""
    bank = fill(light.bank("street"))
    with pytest.raises(InvalidRequest, match=message):
        bank.recall("figs", **options)
    assert texts(bank.recall("figs"))[0] == HOUSES[2][0]


@every_row(
    "window",
    [
        ("2024-03-01", "2024-04-01"),
        (datetime(2024, 3, 1), datetime(2024, 4, 1)),  # noqa: DTZ001 - naive on purpose
        (datetime(2024, 3, 1, tzinfo=UTC), "2024-04-01"),
        ("2024-02-29T19:00-05:00", datetime(2024, 4, 1, 9, tzinfo=timezone(timedelta(hours=9)))),
    ],
    ids=["text", "naive", "aware and text", "two zones"],
)
def test_windows_may_be_naive_or_of_any_zone(light: Hindsight, window: Any) -> None:
    """March is March whatever the zone of its bounds; naive ones are read in the bank's zone."""
    found = fill(light.bank("street")).recall("what happened?", window=window)
    assert found.window is not None
    bounds = (found.window.start, found.window.end)
    assert bounds == (datetime(2024, 3, 1, tzinfo=UTC), datetime(2024, 4, 1, tzinfo=UTC))
    in_window = {item.unit.text for item in found.units if Channel.TEMPORAL in item.channels}
    assert in_window == {HOUSES[0][0], HOUSES[1][0]}


@every_row(
    ("filters", "reason"),
    [
        ({"tags": ["nowhere"], "tags_match": "all_strict"}, "tags nowhere"),
        ({"tags_match": "exact"}, "tags none"),
        ({"types": ["opinion"]}, "types opinion"),
        ({"as_of": "1999-01-01"}, "as_of 1999-01-01"),
    ],
)
def test_filters_that_match_nothing_say_which(light: Hindsight, filters: dict[str, Any], reason: str) -> None:
    """The answer is empty, not an error, and a note in the trace names the filter that left nothing."""
    found = fill(light.bank("street")).recall("figs", **filters)
    assert (found.units, found.tokens) == ((), 0)
    assert any(note.startswith("filters: ") and reason in note for note in found.trace.notes)


def test_an_empty_bank_and_a_tiny_budget_say_so(light: Hindsight) -> None:
    """No memories at all, or none that fits, is an empty answer with the reason in the trace."""
    empty = light.bank("new").recall("figs")
    assert (empty.units, empty.trace.notes[0]) == ((), "filters: the bank has no memories")
    tiny = fill(light.bank("street")).recall("figs", max_tokens=1)
    assert tiny.units == ()
    assert any("fits into 1 tokens" in note for note in tiny.trace.notes)


def scribble(folder: Path) -> None:
    """Overwrite every file below a folder with garbage."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    for path in files:
        path.write_bytes(b"scribble" * 64)


def cut_short(folder: Path) -> None:
    """Truncate every file below a folder to half its length, as a full disk or a broken copy does."""
    for path in [path for path in folder.rglob("*") if path.is_file()]:
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def smear(folder: Path) -> None:
    """Overwrite the middle of every file without changing its length, as a failing disk does."""
    for path in [path for path in folder.rglob("*") if path.is_file()]:
        size = path.stat().st_size
        with path.open("r+b") as file:
            file.seek(size // 8)
            file.write(b"\0" * (size * 3 // 4))


def complete(found: RecallResult) -> bool:
    """Whether both indexes contributed to finding the fact about figs."""
    return {Channel.SEMANTIC, Channel.KEYWORD} <= set(found.units[0].channels)


@pytest.mark.directory
@pytest.mark.parametrize("damage", [scribble, smear, cut_short])
@pytest.mark.parametrize("index", ["chroma", "lucene"])
def test_an_index_broken_while_closed_is_healed(
    opener: Callable[..., Hindsight], tmp_path: Path, index: str, damage: Callable[[Path], None]
) -> None:
    """Invalid index files are replaced at open: the first answer is complete."""
    with opener(tmp_path) as first:
        fill(first.bank("street"))
    damage(tmp_path / index)
    bank = opener(tmp_path).bank("street")
    assert complete(bank.recall("who grows figs?"))
    bank.retain("Di Okoro carves spoons")
    assert texts(bank.recall("spoons"))[0].endswith("Di Okoro carves spoons")


@pytest.mark.directory
@pytest.mark.parametrize("damage", [scribble, smear, cut_short, shutil.rmtree])
def test_a_vector_index_broken_under_a_running_engine_never_gives_half_an_answer(
    opener: Callable[..., Hindsight],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    damage: Callable[[Path], None],
) -> None:
    """Each recall after the damage is complete or raises a storage error; nothing retained meanwhile is lost after reopening."""
    search_chroma_in_small_banks(monkeypatch)
    with opener(tmp_path) as engine:
        bank = fill(engine.bank("street"))
        wait_for_background(engine, bank)
        retained = use_broken(bank, lambda: damage(tmp_path / "chroma"))
    with opener(tmp_path) as engine:
        assert_whole(engine, retained)


@pytest.mark.directory
@pytest.mark.parametrize("damage", [scribble, smear, cut_short, shutil.rmtree])
def test_a_keyword_index_broken_under_a_running_engine_never_gives_half_an_answer(
    opener: Callable[..., Hindsight], tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    """The same for Lucene, which maps its files into memory and would not notice by itself."""
    with opener(tmp_path) as engine:
        retained = use_broken(fill(engine.bank("street")), lambda: damage(tmp_path / "lucene"))
    with opener(tmp_path) as engine:
        assert_whole(engine, retained)


def use_broken(bank: MemoryBank, damage: Callable[[], None]) -> list[str]:
    """Recall and retain three times after the damage; return what was acknowledged."""
    damage()
    retained: list[str] = []
    for n in range(3):
        try:
            assert complete(bank.recall("who grows figs?"))
            retained += bank.retain(f"Di Okoro carved spoon {n}").unit_ids
        except StorageError:  # one of the two correct outcomes
            continue
    return retained


def assert_whole(engine: Hindsight, retained: list[str]) -> None:
    bank = engine.bank("street")
    assert complete(bank.recall("who grows figs?"))
    assert {unit.id for unit in bank.iterate_units()} >= set(retained)
    assert engine.doctor().failures == {}
