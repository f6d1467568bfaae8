"""Permanent erasure: erased data is in no answer and in no file, and everything else is unchanged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from table import every_row

from hindsight_integrations import (
    BankNotFound,
    Hindsight,
    HindsightConfig,
    InvalidRequest,
    MemoryBank,
    Message,
    ModelUnavailable,
)
from hindsight_integrations.config import KeywordBackend, RetainConfig, StorageConfig, VectorBackend
from hindsight_integrations.ledger import databases
from hindsight_integrations.testing.doubles import HashEmbedder
from hindsight_integrations.testing.scripted_model import ScriptedModel

LIGHT = StorageConfig(vectors=VectorBackend.EXACT, keywords=KeywordBackend.FTS5)
REAL = StorageConfig(vectors=VectorBackend.CHROMA, keywords=KeywordBackend.LUCENE)
MIXED = StorageConfig(vectors=VectorBackend.CHROMA, keywords=KeywordBackend.FTS5)

DOWN = ModelUnavailable("test", "down")
TOKEN, NAME = "zyxquorl", "Quendolyn"
SECRET = Message(
    f"{NAME} keeps the marina password {TOKEN} in a drawer.", "Alice", "2024-05-04T10:00", id="s1"
)
OTHERS = [
    Message("Yesterday I bought a red kayak from Harbor Sports.", "Alice", "2024-05-03T10:00", id="m1"),
    Message("Alice named the kayak Thunder after the storm.", "Bob", "2024-05-03T10:01", id="m2"),
    *(
        Message(f"Bob paid {n} euros for plums at Harbor Sports.", "Bob", f"2024-04-{n:02}", id=f"p{n}")
        for n in range(1, 20)
    ),
]


class Recording(HashEmbedder):
    """A hash embedder that records the vectors of texts that contain the token."""

    seen: list[bytes]

    def __init__(self) -> None:
        super().__init__()
        self.seen = []

    def embed_documents(self, texts: Any) -> Any:
        """As in the base class."""
        rows = super().embed_documents(texts)
        self.seen += [
            row.astype("<f4").tobytes() for row, text in zip(rows, texts, strict=True) if TOKEN in text
        ]
        return rows


def files_with(folder: Path, needle: bytes) -> set[str]:
    """The top-level entries with a file that contains the bytes, ignoring case."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    return {
        path.relative_to(folder).parts[0] for path in files if needle.lower() in path.read_bytes().lower()
    }


def texts(bank: MemoryBank, query: str, **options: Any) -> list[str]:
    return [item.unit.text for item in bank.recall(query, include_invalidated=True, **options).units]


Opened = Callable[[], tuple[Hindsight, Recording]]


@pytest.fixture(params=[LIGHT, MIXED, REAL], ids=["exact+fts5", "chroma+fts5", "chroma+lucene"])
def opened(request: pytest.FixtureRequest, opener: Callable[..., Hindsight], tmp_path: Path) -> Opened:
    def open_engine() -> tuple[Hindsight, Recording]:
        embedder = Recording()
        config = HindsightConfig(storage=request.param)
        return opener(tmp_path / "data", config=config, embeddings=embedder), embedder

    return open_engine


@pytest.mark.directory
@pytest.mark.promise(
    "Forgotten data remains in no file of the memory, and entities with similar names are erased only if you ask for it."
)
@pytest.mark.parametrize("flushed", [True, False], ids=["on disk", "waiting"])
def test_no_file_and_no_channel_keeps_what_was_forgotten(
    opened: Opened, tmp_path: Path, flushed: bool
) -> None:
    """After `forget` neither the rare word, nor a name that only it used, nor its vector is in any file or answer.

    It may have been in the indexes' files, or still waiting to be written there.
    """
    data = tmp_path / "data"
    engine, embedder = opened()
    bank = engine.bank("alice")
    bank.retain(OTHERS)
    (secret,) = bank.retain([SECRET]).unit_ids
    (vector,) = embedder.seen
    if flushed:
        engine.close()
        engine, _ = opened()
        bank = engine.bank("alice")
    before = files_with(data, TOKEN.encode()), files_with(data, vector)
    assert {"ledger.sqlite", "ledger.sqlite-wal"} & before[0]
    in_indexes = before[0] & {"fts5", "lucene"}, before[1] & {"chroma"}
    uses_chroma = "chroma" in engine.doctor().backends["vectors"]
    assert [bool(found) for found in in_indexes] == [flushed, flushed and uses_chroma]

    receipt = bank.forget(unit=secret)
    assert (receipt.unit_ids, receipt.counts["units"], receipt.files_clean) == ((secret,), 1, True)
    for needle in (TOKEN.encode(), vector, NAME.encode(), secret.encode()):
        assert files_with(data, needle) == set()
    assert not any(TOKEN in text for text in texts(bank, f"{NAME} marina password {TOKEN}"))
    with pytest.raises(InvalidRequest, match=secret):
        bank.get(secret)

    found = bank.recall("Which red kayak was bought from Harbor Sports on May 2, 2024?").units[0]
    assert found.unit.sources == ("m1",)
    assert {"semantic", "keyword", "temporal"} <= set(found.channels)
    engine.close()
    again, _ = opened()
    bank = again.bank("alice")
    assert bank.count() == len(OTHERS)
    assert again.doctor().failures == {}
    assert not any(TOKEN in text for text in texts(bank, f"marina password {TOKEN}"))
    assert files_with(data, vector) == files_with(data, TOKEN.encode()) == set()


