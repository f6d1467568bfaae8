"""One memory on PostgreSQL, used by several engines at the same time, as by several processes."""

from __future__ import annotations

import io
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import psycopg
import pytest
import sqlalchemy as sa
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.storage.chat_store import SimpleChatStore
from postgres_server import Databases
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.pool import PoolProxiedConnection

from hindsight_integrations import BankCopy, ExtractedFact, Hindsight, HindsightConfig, Message
from hindsight_integrations.config import KeywordBackend, StorageConfig
from hindsight_integrations.errors import (
    BankForgotten,
    BankLocked,
    InvalidRequest,
    LedgerFailed,
    LedgerReadOnly,
    LedgerUnreachable,
)
from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.ledger.postgresql import PostgresDatabase, checked_address
from hindsight_integrations.ledger.sql import SENT_LATER
from hindsight_integrations.llamaindex import HindsightMemory
from hindsight_integrations.model.clock import SystemClock
from hindsight_integrations.testing.doubles import HashEmbedder

pytestmark = pytest.mark.slow

LISBON = "Alice moved to Lisbon in May 2024."
CONFIG = HindsightConfig(storage=StorageConfig(keywords=KeywordBackend.FTS5))

Process = Callable[..., Hindsight]
T = TypeVar("T")


@pytest.fixture
def address(databases: Databases) -> str:
    """The address of an empty database."""
    return databases.address("shared")


@pytest.fixture
def process(address: str, tmp_path: Path) -> Iterator[Process]:
    """Opens engines on one database and one cache."""
    opened: list[Hindsight] = []

    def open_engine(**options: object) -> Hindsight:
        given = {
            "embeddings": HashEmbedder(),
            "reranker": None,
            "config": CONFIG,
            "cache": tmp_path / "cache",
        }
        opened.append(Hindsight.open(address, **{**given, **options}))  # type: ignore[arg-type] # of any type
        return opened[-1]

    yield open_engine
    for engine in opened:
        engine.close()


def texts(engine: Hindsight, query: str) -> list[str]:
    """The texts that bank "alice" of an engine recalls."""
    return [unit.text for unit in engine.bank("alice").recall(query).units]


def cut_connections(address: str) -> None:
    """End all connections of engines to a database, as a restart of the server does."""
    url = checked_address(address)
    engine = sa.create_engine(
        url.set(database="postgres"), isolation_level="AUTOCOMMIT", poolclass=sa.NullPool
    )
    with engine.connect() as connection:
        connection.execute(
            sa.text("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = :name"),
            {"name": url.database},
        )


def again(call: Callable[[], T]) -> T:
    """Repeat a call until the ended connections are replaced."""
    for _ in range(20):
        try:
            return call()
        except LedgerUnreachable:
            continue
    return call()


@contextmanager
def round_trips() -> Iterator[list[str]]:
    """Statements whose answer the block waits for, at any server; the others are sent together with the next one."""
    waited: list[str] = []

    def note(
        _connection: object, _cursor: object, statement: str, _values: object, context: Any, *_: object
    ) -> None:
        if context.execution_options.get(SENT_LATER) is None:
            waited.append(statement)

    sa.event.listen(sa.Engine, "before_cursor_execute", note)
    try:
        yield waited
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", note)


def files_with(folder: Path, word: str) -> list[Path]:
    """The files below a folder that contain a word."""
    return [file for file in folder.rglob("*") if file.is_file() and word.encode() in file.read_bytes()]


@pytest.mark.promise(
    "On PostgreSQL, every process reads every acknowledged write, and nothing acknowledged is lost or stored twice, even if "
    "processes or the server are killed and connections are cut at any moment."
)
def test_every_process_reads_every_acknowledged_write(process: Process) -> None:
    """A memory retained by one process is recalled by another at once, in both directions."""
    first, second = process(), process()
    first.bank("alice").retain(LISBON)
    assert texts(second, "Where does Alice live?") == [LISBON]
    second.bank("alice").retain("Alice adopted a parrot named Kiwi.")
    assert "Alice adopted a parrot named Kiwi." in texts(first, "What is the parrot's name?")


