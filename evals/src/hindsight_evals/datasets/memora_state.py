"""The statements of a Memora persona and which of them are still true, by replaying each session's operation (Memora 3.2, A.3).

A scalar item (an expense, a to-do, a preference, a goal, a calendar event) is one value. A document has one value per
field, and one per element of a list.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from hindsight_evals.metrics.stating import said_of

Key = tuple[str, ...]

_OFFSET = re.compile(r"\+?\d+ days")  # a date given as an offset, which the conversations word differently


class Operated(Protocol):
    """The fields of a session that the replay needs."""

    @property
    def session_id(self) -> int: ...  # noqa: D102
    @property
    def session_type(self) -> str: ...  # noqa: D102
    @property
    def operation(self) -> str | None: ...  # noqa: D102
    @property
    def operation_details(self) -> Mapping[str, Any] | None: ...  # noqa: D102
    @property
    def said(self) -> str: ...  # noqa: D102


@dataclass(slots=True)
class Value:
    """One version of a value.

    Attributes:
        key: the item and field that has the value; it ends with the value as worded in the details.
        text: those words of the details that the first session with the value contains.
        wording: all words of the details.
        sessions: ids of the sessions that stated it.
        ended: the session that made it untrue; None while it is true.
    """

    key: Key
    text: str
    wording: str
    sessions: list[int] = field(default_factory=list)
    ended: int | None = None

    @property
    def held(self) -> bool:
        """Return whether it is true after the last session."""
        return self.ended is None


@dataclass(frozen=True, slots=True)
class _Change:
    """Set a key to a text (None withdraws it); `anew` starts another version of an existing value."""

    key: Key
    text: str | None
    anew: bool = False


def replay(sessions: Iterable[Operated]) -> list[Value]:
    """Return every value that was ever stated, in order. Values that the conversations do not mention have an empty text."""
    values: list[Value] = []
    current: dict[Key, Value] = {}
    for session in sessions:
        if session.operation and session.operation_details:
            for change in list(_changes(session, session.operation_details, current)):
                _apply(change, session, current, values)
    return values


def _apply(change: _Change, session: Operated, current: dict[Key, Value], values: list[Value]) -> None:
    held = current.get(change.key)
    if held is not None and (change.text is None or change.anew):
        held.ended = session.session_id
        del current[change.key]
        held = None
    if change.text is None:
        return
    if held is None:
        held = current[change.key] = Value(change.key, said_of(change.text, session.said), change.text)
        values.append(held)
    held.sessions.append(session.session_id)


def _changes(
    session: Operated, details: Mapping[str, Any], current: Mapping[Key, Value]
) -> Iterator[_Change]:
    operation = session.operation or ""
    if "content_data" in details:
        yield from _document(details, current)
    elif session.session_type == "preference":
        yield from _preference(details, operation)
    elif session.session_type == "goal":
        name = str(details["subcategory"])
        item = f"{name.rsplit('_', maxsplit=1)[-1]} {details['item']}"
        yield from (_Change(key, None) for key in list(current) if key[:2] == ("goal", name))
        yield _Change(("goal", name, item), item)
    else:
        yield _activity(details, operation, session.session_id)


def _preference(details: Mapping[str, Any], operation: str) -> Iterator[_Change]:
    group, item = str(details["subcategory"]), str(details["item"])
    if operation == "update" and details.get("old_item"):
        yield _Change(("preference", group, str(details["old_item"])), None)
    key = ("preference", group, item)
    yield _Change(key, None if operation == "delete" else item, anew=operation == "update")


def _activity(details: Mapping[str, Any], operation: str, session: int) -> _Change:
    category, item = str(details["category"]), details["item"]
    key: Key
    if category == "todo_list":
        key = (category, str(item["description"]))
    elif category == "calendar_event":  # its date is an offset, which the conversations do not keep
        key = (category, str(item["event_name"]))
    else:  # every expense is a separate value, even with the same price
        key = (category, str(session), str(item.get("amount", item.get("step_count"))))
    return _Change(key, None if operation == "delete" else key[-1], anew=operation == "update")


def _document(details: Mapping[str, Any], current: Mapping[Key, Value]) -> Iterator[_Change]:
    name = str(details["item"])
    now = {
        ("document", name, title, text): _OFFSET.sub("", text)
        for title, content in details["content_data"].items()
        for text in elements(content)
    }
    for key in list(current):
        if key[:2] == ("document", name) and key not in now:
            yield _Change(key, None)
    for key, text in now.items():
        # A value that is only carried over is not stated again: only what this session adds has this session
        # as its source.
        if key not in current:
            yield _Change(key, text)


def elements(content: object) -> list[str]:
    """Return the elements of a document's field: the elements of a list, or the field itself."""
    return [str(text) for text in content] if isinstance(content, list) else [str(content)]
