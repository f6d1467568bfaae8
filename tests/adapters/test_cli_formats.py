"""The input formats of `hindsight-memory retain`: each is detected and read correctly."""

from __future__ import annotations

import json
from typing import Any

import pytest
from table import every_row

from hindsight_integrations import InvalidRequest
from hindsight_integrations.cli.importing import Format, read_source

IOS = (
    "\u200e[13.02.24, 10:11:12] Bob: \u200eMessages and calls are end-to-end encrypted.\r\n"
    "[13.02.24, 10:11:13] Bob: I moved to Graz\r\nand I love it!\r\n"
    "\u200e[13.02.24, 10:12:00] Ana: \u200eimage omitted\r\n"
    "[13.02.24, 10:13:00] ~ Ana: look \u200e<attached: 00000012-PHOTO.jpg>\r\n"
)
ANDROID = (
    "1/2/24, 10:10 - Messages and calls are end-to-end encrypted. Tap to learn more.\n"
    '1/2/24, 10:10 - Ana changed the subject from "Trip: Rome" to "Trip"\n'
    "1/2/24, 10:11 - Bob: I bought a kayak: a red one\n"
    "1/2/24, 10:12 - Ana: <Media omitted>\n"
    "1/2/24, 10:13 - Ana: This message was deleted\n"
)


def node(identity: str, parent: str | None, role: str, *parts: Any, **more: Any) -> dict[str, Any]:
    """A node of a ChatGPT conversation."""
    content = {"content_type": "text", "parts": list(parts)}
    message = {
        "id": f"m-{identity}",
        "author": {"role": role},
        "create_time": 1700000000.0,
        "content": content,
    }
    return {"id": identity, "parent": parent, "message": {**message, **more}}


NODES = [
    {"id": "root", "parent": None, "message": None},
    node("sys", "root", "system", ""),
    node("ask", "sys", "user", "I am learning Finnish.", {"asset_pointer": "file"}),
    node("old", "ask", "assistant", "An answer that was regenerated."),
    node("call", "ask", "assistant", "search()", recipient="browser"),
    node("new", "call", "assistant", "Hyvä!"),
    node("last", "new", "user", "I play the oboe.", create_time=None),
]
CHATGPT = {
    "conversation_id": "c-1",
    "create_time": 1700000000.0,
    "current_node": "last",
    "mapping": {each["id"]: each for each in NODES},
}
LOCOMO = {
    "sample_id": "conv-1",
    "conversation": {
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [{"speaker": "Ana", "dia_id": "D1:1", "text": "Hi!", "blip_caption": "a cat"}],
    },
}
LINES = [
    {"speaker": "Ana", "text": "I live in Porto.", "timestamp": "2024-05-03T10:00:00Z", "id": "a1"},
    {"role": "assistant", "content": "Noted."},
    {"role": "tool", "content": "{}"},
    {"role": "user", "content": " "},
]
OPENAI = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "I like tea."}]},
]


def lines(rows: list[dict[str, Any]]) -> bytes:
    """Rows as JSON Lines."""
    return "\n".join(map(json.dumps, rows)).encode()


@every_row(
    "data, options, format, thread, said, dropped",
    [
        pytest.param(b"I own a boat.\n", {}, Format.TEXT, None, [], {}, id="plain text"),
        pytest.param(
            b"[draft] {notes}", {}, Format.TEXT, None, [], {}, id="a text that begins with a bracket"
        ),
        pytest.param(
            lines(LINES),
            {},
            Format.JSONL,
            None,
            ["Ana 2024-05-03T10:00:00Z I live in Porto.", "assistant None Noted."],
            {"system and tool messages": 1, "empty messages": 1},
            id="JSON Lines",
        ),
        pytest.param(
            lines(LINES[:1]),
            {},
            Format.JSONL,
            None,
            ["Ana 2024-05-03T10:00:00Z I live in Porto."],
            {},
            id="JSON Lines of one line",
        ),
        pytest.param(
            b"\xef\xbb\xbf" + json.dumps(OPENAI, indent=1).encode(),
            {},
            Format.OPENAI,
            None,
            ["user None I like tea."],
            {"system and tool messages": 1},
            id="OpenAI messages with a byte order mark",
        ),
        pytest.param(
            json.dumps([CHATGPT]).encode(),
            {},
            Format.CHATGPT,
            "c-1",
            [
                "user 1700000000.0 I am learning Finnish.",
                "assistant 1700000000.0 Hyvä!",
                "user 1700000000.0 I play the oboe.",
            ],
            {"system and tool messages": 2},
            id="ChatGPT export: the branch that is shown, without tools",
        ),
        pytest.param(
            IOS.encode(),
            {},
            Format.WHATSAPP,
            None,
            ["Bob 2024-02-13 10:11:13 I moved to Graz\nand I love it!", "Ana 2024-02-13 10:13:00 look"],
            {"system lines": 2},
            id="WhatsApp on a phone of Apple",
        ),
        pytest.param(
            ANDROID.encode(),
            {"day_first": False},
            Format.WHATSAPP,
            None,
            ["Bob 2024-01-02 10:11:00 I bought a kayak: a red one"],
            {"system lines": 2, "media and deleted messages": 2},
            id="WhatsApp on Android, month first",
        ),
        pytest.param(
            ANDROID.encode() + b"31/12/24, 9:05 - Bob: Bye\n",
            {},
            Format.WHATSAPP,
            None,
            ["Bob 2024-02-01 10:11:00 I bought a kayak: a red one", "Bob 2024-12-31 09:05:00 Bye"],
            {"system lines": 2, "media and deleted messages": 2},
            id="WhatsApp, where a later date shows that the day is first",
        ),
        pytest.param(
            "2/13/24, 9:05\u202fPM - Bob: Hi\n2/13/24, 12:05 a.m. - Bob: Ho\n".encode(),
            {},
            Format.WHATSAPP,
            None,
            ["Bob 2024-02-13 21:05:00 Hi", "Bob 2024-02-13 00:05:00 Ho"],
            {},
            id="WhatsApp with a clock of twelve hours",
        ),
        pytest.param(
            "2024/2/13, 21:05 - Bob: Hi\n".encode("utf-16"),
            {},
            Format.WHATSAPP,
            None,
            ["Bob 2024-02-13 21:05:00 Hi"],
            {},
            id="WhatsApp with the year first, in UTF-16",
        ),
        pytest.param(
            json.dumps(LOCOMO).encode(),
            {},
            Format.LOCOMO,
            "conv-1",
            ["Ana 2023-05-08 13:56:00+00:00 Hi! [shares a photo: a cat]"],
            {},
            id="LoCoMo",
        ),
        pytest.param(
            lines(LINES[:1]), {"forced": Format.TEXT}, Format.TEXT, None, [], {}, id="forced to be text"
        ),
    ],
)
def test_a_format_is_detected_and_read(
    data: bytes,
    options: dict[str, Any],
    format: Format,  # noqa: A002 - a column
    thread: str | None,
    said: list[str],
    dropped: dict[str, int],
) -> None:
    """Every format gives its messages with speaker and time, and counts the skipped ones."""
    source = read_source(data, "chat.txt", **options)
    assert source.format is format
    told = [f"{each.speaker} {each.timestamp} {each.text}" for one in source.threads for each in one.messages]
    assert told == said
    assert dict(source.dropped) == dropped
    assert [one.name for one in source.threads] == ([thread] if said else [])
    assert all(each.id for one in source.threads for each in one.messages)


