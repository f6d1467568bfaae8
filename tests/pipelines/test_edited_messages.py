"""Edited messages: memories of the earlier wording become history, and the latest wording is valid."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

from hindsight_integrations import Hindsight, MemoryBank, Message
from hindsight_integrations.testing.scripted_model import ScriptedModel

TEN, ELEVEN = datetime(2024, 5, 3, 10, tzinfo=UTC), datetime(2024, 5, 3, 11, tzinfo=UTC)


def message(text: str, at: datetime = TEN, *, key: str = "m1") -> Message:
    return Message(text, "Alice", at, key)


def valid(bank: MemoryBank, **options: Any) -> list[str]:
    found = bank.recall("Alice rents a flat in Porto or Lisbon with a cat or dog", **options)
    return sorted(item.unit.text for item in found.units)


def test_the_new_wording_supersedes_the_old(real: Hindsight) -> None:
    """After an edit only the new wording is recalled; the old one is in the history and with `as_of` the earlier hour."""
    bank = real.bank("alice")
    bank.retain([message("I rent a flat in Porto.")], thread="t")
    result = bank.retain([message("I rent a flat in Lisbon.", ELEVEN)], thread="t")
    assert result.created == 1
    assert valid(bank) == ["Alice: I rent a flat in Lisbon."]
    assert valid(bank, as_of=TEN) == ["Alice: I rent a flat in Porto."]
    assert len(valid(bank, include_invalidated=True)) == 2


def test_an_edit_under_the_same_timestamp_never_held(light: Hindsight) -> None:
    """A message edited without a new timestamp never had its first wording, so `as_of` shows the new one."""
    bank = light.bank("alice")
    bank.retain([message("I rent a flat in Porto.")])
    bank.retain([message("I rent a flat in Lisbon.")])
    assert valid(bank) == valid(bank, as_of=TEN) == ["Alice: I rent a flat in Lisbon."]


def test_an_edit_back_restores_the_first_wording(light: Hindsight) -> None:
    """The latest version is valid even if its words were known: edits back and forth with one timestamp end correctly."""
    bank = light.bank("alice")
    for _ in range(3):
        for city in ("Porto", "Lisbon"):
            bank.retain([message(f"I rent a flat in {city}.")])
            assert valid(bank) == [f"Alice: I rent a flat in {city}."]
    assert bank.count() == 2


def test_the_same_wording_twice_changes_nothing(light: Hindsight) -> None:
    """A retry after an edit is recognised."""
    bank = light.bank("alice")
    bank.retain([message("I rent a flat in Porto.")])
    revision = bank.retain([message("I rent a flat in Lisbon.")]).revision
    again = bank.retain([message("I rent a flat in Lisbon.")])
    assert (again.created, again.skipped_messages, again.revision) == (0, 1, revision)


def test_other_messages_and_threads_stay(light: Hindsight) -> None:
    """An edit affects only its own message in its own thread."""
    bank = light.bank("alice")
    bank.retain([message("I rent a flat in Porto."), message("I have a cat.", key="m2")], thread="t")
    bank.retain([message("I rent a flat with a dog.")], thread="u")
    bank.retain([message("I rent a flat in Lisbon."), message("I have a cat.", key="m2")], thread="t")
    assert valid(bank) == [
        "Alice: I have a cat.",
        "Alice: I rent a flat in Lisbon.",
        "Alice: I rent a flat with a dog.",
    ]


def test_what_a_neighbouring_message_added_is_extracted_again(opener: Callable[..., Hindsight]) -> None:
    """A fact from two messages ends with the edit of one; the other is extracted again, so its part is not lost."""
    cat = {"what": "Alice rents a flat in Porto and has a cat.", "sources": ["m1", "m2"]}
    model = ScriptedModel(
        [
            {"facts": [cat]},
            {
                "facts": [
                    {"what": "Alice rents a flat in Lisbon.", "sources": ["m1"]},
                    {"what": "Alice has a cat.", "sources": ["m2"]},
                ]
            },
        ]
    )
    bank = opener(model=model).bank("alice")
    both = [message("I rent a flat in Porto."), message("And I have a cat.", key="m2")]
    bank.retain(both)
    bank.retain([message("I rent a flat in Lisbon."), both[1]])
    assert valid(bank) == ["Alice has a cat.", "Alice rents a flat in Lisbon."]


def test_unedited_messages_are_not_extracted_twice(opener: Callable[..., Hindsight]) -> None:
    """A model that repeats an unchanged message next to the edited one adds nothing for it."""
    replies = [
        {
            "facts": [
                {"what": "Alice rents a flat in Porto.", "sources": ["m1"]},
                {"what": "A cat.", "sources": ["m2"]},
            ]
        },
        {"facts": [{"what": "Alice rents a flat in Lisbon.", "sources": ["m1"]}]},
    ]
    model = ScriptedModel(replies)
    bank = opener(model=model).bank("alice")
    bank.retain([message("I rent a flat in Porto."), message("I have a cat.", key="m2")])
    assert bank.retain([message("I rent a flat in Lisbon."), message("I have a cat.", key="m2")]).created == 1
    second = str(model.prompts[1][-1].content)
    passage = second[second.index("<<<PASSAGE") :]
    assert ("[m1]" in passage, "[m2]" in passage) == (True, False)


def test_an_edit_that_says_nothing_worth_keeping_closes_the_old(opener: Callable[..., Hindsight]) -> None:
    """If the new wording gives no fact, the old one is still closed."""
    model = ScriptedModel(
        [{"facts": [{"what": "Alice rents a flat in Porto.", "sources": ["m1"]}]}, {"facts": []}]
    )
    bank = opener(model=model).bank("alice")
    bank.retain([message("I rent a flat in Porto.")])
    bank.retain([message("Never mind.")])
    assert valid(bank) == []


def test_two_threads_with_two_wordings_leave_one(light: Hindsight) -> None:
    """Concurrent edits end with exactly one valid wording."""
    bank = light.bank("alice")
    cities = ["Porto", "Lisbon"] * 8
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda city: bank.retain([message(f"I rent a flat in {city}.")]), cities))
    assert len(valid(bank)) == 1
