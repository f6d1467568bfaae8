"""The sync API's event loop: shared for async engines, and without effect on the end or the fork of a process."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from hindsight_integrations import EngineClosed, Hindsight, MemoryBank

OPEN = """
import os, sys
from hindsight_integrations import AsyncHindsight, EngineClosed, Hindsight
from hindsight_integrations.config import HindsightConfig, KeywordBackend, StorageConfig, VectorBackend
from hindsight_integrations.testing.doubles import HashEmbedder

config = HindsightConfig(storage=StorageConfig(VectorBackend.EXACT, KeywordBackend.FTS5))
options = {"embeddings": HashEmbedder(), "reranker": None, "config": config}
worker = "worker" in sys.argv
own = Hindsight.open(":memory:", worker=worker, **options)
borrowed = Hindsight.over(AsyncHindsight.open(":memory:", worker=worker, **options))
banks = [engine.bank("alice") for engine in (own, borrowed)]
for bank in banks:
    bank.retain("My kayak is red.")
"""

FORK = """
child = os.fork()
if child == 0:
    for bank in banks:
        try:
            bank.count()
        except EngineClosed:
            print("closed in the child", flush=True)
    del own, borrowed, banks, bank
    sys.exit(0)
os.waitpid(child, 0)
"""


def run(script: str, *arguments: str) -> list[str]:
    """Lines printed by a process that must end by itself."""
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout.splitlines()


def test_async_objects_serve_code_that_cannot_await(light: Hindsight) -> None:
    """`over` gives an async engine or bank a sync API, from any thread; closing one closes the other."""
    light.bank("alice").retain("My kayak is red.")
    engine = Hindsight.over(light.asynchronous)
    bank = MemoryBank.over(light.bank("alice").asynchronous)
    with ThreadPoolExecutor(4) as threads:
        counts = list(threads.map(lambda face: face.count(), [engine.bank("alice"), bank] * 4))
    assert counts == [1] * 8
    assert bank.recall("kayak").units[0].unit.text == "My kayak is red."
    engine.close()
    with pytest.raises(EngineClosed):
        bank.count()
    with pytest.raises(EngineClosed):
        light.bank("alice")


@pytest.mark.parametrize("worker", ["worker", pytest.param("no worker", marks=pytest.mark.slow)])
def test_a_script_that_forgets_to_close_ends(worker: str) -> None:
    """A process with open engines ends without hanging, with or without workers."""
    assert run(OPEN + 'print([bank.count() for bank in banks], "end")', worker) == ["[1, 1] end"]


@pytest.mark.promise("After `os.fork`, the child must open its own engine.")
@pytest.mark.parametrize("worker", ["worker", pytest.param("no worker", marks=pytest.mark.slow)])
def test_a_forked_child_ends_and_the_parent_goes_on(worker: str) -> None:
    """In a forked child engines raise EngineClosed and can be dropped; the parent's still work."""
    printed = run(OPEN + FORK + "print([bank.count() for bank in banks])", worker)
    assert printed == ["closed in the child", "closed in the child", "[1, 1]"]
