"""Validation of a retain, and the request the pipeline processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Any

from pydantic import ValidationError

from hindsight_integrations.choices import choice
from hindsight_integrations.config import AS_SET, ExtractionOptions, OnModelFailure, check_seconds
from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.model.clock import Clock
from hindsight_integrations.model.entities import EntityMention
from hindsight_integrations.model.facts import REFUSE_UNKNOWN_KEYS, UNKNOWN_KEYS, ExtractedFact
from hindsight_integrations.model.metadata import Metadata
from hindsight_integrations.model.requests import RetainItem
from hindsight_integrations.model.text import clean_text
from hindsight_integrations.model.time import LocalDates, as_utc
from hindsight_integrations.model.writes import Place
from hindsight_integrations.validation.arguments import checked_instant
from hindsight_integrations.validation.intake import Intake, take_in
from hindsight_integrations.validation.limits import (
    Redact,
    checked_list,
    checked_tags,
    checked_text,
    checked_words,
    redacted,
    redacted_fact,
)
from hindsight_integrations.validation.metadata import checked_metadata


def checked_options(
    on_model_failure: OnModelFailure | str | None, background: bool, timeout_s: float | None
) -> ExtractionOptions:
    """Validate the extraction options of one retain.

    Args:
        on_model_failure: "raise", "queue", or None.
        background: whether to defer all model calls.
        timeout_s: seconds, or None.

    Raises:
        InvalidRequest: one is out of range.
    """
    if timeout_s is not None:
        check_seconds("extraction_timeout_s", timeout_s)
    failing = (
        None if on_model_failure is None else choice(OnModelFailure, on_model_failure, "on_model_failure")
    )
    return ExtractionOptions(failing, bool(background), timeout_s)


@dataclass(frozen=True, slots=True)
class RetainRequest:
    """One validated retain.

    Attributes:
        intake: messages or document.
        bank: the bank's name.
        zone: time zone of dates without one.
        thread: the conversation.
        context: a description of the source.
        tags: visibility tags for every unit.
        metadata: the caller's values for every unit.
        entities: entities that every unit mentions, according to the caller.
        facts: facts already extracted; None means extract them.
        dropped: messages that a fork dropped; messages that share a memory with them are extracted again.
    """

    intake: Intake
    bank: str
    zone: tzinfo
    thread: str = ""
    context: str = ""
    tags: tuple[str, ...] = ()
    metadata: Metadata = field(default_factory=dict)
    entities: tuple[EntityMention, ...] = ()
    facts: tuple[ExtractedFact, ...] | None = None
    options: ExtractionOptions = AS_SET
    dropped: tuple[Place, ...] = ()

    @property
    def slots(self) -> frozenset[tuple[str, str, str]]:
        """What no other retain may process at the same time: each message, or the document."""
        return frozenset((self.bank, *place) for place in self.intake.moments)


def retain_request(
    item: RetainItem,
    *,
    bank: str,
    clock: Clock,
    dates: LocalDates,
    append: bool = False,
    redact: Redact | None = None,
    options: ExtractionOptions = AS_SET,
) -> RetainRequest:
    """Validate a retain.

    Args:
        item: the content to retain.
        bank: the bank.
        clock: gives the mention time of content without one.
        dates: how to read times.
        append: append the text to the document with that id.
        redact: replaces text that must not be stored.
        options: how this retain differs from the settings.

    Raises:
        InvalidRequest: the input is empty, over a limit or inconsistent, or `redact` failed.
    """
    thread = checked_words(item.thread, "thread")
    return RetainRequest(
        intake=take_in(
            item.content,
            now=checked_instant(item.timestamp, "timestamp", dates) or as_utc(clock.now()),
            dates=dates,
            thread=thread,
            document_id=item.document_id,
            append=append,
            about_agent=item.about_agent,
            redact=redact,
        ),
        bank=bank,
        zone=dates.zone,
        thread=thread,
        context=redacted(checked_words(item.context, "context"), redact),
        tags=checked_tags(item.tags),
        metadata=checked_metadata({} if item.metadata is None else item.metadata),
        entities=tuple(
            EntityMention(checked_text(name, "entity", 512))
            for name in checked_list(item.entities, "entities")
        ),
        facts=None
        if item.facts is None
        else tuple(
            redacted_fact(checked_fact(fact, position), redact)
            for position, fact in enumerate(checked_list(item.facts, "facts"))
        ),
        options=options,
    )


def checked_fact(fact: ExtractedFact | Mapping[str, Any], position: int) -> ExtractedFact:
    """Validate a fact given by the caller, and clean its text.

    Raises:
        InvalidRequest: it does not fit the schema, or it or a part of it has an unknown key.
    """
    try:
        parsed = ExtractedFact.model_validate(fact, context=REFUSE_UNKNOWN_KEYS)
    except ValidationError as error:
        problem = error.errors()[0]
        if problem["type"] == UNKNOWN_KEYS:
            path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in problem["loc"])
            raise InvalidRequest(
                f"facts[{position}]{path}",
                problem["ctx"]["keys"],
                f"Allowed keys: {problem['ctx']['allowed']}.",
            ) from error
        where = ".".join(str(part) for part in problem["loc"]) or "fact"
        raise InvalidRequest(
            f"facts[{position}]", f"{where}: {problem['msg']}", "Use the ExtractedFact schema."
        ) from error
    texts = {name: clean_text(getattr(parsed, name)) for name in ("what", "when", "where", "who", "why")}
    return parsed.model_copy(update=texts)
