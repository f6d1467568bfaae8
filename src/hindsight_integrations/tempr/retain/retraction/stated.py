"""What a statement under `invalidates` ends: the one valid memory that says the same (design 2.1)."""

from __future__ import annotations

from dataclasses import dataclass

from hindsight_integrations.model.embedder import Thresholds
from hindsight_integrations.model.text import normalised_text
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.ports.arrays import Vector
from hindsight_integrations.prompts.end_memories import MOST_CANDIDATES
from hindsight_integrations.search.reference_scale import passage_cosine
from hindsight_integrations.tempr.retain.retraction.reach import Candidate, Reach

LISTED = MOST_CANDIDATES  # of a statement without an equal memory, for people or a model to choose from
RELATED = 0.3  # similarity on the reference scale below which a memory is not listed

WHEN = " | When: "
"""What stands between the account of a memory and its dimensions (`ExtractedFact.narrative`)."""

_END = " .!\u3002"
"""Punctuation at the end of a sentence that changes nothing of what it says; a question mark does."""


@dataclass(frozen=True, slots=True)
class Stated:
    """What a statement does.

    Attributes:
        ended: the memory it ends; None if it ends none.
        candidates: memories it may mean where it ends none, the nearest first.
        similarity: of the nearest, on the reference scale; 1 where several say the same.
        known: whether it ends none because the memory that says the same had ended before.
    """

    ended: MemoryUnit | None = None
    candidates: tuple[MemoryUnit, ...] = ()
    similarity: float = 0.0
    known: bool = False


def stated(text: str, vector: Vector, position: int, reach: Reach, thresholds: Thresholds) -> Stated:
    """What the statement of the draft at `position` ends: a memory is equal to it, or nothing happens.

    Args:
        text: what no longer holds, in words.
        vector: its own.
        position: of the draft that states it.
        reach: the memories that the draft may change.
        thresholds: of the embedder.
    """
    by = reach.drafts[position].unit
    near = list(reach.nearest(text, vector, position))
    equal = {unit.id: unit for _, unit in reach.earlier(position) if not reach.is_ended(unit, by)}
    equal = {key: unit for key, unit in equal.items() if says(unit, text, by)}
    equal |= {each.unit.id: each.unit for each in near if says(each.unit, text, by)}
    equal |= {
        unit.id: unit for unit in reach.restored() if says(unit, text, by) and not reach.is_ended(unit, by)
    }
    if len(equal) == 1:
        return Stated(ended=next(iter(equal.values())))
    if equal:
        return Stated(candidates=tuple(equal.values())[:LISTED], similarity=1.0)
    before = (
        each.unit
        for each in reach.nearest(text, vector, position, valid=False)
        if reach.is_ended(each.unit, by)
    )
    if any(says(unit, text, by) for unit in (*reach.ended.values(), *before)):
        return Stated(known=True)
    return _related(near, thresholds)


def says(unit: MemoryUnit, statement: str, by: MemoryUnit) -> bool:
    """Whether a memory says the very words of a statement; case, white space and the final stop do not count.

    Nor do the dimensions behind its account, or the name of the speaker in front of a message, unless another speaker
    states it: "I live in Graz" of two people is two things.
    """
    said = _folded(statement)
    texts = [unit.text, unit.what, unit.text.split(WHEN, 1)[0]]
    if unit.speaker and by.speaker in {"", unit.speaker}:
        texts.append(unit.text.removeprefix(f"{unit.speaker}: "))
    return bool(said) and said in map(_folded, texts)


def _folded(text: str) -> str:
    return normalised_text(text).rstrip(_END)


def _related(near: list[Candidate], thresholds: Thresholds) -> Stated:
    """The memories that the statement may mean, for people."""
    ranked = sorted(near, key=lambda each: -each.cosine)[:LISTED]
    similar = [(each.unit, passage_cosine(each.cosine, thresholds)) for each in ranked]
    similar = [(unit, similarity) for unit, similarity in similar if similarity >= RELATED]
    return Stated(candidates=tuple(unit for unit, _ in similar), similarity=similar[0][1] if similar else 0.0)
