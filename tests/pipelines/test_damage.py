"""Memories that differ from what was written are reported, left out, and never returned as true."""

from __future__ import annotations

import io
import logging
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hindsight_integrations import Hindsight, ItemPut
from hindsight_integrations.cli.app import app
from hindsight_integrations.errors import LedgerFailed, MemoryDamaged
from hindsight_integrations.testing.doubles import FixedReranker, HashEmbedder

Opener = Callable[..., Hindsight]


def kept(opener: Opener, path: Path) -> dict[str, str]:
    """Three memories in a closed directory; ids by text."""
    with opener(path) as engine:
        bank = engine.bank("alice")
        bank.retain("The locker code is 1033.", metadata={"from": "the desk"})
        bank.retain("The locker stands in the hall.")
        bank.retain("The locker door is red.")
        return {unit.text: unit.id for unit in bank.units().units}


def change_bytes(path: Path, old: bytes, new: bytes) -> None:
    """Change bytes on the disk, as a failing disk does, without SQLite."""
    file = path / "ledger.sqlite"
    content = file.read_bytes()
    assert content.count(old) >= 1
    assert len(old) == len(new)
    file.write_bytes(content.replace(old, new))


def change(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path / "ledger.sqlite", isolation_level=None)) as raw:
        assert raw.execute(statement).rowcount == 1


CODE = "UPDATE units SET {} WHERE text LIKE '%1033%'"
DAMAGES: dict[str, Callable[[Path], None]] = {
    "a bit of a figure": lambda path: change_bytes(path, b"code is 1033", b"code is 1032"),
    "a bit that makes the text invalid": lambda path: change_bytes(path, b"code is 1033", b"code is 103\xb3"),
    "a bit of its metadata": lambda path: change_bytes(path, b"the desk", b"the dusk"),
    "when it was mentioned": lambda path: change(path, CODE.format("mentioned_at = mentioned_at + 1024")),
    "when it happened": lambda path: change(path, CODE.format("occurred_start = 0, occurred_end = 4096")),
    "of which type it is": lambda path: change(path, CODE.format("fact_type = 'experience'")),
    "its tags": lambda path: change(path, CODE.format("tags = '[\"b\"]'")),
    "who said it": lambda path: change(path, CODE.format("speaker = 'Bob'")),
    "its own checksum": lambda path: change(path, CODE.format("checksum = checksum + 1")),
}


@pytest.mark.directory
@pytest.mark.promise(
    "A memory that differs from what was written is reported (`result.damaged`, "
    "`doctor(deep=True)`) and never served."
)
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=list(DAMAGES))
@pytest.mark.parametrize("reranker", [None, FixedReranker()], ids=["fused", "reranked"])
def test_a_damaged_memory_is_named_and_not_served(
    opener: Opener, tmp_path: Path, damage: Callable[[Path], None], reranker: FixedReranker | None
) -> None:
    """Recall and listings leave it out and report it; requests by id are rejected; the others are found as usual."""
    ids = kept(opener, tmp_path)
    bad = ids["The locker code is 1033."]
    damage(tmp_path)
    with opener(tmp_path, reranker=reranker) as engine:
        bank = engine.bank("alice")
        found = bank.recall("What is the locker code?", trace=True)
        assert {item.unit.text for item in found.units} == ids.keys() - {"The locker code is 1033."}
        assert found.damaged == (bad,)
        assert "103" not in found.explain()
        assert "damaged" in found.explain()
        page = bank.units()
        assert (len(page.units), page.total, page.damaged) == (2, 3, (bad,))
        for look in (bank.get, lambda unit: bank.edit(unit, tags=["kept"])):
            with pytest.raises(MemoryDamaged, match=bad):
                look(bad)
        units = bank.iterate_units()
        assert len([next(units), next(units)]) == 2
        with pytest.raises(MemoryDamaged, match=bad):
            next(units)
        health = engine.doctor(deep=True)
        assert (health.damaged, health.ledger, health.failures) == ({"alice": (bad,)}, (), {})
        assert engine.doctor().damaged == {}