@every_row(
    "name, data, options, problem",
    [
        ("a.txt", b"", {}, "a.txt: is empty. "),
        ("a.txt", b"\xef\xbb\xbf \r\n", {}, "a.txt: is empty. "),
        ("a.png", bytes(range(256)), {}, "a.png: is a binary file. "),
        ("a.txt", "Jörg".encode("latin-1"), {}, "a.txt: is not UTF-8 text (byte 1). Convert it first"),
        ("a.jsonl", b'{"role": "user", "content": "x"}\n{oops\n', {}, "a.jsonl: line 2 is not valid JSON"),
        ("a.jsonl", b'{"role": "user", "content": "x"}\n[]\n', {}, "a.jsonl: line 2 is not valid JSON (not"),
        ("a.json", b'[{"role": "user",', {}, "a.json: line 1 is not valid JSON"),
        ("a.json", b'{"name": "x"}', {}, "a.json: is not in a known JSON format. Pass --format"),
        ("a.json", b"[" * 100_000, {}, "a.json: line 1 is not valid JSON (nested too deeply)"),
        ("a", b"Hello", {"forced": Format.WHATSAPP}, "a: is not a WhatsApp export. "),
        ("a", b"{}", {"forced": Format.CHATGPT}, "a: cannot be read as ChatGPT export (KeyError: 'mapping')"),
        ("a", b"[3]", {"forced": Format.LOCOMO}, "a: cannot be read as LoCoMo conversation (TypeError"),
        ("a", lines([{"role": "system", "content": "x"}]), {}, "a: has no messages with text. "),
        (
            "a",
            lines([{"role": "user", "content": text, "id": "1"} for text in ("x", "y")]),
            {},
            "a: cannot be read as JSON Lines (two different messages have the id '1')",
        ),
        (
            "a",
            ANDROID.encode(),
            {},
            "a: has dates that can be read as day/month or as month/day. Pass --day-f",
        ),
        (
            "a",
            b"13/1/24, 9:05 - B: x\n1/13/24, 9:05 - B: y\n",
            {},
            "a: has dates that start with the day and",
        ),
        ("a", b"13/1/24, 9:05 - B: x\n30/2/24, 9:05 - B: y\n", {}, "a: line 2 has no valid day-first date"),
    ],
)
def test_what_cannot_be_read_is_refused_by_name_and_line(
    name: str, data: bytes, options: dict[str, Any], problem: str
) -> None:
    """The error names the file, the line if there is one, and what to pass instead."""
    with pytest.raises(InvalidRequest) as caught:
        read_source(data, name, **options)
    assert str(caught.value).startswith(problem)


def test_a_longer_export_of_the_same_chat_has_the_same_messages() -> None:
    """Ids do not depend on the position, so that the next export adds only new messages."""
    whole = read_source(
        ANDROID.encode() + b"1/3/24, 9:00 - Bob: Hi\n1/3/24, 9:00 - Bob: Hi\n", "a", day_first=True
    )
    later = read_source(b"1/3/24, 9:00 - Bob: Hi\n1/3/24, 9:00 - Bob: Hi\n", "a", day_first=True)
    (first, *rest), known = whole.threads[0].messages, later.threads[0].messages
    assert (first.speaker, tuple(rest)) == ("Bob", known)
    assert len({message.id for message in known}) == 2
