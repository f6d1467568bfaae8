"""Endings, removals and additions are undone when the message that made them is edited, dropped, forgotten or retained again.

Each case also with a kill before the commit, after which nothing has changed, and one right after it, after
which everything has.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import told_conversation as told
from langchain_core.messages import BaseMessage
from told_conversation import GRAZ, PACKING, STEPS, U3_EDITED, VIENNA, opened, tell, unit_of

from hindsight_integrations import MemoryBank, Message
from hindsight_integrations.model.documents import document_text
from hindsight_integrations.model.erasure import ForgetReceipt
from hindsight_integrations.model.results import RetainResult
from hindsight_integrations.model.turns import Role
from hindsight_integrations.testing.scripted_model import Reply


@dataclass(frozen=True)
class State:
    """The valid memories of the conversation, and the items of the list as returned."""

    memories: frozenset[str]
    items: tuple[str, ...] | None


def state(bank: MemoryBank) -> State:
    found = bank.recall(
        "Where does the user live? Packing list for Lisbon, shirts, passport, hat", max_tokens=4096
    )
    texts = {unit.unit.text: unit for unit in found.units}
    listed = {unit.text for unit in bank.units(limit=100).units}
    lines = None
    if head := texts.get(PACKING):
        items = bank.document_items(head.unit.id)
        assert head.text == document_text(PACKING, items)
        lines = tuple(item.text for item in items)
    known = {GRAZ, VIENNA, PACKING, "a hat"}
    assert listed & known == texts.keys() & known, "the list of memories and recall agree"
    return State(frozenset(texts.keys() & known), lines)


TOLD = State(frozenset({VIENNA, PACKING}), ("passport", "a hat"))
UNTOLD = State(frozenset({GRAZ, PACKING}), ("shirts", "passport"))
AFTER = {
    "edit": UNTOLD,
    "edit_retained": UNTOLD,
    "fork": UNTOLD,
    "regenerate": TOLD,
    "forget_first": TOLD,
    "forget_list": State(frozenset({VIENNA, "a hat"}), None),
    "forget_last": UNTOLD,
    "restore": State(frozenset({VIENNA, GRAZ, PACKING}), ("passport", "a hat")),
}
"""What holds after each step. The hat was said by another message than the list: it stays by itself when the list is forgotten."""


@pytest.mark.parametrize("step", AFTER)
def test_what_a_message_did_goes_with_it(step: str, tmp_path: Path) -> None:
    """Nothing else changes; a repetition, and a reopened engine, give the same result."""
    with opened(str(tmp_path)) as engine:
        bank = engine.bank("alice")
        tell(bank)
        assert state(bank) == TOLD
        STEPS[step](bank)
        assert state(bank) == AFTER[step]
    with opened(str(tmp_path)) as engine:
        assert state(engine.bank("alice")) == AFTER[step]
        assert engine.doctor(deep=True).failures == {}


FAST = {"edit", "forget_last"}


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(
    "step", [each if each in FAST else pytest.param(each, marks=pytest.mark.slow) for each in AFTER]
)
@pytest.mark.promise("No acknowledged write is lost, even if the process is killed at any moment.")
def test_a_kill_on_the_way_leaves_all_or_nothing_of_it(step: str, when: str, tmp_path: Path) -> None:
    with opened(str(tmp_path)) as engine:
        tell(engine.bank("alice"))
    child = subprocess.run([sys.executable, told.__file__, str(tmp_path), step, when], check=False)
    assert child.returncode == -signal.SIGKILL
    with opened(str(tmp_path)) as engine:
        bank = engine.bank("alice")
        assert state(bank) == (TOLD if when == "before" else AFTER[step])
        if when == "before":
            STEPS[step](bank)
            assert state(bank) == AFTER[step]


def test_a_fork_back_makes_it_hold_once_more(tmp_path: Path) -> None:
    with opened(str(tmp_path)) as engine:
        bank = engine.bank("alice")
        tell(bank)
        for _ in range(2):
            STEPS["fork"](bank)
            assert state(bank) == UNTOLD
            bank.threads.follow([told.U1, told.U2, told.U3, told.A3], thread="t")
            assert state(bank) == TOLD


def test_an_edit_that_says_it_still_ends_it_still(tmp_path: Path) -> None:
    """The new wording is extracted with the memory shown as it is without the old one."""
    edited = Message(f"{told.U3.text} Finally!", "user", "2024-05-03T09:00", "u3")
    with opened(str(tmp_path)) as engine:
        bank = engine.bank("alice")
        tell(bank)
        result = bank.threads.follow([told.U1, told.U2, edited], thread="t")
        assert state(bank) == TOLD
        assert GRAZ in {done.statement for done in result.closed}
        assert not result.restored


def test_a_fork_does_not_show_the_memory_of_a_dropped_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A memory whose message was dropped stays invalid, so it is not shown for a message of the new branch."""
    start = [
        Message("Hello, it is me.", "user", "2024-04-30T09:00", "u0"),
        Message("Hello.", "assistant", "2024-04-30T09:01", "a0", Role.ASSISTANT),
    ]
    moved = Message(told.U3.text, "user", "2024-05-04T09:00", "a3b")
    prompts: list[str] = []

    def recorded(messages: list[BaseMessage], read: Callable[..., Reply] = told.read) -> Reply:
        prompts.append(str(messages[-1].content))
        return read(messages)

    monkeypatch.setattr(told, "read", recorded)
    with opened(str(tmp_path)) as engine:
        bank = engine.bank("alice")
        bank.threads.follow([*start, told.U1], thread="t")
        assert bank.threads.follow([*start, told.U1, told.U3], thread="t").closed
        result = bank.threads.follow([*start, moved], thread="t")
        assert GRAZ in prompts[-2]
        assert GRAZ not in prompts[-1]
        assert (result.closed, result.restored) == ((), ())
        assert state(bank).memories == {VIENNA}


def test_the_result_lists_what_holds_again(tmp_path: Path) -> None:
    """By id, memories and items, for an edit and a forget; a dry run predicts it."""
    for name, change in (
        ("edited", lambda bank: bank.retain([U3_EDITED], thread="t")),
        ("gone", STEPS["forget_last"]),
    ):
        with opened(str(tmp_path / name)) as engine:
            bank = engine.bank("alice")
            tell(bank)
            shirts = next(
                item.id
                for item in bank.document_items(unit_of(bank, PACKING), as_of="2024-05-02T12:00")
                if item.number == 1
            )
            result = change(bank)
            assert isinstance(result, RetainResult | ForgetReceipt)
            assert set(result.restored) == {unit_of(bank, GRAZ), shirts}


def test_a_forgotten_message_takes_what_was_made_from_it_and_nothing_else(tmp_path: Path) -> None:
    with opened(str(tmp_path)) as engine:
        bank = engine.bank("alice")
        tell(bank)
        foreseen = bank.forget(thread="t", message="u3", dry_run=True)
        receipt = bank.forget(thread="t", message="u3")
        assert (receipt.unit_ids, receipt.restored) == (foreseen.unit_ids, foreseen.restored)
        assert len(receipt.unit_ids) == 2, "the move, and the hat"
        assert bank.history(unit_of(bank, GRAZ)) == (), "it was never said that it ended"
