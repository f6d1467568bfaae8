"""LongMemEval (Wu et al. 2024; xiaowu0162/LongMemEval, MIT): a user's chats with an assistant, and a question about them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from hindsight_evals.datasets.fields import Published, named_error, read_json
from hindsight_evals.episode import Episode, Question, Session
from hindsight_evals.errors import DatasetInvalid
from hindsight_integrations import Message

TURN_SECONDS = 10  # seconds between the turns of a session, which the dataset does not give
MOMENT_FORMAT = "%Y/%m/%d (%a) %H:%M"  # "2023/05/30 (Tue) 21:48"
MOST_SESSIONS = {
    "oracle": 10,
    "s": 120,
}  # maximum sessions of a variant: 1 to 6 and about 40 occur; with more, it is "m" (about 500)
ABSTENTION = "_abs"  # suffix of the ids of unanswerable questions
CHUNK = 1 << 20  # characters read at once


class _Turn(Published):
    role: str
    content: str
    has_answer: bool = False


class _Instance(Published):
    question_id: str
    question_type: str
    question: str
    answer: str | int | float
    question_date: str
    haystack_session_ids: list[str]
    haystack_dates: list[str]
    haystack_sessions: list[list[_Turn]]
    answer_session_ids: list[str] = Field(default_factory=list)


class _DatedTurn(_Turn):
    date: str


class _SampledQuestion(Published):
    id: str
    question: str
    answer: str | int | float
    is_abstention: bool = False


class _Sampled(Published):
    id: str
    question_type: str
    conversation: list[_DatedTurn]
    questions: list[_SampledQuestion]


class _Sample(Published):
    data: list[_Sampled]


def load_longmemeval(path: Path) -> Iterator[Episode]:
    """Read episodes one by one, each with one question and its chats; the largest file has 2.7 GB.

    The evidence consists of the turns marked `has_answer`; if there are none, of all turns in the sessions with the
    answer. A sampled file marks neither, so it has no evidence.

    Args:
        path: a published file (oracle, S or M: a list of instances), or a file of a sampler that stores chats under
            `data`.

    Raises:
        DatasetInvalid: a field is missing or not as published.
    """
    if _first_character(path) == "[":
        for place, written in enumerate(_elements(path)):
            yield _episode(_validated(written, path, place), path, place)
    else:
        yield from (_sampled(one, path) for one in read_json(path, _Sample).data)


def _first_character(path: Path) -> str:
    with path.open(encoding="utf-8") as file:
        return file.read(CHUNK).lstrip()[:1]


def _elements(path: Path) -> Iterator[Any]:
    """Yield the elements of a JSON list, keeping only one in memory; the amount of text that is parsed again doubles each time."""
    decoder = json.JSONDecoder()
    with path.open(encoding="utf-8") as file:
        text, size = file.read(CHUNK).lstrip()[1:], CHUNK
        while True:
            text = text.lstrip(" \t\r\n,")
            if text.startswith("]"):
                return
            try:
                element, end = decoder.raw_decode(text)
            except json.JSONDecodeError as error:
                more = file.read(size := 2 * size)
                if not more:
                    raise DatasetInvalid(
                        path, "the file", f"it ends within an element: {error.msg}"
                    ) from error
                text += more
                continue
            yield element
            text, size = text[end:], CHUNK


def _validated(written: object, path: Path, place: int) -> _Instance:
    try:
        return _Instance.model_validate(written)
    except ValidationError as error:
        raise named_error(error, path, f"[{place}]") from error


def _episode(one: _Instance, path: Path, place: int) -> Episode:
    if not len(one.haystack_sessions) == len(one.haystack_dates) == len(one.haystack_session_ids):
        raise DatasetInvalid(
            path, f"[{place}].haystack_dates", "its length differs from the number of sessions"
        )
    sessions, marked, answering = [], set(), set()
    for number, (name, date, turns) in enumerate(
        zip(one.haystack_session_ids, one.haystack_dates, one.haystack_sessions, strict=True)
    ):
        moment = _moment(date, path, f"[{place}].haystack_dates[{number}]")
        messages = _messages(turns, moment, f"{number}")
        ids = [message.id or "" for message in messages]
        marked |= {turn for turn, written in zip(ids, turns, strict=True) if written.has_answer}
        answering |= set(ids) if name in one.answer_session_ids else set()
        sessions.append(Session(f"{number}", moment, messages))
    question = Question(
        one.question_id,
        one.question,
        _moment(one.question_date, path, f"[{place}].question_date"),
        one.question_type,
        str(one.answer),
        frozenset(marked or answering),
        answerable=not one.question_id.endswith(ABSTENTION),
    )
    in_order = tuple(sorted(sessions, key=lambda session: session.moment))
    return Episode(one.question_id, "longmemeval", _period(len(sessions)), in_order, (question,))


def _sampled(one: _Sampled, path: Path) -> Episode:
    sessions = []
    for number, (date, turns) in enumerate(groupby(one.conversation, lambda turn: turn.date)):
        moment = _moment(date, path, "data.conversation.date")
        sessions.append(Session(f"{number}", moment, _messages(list(turns), moment, f"{number}")))
    asked = sessions[-1].moment + timedelta(hours=1)  # the sampler omits the time of the question
    questions = tuple(
        Question(f"{one.id}/{asked_.id}", asked_.question, asked, one.question_type, str(asked_.answer),
                 answerable=not asked_.is_abstention)
        for asked_ in one.questions
    )  # fmt: skip
    return Episode(one.id, "longmemeval", _period(len(sessions)), tuple(sessions), questions)


def _messages(turns: Sequence[_Turn], moment: datetime, session: str) -> tuple[Message, ...]:
    return tuple(
        Message(
            turn.content, turn.role, moment + timedelta(seconds=TURN_SECONDS * place), f"{session}:{place}"
        )
        for place, turn in enumerate(turns)
    )


def _period(sessions: int) -> str:
    return next((name for name, most in MOST_SESSIONS.items() if sessions <= most), "m")


def _moment(written: str, path: Path, field: str) -> datetime:
    try:
        return datetime.strptime(written.strip(), MOMENT_FORMAT).replace(tzinfo=UTC)
    except ValueError as error:
        raise DatasetInvalid(
            path, field, f'{written!r} is not a time such as "2023/05/30 (Tue) 21:48"'
        ) from error
