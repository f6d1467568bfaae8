"""A conversation whose last exchange ends a memory, removes an item of a list and adds one; and what can become of that exchange.

Run as a script it does one of these to a bank on disk and is killed on the way: `told_conversation.py PATH STEP before|after`.
"""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

from langchain_core.messages import BaseMessage

from hindsight_integrations import Hindsight, HindsightConfig, MemoryBank, Message
from hindsight_integrations.config import KeywordBackend, StorageConfig, VectorBackend
from hindsight_integrations.indexes.projection import BankProjection
from hindsight_integrations.ledger import erasure, ledger
from hindsight_integrations.model.turns import Role
from hindsight_integrations.testing.doubles import HashEmbedder
from hindsight_integrations.testing.scripted_model import Reply, ScriptedModel

LIGHT = HindsightConfig(storage=StorageConfig(vectors=VectorBackend.EXACT, keywords=KeywordBackend.FTS5))
GRAZ, VIENNA, PACKING = "The user lives in Graz.", "The user lives in Vienna.", "Packing list for Lisbon."

U1 = Message("I live in Graz.", "user", "2024-05-01T09:00", "u1")
U2 = Message("Packing list for Lisbon: shirts, passport.", "user", "2024-05-02T09:00", "u2")
U3 = Message("I moved to Vienna. No shirts on the list, but a hat.", "user", "2024-05-03T09:00", "u3")
A3 = Message("Vienna, noted.", "assistant", "2024-05-03T09:01", "a3", Role.ASSISTANT)
U3_EDITED = Message("Is a hat of use in Lisbon?", "user", "2024-05-03T09:00", "u3")
A3_AGAIN = Message("A hat, noted.", "assistant", "2024-05-03T09:02", "a3b", Role.ASSISTANT)
U4 = Message("What is there for lunch?", "user", "2024-05-04T09:00", "u4")


def read(messages: list[BaseMessage]) -> Reply:
    """The facts of a passage, as a good model would extract them."""
    shown, _, passage = str(messages[-1].content).partition("The passage:")
    facts: list[dict[str, Any]] = []
    if U1.text in passage:
        facts.append({"what": GRAZ, "sources": ["u1"]})
    if U2.text in passage:
        items = [{"kind": "document_item", "value": value} for value in ("shirts", "passport")]
        facts.append({"what": PACKING, "sources": ["u2"], "records": items})
    if U3.text in passage:
        numbers = {
            text: int(number)
            for number, text in re.findall(r"^\[(\d+)\] \([^)]*\) (.*)$", shown, re.MULTILINE)
        }
        changes = [{"memory": numbers[GRAZ], "change": "ends"}] if GRAZ in numbers else []
        moved: dict[str, Any] = {
            "what": VIENNA,
            "sources": re.findall(r"^\[(u3|a3b?)\]", passage, re.MULTILINE),
        }
        if PACKING in numbers:
            changes.append({"memory": numbers[PACKING], "change": "removes", "items": [1]})
            moved |= {"adds_to": numbers[PACKING], "records": [{"kind": "document_item", "value": "a hat"}]}
        facts.append(moved | {"changes": changes})
    return {"facts": facts}


def opened(path: str) -> Hindsight:
    return Hindsight.open(
        path, model=ScriptedModel(read), embeddings=HashEmbedder(), reranker=None, config=LIGHT, worker=False
    )


def tell(bank: MemoryBank) -> None:
    """The initial conversation."""
    for count in (1, 2, 4):
        bank.threads.follow([U1, U2, U3, A3][:count], thread="t")


def unit_of(bank: MemoryBank, text: str) -> str:
    """Id of a memory by its text, closed ones included."""
    (found,) = [
        unit.id for unit in bank.units(include_invalidated=True, limit=100).units if unit.text == text
    ]
    return found


STEPS: dict[str, Callable[[MemoryBank], object]] = {
    "edit": lambda bank: bank.threads.follow([U1, U2, U3_EDITED], thread="t"),
    "edit_retained": lambda bank: bank.retain([U3_EDITED], thread="t"),
    "fork": lambda bank: bank.threads.follow([U1, U2, U4], thread="t"),
    "regenerate": lambda bank: bank.threads.follow([U1, U2, U3, A3_AGAIN], thread="t"),
    "forget_first": lambda bank: bank.forget(thread="t", message="u1"),
    "forget_list": lambda bank: bank.forget(thread="t", message="u2"),
    "forget_last": lambda bank: bank.forget(thread="t", message="u3"),
    "restore": lambda bank: bank.restore(unit_of(bank, GRAZ)),
}


def killed(function: Callable[..., Any], *, before: bool) -> Callable[..., Any]:
    @wraps(function)
    def wrapper(*arguments: Any, **options: Any) -> Any:
        if not before:
            function(*arguments, **options)
        os.kill(os.getpid(), signal.SIGKILL)

    return wrapper


def main(path: str, step: str, when: str) -> None:
    with opened(path) as engine:
        bank = engine.bank("alice")
        if when == "before":  # the write is not committed yet
            ledger.commit = killed(ledger.commit, before=False)  # type: ignore[attr-defined]
            erasure._erased = killed(erasure._erased, before=False)
        else:  # it is committed, and no index has it
            BankProjection.catch_up = killed(BankProjection.catch_up, before=True)  # type: ignore[method-assign]
        STEPS[step](bank)


if __name__ == "__main__":
    main(*sys.argv[1:])