@pytest.mark.directory
def test_one_of_several_retained_together_leaves_no_file(opened: Opened, tmp_path: Path) -> None:
    """Memories of one call are in one file of an index; the erased words are removed while the others stay."""
    engine, _ = opened()
    bank = engine.bank("alice")
    _, secret, _ = bank.retain([OTHERS[0], SECRET, OTHERS[1]]).unit_ids
    assert bank.forget(unit=secret).files_clean
    assert files_with(tmp_path / "data", TOKEN.encode()) == set()
    assert [item.unit.sources for item in bank.recall("red kayak Thunder storm").units]


def test_records_and_their_categories_leave_no_file(
    light_config: HindsightConfig, opener: Callable[..., Hindsight], tmp_path: Path
) -> None:
    """Value, unit and category of a forgotten memory are in no file, even if another memory has the same category."""
    with opener(tmp_path, config=light_config) as engine:
        bank = engine.bank("alice")
        said = [
            Message("I paid for therapy twice.", "Alice", id="r1"),
            Message("And once more.", "Alice", id="r2"),
        ]
        facts: list[dict[str, Any]] = [
            {
                "what": "Alice paid.",
                "sources": ["r1"],
                "records": [
                    {"kind": "expense", "category": f"therapy with {NAME}", "value": "61.75", "unit": "EUR"},
                    {"kind": "task", "category": "errands", "value": f"call {NAME}"},
                    {"kind": TOKEN, "category": TOKEN, "value": TOKEN, "unit": TOKEN},
                ],
            },
            {
                "what": "Alice paid again.",
                "sources": ["r2"],
                "records": [{"kind": "expense", "category": "therapy", "value": "40", "unit": "EUR"}],
            },
        ]
        found = bank.retain(said, facts=facts)
        bank.forget(unit=found.unit_ids[0])
        assert [entry.record.category for entry in bank.records.list()] == ["therapy"]
    for needle in (TOKEN.encode(), NAME.encode(), b"61.75", b"errands"):
        assert files_with(tmp_path, needle) == set()


def test_a_replayed_conversation_does_not_bring_it_back(light: Hindsight) -> None:
    """The messages of a forgotten memory are still known, so a LangGraph replay adds nothing."""
    bank = light.bank("alice")
    (secret,) = bank.retain([SECRET], thread="t").unit_ids
    bank.forget(unit=secret)
    assert bank.retain([SECRET, *OTHERS[:1]], thread="t").created == 1
    assert not any(TOKEN in text for text in texts(bank, TOKEN))


def test_a_document_goes_with_its_passages(light: Hindsight) -> None:
    """Forgetting a document erases all its memories, and retaining the same document again adds nothing."""
    bank = light.bank("alice")
    bank.retain(f"{TOKEN} is the word. It has two sentences.", document_id="d1")
    bank.retain("Another text about plums.", document_id="d2")
    receipt = bank.forget(document="d1")
    assert receipt.counts["documents"] == 1
    assert texts(bank, f"{TOKEN} plums") == ["Another text about plums."]


def test_an_entity_goes_with_all_that_mentions_it(light: Hindsight) -> None:
    """Forgetting a person erases every memory about them, and their name is not listed any more."""
    bank = light.bank("alice")
    bank.retain([*OTHERS, SECRET])
    receipt = bank.forget(entity="bob")
    assert receipt.counts["units"] == 20
    assert [e.name for e in bank.entities.list("bob")] == []
    assert not any("Bob" in text for text in texts(bank, "Bob plums"))
    assert any(TOKEN in text for text in texts(bank, TOKEN))


