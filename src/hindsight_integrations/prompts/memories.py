"""Rendering of memories in prompts: tiered, numbered, dated and fenced (reference, "Retrieval Priority")."""

from __future__ import annotations

from datetime import datetime

from hindsight_integrations.model.mental_models import MentalModel
from hindsight_integrations.model.opinions import conviction
from hindsight_integrations.model.recalled import RecalledUnit
from hindsight_integrations.model.reflections import MemoryTiers
from hindsight_integrations.model.time import readable_time
from hindsight_integrations.prompts.rendering import fenced, one_line


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
    memories = [memory_line(number, item) for number, item in citable(tiers).items()]
    models = [mental_model_line(number, model) for number, model in modelled(tiers).items()]
    beliefs = [belief_line(number, item) for number, item in believed(tiers).items()]
    digests = [line for digest in tiers.recalled.records for line in digest.text.splitlines()]
    blocks = (
        ("Standing answers:", "MENTAL_MODELS", models),
        ("Observations:", "OBSERVATIONS", memories[:observed]),
        ("Facts, the oldest first:", "MEMORIES", memories[observed:]),
        ("Your own beliefs, no facts:", "BELIEFS", beliefs),
        ("Computed from records:", "COMPUTED", digests),
    )
    return [f"{heading}\n{fenced(label, lines)}" for heading, label, lines in blocks if lines]


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


def _ended(item: RecalledUnit) -> str:
    closed = item.unit.closed_at
    return f"no longer true since {day(closed)}" if closed else "no longer true"
