"""Rendering of memories in prompts: tiered, numbered, dated and fenced (reference, "Retrieval Priority")."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from hindsight_integrations.model.mental_models import MentalModel
from hindsight_integrations.model.opinions import conviction
from hindsight_integrations.model.recalled import RecalledUnit
from hindsight_integrations.model.reflections import MemoryTiers
from hindsight_integrations.model.time import readable_time
from hindsight_integrations.prompts.rendering import fenced


def citable(tiers: MemoryTiers) -> dict[str, RecalledUnit]:
    """Number the memories that an answer may cite: "1", "2", ..."""
    return {str(number): item for number, item in enumerate((*tiers.observations, *tiers.facts), 1)}


def believed(tiers: MemoryTiers) -> dict[str, RecalledUnit]:
    """Number the agent's opinions: "B1", "B2", ..."""
    return {f"B{number}": item for number, item in enumerate(tiers.beliefs, 1)}


def modelled(tiers: MemoryTiers) -> dict[str, MentalModel]:
    """Number the mental models: "M1", "M2", ..."""
    return {f"M{number}": each for number, each in enumerate(tiers.mental_models, 1)}


def shown_tiers(tiers: MemoryTiers) -> list[str]:
    """Build the memory blocks of a prompt, the most refined tier first; empty tiers are omitted."""
    observed = len(tiers.observations)
    numbered = list(citable(tiers).items())
    blocks = (
        _block("Standing answers:", "MENTAL_MODELS", _models(tiers)),
        _block("Observations:", "OBSERVATIONS", _lines(numbered[:observed])),
        _block("Facts, the oldest first:", "MEMORIES", _lines(numbered[observed:])),
        _block("Your own beliefs, no facts:", "BELIEFS", _beliefs(believed(tiers))),
        _block("Computed from records:", "COMPUTED", _digests(tiers)),
    )
    return [block for block in blocks if block]


def _digests(tiers: MemoryTiers) -> list[str]:
    return [line for digest in tiers.recalled.records for line in digest.text.splitlines()]


def memory_line(number: str, item: RecalledUnit) -> str:
    """Format a memory on one line: number, fact type, dates, validity and text."""
    unit = item.unit
    when = readable_time(None, unit.mentioned_at)
    if unit.occurred:
        when = f"{when}; {item.when}"
    ended = "" if item.valid else f"; history, {_ended(item)}"
    return f"[{number}] ({unit.fact_type}; {when}{ended}) {one_line(item.text)}"


def belief_line(number: str, item: RecalledUnit) -> str:
    """Format an opinion on one line: number, confidence, date and text."""
    unit = item.unit
    confidence = 0.5 if unit.confidence is None else unit.confidence
    held = f"{conviction(confidence)} conviction, {confidence:.2f}"
    ended = "" if item.valid else f"; history, {_ended(item)}"
    return f"[{number}] ({held}; since {day(unit.mentioned_at)}{ended}) {one_line(item.text)}"


def day(moment: datetime) -> str:
    """Format the date of a time."""
    return f"{moment:%A, %B} {moment.day}, {moment:%Y}"


def mental_model_line(number: str, model: MentalModel) -> str:
    """Format a mental model on one line: number, question, answer, date, and whether it may be outdated."""
    asked = f" of {day(model.refreshed_at)}" if model.refreshed_at else ""
    stale = "; may be out of date, memories have changed since" if model.stale else ""
    return f"[{number}] (answer{asked}{stale}) {one_line(model.question)} {one_line(model.text)}"


def _models(tiers: MemoryTiers) -> list[str]:
    return [mental_model_line(number, model) for number, model in modelled(tiers).items()]


def _lines(numbered: Iterable[tuple[str, RecalledUnit]]) -> list[str]:
    return [memory_line(number, item) for number, item in numbered]


def _beliefs(held: Mapping[str, RecalledUnit]) -> list[str]:
    return [belief_line(number, item) for number, item in held.items()]


def _ended(item: RecalledUnit) -> str:
    closed = item.unit.closed_at
    return f"no longer true since {day(closed)}" if closed else "no longer true"


def _block(head: str, label: str, lines: Iterable[str]) -> str:
    shown = list(lines)
    return f"{head}\n{fenced(label, shown)}" if shown else ""


def one_line(text: str) -> str:
    """Remove line breaks, so that a text cannot imitate several memories."""
    return " ".join(text.split())
