"""Intake: converts the content of a retain to validated messages with ids and times, or to one validated document."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from hindsight_integrations.choices import choice
from hindsight_integrations.errors import InvalidRequest, shown
from hindsight_integrations.lazy import inherits
from hindsight_integrations.model.metadata import Metadata
from hindsight_integrations.model.requests import Document, Message, RetainItem
from hindsight_integrations.model.results import Dropped
from hindsight_integrations.model.text import content_hash, without_reasoning
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
    """A statement about the agent that is to be merged into its background.

    Attributes:
        text: the text of the statement.
        said_at: the time of the statement (aware UTC).
        key: key of its message or document.
        document_id: id of its document; None for a message.
    """

    text: str
    said_at: datetime
    key: MessageKey
    document_id: str | None = None


def checked_snippet(text: str, field: str) -> str:
    """Return the text if it is short enough for a background.

    Raises:
        InvalidRequest: the text is too long.
    """
    if len(text) <= MAX_BACKGROUND:
        return text
    raise InvalidRequest(
        field,
        f"it has {len(text)} characters, over the limit of {MAX_BACKGROUND} for about_agent=True",
        "Set about_agent=True only on the description of the agent, and pass it as a separate document.",
    )


def speaks_of_agent(item: Any, position: int, *, marked: bool) -> bool:  # noqa: ANN401 - any caller's message type
    """Return whether a message is a system message that describes the agent. It or its conversation must be marked so.

    Args:
        item: a Message, a dict with role and content, or a LangChain message.
        position: position in the conversation, for the error.
        marked: whether `about_agent` is set for the whole conversation.

    Raises:
        InvalidRequest: a message with another role is marked.
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
            f"message {position} is from {shown(speaker)}, not from the system",
            "Set about_agent only on system messages and documents.",
        )
    return system and (own or marked)


logger = logging.getLogger("hindsight_integrations")

MAX_NUMBER = 2**63  # limit of integer ids

Content = str | Document | Sequence[Any]


class NothingToRetain(InvalidRequest):
    """Every message is empty or contains only a model's reasoning."""


@dataclass(frozen=True, slots=True)
class ConversationIntake:
    """The validated messages of one retain.

    Attributes:
        messages: the messages in order, each with an aware timestamp and a unique id.
        keys: the keys of the messages, in the same order.
        moments: the time of each message and of each snippet, by place.
        dropped: the ignored messages, with reasons.
        snippets: statements about the agent, from marked system messages.
    """

    messages: tuple[Message, ...]
    keys: tuple[MessageKey, ...]
    moments: Mapping[Place, datetime]
    dropped: tuple[Dropped, ...] = ()
    snippets: tuple[Snippet, ...] = ()

    @property
    def mentioned_at(self) -> datetime:
        """The time of the latest message."""
        return max(self.moments.values())


@dataclass(frozen=True, slots=True)
class DocumentIntake:
    """The validated document of one retain.

    Attributes:
        id: the id passed by the caller, or one derived from the text.
        text: the text of the new version, or the text to append.
        mentioned_at: the time of the document (aware UTC).
        keys: the single key of this version.
        metadata: the caller's values.
        append: whether the text is appended to the stored document.
        about_agent: whether the document describes the agent.
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
        """The document as a statement about the agent; empty unless `about_agent` is set."""
        (key,) = self.keys
        return (Snippet(self.text, self.mentioned_at, key, self.id),) if self.about_agent else ()

    @property
    def moments(self) -> Mapping[Place, datetime]:
        """The time of the document, by the key of the whole document."""
        return {(document_thread(self.id), ""): self.mentioned_at}

    @property
    def dropped(self) -> tuple[Dropped, ...]:
        """Always empty, because a document is accepted or rejected as a whole."""
        return ()


Intake = ConversationIntake | DocumentIntake
"""The validated content of a retain. Only one retain at a time may process the places in `moments`."""


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
    """Validate and normalise the content of a retain.

    Args:
        content: a text, a document (Document, or documents and nodes of LangChain and LlamaIndex), or messages (Message,
            dict, or messages of LangChain and LlamaIndex).
        now: time of texts and messages without a time (aware UTC).
        dates: the time zone and date order of times that do not state them.
        thread: id of the conversation. Message ids are unique within a thread.
        document_id: id of a plain text, if any.
        append: whether the text is appended to the document with that id.
        about_agent: whether the text, or the system messages, describe the agent.
        redact: function that replaces text which must not be stored.

    Raises:
        InvalidRequest: the content is empty or over a limit, a time cannot be parsed, or two different messages have the
            same id.
    """
    marked = checked_flag(about_agent, "about_agent")
    if isinstance(content, str):
        content = Document(content, id=document_id)
    documents = documents_in(content)
    if len(documents) > 1:
        raise InvalidRequest(
            "content", f"it contains {len(documents)} documents", "Pass each document as a separate item."
        )
    if documents:
        (document,) = documents
        document = replace(document, text=redacted(document.text, redact))
        marked = checked_flag(document.about_agent, "about_agent") or marked
        return _take_document(document, now=now, dates=dates, append=append, about_agent=marked)
    if append:
        raise InvalidRequest("append", "only documents can be appended to", "Omit `append` for messages.")
    if isinstance(content, Iterable) and not isinstance(content, bytes | Mapping | type):
        items = plain(content)
        return _take_messages(items, now=now, dates=dates, thread=thread, about_agent=marked, redact=redact)
    raise InvalidRequest(
        "content",
        f"{type(content).__name__} cannot be retained",
        "Pass text, a Document, a list of messages, or documents of LangChain or LlamaIndex.",
    )


def documents_in(content: Any) -> list[Document]:  # noqa: ANN401 - any caller's type
    """Return the documents in the content of a retain: text, Document, or documents and nodes of LangChain and LlamaIndex.

    The result is empty for messages of a conversation.

    Raises:
        InvalidRequest: nodes are mixed with other objects or have no text, or some nodes of a source are missing.
    """
    if isinstance(content, Document):
        return [content]
    if is_langchain_document(content):
        return [_of_langchain(content)]
    if is_node(content):
        return documents_of([content])
    if isinstance(content, list | tuple) and content:
        if all(isinstance(item, Document) for item in content):
            return list(content)
        if all(map(is_langchain_document, content)):
            return [_of_langchain(document) for document in content]
        if any(map(is_node, content)):
            return documents_of(content)
    return []


def is_langchain_document(item: object) -> bool:
    """Return whether an object is a LangChain Document, without importing LangChain."""
    return inherits(item, "langchain_core", "Document")


def _of_langchain(document: Any) -> Document:  # noqa: ANN401 - langchain_core.documents.Document
    return Document(document.page_content, id=document.id, metadata=document.metadata)


def items_of(values: Iterable[Any]) -> list[RetainItem]:
    """Convert texts, documents and conversations to items. A list that contains only messages is one conversation.

    Args:
        values: items, texts, documents, nodes or lists of messages; or the messages of one conversation.
    """
    items = list(values)
    if items and all(map(_is_message, items)):
        return [RetainItem(items)]
    if items and all(is_node(item) for item in items):
        return [RetainItem(document) for document in documents_of(items)]
    return [item if isinstance(item, RetainItem) else RetainItem(item) for item in items]


def _is_message(item: Any) -> bool:  # noqa: ANN401 - any caller's type
    if isinstance(item, Message):
        return True
    if isinstance(item, Mapping):
        return "role" in item or "content" in item
    return hasattr(item, "content") and (hasattr(item, "type") or hasattr(item, "role"))


def document_thread(document_id: str) -> str:
    """Return the thread under which the message keys of a document's versions are stored."""
    return f"document/{document_id}"


