"""Readers of `retain`'s input formats: plain text, JSON Lines, OpenAI messages, ChatGPT and WhatsApp exports, LoCoMo."""

from __future__ import annotations

import codecs
import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, NoReturn

from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.model.requests import Message


class Format(StrEnum):
    """An input format of `retain`."""

    TEXT = "text"
    JSONL = "jsonl"
    OPENAI = "openai"
    CHATGPT = "chatgpt"
    WHATSAPP = "whatsapp"
    LOCOMO = "locomo"

    @property
    def label(self) -> str:
        """The format's display name."""
        return _TITLES[self]


_TITLES = {
    Format.TEXT: "plain text",
    Format.JSONL: "JSON Lines",
    Format.OPENAI: "OpenAI messages",
    Format.CHATGPT: "ChatGPT export",
    Format.WHATSAPP: "WhatsApp export",
    Format.LOCOMO: "LoCoMo conversation",
}


@dataclass(frozen=True, slots=True)
class ImportedThread:
    """The messages of one conversation.

    Attributes:
        messages: the messages in order, each with an id.
        name: the conversation's name; None if the format has none.
    """

    messages: tuple[Message, ...]
    name: str | None = None


@dataclass(frozen=True, slots=True)
class ImportSource:
    """The content of one file or text.

    Attributes:
        format: the format in which it was read.
        text: plain text; empty for conversations.
        threads: the conversations; empty for plain text.
        dropped: number of dropped messages, by reason ("system lines").
    """

    format: Format
    text: str = ""
    threads: tuple[ImportedThread, ...] = ()
    dropped: Counter[str] = field(default_factory=Counter)

    @property
    def messages(self) -> int:
        """Number of messages in all conversations."""
        return sum(len(thread.messages) for thread in self.threads)


def read_source(
    data: bytes, name: str, *, forced: Format | None = None, day_first: bool | None = None
) -> ImportSource:
    """Read the content of a file in the given or detected format; `name` is used in errors.

    If `day_first` is None, the order of dates in a WhatsApp export is inferred from the dates.

    Raises:
        InvalidRequest: the file is empty, not text, or invalid in its format.
    """
    text = decode(data, name)
    chosen = forced or detect(text)
    if chosen is Format.TEXT:
        if forced is None and name.lower().endswith((".json", ".jsonl")):
            _refuse_unknown_json(text, name)
        return ImportSource(Format.TEXT, text)
    if chosen is Format.WHATSAPP:
        return _read_whatsapp(text, name, day_first)
    rows = _json_lines(text, name) if chosen is Format.JSONL else _json(text, name)
    try:
        source = _READERS[chosen](rows)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        reason = error.reason if isinstance(error, InvalidRequest) else f"{type(error).__name__}: {error}"
        raise InvalidRequest(
            name,
            f"cannot be read as {chosen.label} ({reason})",
            "Pass --format if it is in another format.",
        ) from error
    if not source.messages:
        raise InvalidRequest(name, "has no messages with text", "Pass a file with a conversation.")
    return source


