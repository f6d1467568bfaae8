"""relevance="likely" in recall: matching memories are returned, irrelevant ones are not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hindsight_integrations import Hindsight, MemoryBank
from hindsight_integrations.testing.doubles import FixedReranker

TALK = (
    ("Caroline", "I adopted a greyhound called Biscuit from the shelter in Leeds."),
    ("Melanie", "How lovely, Caroline! I painted a sunrise over the lake last week."),
    ("Caroline", "My sister teaches pottery to beginners on Mondays."),
    ("Melanie", "My kids built a treehouse in the garden, it took all summer."),
    ("Caroline", "I am saving for a trip to Norway to see the fjords."),
    ("Melanie", "The choir sings in the old church every Thursday evening."),
)
MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "name": name, "content": text, "id": f"m{place}"}
    for place, (name, text) in enumerate(TALK)
]
ANSWERED = "Who adopted a greyhound called Biscuit from the shelter?"
NEVER_MENTIONED = "What car does Caroline drive?"


class Calibrated(FixedReranker):
    """Scripted scores under the name of the default cross-encoder, whose logits were calibrated."""

    @property
    def name(self) -> str:
        return "cross-encoder/ms-marco-MiniLM-L12-v2"


Opener = Callable[..., Hindsight]


def talk(opener: Opener, reranker: FixedReranker | None = None) -> MemoryBank:
    """The talk with the packaged embedder, because relevance depends on the embedder."""
    bank = opener(embeddings=None, reranker=reranker).bank("talk")
    bank.retain(MESSAGES, thread="talk")
    return bank


@pytest.fixture
def bank(opener: Opener) -> MemoryBank:
    return talk(opener)


def texts_of(bank: MemoryBank, question: str, relevance: str = "likely", **options: Any) -> list[str]:
    """The recalled texts, best first."""
    return [unit.text for unit in bank.recall(question, relevance=relevance, **options).units]


def test_something_never_mentioned_brings_nothing_back(bank: MemoryBank) -> None:
    """The budget would hold all six turns, half of them by Caroline; none helps, and explain says why nothing was returned."""
    assert len(texts_of(bank, NEVER_MENTIONED, "all")) == len(TALK)
    nothing = bank.recall(NEVER_MENTIONED, relevance="likely")
    assert nothing.units == ()
    assert "no memory is likely to help" in nothing.explain()


def test_an_answer_stays_first_and_keeps_its_score(bank: MemoryBank) -> None:
    """The likely memories are a prefix of the whole ranking: same order, same scores."""
    whole, likely = bank.recall(ANSWERED), bank.recall(ANSWERED, relevance="likely")
    assert "greyhound" in likely.units[0].text
    assert [(unit.text, unit.score) for unit in likely.units] == [
        (unit.text, unit.score) for unit in whole.units[: len(likely.units)]
    ]


def test_whoever_asks_for_whatever_is_remembered_gets_all_that_is_found(bank: MemoryBank) -> None:
    """Such a question is similar to none of its answers, so similarity does not matter."""
    everything = texts_of(bank, "What do you know about me?", "all")
    assert everything
    assert texts_of(bank, "What do you know about me?") == everything


def test_a_time_alone_brings_all_of_it(bank: MemoryBank) -> None:
    """A question that is only a time is answered by all memories of that time, whatever their words."""
    bank.retain("The plumber came about the boiler.", timestamp="2024-03-05T10:00:00Z")
    now = "2024-03-06T10:00:00Z"
    assert any(
        "plumber" in text for text in texts_of(bank, "What happened on 5 March 2024?", query_timestamp=now)
    )


def test_our_rerankers_word_counts_where_meaning_does_not(opener: Opener) -> None:
    """A question dissimilar from every memory is answered if the cross-encoder is certain of one; the others are dropped."""
    sure = Calibrated(lambda query, text: 6.0 if "choir" in text else -60.0)
    bank = talk(opener, sure)
    found = texts_of(bank, NEVER_MENTIONED)
    assert "choir" in found[0]
    assert len(found) == 1


def test_a_reranker_nobody_calibrated_cuts_no_tail(opener: Opener) -> None:
    """The scale of its logits is unknown, so memories with low scores are kept at the end."""
    other = FixedReranker(lambda query, text: 900.0 if "greyhound" in text else -900.0)
    bank = talk(opener, other)
    assert len(texts_of(bank, ANSWERED)) == len(TALK)
    assert texts_of(bank, NEVER_MENTIONED) == []
