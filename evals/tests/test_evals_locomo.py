"""LoCoMo's files as episodes."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from table import every_row

from hindsight_evals.datasets.locomo import evidence_ids, load_locomo
from hindsight_evals.episode import Correction
from hindsight_evals.errors import DatasetInvalid
from hindsight_integrations import ExtractedFact

CONVERSATION: dict[str, Any] = {
    "conversation": {
        "speaker_a": "Ann",
        "session_2_date_time": "9:05 am on 1 June, 2023",
        "session_2": [{"speaker": "Ben", "dia_id": "D2:1", "text": "I sold my guitar."}],
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Ann", "dia_id": "D1:1", "text": "I painted.", "blip_caption": "a blue lake"},
            {"speaker": "Ben", "dia_id": "D1:2", "text": "Lovely!"},
        ],
        "session_3_date_time": "9:05 am on 3 June, 2023",
    },
    "qa": [
        {"question": "What did Ann paint?", "answer": "a lake", "evidence": ["D1:01"], "category": 4},
        {"question": "What was sold?", "answer": 1, "evidence": ["D2:1; D:1:2", "D9:9"], "category": 1},
        {"question": "What did Ann sell?", "adversarial_answer": "a guitar", "evidence": [], "category": 5},
    ],
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (file := tmp_path / "data" / "conv-1.json").parent.mkdir()
    file.write_text(json.dumps(CONVERSATION))
    return file


def test_sessions_come_in_order_with_captions_and_times(path: Path) -> None:
    """By number, not by the order in the file; a session without turns is skipped."""
    [episode] = load_locomo(path)
    assert [session.id for session in episode.sessions] == ["session_1", "session_2"]
    first = episode.sessions[0]
    assert first.moment == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert [(m.id, m.speaker, m.text) for m in first.messages] == [
        ("D1:1", "Ann", "I painted. [shares a photo: a blue lake]"),
        ("D1:2", "Ben", "Lovely!"),
    ]
    assert str(first.messages[0].timestamp) < str(first.messages[1].timestamp)


def test_questions_say_what_answers_them(path: Path) -> None:
    """Misspelt ids are corrected, turns that do not exist dropped; an adversarial question has no answer."""
    [episode] = load_locomo(path)
    assert [(q.kind, q.answer, set(q.evidence), q.answerable) for q in episode.questions] == [
        ("4 single-hop", "a lake", {"D1:1"}, True),
        ("1 multi-hop", "1", {"D2:1", "D1:2"}, True),
        ("5 adversarial", "", set(), False),
    ]
    assert len({question.id for question in episode.questions}) == 3


def test_a_published_list_and_a_folder_are_read_alike(path: Path, tmp_path: Path) -> None:
    """locomo10.json is a list with sample ids."""
    together = tmp_path / "locomo10.json"
    together.write_text(json.dumps([CONVERSATION | {"sample_id": "conv-1"}]))
    assert load_locomo(together) == load_locomo(path) == load_locomo(path.parent)


def test_corrections_stand_beside_the_raw_key(path: Path, tmp_path: Path) -> None:
    """Both can be reported."""
    corrected = {"question": "What was sold?", "correct_answer": "a guitar", "correct_evidence": ["D2:1"]}
    (tmp_path / "conv-1.json").write_text(json.dumps([corrected]))
    [episode] = load_locomo(path, corrections=tmp_path)
    assert [question.correction for question in episode.questions] == [
        None,
        Correction("a guitar", frozenset({"D2:1"})),
        None,
    ]


def test_facts_take_the_place_of_turns(path: Path) -> None:
    """This applies to conversations with extracted facts."""
    fact = ExtractedFact(what="Ben sold his guitar.", sources=["D2:1"])
    [episode] = load_locomo(path, facts={"conv-1": {2: [fact]}})
    assert [session.facts for session in episode.sessions] == [(), (fact,)]
    [other] = load_locomo(path, facts={"conv-9": {2: [fact]}})
    assert other.sessions[0].facts is None


@every_row(
    ("written", "expected"),
    [
        (["D30:05"], {"D30:5"}),
        (["D8:6; D9:17"], {"D8:6", "D9:17"}),
        (["D:11:26"], {"D11:26"}),
        (["D77:1"], set()),
    ],
)
def test_misspelt_evidence(written: list[str], expected: set[str]) -> None:
    """As in the published files."""
    assert evidence_ids(written, frozenset({"D30:5", "D8:6", "D9:17", "D11:26"})) == expected


@pytest.mark.parametrize(
    ("broken", "named"),
    [
        (lambda data: data["qa"][1].pop("question"), r"qa\[1\].question: Field required"),
        (lambda data: data["qa"][1].update(category=9), r"qa\[1\].category"),
        (lambda data: data["conversation"]["session_1"][1].pop("text"), r"conversation.session_1\[1\].text: Field required"),
        (lambda data: data["conversation"].update(session_2_date_time="June"), "conversation.session_2_date_time: 'June'"),
    ],
)  # fmt: skip
def test_a_broken_field_is_named(path: Path, broken: Any, named: str) -> None:
    """The error names the file."""
    data = json.loads(path.read_text())
    broken(data)
    path.write_text(json.dumps(data))
    with pytest.raises(DatasetInvalid, match=f"conv-1.json: {named}"):
        load_locomo(path)
