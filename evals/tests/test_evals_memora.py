"""Memora's files as episodes: turns, valid and withdrawn items, and their sources."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hindsight_evals.datasets.extracted import load_facts
from hindsight_evals.datasets.memora import load_memora
from hindsight_evals.episode import CriterionKind, Episode, Question
from hindsight_evals.errors import DatasetInvalid


def session(
    number: int,
    day: int,
    operation: str | None,
    details: dict[str, Any] | None,
    *said: str,
    kind: str = "activity",
) -> dict[str, Any]:
    conversation = [
        {
            "turn": place,
            "speaker": "ai_agent" if place % 2 else "user_agent",
            "message": text,
            "share_memory": True,
        }
        for place, text in enumerate(said)
    ]
    return {
        "session_id": number,
        "session_type": kind,
        "operation": operation,
        "operation_details": details,
        "date": f"2024-03-{day:02}",
        "conversation": conversation,
    }


def todo(text: str) -> dict[str, Any]:
    return {"category": "todo_list", "item": {"description": text}}


def liking(item: str, **more: str) -> dict[str, Any]:
    return {"category": "music", "subcategory": "artists", "item": item, **more}


def coffee(amount: float) -> dict[str, Any]:
    return {"category": "food_expenses", "item": {"expense_type": "coffee", "amount": amount}}


def proposal(**fields: object) -> dict[str, Any]:
    return {"item": "proposal_7", "content_data": fields}


SESSIONS = [
    session(1, 1, "add", todo("Repair the garden fence"), "I must repair that fence.", "Noted.", ""),
    session(2, 1, "add", todo("Call the plumber"), "Remind me to call the plumber."),
    session(3, 2, "delete", todo("Repair the garden fence"), "The fence is done, scrap 'repair the garden fence'."),
    session(4, 2, "add", liking("Nina Example"), "I adore Nina Example.", kind="preference"),
    session(
        5, 3, "update", liking("Otto Muster", old_item="Nina Example"), "Otto Muster rather than Nina Example now.",
        kind="preference",
    ),
    session(6, 3, "add", coffee(4.1), "Coffee, $4.10."),
    session(7, 3, "add", coffee(4.1), "Another coffee at $4.10."),
    session(8, 3, None, None, "How do tides work?", "The moon pulls.", kind="no_memory"),
    session(9, 4, "add", proposal(title="Quiet Rooms", members=["Ada Stone", "Ben Field"]),
            "A proposal, Quiet Rooms, with Ada Stone and Ben Field."),
    session(10, 4, "update", proposal(title="Quiet Rooms", members=["Ada Stone"]), "Ben Field has left the proposal."),
    session(11, 4, "add", todo("Repair the garden fence"), "The fence broke; back on the list: repair the garden fence."),
    session(12, 4, "delete", todo("Call the plumber"), "Plumber: dealt with, drop that call."),
    session(13, 4, "add", {"category": "food_expenses", "subcategory": "coffee", "item": 40},
            "Coffee budget: 40 dollars.", kind="goal"),
]  # fmt: skip


def question(
    task_id: str, memory: dict[str, Any], forgetting: dict[str, Any] | None = None
) -> dict[str, Any]:
    criterion = {"evaluation_question_id": f"{task_id}_0", "evaluation_question": "Is it named?"}
    rest = {"expected_answer": "no", "evaluation_type": "forgetting_absence"}
    return {
        "question_id": task_id,
        "question": "What now?",
        "question_date": "2024-03-04",
        "memory_evidence": memory,
        "forgetting_evidence": forgetting,
        "evaluation": {"evaluation_questions": [criterion | rest]},
    }


QUESTIONS = {
    "remembering": [
        question(
            "todos",
            {"remaining_tasks": [{"value": "Repair the garden fence", "session_id": 11}]},
            {
                "forgotten_items": [
                    {"value": "Repair the garden fence", "session_id": 3},
                    {"value": "Call the plumber", "session_id": 12},
                    {"session_id": 12},
                ]
            },
        ),
        question(
            "notes",
            {"content_data": {"title": "Quiet Rooms", "members": ["Ada Stone"]}},
            {"forgotten_items": [{"field": "members", "value": "Ben Field", "session_id": 10}]},
        ),
    ],
    "reasoning": [
        question(
            "budget",
            {
                "goal_value": 40,
                "goal_session": {"session_id": 13, "session_date": "2024-03-04"},
                "activity_sessions": [{"amount": 4.1, "expense_type": "coffee", "session_id": 7}],
            },
        )
    ],
    "recommending": [
        question(
            "music",
            {
                "memory_items": {
                    "artists": {"likes": [{"item": "Otto Muster", "session_id": 5}], "dislikes": []}
                }
            },
            {"forgotten_items": [{"value": "Nina Example", "session_id": 5}]},
        )
    ],
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "weekly-baker.json"
    evaluation = {"persona": "baker", "questions": QUESTIONS}
    file.write_text(
        json.dumps({"persona": "baker", "period": "weekly", "sessions": SESSIONS, "evaluation": evaluation})
    )
    return file


@pytest.fixture
def episode(path: Path) -> Episode:
    return load_memora(path)


def asked(episode: Episode, name: str) -> Question:
    return next(question for question in episode.questions if question.id == name)


def items(episode: Episode, name: str) -> set[tuple[str, tuple[str, ...], bool]]:
    return {(item.text, tuple(sorted(item.sources)), item.valid) for item in asked(episode, name).items}


def test_turns_keep_their_order_and_show_no_ground_truth(episode: Episode) -> None:
    """Empty messages are skipped; sessions of a day and turns of a session are consecutive."""
    moments = [message.timestamp for told in episode.sessions for message in told.messages]
    assert moments == sorted(moments, key=str)
    assert len(set(moments)) == len(moments)
    first = episode.sessions[0].messages
    assert [(m.id, m.speaker, m.text) for m in first] == [
        ("S1:0", "user", "I must repair that fence."),
        ("S1:1", "assistant", "Noted."),
    ]
    assert all(question.moment > max(moments, key=str) for question in episode.questions)  # type: ignore[operator]


def test_an_item_stands_on_the_sessions_that_stated_it_as_true(episode: Episode) -> None:
    """The session that withdraws it repeats its words, and a value that is true again is not a withdrawn one."""
    assert items(episode, "todos") == {
        ("Repair the garden fence", ("S11:0",), True),
        ("Call the plumber", ("S2:0",), False),
    }
    assert items(episode, "music") == {
        ("Otto Muster", ("S5:0",), True),
        ("Nina Example", ("S4:0",), False),
    }


def test_elements_of_a_document_are_items_of_their_own(episode: Episode) -> None:
    """Elements that a later version omits are withdrawn; others keep the session that first stated them."""
    assert items(episode, "notes") == {
        ("Quiet Rooms", ("S9:0",), True),
        ("Ada Stone", ("S9:0",), True),
        ("Ben Field", ("S9:0",), False),
    }


def test_amounts_are_looked_up_in_their_own_session(episode: Episode) -> None:
    """The same price twice is two expenses; a goal is what its session states."""
    assert items(episode, "budget") == {("4.1", ("S7:0",), True), ("coffee 40", ("S13:0",), True)}


def test_only_what_a_conversation_says_is_looked_for(path: Path) -> None:
    """Details contain more than was ever said: the additional words are not required."""
    data = json.loads(path.read_text())
    data["sessions"][1]["conversation"][0]["message"] = "Remind me to call somebody."
    path.write_text(json.dumps(data))
    assert ("Call the", ("S2:0",), False) in items(load_memora(path), "todos")


def test_a_session_says_what_it_makes_untrue(episode: Episode) -> None:
    """For the system that is told the gold deletions, with the turns that had stated the items."""
    told = {
        told.id: [(gone.text, sorted(gone.sources)) for gone in told.withdrawals] for told in episode.sessions
    }
    assert {number: gone for number, gone in told.items() if gone} == {
        "S3": [("Repair the fence", ["S1:0", "S1:1"])],
        "S5": [("Nina Example", ["S4:0"])],
        "S10": [("Ben Field", ["S9:0"])],
        "S12": [("Call the plumber", ["S2:0"])],
    }


def test_criteria_say_what_meets_them(episode: Episode) -> None:
    """A criterion of absence is met by "no"."""
    [criterion] = asked(episode, "todos").criteria
    assert (criterion.kind, criterion.expected) == (CriterionKind.ABSENCE, False)


def test_facts_take_the_place_of_turns(path: Path, tmp_path: Path) -> None:
    """A session without extracted facts has none; without a file each turn is a fact."""
    file = tmp_path / "facts.jsonl"
    fact = {"what": "User has to call the plumber.", "sources": ["S2:0"]}
    file.write_text(json.dumps({"session": 2, "facts": [fact]}) + "\n\n")
    with_facts = load_memora(path, facts=load_facts(file))
    assert [text.text for text in with_facts.sessions[1].texts] == ["User has to call the plumber."]
    assert with_facts.sessions[0].texts == ()
    assert [text.text for text in load_memora(path).sessions[1].texts] == [
        "user: Remind me to call the plumber."
    ]


def test_a_broken_field_is_named_with_its_file(path: Path, tmp_path: Path) -> None:
    """The error names the field, the session and the file."""
    data = json.loads(path.read_text())
    del data["sessions"][2]["conversation"][0]["message"]
    path.write_text(json.dumps(data))
    with pytest.raises(
        DatasetInvalid, match=r"weekly-baker.json: sessions\[2\].conversation\[0\].message: Field required"
    ):
        load_memora(path)
    path.write_text("[")
    with pytest.raises(DatasetInvalid, match="the file: Invalid JSON"):
        load_memora(path)
    file = tmp_path / "facts.jsonl"
    file.write_text('{"session": 2, "facts": []}\n{"session": "x", "facts": []}\n')
    with pytest.raises(DatasetInvalid, match="line 2"):
        load_facts(file)


def test_changes_that_name_memories_by_their_turns_are_read(tmp_path: Path) -> None:
    """A file of facts names ended memories by turns and by words; parts from older files are ignored; an unknown name is rejected."""
    changes = [
        {"sources": ["D1:1"], "change": "ends"},
        {"sources": ["D1:2"], "change": "removes", "items": [1]},
        {"sources": ["D1:3"], "change": "part", "part": "a lake"},
    ]
    fact = {"what": "Ann gave the lake away", "invalidates": ["Ann has the lake"], "changes": changes}
    file = tmp_path / "conv-1.jsonl"
    file.write_text(json.dumps({"session": 2, "session_date": "2023-06-01", "facts": [fact]}))
    [read] = load_facts(file)[2]
    assert [(change.sources, change.items) for change in read.changes] == [(["D1:1"], []), (["D1:2"], [1])]
    assert read.invalidates == []
    file.write_text(json.dumps({"session": 2, "facts": [{**fact, "changes": [{"change": "ends"}]}]}))
    with pytest.raises(DatasetInvalid, match="line 1"):
        load_facts(file)
