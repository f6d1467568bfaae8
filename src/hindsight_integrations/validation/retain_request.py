"""Validation of a retain, and the validated request that the pipeline processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Any

from pydantic import ValidationError

from hindsight_integrations.choices import choice
from hindsight_integrations.config import AS_SET, Extract, ExtractionOptions, OnModelFailure, check_seconds
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
    on_model_failure: OnModelFailure | str | None,
    background: bool,
    timeout_s: float | None,
    extract: Extract | str = Extract.TURN,
    *,
    namespace: str = "",
) -> ExtractionOptions:
    """Validate the extraction options of one retain.

    Args:
        on_model_failure: "raise" or "queue"; None uses the setting.
        background: True defers all model calls to a task.
        timeout_s: the time limit of extraction in seconds; None uses the setting.
        extract: "turn", "idle" or "session".
        namespace: the message list whose messages are extracted together.

    Raises:
        InvalidRequest: an option is out of range.
    """
    if timeout_s is not None:
        check_seconds("extraction_timeout_s", timeout_s)
    failing = (
        None if on_model_failure is None else choice(OnModelFailure, on_model_failure, "on_model_failure")
    )
    return ExtractionOptions(
        failing, bool(background), timeout_s, choice(Extract, extract, "extract"), namespace
    )


@dataclass(frozen=True, slots=True)
class RetainRequest:
    """One validated retain.

    Attributes:
        intake: the messages or the document.
        bank: the bank's name.
        zone: the time zone of dates without one.
        thread: the id of the conversation.
        context: the caller's description of the source.
        tags: the visibility tags of every unit.
        metadata: the metadata of every unit.
        entities: the entities that every unit mentions, as supplied by the caller.
        facts: the facts that the caller extracted; None extracts them with the model or verbatim.
        options: the overrides of the extraction settings.
        dropped: the messages that a fork dropped; messages that share a memory with them are extracted again.
        absent: all messages of the thread that are not part of the current conversation, including `dropped`.
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
    absent: frozenset[Place] = frozenset()

    @property
    def slots(self) -> frozenset[tuple[str, str, str]]:
        """The keys of the messages or the document, which no other retain may process at the same time."""
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
        clock: the clock, whose time is the mention time of content without a time.
        dates: the time zone and date order of times without their own.
        append: True appends the text to the document with the item's id.
        redact: a function that replaces text which must not be stored.
        options: the overrides of the extraction settings.

    Raises:
        InvalidRequest: the input is empty, over a limit or inconsistent, or `redact` did not return text.
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
    """Validate a fact that the caller supplied, and clean its text.

    Raises:
        InvalidRequest: the fact does not match the schema, or has an unknown key at any level.
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
