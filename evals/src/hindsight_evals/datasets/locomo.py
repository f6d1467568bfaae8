"""LoCoMo (Maharana et al. 2024; snap-research/locomo, CC BY-NC 4.0): two people over months, five categories of questions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from pathlib import Path
from typing import Any

from pydantic import Field, TypeAdapter, ValidationError

from hindsight_evals.datasets.fields import Published, named_error, read_json
from hindsight_evals.episode import Correction, Episode, Question, Session
from hindsight_evals.errors import DatasetInvalid
from hindsight_integrations import ExtractedFact, Message

TURN_SECONDS = 10  # seconds between the turns of a session, which LoCoMo does not give; they keep the order
MOMENT_FORMAT = "%I:%M %p on %d %B, %Y"  # "1:56 pm on 8 May, 2023"

_EVIDENCE = re.compile(r"D:?(\d+):0*(\d+)")  # some ids are misspelt: "D8:6; D9:17", "D30:05", "D:11:26"
_SESSION = re.compile(r"session_(\d+)")

Facts = Mapping[int, Sequence[ExtractedFact]]


class Category(IntEnum):
    """The category of a question, as numbered by LoCoMo."""

    MULTI_HOP = 1
    TEMPORAL = 2
    OPEN_DOMAIN = 3
    SINGLE_HOP = 4
    ADVERSARIAL = 5

    @property
    def label(self) -> str:
        """The number and name, for tables; this is the `kind` of its questions."""
        return f"{self.value} {self.name.lower().replace('_', '-')}"


class _Turn(Published):
    speaker: str
    dia_id: str
    text: str
    blip_caption: str | None = None


class _Question(Published):
    question: str
    category: Category
    answer: str | int | float = ""
    adversarial_answer: str | None = None
    evidence: list[str] = Field(default_factory=list)


class _Conversation(Published):
    conversation: dict[str, Any]
    qa: list[_Question]
    sample_id: str = ""


class _Corrected(Published):
    question: str
    correct_answer: str | int | float = ""
    correct_evidence: list[str] = Field(default_factory=list)


def load_locomo(
    path: Path, *, facts: Mapping[str, Facts] | None = None, corrections: Path | None = None
) -> tuple[Episode, ...]:
    """Read conversations.

    Args:
        path: a file with one conversation or a list of them, as published, or a folder of such files.
        facts: extracted facts by conversation and session; other conversations are read turn by turn.
        corrections: a folder of corrected answers, with a file per conversation (dial481/locomo-audit).

    Raises:
        DatasetInvalid: a field is missing or not as published.
    """
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    return tuple(
        _episode(conversation, file, name, (facts or {}).get(name), corrections)
        for file in files
        for name, conversation in _conversations(file)
    )


def evidence_ids(written: Iterable[str], known: frozenset[str]) -> frozenset[str]:
    """Parse the turn ids of an evidence entry, which may contain several; ids of missing turns are dropped."""
    found = (f"D{int(day)}:{int(turn)}" for text in written for day, turn in _EVIDENCE.findall(text))
    return frozenset(found) & known


def _conversations(file: Path) -> Iterator[tuple[str, _Conversation]]:
    read: _Conversation | list[_Conversation] = read_json(file, _Conversation | list[_Conversation])  # type: ignore[arg-type] # a union is a shape, too
    if isinstance(read, _Conversation):
        yield read.sample_id or file.stem, read
    else:
        yield from ((one.sample_id or f"{file.stem}-{place}", one) for place, one in enumerate(read))


def _episode(
    written: _Conversation, file: Path, name: str, facts: Facts | None, corrections: Path | None
) -> Episode:
    sessions = tuple(_sessions(written.conversation, file, facts))
    known = frozenset(message.id or "" for session in sessions for message in session.messages)
    corrected = {} if corrections is None else _corrections(corrections / f"{name}.json", known)
    questions = tuple(
        _question(place, asked, sessions[-1].moment, known, corrected.get(asked.question))
        for place, asked in enumerate(written.qa)
    )
    return Episode(name, "locomo", "", sessions, questions)


def _question(
    place: int, asked: _Question, moment: datetime, known: frozenset[str], correction: Correction | None
) -> Question:
    answerable = asked.category is not Category.ADVERSARIAL
    return Question(
        f"q{place}",
        asked.question,
        moment,
        asked.category.label,
        str(asked.answer) if answerable else "",
        evidence_ids(asked.evidence, known),
        answerable=answerable,
        correction=correction,
    )


def _corrections(file: Path, known: frozenset[str]) -> dict[str, Correction]:
    if not file.exists():
        return {}
    return {
        one.question: Correction(str(one.correct_answer), evidence_ids(one.correct_evidence, known))
        for one in read_json(file, list[_Corrected])
    }


def _sessions(conversation: Mapping[str, Any], file: Path, facts: Facts | None) -> Iterator[Session]:
    """Yield the sessions that have turns; the published files also contain times of sessions without turns."""
    for number in sorted(int(match[1]) for key in conversation if (match := _SESSION.fullmatch(key))):
        if not conversation[f"session_{number}"]:
            continue
        field = f"conversation.session_{number}"
        moment = _moment(conversation.get(f"session_{number}_date_time"), file, f"{field}_date_time")
        turns = _turns(conversation[f"session_{number}"], file, field)
        messages = tuple(_message(turn, moment, place) for place, turn in enumerate(turns))
        extracted = None if facts is None else tuple(facts.get(number, ()))
        yield Session(f"session_{number}", moment, messages, extracted)


def _turns(written: object, file: Path, field: str) -> list[_Turn]:
    try:
        return TypeAdapter(list[_Turn]).validate_python(written)
    except ValidationError as error:
        raise named_error(error, file, field) from error


def _moment(written: object, file: Path, field: str) -> datetime:
    try:
        return datetime.strptime(str(written).strip(), MOMENT_FORMAT).replace(tzinfo=UTC)
    except ValueError as error:
        raise DatasetInvalid(
            file, field, f'{written!r} is not a time such as "1:56 pm on 8 May, 2023"'
        ) from error


def _message(turn: _Turn, moment: datetime, place: int) -> Message:
    caption = f" [shares a photo: {turn.blip_caption}]" if turn.blip_caption else ""
    said = moment + timedelta(seconds=TURN_SECONDS * place)
    return Message(turn.text + caption, turn.speaker, said, turn.dia_id)
