"""Our retriever as one leg of LlamaIndex's QueryFusionRetriever, against LlamaIndex's own vector + BM25 fusion, on LoCoMo.

    python benchmarks/llamaindex_fusion.py --data DIR --facts DIR [--conversations conv-26,conv-41] [--rerank]

First, for every question and several sets of options: whether `HindsightRetriever` gives the units of `bank.recall` with
the same options, in its order, under scores that never rise, sync and async, and with the bundle's own vector.

Then the share of the evidence turns covered within 512 and 1,024 tokens, of each retriever alone and of the fusions
(`reciprocal_rerank`, one query), with the difference of those with ours from LlamaIndex's own (paired bootstrap over the questions of categories 1 to 4
of all conversations, 95%). The same for everybody: the texts (one node a unit of the bank, as the bank shows it), the embedder, the BM25 leg
(llama-index-retrievers-bm25, its defaults), the depth of every leg, and packing in rank order. Ours knows when it is asked, and
embeds the date of a memory with its text, as it always does. Nobody reranks; with --rerank ours does, without a deadline.

LoCoMo is Maharana et al. 2024 (snap-research/locomo, CC BY-NC 4.0); facts are those of `locomo_extract.py`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from llama_index.core.schema import NodeWithScore, QueryBundle
from locomo.baselines import Corpus
from locomo.coverage import coverage
from locomo.dataset import ANSWERABLE, Category, Conversation, load_conversation, load_facts
from locomo.llamaindex_legs import Arm, arms, bare_nodes
from locomo.run import Facts, Setup, retain_all

from hindsight_integrations import Hindsight, HindsightConfig, MemoryBank
from hindsight_integrations.backends.local_models.onnx import OnnxCrossEncoder, OnnxEmbedder
from hindsight_integrations.evals.metrics.intervals import paired_difference
from hindsight_integrations.evals.runner.disk_cache import CachedEmbedder, CachedReranker, DiskCache
from hindsight_integrations.llamaindex import HindsightRetriever
from hindsight_integrations.ports.embedder import Embedder
from hindsight_integrations.tempr.recall.packing import pack
from hindsight_integrations.testing.doubles import HashEmbedder

BUDGETS = (512, 1024)  # tokens
SAME = {"text": "full", "relevance": "all", "include_records": False}  # what recall asks for itself


@dataclass(frozen=True, slots=True)
class Share:
    """One question asked of one arm under one budget: the share of its evidence covered, in [0, 1]."""

    mode: str
    conversation: str
    question: int
    category: Category
    arm: Arm
    budget: int
    share: float


@dataclass(slots=True)
class Agreement:
    """How many retrievals were compared with a recall, and how many gave other units, another order or rising scores."""

    compared: int = 0
    different: int = 0

    def add(self, nodes: Sequence[NodeWithScore], units: Sequence[str]) -> None:
        """Compare the nodes of one retrieval with the ids of a recall."""
        scores = [float(node.score or 0.0) for node in nodes]
        same = [node.node.node_id for node in nodes] == list(units)
        in_order = all(map(math.isfinite, scores)) and scores == sorted(scores, reverse=True)
        self.compared += 1
        self.different += not (same and in_order)


def main(arguments: list[str] | None = None) -> None:
    """Run the benchmark, print its tables and write its numbers."""
    options = _parser().parse_args(arguments)
    agreement, shares = Agreement(), []
    with closing(DiskCache(options.cache / "locomo.sqlite")) as cache:
        setup = _setup(options, cache)
        for name in options.conversations.split(","):
            conversation = load_conversation(options.data / f"{name}.json")
            for facts in (load_facts(options.facts / f"{name}.jsonl"), None):
                shares += _measured(conversation, facts, setup, options.depth, agreement)
    print(f"retriever = recall: {agreement.compared - agreement.different} of {agreement.compared}")
    rows = [row for mode in ("facts", "turns") for budget in BUDGETS for row in _rows(shares, mode, budget)]
    print("\n".join(rows))
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        report = {"agreement": asdict(agreement), "rows": rows, "shares": [asdict(share) for share in shares]}
        options.out.write_text(json.dumps(report, indent=1) + "\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--data", type=Path, required=True, help="folder of conv-*.json")
    add("--facts", type=Path, required=True, help="folder of conv-*.jsonl")
    add("--conversations", default="conv-26,conv-41", help="comma-separated")
    add("--rerank", action="store_true", help="rerank ours with the default cross-encoder")
    add("--depth", type=int, default=100, help="nodes a leg gives")
    add("--limit", type=int, help="at most this many questions a conversation")
    add("--embedder", choices=("default", "hash"), default="default", help="hash is for a quick try")
    add("--cache", type=Path, default=Path("benchmarks/results/cache"), help="where vectors are kept")
    add("--out", type=Path, help="write the numbers here as JSON")
    return parser


def _setup(options: argparse.Namespace, cache: DiskCache) -> Setup:
    inner: Embedder = OnnxEmbedder() if options.embedder == "default" else HashEmbedder()
    config = HindsightConfig()
    config = replace(config, recall=replace(config.recall, rerank_deadline_ms=math.inf))
    reranker = CachedReranker(OnnxCrossEncoder(), cache) if options.rerank else None
    return Setup(CachedEmbedder(inner, cache), reranker, config, options.limit)


def _measured(
    conversation: Conversation,
    facts: Facts | None,
    setup: Setup,
    depth: int,
    agreement: Agreement,
) -> list[Share]:
    """The shares of one conversation, kept as facts or as turns; comparisons are added to the agreement."""
    mode = "turns" if facts is None else "facts"
    with (
        TemporaryDirectory(prefix="fusion-", ignore_cleanup_errors=True) as folder,
        Hindsight.open(
            folder, embeddings=setup.embedder, reranker=setup.reranker, config=setup.config
        ) as engine,
    ):
        bank = engine.bank(f"{conversation.name}/{mode}")
        retain_all(bank, conversation, facts)
        asyncio.run(_compare(bank, conversation, setup, agreement))
        units = {unit.id: unit for unit in Corpus.read(Path(folder), bank.name).units.values()}
        questions, depth = conversation.questions[: setup.limit], min(depth, len(units))
        ours = HindsightRetriever(bank, k=depth, query_timestamp=conversation.asked_at, metadata_keys=())
        nodes = bare_nodes(units.values(), ours, (question.text for question in questions))
        systems = arms(ours, nodes, setup.embedder, depth=depth)
        shares = []
        for number, question in enumerate(questions):
            for arm, system in systems.items():
                ranked = [units[node.node.node_id] for node in system.retrieve(question.text)]
                for budget in BUDGETS:
                    kept = [ranked[place] for place in pack([unit.tokens for unit in ranked], budget)]
                    share = coverage(question.evidence, (unit.sources for unit in kept))
                    shares.append(
                        Share(mode, conversation.name, number, question.category, arm, budget, share)
                    )
        return shares


async def _compare(bank: MemoryBank, conversation: Conversation, setup: Setup, agreement: Agreement) -> None:
    """Every question, under several options, both ways, and with its vector in the bundle."""
    middle = conversation.sessions[len(conversation.sessions) // 2].moment
    sets: list[dict[str, Any]] = [
        {"max_tokens": 1024},
        {"k": 7, "max_tokens": 4096, "budget": "high", "types": ["world"]},
        {"max_tokens": 512, "budget": "low", "as_of": middle, "min_scores": {"semantic": 0.3}},
    ]
    for question in conversation.questions[: setup.limit]:
        vector = [float(number) for number in setup.embedder.embed_query(question.text)]
        for options in sets:
            asked = {**SAME, **options, "query_timestamp": conversation.asked_at}
            found = await bank.asynchronous.recall(question.text, **asked)
            ids = [recalled.unit.id for recalled in found.units]
            retriever = HindsightRetriever(bank, **asked)
            agreement.add(retriever.retrieve(question.text), ids)
            agreement.add(await retriever.aretrieve(question.text), ids)
            agreement.add(await retriever.aretrieve(QueryBundle(question.text, embedding=vector)), ids)


def _rows(shares: Sequence[Share], mode: str, budget: int) -> Iterator[str]:
    """A line an arm, and how those with ours differ from LlamaIndex's fusion, of the questions of categories 1 to 4."""
    chosen = [
        share
        for share in shares
        if (share.mode, share.budget) == (mode, budget) and share.category in ANSWERABLE
    ]
    of = {arm: [100 * share.share for share in chosen if share.arm is arm] for arm in Arm}
    yield f"\n{mode}, {budget} tokens, {len(of[Arm.OURS])} questions"
    for arm, values in of.items():
        yield f"  {arm:<14} {sum(values) / len(values):6.2f}"
    pairs = [(arm, Arm.VECTOR_AND_BM25) for arm in (Arm.OURS_AND_BM25, Arm.OURS_AND_VECTOR, Arm.OURS)]
    by_score = (Arm.VECTOR_AND_BM25, Arm.VECTOR_AND_BM25_BY_SCORE)
    for arm, other in [*pairs, *((Arm.OURS_AND_BM25_BY_SCORE, other) for other in by_score)]:
        difference = paired_difference(of[arm], of[other])
        interval = f"[{difference.low:+.2f}, {difference.high:+.2f}]"
        yield f"  {arm} against {other}: {difference.mean:+.2f} {interval}"


if __name__ == "__main__":
    main()
