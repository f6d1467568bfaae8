"""Source turns: the original messages are stored with their memories, and `include_chunks` returns them."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hindsight_integrations import Hindsight, HindsightConfig, MemoryBank, Message
from hindsight_integrations.config import KeywordBackend, RetainConfig, StorageConfig, VectorBackend
from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.model.turns import Role, SourceTurn
from hindsight_integrations.testing.scripted_model import ScriptedModel

STORAGE = StorageConfig(vectors=VectorBackend.EXACT, keywords=KeywordBackend.FTS5)
TALK = [
    {
        "role": "user",
        "name": "Ann",
        "content": "I bought a red kayak.",
        "id": "m1",
        "timestamp": "2024-05-03T10:00",
    },
    {"role": "assistant", "name": "Ada", "content": "Its name?", "id": "m2", "timestamp": "2024-05-03T10:01"},
    {
        "role": "user",
        "name": "Ann",
        "content": "Thunder, I think.",
        "id": "m3",
        "timestamp": "2024-05-03T10:02",
    },
]
BOUGHT = {"what": "Ann bought a red kayak.", "sources": ["m1"]}
NAMED = {"what": "Ann named her kayak Thunder.", "sources": ["m1", "m2", "m3"]}

Opener = Callable[..., Hindsight]


def opened(
    opener: Opener, *replies: Any, path: str | Path = ":memory:", turns: bool = True, **retain: Any
) -> Hindsight:
    """An engine with scripted model answers."""
    config = HindsightConfig(storage=STORAGE, retain=RetainConfig(source_turns=turns, **retain))
    return opener(path, model=ScriptedModel(list(replies)), config=config)


def turns(folder: Path, thread: str = "t", bank: str = "ann") -> list[SourceTurn]:
    """The turns of a conversation, as another process would read them."""
    with closing(Ledger.open(folder, read_only=True)) as ledger:
        return ledger.turns.of_thread(bank, thread)


def shown(bank: MemoryBank, query: str = "kayak", **options: Any) -> list[tuple[str, bool]]:
    """(text, whether it is history) of the turns that a recall includes."""
    found = bank.recall(query, include_chunks=True, **options)
    return [(chunk.text, chunk.turn.history) for chunk in found.chunks if chunk.turn]


@pytest.mark.directory
def test_what_was_said_is_kept_with_who_said_it_and_when(opener: Opener, tmp_path: Path) -> None:
    """Text, speaker, role, time, thread and tags of each message; a reader finds them by memory, too."""
    engine = opened(opener, {"facts": [BOUGHT, NAMED]}, path=tmp_path)
    result = engine.bank("ann").retain(TALK, thread="t", tags=["boats"])
    found = turns(tmp_path)
    assert [(turn.message_id, turn.speaker, turn.role, turn.text) for turn in found] == [
        ("m1", "Ann", Role.USER, "I bought a red kayak."),
        ("m2", "Ada", Role.ASSISTANT, "Its name?"),
        ("m3", "Ann", Role.USER, "Thunder, I think."),
    ]
    assert [f"{turn.said_at:%H:%M}" for turn in found] == ["10:00", "10:01", "10:02"]
    assert {(turn.thread, turn.tags, turn.history) for turn in found} == {("t", ("boats",), False)}
    with closing(Ledger.open(tmp_path, read_only=True)) as ledger:
        rows = ledger.units.row_ids("ann", result.unit_ids)
        by_unit = ledger.turns.of_units("ann", np.array(list(rows.values())))
    assert [turn.message_id for turn in by_unit[rows[result.unit_ids[1]]]] == ["m1", "m2", "m3"]


@pytest.mark.directory
def test_a_message_that_is_a_memory_is_not_kept_twice(opener: Opener, tmp_path: Path) -> None:
    """Without a model a memory is a message word for word: the ledger contains each text once, and reads it as a turn.

    A message that only asks is not a memory, and a short answer is one together with its question, so their
    texts are stored as turns.
    """
    engine = opener(tmp_path, config=HindsightConfig(storage=STORAGE))
    engine.bank("ann").retain(TALK, thread="t")
    assert [turn.text for turn in turns(tmp_path)] == [message["content"] for message in TALK]
    engine.close()
    with sqlite3.connect(tmp_path / "ledger.sqlite") as raw:
        assert raw.execute("SELECT count(*) FROM units WHERE text LIKE '%Thunder%'").fetchone() == (1,)
        assert raw.execute("SELECT text FROM turns ORDER BY text").fetchall() == [
            ("",),
            ("Its name?",),
            ("Thunder, I think.",),
        ]
    raw.close()


@pytest.mark.directory
def test_a_fact_that_is_the_message_is_not_kept_twice_either(opener: Opener, tmp_path: Path) -> None:
    """The caller's facts may be messages word for word; only the other messages are stored as turns."""
    engine = opener(tmp_path, config=HindsightConfig(storage=STORAGE))
    facts = [{"what": "Ann: I bought a red kayak.", "sources": ["m1"]}, NAMED]
    engine.bank("ann").retain(TALK, thread="t", facts=facts)
    assert [turn.text for turn in turns(tmp_path)] == [message["content"] for message in TALK]
    engine.close()
    with sqlite3.connect(tmp_path / "ledger.sqlite") as raw:
        kept = raw.execute("SELECT message FROM turns WHERE text <> '' ORDER BY message").fetchall()
    raw.close()
    assert kept == [("m2",), ("m3",)]


