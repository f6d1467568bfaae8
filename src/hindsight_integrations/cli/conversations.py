"""Sample conversations: the garden club that ships with the repository, or a LoCoMo file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hindsight_integrations import ExtractedFact, InvalidRequest, Message

QUESTIONS = 5


@dataclass(frozen=True, slots=True)
class Session:
    """One sitting of a conversation.

    Attributes:
        messages: its turns, with ids and times.
        facts: extracted facts, if somebody extracted them; None retains the messages verbatim.
    """

    messages: Sequence[Message]
    facts: Sequence[ExtractedFact] | None


@dataclass(frozen=True, slots=True)
class Conversation:
    """What the demo retains, and recalls.

    Attributes:
        name: for people.
        sessions: in order.
        questions: at most five.
        query_time: the moment from which the questions are read.
    """

    name: str
    sessions: Sequence[Session]
    questions: Sequence[str]
    query_time: datetime


def sample_folder() -> Path:
    """Return the sample data: beside this module in an installed wheel, `examples/data` in a checkout."""
    here = Path(__file__).resolve()
    places = (here.parent / "sample", here.parents[3] / "examples" / "data")
    return next(place for place in places if place.is_dir())


def sample_conversation() -> Conversation:
    """Return the garden-club conversation of `examples/data`, with its facts extracted by hand."""
    folder = sample_folder()
    data = _read(folder / "garden_club.json")
    lines = (folder / "garden_club.facts.jsonl").read_text(encoding="utf-8").splitlines()
    facts = {row["session"]: row["facts"] for row in map(json.loads, filter(None, lines))}
    sessions = [
        Session(
            [
                _turn(m["id"], m["speaker"], m["text"], _stamp(s["date"]), n)
                for n, m in enumerate(s["messages"])
            ],
            [ExtractedFact.model_validate(fact) for fact in facts[s["session"]]],
        )
        for s in data["sessions"]
    ]
    sample = _read(folder / "questions.json")
    questions = [item["question"] for item in sample["questions"]]
    name = "garden club (sample, facts extracted by hand)"
    return Conversation(name, sessions, questions, _stamp(sample["asked_at"]))


def load_conversation(path: Path) -> Conversation:
    """A LoCoMo conversation, verbatim.

    Raises:
        InvalidRequest: the file cannot be read as one.
    """
    try:
        data = _read(path)
        dates = locomo_dates(data["conversation"])
        sessions = [Session(locomo_turns(data["conversation"], n, date), None) for n, date in dates.items()]
        questions = [qa["question"] for qa in data["qa"] if qa.get("evidence") and qa["category"] != 5]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidRequest(
            "data", f"{path} cannot be read ({error})", "Pass a LoCoMo conversation file."
        ) from error
    step = max(1, len(questions) // QUESTIONS)
    return Conversation(path.stem, sessions, questions[::step][:QUESTIONS], max(dates.values()))


def _read(path: Path) -> Any:  # noqa: ANN401 - JSON
    return json.loads(path.read_text(encoding="utf-8"))


def _stamp(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def _turn(identity: str, speaker: str, text: str, start: datetime, position: int) -> Message:
    return Message(text, speaker, start + timedelta(seconds=30 * position), identity)


def locomo_dates(conversation: dict[str, Any]) -> dict[int, datetime]:
    """Map session numbers to times ("1:56 pm on 8 May, 2023"), for sessions that have turns."""
    numbers = sorted(
        int(key.split("_")[1])
        for key in conversation
        if key.startswith("session_") and key.endswith("_date_time")
    )
    return {
        n: datetime.strptime(conversation[f"session_{n}_date_time"], "%I:%M %p on %d %B, %Y").replace(
            tzinfo=UTC
        )
        for n in numbers
        if conversation.get(f"session_{n}")
    }


def locomo_turns(conversation: dict[str, Any], number: int, start: datetime) -> list[Message]:
    """Read the turns of one session; a shared photo is told by its caption."""
    turns = []
    for position, turn in enumerate(conversation[f"session_{number}"]):
        caption = turn.get("blip_caption")
        text = f"{turn['text']} [shares a photo: {caption}]" if caption else str(turn["text"])
        turns.append(_turn(turn["dia_id"], turn["speaker"], text, start, position))
    return turns
