"""Kill a process repeatedly in the middle of its work, and check that nothing acknowledged is lost.

    hindsight-evals bench crash [--kills 44] [--keywords lucene,fts5] [--kinds retain,edit,...] [--jobs 1] [--seed 7]
        [--out FILE] [--keep DIR]

Eleven kinds of operation are killed (SIGKILL) at random moments: retain, retain_many, forget, edit, merge,
document upsert, reindex, import, forget_bank, open, and open with the indexes deleted. A child process
reports the changes of each operation before it starts and after it returns. After the kill, the directory is
opened again and checked: every acknowledged change must be present, and each commit of the interrupted
operation must be either complete or absent. Memories must be found by meaning, words, name and time, `doctor`
must report no problem, and no file may contain words that an acknowledged `forget` or `edit` removed. 22
kills make up a session in one directory. At its end the indexes are first damaged and then deleted. The exit
code is 1 if there is any problem.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

from hindsight_evals.benchmarks.kills.checks import file_problems, index_problems, tokens
from hindsight_evals.benchmarks.kills.child import Left, Task, killed
from hindsight_evals.benchmarks.kills.operations import EMBEDDERS, Kind, delete_indexes, open_memory
from hindsight_evals.benchmarks.kills.state import State, apply, left_over, read_state
from hindsight_integrations.config import KeywordBackend

SESSION = 22  # number of kills in one directory


@dataclass(slots=True)
class Session:
    """A series of kills in one directory.

    Attributes:
        folder: the data directory.
        keywords: its keyword index.
        rng: the source of random moments and samples.
        state: the contents of the directory at the last check.
        embedder: the embedder of its vectors.
        kills: number of kills by kind of operation.
        hits: number of kills that interrupted an operation.
        acknowledged: number of acknowledged changes.
        problems: descriptions of what was wrong.
    """

    folder: Path
    keywords: KeywordBackend
    rng: random.Random
    state: State = frozenset()
    embedder: str = "hash"
    kills: Counter[str] = field(default_factory=Counter)
    hits: Counter[str] = field(default_factory=Counter)
    acknowledged: int = 0
    problems: list[str] = field(default_factory=list)

    def round(self, kind: Kind, number: int) -> None:
        """Kill one child, and check the directory."""
        before = len(self.problems)
        target = self.embedder
        if kind is Kind.REINDEX:
            (target,) = set(EMBEDDERS) - {self.embedder}
        left = killed(Task(self.folder, self.keywords, kind, number, target), self.state, self.rng)
        self.kills[kind] += 1
        self.hits[kind] += bool(left.under_way) or kind in (Kind.OPEN, Kind.OPEN_WITHOUT_INDEXES)
        self.acknowledged += len(left.acknowledged)
        if left.failure or not left.ready:
            self.problems.append(f"the child failed by itself: {left.failure or 'it was not ready in time'}")
        self._look(left, target)
        self.problems[before:] = [
            f"{self.keywords} round {number}, {kind}: {problem}" for problem in self.problems[before:]
        ]

    def damaged(self) -> None:
        """Damage the indexes, then delete them; check that they are rebuilt."""
        for damage in (corrupt, delete_indexes):
            damage(self.folder)
            with open_memory(self.folder, self.keywords, self.embedder) as hindsight:
                seen = read_state(hindsight)
                wrong = index_problems(hindsight, set(), self.rng) + left_over(self.state, (), seen)
            self.problems += [f"{self.keywords} {damage.__name__}: {problem}" for problem in wrong]

    def _look(self, left: Left, target: str) -> None:
        fresh = {line[2] for change in left.acknowledged for line in change.adds if line[0] == "unit"}
        waiting: State = frozenset()
        if (
            target != self.embedder
        ):  # banks that were not reindexed yet work only with their previous embedder
            with open_memory(self.folder, self.keywords, self.embedder) as hindsight:
                waiting = read_state(hindsight)
                self.problems += index_problems(hindsight, fresh, self.rng)
        with open_memory(self.folder, self.keywords, target) as hindsight:
            seen = read_state(hindsight, other=waiting)
            self.problems += left_over(apply(self.state, left.acknowledged), left.under_way, seen)
            self.problems += index_problems(hindsight, fresh, self.rng)
            held = {line[1] for line in seen} | tokens(line[2] for line in seen if len(line) > 2)
            erased = {word for change in left.acknowledged for word in change.erased}
            self.problems += file_problems(self.folder, erased - held)
            if target != self.embedder:
                for name in hindsight.banks():
                    hindsight.bank(name).maintenance.reindex()
        self.state, self.embedder = seen, target


def corrupt(folder: Path) -> None:
    """Truncate the files of Chroma's collections and of Lucene to half, as a faulty disk might."""
    for pattern in ("chroma/*/*.bin", "chroma/*/*.pickle", "lucene/*/*"):
        for path in folder.glob(pattern):
            if path.is_file() and path.name != "write.lock":
                path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def run_session(keywords: str, kinds: Sequence[Kind], seed: int, parent: Path) -> Session:
    """Run a session in its own directory, with every kind of operation in random order."""
    rng = random.Random(f"{seed}/{keywords}")
    session = Session(parent / f"{keywords}-{seed}", KeywordBackend(keywords), rng)
    for number, kind in enumerate(rng.sample(kinds, len(kinds))):
        session.round(kind, 100 * seed + number)
    session.damaged()
    return session


