"""Benchmarks in which a model extracts, run on a tiny week and conversation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from openai_server import OpenAIServer

from bench_runs import bench
from hindsight_integrations.testing import unanswered, write_answer

TEA = {"item": {"amount": 2.5, "expense_type": "tea"}, "category": "food_expenses"}
RAKE = {"item": {"description": "Rake the leaves"}, "category": "todo_list"}


def session(number: int, operation: str | None, details: dict[str, Any] | None, *said: str) -> dict[str, Any]:
    turns = [
        {"turn": place, "speaker": "user_agent", "message": text, "share_memory": operation is not None}
        for place, text in enumerate(said, 1)
    ]
    kind = "activity" if operation else "no_memory"
    return {
        "session_id": number,
        "session_type": kind,
        "operation": operation,
        "operation_details": details,
        "date": f"2025-06-0{number}",
        "conversation": turns,
    }


WEEK = {
    "persona": "tiny",
    "period": "weekly",
    "sessions": [
        session(1, "add", TEA, "I paid 2.50 dollars for a tea."),
        session(2, "add", RAKE, "I still have to rake the leaves."),
        session(3, None, None, "What is a comet made of?"),
        session(4, "delete", RAKE, "I have raked the leaves."),
    ],
    "evaluation": {
        "questions": {
            "reasoning": [
                {
                    "question_id": "activity_food_total_4",
                    "question": "How much did I spend on food?",
                    "evaluation": {"evaluation_questions": []},
                    "memory_evidence": {"total_amount": 2.5, "expense_count": 1},
                }
            ]
        }
    },
}
ANSWERS: dict[str, list[dict[str, Any]]] = {
    "tea": [
        {
            "what": "The user paid 2.50 dollars for a tea.",
            "records": [{"kind": "expense", "category": "tea", "value": "2.50", "unit": "USD"}],
        }
    ],
    "still have to rake": [{"what": "The user has to rake the leaves."}],
    "comet": [{"what": "The user asked what a comet is made of."}],
    "have raked": [
        {"what": "The user raked the leaves.", "invalidates": ["The user has to rake the leaves."]}
    ],
}
FACTS = {"facts": [fact for facts in ANSWERS.values() for fact in facts]}

CONVERSATION = {
    "conversation": {
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [{"speaker": "Ann", "dia_id": "D1:1", "text": "I painted a lake yesterday."}],
        "session_2_date_time": "9:05 am on 1 June, 2023",
        "session_2": [{"speaker": "Ann", "dia_id": "D2:1", "text": "I gave the lake painting away."}],
    },
    "qa": [{"question": "What did Ann paint?", "answer": "a lake", "evidence": ["D1:1"], "category": 4}],
}


@pytest.fixture
def week(tmp_path: Path) -> Path:
    """A folder with one tiny week."""
    (tmp_path / "tiny.json").write_text(json.dumps(WEEK))
    return tmp_path


def answered_by_hand(folder: Path) -> int:
    """Answer the open requests by the words of their passages; return their number."""
    waiting = unanswered(folder)
    for path, request in waiting.items():
        passage = request.messages[-1].text.partition("<<<PASSAGE")[2]
        (facts,) = (facts for words, facts in ANSWERS.items() if words in passage)
        write_answer(path, {"facts": facts})
    return len(waiting)


def test_a_week_is_answered_request_by_request(week: Path) -> None:
    """A run ends at a request without an answer; when all are answered, it prints the result of the week."""
    arguments = ("--data", week, "--name", "tiny", "--light", "--answers", week / "answers")
    for number in (1, 2, 3, 4):
        stopped = bench("memora_model", *arguments)
        assert stopped.returncode == 1
        assert f"session {number}: no answer is recorded for 'extract_facts'" in stopped.stderr
        assert answered_by_hand(week / "answers") == 1
    done = bench("memora_model", *arguments)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert any(line.startswith("S4 closed ") for line in lines)
    assert "S3 world: The user asked what a comet is made of." in lines
    assert "1 in 1 sessions: 1.00 a session" in lines
    assert "facts in all: 4 (world 4)" in lines
    assert any(line.split() == ["expense", "tea", "USD", "1", "2.5", "in", "all"] for line in lines)
    assert any(line.split() == ["activity_food_total/total_amount", "2.5", "exact"] for line in lines)
    assert any(line.split() == ["mean", "of", "expense", "tea", "2.5", "exact"] for line in lines)
    assert lines.count("presence: 1/1 = 100.0 %") == lines.count("absence: 1/1 = 100.0 %") == 2
    assert "calls: 4, 0 of them repairs" in lines
    assert sum("tokens (" in line for line in lines) == 1


@pytest.mark.parametrize("extract", ["turn", "idle"])
def test_sessions_are_followed_as_threads(week: Path, extract: str) -> None:
    """With `--extract`, the sessions that were asked for come to the same memories, whenever they are extracted."""
    arguments: list[str | Path] = ["--data", week, "--name", "tiny", "--light", "--answers", week / "answers"]
    arguments += ["--extract", extract, "--sessions", "2,4"]
    for _ in range(2):
        assert bench("memora_model", *arguments).returncode == 1
        assert answered_by_hand(week / "answers") == 1
    done = bench("memora_model", *arguments)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "facts in all: 2 (world 2)" in lines
    assert lines.count("absence: 1/1 = 100.0 %") == 2
    assert "calls: 2, 0 of them repairs" in lines


def test_without_memories_all_is_asked_at_once(week: Path) -> None:
    """All requests of the week can be answered by hand at once, and none contains memories."""
    arguments: list[str | Path] = ["--data", week, "--name", "tiny", "--light", "--answers", week / "answers"]
    arguments += ["--go-on", "--without-memories"]
    first = bench("memora_model", *arguments)
    assert first.returncode == 0, first.stderr
    assert "sessions without an answer: [1, 2, 3, 4]" in first.stdout
    assert answered_by_hand(week / "answers") == 4
    done = bench("memora_model", *arguments)
    assert "facts in all: 4 (world 4)" in done.stdout
    assert unanswered(week / "answers") == {}


def test_a_services_answers_can_be_had_again(week: Path) -> None:
    """A service's answers are recorded, and a run from the recordings prints the same without the service."""
    with OpenAIServer([{"facts": facts} for facts in ANSWERS.values()]) as server:
        arguments = ("--base-url", server.url, "--record", week / "answers", "--model", "gpt-test")
        asked = bench("memora_model", "--data", week, "--name", "tiny", *arguments, OPENAI_API_KEY="k")
    assert asked.returncode == 0, asked.stderr
    assert len(server.requests) == 4
    again = bench("memora_model", "--data", week, "--name", "tiny", "--answers", week / "answers")
    assert again.stdout == asked.stdout
    assert "facts in all: 4" in again.stdout


