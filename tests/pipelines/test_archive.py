"""A bank as one file: what goes out comes in the same, and a bad file changes nothing."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from hindsight_integrations import EmbedderMismatch, Hindsight, InvalidRequest, MemoryBank, Message
from hindsight_integrations.model.tasks import TaskKind, TaskState
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


def test_a_bank_comes_back_the_same(opener: Callable[..., Hindsight], tmp_path: Path) -> None:
    """Exported and imported elsewhere, a bank gives the same memories with the same ids, scores, names and history."""
    first = filled(opener(tmp_path / "one"))
    assert first.archive.export(tmp_path / "alice.jsonl") == first.count() == 4
    second = opener(tmp_path / "two").bank("alice")
    assert second.archive.load(tmp_path / "alice.jsonl") == 4
    assert answers(second) == answers(first)
    assert (second.profile.get(), second.entities.list()) == (first.profile.get(), first.entities.list())
    assert [c.names for c in second.entities.changes()] == [("the captain",)]
    lines = archived(first).splitlines()[2:-1]
    assert archived(second).splitlines()[2:-1] == lines
    assert second.retain(TALK, thread="t").created == 0
    assert not list(tmp_path.glob("*.part"))


def test_an_imported_bank_survives_reopening(opener: Callable[..., Hindsight], tmp_path: Path) -> None:
    """Indexes of an imported bank are the ledger's, after a restart too."""
    text = archived(filled(opener()))
    with opener(tmp_path / "two") as engine:
        engine.bank("copy").archive.load(io.StringIO(text))
    again = opener(tmp_path / "two")
    assert "m1" in again.bank("copy").recall("red kayak").units[0].unit.sources
    assert again.doctor().failures == {}


def test_an_archive_from_before_speakers_comes_in(light: Hindsight) -> None:
    """The first archives do not say who said what: their memories come in without it, seal and all."""
    lines = archived(filled(light)).splitlines()[:-1]
    seal = json.loads(archived(light.bank("alice")).splitlines()[-1])
    header, *rows = [json.loads(line) for line in lines]
    rows = [header, *(row for row in rows if row[0] != "turn")]
    for row in rows[1:]:
        row[1].pop("speaker", None)
    older = "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)
    sealed = (
        older
        + json.dumps({**seal, "rows": len(rows) - 1, "sha256": hashlib.sha256(older.encode()).hexdigest()})
        + "\n"
    )
    copy = light.bank("copy")
    assert copy.archive.load(io.StringIO(sealed)) == 4
    assert {unit.speaker for unit in copy.units().units} == {""}


def test_an_archive_from_before_there_were_several_records_comes_in(light: Hindsight) -> None:
    """Version 1 has the only record on the memory's own line, whatever word was its kind; sums over it are exact."""
    bank = light.bank("alice")
    bank.retain("Alice paid for plums.", facts=[{"what": f"Alice paid on day {n}."} for n in range(3)])
    header, *lines, seal = archived(bank).splitlines()
    rows = [json.loads(line) for line in lines]
    for number, (_, fields) in enumerate(row for row in rows if row[0] == "unit"):
        fields["record"] = (
            ["purchase", f"{number}.10", True, "Plums" if number else "", "EUR"] if number else None
        )
    texts = [json.dumps({**json.loads(header), "version": 1}), *(json.dumps(row) for row in rows)]
    older = "".join(text + "\n" for text in texts)
    sealed = json.dumps({**json.loads(seal), "sha256": hashlib.sha256(older.encode()).hexdigest()})
    copy = light.bank("copy")
    assert copy.archive.load(io.StringIO(f"{older}{sealed}\n")) == 3
    found = copy.records.aggregate("sum", kind="expense", category="plums")
    assert (found.value, found.unit, len(found.units)) == (Decimal("3.20"), "EUR", 2)
    assert light.doctor(deep=True).damaged == {}


