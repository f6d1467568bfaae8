"""Turns that wait for extraction: found at once while the model is down, and never together with their facts."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from archived import archived_rows

from hindsight_integrations import (
    Hindsight,
    HindsightConfig,
    InvalidRequest,
    MemoryBank,
    Message,
    ModelUnavailable,
    RecalledUnit,
)
from hindsight_integrations.config import (
    KeywordBackend,
    OnChannelFailure,
    RecallConfig,
    RetainConfig,
    StorageConfig,
    VectorBackend,
)
from hindsight_integrations.indexes.chroma import ChromaVectorIndex
from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.model.units import UnitKind
from hindsight_integrations.testing.doubles import FixedReranker, HashEmbedder
from hindsight_integrations.testing.scripted_model import ScriptedModel

LIGHT = StorageConfig(vectors=VectorBackend.EXACT, keywords=KeywordBackend.FTS5)
REAL = StorageConfig()
DOWN, UNUSABLE = ModelUnavailable("test", "down"), "no JSON"
RARE = "zyxquorl"
TALK = [
    Message(f"Yesterday I bought a red kayak called {RARE}.", "Alice", "2024-05-03T10:00", id="m1"),
    Message("I met Bob at the harbour.", "Alice", "2024-05-07T10:01", id="m2"),
]
FACTS = {
    "facts": [
        {"what": "Alice bought a red kayak.", "sources": ["m1"], "occurred_start": "2024-05-02"},
        {"what": "Alice met Bob at the harbour.", "sources": ["m2"]},
    ]
}
QUESTIONS = {
    "semantic": "a red kayak was bought",
    "keyword": RARE,
    "temporal": "What happened on May 2, 2024?",
}

Opener = Callable[..., Hindsight]


class Recording(HashEmbedder):
    """A hash embedder that records the vectors of texts with the rare word."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[bytes] = []

    def embed_documents(self, texts: Sequence[str]) -> Any:
        """As in the base class."""
        rows = super().embed_documents(texts)
        self.seen += [row.tobytes() for row, text in zip(rows, texts, strict=True) if RARE in text]
        return rows


class Moody(HashEmbedder):
    """A hash embedder that fails while it is down."""

    down = False

    def embed_documents(self, texts: Sequence[str]) -> Any:
        """As in the base class."""
        if self.down:
            raise ModelUnavailable("embedder", "down")
        return super().embed_documents(texts)

    def embed_query(self, text: str) -> Any:
        """As in the base class; `embed_documents` calls it for each text."""
        if self.down:
            raise ModelUnavailable("embedder", "down")
        return super().embed_query(text)


def opened(
    opener: Opener,
    *replies: Any,
    path: str | Path = ":memory:",
    storage: StorageConfig = LIGHT,
    **options: Any,
) -> Hindsight:
    """An engine with scripted model answers that queues passages on which the model fails."""
    retain = {"on_model_failure": "queue", **options.pop("retain", {})}
    config = HindsightConfig(
        storage=storage, retain=RetainConfig(**retain), recall=options.pop("recall", RecallConfig())
    )
    return opener(path, model=ScriptedModel(list(replies)), config=config, **options)


def files_with(folder: Path, needle: bytes) -> list[str]:
    """The files that contain the bytes, ignoring case."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    return [str(path) for path in files if needle.lower() in path.read_bytes().lower()]


def kinds(found: Sequence[RecalledUnit]) -> list[UnitKind]:
    """The kind of each result."""
    return [item.kind for item in found]


def waiting(bank: MemoryBank, query: str = RARE, **options: Any) -> list[str]:
    """Texts of the waiting turns that a recall returns."""
    return [item.text for item in bank.recall(query, **options).units if item.kind is UnitKind.TURN]


@pytest.mark.parametrize("storage", [LIGHT, REAL], ids=["exact+fts5", "chroma+lucene"])
def test_with_the_model_down_a_message_is_found_at_once(
    opener: Opener, tmp_path: Path, storage: StorageConfig
) -> None:
    """By meaning, by a rare word and by date, as a turn; after `settle` its facts are found, and never both."""
    engine = opened(opener, DOWN, FACTS, path=tmp_path, storage=storage)
    bank = engine.bank("alice")
    bank.retain(TALK, thread="t")
    for channel, question in QUESTIONS.items():
        best = bank.recall(question).units[0]
        assert (best.kind, best.unit.sources, best.valid) == (UnitKind.TURN, ("m1",), True)
        assert channel in best.channels
    assert best.text == f"Alice: Yesterday I bought a red kayak called {RARE}."
    bank.tasks.settle()
    for question in QUESTIONS.values():
        assert set(kinds(bank.recall(question, include_invalidated=True).units)) <= {UnitKind.MEMORY}
    assert bank.recall(QUESTIONS["semantic"]).units[0].text == "Alice bought a red kayak."
    engine.close()
    again = opened(opener, path=tmp_path, storage=storage)
    assert set(kinds(again.bank("alice").recall("a red kayak").units)) == {UnitKind.MEMORY}
    assert again.doctor().failures == {}


KILLED_BETWEEN = """
import os, signal, sys
from hindsight_integrations import Hindsight, HindsightConfig, Message, ModelUnavailable
from hindsight_integrations.config import KeywordBackend, RetainConfig, StorageConfig, VectorBackend
from hindsight_integrations.indexes.projection import BankProjection
from hindsight_integrations.testing.doubles import HashEmbedder
from hindsight_integrations.testing.scripted_model import ScriptedModel