@pytest.mark.directory
@pytest.mark.parametrize("model", [True, False], ids=["extracted", "word for word"])
def test_an_edited_message_keeps_its_latest_wording_only(
    opener: Opener, tmp_path: Path, *, model: bool
) -> None:
    """After an edit the earlier text is no longer a turn, and after an edit back it is again."""
    replies = [{"facts": [{"what": f"Fact {n}.", "sources": ["m1"]}]} for n in range(3)]
    extraction = "auto" if model else "verbatim"
    bank = opened(opener, *replies, path=tmp_path, extraction=extraction).bank("ann")
    for text in ("I bought a kayak.", "I bought a canoe.", "I bought a kayak."):
        bank.retain([Message(text, "Ann", "2024-05-03", id="m1")], thread="t")
        assert [turn.text for turn in turns(tmp_path)] == [text]


@pytest.mark.directory
def test_nothing_is_kept_where_it_is_switched_off(opener: Opener, tmp_path: Path) -> None:
    """With source_turns=False memories refer to messages without stored text, and recall says so."""
    engine = opened(opener, {"facts": [BOUGHT]}, path=tmp_path, turns=False)
    bank = engine.bank("ann")
    bank.retain(TALK, thread="t")
    assert turns(tmp_path) == []
    found = bank.recall("kayak", include_chunks=True)
    assert (len(found.units), found.chunks) == (1, ())
    assert "chunks: 1 memories come from messages whose text is not kept" in found.trace.notes


def test_recall_shows_the_turns_its_memories_came_from(opener: Opener) -> None:
    """In the order of their best memory, each once, with its cost; the budget cuts the last one."""
    engine = opened(opener, {"facts": [BOUGHT, NAMED]})
    bank = engine.bank("ann")
    ids = bank.retain(TALK, thread="t").unit_ids
    found = bank.recall("Ann bought a red kayak", include_chunks=True)
    assert [item.unit.id for item in found.units] == list(ids)
    assert [(chunk.text, chunk.unit_ids) for chunk in found.chunks] == [
        ("Ann: I bought a red kayak.", ids),
        ("Ada: Its name?", ids[1:]),
        ("Ann: Thunder, I think.", ids[1:]),
    ]
    first, second, _ = found.chunks
    assert (first.document_id, first.turn and first.turn.message_id) == (None, "m1")
    budget = first.tokens + second.tokens - 1
    less = bank.recall("Ann bought a red kayak", include_chunks=True, max_chunk_tokens=budget).chunks
    assert [chunk.truncated for chunk in less] == [False, True]
    assert sum(chunk.tokens for chunk in less) <= budget
    assert "message m1: " in found.explain()


