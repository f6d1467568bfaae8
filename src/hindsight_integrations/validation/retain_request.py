"""A retain, checked once and turned into the value the pipeline takes. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Any

from pydantic import ValidationError

from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.model.entities import EntityMention
from hindsight_integrations.model.facts import ExtractedFact
from hindsight_integrations.model.text import clean_text
from hindsight_integrations.model.time import as_utc
from hindsight_integrations.ports.clock import Clock
from hindsight_integrations.validation.arguments import Moment
from hindsight_integrations.validation.intake import Content, Intake, take_in
from hindsight_integrations.validation.limits import (
    checked_metadata,
    checked_moment,
    checked_tags,
    checked_text,
)


@dataclass(frozen=True, slots=True)
class RetainRequest:
    """One retain, taken in and checked.

    Attributes:
        intake: messages or document.
        bank: the bank's name.
        zone: in which dates without a zone are read.
        now: mention time of what has none.
        thread: the conversation.
        context: about the source.
        tags: visibility tags for every unit.
        metadata: the caller's strings for every unit.
        entities: entities the caller says every unit mentions.
        facts: facts somebody else extracted; None means extract here.
        append: the document's text is added to what is stored of it.
    """

    intake: Intake
    bank: str
    zone: tzinfo
    now: datetime
    thread: str = ""
    context: str = ""
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, str] | None = None
    entities: tuple[EntityMention, ...] = ()
    facts: tuple[ExtractedFact, ...] | None = None
    append: bool = False

    @property
    def slots(self) -> frozenset[tuple[str, str, str]]:
        """What no other retain may work on at the same time: each message, or the document."""
        if self.intake.document is not None:
            return frozenset((self.bank, key.thread, "") for key in self.intake.keys)
        return frozenset((self.bank, key.thread, key.message_id) for key in self.intake.keys)


@dataclass(frozen=True, slots=True)
class Source:
    """What the caller says of what is to be retained; see `AsyncMemoryBank.retain`."""

    timestamp: Moment
    thread: str
    document_id: str | None
    context: str
    entities: Sequence[str]
    tags: Iterable[str]
    metadata: Mapping[str, object]
    append: bool = False


def retain_request(
    content: Content,
    source: Source,
    facts: Iterable[ExtractedFact | Mapping[str, Any]] | None,
    *,
    bank: str,
    clock: Clock,
    zone: tzinfo,
) -> RetainRequest:
    """A retain, checked.

    Raises:
        InvalidRequest: the input is empty, over a limit or inconsistent.
    """
    now = as_utc(checked_moment(source.timestamp, "timestamp") or clock.now(), zone)
    thread = clean_text(source.thread)
    return RetainRequest(
        intake=take_in(
            content,
            now=now,
            zone=zone,
            thread=thread,
            document_id=source.document_id,
            append=source.append,
        ),
        append=source.append,
        bank=bank,
        zone=zone,
        now=now,
        thread=thread,
        context=clean_text(source.context),
        tags=checked_tags(source.tags),
        metadata=checked_metadata(source.metadata),
        entities=tuple(EntityMention(checked_text(name, "entity", 512)) for name in source.entities),
        facts=None if facts is None else tuple(checked_fact(fact, n) for n, fact in enumerate(facts)),
    )


def checked_fact(fact: ExtractedFact | Mapping[str, Any], position: int) -> ExtractedFact:
    """A fact somebody else extracted, with cleaned text.

    Raises:
        InvalidRequest: it does not fit the schema.
    """
    try:
        parsed = ExtractedFact.model_validate(fact)
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(str(part) for part in problem["loc"]) or "fact"
        raise InvalidRequest(
            f"facts[{position}]", f"{where}: {problem['msg']}", "Use the ExtractedFact schema."
        ) from error
    texts = {name: clean_text(getattr(parsed, name)) for name in ("what", "when", "where", "who", "why")}
    return parsed.model_copy(update=texts)
