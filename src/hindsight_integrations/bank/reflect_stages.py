"""`bank.reflect_stages`: a reflection stage by stage, for whoever keeps its state between them (decision 141)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeAlias, Unpack

from hindsight_integrations.bank.context import BankContext, BankVerbs, writes
from hindsight_integrations.bank.reflections import Reflections, ReflectOptions
from hindsight_integrations.bank.stage_json import (
    as_json,
    from_json,
    plain_change,
    plain_move,
    plain_reflection,
    plain_relations,
    relations_from,
)
from hindsight_integrations.cara.opinions.forming import foreseen, form_opinions
from hindsight_integrations.cara.opinions.put_forward import PutForward
from hindsight_integrations.cara.opinions.relating import Relations
from hindsight_integrations.cara.reflection.opinions import occasion_of
from hindsight_integrations.cara.reflection.reflecting import noted
from hindsight_integrations.cara.reflection.underway import Underway, answered, begun, called, thought
from hindsight_integrations.errors import InvalidRequest, shown
from hindsight_integrations.model.profile import BankProfile
from hindsight_integrations.model.reflections import OpinionMovement, OpinionOutcome
from hindsight_integrations.model.requests import ReflectQuery
from hindsight_integrations.model.time import as_utc

StageState: TypeAlias = dict[str, Any]
"""Plain JSON."""

REFUSED_BY_PERSON = "a person refused it"
COSTS = ("calls", "tokens_in", "tokens_out")


@dataclass(frozen=True, slots=True)
class Candidate:
    """An opinion of an answer that may be kept, and its place among those of the answer, from 1."""

    number: int
    opinion: PutForward


@dataclass(frozen=True, slots=True)
class AnswerState:
    """What lies between an answer and the commit.

    Attributes:
        query, asked_at, operation, revision: as of `Underway`.
        reflection: the answer.
        candidates: the opinions that may be kept.
        moves: what each would do; None while they were not assessed.
        relations: how they relate to those held.
        compared: calls, prompt tokens and completion tokens that took.
    """

    query: str
    asked_at: datetime
    operation: str
    revision: int
    reflection: StageState
    candidates: tuple[Candidate, ...]
    moves: tuple[StageState, ...] | None = None
    relations: tuple[StageState, ...] = ()
    compared: tuple[int, int, int] = (0, 0, 0)


class AsyncReflectStages(BankVerbs):
    """A reflection stage by stage: recall, then in steps think and call_tool, answer, assess, commit.

    Each stage takes the plain JSON that the one before gave, and the options of `bank.reflect`, the same ones each time;
    together they are `bank.reflect`. What lies between two of them may be kept, and gone on with later by another process.

    Args:
        context: the bank.
        answering_as: in whose character it answers; None for the bank's own.
    """

    namespace = "reflect_stages"

    def __init__(self, context: BankContext, *, answering_as: BankProfile | None = None) -> None:
        super().__init__(context)
        self._reflections = Reflections(context, answering_as)

    async def recall(self, query: str, **options: Unpack[ReflectOptions]) -> StageState:
        """Recall what a question needs; nothing is answered yet.

        Args:
            query: the question, up to 8,000 characters.
            options: as of `bank.reflect`.

        Returns:
            what the next stage takes: `think` with strategy="agentic" and a model ("progress" is in it), else `answer`.

        Raises:
            InvalidRequest: an option is out of range.
        """
        request = self._reflections.checked(query, **options)
        return as_json(await begun(request, await self._reflections.tools(request.recall.as_of)))

    async def think(self, underway: Mapping[str, Any], **options: Unpack[ReflectOptions]) -> StageState:
        """Ask the model for the next step of a reflection in steps.

        Args:
            underway: what `recall`, `think` or `call_tool` gave.
            options: as of `bank.reflect`, as given to `recall`.

        Returns:
            the same further on; where "progress" has a "step", `call_tool` comes next, else `answer`.

        Raises:
            InvalidRequest: what is underway is no reflection in steps.
            ModelError: the model failed; memory is unchanged.
        """
        state, request = self._underway(underway, options)
        return as_json(await thought(state, request, await self._reflections.tools(request.recall.as_of)))

    async def call_tool(self, underway: Mapping[str, Any], **options: Unpack[ReflectOptions]) -> StageState:
        """Make the call that the last step asked for.

        Args:
            underway: what `think` gave.
            options: as of `bank.reflect`, as given to `recall`.

        Returns:
            the same further on; where "progress" has a "why", `answer` comes next, else `think`.

        Raises:
            InvalidRequest: what is underway is no reflection in steps.
        """
        state, request = self._underway(underway, options)
        return as_json(await called(state, request, await self._reflections.tools(request.recall.as_of)))

    async def answer(self, underway: Mapping[str, Any], **options: Unpack[ReflectOptions]) -> StageState:
        """Answer; the opinions in it are not formed yet.

        Args:
            underway: what the stage before gave.
            options: as of `bank.reflect`, as given to `recall`.

        Returns:
            "reflection": the answer with what it stands on; "candidates": the opinions that may be kept, for `assess`,
            which has nothing to do where there are none.

        Raises:
            InvalidRequest: what is underway is no reflection.
            ModelError: the model failed; memory is unchanged.
        """
        state, request = self._underway(underway, options)
        found = await answered(state, request, await self._reflections.tools(request.recall.as_of))
        plain, candidates = plain_reflection(noted(found.reflection, request)), []
        for number, each in enumerate(found.opinions, 1):
            if isinstance(each, PutForward):
                candidates.append({"number": number, "opinion": as_json(each)})
            else:
                plain["opinions"].append(plain_change(number, each))
        occasion = {name: value for name, value in as_json(state).items() if name in _OCCASION}
        return {**occasion, "reflection": plain, "candidates": candidates}

    async def assess(self, given: Mapping[str, Any], **options: Unpack[ReflectOptions]) -> StageState:
        """Compare all opinions of an answer with those held, in one call of the model, and say what each would change.

        Args:
            given: what `answer` gave.
            options: as of `bank.reflect`, as given to `recall`.

        Returns:
            the same with "moves": for each candidate its number, which way it moves what is held ("movement": form,
            reinforce, weaken, contradict or neutral), that one's confidence "before" and "after", and the "reason". Nothing
            was written. Of an operation that was recorded before there are none.

        Raises:
            InvalidRequest: what is given is no answer.
        """
        state, request = self._answer(given, options)
        tools = await self._reflections.tools(request.recall.as_of)
        if not state.candidates or tools.opinions is None:
            return {**given, "moves": [], "relations": [], "compared": [0, 0, 0]}
        occasion, relations = occasion_of(request, state.revision), Relations()
        formed = await foreseen(
            [each.opinion for each in state.candidates], occasion, relations, tools.opinions
        )
        numbers = [each.number for each in state.candidates]
        return {
            **given,
            "moves": [plain_move(*each) for each in zip(numbers, formed.moves, strict=False)],
            "relations": plain_relations(relations),
            "compared": [relations.calls, relations.tokens_in, relations.tokens_out],
        }

    @writes
    async def commit(
        self,
        given: Mapping[str, Any],
        *,
        approved: Iterable[int] | None = None,
        **options: Unpack[ReflectOptions],
    ) -> StageState:
        """Keep the opinions of an answer: decided anew on the evidence as it is now, and written in one commit.

        Args:
            given: what `assess` gave.
            approved: numbers of the candidates that may be kept, where somebody was asked; None for all. What would have
                moved something and is not among them is told as refused by a person.
            options: as of `bank.reflect`, as given to `recall`.

        Returns:
            the reflection: what `answer` gave as such, with what became of each opinion under "opinions", in their order.

        Raises:
            InvalidRequest: what is given was not assessed, or the engine is read-only.
        """
        state, request = self._answer(given, options)
        tools = await self._reflections.tools(request.recall.as_of)
        if state.moves is None:
            raise InvalidRequest("given", "its opinions were not assessed", "Pass what `assess` gave.")
        if tools.opinions is None:
            return state.reflection  # without a model nothing is put forward
        kept = _approved(state.candidates, approved)
        relations = relations_from(state.relations, state.compared)
        occasion = occasion_of(request, state.revision)
        formed = await form_opinions(list(kept.values()), occasion, tools.opinions, relations)
        opinions = [*state.reflection["opinions"], *_refused(state.moves, kept)]
        if formed.repeated:
            opinions = [plain_change(number, each) for number, each in enumerate(formed.changes, 1)]
        else:
            opinions += [plain_move(*each) for each in zip(kept, formed.moves, strict=True)]
        costs = {name: state.reflection[name] + getattr(formed, name) for name in COSTS}
        return {**state.reflection, "opinions": sorted(opinions, key=lambda each: each["number"]), **costs}

    def _answer(self, given: Mapping[str, Any], options: ReflectOptions) -> tuple[AnswerState, ReflectQuery]:
        """An answer whose opinions are not formed yet, and its question.

        Raises:
            InvalidRequest: what is given is no answer.
        """
        state = from_json(AnswerState, given)
        return state, self._request(state.query, state.asked_at, state.operation, options)

    def _underway(self, given: Mapping[str, Any], options: ReflectOptions) -> tuple[Underway, ReflectQuery]:
        state = from_json(Underway, given)
        return state, self._request(state.query, state.asked_at, state.operation, options)

    def _request(
        self, query: str, asked_at: datetime, operation: str, options: ReflectOptions
    ) -> ReflectQuery:
        request = self._reflections.checked(query, asked_at=as_utc(asked_at), **options)
        return replace(request, operation=operation)


_OCCASION = ("query", "asked_at", "operation", "revision")


def _approved(candidates: Iterable[Candidate], approved: Iterable[int] | None) -> dict[int, PutForward]:
    """The opinions that may be kept, by number.

    Raises:
        InvalidRequest: what is approved is no list of numbers of candidates.
    """
    by_number = {each.number: each.opinion for each in candidates}
    if approved is None:
        return by_number
    numbers = list(approved) if isinstance(approved, Iterable) else [approved]
    if any(isinstance(each, bool) or not isinstance(each, int) or each not in by_number for each in numbers):
        raise InvalidRequest(
            "approved",
            f"{shown(numbers)} has something that is no candidate's number",
            f"The numbers are {sorted(by_number)}.",
        )
    return {number: each for number, each in by_number.items() if number in numbers}


def _refused(moves: Iterable[Mapping[str, Any]], kept: Mapping[int, PutForward]) -> list[StageState]:
    """What became of the candidates that nobody approved: those that would have moved something were refused."""
    refused = {
        "outcome": OpinionOutcome.REFUSED.value,
        "opinion_id": None,
        "reason": REFUSED_BY_PERSON,
        "after": None,
    }
    return [
        dict(move) if move["movement"] == OpinionMovement.NEUTRAL else {**move, **refused}
        for move in moves
        if move["number"] not in kept
    ]
