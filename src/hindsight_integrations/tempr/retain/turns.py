"""Source turns of a retain: the text kept of each message, and the messages that wait for extraction as units. Pure.

What waits is found meanwhile as rules would retain it word for word, but as a turn: it mentions, links and withdraws
nothing, and goes in the commit that brings its facts.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from zoneinfo import ZoneInfo

from hindsight_integrations.model.requests import Message
from hindsight_integrations.model.text import content_hash
from hindsight_integrations.model.units import NAMESPACE, MemoryUnit, UnitKind
from hindsight_integrations.model.writes import MessageKey, Place, TurnWrite
from hindsight_integrations.tempr.retain.drafts import Origin
from hindsight_integrations.tempr.retain.extraction.verbatim import VerbatimExtractor
from hindsight_integrations.tempr.retain.time_normalisation import occurrence
from hindsight_integrations.validation.roles import role_of


def waiting_id(origin: Origin, message: Message) -> str:
    """The id of a message, or a piece of one, as a turn that waits: never that of a memory."""
    parts = ("turn", origin.bank, origin.thread, message.id or "", message.text)
    return str(uuid.uuid5(NAMESPACE, "\x1e".join(parts)))


def waiting_units(
    messages: Sequence[Message], origin: Origin, extractor: VerbatimExtractor, *, chunk: int
) -> tuple[MemoryUnit, ...]:
    """Messages of a passage that waits, each as a unit that is this message word for word.

    Args:
        messages: with ids and timestamps filled in; pieces of a longer one, where it was cut.
        origin: where they come from.
        extractor: says when what a message speaks of happened, and whose it is.
        chunk: ordinal of the passage.
    """
    zone = ZoneInfo(origin.zone)
    facts = extractor.extract(messages, zone=zone)
    return tuple(
        MemoryUnit(
            id=waiting_id(origin, message),
            bank=origin.bank,
            text=fact.what,
            fact_type=fact.fact_type,
            mentioned_at=origin.moments.get(message.id or "", origin.mentioned_at),
            occurred=occurrence(fact.occurred_start, fact.occurred_end, zone),
            context=origin.context,
            metadata=origin.metadata,
            tags=origin.tags,
            chunk=chunk,
            thread=origin.thread,
            sources=(message.id or "",),
            speaker=message.speaker,
            kind=UnitKind.TURN,
        )
        for message, fact in zip(messages, facts, strict=True)
    )


def turns_of(
    messages: Mapping[MessageKey, Message], moments: Mapping[Place, datetime], tags: tuple[str, ...]
) -> tuple[TurnWrite, ...]:
    """The text of each message, to be kept."""
    return tuple(
        TurnWrite(key, message.text, message.speaker, role_of(message), moments[key.place], tags)
        for key, message in messages.items()
    )


def whole_messages(keys: Iterable[MessageKey], messages: Iterable[Message]) -> dict[MessageKey, Message]:
    """Those of the messages that are a whole message as its key knows it, not a piece of a longer one."""
    by_id = {message.id: message for message in messages}
    pairs = ((key, by_id[key.message_id]) for key in keys if key.message_id in by_id)
    return {
        key: message
        for key, message in pairs
        if content_hash(message.speaker, message.text) == key.content_hash
    }


def kept_turns(turns: Iterable[TurnWrite], units: Iterable[MemoryUnit]) -> tuple[TurnWrite, ...]:
    """The turns as they are written: one that is a unit word for word names it instead of keeping its text twice."""
    same = {(unit.thread, *unit.sources, unit.text): unit.id for unit in units if unit.speaker}
    return tuple(
        replace(turn, unit_id=same.get((*turn.key.place, f"{turn.speaker}: {turn.text}"))) for turn in turns
    )