def test_tasks_of_an_archive_wait_for_whoever_takes_it_in(light: Hindsight) -> None:
    """Work that somebody did when an archive of before leases had numbers was made is due here, whatever lease it tells of."""
    header, *lines, seal = archived(filled(light)).splitlines()
    task = {"kind": "extract_queued", "payload": "{}", "attempts": 2, "not_before": 5, "last_error": "why"}
    leased = {**task, "state": "leased", "lease_until": 4_000_000_000_000_000}
    texts = [json.dumps({**json.loads(header), "version": 2}), *lines, json.dumps(["task", leased])]
    older = "".join(text + "\n" for text in texts)
    rows = json.loads(seal)["rows"] + 1
    sealed = json.dumps(
        {**json.loads(seal), "rows": rows, "sha256": hashlib.sha256(older.encode()).hexdigest()}
    )
    copy = light.bank("copy")
    copy.archive.load(io.StringIO(f"{older}{sealed}\n"))
    (taken,) = (each for each in copy.tasks.list() if each.kind is TaskKind.EXTRACT_QUEUED)
    assert (taken.state, taken.attempts, taken.lease_until, taken.key) == (TaskState.PENDING, 2, None, "")
    assert taken.reason == "why"


def test_only_an_empty_bank_takes_an_archive(light: Hindsight) -> None:
    """Import never mixes into what is there; an emptied bank takes it."""
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
    at = next(i for i, line in enumerate(lines) if line.startswith('["unit"'))
    link = next(i for i, line in enumerate(lines) if line.startswith('["mention"'))
    return {
        "empty": "",
        "no archive": '{"facts": []}\n',
        "not json": "PK\x03\x04",
        "newer": text.replace('"version":6', '"version":7'),
        "cut at a line": "".join(lines[:-1]),
        "cut in a line": text[: len(text) // 2],
        "a line lost": "".join(lines[:at] + lines[at + 1 :]),
        "a line twice": "".join(lines[: at + 1] + lines[at:]),
        "a letter changed": text.replace("kayak", "kajak", 1),
        "more behind the seal": text + lines[at],
        "a stray mention": "".join([*lines[:2], lines[link], *lines[2:]]),
        "an unknown kind": "".join([*lines[:2], '["spell", {}]\n', *lines[2:]]),
        "a number for a row": "".join([*lines[:2], "7\n", *lines[2:]]),
        "a field missing": "".join([*lines[:at], '["unit", {"unit_id": "x"}]\n', *lines[at:]]),
    }


def test_a_bad_archive_leaves_the_bank_empty(light: Hindsight) -> None:
    """Cut short, damaged, newer or no archive at all: a clear error, and the bank can still take the good one."""
    good = archived(filled(light))
    bank = light.bank("other")
    for name, text in damaged(good).items():
        assert text != good, name
        with pytest.raises(InvalidRequest, match="archive"):
            bank.archive.load(io.StringIO(text))
        assert (bank.count(), bank.recall("kayak").units, bank.entities.list()) == (0, (), []), name
    assert bank.archive.load(io.StringIO(good)) == 4


def test_vectors_of_another_embedder_are_refused(light: Hindsight, opener: Callable[..., Hindsight]) -> None:
    """An archive made with another embedder would answer nonsense, so it is not taken."""
    text = archived(filled(light))
    bank = opener(embeddings=HashEmbedder(64)).bank("alice")
    with pytest.raises(EmbedderMismatch):
        bank.archive.load(io.StringIO(text))
    assert bank.count() == 0


def test_the_format_is_plain_lines(light: Hindsight) -> None:
    """Every line is JSON on its own; the first names format and version, the last counts and seals the others."""
    lines = [json.loads(line) for line in archived(filled(light)).splitlines()]
    assert lines[0] == {"format": "hindsight-archive", "version": 6}
    assert lines[-1]["rows"] == len(lines) - 2
    assert {"bank", "unit", "entity", "mention", "message"} <= {line[0] for line in lines[1:-1]}


def test_nothing_is_left_of_an_export_that_failed(light: Hindsight, tmp_path: Path) -> None:
    """A path that cannot be written is the caller's OSError, and an archive that is there already stays."""
    with pytest.raises(OSError, match="No such file"):
        filled(light).archive.export(tmp_path / "missing" / "a.jsonl")