def test_a_turn_among_the_memories_is_not_shown_again(opener: Opener) -> None:
    """A verbatim memory is its own passage, also for other memories of the message."""
    bank = opener(config=HindsightConfig(storage=STORAGE)).bank("ann")
    facts = [{"what": "Ann: I bought a red kayak.", "sources": ["m1"]}, {**BOUGHT, "what": "A kayak is red."}]
    bank.retain(TALK[:1], thread="t", facts=facts)
    found = bank.recall("red kayak", include_chunks=True)
    assert (len(found.units), found.chunks) == (2, ())
    assert not [note for note in found.trace.notes if note.startswith("chunks")]


def test_a_turn_whose_memories_are_closed_is_marked_as_history(opener: Opener) -> None:
    """When all memories of a message are closed, it is marked; while one is valid, and with `as_of` that time, it is not."""
    closing = {
        "what": "Ann sold her red kayak.",
        "sources": ["m4"],
        "invalidates": ["Ann bought a red kayak."],
    }
    engine = opened(opener, {"facts": [BOUGHT]}, {"facts": [closing]})
    bank = engine.bank("ann")
    bank.retain(TALK[:1], thread="t")
    assert shown(bank) == [("Ann: I bought a red kayak.", False)]
    sold = bank.retain([Message("I sold it.", "Ann", "2024-06-01T10:00", id="m4")], thread="t")
    assert len(sold.closed) == 1
    assert shown(bank) == [("Ann: I sold it.", False)]
    both = shown(bank, include_invalidated=True)
    assert sorted(both) == [("Ann: I bought a red kayak.", True), ("Ann: I sold it.", False)]
    assert shown(bank, as_of="2024-05-10") == [("Ann: I bought a red kayak.", False)]
    told = bank.recall("kayak", include_chunks=True, include_invalidated=True).explain()
    assert "message m1 [no longer valid]" in told
    assert "message m4 [no longer valid]" not in told


def test_words_said_after_the_moment_are_not_shown_for_it(opener: Opener) -> None:
    """With an earlier `as_of`, later wordings of a message, and turns with hidden tags, are not shown."""
    later = [
        {"facts": [{**BOUGHT, "what": what}]} for what in ("Ann bought a red kayak.", "Ann bought a canoe.")
    ]
    bank = opened(opener, *later).bank("ann")
    bank.retain([Message("I bought a red kayak.", "Ann", "2024-05-03", id="m1")], thread="t", tags=["a"])
    bank.retain([Message("I bought a canoe.", "Ann", "2024-06-03", id="m1")], thread="t", tags=["b"])
    found = bank.recall("kayak", include_chunks=True, as_of="2024-05-10")
    assert ([item.text for item in found.units], found.chunks) == (["Ann bought a red kayak."], ())
    assert shown(bank, "canoe", tags=["b"], tags_match="all_strict") == [("Ann: I bought a canoe.", False)]
    assert shown(bank, include_invalidated=True, tags=["a"], tags_match="all_strict") == []
    assert shown(bank, include_invalidated=True, tag_groups={"tags": ["a"]}) == []


def test_what_was_said_is_in_no_log(opener: Opener, caplog: pytest.LogCaptureFixture) -> None:
    """Logs of retain, recall and forget contain only ids and counts."""
    with caplog.at_level(logging.DEBUG):
        bank = opened(opener, {"facts": [BOUGHT]}).bank("ann")
        bank.retain(TALK, thread="t")
        bank.recall("kayak", include_chunks=True, trace=True)
        bank.forget(thread="t")
    assert not [record for record in caplog.records if "Thunder" in record.getMessage()]
