"""Many conversations in one bank, and foreign ones whose speakers have the same first names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from hindsight_integrations.evals.datasets.memora import load_memora
from hindsight_integrations.model.requests import Message
from locomo.dataset import Conversation, Question, Session
from locomo.run import Facts
from locomo.unanswerable import speakers

SEED = 20_260_101


@dataclass(frozen=True, slots=True)
class ForeignSession:
    """A chat between two people who have names of a LoCoMo conversation and nothing else of it."""

    thread: str
    messages: tuple[Message, ...]


def told_apart(conversation: Conversation) -> Conversation:
    """The same conversation with its name before each turn id, so that "D1:1" is one turn in a bank of many."""
    name = conversation.name
    return replace(
        conversation,
        sessions=tuple(_session_told_apart(name, session) for session in conversation.sessions),
        questions=tuple(_question_told_apart(name, question) for question in conversation.questions),
    )


def facts_told_apart(name: str, facts: Facts) -> Facts:
    """Facts of a conversation, citing its turns by the ids of `told_apart`."""
    return {
        number: [
            {**fact, "sources": [_turn(name, source) for source in fact.get("sources", ())]} for fact in given
        ]
        for number, given in facts.items()
    }


def foreign_sessions(
    folder: Path, conversations: Sequence[Conversation], *, turns: int
) -> Iterator[ForeignSession]:
    """Chats of Memora's people, revoiced, until there are so many turns; the same ones each time.

    A chat becomes one of a conversation's two speakers, on a day of that conversation: neither names nor dates tell it
    from what was said.

    Args:
        folder: Memora's files, `<period>-<persona>.json`.
        conversations: whose speakers and days are used.
        turns: how many turns are wanted; fewer come where the files have fewer.
    """
    chance = Random(SEED)
    chats = [
        (f"{path.stem}/{chat.id}", chat.messages)
        for path in sorted(folder.glob("*.json"))
        for chat in load_memora(path).sessions
    ]
    chance.shuffle(chats)
    for name, messages in chats:
        if turns <= 0:
            return
        conversation = chance.choice(conversations)
        said_on = chance.choice(conversation.sessions)
        names = dict(
            zip(dict.fromkeys(each.speaker for each in messages), _pair(conversation, chance), strict=False)
        )
        revoiced = tuple(
            _revoiced(said, said_on, names, place) for place, said in enumerate(messages[:turns])
        )
        turns -= len(revoiced)
        yield ForeignSession(name, tuple(replace(each, id=f"{name}/{each.id}") for each in revoiced))


def _pair(conversation: Conversation, chance: Random) -> list[str]:
    return chance.sample(speakers(conversation), k=2)


def _revoiced(said: Message, on: Session, names: Mapping[str, str], place: int) -> Message:
    """What somebody said, by somebody else, at the place-th moment of another session."""
    moment = on.messages[min(place, len(on.messages) - 1)].timestamp
    return replace(said, speaker=names[said.speaker], timestamp=moment, role=None)


def _session_told_apart(name: str, session: Session) -> Session:
    messages = tuple(replace(message, id=_turn(name, message.id or "")) for message in session.messages)
    return replace(session, messages=messages)


def _question_told_apart(name: str, question: Question) -> Question:
    renamed = frozenset(_turn(name, turn) for turn in question.evidence)
    audited = question.audited and frozenset(_turn(name, turn) for turn in question.audited)
    return replace(question, evidence=renamed, audited=audited)


def _turn(name: str, turn: str) -> str:
    return f"{name}/{turn}"
