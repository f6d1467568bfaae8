"""Intake: whatever the caller has becomes checked messages with ids and times, or one checked document."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from hindsight_integrations.choices import choice
from hindsight_integrations.errors import InvalidRequest, shown
from hindsight_integrations.model.facts import without_reasoning
from hindsight_integrations.model.metadata import Metadata
from hindsight_integrations.model.requests import Document, Message, RetainItem
from hindsight_integrations.model.results import Dropped
from hindsight_integrations.model.text import content_hash
from hindsight_integrations.model.time import LocalDates, as_utc
from hindsight_integrations.model.turns import Role
from hindsight_integrations.model.writes import MessageKey, Place
from hindsight_integrations.validation.arguments import checked_instant
from hindsight_integrations.validation.limits import (
    MAX_BACKGROUND,
    Redact,
    checked_flag,
    checked_id,
    checked_moment,
    checked_text,
    checked_words,
    redacted,
)
from hindsight_integrations.validation.llamaindex_documents import documents_of, is_node, plain
from hindsight_integrations.validation.messages import as_message, read_message, role_of
from hindsight_integrations.validation.metadata import checked_metadata

SYSTEM = frozenset({"system", "developer"})


@dataclass(frozen=True, slots=True)
class Snippet:
    """What is said about the agent, to be merged into its background.

    Attributes:
        text: as it was said.
        said_at: when (aware UTC).
        key: of the message or document that says it.
        document_id: of the document; None for a message.
    """

    text: str
    said_at: datetime
    key: MessageKey
    document_id: str | None = None


def checked_snippet(text: str, field: str) -> str:
    """The text, if it is short enough for a background.

    Raises:
        InvalidRequest: it is not.
    """
    if len(text) <= MAX_BACKGROUND:
        return text
    raise InvalidRequest(
        field,
        f"about_agent=True, and it has {len(text)} characters of {MAX_BACKGROUND} that are allowed",
        "Mark only what says who the agent is, as a document of its own; instructions need no mark.",
    )


def speaks_of_agent(item: Any, position: int, *, marked: bool) -> bool:  # noqa: ANN401 - any caller's message type
    """Whether a message is a system message that is marked, itself or with the whole conversation.

    Args:
        item: a Message, a dict with role and content, or a LangChain message.
        position: in the conversation, for the error.
        marked: whether the conversation is.

    Raises:
        InvalidRequest: the mark is on a message from somebody who does not speak for the program.
    """
    if isinstance(item, Message):
        own = checked_flag(item.about_agent, "about_agent")
        speaker = item.speaker if item.role is None else item.role
    elif isinstance(item, Mapping):
        own = checked_flag(item.get("about_agent", False), "about_agent")
        speaker = item.get("role") or item.get("type") or "user"
    else:
        own, speaker = False, getattr(item, "type", "")
    system = isinstance(speaker, str) and speaker.lower() in SYSTEM
    if own and not system:
        raise InvalidRequest(
            "about_agent",
            f"message {position} is from {shown(speaker)}, who does not say who the agent is",
            "Mark system messages and documents only.",
        )
    return system and (own or marked)


logger = logging.getLogger("hindsight_integrations")

MAX_NUMBER = 2**63  # above every number that is used for an id

Content = str | Document | Sequence[Any]


class NothingToRetain(InvalidRequest):
    """Messages without a word to keep: empty ones, or a model's reasoning alone."""


@dataclass(frozen=True, slots=True)
class ConversationIntake:
    """Checked messages of one retain.

    Attributes:
        messages: in order, each with id and aware timestamp; no two have one id.
        keys: what makes each of them the same next time, in the same order.
        moments: when each was written.
        dropped: what was left out and why.
        snippets: what system messages that are marked say of the agent; the moments are of these, too.
    """

    messages: tuple[Message, ...]
    keys: tuple[MessageKey, ...]
    moments: Mapping[Place, datetime]
    dropped: tuple[Dropped, ...] = ()
    snippets: tuple[Snippet, ...] = ()

    @property
    def mentioned_at(self) -> datetime:
        """When the last of the messages was written."""
        return max(self.moments.values())


@dataclass(frozen=True, slots=True)
class DocumentIntake:
    """The checked document of one retain.

    Attributes:
        id: the caller's, or the text's own.
        text: the new version, or what is to be added.
        mentioned_at: when it was written (aware UTC).
        keys: what makes it the same next time; one key.
        metadata: the caller's values.
        append: the text is added to what is stored of the document.
        about_agent: it says who the agent is.
    """

    id: str
    text: str
    mentioned_at: datetime
    keys: tuple[MessageKey, ...]
    metadata: Metadata = field(default_factory=dict)
    append: bool = False
    about_agent: bool = False

    @property
    def snippets(self) -> tuple[Snippet, ...]:
        """What it says of the agent, where it is marked."""
        (key,) = self.keys
        return (Snippet(self.text, self.mentioned_at, key, self.id),) if self.about_agent else ()

    @property
    def moments(self) -> Mapping[Place, datetime]:
        """When it was written, under the place of the document as a whole."""
        return {(document_thread(self.id), ""): self.mentioned_at}

    @property
    def dropped(self) -> tuple[Dropped, ...]:
        """Nothing: a document is taken in as a whole or refused."""
        return ()


