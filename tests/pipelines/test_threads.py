"""Followed conversations: new messages are retained, and memories of messages that a fork dropped become invalid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from hindsight_integrations import Hindsight, HindsightConfig, MemoryBank
from hindsight_integrations.model.requests import Message
from hindsight_integrations.model.turns import OnFork, Role
from hindsight_integrations.testing.scripted_model import ScriptedModel

H1 = Message("My kayak is red.", "alice", "2024-05-01T09:00", "h1")
A1 = Message("Kayaks float best on Tuesdays.", "assistant", "2024-05-01T09:01", "a1", Role.ASSISTANT)
A1_ANEW = Message("Red kayaks are seen from afar.", "assistant", "2024-05-01T09:02", "a1b", Role.ASSISTANT)
H2 = Message("My tent is green.", "alice", "2024-05-01T09:03", "h2")
A2 = Message("Green tents hide well in woods.", "assistant", "2024-05-01T09:04", "a2", Role.ASSISTANT)
H3 = Message("My stove burns alcohol.", "alice", "2024-05-01T09:05", "h3")


@pytest.fixture
def bank(light: Hindsight) -> MemoryBank:
    return light.bank("alice")


def follow(bank: MemoryBank, *messages: Message, on_fork: OnFork = OnFork.SUPERSEDE) -> list[str]:
    """The messages whose memories are valid afterwards, in order of time."""
    bank.threads.follow(messages, thread="t", on_fork=on_fork)
    return valid(bank)


def valid(bank: MemoryBank) -> list[str]:
    found: Sequence[str] = [unit.sources[0] for unit in bank.units().units if unit.closed_at is None]
    return sorted(found)


def test_only_what_is_new_is_retained(bank: MemoryBank) -> None:
    """In the next turn the earlier messages are stored once, and known."""
    assert follow(bank, H1, A1) == ["a1", "h1"]
    assert bank.threads.follow([H1, A1, H2, A2], thread="t").created == 2
    assert bank.threads.follow([H1, A1, H2, A2], thread="t").created == 0
    assert valid(bank) == ["a1", "a2", "h1", "h2"]


def test_a_regenerated_answer_takes_the_place_of_the_first(bank: MemoryBank) -> None:
    follow(bank, H1, A1)
    assert follow(bank, H1, A1_ANEW) == ["a1b", "h1"]


def test_on_fork_keep_keeps_both(bank: MemoryBank) -> None:
    follow(bank, H1, A1)
    assert follow(bank, H1, A1_ANEW, on_fork=OnFork.KEEP) == ["a1", "a1b", "h1"]


def test_trimmed_messages_stay(bank: MemoryBank) -> None:
    follow(bank, H1, A1, H2, A2)
    assert follow(bank, H2, A2, H3) == ["a1", "a2", "h1", "h2", "h3"]


def test_nothing_in_common_drops_nothing(bank: MemoryBank) -> None:
    follow(bank, H1, A1)
    assert follow(bank, H3) == ["a1", "h1", "h3"]
    assert follow(bank, H3, H2) == ["a1", "h1", "h2", "h3"]


def test_back_to_the_first_branch_and_back_again(bank: MemoryBank) -> None:
    """Each branch restores its memories, and only one is valid at a time."""
    follow(bank, H1, A1, H2, A2)
    assert follow(bank, H1, A1_ANEW) == ["a1b", "h1"]
    assert follow(bank, H1, A1, H2, A2, H3) == ["a1", "a2", "h1", "h2", "h3"]
    assert follow(bank, H1, A1_ANEW) == ["a1b", "h1"]


BERLIN = Message("I live in Berlin.", "alice", "2024-05-01T09:02", "b1")
MOVED = Message("I left Berlin.", "alice", "2024-05-01T09:03", "m1")


class Moving(ScriptedModel):
    """A model that stores every message verbatim, and ends memories when alice has moved."""

    def __init__(self) -> None:
        super().__init__(self._answer)

    def _answer(self, messages: list[Any]) -> dict[str, Any]:
        passage = messages[-1].text.partition("<<<PASSAGE")[2]
        known = [each for each in (H1, A1, H2, H3, BERLIN, MOVED) if f"[{each.id}]" in passage]
        return {
            "facts": [
                {
                    "what": each.text,
                    "sources": [each.id],
                    "fact_type": "world",
                    "invalidates": [BERLIN.text] if each is MOVED else [],
                }
                for each in known
            ]
        }


@pytest.fixture
def moving(opener: Any, light_config: HindsightConfig) -> MemoryBank:
    bank: MemoryBank = opener(model=Moving(), config=light_config).bank("alice")
    return bank


def test_what_a_dropped_message_withdrew_holds_again(moving: MemoryBank) -> None:
    bank = moving
    bank.retain([BERLIN], thread="other")
    assert follow(bank, H1, A1, MOVED) == ["a1", "h1", "m1"]
    assert follow(bank, H1, A1, H2) == ["a1", "b1", "h1", "h2"]
    assert follow(bank, H1, A1, MOVED, H3) == ["a1", "h1", "h3", "m1"]


def test_what_was_withdrawn_within_a_dropped_branch_holds_only_on_that_branch(moving: MemoryBank) -> None:
    """A statement and its withdrawal are dropped together, and restored when the thread returns to their branch."""
    bank, lives, moved = moving, BERLIN, MOVED
    assert follow(bank, H1, A1, lives, moved) == ["a1", "h1", "m1"]
    for _ in range(2):
        assert follow(bank, H1, A1, H2) == ["a1", "h1", "h2"]
        assert follow(bank, H1, A1, lives) == ["a1", "b1", "h1"]
        assert follow(bank, H1, A1, lives, moved) == ["a1", "h1", "m1"]
        assert follow(bank, H1, A1, lives, H3) == ["a1", "b1", "h1", "h3"]
        assert follow(bank, H1, A1, lives, moved) == ["a1", "h1", "m1"]


def test_a_window_of_the_first_message_and_the_newest_turn_drops_nothing(bank: MemoryBank) -> None:
    """Clients trim conversations like this; an edit of the first question looks the same, and must not close valid memories."""
    assert follow(bank, H1, A1) == ["a1", "h1"]
    assert follow(bank, H1, H2) == ["a1", "h1", "h2"]
    assert follow(bank, H1, H3) == ["a1", "h1", "h2", "h3"]
    assert follow(bank, H1, A1, H2, H3) == ["a1", "h1", "h2", "h3"]
    assert follow(bank, H3, BERLIN) == ["a1", "b1", "h1", "h2", "h3"]


STRIKE = Message("New mooring fees are off the agenda.", "alice", "2024-05-03T10:00", "s1")


class Striking(ScriptedModel):
    """A model that removes an item from the only shown document."""

    def __init__(self) -> None:
        super().__init__(self._answer)

    def _answer(self, messages: list[Any]) -> dict[str, Any]:
        if STRIKE.text not in messages[-1].text:
            return {"facts": []}
        fields = {"when": "N/A", "where": "N/A", "who": "N/A", "why": "N/A", "fact_type": "world"}
        fees = {"memory": 1, "change": "removes", "items": [2]}
        what = "Alice struck new mooring fees off the agenda of the harbour meeting"
        return {"facts": [{"what": what, "sources": ["s1"], "changes": [fees], **fields}]}


def test_an_item_that_a_dropped_message_struck_is_on_its_list_again(
    opener: Any, light_config: HindsightConfig
) -> None:
    """The item ended, but not the document; the valid items follow the current branch."""
    bank = opener(model=Striking(), config=light_config).bank("port")
    items = ["crane repair", "new mooring fees", "pier lights"]
    records = [{"kind": "document_item", "category": "agenda", "value": item} for item in items]
    agenda = "Agenda of the harbour meeting"
    told = {"role": "user", "content": f"{agenda}: {', '.join(items)}", "id": "d1"}
    fact = {"what": agenda, "sources": ["d1"], "records": records}
    (document,) = bank.retain([told], timestamp="2024-05-01T10:00", facts=[fact]).unit_ids

    def listed(*messages: Message) -> list[str]:
        bank.threads.follow(messages, thread="t")
        held = [item.text.removeprefix("agenda: ") for item in bank.document_items(document)]
        (served,) = (item for item in bank.recall(agenda).units if item.unit.id == document)
        assert served.text.split("\n- agenda: ") == [agenda, *held]
        assert [str(item.record.value) for item in bank.records.list(kind="document_item")] == held
        return held

    struck = [items[0], items[2]]
    for _ in range(2):
        assert listed(H1, A1, STRIKE) == struck
        assert listed(H1, A1, H2) == items


def test_an_edited_message_is_its_later_wording(bank: MemoryBank) -> None:
    follow(bank, H1, A1)
    edited = Message("My kayak is blue.", "alice", "2024-05-01T09:02", "h1")
    bank.threads.follow([edited, A1], thread="t")
    assert valid(bank) == ["a1", "h1"]
    assert [
        unit.text for unit in bank.units().units if unit.closed_at is None and unit.sources == ("h1",)
    ] == ["alice: My kayak is blue."]


def test_lists_of_one_thread_have_logs_of_their_own(bank: MemoryBank) -> None:
    follow(bank, H1, A1)
    bank.threads.follow([H2, A2], thread="t", namespace="research")
    assert follow(bank, H1, A1, H3) == ["a1", "a2", "h1", "h2", "h3"]


class Switched(ScriptedModel):
    """A model that may be off, and extracts the last line of its prompt."""

    on: bool = False

    def __init__(self) -> None:
        super().__init__(self._answer)

    def _answer(self, messages: list[Any]) -> dict[str, Any] | Exception:
        if not self.on:
            return ConnectionError("it is off")
        asked = messages[-1].text
        fields = {"when": "N/A", "where": "N/A", "who": "N/A", "why": "N/A", "fact_type": "world"}
        known = (each for each in (H1, A1, A1_ANEW, H2) if each.text in asked)
        return {
            "facts": [{"what": f"It was said: {each.text}", "sources": [each.id], **fields} for each in known]
        }


def found(bank: MemoryBank) -> list[str]:
    return sorted(
        {source for item in bank.recall("kayak Tuesdays red afar").units for source in item.unit.sources}
    )


def test_what_waited_when_a_fork_dropped_it_is_not_found_then_nor_later(
    opener: Any, light_config: HindsightConfig
) -> None:
    """The model is down, the answer is regenerated, the model comes back: the rejected answer is never valid."""
    model = Switched()
    bank = opener(model=model, config=light_config).bank("alice")
    bank.threads.follow([H1], thread="t", on_model_failure="queue")
    bank.threads.follow([H1, A1], thread="t", on_model_failure="queue")
    assert found(bank) == ["a1", "h1"]
    bank.threads.follow([H1, A1_ANEW], thread="t", on_model_failure="queue")
    assert found(bank) == ["a1b", "h1"]
    model.on = True
    bank.tasks.settle()
    assert found(bank) == ["a1b", "h1"]
    bank.threads.follow([H1, A1, H2], thread="t")
    assert "a1" in found(bank)
    assert "a1b" not in found(bank)
