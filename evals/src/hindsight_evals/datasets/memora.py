"""Memora (geniesinc/Memora, Apache-2.0): a persona's sessions over a week, a month or a quarter, and three tasks about them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import Field

from hindsight_evals.datasets.fields import Published, read_json
from hindsight_evals.datasets.memora_items import Replayed
from hindsight_evals.datasets.memora_state import replay
from hindsight_evals.episode import (
    Criterion,
    CriterionKind,
    Episode,
    GoldWithdrawal,
    Question,
    Session,
)
from hindsight_integrations import ExtractedFact, Message

SESSION_MINUTES = 1  # minutes between the sessions of a day, which the dataset lacks; they keep the order
TURN_SECONDS = 1
_SPEAKERS = {"user_agent": "user", "ai_agent": "assistant"}


class MemoraTurn(Published):
    """One message of a session."""

    turn: int
    speaker: str
    message: str
    share_memory: bool = False


class MemoraSession(Published):
    """One session: the conversation, and its effect on the persona's items (`operation`)."""

    session_id: int
    session_type: str
    operation: str | None
    operation_details: dict[str, Any] | None
    date: date
    conversation: list[MemoraTurn]

    @cached_property
    def said(self) -> str:
        """The whole conversation as one text."""
        return " ".join(turn.message for turn in self.conversation)


class _Criterion(Published):
    evaluation_question_id: str
    evaluation_question: str
    expected_answer: str
    evaluation_type: CriterionKind


class _Criteria(Published):
    evaluation_questions: list[_Criterion]


class MemoraQuestion(Published):
    """One question with its evidence, as trees of items, and the criteria of an answer."""

    question_id: str
    question: str
    memory_evidence: dict[str, Any] = Field(default_factory=dict)
    forgetting_evidence: dict[str, Any] | None = None
    evaluation: _Criteria


class _Evaluation(Published):
    questions: dict[str, list[MemoraQuestion]]


class MemoraPersona(Published):
    """One file: a persona over one period."""

    persona: str
    period: str
    sessions: list[MemoraSession]
    evaluation: _Evaluation


def read_memora(path: Path) -> MemoraPersona:
    """Read one persona of one period as published.

    Raises:
        DatasetInvalid: a field is missing or not as published.
    """
    return read_json(path, MemoraPersona)


def load_memora(path: Path, *, facts: Mapping[int, Sequence[ExtractedFact]] | None = None) -> Episode:
    """Read one persona of one period as an episode.

    Args:
        path: a JSON file with `persona`, `period`, `sessions` and `evaluation`, as in the publisher's folders.
        facts: extracted facts by session; a session that is missing has no facts. None stores the turns themselves.

    Raises:
        DatasetInvalid: a field is missing or not as published.
    """
    persona = read_memora(path)
    replayed = Replayed(replay(persona.sessions), _turn_ids(persona))
    sessions = tuple(_sessions(persona, replayed, facts))
    # The dataset gives only the day of the questions, so they are asked after the last session.
    questions = tuple(_questions(persona, replayed, sessions[-1].moment + timedelta(hours=1)))
    return Episode(path.stem, "memora", persona.period, sessions, questions)


def _turn_ids(persona: MemoraPersona) -> dict[int, frozenset[str]]:
    return {
        session.session_id: frozenset(_turn_id(session, turn) for turn in _spoken(session))
        for session in persona.sessions
    }


def _spoken(session: MemoraSession) -> Iterator[MemoraTurn]:
    return (turn for turn in session.conversation if turn.message.strip())


def _turn_id(session: MemoraSession, turn: MemoraTurn) -> str:
    return f"S{session.session_id}:{turn.turn}"


def _sessions(
    persona: MemoraPersona, replayed: Replayed, facts: Mapping[int, Sequence[ExtractedFact]] | None
) -> Iterator[Session]:
    of_day: defaultdict[date, int] = defaultdict(int)
    for session in persona.sessions:
        start = datetime.combine(session.date, time(8), UTC)
        moment = start + timedelta(minutes=SESSION_MINUTES * of_day[session.date])
        of_day[session.date] += 1
        messages = tuple(
            Message(
                turn.message,
                _SPEAKERS.get(turn.speaker, turn.speaker),
                moment + timedelta(seconds=TURN_SECONDS * place),
                _turn_id(session, turn),
            )
            for place, turn in enumerate(_spoken(session))
        )
        extracted = None if facts is None else tuple(facts.get(session.session_id, ()))
        withdrawn = tuple(
            GoldWithdrawal(value.text, replayed.sources(value))
            for value in replayed.ended_by(session.session_id)
        )
        yield Session(f"S{session.session_id}", moment, messages, extracted, withdrawn)


def _questions(persona: MemoraPersona, replayed: Replayed, moment: datetime) -> Iterator[Question]:
    telling = frozenset(
        _turn_id(session, turn)
        for session in persona.sessions
        for turn in session.conversation
        if turn.share_memory
    )
    for task, questions in persona.evaluation.questions.items():
        for asked in questions:
            items = replayed.items(asked.memory_evidence, asked.forgetting_evidence or {})
            evidence = frozenset(source for item in items if item.valid for source in item.sources) & telling
            criteria = tuple(
                Criterion(
                    criterion.evaluation_question_id,
                    criterion.evaluation_question,
                    criterion.evaluation_type,
                    criterion.expected_answer.casefold() == "yes",
                )
                for criterion in asked.evaluation.evaluation_questions
            )
            yield Question(
                asked.question_id,
                asked.question,
                moment,
                task,
                evidence=evidence,
                criteria=criteria,
                items=items,
            )
