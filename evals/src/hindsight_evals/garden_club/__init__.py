"""The garden-club conversation: six sessions between Nora and Desmond, with facts extracted by hand.

Written for this project; MIT license, like the rest of the repository.

- `garden_club.json`: March to July 2025, in a format like LoCoMo's: `sessions` with a `date` and `messages`
  (`id`, `speaker`, `text`). It contains a job change, a moved appointment, relative and absolute dates, a
  chain of three causes, a purchase with its price, a trip, and one person (Ilse Brandt) who connects two
  otherwise unrelated facts.
- `garden_club.facts.jsonl`: the facts of each session, one line per session, so that benchmarks need no
  extraction model. Each has the fields of `ExtractedFact`; `target_fact_index` counts from 0 within the
  session.
- `questions.json`: five questions, with answers, the ids of the source messages, and the retrieval channel
  that each demonstrates.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hindsight_integrations import ExtractedFact, Message

DATA = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Session:
    """One session of the conversation.

    Attributes:
        messages: its turns, with ids and times.
        facts: the facts extracted from them.
    """

    messages: Sequence[Message]
    facts: Sequence[ExtractedFact]


@dataclass(frozen=True, slots=True)
class Conversation:
    """The conversation, and questions about it.

    Attributes:
        sessions: the sessions in order.
        questions: five questions.
    """

    sessions: Sequence[Session]
    questions: Sequence[str]


def garden_club() -> Conversation:
    """Read the conversation; the turns of a session are 30 seconds apart."""
    conversation = json.loads((DATA / "garden_club.json").read_text(encoding="utf-8"))
    lines = (DATA / "garden_club.facts.jsonl").read_text(encoding="utf-8").splitlines()
    facts = {row["session"]: row["facts"] for row in map(json.loads, filter(None, lines))}
    sessions = [
        Session(
            [
                Message(turn["text"], turn["speaker"], _time(session["date"], number), turn["id"])
                for number, turn in enumerate(session["messages"])
            ],
            [ExtractedFact.model_validate(fact) for fact in facts[session["session"]]],
        )
        for session in conversation["sessions"]
    ]
    asked = json.loads((DATA / "questions.json").read_text(encoding="utf-8"))["questions"]
    return Conversation(sessions, [item["question"] for item in asked])


def _time(date: str, number: int) -> datetime:
    return datetime.fromisoformat(date).replace(tzinfo=UTC) + timedelta(seconds=30 * number)
