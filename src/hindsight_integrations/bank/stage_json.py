"""What lies between two stages of a reflection as plain JSON, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from hindsight_integrations.cara.opinions.relating import Related, Relations
from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.model.opinions import EvidenceStrength
from hindsight_integrations.model.reflections import (
    Citation,
    OpinionChange,
    OpinionMove,
    Reflection,
    ReflectStep,
)
from hindsight_integrations.model.turns import SourceTurn
from hindsight_integrations.prompts.relate_opinions import Relation

T = TypeVar("T")
Plain = dict[str, Any]


_ADAPTERS: dict[Any, TypeAdapter[Any]] = {}  # made once a kind: that takes longer than its use


def _adapter(kind: type[Any]) -> TypeAdapter[Any]:
    return _ADAPTERS.get(kind) or _ADAPTERS.setdefault(kind, TypeAdapter(kind))


def as_json(value: object) -> Plain:
    """A frozen value as plain JSON, without what is as it is by default."""
    plain: Plain = _adapter(type(value)).dump_python(value, mode="json", exclude_defaults=True)
    return plain


def from_json(kind: type[T], given: object) -> T:
    """The value again.

    Raises:
        InvalidRequest: it is not what `as_json` made of one.
    """
    try:
        value: T = _adapter(kind).validate_python(given)
    except ValidationError as error:
        # No words of the error: it shows what was given, which has memories in it.
        reason = f"this is no {kind.__name__.lower()} of a reflection as this version makes them"
        raise InvalidRequest("state", reason, "Ask the question anew.") from error.with_traceback(None)
    return value


def plain_reflection(reflection: Reflection) -> Plain:
    """A reflection as plain JSON: the answer and what it stands on, without all that was recalled besides."""
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
    """What became of an opinion, by its place among those of the answer, from 1."""
    return {
        "number": number,
        "outcome": change.outcome.value,
        "text": change.text,
        "confidence": change.confidence,
        "opinion_id": change.opinion_id,
        "reason": change.reason,
    }


def plain_move(number: int, move: OpinionMove) -> Plain:
    """The same with what it does to the confidence of what is held."""
    return {
        **plain_change(number, move.change),
        "movement": move.movement.value,
        "before": move.before,
        "after": move.after,
        "held": move.held,
        "evidence": list(move.evidence),
    }


def plain_relations(relations: Relations) -> list[Plain]:
    """How opinions relate, pair by pair; of pairs without an answer only that they were asked of."""
    rows = []
    for new, held in sorted(relations.asked):
        related = relations.found.get((new, held))
        said = {} if related is None else {name: str(getattr(related, name)) for name in _RELATED}
        rows.append({"new": new, "held": held, **said})
    return rows


def relations_from(rows: Iterable[Mapping[str, Any]], spent: Sequence[int]) -> Relations:
    """The relations again.

    Args:
        rows: of `plain_relations`.
        spent: calls, prompt tokens and completion tokens that they cost.
    """
    relations = Relations(calls=spent[0], tokens_in=spent[1], tokens_out=spent[2])
    for row in rows:
        pair = (row["new"], row["held"])
        relations.asked.add(pair)
        if "relation" in row:
            relations.found[pair] = Related(
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
