"""`bank.reflect_stages`: run a reflection in stages. The state between two stages is plain JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeAlias, TypeVar, Unpack

from pydantic import TypeAdapter, ValidationError

from hindsight_integrations.bank.context import BankContext, BankVerbs, writes
from hindsight_integrations.bank.reflecting import Reflections
from hindsight_integrations.errors import InvalidRequest, shown
from hindsight_integrations.model.mental_models import MentalModel
from hindsight_integrations.model.opinions import EvidenceStrength
from hindsight_integrations.model.options import ReflectOptions
from hindsight_integrations.model.profile import BankProfile
from hindsight_integrations.model.recalled import RecalledUnit
from hindsight_integrations.model.record_digest import RecordDigest
from hindsight_integrations.model.reflections import (
    Citation,
    MemoryTiers,
    OpinionChange,
    OpinionMove,
    OpinionMovement,
    OpinionOutcome,
    Reflection,
    ReflectStep,
)
from hindsight_integrations.model.requests import ReflectQuery
from hindsight_integrations.model.results import RecallResult, Usage
from hindsight_integrations.model.time import as_utc
from hindsight_integrations.model.turns import SourceTurn
from hindsight_integrations.prompts.relate_opinions import Relation
from hindsight_integrations.reflect.agentic import Progress
from hindsight_integrations.reflect.answer import EXTRACTED
from hindsight_integrations.reflect.citations import CitationIndex
from hindsight_integrations.reflect.opinions.forming import PairRelation, Relations
from hindsight_integrations.reflect.opinions.proposed import ProposedOpinion
from hindsight_integrations.reflect.pipeline import ReflectState, ReflectSteps

T = TypeVar("T")
Plain = dict[str, Any]


_ADAPTERS: dict[Any, TypeAdapter[Any]] = {}  # cached, because creating an adapter is slower than using it


def _adapter(kind: type[Any]) -> TypeAdapter[Any]:
    return _ADAPTERS.get(kind) or _ADAPTERS.setdefault(kind, TypeAdapter(kind))


def as_json(value: object) -> Plain:
    """Convert a frozen value to plain JSON; omit fields that have their default value."""
    plain: Plain = _adapter(type(value)).dump_python(value, mode="json", exclude_defaults=True)
    return plain


def from_json(kind: type[T], given: object) -> T:
    """Convert plain JSON back to a value.

    Raises:
        InvalidRequest: the JSON was not made by `as_json` for this type.
    """
    try:
        value: T = _adapter(kind).validate_python(given)
    except ValidationError as error:
        # Without the error's text, which quotes the input and thus memories.
        reason = f"it is not the {kind.__name__} of a reflection made by this version"
        raise InvalidRequest("state", reason, "Ask the question again.") from error.with_traceback(None)
    return value


def plain_reflection(reflection: Reflection) -> Plain:
    """Convert a reflection to plain JSON: the answer and its citations, without the other recalled memories."""
    return {
        "text": reflection.text,
        "extractive": reflection.extractive,
        "sufficient": reflection.sufficient,
        "based_on": [_citation(each) for each in reflection.based_on],
        "opinions": [],
        "structured": reflection.structured.model_dump(mode="json") if reflection.structured else None,
        "steps": [_step(each) for each in reflection.steps],
        "mental_models": list(reflection.mental_models),
        "records": [{"text": each.text, **each.metadata} for each in reflection.records],
        "notes": list(reflection.notes),
        "calls": reflection.calls,
        "tokens_in": reflection.tokens_in,
        "tokens_out": reflection.tokens_out,
    }


def plain_change(number: int, change: OpinionChange) -> Plain:
    """Convert the outcome of an opinion to plain JSON, with its position in the answer, from 1."""
    return {
        "number": number,
        "outcome": change.outcome.value,
        "text": change.text,
        "confidence": change.confidence,
        "opinion_id": change.opinion_id,
        "reason": change.reason,
    }


def plain_move(number: int, move: OpinionMove) -> Plain:
    """Convert an outcome, and its effect on the confidence of the held opinion, to plain JSON."""
    return {
        **plain_change(number, move.change),
        "movement": move.movement.value,
        "before": move.before,
        "after": move.after,
        "held": move.held,
        "evidence": list(move.evidence),
    }


def plain_relations(relations: Relations) -> list[Plain]:
    """Convert relations to rows, one for each compared pair; a pair without a usable answer has no relation in its row."""
    rows = []
    for new, held in sorted(relations.asked):
        related = relations.found.get((new, held))
        said = {} if related is None else {name: str(getattr(related, name)) for name in _RELATED}
        rows.append({"new": new, "held": held, **said})
    return rows


def relations_from(rows: Iterable[Mapping[str, Any]], spent: Sequence[int]) -> Relations:
    """Convert rows back to relations; `spent` has the number of calls, prompt tokens and completion tokens."""
    relations = Relations(usage=Usage(**dict(zip(COSTS, spent, strict=True))))
    for row in rows:
        pair = (row["new"], row["held"])
        relations.asked.add(pair)
        if "relation" in row:
            relations.found[pair] = PairRelation(
                Relation(row["relation"]), EvidenceStrength(row["strength"]), row["reason"]
            )
    return relations


_RELATED = ("relation", "strength", "reason")


def _citation(citation: Citation) -> Plain:
    item = citation.unit
    cited: Plain = {"id": citation.mental_model, "kind": "mental_model"}
    if item is not None:
        occurred = item.unit.occurred
        cited = {
            "id": item.unit.id,
            "kind": item.kind.value,
            "text": item.text,
            "fact_type": item.unit.fact_type.value,
            "occurred_start": occurred.start.isoformat() if occurred else None,
            "occurred_end": occurred.end.isoformat() if occurred else None,
            "mentioned_at": item.unit.mentioned_at.isoformat(),
        }
    elif citation.mental_model is None:
        cited = {"id": None, "kind": "turn"}
    return {**cited, "turns": [_turn(each) for each in citation.turns]}


def _step(step: ReflectStep) -> Plain:
    return {
        "tool": step.tool,
        "arguments": dict(step.arguments),
        "thought": step.thought,
        "found": list(step.found),
        "problem": step.problem,
    }


def _turn(turn: SourceTurn) -> Plain:
    return {
        "thread": turn.thread,
        "message_id": turn.message_id,
        "speaker": turn.speaker,
        "text": turn.text,
        "said_at": turn.said_at.isoformat(),
    }


StageState: TypeAlias = dict[str, Any]
"""The state after a stage, as plain JSON."""

REFUSED_BY_PERSON = "a person refused it"
COSTS = ("calls", "tokens_in", "tokens_out")


@dataclass(frozen=True, slots=True)
class Underway:
    """A stored `ReflectState`: with its question, and without data that no later stage reads.

    Attributes:
        query: the question.
        asked_at: time of the question (aware UTC).
        operation: idempotency key, so that a retry does not form opinions twice; may be empty.
        revision: revision of the bank before the recall.
        best: the best recalled memories, as many as an extractive answer quotes.
        confidence: probability that the recalled memories contain the answer, in [0, 1].
        models: mental models shown to the model, for an answer in a single call. In an agentic reflection,
            these and the memories of the next three fields are part of the conversation instead.
        observations: observations shown to the model, for an answer in a single call.
        facts: facts shown to the model, for an answer in a single call.
        beliefs: beliefs shown to the model, for an answer in a single call.
        records: exact totals of the records that match the question.
        shown: memories shown so far to the model of an agentic reflection.
        progress: the progress of an agentic reflection.
    """

    query: str
    asked_at: datetime
    operation: str
    revision: int
    best: tuple[RecalledUnit, ...]
    confidence: float
    models: tuple[MentalModel, ...] = ()
    observations: tuple[RecalledUnit, ...] = ()
    facts: tuple[RecalledUnit, ...] = ()
    beliefs: tuple[RecalledUnit, ...] = ()
    records: tuple[RecordDigest, ...] = ()
    shown: CitationIndex | None = None
    progress: Progress | None = None

    @classmethod
    def of(cls, state: ReflectState, request: ReflectQuery) -> Underway:
        """Convert a state to its storable form."""
        tiers, recall = state.tiers, request.recall
        underway = cls(
            recall.text,
            recall.query_timestamp,
            request.operation,
            state.revision,
            _without_records(tiers.recalled.units[:EXTRACTED]),
            tiers.recalled.confidence,
            records=tiers.recalled.records,
        )
        if state.index is not None:
            return replace(underway, shown=_index_without_records(state.index), progress=state.progress)
        return replace(
            underway,
            models=tiers.mental_models,
            observations=_without_records(tiers.observations),
            facts=_without_records(tiers.facts),
            beliefs=_without_records(tiers.beliefs),
        )

    @property
    def state(self) -> ReflectState:
        """The `ReflectState` restored from the stored form."""
        tokens = sum(item.tokens for item in self.best)
        recalled = RecallResult(self.best, tokens, confidence=self.confidence, records=self.records)
        tiers = MemoryTiers(recalled, self.models, self.observations, self.facts, self.beliefs)
        return ReflectState(self.revision, tiers, self.shown, self.progress)


def _without_records(items: Iterable[RecalledUnit]) -> tuple[RecalledUnit, ...]:
    """Return the memories without their records: answers do not use records, and tools read them from the bank."""
    return tuple(replace(item, unit=replace(item.unit, records=())) for item in items)


def _index_without_records(index: CitationIndex) -> CitationIndex:
    memories, beliefs = (
        dict(zip(numbered, _without_records(numbered.values()), strict=True))
        for numbered in (index.memories, index.beliefs)
    )
    return replace(index, memories=memories, beliefs=beliefs)


@dataclass(frozen=True, slots=True)
class OpinionCandidate:
    """An opinion that may be stored, and its position in the answer, from 1."""

    number: int
    opinion: ProposedOpinion


@dataclass(frozen=True, slots=True)
class AnswerState:
    """The state between an answer and the commit of its opinions.

    Attributes:
        query: the question.
        asked_at: time of the question (aware UTC).
        operation: idempotency key, so that a retry does not form opinions twice; may be empty.
        revision: revision of the bank before the recall.
        reflection: the answer.
        candidates: the opinions that may be stored.
        moves: the effect of each candidate on held opinions; None before `assess`.
        relations: relations of the candidates to held opinions.
        compared: number of calls, prompt tokens and completion tokens of the comparison.
    """

    query: str
    asked_at: datetime
    operation: str
    revision: int
    reflection: StageState
    candidates: tuple[OpinionCandidate, ...]
    moves: tuple[StageState, ...] | None = None
    relations: tuple[StageState, ...] = ()
    compared: tuple[int, int, int] = (0, 0, 0)


class AsyncReflectStages(BankVerbs):
    """Runs a reflection stage by stage: recall, then think and call_tool in alternation, then answer, assess and commit.

    Each stage takes the plain JSON that the previous stage returned. Pass the same options of `bank.reflect` to every stage.
    Together the stages do the same as `bank.reflect`. The state can be stored, and continued later by another process.

    Args:
        context: the bank.
        answering_as: profile of the agent that answers; None uses the bank's own.
    """

    namespace = "reflect_stages"

    def __init__(self, context: BankContext, *, answering_as: BankProfile | None = None) -> None:
        super().__init__(context)
        self._reflections = Reflections(context, answering_as)

    async def recall(self, query: str, **options: Unpack[ReflectOptions]) -> StageState:
        """Recall the memories for a question.

        Args:
            query: the question, up to 8,000 characters.
            options: options of `bank.reflect`.

        Returns:
            The state for the next stage. "next" names that stage: `think` with strategy="agentic" and a model, otherwise
            `answer`.

        Raises:
            InvalidRequest: an option is out of range.
        """
        request = self._reflections.checked(query, **options)
        return _stored(await (await self._steps(request)).recall(), request)

    async def think(self, underway: Mapping[str, Any], **options: Unpack[ReflectOptions]) -> StageState:
        """Ask the model for the next step of an agentic reflection.

        Args:
            underway: the state returned by `recall`, `think` or `call_tool`.
            options: the options that were passed to `recall`.

        Returns:
            The updated state; "next" names the next stage: `call_tool` or `answer`.

        Raises:
            InvalidRequest: `underway` is not the state of an agentic reflection.
            ModelError: the model failed; memory is unchanged.
        """
        state, request = self._underway(underway, options)
        return _stored(await (await self._steps(request)).think(state), request)

    async def call_tool(self, underway: Mapping[str, Any], **options: Unpack[ReflectOptions]) -> StageState:
        """Run the tool call that the model chose in the last `think`.

        Args:
            underway: the state returned by `think`.
            options: the options that were passed to `recall`.

        Returns:
            The updated state; "next" names the next stage: `think` or `answer`.

        Raises:
            InvalidRequest: `underway` is not the state of an agentic reflection.
        """
        state, request = self._underway(underway, options)
        return _stored(await (await self._steps(request)).call_tool(state), request)

    async def answer(self, underway: Mapping[str, Any], **options: Unpack[ReflectOptions]) -> StageState:
        """Answer the question. Opinions are only proposed, not stored.

        Args:
            underway: the state returned by the previous stage.
            options: the options that were passed to `recall`.

        Returns:
            "reflection": the answer with its citations. "candidates": the opinions that may be stored, for `assess`; may be
            empty.

        Raises:
            InvalidRequest: `underway` is not the state of a reflection.
            ModelError: the model failed; memory is unchanged.
        """
        state, request = self._underway(underway, options)
        answered = await (await self._steps(request)).answer(state)
        plain, candidates = plain_reflection(answered.reflection), []
        for number, each in enumerate(answered.opinions, 1):
            if isinstance(each, ProposedOpinion):
                candidates.append({"number": number, "opinion": as_json(each)})
            else:
                plain["opinions"].append(plain_change(number, each))
        occasion = {name: underway[name] for name in _OCCASION}
        return {**occasion, "reflection": plain, "candidates": candidates}

    async def assess(self, given: Mapping[str, Any], **options: Unpack[ReflectOptions]) -> StageState:
        """Compare the opinions of an answer with the held opinions, in one model call, and report the effects.

        Args:
            given: the state returned by `answer`.
            options: the options that were passed to `recall`.

        Returns:
            The same state with "moves". For each candidate, it contains the number, the effect on the held opinion
            ("movement": form, reinforce, weaken, contradict or neutral), the confidence "before" and "after", and the
            "reason". Nothing is written. "moves" is empty if the operation has already been committed.

        Raises:
            InvalidRequest: `given` is not an answer.
        """
        state, request = self._answer(given, options)
        steps = await self._steps(request)
        if not state.candidates:
            return {**given, "moves": [], "relations": [], "compared": [0, 0, 0]}
        assessed = await steps.assess([each.opinion for each in state.candidates], state.revision)
        relations, numbers = assessed.relations, [each.number for each in state.candidates]
        return {
            **given,
            "moves": [plain_move(*each) for each in zip(numbers, assessed.formed.moves, strict=False)],
            "relations": plain_relations(relations),
            "compared": [getattr(relations.usage, name) for name in COSTS],
        }

    @writes
    async def commit(
        self,
        given: Mapping[str, Any],
        *,
        approved: Iterable[int] | None = None,
        **options: Unpack[ReflectOptions],
    ) -> StageState:
        """Store the opinions of an answer in one commit, after deciding again on the current evidence.

        Args:
            given: the state returned by `assess`.
            approved: numbers of the candidates that may be stored, for example after asking a person; None means all. Other
                candidates with an effect are reported as refused by a person.
            options: the options that were passed to `recall`.

        Returns:
            The reflection from `answer`, with the outcome of each opinion under "opinions", in order.

        Raises:
            InvalidRequest: the opinions were not assessed, or the engine is read-only.
        """
        state, request = self._answer(given, options)
        if state.moves is None:
            raise InvalidRequest("given", "its opinions were not assessed", "Pass the result of `assess`.")
        steps = await self._steps(request)
        if not steps.keeps_opinions:
            return state.reflection  # without a model, no opinions were proposed
        kept = _approved(state.candidates, approved)
        relations = relations_from(state.relations, state.compared)
        formed = await steps.commit(await steps.assess(list(kept.values()), state.revision, relations))
        opinions = [*state.reflection["opinions"], *_refused(state.moves, kept)]
        if formed.repeated:
            opinions = [plain_change(number, each) for number, each in enumerate(formed.changes, 1)]
        else:
            opinions += [plain_move(*each) for each in zip(kept, formed.moves, strict=True)]
        costs = {name: state.reflection[name] + getattr(formed.usage, name) for name in COSTS}
        return {**state.reflection, "opinions": sorted(opinions, key=lambda each: each["number"]), **costs}

    def _answer(self, given: Mapping[str, Any], options: ReflectOptions) -> tuple[AnswerState, ReflectQuery]:
        """Parse the state after an answer, and rebuild its request."""
        state = from_json(AnswerState, given)
        return state, self._request(state.query, state.asked_at, state.operation, options)

    def _underway(
        self, given: Mapping[str, Any], options: ReflectOptions
    ) -> tuple[ReflectState, ReflectQuery]:
        stored = from_json(Underway, given)
        return stored.state, self._request(stored.query, stored.asked_at, stored.operation, options)

    async def _steps(self, request: ReflectQuery) -> ReflectSteps:
        return ReflectSteps(request, await self._reflections.context(request.recall.as_of))

    def _request(
        self, query: str, asked_at: datetime, operation: str, options: ReflectOptions
    ) -> ReflectQuery:
        request = self._reflections.checked(query, asked_at=as_utc(asked_at), **options)
        return replace(request, operation=operation)


def _stored(state: ReflectState, request: ReflectQuery) -> StageState:
    return {**as_json(Underway.of(state, request)), "next": state.next_step.value}


_OCCASION = ("query", "asked_at", "operation", "revision")


def _approved(
    candidates: Iterable[OpinionCandidate], approved: Iterable[int] | None
) -> dict[int, ProposedOpinion]:
    """Return the opinions that may be stored, by number.

    Raises:
        InvalidRequest: `approved` is not a list of numbers of candidates.
    """
    by_number = {each.number: each.opinion for each in candidates}
    if approved is None:
        return by_number
    numbers = list(approved) if isinstance(approved, Iterable) else [approved]
    if any(isinstance(each, bool) or not isinstance(each, int) or each not in by_number for each in numbers):
        raise InvalidRequest(
            "approved",
            f"{shown(numbers)} contains a value that is not the number of a candidate",
            f"Use only these numbers: {sorted(by_number)}.",
        )
    return {number: each for number, each in by_number.items() if number in numbers}


def _refused(moves: Iterable[Mapping[str, Any]], kept: Mapping[int, ProposedOpinion]) -> list[StageState]:
    """Return the outcomes of the candidates that were not approved; a candidate without an effect keeps its outcome."""
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
