"""The confidence of a recall: its signals, and how it weighs the units."""

from __future__ import annotations

from dataclasses import replace

import pytest
from builders import make_unit
from hypothesis import given
from hypothesis import strategies as st
from table import every_row

from hindsight_integrations.language.packs import ENGLISH
from hindsight_integrations.model.embedder import Thresholds
from hindsight_integrations.model.recalled import RecalledUnit
from hindsight_integrations.model.trace import Channel, ChannelHit
from hindsight_integrations.recall.confidence import (
    NEUTRAL_SHARE,
    NEUTRAL_WORDS,
    AnswerSignals,
    QuestionNames,
    answer_signals,
    comes_first,
    confidence,
    names_in_question,
    word_position,
)

OWN = Thresholds(semantic_link=0.8, channel_floor=0.5, duplicate=0.96)
SHARE = st.floats(0.0, 1.0)
SIGNALS = st.builds(
    AnswerSignals,
    cosine=st.floats(-2.0, 2.0),
    words=st.floats(-1.0, 1.0),
    share=SHARE,
    names=SHARE,
    logit=st.none() | st.floats(-1e4, 1e4),
)


def recalled(text: str, rank: int, cosine: float, bm25: float, *entities: str) -> RecalledUnit:
    hits = {Channel.SEMANTIC: ChannelHit(rank, cosine), Channel.KEYWORD: ChannelHit(rank, bm25)}
    return RecalledUnit(replace(make_unit(f"u{rank}"), text=text), 1.0 / rank, hits, entities)


JOHN = recalled("John: I adopted a dog.", 1, 0.8, 6.0, "John")
MARIA = recalled("Maria: What a day, John!", 2, 0.65, 3.0, "Maria", "John")


@given(SIGNALS)
def test_confidence_is_between_none_and_full(signals: AnswerSignals) -> None:
    """Confidence is in [0, 1] for any signals, including large logits."""
    assert 0.0 <= confidence(signals) <= 1.0
    assert confidence(signals) <= confidence(signals, named=False) <= 1.0


@given(SIGNALS, st.sampled_from(["cosine", "words", "share", "names", "logit"]), SHARE)
def test_more_of_a_signal_never_lowers_confidence(signals: AnswerSignals, name: str, more: float) -> None:
    """Confidence rises with each signal."""
    value = getattr(signals, name)
    if value is not None:
        stronger = replace(signals, **{name: value + more})
        assert confidence(stronger) >= confidence(signals)
        assert confidence(stronger, named=False) >= confidence(signals, named=False)


def test_what_another_speaker_did_is_no_answer() -> None:
    """A memory of John's supports a question about John and speaks against one about Maria."""
    of_john, of_maria = (
        answer_signals([JOHN, MARIA], QuestionNames(frozenset({name})), OWN, {}) for name in ("john", "maria")
    )
    assert of_john.cosine == pytest.approx(0.7)
    assert of_maria.cosine == pytest.approx(0.5)
    assert (of_john.words, of_maria.words) == (0.5, -0.5)
    assert of_john.share == pytest.approx(2 / 3)
    assert of_maria.share == pytest.approx(1 / 3)
    assert confidence(of_john) > confidence(of_maria)


def test_the_rerankers_best_reading_of_the_speaker_counts() -> None:
    """An unscored unit counts as the worst scored one; so does a missing unit of the speaker."""
    read = {JOHN.unit.id: 5.0, MARIA.unit.id: -3.0}
    named = {name: QuestionNames(frozenset({name})) for name in ("john", "maria", "carla")}
    logits = {name: answer_signals([JOHN, MARIA], names, OWN, read).logit for name, names in named.items()}
    assert logits == {"john": 5.0, "maria": -3.0, "carla": -3.0}
    assert answer_signals([JOHN, MARIA], named["maria"], OWN, {JOHN.unit.id: 5.0}).logit == 5.0


def test_a_question_that_names_no_speaker_is_weighed_by_its_best_unit() -> None:
    """Without a named speaker only the best unit counts."""
    signals = answer_signals([JOHN, MARIA], QuestionNames(), OWN, {})
    assert signals.cosine == pytest.approx(0.7)
    assert (signals.words, signals.share) == (NEUTRAL_WORDS, NEUTRAL_SHARE)


def test_names_nobody_mentioned_count_against_an_answer() -> None:
    """A stranger's name in the question lowers confidence; a name the units mention does not."""
    known, half, unknown = (
        answer_signals([JOHN, MARIA], QuestionNames(others=frozenset(names)), OWN, {})
        for names in (["john"], ["john", "zoe"], ["zoe"])
    )
    assert (known.names, half.names, unknown.names) == (1.0, 0.5, 0.0)
    assert confidence(known) > confidence(half) > confidence(unknown)


@every_row(
    ("text", "entities", "own"),
    [
        ("maria: hey john, i ran a race.", ("Maria", "John"), True),
        ("john: hey maria, i ran a race.", ("Maria", "John"), False),
        ("when maria was young, john helped.", ("John", "Maria"), True),
        ("maria's aunt lent her money.", ("Maria", "Maria's aunt"), True),
        ("marianne ran a race.", ("Marianne",), False),
        ("a race was run.", (), False),
    ],
)
def test_who_a_memory_is_about_is_who_comes_first(text: str, entities: tuple[str, ...], own: bool) -> None:
    """A memory is about its speaker or its first-named subject."""
    assert comes_first(text, {"maria"}, entities) is own


@given(st.text("ab .", max_size=12), st.text("ab", min_size=1, max_size=2))
def test_a_name_is_found_as_a_whole_word_only(text: str, name: str) -> None:
    """Names match whole words only: 'Al' is not in 'Alice'."""
    words = "".join(letter if letter.isalnum() else " " for letter in text).split()
    assert (word_position(name, text) < len(text)) is (name in words)


def test_the_names_in_a_question_are_distinguished_from_its_words() -> None:
    """The speaker is not counted again among the other names."""
    names = names_in_question(
        "What did Caroline's friend Zoe see in Sweden?", frozenset({"caroline"}), [ENGLISH]
    )
    assert (names.speaker, names.others) == (frozenset({"caroline"}), frozenset({"zoe", "sweden"}))