def test_concurrent_writers_of_a_bank_lose_nothing(process: Process) -> None:
    """Eight writers in two processes write to one bank concurrently; each memory is stored once."""
    engines = [process(), process()]
    said = [f"Alice saw bird number {number}." for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: engines[number % 2].bank("alice").retain(said[number]), range(40)))
    for engine in engines:
        found = engine.bank("alice").recall("bird", max_tokens=100_000).units
        assert sorted(unit.text for unit in found) == sorted(said)


def test_what_one_process_forgets_no_other_serves_or_keeps(process: Process, tmp_path: Path) -> None:
    """An erased memory is in no answer of another process, and after that answer in none of its files."""
    first, second = process(), process()
    first.bank("alice").retain("Alice's code word is quetzalcoatl.")
    assert texts(second, "What is the code word?")
    second.close()  # writes its indexes
    second = process()
    assert texts(second, "What is the code word?")
    first.bank("alice").forget(text="quetzalcoatl")
    assert texts(second, "What is the code word?") == []
    assert files_with(tmp_path / "cache", "quetzalcoatl") == []


def unconfirmed(copies: Sequence[BankCopy]) -> list[str]:
    """The places ("memory" or a folder) of the copies that have not confirmed an erasure."""
    return sorted(Path(copy.place).name.partition(" ")[0] for copy in copies if not copy.confirmed)


def wait_until_confirmed(engine: Hindsight, bank: str = "alice") -> None:
    """Wait until all copies of a bank have confirmed its erasures."""
    end = time.monotonic() + 30
    while unconfirmed(engine.copies(bank)):
        assert time.monotonic() < end, engine.copies(bank)


@pytest.mark.promise(
    "A receipt lists the copies of a bank in all processes and cache folders, and a copy that has confirmed an erasure contains no erased data."
)
def test_a_receipt_lists_the_copies_that_have_not_confirmed(process: Process) -> None:
    """A folder and the memory of a process confirm at their next answer about the bank; the folders of ended processes stay listed."""
    first, second, third, closed = process(), process(), process(cache=None), process()
    first.bank("alice").retain("Alice's code word is quetzalcoatl.")
    for engine in (second, third, closed):
        assert texts(engine, "What is the code word?")
    closed.close()
    receipt = first.bank("alice").forget(text="quetzalcoatl")
    assert len(receipt.copies) == 4
    assert unconfirmed(receipt.copies) == ["001", "002", "memory"]
    assert unconfirmed(first.doctor().unconfirmed) == ["001", "002", "memory"]
    assert texts(second, "code") == texts(third, "code") == []
    assert unconfirmed(first.copies("alice")) == ["002"]
    third.close()
    assert len(first.copies("alice")) == 3
    reopened = process()
    assert texts(reopened, "code") == []
    assert unconfirmed(first.copies("alice")) == []


def test_an_idle_process_confirms_by_itself(process: Process, tmp_path: Path) -> None:
    """With a worker, erasures are applied to open and closed banks, and files of dropped banks are deleted, without a call."""
    storage = StorageConfig(keywords=KeywordBackend.FTS5, open_banks=1)
    first, idle = process(cache=None), process(worker=True, config=HindsightConfig(storage=storage))
    for name in ("alice", "bob", "carol"):
        first.bank(name).retain("The code word is quetzalcoatl.")
        assert idle.bank(name).recall("code").units
    assert files_with(tmp_path / "cache", "quetzalcoatl")
    first.bank("alice").forget(text="quetzalcoatl")
    assert unconfirmed(first.forget_bank("bob").copies) == ["000"]
    first.bank("carol").forget(everything=True)
    for name in ("alice", "bob", "carol"):
        wait_until_confirmed(first, name)
    assert files_with(tmp_path / "cache", "quetzalcoatl") == []
    assert first.copies("bob") == ()
    assert [copy.confirmed for copy in first.copies("carol")] == [True, True]


SERVER = """
import sys
from pathlib import Path
from hindsight_integrations import Hindsight, HindsightConfig
from hindsight_integrations.config import KeywordBackend, StorageConfig
from hindsight_integrations.testing.doubles import HashEmbedder

storage = StorageConfig(keywords=KeywordBackend.FTS5, open_banks=1)
hindsight = Hindsight.open(sys.argv[1], cache=sys.argv[2], config=HindsightConfig(storage=storage),
                           embeddings=HashEmbedder(), reranker=None)
for line in sys.stdin:
    found = hindsight.bank(line.strip()).recall("What is the code word?").units
    print([unit.text for unit in found], flush=True)
"""
"""A process that recalls from each bank whose name it reads, and keeps the files of the bank before it."""