def sessions(options: argparse.Namespace, parent: Path) -> Iterator[Session]:
    """Yield the sessions as they end; the kills are spread evenly over keyword indexes and kinds."""
    dealt = [
        (options.keywords[n % len(options.keywords)], n // len(options.keywords))
        for n in range(options.kills)
    ]
    plans: dict[tuple[str, int], list[Kind]] = {}
    for keywords, place in dealt:
        plans.setdefault((keywords, place // SESSION), []).append(options.kinds[place % len(options.kinds)])
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        waiting = [
            pool.submit(run_session, keywords, kinds, options.seed + number, parent)
            for (keywords, number), kinds in plans.items()
        ]
        for done in as_completed(waiting):
            yield done.result()


def run(options: argparse.Namespace, parent: Path) -> int:
    """Run all sessions; print a line for each, and a table at the end."""
    kills: Counter[str] = Counter()
    hits: Counter[str] = Counter()
    acknowledged, bad = 0, list[str]()
    for session in sessions(options, parent):
        kills += session.kills
        hits += session.hits
        acknowledged += session.acknowledged
        bad += session.problems
        print(f"{kills.total()} kills, {acknowledged} changes acknowledged, {len(bad)} problems", flush=True)
        if not session.problems and not options.keep:
            shutil.rmtree(session.folder)
    for kind in options.kinds:
        print(f"  {kind:<28}{kills[kind]:>5} kills, {hits[kind]:>4} of them within an operation")
    print("\n".join(bad[:40]))
    print(f"{kills.total()} kills, {acknowledged} changes acknowledged, {len(bad)} problems")
    if options.out:
        report = {"kills": kills, "within": hits, "acknowledged": acknowledged, "problems": bad}
        options.out.write_text(json.dumps(report, indent=1) + "\n")
    return 1 if bad or not acknowledged else 0


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--kills", type=int, default=44, help="how many, over all kinds and keyword indexes")
    add("--keywords", type=lambda text: text.split(","), default=["lucene", "fts5"], help="keyword indexes")
    add("--kinds", type=_kinds, default=list(Kind), help="kinds of operation, comma-separated")
    add("--jobs", type=int, default=1, help="sessions at a time")
    add("--seed", type=int, default=7)
    add("--out", type=Path, help="write the counts and problems here as JSON")
    add("--keep", type=Path, help="keep the directories here")
    options = parser.parse_args(argv)
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
        return run(options, options.keep)
    with tempfile.TemporaryDirectory(prefix="hindsight-crash-", ignore_cleanup_errors=True) as folder:
        return run(options, Path(folder))


def _kinds(text: str) -> list[Kind]:
    return [Kind(part) for part in text.split(",")]


if __name__ == "__main__":
    sys.exit(main())
