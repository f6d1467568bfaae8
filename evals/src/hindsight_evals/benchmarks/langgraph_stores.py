"""Latency and search quality of HindsightStore, and of LangGraph's InMemoryStore and SqliteStore, on LoCoMo.

    hindsight-evals bench langgraph_stores --data DIR [--conversations conv-26,conv-41] [--rounds 3] [--out FILE]

Every turn is an item, in a namespace for each conversation. Every question with evidence, without category 5,
is a search under the prefix of its conversation. All stores get the same items in the same order, with the
same embedder and one vector for each item, in one process. First each item is put separately; then come gets,
listings and searches, in rounds in which the stores take turns; then everything is repeated in batches in new
stores. Vectors are computed in advance, so that the times are those of the stores (the embedder's time is
printed separately). SqliteStore has its vectors, too (`evals/peers/loaded_sqlite.py`).

LoCoMo is Maharana et al. 2024 (snap-research/locomo, CC BY-NC 4.0): get `conv-*.json` from there. Needs the
extras [langgraph,offline,cookbooks].
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from langchain_core.embeddings import Embeddings
from langgraph.store.base import BaseStore, PutOp
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore

from hindsight_evals.benchmarks.locomo.dataset import ANSWERABLE, Question, load_conversation
from hindsight_evals.benchmarks.locomo.table import render
from hindsight_evals.benchmarks.speed.clocks import percentiles, timed
from hindsight_evals.metrics.intervals import paired_difference
from hindsight_evals.peers.loaded_sqlite import with_vectors
from hindsight_integrations import Hindsight
from hindsight_integrations.langgraph import HindsightStore
from hindsight_integrations.models.onnx import OnnxEmbedder

DEPTHS = (5, 10, 20)  # number of results of a search
BATCH = 100  # number of puts in a batch
FIELD = "text"  # the indexed field
PUT, GET, SEARCH, LIST, NAMESPACES = "put", "get", "search", "search without a query", "list_namespaces"
BATCHED = f"batch of {BATCH} puts"
WARM = "warm"
LISTED_EVERY = 10  # number of questions between two measurements of the listings

T = TypeVar("T")
Opener = Callable[[Path, "ReadyVectors"], AbstractContextManager[BaseStore]]


class ReadyVectors(Embeddings):
    """Precomputed vectors of the bundled embedder.

    Attributes:
        milliseconds: the embedder's time for a text in a batch, and for a single question.
        dimensions: length of a vector.
        complete: whether texts without a precomputed vector are rejected. Until then, our engine embeds texts
            to calibrate its thresholds.
    """

    def __init__(self, texts: Sequence[str], questions: Sequence[str]) -> None:
        self.complete = False
        self._embedder = embedder = OnnxEmbedder()
        embedder.embed_query(WARM)
        took, made = timed(embedder.embed_documents, texts)
        as_texts = embedder.embed_documents(questions)  # because SqliteStore embeds a query as a text
        asked = [timed(embedder.embed_query, question) for question in questions]
        self.milliseconds = {
            "text": round(took / len(texts), 2),
            "question": percentiles([ms for ms, _ in asked]),
        }
        self.dimensions = made.shape[1]
        self._texts = dict(zip([*texts, *questions], [*made.tolist(), *as_texts.tolist()], strict=True))
        self._questions: dict[str, list[float]] = dict(
            zip(questions, (vector.tolist() for _, vector in asked), strict=True)
        )

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return precomputed vectors; unknown texts stop the run."""
        missing = [] if self.complete else [text for text in texts if text not in self._texts]
        if missing:
            self._texts |= dict(zip(missing, self._embedder.embed_documents(missing).tolist(), strict=True))
        return [self._texts[text] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Return the precomputed vector."""
        if not self.complete and text not in self._questions:
            self._questions[text] = self._embedder.embed_query(text).tolist()
        return self._questions[text]

    @property
    def index(self) -> Any:  # noqa: ANN401 - either store's own typed dict
        """Return the index configuration for LangGraph's own stores."""
        return {"dims": self.dimensions, "embed": self, "fields": [FIELD], "text_fields": [FIELD]}


@dataclass(slots=True)
class Measured:
    """The results of one store.

    Attributes:
        took: milliseconds by operation.
        first_search: milliseconds of the first search after the puts.
        found: the keys found for each question, best first.
    """

    took: dict[str, list[float]] = field(default_factory=dict)
    first_search: float = 0.0
    found: list[list[str]] = field(default_factory=list)

    def time(self, operation: str, work: Callable[[], T]) -> T:
        """Call a function, record its duration, and return its result."""
        milliseconds, given = timed(work)
        self.took.setdefault(operation, []).append(milliseconds)
        return given

    def shares(self, questions: Sequence[Question], depth: int) -> list[float]:
        """Return the share of each question's evidence among the first `depth` items."""
        return [
            len(question.evidence.intersection(keys[:depth])) / len(question.evidence)
            for question, keys in zip(questions, self.found, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class Work:
    """The input of all stores: a put for each turn, and the questions with their namespaces."""

    items: tuple[PutOp, ...]
    questions: tuple[Question, ...]
    prefixes: tuple[tuple[str, ...], ...]


def main(argv: Sequence[str] | None = None) -> None:
    """Run the benchmark, print its tables and write its numbers."""
    options = _parser().parse_args(argv)
    work = _work(options.data, options.conversations.split(","))
    vectors = ReadyVectors(
        [_value(put)[FIELD] for put in work.items], [question.text for question in work.questions]
    )
    measured = {name: Measured() for name in OPENERS}
    with TemporaryDirectory() as folder, ExitStack() as stack:
        stores = {
            name: stack.enter_context(open_(Path(folder, name), vectors)) for name, open_ in OPENERS.items()
        }
        for store in stores.values():
            store.put(("warm",), "warm", {FIELD: WARM})
            store.search(("warm",), query=WARM)
            store.delete(("warm",), "warm")
        vectors.complete = True
        for name, store in stores.items():
            _put(store, work, measured[name])
        for number in range(options.rounds):
            turn = number % len(stores)
            for name in [*list(stores)[turn:], *list(stores)[:turn]]:
                _read(stores[name], work, measured[name])
    for name, open_ in OPENERS.items():
        with TemporaryDirectory() as folder, open_(Path(folder, name), vectors) as store:
            _put_in_batches(store, work, measured[name])
    report = _report(work, vectors, measured)
    print(_tables(report))
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(report, indent=1) + "\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of conv-*.json")
    parser.add_argument("--conversations", default="conv-26,conv-41", help="comma-separated")
    parser.add_argument("--rounds", type=int, default=3, help="of gets, listings and searches")
    parser.add_argument("--out", type=Path, help="write the numbers here as JSON")
    return parser


def _work(data: Path, names: Sequence[str]) -> Work:
    conversations = [load_conversation(data / f"{name}.json") for name in names]
    items = tuple(
        PutOp(("locomo", conversation.name), message.id or "", {FIELD: " ".join(message.spoken.split())})
        for conversation in conversations
        for session in conversation.sessions
        for message in session.messages
    )
    asked = [
        (question, ("locomo", conversation.name))
        for conversation in conversations
        for question in conversation.questions
        if question.category in ANSWERABLE
    ]
    return Work(items, tuple(question for question, _ in asked), tuple(prefix for _, prefix in asked))


@contextmanager
def _ours(path: Path, vectors: ReadyVectors) -> Iterator[BaseStore]:
    with Hindsight.open(path, embeddings=vectors, reranker=None) as hindsight:
        yield HindsightStore(hindsight, index=[FIELD])


@contextmanager
def _in_memory(path: Path, vectors: ReadyVectors) -> Iterator[BaseStore]:  # noqa: ARG001 - it keeps nothing
    yield InMemoryStore(index=vectors.index)


@contextmanager
def _sqlite(path: Path, vectors: ReadyVectors) -> Iterator[BaseStore]:
    with with_vectors(path) as connection:
        store = SqliteStore(connection, index=vectors.index)
        store.setup()
        yield store


OPENERS: dict[str, Opener] = {"HindsightStore": _ours, "InMemoryStore": _in_memory, "SqliteStore": _sqlite}


def _value(put: PutOp) -> Mapping[str, Any]:
    """Return the value of a put (which is never None here)."""
    assert put.value is not None
    return put.value


def _put(store: BaseStore, work: Work, measured: Measured) -> None:
    for put in work.items:
        measured.time(PUT, partial(store.put, put.namespace, put.key, dict(_value(put))))
    search = partial(store.search, work.prefixes[0], query=work.questions[0].text, limit=max(DEPTHS))
    measured.first_search, _ = timed(search)


def _read(store: BaseStore, work: Work, measured: Measured) -> None:
    for put in work.items:
        measured.time(GET, partial(store.get, put.namespace, put.key))
    found = []
    for number, (question, prefix) in enumerate(zip(work.questions, work.prefixes, strict=True)):
        items = measured.time(SEARCH, partial(store.search, prefix, query=question.text, limit=max(DEPTHS)))
        found.append([item.key for item in items])
        if number % LISTED_EVERY == 0:
            measured.time(LIST, partial(store.search, prefix, limit=max(DEPTHS)))
            measured.time(NAMESPACES, partial(store.list_namespaces, prefix=prefix[:1]))
    if measured.found not in ([], found):
        raise SystemExit("the same question brought other items the second time")
    measured.found = found


def _put_in_batches(store: BaseStore, work: Work, measured: Measured) -> None:
    for start in range(0, len(work.items) - BATCH + 1, BATCH):
        measured.time(BATCHED, partial(store.batch, work.items[start : start + BATCH]))


def _report(work: Work, vectors: ReadyVectors, measured: dict[str, Measured]) -> dict[str, Any]:
    found = {
        str(depth): {name: one.shares(work.questions, depth) for name, one in measured.items()}
        for depth in DEPTHS
    }
    return {
        "items": len(work.items),
        "questions": len(work.questions),
        "embedder_ms": vectors.milliseconds,
        "took_ms": {
            name: {operation: percentiles(took) for operation, took in one.took.items()}
            | {"first search": one.first_search}
            for name, one in measured.items()
        },
        "evidence_recall": {
            depth: {name: sum(each) / len(each) for name, each in shares.items()}
            for depth, shares in found.items()
        },
        "ours_minus": {
            depth: {name: _interval(shares["HindsightStore"], each) for name, each in shares.items()}
            for depth, shares in found.items()
        },
    }


def _interval(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    difference = paired_difference(ours, theirs)
    return [difference.mean, difference.low, difference.high]


def _tables(report: dict[str, Any]) -> str:
    took = report["took_ms"]
    times = [
        [operation, *(f"{took[name][operation]['p50']} / {took[name][operation]['p95']}" for name in took)]
        for operation in (PUT, BATCHED, GET, SEARCH, LIST, NAMESPACES)
    ]
    times.append(["first search after the puts", *(f"{took[name]['first search']:.1f}" for name in took)])
    recalls = [
        [
            f"@{depth}",
            *(f"{100 * share:.1f}" for share in shares.values()),
            "{1:+.1f}, {2:+.1f}".format(
                *(100 * part for part in report["ours_minus"][depth]["InMemoryStore"])
            ),
        ]
        for depth, shares in report["evidence_recall"].items()
    ]
    return "\n\n".join(
        (
            f"the embedder, ms: {report['embedder_ms']}",
            render(f"{report['items']} items, ms p50 / p95", ["", *took], times),
            render(
                f"evidence recall of search, %, {report['questions']} questions",
                ["", *took, "ours - InMemoryStore, 95%"],
                recalls,
            ),
        )
    )


if __name__ == "__main__":
    main()
