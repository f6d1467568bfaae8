"""Forks under load: a child never waits for a lock that a thread of its parent holds."""

from __future__ import annotations

import subprocess
import sys

import pytest

WORKERS = ["worker", "no worker"]

SETUP = """
import gc, os, signal, sys, threading, _thread
from hindsight_integrations import EngineClosed, Hindsight
from hindsight_integrations.config import HindsightConfig, KeywordBackend, StorageConfig, VectorBackend
from hindsight_integrations.testing.doubles import HashEmbedder

WATCHDOG = 10  # seconds; a child that takes longer hangs, and dies of SIGALRM

config = HindsightConfig(storage=StorageConfig(VectorBackend.EXACT, KeywordBackend.FTS5))
engine = Hindsight.open(":memory:", embeddings=HashEmbedder(), reranker=None, config=config, worker=sys.argv[1] == "worker")
bank = engine.bank("alice")
bank.retain("Alice likes plums.")

def child():
    refused = 0
    for verb in (bank.count, engine.banks, lambda: bank.recall("plums"), lambda: bank.retain("More plums.")):
        try:
            verb()
        except EngineClosed:
            refused += 1
    engine.close()
    os._exit(0 if refused == 4 else 1)

def fork():
    signal.alarm(0)
    child_id = os.fork()
    if child_id == 0:
        signal.alarm(WATCHDOG)
        child()
    return os.waitstatus_to_exitcode(os.waitpid(child_id, 0)[1])
"""

UNDER_LOAD = """
ending = threading.Event()

def load(number):
    turn = 0
    while not ending.is_set():
        turn += 1
        bank.recall("plums")
        bank.retain(f"Alice ate plum {turn} of tree {number}.")

threads = [threading.Thread(target=load, args=(number,)) for number in range(4)]
for thread in threads:
    thread.start()
codes = [fork() for _ in range(60)]
ending.set()
for thread in threads:
    thread.join()
assert bank.recall("plums").units
assert engine.doctor().tasks.working == (sys.argv[1] == "worker")
engine.close()
print(sorted(set(codes)))
"""

EVERY_LOCK_HELD = """
def locks():
    for thing in gc.get_objects():
        if str(type(thing).__module__).startswith("hindsight_integrations"):
            for value in list(getattr(thing, "__dict__", {}).values()):
                if isinstance(value, _thread.LockType):
                    yield value

held = [lock for lock in {id(lock): lock for lock in locks()}.values() if lock.acquire(blocking=False)]
code = fork()
for lock in held:
    lock.release()
assert bank.recall("plums").units
engine.close()
print(code, len(held) > 4)
"""


def printed(script: str, worker: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", SETUP + script, worker],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("worker", WORKERS)
def test_forks_under_load_never_hang_the_child(worker: str) -> None:
    """Children are forked while threads recall and retain: each reports that its engine is closed, and ends."""
    assert printed(UNDER_LOAD, worker) == "[0]\n"


@pytest.mark.slow
@pytest.mark.parametrize("worker", WORKERS)
def test_a_fork_while_every_lock_is_held(worker: str) -> None:
    """The worst moment: a thread holds each lock of the engine, which nobody releases in the child."""
    assert printed(EVERY_LOCK_HELD, worker) == "0 True\n"
