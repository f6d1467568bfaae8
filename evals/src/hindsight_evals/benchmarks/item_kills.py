"""Kill a process (SIGKILL) while it writes, replaces, deletes and forgets items, and check that acknowledged writes persist.

    hindsight-evals bench item_kills [--kills 50] [--seed 1]

A child process writes items through `HindsightStore` and reports each write before and after it. The parent
kills it after a random time, opens the directory, and checks all keys: each has its last acknowledged value,
or that of the interrupted write. Every text must be found by a search for its own words, and no replaced or
deleted text may be found. The exit code is 1 if there is any problem.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from hindsight_integrations import Hindsight, HindsightConfig
from hindsight_integrations.config import KeywordBackend, StorageConfig, VectorBackend
from hindsight_integrations.langgraph import HindsightStore
from hindsight_integrations.testing.doubles import HashEmbedder

KEYS = 40
WRITES = ("put", "put", "put", "delete", "forget", "batch")
GONE = ""  # the value of a deleted key


def opened(folder: Path, keywords: str) -> Hindsight:
    config = HindsightConfig(
        storage=StorageConfig(vectors=VectorBackend.CHROMA, keywords=KeywordBackend(keywords))
    )
    return Hindsight.open(folder, embeddings=HashEmbedder(), reranker=None, config=config)


def writes(rng: random.Random, first: int) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield operations, each with the resulting word of its keys."""
    for number in count(first):
        keys = rng.sample(range(KEYS), 3)
        what = rng.choice(WRITES)
        if what == "batch":
            yield what, {f"k{key}": f"word{number}x{key}" for key in keys}
        else:
            yield what, {f"k{keys[0]}": f"word{number}x{keys[0]}" if what == "put" else GONE}


def child(folder: Path, keywords: str, seed: int) -> None:
    """Write until killed."""
    store = HindsightStore(opened(folder, keywords))
    for what, held in writes(random.Random(seed), seed * 1_000_000):
        print("begin", *(f"{key}={word}" for key, word in held.items()), flush=True)
        (key, word), *_ = held.items()
        if what == "delete":
            store.delete(("a", key), key)
        elif what == "forget":
            store.forget(("a", key), key)
        else:
            for key, word in held.items():
                store.put(("a", key), key, {"text": f"{word} of {key}"})
        print("end", *(f"{key}={word}" for key, word in held.items()), flush=True)


def killed(folder: Path, keywords: str, seed: int, seconds: float) -> list[list[str]]:
    """Return the lines that a child wrote before it was killed, split into words."""
    command = [sys.executable, "-m", "hindsight_evals.benchmarks.item_kills", "--child", str(folder)]
    command += ["--keywords", keywords, "--seed", str(seed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first = [process.stdout.readline() for _ in range(2)]  # the store is open, and the child has written
        time.sleep(seconds)
        process.kill()
        said = [*first, *process.stdout.readlines()]
    return [line.split() for line in said if line.endswith("\n")]


def follow(held: dict[str, set[str]], said: list[list[str]]) -> None:
    """Update the possible values of each key: the last acknowledged one, and also that of an unacknowledged last write."""
    for kind, *pairs in said:
        for pair in pairs:
            key, _, word = pair.partition("=")
            if kind == "end":
                held[key] = {word}
            else:
                held.setdefault(key, {GONE}).add(word)


def problems(store: HindsightStore, held: dict[str, set[str]]) -> Iterator[str]:
    """Yield differences from the expected state, and reduce `held` to the values found."""
    items = {item.key: item for item in store.search(("a",), limit=1_000)}
    for key, words in held.items():
        word = items[key].value["text"].split()[0] if key in items else GONE
        if word not in words:
            yield f"{key} holds {word or 'nothing'}, not one of {sorted(words)}"
        for other in words - {word, GONE}:
            found = store.search(("a",), query=other, limit=1)
            if found and found[0].value["text"].startswith(f"{other} "):
                yield f"{other} is found and was replaced"
        if word != GONE:
            (best,) = store.search(("a",), query=f"{word} of {key}", limit=1)
            if best.key != key:
                yield f"{word} of {key} is not found"
        held[key] = {word}
    if unknown := items.keys() - held.keys():
        yield f"nobody put {sorted(unknown)}"


def run(kills: int, seed: int, parent: Path) -> int:
    rng, found, acknowledged = random.Random(seed), list[str](), 0
    for keywords in ("lucene", "fts5"):
        held: dict[str, set[str]] = {}
        folder = parent / keywords
        for number in range(kills // 2):
            said = killed(folder, keywords, seed + number, rng.uniform(0.0, 0.6))
            acknowledged += sum(line[0] == "end" for line in said)
            follow(held, said)
            with opened(folder, keywords) as engine:
                found += problems(HindsightStore(engine), held)
    print("\n".join(found[:20]))
    print(f"{kills // 2 * 2} kills, {acknowledged} writes acknowledged, {len(found)} problems")
    return 1 if found or not acknowledged else 0


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--keywords", default="lucene", help=argparse.SUPPRESS)
    options: Any = parser.parse_args(argv)
    if options.child:
        child(options.child, options.keywords, options.seed)
    with tempfile.TemporaryDirectory(prefix="hindsight-items-") as folder:
        return run(options.kills, options.seed, Path(folder))


if __name__ == "__main__":
    sys.exit(main())