def test_extracted_facts_are_measured_like_any(tmp_path: Path) -> None:
    """A conversation's answers become a file of facts for the retrieval benchmark, with the memories that they end."""
    data, folder = tmp_path / "conv-1.json", tmp_path / "facts"
    data.write_text(json.dumps(CONVERSATION))
    painted = {"what": "Ann painted a lake", "sources": ["D1:1"], "occurred_start": "2023-05-07"}
    kept = {"what": "Ann keeps the lake painting", "sources": ["D1:1"]}
    given = {
        "what": "Ann gave the lake painting away",
        "causal_relations": [{"target_fact_index": 1, "relation_type": "caused_by"}],
        "changes": [{"memory": 1, "change": "ends"}, {"memory": 2, "change": "removes", "items": [1]}],
    }
    why = {"what": "Ann needed the room", "sources": ["D2:1"]}
    with OpenAIServer([{"facts": [painted, kept]}, {"facts": [given, why]}]) as server:
        arguments = ("--data", data, "--out", folder, "--base-url", server.url)
        done = bench("locomo_extract", *arguments, OPENAI_API_KEY="k")
    assert done.returncode == 0, done.stderr
    assert "4 facts of 2 of 2 sessions" in done.stdout
    first, second = map(json.loads, (folder / "conv-1.jsonl").read_text("utf-8").splitlines())
    assert [fact["what"] for fact in first["facts"]] == ["Ann painted a lake", "Ann keeps the lake painting"]
    told = second["facts"][0]
    assert told["sources"] == ["D2:1"]
    assert told["causal_relations"][0]["target_fact_index"] == 1
    assert told["changes"] == [{"sources": ["D1:1"], "change": "removes", "items": [1]}]
    shown = {"Ann keeps the lake painting", "Ann painted a lake"}
    assert {text.partition(" | ")[0] for text in told["invalidates"]} & shown
    known = ("--data", tmp_path, "--facts", folder, "--cache", tmp_path / "cache")
    measured = bench("locomo_retrieval", *known, "--embedder", "hash")
    assert "facts | categories 1-4 | 1 questions" in measured.stdout, measured.stderr
