"""A memory is withdrawn by hand: it becomes invalid, stays as history, and can be restored."""

from __future__ import annotations

import pytest

from hindsight_integrations import Hindsight, InvalidRequest, MemoryBank, Message

KAYAK = "Alice's kayak is blue."


def texts(bank: MemoryBank, **options: object) -> list[str]:
    return [found.text for found in bank.recall("kayak", **options).units]  # type: ignore[arg-type]


def test_it_is_found_no_more_until_it_is_restored(light: Hindsight) -> None:
    """The log contains time and reason; history and earlier days still show it."""
    bank = light.bank("alice")
    (unit,) = bank.retain(KAYAK, timestamp="2024-05-01").unit_ids
    assert [bank.withdraw(unit, reason="Alice asked for it"), bank.withdraw(unit)] == [True, False]
    assert texts(bank) == []
    assert texts(bank, include_invalidated=True) == texts(bank, as_of="2024-05-02") == [KAYAK]
    assert [bank.restore(unit), bank.restore(unit)] == [True, False]
    assert texts(bank) == [KAYAK]
    assert [bank.withdraw(unit), texts(bank)] == [True, []]
    reasons = [event.reason for event in bank.history(unit)]
    assert reasons == ["Alice asked for it", "restored", "withdrawn"]


def test_what_a_new_message_says_again_is_remembered_again(light: Hindsight) -> None:
    """The same message, retained once more, contains nothing new: the memory stays withdrawn."""
    bank = light.bank("alice")
    first = Message(KAYAK, timestamp="2024-05-01", id="m1")
    (unit,) = bank.retain([first], thread="t").unit_ids
    bank.withdraw(unit)
    bank.retain([first], thread="t")
    assert texts(bank) == []
    bank.retain([Message(KAYAK, timestamp="2024-06-01", id="m2")], thread="t")
    assert [text.endswith(KAYAK) for text in texts(bank)] == [True]


def test_a_clock_behind_the_conversation_closes_after_what_was_said(light: Hindsight) -> None:
    bank = light.bank("alice")
    (unit,) = bank.retain(KAYAK, timestamp="2999-05-01").unit_ids
    assert bank.withdraw(unit)
    assert bank.get(unit).closed_at == bank.get(unit).mentioned_at
    assert texts(bank) == []


def test_an_id_of_another_bank_is_none_of_this_one(light: Hindsight) -> None:
    alice, bob = light.bank("alice"), light.bank("bob")
    (unit,) = bob.retain("Bob's tent is green.").unit_ids
    with pytest.raises(InvalidRequest, match="is not in bank 'alice'"):
        alice.withdraw(unit)
    assert bob.get(unit).closed_at is None
