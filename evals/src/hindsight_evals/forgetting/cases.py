"""The cases as episodes with one question each, in plain words or with the facts that a strong model would extract.

The families are those of ForgetEval (arXiv 2606.15903); the cases are our own. A case passes if all valid items and no
others are stated (`Measured.passed` in the report).
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from pydantic import BaseModel, ConfigDict

from hindsight_evals.episode import Episode, GoldWithdrawal, Item, Question, Session
from hindsight_evals.metrics.stating import said_of
from hindsight_integrations import ExtractedFact, Message
from hindsight_integrations.language.packs import ENGLISH
from hindsight_integrations.language.stems import content_stems
from hindsight_integrations.model.facts import ExtractedChange, MemoryChange

FIRST = datetime(2025, 3, 3, 9, tzinfo=UTC)
DAYS_BETWEEN = 7


class ForgettingFamily(StrEnum):
    """The reason why it is hard to withdraw the right item."""

    SUBSTRING = "substring"
    """One name is contained in another."""
    PREFIX_COLLISION = "prefix_collision"
    """One name or number begins with another."""
    PARAPHRASE = "paraphrase"
    """The withdrawal uses other words."""
    NEGATION = "negation"
    """The words are the same except for a negation."""
    TEMPORAL = "temporal"
    """The same event has another time."""
    SHARED_ATTRIBUTE = "shared_attribute"
    """The same was said of two subjects."""
    COMPOUND_FACT = "compound_fact"
    """Only a part of a sentence is withdrawn."""
    IDENTIFIER_OBFUSCATION = "identifier_obfuscation"
    """Numbers and addresses are spelled differently."""
    CROSS_LINGUAL = "cross_lingual"
    """The withdrawal is in another language."""
    RECURSIVE = "recursive"
    """The replacement of something is itself replaced."""


class Mutation(StrEnum):
    """The operation on a memory."""

    SUPERSEDE = "supersede"
    """Another value replaces it."""
    RELEASE = "release"
    """It is no longer true, and nothing replaces it."""
    PURGE = "purge"
    """The user asks to forget it."""


class Form(StrEnum):
    """The form in which systems get the cases."""

    PLAIN = "plain"
    """Only the user's words."""
    EXTRACTED = "extracted"
    """With facts that name what is no longer true, as a strong model would extract them."""


