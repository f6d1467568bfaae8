"""The search of a question that names a time: the time window, and the question without the time expression."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

import pytest
from table import every_row

from hindsight_integrations import Hindsight, HindsightConfig
from hindsight_integrations.config import StorageConfig
from hindsight_integrations.language.packs import LANGUAGES
from hindsight_integrations.model.arrays import FloatArray, Vector
from hindsight_integrations.model.results import RecallResult
from hindsight_integrations.model.trace import Channel
from hindsight_integrations.sync import MemoryBank
from hindsight_integrations.testing.doubles import FixedReranker, HashEmbedder

THURSDAY = datetime(2024, 6, 13, 10, tzinfo=UTC)
TOLD = {  # days before that Thursday on which something was said
    0: "Ann repaired the gate.",
    1: "Ann bought bread and cheese.",
    2: "Ann visited the museum.",
    9: "Ann planted beans.",
    20: "The choir rehearses this week, yesterday it sang.",
    40: "Ann bought a bicycle.",
    60: "Ann moved to Leeds.",
    80: "Ann met Ben.",
}


class Embedder(HashEmbedder):
    """Records the embedded questions."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def embed_query(self, text: str) -> Vector:
        self.asked.append(text)
        return super().embed_query(text)


class Reranker(FixedReranker):
    """Records the reranked questions."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def score(self, query: str, texts: Sequence[str]) -> FloatArray:
        self.asked.append(query)
        return super().score(query, texts)


class Street:
    """A bank of eight memories, and the inputs of its models."""

    def __init__(self) -> None:
        self.embedder, self.reranker = Embedder(), Reranker()
        settings = HindsightConfig(
            storage=StorageConfig(vectors="exact", keywords="fts5"), languages=tuple(LANGUAGES)
        )
        self.engine = Hindsight.open(
            ":memory:", embeddings=self.embedder, reranker=self.reranker, config=settings
        )
        self.bank: MemoryBank = self.engine.bank("street")
        for days, text in TOLD.items():
            moment = THURSDAY - timedelta(days=days)
            self.bank.retain(text, timestamp=moment, thread=str(days))

    def ask(self, question: str, **options: object) -> RecallResult:
        options = {"query_timestamp": THURSDAY, **options}
        return self.bank.recall(question, **options)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def street() -> Iterator[Street]:
    made = Street()
    yield made
    made.engine.close()


def found_by(result: RecallResult, channel: Channel) -> set[str]:
    return {item.text for item in result.units if channel in item.channels}


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("What did Ann buy yesterday?", "What did Ann buy?"),
        ("Was hat Ann gestern gekauft?", "Was hat Ann gekauft?"),
        ("\u00bfQu\u00e9 compr\u00f3 Ann ayer?", "\u00bfQu\u00e9 compr\u00f3 Ann?"),
    ],
)
def test_words_that_count_from_now_are_not_looked_up(street: Street, question: str, words: str) -> None:
    """ "yesterday" in the choir's message is another day. The vector and the reranker get the whole question."""
    found = street.ask(question)
    assert not any("choir" in text for text in found_by(found, Channel.KEYWORD))
    assert found_by(found, Channel.KEYWORD) == found_by(street.ask(words), Channel.KEYWORD)
    assert question in street.embedder.asked
    assert question in street.reranker.asked


def test_a_long_time_is_cut_out_of_the_vector_too(street: Street) -> None:
    """Memories are embedded with their date, to which no "since" is similar."""
    street.ask("Where did Ann live in the last 70 days, and since when?")
    assert street.embedder.asked[-1] == "Where did Ann live, and since when?"
    street.ask("What did Ann buy on 12 June 2024?")
    assert street.embedder.asked[-1] == "What did Ann buy on 12 June 2024?"


def test_a_time_of_nearly_everything_says_nothing(street: Street) -> None:
    """It is not searched, as the trace says; the result still contains the parsed window."""
    found = street.ask("What did Ann buy this year?")
    assert found.window is not None
    assert found_by(found, Channel.TEMPORAL) == set()
    assert "time: 100% of the memories are in this window, so it is not searched" in found.trace.notes
    assert street.embedder.asked[-1] == "What did Ann buy?"
    assert found_by(street.ask("What did Ann buy this week?"), Channel.TEMPORAL)


def test_a_time_of_nothing_is_looked_up_by_its_words(street: Street) -> None:
    """No memory is from that week, so the words find memories that mention one."""
    found = street.ask("What did the choir do this week?", query_timestamp=THURSDAY + timedelta(days=365))
    assert found.window is not None
    assert found_by(found, Channel.TEMPORAL) == set()
    assert street.embedder.asked[-1] == "What did the choir do this week?"


@every_row(
    "question",
    [
        "yesterday",
        "Yesterday?",
        "And yesterday?",
        "gestern?",
        "\u00bfAyer?",
        "2024-06-12",
        "What happened yesterday?",
    ],
)
def test_a_question_that_is_only_a_time_finds_what_is_of_it(street: Street, question: str) -> None:
    """No other memory answers it, whatever words it contains."""
    found = street.ask(question)
    assert found.window is not None
    assert found.window.start == datetime(2024, 6, 12, tzinfo=UTC)
    assert [item.unit.text for item in found.units] == [TOLD[1]]


def test_what_is_of_the_time_asked_for_is_likely_to_help(street: Street) -> None:
    """The words of "What happened this week?" are similar to no event, so similarity does not exclude the results."""
    found = street.ask("What happened this week?", relevance="likely", order="time")
    assert [item.unit.text for item in found.units] == [TOLD[days] for days in (2, 1, 0)]


def test_a_turn_of_another_day_does_not_join_its_neighbours(street: Street) -> None:
    """Neighbouring turns of a conversation share relevance, but not their day."""
    bank = street.engine.bank("midnight")
    late, early = datetime(2024, 6, 11, 23, 58, tzinfo=UTC), datetime(2024, 6, 12, 0, 2, tzinfo=UTC)
    for moment, text in ((late, "Ben looked for the plums."), (early, "In the cellar, with the pears.")):
        bank.retain([{"role": "user", "content": text, "timestamp": moment}], thread="night")
    bank.retain("Ann sold the boat.", timestamp=THURSDAY, thread="day")
    found = bank.recall("What happened yesterday?", query_timestamp=THURSDAY)
    assert [item.unit.text for item in found.units] == ["user: In the cellar, with the pears."]


def test_a_question_that_is_only_a_time_may_be_of_everything(street: Street) -> None:
    """A time that covers everything is ignored in longer questions, but is all that such a question contains."""
    assert len(street.ask("What happened this year?").units) == len(TOLD)
    assert len(street.ask("this year", order="time").units) == len(TOLD)


def test_a_question_that_is_only_a_time_of_nothing_is_looked_up_by_its_words(street: Street) -> None:
    """The most similar memories are found, and the window shows that the time was parsed and is empty."""
    found = street.ask("What happened in 1999?")
    assert found.window is not None
    assert (found.window.start.year, found_by(found, Channel.TEMPORAL)) == (1999, set())
    assert street.embedder.asked[-1] == "What happened in 1999?"


def test_a_window_given_leaves_the_words_as_they_are(street: Street) -> None:
    """If the caller passes the window, the question's words are not parsed for times."""
    window = (THURSDAY - timedelta(days=2), THURSDAY)
    street.ask("What did Ann buy yesterday?", window=window)
    assert street.embedder.asked[-1] == "What did Ann buy yesterday?"