folder, moment = sys.argv[1:]
facts = {"facts": [{"what": "Alice bought a red kayak.", "sources": ["m1"]}]}
config = HindsightConfig(
    storage=StorageConfig(VectorBackend.EXACT, KeywordBackend.FTS5), retain=RetainConfig(on_model_failure="queue")
)
model = ScriptedModel([{"facts": []}, ModelUnavailable("test", "down"), facts])
engine = Hindsight.open(folder, model=model, embeddings=HashEmbedder(), reranker=None, config=config)
bank = engine.bank("alice")
def killed(projection):
    os.kill(os.getpid(), signal.SIGKILL)

def kill_projection():
    BankProjection.catch_up = killed

bank.retain("A first memory.")
if moment == "in retain":
    kill_projection()
bank.retain([Message("I bought a red kayak.", "Alice", "2024-05-03T10:00", id="m1")], thread="t")
if moment == "between":
    killed(None)
kill_projection()
bank.tasks.settle()
"""


@pytest.mark.directory
@pytest.mark.parametrize(
    ("moment", "extracted"),
    [
        ("in settle", True),
        pytest.param("in retain", False, marks=pytest.mark.slow),
        pytest.param("between", False, marks=pytest.mark.slow),
    ],
)
def test_killed_in_between_it_is_the_same(
    opener: Opener, tmp_path: Path, moment: str, *, extracted: bool
) -> None:
    """After a kill between a commit and its projection, the next open finds the turn or its fact, and never both."""
    done = subprocess.run(
        [sys.executable, "-c", KILLED_BETWEEN, str(tmp_path), moment],
        check=False,
        env=dict(os.environ),
        timeout=120,
    )
    assert done.returncode == -signal.SIGKILL
    bank = opened(opener, {"facts": [FACTS["facts"][0]]}, path=tmp_path).bank("alice")

    def found() -> list[UnitKind]:
        return [item.kind for item in bank.recall("red kayak").units if "kayak" in item.text]

    assert found() == [UnitKind.MEMORY if extracted else UnitKind.TURN]
    bank.tasks.retry()  # the child's clock was ahead of this one
    bank.tasks.settle()
    assert found() == [UnitKind.MEMORY]


def test_a_turn_keeps_to_the_masks_and_the_budget(opener: Opener) -> None:
    """Tags, networks, `as_of`, windows and tokens apply to a turn as to a verbatim memory."""
    bank = opened(opener, DOWN).bank("alice")
    bank.retain([*TALK[:1], Message("Noted.", "assistant", "2024-05-03T15:00", id="m9")], tags=["a"])
    (text,) = waiting(bank)
    assert waiting(bank, tags=["a"], tags_match="all_strict") == [text]
    assert waiting(bank, tags=["b"], tags_match="all_strict") == []
    assert waiting(bank, tag_groups={"not": {"tags": ["a"]}}) == []
    assert waiting(bank, types=["world"]) == [text]
    assert waiting(bank, "Noted", types=["experience"]) == ["assistant: Noted."]
    assert waiting(bank, types=["opinion", "observation"]) == []
    assert waiting(bank, as_of="2024-05-03T09:00") == []
    assert waiting(bank, as_of="2024-05-04") == [text]
    assert bank.recall(RARE).tokens == sum(item.tokens for item in bank.recall(RARE).units)
    cost = next(item.tokens for item in bank.recall(RARE).units if item.text == text)
    assert cost > 5
    assert waiting(bank, max_tokens=cost, k=1) == [text]
    assert waiting(bank, max_tokens=cost - 1) == []


def test_the_graph_finds_a_turn_by_the_names_in_it(opener: Opener) -> None:
    """The graph channel finds a waiting turn that names an entity of the bank, or was said by one."""
    bob = {"what": "Bob sails.", "sources": ["m0"], "entities": [{"text": "Bob", "type": "PERSON"}]}
    others = [{"what": f"Fact {n} of plums.", "sources": ["m0"]} for n in range(20)]
    bank = opened(opener, {"facts": [bob, *others]}, DOWN).bank("alice")
    bank.retain([Message("Bob sails.", "Alice", "2024-05-01", id="m0")])
    bank.retain([*TALK, Message("Bobsleighs are fast.", "Carl", "2024-05-08", id="m3")])
    found = bank.recall("What about Bob?").units
    graph = [item.unit.sources for item in found if "graph" in item.channels and item.kind is UnitKind.TURN]
    assert graph == [("m2",)]


def test_a_turn_is_reranked_explained_and_helps_its_neighbours(opener: Opener) -> None:
    """The reranker scores it, `explain` says what it is, and the turn that it answers is returned with it."""
    engine = opened(opener, DOWN, reranker=FixedReranker())
    bank = engine.bank("alice")
    asked = Message("What did you paint?", "Ann", "2024-05-03T10:00", id="q")
    bank.retain([asked, Message("A sunrise, last year.", "Bea", "2024-05-03T10:01", id="r")])
    found = bank.recall("Who did paint?", trace=True)
    assert [item.unit.sources for item in found.units] == [("q",), ("r",)]
    assert "[turn waiting for extraction]" in found.explain()
    assert found.trace.milliseconds("rerank") > 0


def test_if_the_embedder_fails_too_words_and_date_find_it(opener: Opener, tmp_path: Path) -> None:
    """Nothing is lost: no vector is stored, indexes and ledger agree, and a later embedding adds the vector."""
    embedder = Moody()
    engine = opened(opener, {"facts": []}, DOWN, path=tmp_path, storage=REAL, embeddings=embedder)
    bank = engine.bank("alice")
    bank.retain([Message("Hello.", "Alice", "2024-05-01", id="m0")])
    embedder.down = True
    assert len(bank.retain(TALK).queued) == 1
    embedder.down = False
    for channel in ("keyword", "temporal"):
        best = bank.recall(QUESTIONS[channel]).units[0]
        assert (best.kind, best.unit.sources, channel in best.channels) == (UnitKind.TURN, ("m1",), True)
        assert "semantic" not in best.channels
    engine.close()
    again = opened(opener, FACTS, path=tmp_path, storage=REAL, embeddings=embedder)
    bank, doctor = again.bank("alice"), again.doctor()
    assert doctor.failures == {}
    assert bank.maintenance.reindex() == 2
    assert "semantic" in bank.recall("a red kayak was bought").units[0].channels
    assert bank.tasks.settle().created == 2
    assert waiting(bank, "red kayak") == []


def test_without_the_embedder_no_memories_can_be_shown_and_the_turn_waits(opener: Opener) -> None:
    """In a bank with memories the model is not called; the turn is stored, and settled when the embedder works."""
    embedder = Moody()
    greeting = {"facts": [{"what": "Alice said hello."}]}
    bank = opened(opener, greeting, FACTS, embeddings=embedder).bank("alice")
    bank.retain([Message("Hello.", "Alice", "2024-05-01", id="m1")], thread="earlier")
    embedder.down = True
    assert len(bank.retain(TALK).queued) == 1
    embedder.down = False
    assert bank.tasks.settle().created == 2
    assert waiting(bank, "red kayak") == []


def test_with_the_embedder_down_recall_can_answer_by_words_and_date(opener: Opener) -> None:
    """If channels may fail, a question that cannot be embedded is answered by the others, and the trace says so."""
    embedder = Moody()
    bank = opened(
        opener,
        DOWN,
        embeddings=embedder,
        recall=RecallConfig(on_channel_failure=OnChannelFailure.DEGRADE),
    ).bank("alice")
    bank.retain([Message("Hm.", "Alice", "2024-04-01", id="m0"), *TALK])
    embedder.down = True
    for channel in ("keyword", "temporal"):
        found = bank.recall(QUESTIONS[channel])
        assert (found.units[0].unit.sources, channel in found.units[0].channels) == (("m1",), True)
        assert any("embed query" in note for note in found.trace.notes)
        assert any(note.startswith("semantic: left out") for note in found.trace.notes)
    strict = opened(opener, embeddings=embedder).bank("bob")
    with pytest.raises(ModelUnavailable):
        strict.recall("kayak")


def test_listings_counts_and_links_do_not_take_it_for_a_memory(opener: Opener) -> None:
    """It is in no listing and no count, has no links or entities, and no statement equal to its text closes it."""
    sold = {
        "what": "Alice sold her red kayak.",
        "sources": ["m5"],
        "invalidates": [f"Yesterday I bought a red kayak called {RARE}."],
    }
    bank = opened(opener, DOWN, {"facts": [sold]}).bank("alice")
    result = bank.retain(TALK, thread="t")
    assert (result.unit_ids, result.created, dict(result.counts)) == ((), 0, {})
    assert (bank.count(), bank.units().total, bank.records.list(), bank.entities.list()) == (0, 0, [], [])
    later = bank.retain([Message("I sold the red kayak.", "Alice", "2024-05-03T11:00", id="m5")], thread="t")
    assert (later.closed, later.removed, [doubt.candidates for doubt in later.ambiguous]) == ((), (), [()])
    assert (bank.count(), [unit.text for unit in bank.units().units]) == (1, [sold["what"]])
    assert archived_rows(bank.archive.export, "links") == []
    turn = next(item.unit for item in bank.recall(RARE).units if item.kind is UnitKind.TURN)
    assert bank.history(turn.id) == ()
    with pytest.raises(InvalidRequest, match="waits for extraction"):
        bank.edit(turn.id, text="something else")
    with pytest.raises(InvalidRequest, match="waits for extraction"):
        bank.withdraw(turn.id)


def test_a_parked_passage_is_found_and_the_extracted_ones_are_not_repeated(opener: Opener) -> None:
    """The model fails on one of two passages: its messages are turns, those of the other passage have memories."""
    first = {"facts": [{"what": "Alice has plums.", "sources": ["m0"]}]}

    def script(messages: list[Any]) -> Any:
        return (
            first
            if "plums" in str(messages[-1].content).split("kayak")[0]
            and "kayak" not in str(messages[-1].content)
            else UNUSABLE
        )

    engine = opener(
        model=ScriptedModel(script),
        config=HindsightConfig(storage=LIGHT, retain=RetainConfig(chunk_characters=80)),
    )
    bank = engine.bank("alice")
    plums = Message("I have plums, " * 5, "Alice", "2024-05-01", id="m0")
    result = bank.retain([plums, TALK[0]])
    assert (result.created, len(result.parked)) == (1, 1)
    found = bank.recall("plums kayak").units
    assert sorted((item.kind, *item.unit.sources) for item in found) == [("memory", "m0"), ("turn", "m1")]


@pytest.mark.directory
def test_of_a_long_message_only_the_piece_that_waits_is_a_turn(opener: Opener, tmp_path: Path) -> None:
    """A message is cut in two, and one piece is extracted: that fact and the other piece are found, then both facts; the text is stored once."""
    pieces = ["apples " * 10, "pears " * 10]

    def script(messages: list[Any]) -> Any:
        asked = str(messages[-1].content)
        return {"facts": [{"what": "There are apples.", "sources": ["m1"]}]} if "pears" not in asked else DOWN

    path = tmp_path / "data"
    engine = opener(
        path,
        model=ScriptedModel(script),
        config=HindsightConfig(
            storage=LIGHT, retain=RetainConfig(chunk_characters=75, on_model_failure="queue")
        ),
    )
    bank = engine.bank("alice")
    text = "".join(pieces).strip()
    bank.retain([Message(text, "Alice", "2024-05-01", id="m1")], thread="t")
    found = {item.kind: item.text for item in bank.recall("apples pears").units}
    assert found[UnitKind.MEMORY] == "There are apples."
    assert ("pears" in found[UnitKind.TURN], "apples apples" in found[UnitKind.TURN]) == (True, False)
    engine.close()
    engine = opened(opener, {"facts": [{"what": "There are pears.", "sources": ["m1"]}]}, path=path)
    assert engine.bank("alice").tasks.settle().created == 1
    assert kinds(engine.bank("alice").recall("apples pears").units) == [UnitKind.MEMORY] * 2
    with closing(Ledger.open(path, read_only=True)) as ledger:
        assert [turn.text for turn in ledger.turns.of_thread("alice", "t")] == [text]


def test_an_edited_message_waits_in_its_latest_wording(opener: Opener) -> None:
    """Edited while it waits, it is found by its new words only; extracted, by its fact only, whichever task runs first."""
    fact = {"facts": [{"what": "Alice bought a blue canoe.", "sources": ["m1"]}]}
    bank = opened(opener, DOWN, DOWN, fact).bank("alice")
    bank.retain(TALK[:1], thread="t")
    assert bank.retain(TALK[:1], thread="t").skipped_messages == 1
    bank.retain([Message("I bought a blue canoe.", "Alice", "2024-05-03T10:00", id="m1")], thread="t")
    assert waiting(bank, f"{RARE} kayak canoe") == ["Alice: I bought a blue canoe."]
    bank.tasks.settle()
    assert [item.text for item in bank.recall(f"{RARE} kayak canoe").units] == ["Alice bought a blue canoe."]


def test_extracted_while_a_recall_runs_its_facts_are_found(opener: Opener) -> None:
    """A recall that found the turn when its facts were committed is repeated: it returns the facts, not the turn, and never nothing."""
    banks: list[MemoryBank] = []

    def settle(_: int) -> None:
        if banks:
            banks.pop().tasks.settle()

    bank = opened(opener, DOWN, FACTS, reranker=FixedReranker(on_call=settle)).bank("alice")
    bank.retain(TALK, thread="t")
    banks.append(bank)
    assert [item.text for item in bank.recall("red kayak", k=1).units] == ["Alice bought a red kayak."]


@pytest.mark.directory
def test_a_turn_is_found_where_texts_are_not_kept(opener: Opener, tmp_path: Path) -> None:
    """source_turns=False stores no texts next to memories; waiting messages are found, and removed when they are extracted."""
    bank = opened(opener, DOWN, FACTS, path=tmp_path, retain={"source_turns": False}).bank("alice")
    bank.retain(TALK, thread="t")
    assert len(waiting(bank)) == 1
    bank.tasks.settle()
    assert waiting(bank) == []
    with closing(Ledger.open(tmp_path, read_only=True)) as ledger:
        assert ledger.turns.of_thread("alice", "t") == []


@pytest.mark.directory
def test_extraction_leaves_the_collection_alone_and_a_later_erasure_cleans_it(
    opener: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Extracting a turn does not rebuild vectors; forgetting its message leaves neither words nor vector in a file."""
    embedder = Recording()
    cleared: list[ChromaVectorIndex] = []
    emptied = ChromaVectorIndex.clear

    def clear(index: ChromaVectorIndex) -> None:
        cleared.append(index)
        emptied(index)

    monkeypatch.setattr(ChromaVectorIndex, "clear", clear)
    engine = opened(opener, DOWN, path=tmp_path, storage=REAL, embeddings=embedder)
    engine.bank("alice").retain(TALK[:1], thread="t")
    engine.close()
    (vector,) = embedder.seen
    engine = opened(opener, {"facts": []}, path=tmp_path, storage=REAL, embeddings=embedder)
    bank = engine.bank("alice")
    bank.tasks.settle()
    assert (cleared, waiting(bank)) == ([], [])
    assert files_with(tmp_path, vector)
    receipt = bank.forget(thread="t", message="m1")
    assert (receipt.counts["turns"], receipt.unit_ids, receipt.files_clean) == (1, (), True)
    assert files_with(tmp_path, RARE.encode()) == files_with(tmp_path, vector) == []


@pytest.mark.parametrize("name", ["alice", "alice, moved"])
def test_an_archive_carries_what_waits(opener: Opener, name: str) -> None:
    """Imported elsewhere, a turn is found as before and extracted by its archived task, whatever the bank's name."""
    bank = opened(opener, DOWN).bank("alice")
    bank.retain(TALK, thread="t")
    file = io.StringIO()
    assert bank.archive.export(file) == 0
    other = opened(opener, FACTS).bank(name)
    file.seek(0)
    assert other.archive.load(file) == 0
    assert waiting(other) == waiting(bank)
    assert other.tasks.settle().created == 2
    assert waiting(other) == []