class _Case(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Told(_Case):
    """One session: the user's words, and the facts extracted from them."""

    user: str
    fact: str
    invalidates: tuple[str, ...]


class Said(_Case):
    """A statement, and the session that contains it."""

    text: str
    session: int


class ForgettingCase(_Case):
    """One case.

    Attributes:
        id: unique.
        family: the kind of difficulty.
        mutation: the operation.
        held_out: whether it is used only for reports.
        question: asked at the end.
        told: the sessions, in order.
        valid: statements that are true at the end.
        gone: statements that are not.
    """

    id: str
    family: ForgettingFamily
    mutation: Mutation
    held_out: bool
    question: str
    told: tuple[Told, ...]
    valid: tuple[Said, ...]
    gone: tuple[Said, ...]


@cache
def forgetting_cases() -> tuple[ForgettingCase, ...]:
    """Return the cases of an evaluation."""
    return read_cases(files(__package__) / "cases.toml")


@cache
def blind_cases() -> tuple[ForgettingCase, ...]:
    """Return further cases by authors who had not seen the code: half for development, half held out for reports."""
    folder = files(__package__) / "blind"
    parts = sorted(
        (each for each in folder.iterdir() if each.name.endswith(".toml")), key=lambda each: each.name
    )
    return tuple(case for part in parts for case in read_cases(part))


def read_cases(path: Traversable) -> tuple[ForgettingCase, ...]:
    """Read the cases of a file."""
    text = path.read_text(encoding="utf-8")
    return tuple(ForgettingCase.model_validate(case) for case in tomllib.loads(text)["case"])


def forgetting_episodes(form: Form, *, held_out: bool | None = None) -> Iterator[Episode]:
    """Yield the cases in a form: only the held-out ones, only the others, or all (None)."""
    for case in forgetting_cases():
        if held_out in {None, case.held_out}:
            yield episode_of(case, form)


def episode_of(case: ForgettingCase, form: Form) -> Episode:
    """Return one case in a form."""
    sessions = tuple(_session(case, place, form) for place in range(len(case.told)))
    items = tuple(
        Item(
            _worded(case, said, form),
            frozenset(_turn(session) for session in _telling(case, said)),
            valid=valid,
        )
        for some, valid in ((case.valid, True), (case.gone, False))
        for said in some
    )
    asked = sessions[-1].moment + timedelta(days=1)
    evidence = frozenset(_turn(said.session) for said in case.valid)
    question = Question(case.id, case.question, asked, case.family, evidence=evidence, items=items)
    return Episode(f"{form}-{case.id}", "forgetting", form, sessions, (question,))


def _telling(case: ForgettingCase, said: Said) -> list[int]:
    """Return the sessions whose facts contain a statement: its own, and those that replaced its memory and repeat the rest."""
    replacing = (
        place
        for place in range(len(case.told))
        for session, change in _changes(case, place)
        if session == said.session and change.change is MemoryChange.REPLACES
    )
    return [said.session, *replacing] if said in case.valid else [said.session]


def _session(case: ForgettingCase, place: int, form: Form) -> Session:
    told, moment = case.told[place], FIRST + timedelta(days=DAYS_BETWEEN * place)
    changes = dict(_changes(case, place))
    kept = [
        said.text
        for session, change in changes.items()
        if change.change is MemoryChange.REPLACES
        for said in case.valid
        if said.session == session
    ]
    what = " ".join([told.fact, *(text if text.endswith(".") else f"{text}." for text in kept)])
    fact = ExtractedFact(what=what, sources=[_turn(place)], changes=list(changes.values()))
    withdrawn = tuple(
        GoldWithdrawal(_worded(case, said, form), frozenset({_turn(said.session)}))
        for said in case.gone
        if said.session < place and place == _ends(case, said)
    )
    message = Message(told.user, "user", moment, _turn(place))
    facts = (fact,) if form is Form.EXTRACTED else None
    return Session(f"S{place}", moment, (message,), facts, withdrawn)


def _changes(case: ForgettingCase, place: int) -> Iterator[tuple[int, ExtractedChange]]:
    """Yield the memories that a session ends, by session; they are replaced if a part is still true, which the fact repeats."""
    holding = {said.session for said in case.valid}
    for statement in case.told[place].invalidates:
        for session in sorted(ended_by(case, place, statement)):
            change = MemoryChange.REPLACES if session in holding else MemoryChange.ENDS
            gone = [said.text for said in case.gone if said.session == session]
            removed = [statement, *gone] if change is MemoryChange.REPLACES else []
            yield session, ExtractedChange(change=change, sources=[_turn(session)], removed=removed)


def ended_by(case: ForgettingCase, by: int, statement: str) -> set[int]:
    """Return the sessions with a statement that a statement of a later session ends.

    A case says what is gone, but not which statement ended it. If it has as many withdrawals, each ends one item, in
    order. Otherwise each ends the earlier statement with which it shares most words.
    """
    stated = [(n, each) for n, told in enumerate(case.told) for each in told.invalidates]
    gone = sorted(case.gone, key=lambda item: item.session)
    if len(stated) == len(gone) and all(item.session < n for (n, _), item in zip(stated, gone, strict=True)):
        return {item.session for own, item in zip(stated, gone, strict=True) if own == (by, statement)}
    before = [item for item in gone if item.session < by]
    shared = [
        len(_words(statement) & _words(f"{item.text} {case.told[item.session].fact}")) for item in before
    ]
    most = max(shared, default=0)
    return {item.session for item, count in zip(before, shared, strict=True) if count == most}


def _words(text: str) -> frozenset[str]:
    return content_stems(text, ENGLISH)


def _worded(case: ForgettingCase, said: Said, form: Form) -> str:
    """Return a statement in the words of the text that contains it: the fact, or the user's words."""
    told = case.told[said.session]
    return said_of(said.text, told.fact if form is Form.EXTRACTED else told.user)


def _ends(case: ForgettingCase, said: Said) -> int:
    """Return the session that makes a statement untrue: the first later one that withdraws anything."""
    return next(place for place, told in enumerate(case.told) if place > said.session and told.invalidates)


def _turn(session: int) -> str:
    return f"S{session}:1"
