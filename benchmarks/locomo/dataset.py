"""LoCoMo conversations as messages and questions (Maharana et al. 2024), and facts extracted from them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from pathlib import Path
from typing import Any

from hindsight_integrations.model.requests import Message

TURN_SECONDS = 10  # between the turns of a session, whose own times LoCoMo does not give; keeps their order
_EVIDENCE = re.compile(r"D:?(\d+):0*(\d+)")  # some ids are misspelt: "D8:6; D9:17", "D30:05", "D:11:26"
_SESSION = re.compile(r"session_(\d+)")


class Category(IntEnum):
    """What sort of question it is, as LoCoMo numbers them."""

    MULTI_HOP = 1
    TEMPORAL = 2
    OPEN_DOMAIN = 3
    SINGLE_HOP = 4
    ADVERSARIAL = 5

    @property
    def label(self) -> str:
        """Number and name, for tables."""
        return f"{self.value} {self.name.lower().replace('_', '-')}"


ANSWERABLE = frozenset(set(Category) - {Category.ADVERSARIAL})


@dataclass(frozen=True, slots=True)
class Session:
    """One session: its number from 1, when it began, and its turns with ids and times."""

    number: int
    moment: datetime
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """A question, its category, and the ids of the turns that answer it (never empty)."""

    text: str
    category: Category
    evidence: frozenset[str]


@dataclass(frozen=True, slots=True)
class Conversation:
    """One LoCoMo conversation: sessions in order, and the questions that have evidence."""

    name: str
    sessions: tuple[Session, ...]
    questions: tuple[Question, ...]

    @property
    def asked_at(self) -> datetime:
        """From when the questions are asked: the last session."""
        return self.sessions[-1].moment


def evidence_ids(written: Iterable[str], known: frozenset[str]) -> frozenset[str]:
    """Turn ids in evidence as written, several in one string included; turns that do not exist are dropped."""
    found = (f"D{int(day)}:{int(turn)}" for text in written for day, turn in _EVIDENCE.findall(text))
    return frozenset(found) & known


def session_moment(written: str) -> datetime:
    """Read "1:56 pm on 8 May, 2023" as UTC."""
    return datetime.strptime(written.strip(), "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)


def load_conversation(path: Path) -> Conversation:
    """Read one `conv-*.json`."""
    data = json.loads(path.read_text(encoding="utf-8"))
    sessions = _sessions(data["conversation"])
    known = frozenset(message.id or "" for session in sessions for message in session.messages)
    return Conversation(path.stem, sessions, tuple(_questions(data["qa"], known)))


def load_facts(path: Path) -> dict[int, list[dict[str, Any]]]:
    """Extracted facts by session number, from a file of one JSON line a session."""
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = (json.loads(line) for line in lines if line.strip())
    return {int(row["session"]): row["facts"] for row in rows}


def _sessions(conversation: Mapping[str, Any]) -> tuple[Session, ...]:
    numbers = sorted(int(m[1]) for key in conversation if (m := _SESSION.fullmatch(key)))
    return tuple(_session(number, conversation) for number in numbers if conversation[f"session_{number}"])


def _session(number: int, conversation: Mapping[str, Any]) -> Session:
    moment = session_moment(conversation[f"session_{number}_date_time"])
    turns = conversation[f"session_{number}"]
    return Session(number, moment, tuple(_message(turn, moment, place) for place, turn in enumerate(turns)))


def _message(turn: Mapping[str, Any], moment: datetime, place: int) -> Message:
    caption = turn.get("blip_caption")
    text = turn["text"] + (f" [shares a photo: {caption}]" if caption else "")
    return Message(text, turn["speaker"], moment + timedelta(seconds=TURN_SECONDS * place), turn["dia_id"])


def _questions(written: Iterable[Mapping[str, Any]], known: frozenset[str]) -> Iterable[Question]:
    for question in written:
        if evidence := evidence_ids(question.get("evidence") or (), known):
            yield Question(question["question"], Category(question["category"]), evidence)
