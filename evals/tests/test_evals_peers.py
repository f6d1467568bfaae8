"""Every system that can be evaluated here, with the same short life."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from table import every_row

from hindsight_evals import peers
from hindsight_evals.episode import GoldWithdrawal, Item, Session
from hindsight_evals.memory_system import MemorySystem, Place
from hindsight_evals.metrics.stating import stated
from hindsight_integrations import Message, MissingDependency
from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.model.arrays import Matrix
from hindsight_integrations.testing.doubles import HashEmbedder, WordCounter

HERE = ("hindsight", "plain-rrf", "vectors-told-deletions", "full-context", "chroma", "bm25s", "llamaindex-fusion", "langgraph-memory", "langgraph-sqlite")  # fmt: skip
START = datetime(2025, 6, 2, 9, tzinfo=UTC)


def session(number: int, *said: str, withdraws: tuple[GoldWithdrawal, ...] = ()) -> Session:
    moment = START + timedelta(days=number)
    messages = tuple(
        Message(text, "user", moment + timedelta(seconds=place), f"S{number}:{place}")
        for place, text in enumerate(said)
    )
    return Session(f"S{number}", moment, messages, withdrawals=withdraws)


CELLO = Item("sister cello", frozenset({"S1:1"}), valid=True)
LISBON = Item("lives in Lisbon", frozenset({"S1:0"}), valid=False)
PORTO = Item("lives in Porto", frozenset({"S2:0"}), valid=True)
OF_VECTORS = ("vectors-told-deletions", "chroma", "llamaindex-fusion", "langgraph-memory", "langgraph-sqlite")


class Recorded(HashEmbedder):
    """Records the embedded texts."""

    def __init__(self) -> None:
        super().__init__()
        self.given: set[str] = set()

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        self.given |= set(texts)
        return super().embed_documents(texts)


LIFE = (
    session(1, "Anna lives in Lisbon.", "My sister plays the cello in an orchestra."),
    session(
        2,
        "Anna lives in Porto these days.",
        withdraws=(GoldWithdrawal("Anna lives in Lisbon", frozenset({"S1:0"})),),
    ),
    session(3, "The bakery on the corner sells rye bread.", "Rye bread keeps for a week."),
)


def place(folder: Path, episode: str = "life") -> Place:
    folder.mkdir(parents=True, exist_ok=True)
    return Place(folder, episode, HashEmbedder(), WordCounter())


@pytest.fixture(params=HERE)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def system(name: str, tmp_path: Path) -> Iterator[MemorySystem]:
    with peers.peer(name).open(place(tmp_path / "memory")) as system:
        for told in LIFE:
            system.retain(told)
        yield system


def recall(system: MemorySystem, question: str, max_tokens: int = 30) -> list[str]:
    context = system.recall(question, moment=START + timedelta(days=9), max_tokens=max_tokens)
    return [text.text for text in context.served]


def test_all_that_is_installed_for_tests_is_evaluated_in_them() -> None:
    """A new system is tested here; those left out need packages that tests do not install."""
    wanting_more = {
        "hindsight-reranked",
        "langmem",
        "mem0",
    }  # weights, and packages that tests do not install
    assert set(peers.installed()) - wanting_more == set(HERE)
    assert set(HERE) <= set(peers.names())


def test_the_text_that_answers_is_served_with_its_turn(name: str, system: MemorySystem) -> None:
    """It comes first if the system ranks."""
    context = system.recall("Who plays the cello?", moment=START + timedelta(days=9), max_tokens=30)
    assert stated(context, CELLO)
    if name != "full-context":
        assert context.served[0].sources == {"S1:1"}


def test_budgets_are_kept(name: str, system: MemorySystem) -> None:
    """The served texts cost no more than the budget, except for the system that serves everything."""
    context = system.recall("What bread?", moment=START + timedelta(days=9), max_tokens=11)
    if name != "hindsight":  # the engine uses its own counter, which runs pass to all systems
        assert context.tokens == sum(WordCounter().count([text.text for text in context.served]))
    assert (context.tokens > 11) is (name == "full-context")


def test_a_session_given_twice_is_kept_once(system: MemorySystem) -> None:
    """No text is served twice because of it."""
    before = recall(system, "Where does Anna live?", 90)
    system.retain(LIFE[0])
    assert recall(system, "Where does Anna live?", 90) == before
    assert len(set(before)) == len(before)


def test_who_knows_of_the_gold_deletion_does_not_serve_it(name: str, system: MemorySystem) -> None:
    """Only the store that is told the deletions deletes; from plain words ours may not know them either."""
    context = system.recall("Where does Anna live?", moment=START + timedelta(days=9), max_tokens=90)
    assert stated(context, PORTO)
    if name != "hindsight":
        assert stated(context, LISBON) is (name != "vectors-told-deletions")


def test_the_same_words_twice_in_a_session_are_two_turns(name: str, tmp_path: Path) -> None:
    """Assistants repeat themselves."""
    with peers.peer(name).open(place(tmp_path / "memory")) as system:
        system.retain(session(1, "Noted.", "Rye bread keeps.", "Noted."))
        assert "user: Rye bread keeps." in recall(system, "Which bread keeps?", 90)


def test_episodes_do_not_mix(name: str, tmp_path: Path) -> None:
    """Two episodes have two memories."""
    made = peers.peer(name)
    with made.open(place(tmp_path / "a", "a")) as one, made.open(place(tmp_path / "b", "b")) as other:
        one.retain(LIFE[0])
        other.retain(LIFE[2])
        assert all("bread" not in text for text in recall(one, "rye bread", 90))
        assert all("cello" not in text for text in recall(other, "cello", 90))
        assert recall(one, "cello", 90)


def test_several_ask_at_once(system: MemorySystem) -> None:
    """Concurrent questions from threads give the same results as sequential ones."""
    questions = ["Who plays the cello?", "Where does Anna live?", "Which bread keeps?"] * 4
    alone = [recall(system, question) for question in questions]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda question: recall(system, question), questions)) == alone


@every_row("of_vectors", OF_VECTORS)
def test_every_store_of_vectors_embeds_the_same_texts(of_vectors: str, tmp_path: Path) -> None:
    """Only the text is embedded: a date or a field's name would change its vector."""
    embedder = Recorded()
    with peers.peer(of_vectors).open(replace(place(tmp_path), embedder=embedder)) as system:
        system.retain(LIFE[0])
    assert embedder.given == {text.text for text in LIFE[0].texts}


def test_an_empty_memory_serves_nothing(name: str, tmp_path: Path) -> None:
    """A session without text stores nothing."""
    with peers.peer(name).open(place(tmp_path)) as system:
        system.retain(replace(LIFE[0], messages=(), facts=()))
        assert recall(system, "Who plays the cello?") == []


def test_a_name_that_is_none_is_refused_with_those_there_are() -> None:
    """The error lists the known names."""
    with pytest.raises(InvalidRequest, match=r"Choose of: hindsight, .*chroma"):
        peers.peer("chrome")


def test_what_is_absent_is_named_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing package of an unused system is not an error."""
    monkeypatch.setitem(peers._NEEDED, "chroma", (("no_such_module.at_all",), "chromadb"))
    assert "chroma" not in set(peers.installed())
    assert peers.missing("chroma") == "chromadb"
    with pytest.raises(MissingDependency, match="pip install chromadb"):
        peers.peer("chroma")
