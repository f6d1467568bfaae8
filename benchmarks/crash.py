"""Kill a process in a retain loop, again and again, and check that nothing acknowledged is lost.

    python benchmarks/crash.py [--rounds 25] [--keep DIR]

Each round starts a child that retains memories into one bank and prints their ids once retain has returned, and kills
it (SIGKILL) at a random moment. After reopening, every acknowledged unit must be in the ledger, rank first by meaning
and by words for its own text, have its node in the graph, and be found by time if dated. At the end the Chroma
collection and the Lucene index are corrupted on purpose and must be rebuilt on open. Exits with 1 on any failure.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from hindsight_integrations import Channel, Hindsight, MemoryBank
from hindsight_integrations.testing.doubles import HashEmbedder

BANK = "crash/test"
WORDS = (
    "amber",
    "basil",
    "cedar",
    "delta",
    "ember",
    "fjord",
    "grove",
    "harbor",
    "inlet",
    "jetty",
    "knoll",
    "lagoon",
)


def fact(round_number: int, index: int) -> dict[str, object]:
    """A fact with words of its own; every second one is dated."""
    rng = random.Random(f"{round_number}/{index}")
    words = " ".join(rng.choice(WORDS) + str(rng.randrange(10_000)) for _ in range(6))
    day = f"2024-{rng.randrange(1, 13):02}-{rng.randrange(1, 29):02}"
    return {
        "what": f"Traveller{round_number}x{index} visited {words}",
        "occurred_start": day if index % 2 else None,
        "entities": [
            {"text": f"Traveller{round_number}x{index % 7}", "type": "PERSON"},
            {"text": "Harbor Guild", "type": "ORG"},
        ],
        "sources": [f"r{round_number}-{index}"],
    }


def open_memory(folder: Path) -> Hindsight:
    return Hindsight.open(folder, embeddings=HashEmbedder(), reranker=None)


def child(folder: Path, round_number: int) -> None:
    """Retain until killed; a line of ids for every acknowledged retain."""
    with open_memory(folder) as hindsight:
        bank = hindsight.bank(BANK)
        index = 0
        while True:
            facts = [fact(round_number, index + n) for n in range(1 + index % 4)]
            messages = [{"role": "user", "content": f["what"], "id": f["sources"][0]} for f in facts]
            result = bank.retain(messages, facts=facts, thread=f"round-{round_number}")
            print(
                json.dumps(
                    [[i, f["what"], f["occurred_start"]] for i, f in zip(result.unit_ids, facts, strict=True)]
                ),
                flush=True,
            )
            index += len(facts)


def killed_round(folder: Path, round_number: int, rng: random.Random) -> list[list[str | None]]:
    """Run one child and kill it; the units it acknowledged."""
    command = [sys.executable, __file__, "--child", str(folder), "--round", str(round_number)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    lines: list[str] = []
    assert process.stdout is not None
    reader = threading.Thread(target=lambda: lines.extend(process.stdout), daemon=True)
    reader.start()
    deadline = time.monotonic() + 60
    while not lines and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(rng.uniform(0.0, 1.5))
    process.kill()
    process.wait()
    reader.join()
    whole = [line for line in lines if line.endswith("\n")]
    return [unit for line in whole for unit in json.loads(line)]


def problems(bank: MemoryBank, hindsight: Hindsight, units: list[list[str | None]]) -> list[str]:
    """What is wrong with the units that should be there."""
    found = []
    view = hindsight.asynchronous._projections[BANK].view()  # noqa: SLF001 - the script looks behind the curtain on purpose
    rows = view.ledger.row_ids(BANK, [str(unit[0]) for unit in units])
    for identity, text, day in units:
        if identity not in rows:
            found.append(f"{text}: not in the ledger")
            continue
        if not view.graph.has(np.array([rows[identity]], np.int64))[0]:
            found.append(f"{text}: no node in the graph")
        window = (f"{day}T00:00", f"{day}T23:59") if day else None
        best = next(
            (u for u in bank.recall(str(text), window=window, k=5).units if u.unit.id == identity), None
        )
        ranks = {channel: hit.rank for channel, hit in best.channels.items()} if best else {}
        if ranks.get(Channel.SEMANTIC) != 1 or ranks.get(Channel.KEYWORD) != 1:
            found.append(f"{text}: ranks {ranks}")
        if day and Channel.TEMPORAL not in ranks:
            found.append(f"{text}: not found by time")
    return found


def corrupt(folder: Path) -> None:
    """Damage the Chroma collection and the Lucene index as a bad disk would."""
    for path in [
        *folder.glob("chroma/*/*.bin"),
        *folder.glob("chroma/*/*.pickle"),
        *folder.glob("lucene/*/*"),
    ]:
        if path.is_file() and path.name != "write.lock":
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def run(rounds: int, folder: Path, seed: int) -> int:
    rng = random.Random(seed)
    units: list[list[str | None]] = []
    bad: list[str] = []
    for number in range(rounds):
        fresh = killed_round(folder, number, rng)
        units += fresh
        with open_memory(folder) as hindsight:
            bad += problems(hindsight.bank(BANK), hindsight, fresh)
        print(
            f"round {number + 1}: {len(fresh)} acknowledged, {len(units)} in all, {len(bad)} problems",
            flush=True,
        )
    for name, damage in (("corrupted", corrupt), ("deleted", lambda path: shutil.rmtree(path / "chroma"))):
        damage(folder)
        with open_memory(folder) as hindsight:
            wrong = problems(hindsight.bank(BANK), hindsight, units)
        bad += wrong
        print(f"indexes {name} and rebuilt: {len(units)} units checked, {len(wrong)} problems", flush=True)
    print("\n".join(bad[:20]))
    print(f"{len(units)} acknowledged units, {len(bad)} problems")
    return 1 if bad or not units else 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--round", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child, options.round)
    if options.keep:
        return run(options.rounds, options.keep, options.seed)
    with tempfile.TemporaryDirectory(prefix="hindsight-crash-") as folder:
        return run(options.rounds, Path(folder), options.seed)


if __name__ == "__main__":
    sys.exit(main())
