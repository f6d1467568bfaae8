"""The final state of a Memora week, from each session's operation and details: what must be held, and what must not.

Nothing here is ever shown to the engine. A scalar item (an expense, a to-do, a preference, a goal, a calendar event) is
one value; a document is one value a field, and one for each element of a list.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Key = tuple[str, ...]
Tokens = tuple[frozenset[str], frozenset[str]]

_WORD = re.compile(r"\d[\d,]*(?:\.\d+)?|[^\W\d_]+")
_PLACEHOLDER = re.compile(r"\+?\d+ days")
_EMPTY_WORDS = "a an and are as at be by for from has in is it its of on or over than that the this to with"
_EMPTY = frozenset(_EMPTY_WORDS.split())
_NUMBER_WORDS = "one two three four five six seven eight nine ten"
_DIGITS = {word: str(number) for number, word in enumerate(_NUMBER_WORDS.split(), 1)}
WORDS_NEEDED = 2 / 3  # extraction paraphrases: of a value's words so many must be there, of its numbers all


@dataclass(slots=True)
class Value:
    """One value of an item, and the sessions in which it was added or confirmed."""

    key: Key
    numbers: frozenset[str]
    words: frozenset[str]
    sessions: set[int] = field(default_factory=set)
    held: bool = True

    @property
    def names_document(self) -> bool:
        """Whether it is a document's title, which any statement about a part of it repeats."""
        return self.key[0] == "document" and self.key[2].endswith(("title", "purpose"))


def stem(word: str) -> str:
    """A word without a plural, -ing or -ed, so that "enabling" is "enable"."""
    for ending in ("ing", "ed", "es", "s", "e"):
        if len(word) - len(ending) >= 3 and word.endswith(ending):
            return word[: -len(ending)]
    return word


def tokens(text: str) -> Tokens:
    """Numbers and stemmed words of a text."""
    found = [token.casefold().replace(",", "") for token in _WORD.findall(text)]
    found = [_DIGITS.get(token, token) for token in found]
    numbers = {
        token.rstrip("0").rstrip(".") if "." in token else token for token in found if token[0].isdigit()
    }
    words = {stem(token) for token in found if not token[0].isdigit() and token not in _EMPTY}
    return frozenset(numbers), frozenset(words)


def contains(text: str, value: Value) -> bool:
    """Whether a text contains a value's tokens: all its numbers and two thirds of its words."""
    numbers, words = tokens(text)
    return value.numbers <= numbers and len(value.words & words) >= WORDS_NEEDED * len(value.words)


def final_state(sessions: list[dict[str, Any]], *, said_only: bool) -> list[Value]:
    """Every value ever stated, with whether it holds after the last session.

    Args:
        sessions: in order.
        said_only: keep only those tokens of a value that the session's conversation says (the details hold more than
            was ever told), and let no statement about a part withdraw a document's title. False counts every
            word of the details.
    """
    values: list[Value] = []
    current: dict[Key, Value] = {}
    for session in sessions:
        if session["operation"]:
            said = tokens(" ".join(turn["message"] for turn in session["conversation"]))
            for change in list(_changes(session, current)):
                _apply(change, session["session_id"], current, values, said if said_only else None)
    return [value for value in values if value.words or value.numbers]


@dataclass(frozen=True, slots=True)
class _Change:
    """Set a key to a text (None: withdraw it); `anew` starts another version of a value that is held already."""

    key: Key
    text: str | None
    anew: bool = False


def _apply(
    change: _Change, session: int, current: dict[Key, Value], values: list[Value], said: Tokens | None
) -> None:
    held = current.get(change.key)
    if held is not None and (change.text is None or change.anew):
        held.held = False
        del current[change.key]
        held = None
    if change.text is not None:
        if held is None:
            numbers, words = tokens(change.text)
            if said is not None:
                numbers, words = numbers & said[0], words & said[1]
            held = current[change.key] = Value(change.key, numbers, words)
            values.append(held)
        held.sessions.add(session)


def _changes(session: Mapping[str, Any], current: Mapping[Key, Value]) -> Iterator[_Change]:
    details, operation = session["operation_details"], session["operation"]
    if "content_data" in details:
        yield from _document(details, current)
    elif session["session_type"] == "preference":
        yield from _preference(details, operation)
    elif session["session_type"] == "goal":
        name = details["subcategory"]
        yield _Change(("goal", name), f"{name.split('_')[-1]} {details['item']}", anew=True)
    else:
        yield from _activity(details, operation, session["session_id"])


def _preference(details: Mapping[str, Any], operation: str) -> Iterator[_Change]:
    group, item = details["subcategory"], details["item"]
    if operation == "update" and details.get("old_item"):
        yield _Change(("preference", group, details["old_item"]), None)
    yield _Change(
        ("preference", group, item), None if operation == "delete" else item, anew=operation == "update"
    )


def _activity(details: Mapping[str, Any], operation: str, session: int) -> Iterator[_Change]:
    category, item = details["category"], details["item"]
    if category == "todo_list":
        key, text = (category, item["description"]), item["description"]
    elif category == "calendar_event":  # its date is an offset that the conversations do not keep to
        key, text = (category, item["event_name"]), item["event_name"]
    else:
        amount = item.get("amount", item.get("step_count"))
        # Every expense is one of its own, even of the same price.
        key, text = (category, str(amount), str(session)), str(amount)
    yield _Change(key, None if operation == "delete" else text, anew=operation == "update")


def _document(details: Mapping[str, Any], current: Mapping[Key, Value]) -> Iterator[_Change]:
    name = details["item"]
    now: dict[Key, str] = {}
    for title, content in details["content_data"].items():
        for text in content if isinstance(content, list) else [content]:
            now["document", name, title, str(text)] = _PLACEHOLDER.sub("", str(text))
    for key in list(current):
        if key[:2] == ("document", name) and key not in now:
            yield _Change(key, None)
    for key, text in now.items():
        # A value that merely goes on is not stated anew: only what this session adds has this session as source.
        if key not in current:
            yield _Change(key, text)