Intake = ConversationIntake | DocumentIntake
"""What one retain was given, checked. The places of `moments` are what no other retain may work on at the same time."""


def take_in(
    content: Content,
    *,
    now: datetime,
    dates: LocalDates,
    thread: str,
    document_id: str | None = None,
    append: bool = False,
    about_agent: bool = False,
    redact: Redact | None = None,
) -> Intake:
    """Check and normalise what is to be retained.

    Args:
        content: a text, a document (ours, or LlamaIndex's as a whole or in nodes), or messages (Message, dict, or one of
            LangChain or LlamaIndex).
        now: time of texts and messages without one (aware UTC).
        dates: how times are read.
        thread: the conversation; message ids are unique within it.
        document_id: id of a plain text, if the caller has one.
        append: the text is to be added to the document of that id.
        about_agent: the text, or the system messages, say who the agent is.
        redact: replaces what must not be stored.

    Raises:
        InvalidRequest: nothing to retain, over a limit, unreadable times, or one id for two different messages.
    """
    marked = checked_flag(about_agent, "about_agent")
    if isinstance(content, str):
        content = Document(content, id=document_id)
    documents = documents_in(content)
    if len(documents) > 1:
        raise InvalidRequest("content", f"it is {len(documents)} documents", "Give each an item of its own.")
    if documents:
        (document,) = documents
        document = replace(document, text=redacted(document.text, redact))
        marked = checked_flag(document.about_agent, "about_agent") or marked
        return _take_document(document, now=now, dates=dates, append=append, about_agent=marked)
    if append:
        raise InvalidRequest("append", "only documents grow by it", "Retain messages without it.")
    if isinstance(content, Iterable) and not isinstance(content, bytes | Mapping | type):
        items = plain(content)
        return _take_messages(items, now=now, dates=dates, thread=thread, about_agent=marked, redact=redact)
    raise InvalidRequest(
        "content",
        f"{type(content).__name__} cannot be retained",
        "Pass text, a Document, a list of messages, or documents of LangChain or LlamaIndex.",
    )


def documents_in(content: Any) -> list[Document]:  # noqa: ANN401 - whatever a caller has
    """The documents that content is, if it is one or several: text, a Document, or documents and nodes of LangChain and LlamaIndex.

    Empty for the messages of a conversation.

    Raises:
        InvalidRequest: nodes among other things, nodes without text, or some of a source are missing.
    """
    if isinstance(content, Document):
        return [content]
    if is_langchain_document(content):
        return [_of_langchain(content)]
    if is_node(content):
        return documents_of([content])
    if isinstance(content, list | tuple) and content:
        if all(map(is_langchain_document, content)):
            return [_of_langchain(document) for document in content]
        if any(map(is_node, content)):
            return documents_of(content)
    return []


def is_langchain_document(item: object) -> bool:
    """Whether this is a Document of LangChain, which is not imported."""
    return any(
        kind.__name__ == "Document" and kind.__module__.startswith("langchain_core.")
        for kind in type(item).__mro__
    )


def _of_langchain(document: Any) -> Document:  # noqa: ANN401 - langchain_core.documents.Document
    return Document(document.page_content, id=document.id, metadata=document.metadata)


def items_of(values: Iterable[Any]) -> list[RetainItem]:
    """What many texts, documents and conversations are as items: a list of messages alone is one conversation.

    Args:
        values: items, texts, documents and nodes, lists of messages; or messages.
    """
    items = list(values)
    if items and all(map(_is_message, items)):
        return [RetainItem(items)]
    if items and all(is_node(item) for item in items):
        return [RetainItem(document) for document in documents_of(items)]
    return [item if isinstance(item, RetainItem) else RetainItem(item) for item in items]


def _is_message(item: Any) -> bool:  # noqa: ANN401 - whatever a caller has
    if isinstance(item, Message):
        return True
    if isinstance(item, Mapping):
        return "role" in item or "content" in item
    return hasattr(item, "content") and (hasattr(item, "type") or hasattr(item, "role"))


def document_thread(document_id: str) -> str:
    """The thread under which the versions of a document have their message keys."""
    return f"document/{document_id}"


def _take_document(
    document: Document, *, now: datetime, dates: LocalDates, append: bool, about_agent: bool
) -> DocumentIntake:
    if append and document.id is None:
        raise InvalidRequest("append", "the document has no id", "Name the document to add to.")
    text = checked_text(document.text, "text")
    if about_agent:
        checked_snippet(text, "text")
    digest = content_hash(text)
    identity = (
        checked_text(document.id, "document_id", 512) if document.id is not None else f"text:{digest[:32]}"
    )
    if append:  # the same words added again with another timestamp are another addition
        digest = content_hash(text, str(document.timestamp or ""))
    added = f"append:{digest}" if append else ""
    return DocumentIntake(
        id=identity,
        text=text,
        mentioned_at=checked_instant(document.timestamp, "timestamp", dates) or now,
        keys=(MessageKey(document_thread(identity), added, digest),),
        metadata=checked_metadata(document.metadata),
        append=append,
        about_agent=about_agent,
    )


