"""What `relevance="likely"` saves and what it costs on LoCoMo, and how often a question nobody can answer gets nothing.

    python benchmarks/relevance_cut.py --data DIR [--facts DIR] [--conversations conv-30,conv-42] [--rerank] [--sweep]

Each conversation is asked its own questions, 40 of another conversation's with the speakers' names exchanged, and the 80 of
locomo/never_mentioned.txt, which a user might ask of things that never came up. Lost is evidence recall under "likely" less
that under "all", in points over the answerable questions; saved is the share of their tokens; empty is the share of questions
of each kind that get no memory. `--sweep` asks once for everything and tries other bars of tempr/recall/relevance.py on it:
choose on conv-26, 41, 43, report others.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import product
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory

from locomo.coverage import coverage
from locomo.dataset import Conversation, load_conversation, load_facts
from locomo.run import Facts, Setup, retain_all
from locomo.unanswerable import Kind, asked_of, lenders

from hindsight_integrations import Hindsight, HindsightConfig, MemoryBank
from hindsight_integrations.backends.local_models.onnx import OnnxCrossEncoder, OnnxEmbedder
from hindsight_integrations.evals.runner.disk_cache import CachedEmbedder, CachedReranker, DiskCache
from hindsight_integrations.model.results import RecallResult
from hindsight_integrations.model.trace import Channel
from hindsight_integrations.search.fusion import RRF_K
from hindsight_integrations.search.reference_scale import question_cosine
from hindsight_integrations.tempr.recall.packing import pack
from hindsight_integrations.tempr.recall.relevance import READ_BY, UNREAD, Bar, nearness

FITTED = frozenset(["conv-26", "conv-41", "conv-43"])
BUDGETS = (256, 512, 1024, 2048)  # tokens
EVERYTHING = 10_000_000  # tokens
UNHEARD = "unheard of"  # the questions of never_mentioned.txt
NEARNESSES = (0.40, 0.42, 0.44, 0.45, 0.46, 0.48, 0.50)
BEHIND = {False: tuple(ranks / RRF_K for ranks in (2.0, 2.5, 3.0, 4.0)), True: (10.0, 12.0, 14.0, 16.0, 18.0)}
ALL = "all"  # the first column: what "likely" is compared with


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back under one budget: the share of evidence covered (0 where a question has none), its tokens, how many."""

    share: float
    tokens: int
    units: int


@dataclass(frozen=True, slots=True)
class Row:
    """One question: put to turns or facts, its kind, and what came back by bar and budget."""

    mode: str
    kind: str
    answers: dict[tuple[str, int], Answer]