def test_a_window_goes_with_what_was_said_in_it(light: Hindsight) -> None:
    """Forgetting a day erases its memories, and none of the day before."""
    bank = light.bank("alice")
    bank.retain([*OTHERS, SECRET])
    assert bank.forget(window=("2024-05-04", "2024-05-05")).counts["units"] == 1
    assert bank.count() == len(OTHERS)
    assert bank.forget(window=("1990-01-01", "1990-01-02")).unit_ids == ()


def test_everything_goes_and_the_bank_can_be_used_again(opened: Opened, tmp_path: Path) -> None:
    """An emptied bank keeps its profile, contains nothing, and accepts the same conversation again."""
    engine, _ = opened()
    bank = engine.bank("alice")
    bank.profile.set(profile := bank.profile.get().__class__("Ada", "I like proofs."))
    bank.retain([*OTHERS, SECRET])
    receipt = bank.forget(everything=True)
    assert receipt.counts["units"] == len(OTHERS) + 1
    assert (bank.count(), bank.recall("kayak").units, bank.entities.list()) == (0, (), [])
    assert (
        files_with(tmp_path / "data", TOKEN.encode()) == files_with(tmp_path / "data", b"quendolyn") == set()
    )
    assert bank.profile.get() == profile
    assert bank.retain(OTHERS).created == len(OTHERS)
    assert "m1" in bank.recall("red kayak Harbor Sports").units[0].unit.sources


@pytest.mark.directory
def test_a_bank_can_be_removed_wholly(opened: Opened, tmp_path: Path) -> None:
    """A forgotten bank's name and content are gone, and other banks are not affected."""
    engine, _ = opened()
    for name in ("alice", "carol"):
        engine.bank(name).retain([*OTHERS, SECRET] if name == "alice" else OTHERS)
    receipt = engine.forget_bank("alice")
    assert receipt.counts["units"] == len(OTHERS) + 1
    assert receipt.files_clean
    assert receipt.copies == engine.copies("alice") == ()  # only banks on PostgreSQL have copies
    assert engine.banks() == ["carol"]
    assert files_with(tmp_path / "data", TOKEN.encode()) == set()
    with pytest.raises(BankNotFound):
        engine.forget_bank("alice")
    assert engine.bank("carol").recall("red kayak").units
    fresh = engine.bank("alice")
    assert (fresh.count(), fresh.retain([SECRET]).created) == (0, 1)
    assert any(TOKEN in text for text in texts(fresh, TOKEN))


@every_row(
    "selectors",
    [{}, {"unit": "u", "document": "d"}, {"unit": "nobody"}, {"document": "none"}, {"entity": "nobody"}],
)
def test_a_selector_that_fits_nothing_is_an_error(light: Hindsight, selectors: dict[str, Any]) -> None:
    """A misspelt id is not silently treated as erased."""
    bank = light.bank("alice")
    bank.retain(OTHERS)
    with pytest.raises(InvalidRequest):
        bank.forget(**selectors)
    assert bank.count() == len(OTHERS)


@pytest.mark.directory
@pytest.mark.promise(
    "Forgotten data remains in no file of the memory, and entities with similar names are erased only if you ask for it."
)
def test_an_erasure_cut_off_by_a_kill_is_finished_on_open(
    opener: Callable[..., Hindsight], tmp_path: Path
) -> None:
    """After a kill between the ledger's erasure and that of indexes and files, the next open completes it."""
    from hindsight_integrations.ledger.ledger import Ledger
    from hindsight_integrations.model.erasure import Erasure

    data, embedder = tmp_path / "data", Recording()
    with opener(data, embeddings=embedder) as engine:
        bank = engine.bank("alice")
        bank.retain(OTHERS)
        (secret,) = bank.retain([SECRET]).unit_ids
    ledger = Ledger.open(data)
    ledger.erasure.erase("alice", Erasure(unit=secret))
    ledger.close()
    assert files_with(data, embedder.seen[0])
    with opener(data) as engine:
        assert engine.bank("alice").count() == len(OTHERS)
    assert files_with(data, TOKEN.encode()) == files_with(data, embedder.seen[0]) == set()


