"""Invalid input: each kind gives a clear error or is cleaned as documented, and the ledger is unchanged."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from table import every_row

from hindsight_integrations import (
    BankNotFound,
    BankReference,
    Document,
    EmbedderMismatch,
    EngineClosed,
    Hindsight,
    InvalidRequest,
    LedgerBusy,
    LedgerReadOnly,
    MalformedOutput,
    MemoryBank,
    SchemaMismatch,
    StorageError,
    bank_at,
)
from hindsight_integrations.model.arrays import Matrix
from hindsight_integrations.testing import ScriptedModel
from hindsight_integrations.testing.doubles import HashEmbedder


@every_row(
    ("content", "message"),
    [
        ("", "text: it is empty"),
        ("  \n\t ", "text: it is empty"),
        ("\x00\x07", "text: it is empty"),
        ("x" * 1_000_001, "1,000,001 characters, over the limit of 1,000,000"),
        ([], "no message has text to retain"),
        ([{"role": "user", "content": " "}], "no message has text to retain"),
        ([{"role": "system", "content": "be kind"}], "no message has text to retain"),
        ([{"role": "user"}], "has no content"),
        ([42], "int is not a message"),
        (42, "int cannot be retained"),
        (b"bytes", "bytes cannot be retained"),
        ({"role": "user", "content": "x"}, "dict cannot be retained"),
        (
            [{"content": "a", "id": "1"}, {"content": "b", "id": "1"}],
            "id '1' is used by two different messages",
        ),
        (Document("a", timestamp="0000-01-01"), "cannot be read as a time"),
        (Document("a", timestamp="9999-12-31T23:59:59.999999"), None),
    ],
)
def test_what_cannot_be_retained_says_why(light: Hindsight, content: Any, message: str | None) -> None:
    """Every invalid input raises InvalidRequest with the field and the remedy, and stores nothing."""
    bank = light.bank("alice")
    if message is None:
        assert bank.retain(content).created == 1
        return
    with pytest.raises(InvalidRequest, match=message):
        bank.retain(content)
    assert bank.count() == 0


@every_row(
    ("options", "message"),
    [
        ({"tags": "work"}, "is a single string"),
        ({"tags": ["x"] * 2 + [f"t{n}" for n in range(65)]}, "over the limit of 64"),
        ({"tags": [""]}, "tag: it is empty"),
        ({"metadata": {"a": "x" * 17_000}}, "over the limit of 16,384"),
        ({"timestamp": "soon"}, "timestamp: 'soon' cannot be read"),
        ({"entities": [""]}, "entity: it is empty"),
        ({"document_id": ""}, "document_id: it is empty"),
    ],
)
def test_options_of_retain_are_checked(light: Hindsight, options: dict[str, Any], message: str) -> None:
    """The error names the option that is out of range, and nothing is stored."""
    bank = light.bank("alice")
    with pytest.raises(InvalidRequest, match=message):
        bank.retain("Alice likes plums.", **options)
    assert bank.count() == 0


RECORD_KEYS = "Allowed keys: kind, category, value, unit."


@every_row(
    ("part", "where", "keys", "allowed"),
    [
        ({"texts": "x"}, "", "unknown key 'texts'.", "Allowed keys: what, when, where, who, why, fact_type,"),
        (
            {"entitys": []},
            "",
            "unknown key 'entitys' (did you mean 'entities'?).",
            "entities, causal_relations",
        ),
        ({"date": "2024"}, "", "unknown key 'date' (did you mean 'occurred_start'?).", "occurred_start"),
        ({7: "x"}, "", "unknown key 7.", "Allowed keys: what"),
        (
            {"records": [{"kind": "expense", "amount": 5, "currency": "EUR"}]},
            ".records[0]",
            "unknown keys 'amount' (did you mean 'value'?), 'currency' (did you mean 'unit'?).",
            RECORD_KEYS,
        ),
        (
            {"record": {"kind": "expense", "value": 5, "Unit": "EUR"}},
            ".record[0]",
            "unknown key 'Unit' (did you mean 'unit'?).",
            RECORD_KEYS,
        ),
        (
            {"entities": ["Ann", {"text": "Bob", "name": "Bob"}]},
            ".entities[1]",
            "unknown key 'name' (did you mean 'text'?).",
            "Allowed keys: text, type.",
        ),
        (
            {"changes": [{"sources": ["p1"], "change": "ends", "item": [2]}]},
            ".changes[0]",
            "unknown key 'item' (did you mean 'items'?).",
            "Allowed keys: memory, unit_id, sources, change, items, removed.",
        ),
        (
            {"adds_to": {"unit_id": "u1", "x": 1}},
            ".adds_to",
            "unknown key 'x'.",
            "Allowed keys: memory, unit_id, sources.",
        ),
    ],
)
def test_unknown_keys_of_a_callers_fact_are_refused(
    light: Hindsight, part: dict[Any, Any], where: str, keys: str, allowed: str
) -> None:
    """The error names a misspelt key of a fact or its record with its path and the allowed keys, and nothing is stored."""
    bank = light.bank("alice")
    with pytest.raises(InvalidRequest) as refused:
        bank.retain("Hi. A coffee.", facts=[{"what": "Hi."}, {"what": "A coffee."} | part])
    assert refused.value.field == f"facts[1]{where}"
    assert str(refused.value).startswith(f"facts[1]{where}: {keys} Allowed keys: ")
    assert allowed in str(refused.value)
    assert bank.count() == 0


def test_unknown_keys_of_a_models_fact_cost_nothing() -> None:
    """A key that a model adds to a fact or its record is ignored; the fact and its other values are stored."""
    record = {"kind": "expense", "category": "coffee", "value": 5, "unit": "EUR", "currency": "EUR"}
    answer = {"facts": [{"what": "Alice bought a coffee.", "mood": "good", "records": [record]}]}
    with Hindsight.open(
        ":memory:", model=ScriptedModel([answer]), embeddings=HashEmbedder(), reranker=None
    ) as engine:
        bank = engine.bank("alice")
        result = bank.retain("A coffee, 5 euros.")
        assert (result.created, result.dropped) == (1, ())
        assert bank.records.aggregate("sum", kind="expense").value == 5


@every_row(
    ("query", "options", "message"),
    [
        ("", {}, "query: it is empty"),
        ("   ", {}, "query: it is empty"),
        ("x" * 8_001, {}, "over the limit of 8,000"),
        ("q", {"max_tokens": 0}, "max_tokens: 0 is not a whole number from 1"),
        ("q", {"max_tokens": -5}, "max_tokens"),
        ("q", {"max_tokens": 1.5}, "max_tokens"),
        ("q", {"k": 0}, "k: 0 is not"),
        ("q", {"budget": "huge"}, "Use one of: low, mid, high"),
        ("q", {"types": ["dream"]}, "Use one of: world, experience, opinion, observation"),
        ("q", {"types": []}, "types: it is empty"),
        ("q", {"tags_match": "most"}, "Use one of: any, all"),
        ("q", {"window": ("2024-02-01", "2024-01-01")}, "before it starts"),
        ("q", {"window": ("2024-02-01", None)}, "a bound is missing"),
        ("q", {"as_of": "never"}, "as_of: 'never' cannot be read"),
    ],
)
def test_what_cannot_be_asked_says_why(
    light: Hindsight, query: str, options: dict[str, Any], message: str
) -> None:
    """Every invalid query raises InvalidRequest with the field and the remedy."""
    bank = light.bank("alice")
    bank.retain("Alice likes plums.")
    with pytest.raises(InvalidRequest, match=message):
        bank.recall(query, **options)


@every_row("query", ["the of and", "🙂🙃", "?!", "\ud800 broken", "a\x00b", "AND (OR title: *", "東京"])
def test_odd_questions_are_answered(real: Hindsight, query: str) -> None:
    """Stop words, emoji, lone surrogates and query syntax give a result, not an error."""
    bank = real.bank("alice")
    bank.retain("Alice likes plums.")
    assert bank.recall(query).tokens >= 0


def test_lone_surrogates_and_control_characters_are_cleaned(real: Hindsight) -> None:
    """They are replaced or removed as documented, and the memory is found."""
    bank = real.bank("alice")
    bank.retain("Alice \ud800likes\x00 plums\x07.\nAnd tea.", document_id="d\x00")
    text = bank.recall("plums").units[0].unit.text
    assert text == "Alice \ufffdlikes plums.\nAnd tea."


class NanEmbedder(HashEmbedder):
    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        vectors = super().embed_documents(texts)
        vectors[0, 0] = np.nan
        return vectors


class ShortEmbedder(HashEmbedder):
    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        return super().embed_documents(texts)[:, :7]


@pytest.mark.parametrize(
    ("embedder", "message"), [(NanEmbedder(), "NaN"), (ShortEmbedder(), r"vectors of shape \(1, 7\)")]
)
def test_vectors_that_are_none_are_refused(
    opener: Callable[..., Hindsight], embedder: HashEmbedder, message: str
) -> None:
    """NaN or vectors of another length raise MalformedOutput and store nothing."""
    bank = opener(embeddings=embedder).bank("alice")
    with pytest.raises(MalformedOutput, match=message):
        bank.retain("Alice likes plums.")
    assert bank.count() == 0


@every_row("name", ["", "  ", "x" * 513, "a\x00b", "a\ud800", None, 7])
def test_names_that_cannot_be_banks(light: Hindsight, name: Any) -> None:
    """Empty, over-long and unprintable bank ids are rejected."""
    with pytest.raises(InvalidRequest, match="bank id"):
        light.bank(name)


@pytest.mark.parametrize("name", ["../../etc/passwd", "team/alice", "ä漢字 🙂", "x" * 512, "CON", "."])
def test_any_other_name_is_a_bank(opener: Callable[..., Hindsight], tmp_path: Path, name: str) -> None:
    """Slashes, dots, any script and 512 characters are accepted, and nothing is written outside the directory."""
    home = tmp_path / "home"
    opener(home).bank(name).retain("Alice likes plums.")
    assert [entry.name for entry in tmp_path.iterdir()] == ["home"]


def test_an_unknown_bank_is_named_with_the_known_ones(light: Hindsight) -> None:
    """create=False raises BankNotFound, a LookupError that lists the existing banks."""
    light.bank("alice")
    with pytest.raises(BankNotFound, match=r"'bob' \(banks here: 'alice'\)"):
        light.bank("bob", create=False)
    assert light.banks() == ["alice"]


@pytest.mark.directory
@pytest.mark.promise(
    "Only one process can write to a data directory; others can open it with `read_only=True`."
)
def test_a_locked_directory_names_the_owner(opener: Callable[..., Hindsight], tmp_path: Path) -> None:
    """A second engine on the same directory is rejected with the pid of the first; a read-only engine can be opened."""
    opener(tmp_path).bank("alice").retain("Alice likes plums.")
    with pytest.raises(LedgerBusy, match=rf"in this process \({os.getpid()}\)"):
        opener(tmp_path)
    reader = opener(tmp_path, read_only=True)
    assert reader.bank("alice").recall("plums").units[0].unit.text == "Alice likes plums."
    with pytest.raises(InvalidRequest, match="read-only"):
        reader.bank("alice").retain("Alice likes figs.")


@pytest.mark.directory
def test_a_cell_that_runs_twice_is_told_how_to_go_on(
    opener: Callable[..., Hindsight], tmp_path: Path
) -> None:
    """The error of a second `Hindsight.open` in a notebook lists remedies, each of which works."""
    first, place = opener(tmp_path), str(tmp_path.resolve())
    first.bank("alice").retain("Alice likes plums.")
    with pytest.raises(LedgerBusy) as caught:
        opener(tmp_path / ".." / tmp_path.name)
    for words in ("already open", "notebook", "close()", f"bank_at(BankReference({place!r}, name))"):
        assert words in str(caught.value)
    assert MemoryBank.over(bank_at(BankReference(place, "alice"))).count() == 1
    first.close()
    assert opener(tmp_path).bank("alice").count() == 1


def test_a_reader_sees_what_the_writer_adds(opener: Callable[..., Hindsight], tmp_path: Path) -> None:
    """A read-only engine finds memories that another engine retained after it was opened."""
    writer = opener(tmp_path).bank("alice")
    writer.retain("Alice likes plums.")
    reader = opener(tmp_path, read_only=True).bank("alice")
    assert reader.recall("figs").units == () or "figs" not in reader.recall("figs").units[0].unit.text
    writer.retain("Bob likes figs.")
    assert reader.recall("figs").units[0].unit.text == "Bob likes figs."


def test_a_file_instead_of_a_directory(opener: Callable[..., Hindsight], tmp_path: Path) -> None:
    """Opening a file raises a clear storage error."""
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageError, match="file"):
        opener(tmp_path / "file")


@pytest.mark.directory
def test_a_newer_schema_is_refused(opener: Callable[..., Hindsight], tmp_path: Path) -> None:
    """A ledger of a later version is not changed."""
    opener(tmp_path).close()
    with sqlite3.connect(tmp_path / "ledger.sqlite") as connection:
        connection.execute("PRAGMA user_version = 999")
    with pytest.raises(SchemaMismatch, match="Upgrade"):
        opener(tmp_path)


def test_another_embedder_is_refused_until_reindexed(
    opener: Callable[..., Hindsight], tmp_path: Path
) -> None:
    """A bank remembers its embedder; reindex embeds everything again with the current one."""
    with opener(tmp_path) as first:
        first.bank("alice").retain("Alice likes plums.")
    bank = opener(tmp_path, embeddings=HashEmbedder(128)).bank("alice")
    with pytest.raises(EmbedderMismatch, match=r"hash-embedder \(256-d\), not hash-embedder \(128-d\)"):
        bank.recall("plums")
    with pytest.raises(EmbedderMismatch, match="reindex"):
        bank.retain("Alice likes figs.")
    assert bank.maintenance.reindex() == 1
    assert bank.retain("Alice likes figs.").created == 1
    assert bank.recall("plums").units[0].unit.text == "Alice likes plums."


def test_a_closed_engine_says_so(light: Hindsight) -> None:
    """Every method raises EngineClosed after close; closing twice is allowed."""
    bank = light.bank("alice")
    light.close()
    light.close()
    for use in (lambda: bank.recall("x"), lambda: bank.retain("x"), lambda: light.bank("bob"), light.banks):
        with pytest.raises(EngineClosed):
            use()


@pytest.mark.slow
def test_a_forked_child_is_refused() -> None:
    """After os.fork the child's engine raises EngineClosed instead of hanging; the parent's continues."""
    script = """
