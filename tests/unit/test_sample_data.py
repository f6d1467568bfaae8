"""The sample conversation and its hand-made facts fit together."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

from table import every_row

from hindsight_integrations.model.facts import ExtractedFact
from hindsight_integrations.retain.extraction import parse_moment

DATA = Path(__file__).parents[2] / "evals/src/hindsight_evals/garden_club"
CONVERSATION: dict[str, Any] = json.loads((DATA / "garden_club.json").read_text(encoding="utf-8"))
FACTS: list[dict[str, Any]] = [
    json.loads(line) for line in (DATA / "garden_club.facts.jsonl").read_text(encoding="utf-8").splitlines()
]
QUESTIONS: dict[str, Any] = json.loads((DATA / "questions.json").read_text(encoding="utf-8"))
SESSIONS = {session["session"]: session for session in CONVERSATION["sessions"]}
IDS = {message["id"] for session in SESSIONS.values() for message in session["messages"]}


def test_sessions_are_ordered_and_their_turns_identified() -> None:
    """The example can be retained unchanged: unique ids, two speakers, increasing dates."""
    dates = [datetime.fromisoformat(session["date"]) for session in SESSIONS.values()]
    turns = [message for session in SESSIONS.values() for message in session["messages"]]
    assert dates == sorted(set(dates))
    assert len(IDS) == len(turns)
    assert {turn["speaker"] for turn in turns} == {CONVERSATION["speaker_a"], CONVERSATION["speaker_b"]}


@every_row("line", FACTS, ids=lambda line: f"session {line['session']}")
def test_facts_fit_the_schema_and_their_session(line: dict[str, Any]) -> None:
    """Each fact is valid, cites turns of its own session, and refers only to facts of it."""
    session = SESSIONS[line["session"]]
    facts = [ExtractedFact.model_validate(fact) for fact in line["facts"]]
    assert line["session_date"] == session["date"]
    assert facts
    turns = {message["id"] for message in session["messages"]}
    for position, fact in enumerate(facts):
        assert fact.sources
        assert set(fact.sources) <= turns
        assert {relation.target_fact_index for relation in fact.causal_relations} <= set(
            range(len(facts))
        ) - {position}
        assert all(parse_moment(when) for when in (fact.occurred_start, fact.occurred_end) if when)


def test_fields_are_those_of_the_schema() -> None:
    """No field is misspelt and silently ignored."""
    names = {name for line in FACTS for fact in line["facts"] for name in fact}
    assert names == set(ExtractedFact.model_fields) - {
        "records",
        "changes",
        "adds_to",
        "confidence",
        "lasting",
    }


def test_there_is_a_chain_of_causes() -> None:
    """The data contain A because B because C for the graph channel."""
    chains = [
        target
        for line in FACTS
        for fact in line["facts"]
        for cause in fact["causal_relations"]
        for target in line["facts"][cause["target_fact_index"]]["causal_relations"]
    ]
    assert chains


def test_questions_stand_on_messages_that_exist() -> None:
    """Every channel has a question, and the evidence of each answer is in the conversation."""
    questions = QUESTIONS["questions"]
    assert {question["shows"] for question in questions} == {"semantic", "keyword", "graph", "temporal"}
    assert all(set(question["evidence"]) <= IDS for question in questions)
    assert datetime.fromisoformat(QUESTIONS["asked_at"]) > max(
        datetime.fromisoformat(session["date"]) for session in SESSIONS.values()
    )