class Server:
    """A process that runs `SERVER`."""

    def __init__(self, address: str, cache: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVER, address, str(cache)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def recall(self, bank: str) -> str:
        """The memories that it recalls from a bank."""
        self.send(bank)
        return self.answer()

    def send(self, bank: str) -> None:
        """Send a request without waiting for the answer."""
        assert self.process.stdin
        self.process.stdin.write(f"{bank}\n")
        self.process.stdin.flush()

    def answer(self) -> str:
        """Wait for an answer."""
        assert self.process.stdout
        return self.process.stdout.readline()


@pytest.mark.promise(
    "A receipt lists the copies of a bank in all processes and cache folders, and a copy that has confirmed an erasure contains no erased data."
)
def test_a_stopped_or_killed_process_confirms_later_and_serves_nothing_erased(
    address: str, process: Process, tmp_path: Path
) -> None:
    """A process resumed after an erasure returns nothing erased; a killed one's folder confirms when another process takes it over."""
    cache, engine = tmp_path / "cache", process(cache=None)
    for bank in ("alice", "bob"):
        engine.bank(bank).retain("Alice's code word is quetzalcoatl.")
    killed, stopped = Server(address, cache), Server(address, cache)
    for server in (killed, stopped):
        for bank in ("alice", "bob"):
            assert "quetzalcoatl" in server.recall(bank)
    stopped.process.send_signal(signal.SIGSTOP)
    killed.process.kill()
    killed.process.wait()
    receipt = engine.bank("alice").forget(text="quetzalcoatl")
    engine.bank("bob").forget(text="quetzalcoatl")
    assert unconfirmed(receipt.copies) == ["000", "001"]
    stopped.send("alice")
    stopped.process.send_signal(signal.SIGCONT)
    assert stopped.answer() == stopped.recall("bob") == "[]\n"
    (left,) = [copy for copy in engine.copies("alice") if not copy.confirmed]
    other = "001" if Path(left.place).name == "000" else "000"
    assert files_with(cache / other, "quetzalcoatl") == []
    assert files_with(cache, "quetzalcoatl")
    assert left.process.endswith(f":{killed.process.pid}")
    heir = Server(address, cache)
    assert heir.recall("alice") == heir.recall("bob") == "[]\n"
    assert unconfirmed([*engine.copies("alice"), *engine.copies("bob")]) == []
    assert files_with(cache, "quetzalcoatl") == []
    for server in (stopped, heir):
        server.process.kill()
        server.process.wait()


def test_a_folder_keeps_no_indexes_that_no_erasure_reaches(process: Process, tmp_path: Path) -> None:
    """A process with other backends than the folder's last one deletes the files of those backends."""
    first = process()
    first.bank("alice").retain("Alice's code word is quetzalcoatl.")
    first.close()
    storage = StorageConfig(keywords=KeywordBackend.LUCENE)
    second = process(config=HindsightConfig(storage=storage))
    assert texts(second, "code word")
    second.bank("alice").forget(text="quetzalcoatl")
    assert unconfirmed(second.copies("alice")) == []
    assert files_with(tmp_path / "cache", "quetzalcoatl") == []


def test_a_folder_taken_over_deletes_dropped_banks(process: Process, tmp_path: Path) -> None:
    """Files of a bank that was dropped while nobody used the folder are deleted when a process takes it over."""
    first = process()
    first.bank("alice").retain("The code word is quetzalcoatl.")
    first.close()
    second = process(cache=None)
    assert unconfirmed(second.forget_bank("alice").copies) == ["000"]
    assert files_with(tmp_path / "cache", "quetzalcoatl")
    process()
    wait_until_confirmed(second)
    assert files_with(tmp_path / "cache", "quetzalcoatl") == []


def test_a_new_bank_of_an_old_name_takes_nothing_over(process: Process, tmp_path: Path) -> None:
    """If a folder has files of a dropped bank, opening a new bank with that name deletes them and confirms."""
    first, second = process(cache=None), process()
    first.bank("alice").retain("The code word is quetzalcoatl.")
    assert texts(second, "code")
    second.close()
    first.forget_bank("alice")
    first.bank("alice").retain(LISBON)
    third = process()
    assert texts(third, "code word Lisbon") == [LISBON]
    wait_until_confirmed(first)
    assert len(first.copies("alice")) == 2
    assert files_with(tmp_path / "cache", "quetzalcoatl") == []


def test_a_deleted_folder_is_forgotten_on_request(process: Process, tmp_path: Path, address: str) -> None:
    """A folder that will not be used again stays unconfirmed until the operator reports that it is gone."""
    first, second = process(cache=None), process()
    first.bank("alice").retain("The code word is quetzalcoatl.")
    assert texts(second, "code")
    second.close()
    shutil.rmtree(tmp_path / "cache")
    first.bank("alice").forget(text="quetzalcoatl")
    process()  # in a new folder at the old path
    (copy,) = first.doctor().unconfirmed
    program = [sys.executable, "-m", "hindsight_integrations.cli"]
    said = subprocess.run([*program, "doctor", address], check=True, capture_output=True, text=True).stdout
    assert copy.holder in said
    subprocess.run([*program, "forget-holder", address, copy.holder], check=True)
    assert first.doctor().unconfirmed == ()
    with pytest.raises(InvalidRequest, match="has no registered copies"):
        first.forget_holder(copy.holder)


def test_a_copy_unknown_to_the_ledger_registers_again(process: Process, databases: Databases) -> None:
    """After a backup that is older than a copy is restored, the copy is listed again."""
    first = process()
    first.bank("alice").retain(LISBON)
    databases.copy("shared", "backup")
    second = process()
    assert again(lambda: texts(second, "Alice")) == [LISBON]
    again(lambda: first.bank("alice").retain("Alice adopted a parrot."))
    assert len(texts(second, "Alice")) == 2
    databases.restore("backup", "shared")
    for _ in range(2):  # the first answer may come before the broken connection for writes is replaced
        assert again(lambda: texts(second, "Alice")) == [LISBON]
    assert len(again(lambda: first.copies("alice"))) == 2


def test_a_bank_that_another_process_forgot_is_gone(process: Process) -> None:
    """The old object raises, even if a new bank has the name; the new bank is empty."""
    first, second = process(), process()
    old = first.bank("alice")
    old.retain(LISBON)
    second.forget_bank("alice")
    with pytest.raises(BankForgotten):
        old.recall("Where does Alice live?")
    with pytest.raises(BankForgotten):
        old.retain("Alice moved to Porto.")
    assert texts(second, "Where does Alice live?") == []
    with pytest.raises(BankForgotten):
        old.recall("Where does Alice live?")
    assert texts(first, "Where does Alice live?") == []


def test_a_new_process_continues_with_the_indexes_of_an_ended_one(
    process: Process, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Two processes use two folders of the cache; the next takes the first free one, and rebuilds nothing."""
    first, second = process(), process()
    first.bank("alice").retain(LISBON)
    assert sorted(path.name for path in (tmp_path / "cache").iterdir()) == ["000", "001"]
    first.close()
    third = process()
    assert texts(third, "Where does Alice live?") == [LISBON]
    assert sorted(path.name for path in (tmp_path / "cache").iterdir()) == ["000", "001"]
    assert "rebuilt" not in caplog.text
    second.close()


def test_a_bank_held_by_another_process_delays_no_other(address: str, process: Process) -> None:
    """The error of a writer that waits too long names the holder of the bank; other banks can be written meanwhile."""
    engine = process()
    engine.bank("alice").retain(LISBON)
    ledger = Ledger(PostgresDatabase(checked_address(address), clock=SystemClock(), lock_seconds=0.2))
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with ledger.transaction("alice"):
            held.set()
            done.wait(60)

    with ThreadPoolExecutor(2) as pool:
        holding = pool.submit(hold)
        assert held.wait(60)
        waiting = pool.submit(engine.bank("alice").retain, "Alice adopted a parrot.")
        engine.bank("bob").retain("Bob moved to Oslo.")
        with pytest.raises(BankLocked, match=r"held by hindsight .*backend"):
            ledger.mental_models.delete("alice", "none")
        assert not waiting.done()
        done.set()
        holding.result(60)
        waiting.result(60)
    ledger.close()
    assert "Alice adopted a parrot." in texts(engine, "parrot")


def test_a_server_that_was_restarted_is_used_again(address: str, process: Process) -> None:
    """The error of a call whose connection was lost says that it may be repeated; the next calls work."""
    engine = process()
    bank = engine.bank("alice")
    bank.retain(LISBON)
    cut_connections(address)
    again(lambda: bank.retain("Alice adopted a parrot."))
    assert sorted(texts(engine, "Alice")) == ["Alice adopted a parrot.", LISBON]


def test_a_commit_whose_answer_is_lost_is_looked_up(
    process: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection breaks after the server has committed: the retain succeeds, and the memory is stored once."""
    engine = process()
    bank = engine.bank("alice")
    bank.retain("Alice adopted a parrot.")
    lost: list[bool] = []

    def commit_and_break(dialect: PGDialect_psycopg, connection: PoolProxiedConnection) -> None:
        connection.commit()
        if not lost and (opened := connection.dbapi_connection):
            lost.append(True)
            opened.close()
            raise psycopg.OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr(PGDialect_psycopg, "do_commit", commit_and_break)
    assert bank.retain(LISBON).created == 1
    assert lost
    assert sorted(texts(engine, "Alice")) == ["Alice adopted a parrot.", LISBON]


def test_a_restored_backup_is_noticed(
    address: str, databases: Databases, process: Process, caplog: pytest.LogCaptureFixture
) -> None:
    """After an older backup is restored under running processes, none of them returns data of the lost history."""
    running = [process() for _ in range(3)]
    running[0].bank("alice").retain(LISBON)
    databases.copy("shared", "backup")
    again(lambda: running[0].bank("alice").retain("Alice adopted a parrot named Kiwi."))
    for engine in running:
        assert again(lambda engine=engine: texts(engine, "parrot"))  # type: ignore[misc] # bound at once
    databases.restore("backup", "shared")
    other = process(cache=None)
    planted = [f"Alice planted {number + 2} trees." for number in range(3)]
    for text in planted:  # the same revisions, with other content
        other.bank("alice").retain(text)
    again(lambda: running[2].bank("alice").retain("Alice sold her boat."))  # its first operation
    for engine in running:
        found = again(lambda engine=engine: texts(engine, "What did Alice do?"))  # type: ignore[misc] # bound at once
        assert sorted(found) == sorted([LISBON, "Alice sold her boat.", *planted])
    assert caplog.text.count("restored from a backup") == len(running)


def test_an_unusable_address_says_what_to_do(databases: Databases, tmp_path: Path) -> None:
    """Each mistake has a separate error."""
    good = checked_address(databases.address("other"))
    stranger = databases.address("stranger", empty=True)
    with sa.create_engine(checked_address(stranger), poolclass=sa.NullPool).begin() as connection:
        connection.execute(sa.text("CREATE TABLE alembic_version (version_num varchar(32) PRIMARY KEY)"))
        connection.execute(sa.text("INSERT INTO alembic_version VALUES ('abc123')"))

    def opened(address: str, **options: object) -> None:
        Hindsight.open(address, embeddings=HashEmbedder(), reranker=None, **options).close()  # type: ignore[arg-type] # of any type

    missing = good.set(database="missing").render_as_string(hide_password=False)
    with pytest.raises(InvalidRequest, match="names no database"):
        opened("postgresql://localhost")
    with pytest.raises(LedgerUnreachable, match="does not exist"):
        opened(missing)
    with pytest.raises(LedgerUnreachable, match="cannot be reached"):
        opened("postgresql://127.0.0.1:9/memory")
    with pytest.raises(LedgerFailed, match="another application"):
        opened(stranger)
    with pytest.raises(LedgerReadOnly, match="does not create one"):
        opened(databases.address("fresh", empty=True), read_only=True)
    with pytest.raises(InvalidRequest, match="cannot confirm erasures"):
        opened(missing, read_only=True, cache=tmp_path / "cache")
    with pytest.raises(InvalidRequest, match="contains its own indexes"):
        opened(str(tmp_path / "memory"), cache=tmp_path / "cache")


def test_the_command_line_takes_an_address(address: str) -> None:
    """`retain` and `recall` work with an address as with a directory; a worker ends cleanly on SIGTERM."""
    program = [sys.executable, "-m", "hindsight_integrations.cli"]
    subprocess.run([*program, "retain", address, LISBON], check=True)
    found = subprocess.run(
        [*program, "recall", address, "Where does Alice live?"], check=True, capture_output=True, text=True
    )
    assert LISBON in found.stdout
    with subprocess.Popen([*program, "work", address], stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdout
        assert worker.stdout.readline().startswith("working for postgresql://")
        worker.terminate()
        assert worker.wait(60) == 0


def test_chats_need_a_store_of_their_own(process: Process) -> None:
    """LlamaIndex's memory reports that it cannot store chats in the database, and works with a store that is passed."""
    bank = process().bank("alice")
    with pytest.raises(InvalidRequest, match="has no local data directory in which to store chats"):
        HindsightMemory(bank, session_id="s")
    memory = HindsightMemory(bank, session_id="s", chat_store=SimpleChatStore())
    memory.put(ChatMessage(role="user", content=LISBON))
    assert LISBON in str(memory.get("Where does Alice live?"))


def test_a_memory_moves_to_a_database_and_back(address: str, tmp_path: Path) -> None:
    """`move` copies every bank with its history; repeated, it copies what is missing."""
    with Hindsight.open(tmp_path / "old", embeddings=HashEmbedder(), reranker=None, config=CONFIG) as engine:
        for name in ("alice", "bob"):
            bank = engine.bank(name)
            bank.retain([Message(LISBON, name), Message("She bought a red bicycle.", name)])
            bank.withdraw(bank.recall("bicycle").units[0].unit.id)
    program = [sys.executable, "-m", "hindsight_integrations.cli", "move"]
    steps = [
        (str(tmp_path / "old"), address),
        (str(tmp_path / "old"), address),
        (address, str(tmp_path / "new")),
    ]
    said = [
        subprocess.run([*program, *step], check=True, capture_output=True, text=True).stdout for step in steps
    ]
    assert [text.count("already there") for text in said] == [0, 2, 0]
    archives = []
    for folder in ("old", "new"):
        with Hindsight.open(
            tmp_path / folder, embeddings=HashEmbedder(), reranker=None, config=CONFIG
        ) as engine:
            assert [unit.text for unit in engine.bank("bob").recall("Lisbon").units] == [f"bob: {LISBON}"]
            exported = io.StringIO()
            engine.bank("alice").archive.export(exported)
            archives.append(exported.getvalue())
    assert archives[0] == archives[1]


def test_a_turn_and_a_recall_wait_for_few_answers(process: Process) -> None:
    """A turn of two facts waits for the answers to at most 12 statements, a recall to at most 4, with the check for changes."""
    bank = process().bank("alice")

    def say(number: int) -> None:
        said = [f"Ann saw bird {number} at the river.", f"Bob baked cake {number} for the feast."]
        messages = [
            Message(text, "Ann", f"2025-03-0{number}T09:00", id=f"{number}.{text[:3]}") for text in said
        ]
        facts = [
            ExtractedFact(what=text, sources=[message.id or ""])
            for text, message in zip(said, messages, strict=True)
        ]
        bank.retain(messages, facts=facts)

    for number in range(1, 5):
        say(number)
        assert bank.recall("Who saw a bird?").units
    with round_trips() as turn:
        say(5)
    with round_trips() as recall:
        assert bank.recall("Who baked a cake for the feast?").units
    assert 5 < len(turn) <= 12, "\n\n".join(turn)
    assert 1 < len(recall) <= 4, "\n\n".join(recall)


def test_a_read_leaves_no_transaction_open(process: Process, address: str) -> None:
    """Nothing waits for the end of a read's transaction, but the server receives it: it can remove deleted rows."""
    bank = process().bank("alice")
    bank.retain(LISBON)
    idle = sa.text(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in%'"
    )
    engine = sa.create_engine(checked_address(address), isolation_level="AUTOCOMMIT", poolclass=sa.StaticPool)
    with engine.connect() as watching:
        for number in range(20):
            assert bank.recall(f"Where does Alice live, question {number}?").units
            # The server may not have read the last message yet.
            assert any(watching.scalar(idle) == 0 for _ in range(1000))