def _take_document(
    document: Document, *, now: datetime, dates: LocalDates, append: bool, about_agent: bool
) -> DocumentIntake:
    if append and document.id is None:
        raise InvalidRequest("append", "the document has no id", "Pass the id of the document to append to.")
    text = checked_text(document.text, "text")
    if about_agent:
        checked_snippet(text, "text")
    digest = content_hash(text)
    identity = (
        checked_text(document.id, "document_id", 512) if document.id is not None else f"text:{digest[:32]}"
    )
    if append:  # the same text with another timestamp is another addition
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
        filled = _spoken_part(filled)
        if not filled.text:
            dropped.append(Dropped(f"message {position}", "only reasoning"))
            continue
        known = messages.setdefault(identity, filled)
        if (known.text, known.speaker) != (filled.text, filled.speaker):
            raise InvalidRequest(
                "messages",
                f"id {shown(identity)} is used by two different messages",
                "Give each message a unique id.",
            )
        moments.setdefault((thread, identity), moment)
    if not messages and not snippets:
        raise NothingToRetain(
            "messages", "no message has text to retain", "Pass at least one message with text."
        )
    keys = (MessageKey(thread, name, content_hash(m.speaker, m.text)) for name, m in messages.items())
    snippet_moments = {place: snippet.said_at for place, snippet in snippets.items()}
    return ConversationIntake(
        tuple(messages.values()),
        tuple(keys),
        {**moments, **snippet_moments},
        tuple(dropped),
        tuple(snippets.values()),
    )


def _redacted(message: Message, redact: Redact | None) -> Message:
    return message if redact is None else replace(message, text=redacted(message.text, redact))


def _spoken_part(message: Message) -> Message:
    """Return the message without a model's inline reasoning."""
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
    """Return the statement about the agent from a marked system message; None if it is empty."""
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
    """Return a message's id and time, and the message completed with this id and time.

    A message whose time cannot be parsed gets its time of arrival.

    Args:
        message: the message as passed by the caller.
        position: position in the list, for errors.
        now: time of arrival.
        dates: the time zone and date order of times that do not state them.
        unread: list that collects errors about times that cannot be parsed; None raises them instead.

    Raises:
        InvalidRequest: the message is invalid.
    """
    text = checked_text(message.text, f"message {position}")
    speaker = checked_words(message.speaker, f"speaker of message {position}") or "user"
    given = _moment(message.timestamp, position, dates, unread)
    stamp = as_utc(given, dates.zone) if given else now
    # The derived id stays the same when the list is retained again.
    derived = f"{position}:{content_hash(given.isoformat() if given else '', speaker, text)[:16]}"
    identity = _given_id(message.id, position) or derived
    role = None if message.role is None else choice(Role, message.role, f"role of message {position}")
    return identity, stamp, Message(text, speaker, stamp, identity, role)


def _moment(given: object, position: int, dates: LocalDates, unread: list[Dropped] | None) -> datetime | None:
    """Return the time of a message; None if it has no time, or one that cannot be parsed."""
    field = f"timestamp of message {position}"
    if isinstance(given, str) and not given.strip():
        return None
    try:
        return checked_moment(given, field, date_order=dates.order)
    except InvalidRequest as error:
        if unread is None:
            raise
        if not unread or not unread[-1].what.startswith("timestamp"):
            logger.warning("%s; using the time of arrival", error)
        unread.append(Dropped(field, f"{error}; using the time of arrival"))
        return None


def _given_id(given: object, position: int) -> str:
    """Return the caller's id of a message. An integer is converted to text."""
    field = f"id of message {position}"
    if isinstance(given, int) and not isinstance(given, bool) and abs(given) < MAX_NUMBER:
        return str(given)
    return checked_id(given, field) or ""
