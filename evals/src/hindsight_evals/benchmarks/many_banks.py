"""Memory, file descriptors, disk space and latency of an engine with many banks.

    hindsight-evals bench many_banks [--banks 2000] [--open 64] [--descriptors 1024] [--out FILE]

On Chroma, Lucene, rustworkx and SQLite, with synthetic vectors and a limit on file descriptors:

1. All banks get a few facts; then random banks are queried for a word that only they contain, by `--threads`
  threads. A bank that has to be opened first is "cold".
2. `--cycle` banks are opened and closed `--times` times, with five open at once.
3. An engine over those banks is opened and closed `--engines` times.

Each step runs in its own process. Memory is resident and anonymous megabytes. A wrong answer is an error.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import resource
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hindsight_evals.benchmarks.speed.clocks import percentiles, timed
from hindsight_evals.benchmarks.speed.synthetic import SyntheticEmbedder
from hindsight_integrations import Hindsight, HindsightConfig, MemoryBank
from hindsight_integrations.config import StorageConfig

OPEN_IN_A_CYCLE = 5


def main(argv: Sequence[str] | None = None) -> None:
    """Run the three steps, print their figures, write them."""
    options = _parser().parse_args(argv)
    with TemporaryDirectory(prefix="hindsight-banks-", dir=options.folder) as folder:
        figures = {
            "many": _apart(many, f"{folder}/many", options),
            "cycle": _apart(cycle, f"{folder}/few", options),
            "engines": _apart(engines, f"{folder}/few", options),
        }
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        report = {"benchmark": "many_banks", "machine": platform.platform(), **figures}
        options.out.write_text(json.dumps(report, indent=1) + "\n")


def many(folder: str, options: argparse.Namespace) -> dict[str, Any]:
    """Fill all banks, and query some from several threads."""
    rng, lines = random.Random(7), [usage()]
    with _opened(folder, options.open) as hindsight:
        banks, spent = [], time.perf_counter()
        for number in range(options.banks):
            banks.append(filled(hindsight, number, options.facts))
            if (number + 1) % max(1, options.banks // 8) == 0:
                lines.append({"banks": number + 1, **usage()})
                print(f"filled: {lines[-1]}", flush=True)
        spent = (time.perf_counter() - spent) / options.banks

        def asked(number: int) -> float:
            milliseconds, found = timed(banks[number].recall, secret(number), k=1)
            if [unit.unit.text for unit in found.units] != [knows(number)]:
                raise AssertionError(f"bank {number} answered {found.units} at {usage()}")
            return milliseconds

        with ThreadPoolExecutor(options.threads) as threads:
            cold = list(threads.map(asked, rng.choices(range(options.banks), k=options.asked)))
        warm = [asked(0) for _ in range(50)]
        lines.append({"asked": options.asked, **usage()})
        print(f"asked: {lines[-1]}", flush=True)
    figures = {
        "usage": lines,
        "fill_ms": spent * 1000,
        "cold_ms": percentiles(cold),
        "warm_ms": percentiles(warm),
        "disk": disk(Path(folder), options.banks),
    }
    print({name: figure for name, figure in figures.items() if name != "usage"}, flush=True)
    return figures


def cycle(folder: str, options: argparse.Namespace) -> dict[str, Any]:
    """Open and close a few banks repeatedly in one engine."""
    with _opened(folder, OPEN_IN_A_CYCLE) as hindsight:
        banks = [filled(hindsight, number, options.facts) for number in range(options.cycle)]
        return _rounds("cycle", lambda: _all_asked(banks), options.times)


def engines(folder: str, options: argparse.Namespace) -> dict[str, Any]:
    """Open and close engines over the same banks."""

    def one() -> None:
        with _opened(folder, options.open) as hindsight:
            _all_asked([hindsight.bank(name(number)) for number in range(options.cycle)])

    return _rounds("engines", one, options.engines)


def _rounds(what: str, one: Callable[[], None], times: int) -> dict[str, Any]:
    lines = []
    for number in range(times):
        one()
        lines.append({"round": number + 1, **usage()})
        if number in {0, 1, 4, 9, 19, 29, 39, times - 1}:
            print(f"{what}: {lines[-1]}", flush=True)
    return {"usage": lines}


def _all_asked(banks: list[MemoryBank]) -> None:
    for number, bank in enumerate(banks):
        found = bank.recall(secret(number), k=1)
        if [unit.unit.text for unit in found.units] != [knows(number)]:
            raise AssertionError(f"bank {number} answered {found.units}")


def _opened(folder: str, open_banks: int) -> Hindsight:
    config = HindsightConfig(storage=StorageConfig(open_banks=open_banks))
    return Hindsight.open(folder, embeddings=SyntheticEmbedder(), reranker=None, config=config)


def name(number: int) -> str:
    """Return the name of a bank."""
    return f"user-{number:05}"


def secret(number: int) -> str:
    """Return a word that only this bank contains."""
    return f"keyword{number:05}"


def knows(number: int) -> str:
    """Return the question for a bank's word."""
    return f"The password of the house is {secret(number)}"


def filled(hindsight: Hindsight, number: int, facts: int) -> MemoryBank:
    """Return the bank, filled with facts."""
    bank = hindsight.bank(name(number))
    given = [{"what": knows(number)}]
    given += [
        {"what": f"Room {place} of house {number} has {place % 7} windows"} for place in range(1, facts)
    ]
    bank.retain(f"A tour of house {number}.", facts=given)
    return bank


def usage() -> dict[str, int]:
    """Return resident and anonymous megabytes and the number of open file descriptors of this process."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return {
        "resident_mb": int(status["VmRSS"].split()[0]) // 1024,
        "anonymous_mb": int(status["RssAnon"].split()[0]) // 1024,
        "descriptors": len(os.listdir("/proc/self/fd")),  # noqa: PTH208 - names are what is counted
    }


def disk(folder: Path, banks: int) -> dict[str, float]:
    """Return kibibytes on disk for each bank, by entry of the data directory."""
    sizes: dict[str, float] = {}
    for path in folder.rglob("*"):
        if path.is_file():
            place = path.relative_to(folder).parts[0]
            sizes[place] = sizes.get(place, 0.0) + path.stat().st_size / 1024 / banks
    return {place: round(size, 1) for place, size in sorted({**sizes, "all": sum(sizes.values())}.items())}


def _apart(step: Callable[[str, argparse.Namespace], dict[str, Any]], *given: Any) -> dict[str, Any]:  # noqa: ANN401
    """Run a step in its own process, so that its memory is measured separately."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_limited, step, *given).result()


def _limited(
    step: Callable[[str, argparse.Namespace], dict[str, Any]], folder: str, options: argparse.Namespace
) -> dict[str, Any]:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (options.descriptors, most))
    return step(folder, options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--banks", type=int, default=2000, help="how many banks")
    add("--facts", type=int, default=5, help="facts of a bank")
    add("--open", type=int, default=StorageConfig().open_banks, help="how many banks may be open")
    add("--descriptors", type=int, default=1024, help="limit of file descriptors, as `ulimit -n`")
    add("--asked", type=int, default=500, help="questions to banks drawn at random")
    add("--threads", type=int, default=8, help="threads that ask them")
    add("--cycle", type=int, default=50, help="banks opened and closed over and over")
    add("--times", type=int, default=20, help="how often they are")
    add("--engines", type=int, default=50, help="how often an engine over them is opened and closed")
    add("--folder", type=Path, help="where the data is made; the system's temporary folder if not given")
    add("--out", type=Path, help="JSON file for the figures")
    return parser


if __name__ == "__main__":
    main()