import os
from hindsight_integrations import Hindsight, EngineClosed
from hindsight_integrations.testing.doubles import HashEmbedder
engine = Hindsight.open(":memory:", embeddings=HashEmbedder(), reranker=None)
bank = engine.bank("alice")
bank.retain("Alice likes plums.")
pid = os.fork()
if pid == 0:
    try:
        bank.recall("plums")
    except EngineClosed as error:
        os._exit(0 if "fork" in str(error) else 2)
    os._exit(1)
assert os.waitpid(pid, 0)[1] == 0
assert bank.recall("plums").units
engine.close()
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_a_sync_call_from_the_engine_own_loop_is_refused(light: Hindsight) -> None:
    """A sync call inside the engine's event loop raises at once instead of waiting forever."""
    bank = light.bank("alice")

    async def inside() -> None:
        bank.recall("x")

    with pytest.raises(InvalidRequest, match="async API"):
        light._loop.run(inside)


@pytest.fixture
def ordinary_user() -> Any:
    """Tests may run as root, who has all permissions; these run as nobody."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    yield
    os.seteuid(0)


@pytest.mark.directory
@pytest.mark.parametrize("below", ["", "new/folder"])
def test_a_directory_that_cannot_be_written(
    ordinary_user: None, opener: Callable[..., Hindsight], below: str
) -> None:
    """The error names an unwritable directory, or one that cannot be created."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o555)
        with pytest.raises(LedgerReadOnly, match=f"{folder}.* cannot be written"):
            opener(Path(folder, below))
        Path(folder).chmod(0o755)


@pytest.mark.directory
def test_a_directory_that_became_unwritable_is_left_as_it_was(opener: Callable[..., Hindsight]) -> None:
    """A memory with read-only files can still be opened with read_only=True and recalled."""
    with tempfile.TemporaryDirectory() as folder:
        with opener(folder) as engine:
            engine.bank("alice").retain("Alice likes plums.")
        before = sorted(path.name for path in Path(folder).rglob("*"))
        reader = opener(folder, read_only=True)
        assert reader.bank("alice").recall("plums").units[0].unit.text == "Alice likes plums."
        reader.close()
        assert sorted(
            path.name for path in Path(folder).rglob("*") if not path.name.endswith(("-shm", "-wal"))
        ) == [name for name in before if not name.endswith(("-shm", "-wal"))]
