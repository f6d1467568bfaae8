"""Closing an engine: it can be completed after an interrupt at any moment, and the directory reopened in the same process."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FrameType
from typing import Any

import anyio.to_thread
import pytest

from hindsight_integrations import EngineClosed, Hindsight, HindsightConfig
from hindsight_integrations.config import KeywordBackend, StorageConfig, VectorBackend
from hindsight_integrations.errors import LedgerFailed
from hindsight_integrations.models.protocols import Completion, Prompt
from hindsight_integrations.testing.doubles import HashEmbedder

LIGHT = HindsightConfig(storage=StorageConfig(vectors=VectorBackend.EXACT, keywords=KeywordBackend.FTS5))

OPEN = """
import sys, threading, time
from hindsight_integrations import EngineClosed, Hindsight
from hindsight_integrations.config import HindsightConfig, KeywordBackend, StorageConfig, VectorBackend
from hindsight_integrations.testing.doubles import HashEmbedder

class Slow(HashEmbedder):
    def embed_documents(self, texts):
        if texts and "slow" in texts[0]:
            embedding.set()
            assert go_on.wait(30)
        return super().embed_documents(texts)

def opened():
    return Hindsight.open(sys.argv[1], embeddings=Slow(), reranker=None, config=config)

def retain_slowly():
    try:
        bank.retain("A slow thing.")
    except EngineClosed:
        print("refused", flush=True)

def tell():
    while not engine.asynchronous.closed:
        time.sleep(0.001)
    print("closing", flush=True)

config = HindsightConfig(storage=StorageConfig(VectorBackend.EXACT, KeywordBackend.FTS5))
embedding, go_on = threading.Event(), threading.Event()
engine = opened()
bank = engine.bank("alice")
bank.retain("Alice likes plums.")
retaining = threading.Thread(target=retain_slowly)
retaining.start()
assert embedding.wait(30)
threading.Thread(target=tell).start()
try:
    engine.close()
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""

CLOSE_AGAIN = """
go_on.set()
engine.close()
retaining.join()
with opened() as again:
    print(again.bank("alice").count())
"""

AT_EXIT = """
import atexit
go_on.set()
retaining.join()
engine = opened()
engine.bank("alice").retain("Alice likes pears.")
atexit.register(lambda: print("closed"))
atexit.register(engine.close)
"""

END = """
go_on.set()
print("the end")
"""

THINKING = """
import sys, threading
import anyio.to_thread
from hindsight_integrations import Hindsight
from hindsight_integrations.config import HindsightConfig, KeywordBackend, StorageConfig, VectorBackend
from hindsight_integrations.testing.doubles import HashEmbedder

class Thinking:
    name = "thinking"

    async def complete(self, prompt):
        return await anyio.to_thread.run_sync(self.think, abandon_on_cancel=True)

    def think(self):
        print("thinking", flush=True)
        threading.Event().wait()

config = HindsightConfig(storage=StorageConfig(VectorBackend.EXACT, KeywordBackend.FTS5))
options = {"embeddings": HashEmbedder(), "reranker": None, "config": config}
try:
    with Hindsight.open(sys.argv[1], model=Thinking(), **options) as engine:
        bank = engine.bank("alice")
        bank.retain("Alice likes plums.", facts=[{"what": "Alice likes plums."}])
        bank.retain("Alice likes pears.")
except KeyboardInterrupt:
    print("interrupted", flush=True)
with Hindsight.open(sys.argv[1], **options) as again:
    print([found.text for found in again.bank("alice").recall("plums").units])
"""

SIGNALS = """
import signal, sys
from hindsight_integrations import Hindsight, HindsightConfig
from hindsight_integrations.config import KeywordBackend, StorageConfig, VectorBackend
from hindsight_integrations.testing.doubles import HashEmbedder

interrupts = 0
for step in range(rounds):
    engine = Hindsight.open(sys.argv[1], embeddings=HashEmbedder(), reranker=None, config=config, worker=step % 2 == 0)
    assert len(engine.bank("alice").recall("plums").units) == min(step, 1)
    engine.bank("alice").retain("Alice likes plums.")
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    armed = False
    while True:
        try:
            if not armed:
                armed = True
                signal.setitimer(signal.ITIMER_REAL, delay(step))
            engine.close()
            signal.setitimer(signal.ITIMER_REAL, 0)
            break
        except (KeyboardInterrupt, RuntimeError):  # a Condition of `threading` raises that where it is interrupted
            interrupts += 1
print("interrupted" if interrupts else "never", flush=True)
"""