def _take_messages(
    items: list[Any],
    *,
    now: datetime,
    dates: LocalDates,
    thread: str,
    about_agent: bool,
    redact: Redact | None,
) -> ConversationIntake:
    messages: dict[str, Message] = {}
    moments: dict[Place, datetime] = {}
    dropped: list[Dropped] = []
    snippets: dict[Place, Snippet] = {}
    for position, item in enumerate(items):
        if speaks_of_agent(item, position, marked=about_agent):
            said = _snippet(item, position, now=now, dates=dates, thread=thread, redact=redact)
            if said is None:
                dropped.append(Dropped(f"message {position}", "empty"))
            else:
                snippets[said.key.place] = said
            continue
        message = as_message(item)
        if message is None or not checked_words(message.text, f"text of message {position}"):
            dropped.append(Dropped(f"message {position}", "not conversation" if message is None else "empty"))
            continue
        message = _redacted(message, redact)
        identity, moment, filled = _filled(message, position, now=now, dates=dates, unread=dropped)
        filled = _said(filled)
        if not filled.text:
            dropped.append(Dropped(f"message {position}", "only reasoning"))
            continue
        known = messages.setdefault(identity, filled)
        if (known.text, known.speaker) != (filled.text, filled.speaker):
            raise InvalidRequest(
                "messages", f"id {shown(identity)} stands for two different messages", "Give each its own id."
            )
        moments.setdefault((thread, identity), moment)
    if not messages and not snippets:
        raise NothingToRetain(
            "messages", "there is nothing to retain in them", "Pass at least one message with text."
        )
    keys = (MessageKey(thread, name, content_hash(m.speaker, m.text)) for name, m in messages.items())
    told = {place: snippet.said_at for place, snippet in snippets.items()}
    return ConversationIntake(
        tuple(messages.values()), tuple(keys), {**moments, **told}, tuple(dropped), tuple(snippets.values())
    )


def _redacted(message: Message, redact: Redact | None) -> Message:
    return message if redact is None else replace(message, text=redacted(message.text, redact))


def _said(message: Message) -> Message:
    """A message of a model without its inline reasoning."""
    if role_of(message) is not Role.ASSISTANT:
        return message
    said = without_reasoning(message.text)
    return message if said == message.text else replace(message, text=said)


def _snippet(
    item: Any,  # noqa: ANN401 - a Message, dict or LangChain message
    position: int,
    *,
    now: datetime,
    dates: LocalDates,
    thread: str,
    redact: Redact | None,
) -> Snippet | None:
    """What a marked system message says of the agent; None if it says nothing."""
    message = _redacted(read_message(item), redact)
    if not checked_words(message.text, f"text of message {position}"):
        return None
    identity, moment, filled = _filled(message, position, now=now, dates=dates)
    text = checked_snippet(filled.text, f"message {position}")
    key = MessageKey(thread, identity, content_hash("about the agent", filled.speaker, text))
    return Snippet(text, moment, key)


def _filled(
    message: Message,
    position: int,
    *,
    now: datetime,
    dates: LocalDates,
    unread: list[Dropped] | None = None,
) -> tuple[str, datetime, Message]:
    """A message's id, its time, and the message with both of them.

    A time that cannot be read costs the time, not the message: it arrived now.

    Args:
        message: as it was given.
        position: in the list, for errors.
        now: when it arrived.
        dates: how times are read.
        unread: takes what could not be read; None raises.

    Raises:
        InvalidRequest: something of it is unusable.
    """
    text = checked_text(message.text, f"message {position}")
    speaker = checked_words(message.speaker, f"speaker of message {position}") or "user"
    given = _moment(message.timestamp, position, dates, unread)
    stamp = as_utc(given, dates.zone) if given else now
    # Without an id, position, time and content make one: the same list retained again is the same messages.
    derived = f"{position}:{content_hash(given.isoformat() if given else '', speaker, text)[:16]}"
    identity = _given_id(message.id, position) or derived
    role = None if message.role is None else choice(Role, message.role, f"role of message {position}")
    return identity, stamp, Message(text, speaker, stamp, identity, role)


def _moment(given: object, position: int, dates: LocalDates, unread: list[Dropped] | None) -> datetime | None:
    """When a message was written; None if it does not say, or says nothing that can be read."""
    field = f"timestamp of message {position}"
    if isinstance(given, str) and not given.strip():
        return None
    try:
        return checked_moment(given, field, date_order=dates.order)
    except InvalidRequest as error:
        if unread is None:
            raise
        if not unread or not unread[-1].what.startswith("timestamp"):
            logger.warning("%s; the time of arrival counts", error)
        unread.append(Dropped(field, f"{error}; the time of arrival counts"))
        return None


def _given_id(given: object, position: int) -> str:
    """The caller's id of a message; a whole number is its digits."""
    field = f"id of message {position}"
    if isinstance(given, int) and not isinstance(given, bool) and abs(given) < MAX_NUMBER:
        return str(given)
    return checked_id(given, field) or ""