def decode(data: bytes, name: str) -> str:
    """Decode the bytes of a file (UTF-8, or UTF-16 with a byte order mark), and convert line endings to newlines.

    Raises:
        InvalidRequest: the bytes are empty or not text.
    """
    marked = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    if not marked and b"\0" in data:
        raise InvalidRequest(name, "is a binary file", "Pass a text file.")
    try:
        text = data.decode("utf-16" if marked else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidRequest(
            name,
            f"is not UTF-8 text (byte {error.start})",
            f"Convert it first, for example with: iconv -f WINDOWS-1252 -t UTF-8 {name}",
        ) from error
    if not text.strip():
        raise InvalidRequest(name, "is empty", "Pass some text.")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def detect(text: str) -> Format:
    """Detect the format of a text from its content; plain text if nothing else matches."""
    start = text.lstrip()
    if _header(start.split("\n", 1)[0]):
        return Format.WHATSAPP
    if start[:1] not in ("{", "["):
        return Format.TEXT
    try:
        value = json.loads(start)
    except (ValueError, RecursionError):
        return Format.JSONL if _is_object(start.split("\n", 1)[0]) else Format.TEXT
    rows = value if isinstance(value, list) else [value]
    if not rows or not all(isinstance(row, dict) for row in rows):
        return Format.TEXT
    if all("mapping" in row for row in rows):
        return Format.CHATGPT
    if all(isinstance(row.get("conversation"), dict) for row in rows):
        return Format.LOCOMO
    if all({"role", "speaker"} & row.keys() and {"content", "text"} & row.keys() for row in rows):
        return Format.OPENAI if isinstance(value, list) else Format.JSONL
    return Format.TEXT


def _is_object(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _json(text: str, name: str) -> Any:  # noqa: ANN401 - JSON
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise _not_json(name, error.lineno, error.msg) from error
    except RecursionError as error:
        raise _not_json(name, 1, "nested too deeply") from error


def _json_lines(text: str, name: str) -> list[Any]:
    rows = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError as error:
            raise _not_json(name, number, error.msg) from error
        except RecursionError as error:
            raise _not_json(name, number, "nested too deeply") from error
        if not isinstance(rows[-1], dict):
            raise _not_json(name, number, "not a JSON object")
    return rows


def _not_json(name: str, line: int, problem: str) -> InvalidRequest:
    return InvalidRequest(
        name,
        f"line {line} is not valid JSON ({problem})",
        "Correct it, or keep the file as plain text with --format text.",
    )


def _refuse_unknown_json(text: str, name: str) -> NoReturn:
    """Reject a .json file in an unknown format.

    Raises:
        InvalidRequest: always; the error tells where the text is not valid JSON, if it is not.
    """
    if text.lstrip().startswith(("{", "[")) and not name.lower().endswith(".jsonl"):
        _json(text, name)
    raise InvalidRequest(
        name,
        "is not in a known JSON format",
        "Pass --format, or keep the file as plain text with --format text.",
    )


def _read_messages(rows: Iterable[Mapping[str, Any]], chosen: Format) -> ImportSource:
    """Read messages with role or speaker, and content or text. System and tool messages are dropped."""
    from hindsight_integrations.validation.messages import (
        as_message,
    )  # imported here, because it loads the language files

    messages, dropped = [], Counter[str]()
    for row in rows:
        message = as_message(row)
        if message is None:
            dropped["system and tool messages"] += 1
        elif not message.text.strip():
            dropped["empty messages"] += 1
        else:
            messages.append(message)
    return ImportSource(chosen, threads=(ImportedThread(_with_ids(messages)),), dropped=dropped)


def _read_chatgpt(value: Any) -> ImportSource:  # noqa: ANN401 - JSON
    """Read the visible branch of each conversation, from `current_node` up to the root."""
    threads, dropped = [], Counter[str]()
    for number, row in enumerate(value if isinstance(value, list) else [value], 1):
        messages = list(reversed([*_chatgpt_branch(row, dropped)]))
        name = row.get("conversation_id") or row.get("id") or f"conversation {number}"
        if messages:
            threads.append(ImportedThread(_with_ids(messages), str(name)))
        else:
            dropped["conversations without messages"] += 1
    return ImportSource(Format.CHATGPT, threads=tuple(threads), dropped=dropped)


def _chatgpt_branch(conversation: Mapping[str, Any], dropped: Counter[str]) -> Iterator[Message]:
    """Yield the messages of the visible branch, newest first."""
    nodes, current, seen = conversation["mapping"], conversation.get("current_node"), set()
    while current in nodes and current not in seen:
        seen.add(current)
        node = nodes[current]
        current = node.get("parent")
        message = node.get("message")
        if not message:
            continue
        role = message["author"]["role"]
        content = message.get("content") or {}
        parts = content.get("parts") or ()
        text = "\n".join(part for part in parts if isinstance(part, str)).strip()
        hidden = (message.get("metadata") or {}).get("is_visually_hidden_from_conversation")
        called = message.get("recipient", "all") not in ("all", None)  # a message to a tool
        if role not in ("user", "assistant") or hidden or called:
            dropped["system and tool messages"] += 1
        elif not text or content.get("content_type") not in ("text", "multimodal_text"):
            dropped["messages without text"] += 1
        else:
            at = message.get("create_time") or conversation.get("create_time")
            yield Message(text, role, at, str(message.get("id") or node["id"]))


def _read_locomo(value: Any) -> ImportSource:  # noqa: ANN401 - JSON
    """Read LoCoMo conversations. Turns of a session are 30 seconds apart, and photos are replaced by their captions."""
    threads = []
    for row in value if isinstance(value, list) else [value]:
        sessions = row["conversation"]
        numbers = sorted(
            int(key.split("_")[1]) for key in sessions if re.fullmatch(r"session_\d+_date_time", key)
        )
        turns = [
            turn
            for number in numbers
            for turn in _locomo_turns(
                sessions.get(f"session_{number}") or (), sessions[f"session_{number}_date_time"]
            )
        ]
        threads.append(ImportedThread(tuple(turns), row.get("sample_id")))
    return ImportSource(Format.LOCOMO, threads=tuple(threads))


def _locomo_turns(turns: Iterable[Mapping[str, Any]], date: str) -> Iterator[Message]:
    start = datetime.strptime(date, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)  # "1:56 pm on 8 May, 2023"
    for position, turn in enumerate(turns):
        caption = turn.get("blip_caption")
        text = f"{turn['text']} [shares a photo: {caption}]" if caption else str(turn["text"])
        yield Message(text, turn["speaker"], start + timedelta(seconds=30 * position), turn["dia_id"])


_READERS: Mapping[Format, Callable[[Any], ImportSource]] = {
    Format.JSONL: lambda rows: _read_messages(rows, Format.JSONL),
    Format.OPENAI: lambda rows: _read_messages(rows, Format.OPENAI),
    Format.CHATGPT: _read_chatgpt,
    Format.LOCOMO: _read_locomo,
}

_MARKS = "\u200e\u200f\u202a\u202b\u202c\ufeff"  # direction marks that phones insert at the start of lines
_HEADER = re.compile(
    r"""\[?(?P<first>\d{1,4})[./-](?P<second>\d{1,2})[./-](?P<third>\d{2,4}),?\s
    (?P<hour>\d{1,2})[:.](?P<minute>\d{2})(?:[:.](?P<seconds>\d{2}))?
    (?:\s?(?P<half>[ap])\.?\s?m\.?)?(?:\]|\s-)\s(?P<rest>.*)""",
    re.IGNORECASE | re.VERBOSE,
)
_MEDIA = re.compile(r"\u200e?<(?:attached: [^>]*|media omitted|this message was edited)>", re.IGNORECASE)
_DELETED = {"this message was deleted", "you deleted this message", "this message was deleted."}


@dataclass(slots=True)
class _ChatLine:
    """A message of a WhatsApp export, before its time is parsed."""

    number: int
    header: re.Match[str]
    speaker: str
    lines: list[str]


def _header(line: str) -> re.Match[str] | None:
    """Match the start of a WhatsApp message; None if the line continues the previous message."""
    return _HEADER.fullmatch(line.lstrip(_MARKS))


def _read_whatsapp(text: str, name: str, day_first: bool | None) -> ImportSource:
    """Read a chat exported as text. Lines without a speaker, deleted messages and media are dropped."""
    dropped: Counter[str] = Counter()
    chat: list[_ChatLine] = []
    current: _ChatLine | None = None
    headers = []
    for number, line in enumerate(text.split("\n"), 1):
        header = _header(line)
        if header is None:
            if current is not None:
                current.lines.append(line)
            continue
        headers.append(header)
        speaker, separator, said = header["rest"].partition(": ")
        if not separator or '"' in speaker or "“" in speaker:
            dropped["system lines"] += 1
            current = None
            continue
        current = _ChatLine(number, header, speaker.strip(_MARKS + " ~"), [said])
        chat.append(current)
    if not headers:
        raise InvalidRequest(name, "is not a WhatsApp export", "Pass --format if it is in another format.")
    order = _finds_day_first(headers, name) if day_first is None else day_first
    messages = []
    for item in chat:
        said = "\n".join(item.lines).strip()
        words = _MEDIA.sub("", said).strip()
        if words.startswith("\u200e"):
            dropped["system lines"] += 1
        elif not words or words.casefold() in _DELETED:
            dropped["media and deleted messages"] += 1
        else:
            messages.append(Message(words.strip(_MARKS), item.speaker, _chat_time(item, name, order)))
    if not messages:
        raise InvalidRequest(name, "has no messages with text", "Pass a file with a conversation.")
    return ImportSource(Format.WHATSAPP, threads=(ImportedThread(_with_ids(messages)),), dropped=dropped)


def _finds_day_first(headers: Iterable[re.Match[str]], name: str) -> bool:
    """Return whether dates start with the day, according to the dates with a number above 12."""
    dates = [(int(header["first"]), int(header["second"])) for header in headers if len(header["first"]) < 4]
    first, second = any(one > 12 for one, _ in dates), any(two > 12 for _, two in dates)
    if first and second:
        raise InvalidRequest(
            name, "has dates that start with the day and others that start with the month", "Pass one export."
        )
    if dates and not first and not second:
        raise InvalidRequest(
            name,
            "has dates that can be read as day/month or as month/day",
            "Pass --day-first or --month-first.",
        )
    return first


def _chat_time(item: _ChatLine, name: str, day_first: bool) -> datetime:
    """Return the local time of a message."""
    header = item.header
    first, second, third = (int(header[part]) for part in ("first", "second", "third"))
    if len(header["first"]) == 4:
        year, month, day = first, second, third
    else:
        year = third + 2000 * (third < 100)
        day, month = (first, second) if day_first else (second, first)
    hour = int(header["hour"])
    if header["half"]:
        hour = hour % 12 + 12 * (header["half"].lower() == "p")
    try:
        return datetime(year, month, day, hour, int(header["minute"]), int(header["seconds"] or 0))  # noqa: DTZ001 - the bank's zone
    except ValueError as error:
        wanted = "day-first" if day_first else "month-first"
        raise InvalidRequest(
            name,
            f"line {item.number} has no valid {wanted} date ({error})",
            "Correct it, or pass --day-first or --month-first.",
        ) from error


def _with_ids(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Give each message an id. Missing ids are derived from time, speaker, text and number of earlier occurrences.

    Unlike a position, such an id stays the same in longer or later exports of the conversation.

    Raises:
        InvalidRequest: two different messages have the same id.
    """
    counts: Counter[str] = Counter()
    identified: dict[str, Message] = {}
    for message in messages:
        if message.id is None:
            words = "\x1f".join((str(message.timestamp or ""), message.speaker, message.text))
            digest = hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()[:16]
            counts[digest] += 1
            message = replace(message, id=f"{digest}:{counts[digest]}")  # noqa: PLW2901 - still the same message
        first = identified.setdefault(str(message.id), message)
        if (first.speaker, first.text) != (message.speaker, message.text):
            raise InvalidRequest(
                "id", f"two different messages have the id {message.id!r}", "Give each message another id."
            )
    return tuple(identified.values())