@pytest.mark.slow
@pytest.mark.promise(
    "Forgotten data remains in no file of the memory, and entities with similar names are erased only if you ask for it."
)
def test_large_collections_are_cleaned_too(opener: Callable[..., Hindsight], tmp_path: Path) -> None:
    """If there are enough memories for Chroma to write its own vector files, the erased vector is in none of them."""
    embedder = Recording()
    engine = opener(tmp_path, embeddings=embedder, config=HindsightConfig(storage=MIXED))
    bank = engine.bank("alice")
    (secret,) = bank.retain([SECRET]).unit_ids
    bank.retain([Message(f"Fact {n} about plums.", "Bob", "2024-05-01", id=f"n{n}") for n in range(1100)])
    assert list((tmp_path / "chroma").rglob("data_level0.bin"))
    bank.forget(unit=secret)
    assert files_with(tmp_path, embedder.seen[0]) == files_with(tmp_path, TOKEN.encode()) == set()
    assert "semantic" in bank.recall("Fact 77 about plums").units[0].channels
    assert engine.doctor().failures == {}


@pytest.mark.directory
def test_a_reader_elsewhere_delays_the_rewriting_and_the_receipt_says_so(
    opener: Callable[..., Hindsight], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While another process reads the old state, its files cannot be rewritten; the next forget or open does it."""
    import sqlite3

    monkeypatch.setattr(databases, "BUSY_MILLISECONDS", 50)
    engine = opener(tmp_path, config=HindsightConfig(storage=LIGHT))
    bank = engine.bank("alice")
    (secret,) = bank.retain([SECRET]).unit_ids
    bank.retain(OTHERS)
    reader = sqlite3.connect(f"file:{tmp_path / 'ledger.sqlite'}?mode=ro", uri=True)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM units").fetchone()
    assert bank.forget(unit=secret).files_clean is False
    reader.close()
    engine.close()
    opener(tmp_path, config=HindsightConfig(storage=LIGHT))
    assert files_with(tmp_path, TOKEN.encode()) == set()


TALK = [
    SECRET,
    Message("Is it locked?", "Bob", "2024-05-04T10:01", id="s2"),
    Message("Bobsleighs are fast.", "Carl", "2024-05-06T10:00", id="s3"),
]
FACT = {
    "what": "The marina has a password.",
    "sources": ["s1"],
    "entities": [{"text": "Bob", "type": "PERSON"}],
}


def conversation(
    opener: Callable[..., Hindsight], data: Path, *replies: Any, storage: StorageConfig
) -> MemoryBank:
    """A bank with a conversation, and a model with these answers."""
    config = HindsightConfig(storage=storage, retain=RetainConfig(on_model_failure="queue"))
    engine = opener(data, config=config, model=ScriptedModel(list(replies)))
    engine.bank("alice").retain(TALK, thread="t")
    return engine.bank("alice")


@pytest.mark.directory
@pytest.mark.parametrize(
    "selector",
    [{"thread": "t"}, {"thread": "t", "message": "s1"}, {"window": ("2024-05-04", "2024-05-05")}, {}],
)
@pytest.mark.parametrize("storage", [LIGHT, REAL], ids=["exact+fts5", "chroma+lucene"])
@pytest.mark.parametrize("state", ["extracted", "without memories", "waiting"])
def test_what_was_said_goes_from_every_file(
    opener: Callable[..., Hindsight],
    tmp_path: Path,
    storage: StorageConfig,
    state: str,
    selector: dict[str, Any],
) -> None:
    """A turn is erased with a memory made from it; otherwise by conversation, message and time; waiting turns too."""
    data = tmp_path / "data"
    replies = {"extracted": {"facts": [FACT]}, "without memories": {"facts": []}, "waiting": DOWN}
    bank = conversation(opener, data, replies[state], storage=storage)
    assert files_with(data, TOKEN.encode())
    if not selector:
        found = bank.recall("marina password").units
        selector = {"unit": found[0].unit.id} if found else {"everything": True}
    receipt = bank.forget(**selector)
    assert (receipt.files_clean, receipt.counts["turns"] > 0) == (True, True)
    assert files_with(data, TOKEN.encode()) == set()
    assert bank.recall(TOKEN, include_chunks=True).chunks == ()
    assert not any(TOKEN in text for text in texts(bank, TOKEN))
    if "everything" not in selector:
        assert bank.retain(TALK, thread="t").skipped_messages == len(TALK)


def test_what_waits_in_another_conversation_stays(opener: Callable[..., Hindsight], tmp_path: Path) -> None:
    """A memory's words inside a longer text of another conversation stay; its own conversation loses them."""
    tea = {**FACT, "what": "Tea.", "sources": ["s1"]}
    bank = conversation(opener, tmp_path, {"facts": [tea]}, DOWN, DOWN, storage=LIGHT)
    for thread in ("t", "u"):
        bank.retain([Message(f"Tea. I meant green tea in {thread}.", "Alice", id="x1")], thread=thread)
    assert len([task for task in bank.tasks.list() if "green tea" in task.payload]) == 2
    (unit,) = [found.unit.id for found in bank.recall("Tea.").units if found.unit.text == "Tea."]
    assert bank.forget(unit=unit).counts["tasks"] == 1
    (task,) = [task for task in bank.tasks.list() if "green tea" in task.payload]
    assert "green tea in u" in task.payload


def test_what_waits_without_a_thread_stays(opener: Callable[..., Hindsight], tmp_path: Path) -> None:
    """Messages retained without a thread are separate conversations; an unrelated one that quotes the memory stays."""
    config = HindsightConfig(storage=LIGHT, retain=RetainConfig(on_model_failure="queue"))
    bank = opener(tmp_path, config=config, model=ScriptedModel([DOWN, DOWN])).bank("alice")
    fact = {**FACT, "what": "user: I like tea.", "entities": []}
    bank.retain([Message("I like tea.", "user", id="s1")], facts=[fact])
    bank.retain([Message("My sister wrote 'user: I like tea.' I cannot eat nuts.", "user", id="s2")])
    bank.retain([Message("user: I like tea.", "user", id="s3")])
    [unit] = [match.unit for match in bank.recall("tea").units if match.unit.sources == ("s1",)]
    assert bank.forget(unit=unit.id).counts["tasks"] == 1
    [task] = [task for task in bank.tasks.list() if "tea" in task.payload]
    assert "cannot eat nuts" in task.payload


def test_an_older_document_that_waits_goes_by_its_tag(
    opener: Callable[..., Hindsight], tmp_path: Path
) -> None:
    """Nothing has been extracted from it, so no unit has the tag: its waiting task is found by the task's own tags."""
    config = HindsightConfig(storage=LIGHT, retain=RetainConfig(on_model_failure="queue"))
    engine = opener(tmp_path, config=config, model=ScriptedModel([DOWN, DOWN]))
    bank = engine.bank("alice")
    for tag in ("diary", "work"):
        document = f"The {tag} has the password {TOKEN}."
        bank.retain(document, document_id=tag, timestamp="2024-05-04", tags=[tag])
    bank.forget(before="2024-06-01", tags=["diary"])
    (task,) = [task for task in bank.tasks.list() if TOKEN in task.payload]
    assert "The work" in task.payload


def test_somebody_goes_from_what_was_said_and_what_waits(
    opener: Callable[..., Hindsight], tmp_path: Path
) -> None:
    """By name as whole words and by speaker; other people's messages stay, and so does the task, without that message."""
    bank = conversation(opener, tmp_path, DOWN, storage=LIGHT)
    bank.retain(
        "Bob owns a harbour.",
        entities=["Bob"],
        facts=[{**FACT, "what": "Bob owns a harbour.", "sources": []}],
    )
    assert bank.forget(entity="Bob").counts["turns"] == 1
    found = {item.unit.sources for item in bank.recall("password locked bobsleighs fast").units}
    assert found == {("s1",), ("s3",)}
    (task,) = [task for task in bank.tasks.list() if task.payload]
    assert "locked" not in task.payload
    assert TOKEN in task.payload


def test_somebody_no_memory_mentions_goes_from_what_was_said(
    opener: Callable[..., Hindsight], tmp_path: Path
) -> None:
    """A name that occurs only in turns without memories is erased too; another one is unknown."""
    bank = conversation(opener, tmp_path, DOWN, storage=LIGHT)
    assert bank.forget(entity="Bob", dry_run=True).counts["turns"] == 1
    assert bank.forget(entity="bob").counts["turns"] == 1
    assert {item.unit.sources for item in bank.recall("password locked bobsleighs fast").units} == {
        ("s1",),
        ("s3",),
    }
    with pytest.raises(InvalidRequest, match="not known"):
        bank.forget(entity="Bob")


def test_a_message_nobody_retained_is_an_error(light: Hindsight) -> None:
    """A misspelt message id is not silently treated as erased; a conversation may be empty, and two selectors are rejected."""
    bank = light.bank("alice")
    bank.retain([SECRET], thread="t")
    mistaken: list[dict[str, Any]] = [
        {"message": "s1"},
        {"thread": "t", "message": "none"},
        {"thread": "t", "unit": "u"},
    ]
    for selectors in mistaken:
        with pytest.raises(InvalidRequest):
            bank.forget(**selectors)
    assert bank.forget(thread="none").counts == {}
    assert bank.count() == 1
    assert bank.forget(thread="t", message="s1").counts["units"] == 1