HEEDS_CTRL_C = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
"""Whoever runs these tests in the background of a shell has it ignored, and children inherit that."""


def started(script: str, folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", HEEDS_CTRL_C + script, str(folder)],
        stdout=subprocess.PIPE,
        text=True,
    )


def interrupted(script: str, folder: Path, when: str = "closing") -> list[str]:
    """The output of a process that gets Ctrl-C once it has printed `when`; it must end by itself."""
    with started(script, folder) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == f"{when}\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted\n"
        printed = process.stdout.read().splitlines()
        assert process.wait(timeout=60) == 0
    return printed


def test_an_interrupted_close_is_finished_by_a_second(tmp_path: Path) -> None:
    """Ctrl-C ends a waiting close; a second close waits to the end, and the directory can be opened again."""
    assert interrupted(OPEN + CLOSE_AGAIN, tmp_path) == ["refused", "1"]


def test_ctrl_c_while_a_model_thinks(tmp_path: Path) -> None:
    """Ctrl-C ends a retain whose model never answers, the `with` block closes the engine, and acknowledged memories are stored."""
    assert interrupted(THINKING, tmp_path, "thinking") == ["['Alice likes plums.']"]
    assert not {"ledger.pid", "ledger.sqlite-wal"} & {path.name for path in tmp_path.iterdir()}


class Hanging:
    """A model whose call blocks until `answer` is set, in one of four ways; then it answers."""

    name = "hanging"

    def __init__(self, way: str) -> None:
        self._way = way
        self.asked, self.answer = threading.Event(), threading.Event()

    async def complete(self, prompt: Prompt[Any]) -> Completion[Any]:
        if self._way == "in a thread that is abandoned":
            await anyio.to_thread.run_sync(self._hang, abandon_on_cancel=True)
        elif self._way == "in a thread that cannot be cancelled":
            await anyio.to_thread.run_sync(self._hang)
        elif self._way == "in a thread of the loop":
            await asyncio.to_thread(self._hang)
        else:
            self._hang()
        return Completion(prompt.schema.model_validate({"facts": [{"what": "Alice likes pears."}]}), 0, 0)

    def _hang(self) -> None:
        self.asked.set()
        assert self.answer.wait(60)


@pytest.mark.parametrize(
    "way",
    [
        "in a thread that is abandoned",
        "in a thread that cannot be cancelled",
        "in a thread of the loop",
        "in the loop itself",
    ],
)
def test_close_does_not_wait_for_a_model(tmp_path: Path, way: str) -> None:
    """However a model's call blocks, close returns, the call raises EngineClosed, and the directory can be opened at once."""
    model = Hanging(way)
    engine = Hindsight.open(
        tmp_path, model=model, embeddings=HashEmbedder(), reranker=None, config=LIGHT, worker=False
    )
    bank = engine.bank("alice")
    bank.retain("Alice likes plums.", facts=[{"what": "Alice likes plums."}])
    with ThreadPoolExecutor(1) as threads:
        retaining = threads.submit(bank.retain, "Alice likes pears.")
        assert model.asked.wait(30)
        engine.close()
        try:
            assert not model.answer.is_set()
            with Hindsight.open(tmp_path, embeddings=HashEmbedder(), reranker=None, config=LIGHT) as again:
                assert [found.text for found in again.bank("alice").recall("plums").units] == [
                    "Alice likes plums."
                ]
        finally:
            model.answer.set()
        with pytest.raises(EngineClosed):
            retaining.result(timeout=30)
    with Hindsight.open(tmp_path, embeddings=HashEmbedder(), reranker=None, config=LIGHT) as again:
        assert again.bank("alice").count() == 1  # the late answer was not written


