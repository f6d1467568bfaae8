"""Export and import of a bank: the imported bank is equal, and an invalid file changes nothing."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hindsight_integrations import (
    ArchiveInvalid,
    EmbedderMismatch,
    Hindsight,
    InvalidRequest,
    MemoryBank,
    Message,
)
from hindsight_integrations.testing.doubles import HashEmbedder

TALK = [
    Message("Yesterday I bought a red kayak from Harbor Sports.", "Alice", "2024-05-03T10:00", id="m1"),
    Message("Alice Chen named the kayak Thunder.", "Bob", "2024-05-03T10:01", id="m2"),
    Message("Sören paid 3.41 euros for plums 🍑 at Harbor Sports.", "Bob", "2024-05-04", id="m3"),
]
QUESTIONS = ["Which red kayak was bought on May 2, 2024?", "plums", "Harbor Sports", "Thunder"]


def filled(engine: Hindsight) -> MemoryBank:
    bank = engine.bank("alice")
    bank.profile.set(bank.profile.get().__class__("Ada", "I like proofs."))
    bank.retain(TALK, thread="t", tags=["x"], metadata={"k": "v"})
    bank.retain("A long document about figs. It has two sentences.", document_id="d1")
    bank.entities.alias("Alice", "The Captain")
    bank.edit(bank.recall("plums").units[0].unit.id, tags=["y"])
    return bank


def answers(bank: MemoryBank) -> list[list[Any]]:
    return [
        [(item.unit, item.entities, dict(item.channels)) for item in bank.recall(question).units]
        for question in QUESTIONS
    ]


def archived(bank: MemoryBank) -> str:
    out = io.StringIO()
    bank.archive.export(out)
    return out.getvalue()


@pytest.mark.promise("An archive is loaded completely or not at all.")
def test_a_bank_comes_back_the_same(opener: Callable[..., Hindsight], tmp_path: Path) -> None:
    """Exported and imported elsewhere, a bank returns the same memories with the same ids, scores, names and history."""
    first = filled(opener(tmp_path / "one"))
    assert first.archive.export(tmp_path / "alice.jsonl") == first.count() == 4
    second = opener(tmp_path / "two").bank("alice")
    assert second.archive.load(tmp_path / "alice.jsonl") == 4
    assert answers(second) == answers(first)
    assert (second.profile.get(), second.entities.list()) == (first.profile.get(), first.entities.list())
    assert [c.names for c in second.entities.changes()] == [("the captain",)]
    assert archived(second).splitlines()[2:-1] == archived(first).splitlines()[2:-1]
    assert second.retain(TALK, thread="t").created == 0
    assert not list(tmp_path.glob("*.part"))


def test_an_imported_bank_survives_reopening(opener: Callable[..., Hindsight], tmp_path: Path) -> None:
    """Indexes of an imported bank agree with the ledger, after a restart too."""
    text = archived(filled(opener()))
    with opener(tmp_path / "two") as engine:
        engine.bank("copy").archive.load(io.StringIO(text))
    again = opener(tmp_path / "two")
    assert "m1" in again.bank("copy").recall("red kayak").units[0].unit.sources
    assert again.doctor().failures == {}


def test_a_closed_memory_is_still_that_of_its_message(
    opener: Callable[..., Hindsight], tmp_path: Path
) -> None:
    """After import, forgetting a message also erases the memory made from it that is already invalid."""
    first = opener(tmp_path / "one").bank("alice")
    (unit_id,) = first.retain(TALK[:1], thread="t").unit_ids
    first.withdraw(unit_id)
    second = opener(tmp_path / "two").bank("alice")
    second.archive.load(io.StringIO(archived(first)))
    second.forget(thread="t", message="m1")
    assert second.units(include_invalidated=True).units == ()


def test_only_an_empty_bank_takes_an_archive(light: Hindsight) -> None:
    """Import never mixes with existing memories; an emptied bank accepts it."""
    bank = filled(light)
    text, before = archived(bank), answers(bank)
    with pytest.raises(InvalidRequest, match="empty"):
        bank.archive.load(io.StringIO(text))
    assert answers(bank) == before
    bank.forget(everything=True)
    assert bank.archive.load(io.StringIO(text)) == 4
    assert [[u.id for u, _, _ in found] for found in answers(bank)] == [
        [u.id for u, _, _ in b] for b in before
    ]


def damaged(text: str) -> dict[str, str]:
    lines = text.splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if line.startswith('["units"'))
    link = next(i for i, line in enumerate(lines) if line.startswith('["mentions"'))
    return {
        "empty": "",
        "no archive": '{"facts": []}\n',
        "not json": "PK\x03\x04",
        "newer": text.replace('"version":1', '"version":2'),
        "cut at a line": "".join(lines[:-1]),
        "cut in a line": text[: len(text) // 2],
        "a line lost": "".join(lines[:at] + lines[at + 1 :]),
        "a line twice": "".join(lines[: at + 1] + lines[at:]),
        "a letter changed": text.replace("kayak", "kajak", 1),
        "more behind the seal": text + lines[at],
        "a stray mention": "".join([*lines[:2], lines[link], *lines[2:]]),
        "an unknown kind": "".join([*lines[:2], '["spell", {}]\n', *lines[2:]]),
        "a number for a row": "".join([*lines[:2], "7\n", *lines[2:]]),
        "a field missing": "".join([*lines[:at], '["units", {"unit_id": "x"}]\n', *lines[at:]]),
    }


def test_a_bad_archive_leaves_the_bank_empty(light: Hindsight) -> None:
    """A truncated, damaged or newer archive, or another file, gives a clear error, and the bank still accepts a valid one."""
    good = archived(filled(light))
    bank = light.bank("other")
    for name, text in damaged(good).items():
        assert text != good, name
        with pytest.raises(InvalidRequest, match="archive"):
            bank.archive.load(io.StringIO(text))
        assert (bank.count(), bank.recall("kayak").units, bank.entities.list()) == (0, (), []), name
    assert bank.archive.load(io.StringIO(good)) == 4


@pytest.mark.parametrize("version", [1, 6])
def test_an_archive_of_a_development_version_is_refused_by_name(light: Hindsight, version: int) -> None:
    """The error names the version that wrote it, the supported version and a remedy."""
    text = archived(filled(light))
    header = {"format": "hindsight-archive", "version": version}
    older = "".join([json.dumps(header) + "\n", *text.splitlines(keepends=True)[1:]])
    bank = light.bank("copy")
    with pytest.raises(ArchiveInvalid) as caught:
        bank.archive.load(io.StringIO(older))
    assert (caught.value.line, caught.value.field) == (1, "version")
    assert f"a development version (version {version})" in caught.value.reason
    assert "hindsight-memory-archive 1" in caught.value.reason
    assert "the checkout that wrote it" in caught.value.remedy
    assert bank.count() == 0


def test_vectors_of_another_embedder_are_refused(light: Hindsight, opener: Callable[..., Hindsight]) -> None:
    """An archive made with another embedder would give wrong results, so it is rejected."""
    text = archived(filled(light))
    bank = opener(embeddings=HashEmbedder(64)).bank("alice")
    with pytest.raises(EmbedderMismatch):
        bank.archive.load(io.StringIO(text))
    assert bank.count() == 0


def test_the_format_is_plain_lines(light: Hindsight) -> None:
    """Every line is JSON; the first names format and version, the last contains the number and a hash of the others."""
    lines = [json.loads(line) for line in archived(filled(light)).splitlines()]
    assert lines[0] == {"format": "hindsight-memory-archive", "version": 1}
    assert lines[-1]["rows"] == len(lines) - 2
    assert {"banks", "units", "vectors", "entities", "mentions", "message_keys"} <= {
        line[0] for line in lines[1:-1]
    }


def test_nothing_is_left_of_an_export_that_failed(light: Hindsight, tmp_path: Path) -> None:
    """A path that cannot be written raises OSError, and an existing archive stays."""
    with pytest.raises(OSError, match="No such file"):
        filled(light).archive.export(tmp_path / "missing" / "a.jsonl")