def main(arguments: list[str] | None = None) -> None:
    """Ask everything, print a table for turns and one for facts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--data", type=Path, required=True, help="folder of conv-*.json")
    add(
        "--facts", type=Path, help="folder of conv-*.jsonl; conversations without one are asked verbatim only"
    )
    add("--conversations", default="conv-26,conv-30,conv-41,conv-42,conv-43", help="comma-separated")
    add("--rerank", action="store_true", help="with the default cross-encoder, without a deadline")
    add("--sweep", action="store_true", help="other bars than the library's")
    add(
        "--cache",
        type=Path,
        default=Path("benchmarks/results/cache"),
        help="where vectors and logits are kept",
    )
    options = parser.parse_args(arguments)
    every = [load_conversation(path) for path in sorted(options.data.glob("conv-*.json"))]
    if not every:
        sys.exit(f"no conv-*.json in {options.data}")
    with closing(DiskCache(options.cache / "locomo.sqlite")) as cache:
        setup, wanted = _setup(cache, rerank=options.rerank), options.conversations.split(",")
        lent = lenders(every, FITTED)
        chosen = [conversation for conversation in every if conversation.name in wanted]
        rows = [
            row
            for one in chosen
            for row in _rows(one, lent.get(one.name), options.facts, setup, options.sweep)
        ]
    for mode in ("turns", "facts"):
        _print_table(mode, [row for row in rows if row.mode == mode])


def _setup(cache: DiskCache, *, rerank: bool) -> Setup:
    config = HindsightConfig()
    config = replace(config, recall=replace(config.recall, rerank_deadline_ms=math.inf))
    reranker = CachedReranker(OnnxCrossEncoder(), cache) if rerank else None
    return Setup(CachedEmbedder(OnnxEmbedder(), cache), reranker, config)


def _rows(
    conversation: Conversation, lender: Conversation | None, folder: Path | None, setup: Setup, sweep: bool
) -> Iterator[Row]:
    """Every question of one conversation, of its turns and of its facts if there are any."""
    facts = folder / f"{conversation.name}.jsonl" if folder else None
    modes: dict[str, Facts | None] = {"turns": None}
    if facts and facts.is_file():
        modes["facts"] = load_facts(facts)
    for mode, given in modes.items():
        print(conversation.name, mode, file=sys.stderr)
        with _retained(conversation, given, setup) as bank:
            asking = Asking(bank, conversation.asked_at, setup)
            for text, kind, evidence in _questions(conversation, lender):
                answers = asking.swept(text, evidence) if sweep else asking.compared(text, evidence)
                yield Row(mode, kind, answers)


@contextmanager
def _retained(conversation: Conversation, facts: Facts | None, setup: Setup) -> Iterator[MemoryBank]:
    """A bank that keeps one conversation."""
    with (
        TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        Hindsight.open(
            folder, embeddings=setup.embedder, reranker=setup.reranker, config=setup.config
        ) as hindsight,
    ):
        bank = hindsight.bank("conversation")
        retain_all(bank, conversation, facts)
        yield bank


def _questions(
    conversation: Conversation, lender: Conversation | None
) -> Iterator[tuple[str, str, frozenset[str]]]:
    """Text, kind and evidence of every question."""
    evidence = {question.text: question.evidence for question in conversation.questions}
    for asked in asked_of(conversation, lender):
        if asked.kind is not Kind.STRANGER:
            known = evidence[asked.text] if asked.kind is Kind.ANSWERED else frozenset[str]()
            yield asked.text, asked.kind, known
    for text in (
        Path(__file__).parent.joinpath("locomo", "never_mentioned.txt").read_text("utf-8").splitlines()
    ):
        yield text, UNHEARD, frozenset()


@dataclass(frozen=True, slots=True)
class Asking:
    """Questions put to a bank at a time."""

    bank: MemoryBank
    moment: datetime
    setup: Setup

    def compared(self, text: str, evidence: frozenset[str]) -> dict[tuple[str, int], Answer]:
        """Under "all" and under "likely", each budget recalled anew."""
        answers = {}
        for relevance, budget in product((ALL, "likely"), BUDGETS):
            found = self.bank.recall(
                text, max_tokens=budget, query_timestamp=self.moment, relevance=relevance
            )
            sources = [item.unit.sources for item in found.units]
            share = coverage(evidence, sources) if evidence else 0.0
            answers[relevance, budget] = Answer(share, found.tokens, len(sources))
        return answers

    def swept(self, text: str, evidence: frozenset[str]) -> dict[tuple[str, int], Answer]:
        """Under every bar, packed from one recall of everything; a time alone is not gated, so a few are cut too much here."""
        found = self.bank.recall(text, max_tokens=EVERYTHING, query_timestamp=self.moment, trace=True)
        traced = {unit.unit_id: unit for unit in found.trace.units}
        units = [(item, traced[item.unit.id]) for item in found.units]
        logits = [trace.reranked.logit for _, trace in units if trace.reranked]
        near = _nearness(found, text, self.setup)
        answers = {}
        for name, bar in self._bars().items():
            silent = near < bar.nearness and not max(logits, default=-math.inf) >= bar.logit
            least = math.inf if silent else max((item.score for item, _ in units), default=0.0) - bar.behind
            kept = [(item, trace) for item, trace in units if item.score >= least]
            for budget in BUDGETS:
                packed = [kept[at] for at in pack([trace.tokens for _, trace in kept], budget)]
                share = coverage(evidence, (item.unit.sources for item, _ in packed)) if evidence else 0.0
                answers[name, budget] = Answer(share, sum(trace.tokens for _, trace in packed), len(packed))
        return answers

    def _bars(self) -> dict[str, Bar]:
        reranker = self.setup.reranker
        own = READ_BY[reranker.name] if reranker else UNREAD
        bars = {ALL: Bar(-math.inf, -math.inf, math.inf)}
        bars |= {f"nearness {near:.2f}": replace(own, nearness=near) for near in NEARNESSES}
        bars |= {f"behind {far:.3f}": replace(own, behind=far) for far in BEHIND[reranker is not None]}
        return bars


def _nearness(found: RecallResult, text: str, setup: Setup) -> float:
    thresholds = setup.embedder.identity.thresholds
    scores = {
        channel: [item.channels[channel].score for item in found.units if channel in item.channels]
        for channel in (Channel.SEMANTIC, Channel.KEYWORD)
    }
    cosine = max(scores[Channel.SEMANTIC], default=thresholds.channel_floor)
    return nearness(question_cosine(cosine, thresholds), max(scores[Channel.KEYWORD], default=0.0), text)


def _print_table(mode: str, rows: Sequence[Row]) -> None:
    """Of each bar: points lost and percent of tokens saved under each budget, and the percent of each kind that is empty."""
    if not rows:
        return
    answered = [row for row in rows if row.kind == Kind.ANSWERED]
    kinds = {str(row.kind): [other for other in rows if other.kind == row.kind] for row in rows}
    print(f"{mode}: lost points / saved % at {', '.join(map(str, BUDGETS))} tokens; empty %")
    for bar in dict.fromkeys(name for name, _ in rows[0].answers):
        cells = []
        for budget in BUDGETS:
            before, after = ([row.answers[name, budget] for row in answered] for name in (ALL, bar))
            lost = 100 * (mean(one.share for one in before) - mean(one.share for one in after))
            spent = sum(one.tokens for one in before)
            saved = 100 * (1 - sum(one.tokens for one in after) / spent) if spent else 0.0
            cells.append(f"{lost:5.2f} / {saved:3.0f}")
        empty = [
            f"{kind} {100 * mean(not row.answers[bar, BUDGETS[-1]].units for row in of_kind):.0f} of {len(of_kind)}"
            for kind, of_kind in kinds.items()
        ]
        print(f"  {bar:16} {'   '.join(cells)}   {', '.join(empty)}")


if __name__ == "__main__":
    main()