@pytest.mark.slow
def test_an_interrupted_close_is_finished_at_exit(tmp_path: Path) -> None:
    """A process that ends after an interrupted close leaves the directory like a complete close."""
    assert set(interrupted(OPEN + END, tmp_path)) == {"refused", "the end"}
    assert not {"ledger.pid", "ledger.sqlite-wal"} & {path.name for path in tmp_path.iterdir()}


@pytest.mark.slow
def test_a_close_that_is_registered_at_exit(tmp_path: Path) -> None:
    """At exit Python starts no threads any more; an engine can still be closed."""
    script = OPEN.replace("try:\n    engine.close()", "try:\n    go_on.set()\n    engine.close()")
    with started(script + AT_EXIT, tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.read().splitlines()[-1] == "closed"
        assert process.wait(timeout=60) == 0
    assert not {"ledger.pid", "ledger.sqlite-wal"} & {path.name for path in tmp_path.iterdir()}


@pytest.mark.slow
@pytest.mark.parametrize(
    "schedule",
    [
        "config, rounds, delay = HindsightConfig(), 8, lambda step: 0.0002 * 2**step",
        """config = HindsightConfig(storage=StorageConfig(VectorBackend.EXACT, KeywordBackend.FTS5))
rounds, delay = 60, lambda step: 0.00005 * (step + 1)""",
    ],
    ids=["Chroma and Lucene", "exact and FTS5"],
)
def test_interrupts_at_any_time_of_closing(tmp_path: Path, schedule: str) -> None:
    """Signals after 0.05 to 25 ms of closing, every second time with a worker: the engine can be closed and reopened in the same process."""
    process = started(SIGNALS.replace("interrupts = 0", f"interrupts = 0\n{schedule}"), tmp_path)
    printed, _ = process.communicate(timeout=120)
    assert (printed, process.returncode) == ("interrupted\n", 0)


class Interrupting:
    """Raises KeyboardInterrupt on the main thread at one line of this package in a block.

    Lines of the standard library are excluded, because a trace function can interrupt where no signal can:
    between a `with` block and its end.
    """

    def __init__(self, line: int) -> None:
        self._left = line
        self.struck = False

    def __enter__(self) -> None:
        sys.settrace(self._trace)

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def _trace(self, frame: FrameType, event: str, _: object) -> Any:
        if event == "line" and "hindsight_integrations" in frame.f_code.co_filename:
            self._left -= 1
            if self._left < 0:
                sys.settrace(None)
                self.struck = True
                raise KeyboardInterrupt
        return self._trace


@pytest.mark.slow
@pytest.mark.parametrize("worker", [False, True])
def test_an_interrupt_at_any_line_of_closing(tmp_path: Path, worker: bool) -> None:
    """Whichever line is interrupted, a second close completes, and the directory can be opened again."""
    line = 0
    while True:
        engine = Hindsight.open(
            tmp_path, embeddings=HashEmbedder(), reranker=None, config=LIGHT, worker=worker
        )
        bank = engine.bank("alice")
        bank.retain("Alice likes plums.")
        interrupting = Interrupting(line)
        try:
            with interrupting:
                engine.close()
        except KeyboardInterrupt:
            engine.close()
        with pytest.raises(EngineClosed):
            bank.count()
        if not interrupting.struck:
            break
        line += 1
    assert line > 8  # all lines of a close were tried


def test_what_fails_to_close_does_not_keep_the_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An index that cannot be closed is repaired from the ledger; the directory is released."""
    engine = Hindsight.open(tmp_path, embeddings=HashEmbedder(), reranker=None, config=LIGHT)
    engine.bank("alice").retain("Alice likes plums.")

    def fail(_: object) -> None:
        raise LedgerFailed(tmp_path, "no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("hindsight_integrations.indexes.projection.BankProjection.close", fail)
        engine.close()
    with Hindsight.open(tmp_path, embeddings=HashEmbedder(), reranker=None, config=LIGHT) as again:
        assert again.bank("alice").recall("plums").units
