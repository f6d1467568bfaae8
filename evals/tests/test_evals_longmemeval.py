"""LongMemEval's files as episodes."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from table import every_row

from hindsight_evals.datasets import longmemeval
from hindsight_evals.datasets.longmemeval import load_longmemeval
from hindsight_evals.errors import DatasetInvalid


def instance(name: str, sessions: int = 2, **more: Any) -> dict[str, Any]:
    return {
        "question_id": name,
        "question_type": "multi-session",
        "question": "How many fences, in all?",
        "answer": 2,
        "question_date": "2023/06/02 (Fri) 08:00",
        "haystack_session_ids": [f"s{number}" for number in range(sessions)],
        "haystack_dates": ["2023/05/30 (Tue) 21:48"] * (sessions - 1) + ["2023/05/29 (Mon) 10:00"],
        "haystack_sessions": [
            [
                {
                    "role": "user",
                    "content": f'Fence {number}, [painted] \\ "white".',
                    "has_answer": number == 0,
                },
                {"role": "assistant", "content": "Nice."},
            ]
            for number in range(sessions)
        ],
        "answer_session_ids": ["s0"],
        **more,
    }


@pytest.fixture
def write(tmp_path: Path) -> Callable[[object], Path]:
    def written(data: object) -> Path:
        (file := tmp_path / "longmemeval.json").write_text(json.dumps(data, indent=1))
        return file

    return written


def test_an_instance_is_an_episode(write: Callable[[object], Path]) -> None:
    """Its own haystack, sessions in order of time, evidence by turns."""
    [episode] = load_longmemeval(write([instance("a1")]))
    assert (episode.name, episode.period) == ("a1", "oracle")
    assert [session.id for session in episode.sessions] == ["1", "0"]
    assert episode.sessions[1].moment == datetime(2023, 5, 30, 21, 48, tzinfo=UTC)
    [question] = episode.questions
    assert (question.kind, question.answer, question.answerable) == ("multi-session", "2", True)
    assert question.evidence == {"0:0"}
    assert question.moment == datetime(2023, 6, 2, 8, tzinfo=UTC)


def test_without_marked_turns_the_answers_sessions_are_evidence(write: Callable[[object], Path]) -> None:
    """All their turns are evidence."""
    data = instance("a1", answer_session_ids=["s1"])
    data["haystack_sessions"][0][0].pop("has_answer")
    [episode] = load_longmemeval(write([data]))
    assert episode.questions[0].evidence == {"1:0", "1:1"}


def test_abstention_is_told_by_the_id(write: Callable[[object], Path]) -> None:
    """As published."""
    [episode] = load_longmemeval(write([instance("a1_abs")]))
    assert not episode.questions[0].answerable


@pytest.mark.parametrize(("sessions", "period"), [(3, "oracle"), (45, "s"), (480, "m")])
def test_the_length_of_the_haystack_names_the_set(
    write: Callable[[object], Path], sessions: int, period: str
) -> None:
    """Oracle, S and M have no other difference."""
    [episode] = load_longmemeval(write([instance("a1", sessions)]))
    assert episode.period == period


def test_a_large_file_is_read_piece_by_piece(
    write: Callable[[object], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever a piece ends, even inside a word or an escape."""
    path = write([instance("a1"), instance("a2", 30), instance("a3")])
    whole = list(load_longmemeval(path))
    for chunk in (7, 64, 1000):
        monkeypatch.setattr(longmemeval, "CHUNK", chunk)
        assert list(load_longmemeval(path)) == whole
    assert [episode.name for episode in whole] == ["a1", "a2", "a3"]


def test_sampled_chats_are_read_too(write: Callable[[object], Path]) -> None:
    """A new date starts a new session; such files mark no evidence."""
    turns = [
        {"role": "user", "content": "One.", "date": "2023/05/30 (Tue) 21:48"},
        {"role": "user", "content": "Two.", "date": "2023/05/31 (Wed) 08:00"},
    ]
    asked = {"id": "q1", "question": "Which?", "answer": "Two", "is_abstention": True}
    data = {"data": [{"id": "x", "question_type": "abstention", "conversation": turns, "questions": [asked]}]}
    [episode] = load_longmemeval(write(data))
    assert [len(session.messages) for session in episode.sessions] == [1, 1]
    [question] = episode.questions
    assert (question.id, question.answerable, question.evidence) == ("x/q1", False, frozenset())
    assert question.moment > episode.sessions[-1].moment


@every_row(
    ("broken", "named"),
    [
        ({"haystack_dates": []}, r"\[1\].haystack_dates: its length differs from the number of sessions"),
        ({"question_date": "May"}, r"\[1\].question_date: 'May' is not a time"),
        ({"question": None}, r"\[1\].question: Input should be a valid string"),
        (
            {"haystack_sessions": [[{"role": "user"}]]},
            r"\[1\].haystack_sessions\[0\]\[0\].content: Field required",
        ),
    ],
)
def test_a_broken_field_is_named(write: Callable[[object], Path], broken: dict[str, Any], named: str) -> None:
    """The error names the file; episodes before it are read."""
    episodes = load_longmemeval(write([instance("a1"), instance("a2", **broken)]))
    assert next(episodes).name == "a1"
    with pytest.raises(DatasetInvalid, match=f"longmemeval.json: {named}"):
        next(episodes)


def test_a_file_that_ends_too_soon_is_refused(write: Callable[[object], Path]) -> None:
    """An interrupted download is rejected."""
    path = write([instance("a1"), instance("a2")])
    path.write_text(path.read_text()[:-200])
    with pytest.raises(DatasetInvalid, match="it ends within an element"):
        list(load_longmemeval(path))
