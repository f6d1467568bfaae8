"""A bank reference is resolved by the engine that has its directory open; otherwise the error names a remedy."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict
from pathlib import Path

import pytest

from hindsight_integrations import (
    AsyncHindsight,
    BankNotFound,
    BankNotOpen,
    BankReference,
    Hindsight,
    InvalidRequest,
    MemoryBank,
    bank_at,
)


def test_a_reference_survives_json_and_a_restart(tmp_path: Path) -> None:
    """A memory retained before a restart is recalled through the reference after it, however the path is spelt."""
    with Hindsight.open(tmp_path / "memory", reranker=None) as engine:
        bank = engine.bank("alice")
        bank.retain("Alice keeps bees in Porto.")
        stored = json.dumps(asdict(bank.reference))
    reference = BankReference(**json.loads(stored))
    with Hindsight.open(tmp_path / "x" / ".." / "memory", reranker=None):
        found = MemoryBank.over(bank_at(reference)).recall("bees")
    assert [recalled.text for recalled in found.units] == ["Alice keeps bees in Porto."]


def test_a_reference_is_resolved_inside_an_event_loop(tmp_path: Path) -> None:
    """Frameworks deserialise inside an event loop too, where blocking is not possible."""

    async def run() -> str:
        async with AsyncHindsight.open(tmp_path, reranker=None) as engine:
            bank = await engine.bank("alice")
            await bank.retain("Alice keeps bees in Porto.")
            again = bank_at(bank.reference)
            return (await again.recall("bees")).units[0].text

    assert asyncio.run(run()) == "Alice keeps bees in Porto."


def test_a_closed_directory_says_open_it_first(tmp_path: Path) -> None:
    """A reference never opens a directory itself, because nobody would close it."""
    with Hindsight.open(tmp_path, reranker=None) as engine:
        reference = engine.bank("alice").reference
    with pytest.raises(BankNotOpen, match="Open the directory first"):
        bank_at(reference)


def test_memory_that_ended_with_its_engine_is_gone() -> None:
    """Two in-memory engines are two locations, and memories of one are not looked up in the other."""
    with Hindsight.open(":memory:", reranker=None) as engine:
        reference = engine.bank("alice").reference
        assert bank_at(reference).name == "alice"
    with Hindsight.open(":memory:", reranker=None) as other:
        other.bank("alice")
        with pytest.raises(BankNotOpen, match="no longer exists"):
            bank_at(reference)


def test_a_forgotten_bank_is_not_made_again(tmp_path: Path) -> None:
    """Loading an agent whose bank was forgotten raises an error instead of creating an empty bank."""
    with Hindsight.open(tmp_path, reranker=None) as engine:
        reference = engine.bank("alice").reference
        engine.forget_bank("alice")
        with pytest.raises(BankNotFound, match="alice"):
            bank_at(reference)
        assert engine.banks() == []


def test_the_writer_is_found_beside_a_reader(tmp_path: Path) -> None:
    """A read-only engine on the same directory is not used for writes."""
    with Hindsight.open(tmp_path, reranker=None) as writer:
        reference = writer.bank("alice").reference
        with Hindsight.open(tmp_path, reranker=None, read_only=True):
            MemoryBank.over(bank_at(reference)).retain("Alice keeps bees in Porto.")


def test_what_is_no_reference_is_refused() -> None:
    """A dict is rejected instead of being interpreted."""
    with pytest.raises(InvalidRequest, match=r"bank\.reference"):
        bank_at({"place": "x", "bank": "y"})  # type: ignore[arg-type]
