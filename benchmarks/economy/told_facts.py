"""Messages about one person, each like no other, with a fact of each."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from hindsight_integrations import ExtractedFact, Message

START = datetime(2023, 1, 2, 9, tzinfo=UTC)
PLACES = ("the harbour", "the library", "the old mill", "the market hall", "the north quay", "the print room")
DEEDS = (
    "repaired a clock",
    "sold a map",
    "met a pilot",
    "painted a sign",
    "taught a class",
    "found a letter",
)


def told(first: int, end: int) -> dict[str, Any]:
    """What to retain: messages about one person, and a fact of each."""
    said = [
        Message(_sentence(number), "Sam", START + timedelta(hours=number), f"m{number}")
        for number in range(first, end)
    ]
    facts = [
        ExtractedFact(what=message.text, sources=[message.id], entities=["Mara Lindqvist"])
        for message in said
    ]
    return {"content": said, "thread": "talk", "facts": facts}


def _sentence(number: int) -> str:
    """One like no other: deed, place and a number of its own."""
    deed, place = DEEDS[number % len(DEEDS)], PLACES[number // len(DEEDS) % len(PLACES)]
    return f"Mara Lindqvist {deed} in {place} on day {number + 1} of the project, with lamp {number * 7 + 3} lit."
