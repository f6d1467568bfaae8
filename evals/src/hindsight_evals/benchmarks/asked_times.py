"""Coverage of evidence by recall for questions with a time, with and without the time's words in the query.

    hindsight-evals bench asked_times --data DIR [--facts DIR] [--conversations conv-26,conv-41] [--cache DIR]

There are three sets of LoCoMo questions: those that name a time; every fourth of the others, with the most
frequent year added ("... in 2023?"); and every fourth of the others, with a "since ..." added that matches a
given share of all turns, if the evidence is from that time. Each question is asked in four ways: with the
defaults; with the time's words in the query (`_without` removes nothing); with the temporal channel always
on, and with it always off (`UNSELECTIVE` out of reach, and 0). The figure is the share of evidence turns that
recall returns with four token budgets, without a reranker, on numpy and FTS5. The constants of
`recall/retrieval.py` were chosen on conv-26, 41 and 43.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from unittest.mock import patch

from hindsight_evals.benchmarks.locomo.coverage import Mode, coverage
from hindsight_evals.benchmarks.locomo.dataset import Conversation, Question, load_conversation
from hindsight_evals.benchmarks.locomo.run import CACHE, Facts, retain_all
from hindsight_evals.benchmarks.memora.bank import LIGHT
from hindsight_evals.datasets.extracted import load_facts
from hindsight_evals.runner.disk_cache import CachedEmbedder, DiskCache
from hindsight_integrations import Hindsight, HindsightConfig, MemoryBank
from hindsight_integrations.language.dates import question_time
from hindsight_integrations.language.packs import ENGLISH
from hindsight_integrations.model.time import LocalDates
from hindsight_integrations.models.onnx import OnnxEmbedder
from hindsight_integrations.models.protocols import Embedder

BUDGETS = (256, 512, 1024, 2048)  # tokens
SHARES = (0.5, 0.65, 0.8, 0.9)  # shares of all turns that the added "since ..." matches
EVERY = 4  # every how many of the questions without a time get one
ASKED_TIME = "hindsight_integrations.recall.retrieval"


def ways() -> Mapping[str, AbstractContextManager[object]]:
    """Return a context manager for each way of asking."""
    return {
        "as it is": nullcontext(),
        "words of the time searched": patch(f"{ASKED_TIME}._without", lambda text, _found: text),
        "time always searched": patch(f"{ASKED_TIME}.UNSELECTIVE", 2.0),
        "time never searched": patch(f"{ASKED_TIME}.UNSELECTIVE", 0.0),
    }


@dataclass(frozen=True, slots=True)
class Timed:
    """A question that names a time, the set it belongs to, and its evidence."""

    of: str
    text: str
    evidence: frozenset[str]


def questions(conversation: Conversation) -> Iterator[Timed]:
    """Yield the questions of all three sets."""
    plain: list[Question] = []
    for question in conversation.questions:
        if question_time(question.text, conversation.asked_at, LocalDates(UTC), (ENGLISH,)):
            yield Timed("with a time", question.text, question.evidence)
        else:
            plain.append(question)
    years = Counter(session.moment.year for session in conversation.sessions for _ in session.messages)
    for question in plain[::EVERY]:
        yield Timed(
            "in the year of most", _with(question, f"in {years.most_common(1)[0][0]}"), question.evidence
        )
    for place, share in enumerate(SHARES):
        since, later = _since(conversation, share)
        known = [question for question in plain if question.evidence <= later]
        for question in known[place % EVERY :: EVERY]:
            text = _with(question, f"since {since.day} {since:%B} {since.year}")
            yield Timed(f"since, of {share:.0%}", text, question.evidence)


def _with(question: Question, time: str) -> str:
    return f"{question.text.rstrip('?')} {time}?"


def _since(conversation: Conversation, share: float) -> tuple[datetime, frozenset[str]]:
    """Return the start of the last sessions that contain a share of all turns, and the ids of their turns."""
    total = sum(len(session.messages) for session in conversation.sessions)
    later: set[str] = set()
    since = conversation.asked_at
    for session in reversed(conversation.sessions):
        if len(later) >= share * total:
            break
        since = session.moment
        later |= {message.id for message in session.messages if message.id}
    return since, frozenset(later)


def measured(
    conversation: Conversation, facts: Facts | None, embedder: Embedder
) -> dict[tuple[str, str], list[list[float]]]:
    """Return the shares of evidence covered with each budget, one row for each question, by set and way of asking."""
    found: dict[tuple[str, str], list[list[float]]] = {}
    config = HindsightConfig(storage=LIGHT)
    with (
        TemporaryDirectory() as folder,
        Hindsight.open(folder, embeddings=embedder, reranker=None, config=config) as engine,
    ):
        bank = engine.bank(conversation.name)
        retain_all(bank, conversation, facts)
        asked = list(questions(conversation))
        for way, changed in ways().items():
            with changed:
                for question in asked:
                    row = _covered(bank, question, conversation.asked_at)
                    found.setdefault((question.of, way), []).append(row)
    return found


def _covered(bank: MemoryBank, question: Timed, moment: datetime) -> list[float]:
    recalls = (bank.recall(question.text, max_tokens=budget, query_timestamp=moment) for budget in BUDGETS)
    return [coverage(question.evidence, (item.unit.sources for item in found.units)) for found in recalls]


def main(argv: Sequence[str] | None = None) -> None:
    """Measure all conversations, and print a table of means for each mode."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of conv-*.json")
    parser.add_argument("--facts", type=Path, help="folder of conv-*.jsonl")
    parser.add_argument("--conversations", default="conv-26,conv-41,conv-43")
    parser.add_argument("--cache", type=Path, default=CACHE)
    options = parser.parse_args(argv)
    rows: dict[tuple[Mode, str, str], list[list[float]]] = {}
    with closing(DiskCache(options.cache / "locomo.sqlite")) as cache:
        embedder = CachedEmbedder(OnnxEmbedder(), cache)
        for name in options.conversations.split(","):
            conversation = load_conversation(options.data / f"{name}.json")
            given = options.facts / f"{name}.jsonl" if options.facts else None
            modes: list[tuple[Mode, Facts | None]] = [(Mode.TURNS, None)]
            if given and given.is_file():
                modes.append((Mode.FACTS, load_facts(given)))
            for mode, facts in modes:
                for (of, way), found in measured(conversation, facts, embedder).items():
                    rows.setdefault((mode, of, way), []).extend(found)
    print(f"| | questions | way | {' | '.join(map(str, BUDGETS))} |\n|{'---|' * (3 + len(BUDGETS))}")
    for (mode, of, way), found in sorted(rows.items(), key=lambda row: row[0][:2]):
        means = " | ".join(f"{100 * mean(column):.1f}" for column in zip(*found, strict=True))
        print(f"| {mode}, {of} | {len(found)} | {way} | {means} |")


if __name__ == "__main__":
    main()