@pytest.mark.directory
def test_what_cannot_be_read_at_all_does_not_keep_the_bank_shut(
    opener: Opener, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A type, tags or a record of the wrong kind: the bank opens without that memory, and doctor names it."""
    for field in (
        "fact_type = 'wor|d'",
        "tags = '[\"a'",
        "records = 'x'",
        "mentioned_at = 'then'",
        "sources = '['",
    ):
        path = tmp_path / field[:4]
        bad = kept(opener, path)["The locker code is 1033."]
        change(path, CODE.format(field))
        with opener(path) as engine:
            found = engine.bank("alice").recall("locker").units
            assert len(found) == 2, field
            assert engine.doctor(deep=True).damaged == {"alice": (bad,)}, field
    assert (
        caplog.text.count("skipped memories that cannot be read") == 3
    )  # damage that is visible in the columns; other damage is found on reading


@pytest.mark.directory
def test_damage_can_be_got_rid_of(opener: Opener, tmp_path: Path) -> None:
    """A damaged memory can be forgotten; until then, archive and reindex reject it."""
    bad = kept(opener, tmp_path)["The locker code is 1033."]
    change_bytes(tmp_path, b"code is 1033", b"code is 1032")
    with opener(tmp_path) as engine:
        bank = engine.bank("alice")
        with pytest.raises(MemoryDamaged, match=bad):
            bank.archive.export(tmp_path / "alice.archive")
        with pytest.raises(MemoryDamaged, match=bad):
            bank.maintenance.reindex()
        assert bank.forget(unit=bad).unit_ids == (bad,)
        assert engine.doctor(deep=True).damaged == {}
        bank.maintenance.reindex()
        bank.archive.export(tmp_path / "alice.archive")


@pytest.mark.directory
@pytest.mark.promise(
    "A memory that differs from what was written is reported (`result.damaged`, "
    "`doctor(deep=True)`) and never served."
)
def test_a_sum_is_not_made_without_a_damaged_record(opener: Opener, tmp_path: Path) -> None:
    """An incomplete sum would be wrong: records and aggregates name the damaged memory instead."""
    with opener(tmp_path) as engine:
        bank = engine.bank("alice")
        facts: list[dict[str, Any]] = [
            {
                "what": f"A coffee on day {price[0]}.",
                "record": {"kind": "expense", "value": price, "unit": "EUR"},
            }
            for price in ("3.25", "4.75")
        ]
        bank.retain("Two coffees.", facts=facts)
    change_bytes(tmp_path, b"4.75", b"6.75")
    with opener(tmp_path) as engine:
        bank = engine.bank("alice")
        for ask in (
            lambda: bank.records.list(kind="expense"),
            lambda: bank.records.aggregate("sum", kind="expense"),
        ):
            with pytest.raises(MemoryDamaged):
                ask()


@pytest.mark.directory
@pytest.mark.promise(
    "A memory that differs from what was written is reported (`result.damaged`, "
    "`doctor(deep=True)`) and never served."
)
@pytest.mark.parametrize("wrong", [b"code is 1032", b"code is 103\xb3"])
def test_a_damaged_passage_is_not_served(opener: Opener, tmp_path: Path, wrong: bytes) -> None:
    """The damaged source passage of an undamaged memory is left out, and the notes say so."""
    with opener(tmp_path) as engine:
        engine.bank("alice").retain(
            "The code is 1033. It is for the locker.",
            document_id="note",
            facts=[{"what": "The locker has a code."}],
        )
    change_bytes(tmp_path, b"code is 1033", wrong)
    with opener(tmp_path) as engine:
        found = engine.bank("alice").recall("locker code", include_chunks=True)
        assert [item.unit.text for item in found.units] == ["The locker has a code."]
        assert found.chunks == ()
        assert "chunks: 1 passages are damaged and left out" in found.trace.notes


@pytest.mark.directory
@pytest.mark.promise(
    "A memory that differs from what was written is reported (`result.damaged`, "
    "`doctor(deep=True)`) and never served."
)
def test_a_damaged_vector_is_named(opener: Opener, tmp_path: Path) -> None:
    """Recall does not check vectors; a deep check finds a damaged one, and reindex repairs it."""
    ids = kept(opener, tmp_path)
    blob = HashEmbedder().embed_documents(["anything"])[0].astype("<f4").tobytes()
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite", isolation_level=None)) as raw:
        raw.execute(
            "UPDATE vectors SET vector = ? WHERE unit = (SELECT id FROM units WHERE text LIKE '%1033%')",
            (blob,),
        )
    with opener(tmp_path) as engine:
        bank = engine.bank("alice")
        assert engine.doctor(deep=True).damaged == {"alice": (ids["The locker code is 1033."],)}
        assert len(bank.recall("locker").units) == 3
        bank.maintenance.reindex()
        assert engine.doctor(deep=True).damaged == {}


def test_whatever_changes_a_memory_keeps_its_checksum(opener: Opener, tmp_path: Path) -> None:
    """After closing, restoring, editing, reindexing, merging, export and import, checksums match."""
    with opener(tmp_path) as engine:
        bank = engine.bank("alice")
        bank.retain(
            [
                {"role": "user", "content": "Bob lives in Porto.", "id": "1", "name": "Ann"},
                {"role": "user", "content": "Bob works for Acme.", "id": "2"},
            ],
            thread="t",
            metadata={"b": "ü", "a": "1"},
            tags=["x"],
        )
        facts: list[dict[str, Any]] = [
            {"what": "Bob earns 4.50.", "record": {"kind": "pay", "value": 4.50, "unit": "EUR"}},
            {"what": "Bob moved.", "occurred_start": "2024-05", "fact_type": "experience"},
        ]
        bank.retain("Facts.", facts=facts)
        bank.retain([{"role": "user", "content": "Bob lives in Lisbon.", "id": "1"}], thread="t")
        closed = [unit for unit in bank.units(include_invalidated=True).units if unit.closed_at]
        assert closed
        assert engine.doctor(deep=True).damaged == {}
        bank.restore(closed[0].id)
        assert engine.doctor(deep=True).damaged == {}
        bank.edit(closed[0].id, text="Bob lived in Porto.", tags=["y"], metadata={"c": "d"})
        bank.maintenance.reindex()
        bank.archive.export(tmp_path / "alice.archive")
        engine.bank("copy").archive.load(tmp_path / "alice.archive")
        assert engine.doctor(deep=True).damaged == {}
        assert len(engine.bank("copy").units(include_invalidated=True).units) == bank.count()


@pytest.mark.slow
def test_a_malformed_page_is_one_error_with_a_remedy(opener: Opener, tmp_path: Path) -> None:
    """If SQLite reports damage, the caller gets a remedy, and doctor names the bank and the fault."""
    with opener(tmp_path) as engine:
        engine.bank("alice").retain(" ".join(f"Box {n} holds {n * 7} marbles." for n in range(2000)))
        engine.bank("bob").retain("Bob is well.")
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite")) as raw:
        (page,) = raw.execute("SELECT rootpage FROM sqlite_master WHERE name = 'units'").fetchone()
    with (tmp_path / "ledger.sqlite").open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(b"\xff" * 4096)
    with opener(tmp_path) as engine:
        with pytest.raises(LedgerFailed, match="restore the directory from a backup"):
            engine.bank("alice").units()
        health = engine.doctor(deep=True)
        assert health.ledger
        assert "alice" in health.failures


@pytest.mark.directory
def test_the_command_line_tells_of_damage(opener: Opener, tmp_path: Path) -> None:
    """`doctor --deep` names the memories, or reports that there are none."""
    ids = kept(opener, tmp_path)
    assert "all correct" in CliRunner().invoke(app, ["doctor", str(tmp_path), "--deep"]).stdout
    change_bytes(tmp_path, b"code is 1033", b"code is 1032")
    told = CliRunner().invoke(app, ["doctor", str(tmp_path), "--deep"]).stdout
    assert ids["The locker code is 1033."][:20] in told


@pytest.mark.directory
def test_no_text_reaches_the_log_or_an_error(
    opener: Opener, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """SQLite's message about invalid UTF-8 quotes the text; ours does not."""
    bad = kept(opener, tmp_path)["The locker code is 1033."]
    change_bytes(tmp_path, b"code is 1033", b"code is 103\xb3")
    with caplog.at_level(logging.DEBUG), opener(tmp_path) as engine:
        bank = engine.bank("alice")
        told = [str(asdict(bank.recall("locker"))), str(asdict(bank.units()))]
        with pytest.raises(MemoryDamaged) as caught:
            bank.get(bad)
        told.append(str(caught.value))
    assert "code is" not in caplog.text + "".join(told)


@pytest.mark.directory
@pytest.mark.parametrize(
    "damage",
    [
        "value = replace(value, '1033', '1032')",
        "key = 'other'",
        "namespace = 'b.'",
        "updated_at = 5",
        "checksum = 1",
    ],
)
def test_a_damaged_item_is_named_and_not_served(opener: Opener, tmp_path: Path, damage: str) -> None:
    """Neither lookups, lists, searches nor archives return it; the deep check names it; forgetting or replacing it repairs the bank."""
    with opener(tmp_path) as engine:
        items = engine.bank("store").items
        items.write([ItemPut(("a",), "k", {"code": 1033}, ("locker code",)), ItemPut(("c",), "l", {})])
    change(tmp_path, f"UPDATE items SET {damage} WHERE key = 'k'")
    engine = opener(tmp_path)
    bank = engine.bank("store")
    for read in (
        bank.items.search,
        lambda: bank.items.search(query="locker"),
        lambda: bank.archive.export(io.StringIO()),
    ):
        with pytest.raises(MemoryDamaged, match=r"items\.forget"):
            read()
    (named,) = engine.doctor(deep=True).damaged["store"]
    assert named.startswith("item ")
    assert bank.items.get([(("c",), "l")]) != [None]
    for namespace in ("a",), ("b",):
        bank.items.forget(namespace)
    assert len(bank.items.search()) == 1
    assert engine.doctor(deep=True).damaged == {}
