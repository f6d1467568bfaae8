"""Our retriever in LlamaIndex's QueryFusionRetriever, compared with LlamaIndex's own vector and BM25 fusion, on LoCoMo.

    hindsight-evals bench llamaindex_fusion --data DIR --facts DIR [--conversations conv-26,conv-41] [--rerank]

First, for every question and several sets of options: whether `HindsightRetriever` returns the units of
`bank.recall` with the same options in the same order, with scores that never rise, sync and async, and with a
precomputed query vector.

Then the share of evidence turns covered with 512 and 1,024 tokens, by each retriever alone and by the fusions
(`reciprocal_rerank`, one query), with the difference of our fusions from LlamaIndex's own (paired bootstrap
over the questions of categories 1 to 4 of all conversations, 95 %). All arms use the same texts (one node for
each unit of the bank, as the bank renders it), embedder, BM25 retriever (llama-index-retrievers-bm25,
defaults), depth, and packing in rank order. Our retriever knows the time of the question, and as always
embeds a memory's date with its text. There is no reranker; with --rerank ours has one, without a deadline.

LoCoMo is Maharana et al. 2024 (snap-research/locomo, CC BY-NC 4.0); the facts come from `locomo_extract`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from llama_index.core import VectorStoreIndex
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import BaseRetriever, QueryFusionRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.retrievers.bm25 import BM25Retriever

from hindsight_evals.benchmarks.locomo.baselines import Corpus
from hindsight_evals.benchmarks.locomo.coverage import coverage
from hindsight_evals.benchmarks.locomo.dataset import ANSWERABLE, Conversation, load_conversation
from hindsight_evals.benchmarks.locomo.run import CACHE, Facts, Setup, retain_all
from hindsight_evals.datasets.extracted import load_facts
from hindsight_evals.datasets.locomo import Category
from hindsight_evals.metrics.intervals import paired_difference
from hindsight_evals.peers.llamaindex_fusion import SharedEmbedding
from hindsight_evals.runner.disk_cache import CachedEmbedder, CachedReranker, DiskCache
from hindsight_integrations import Hindsight, HindsightConfig, MemoryBank
from hindsight_integrations.llamaindex import HindsightRetriever
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.models.onnx import OnnxCrossEncoder, OnnxEmbedder
from hindsight_integrations.models.protocols import Embedder
from hindsight_integrations.recall.packing import pack
from hindsight_integrations.testing.doubles import HashEmbedder

logging.getLogger("bm25s").setLevel(logging.WARNING)


CHANNELS_OF_LEGS = (
    4,
    1,
)  # weights of the retrievers, fixed before the run: ours fuses four channels, BM25 is one


class Arm(StrEnum):
    """One retriever, or the fusion of two by reciprocal rank or, with weights, by relative score."""

    OURS_AND_BM25 = "ours + BM25"
    OURS_AND_VECTOR = "ours + vector"
    VECTOR_AND_BM25 = "vector + BM25"
    OURS_AND_BM25_BY_SCORE = "ours + BM25, 4:1"
    VECTOR_AND_BM25_BY_SCORE = "vector + BM25, 1:1"
    OURS = "ours"
    VECTOR = "vector"
    BM25 = "BM25"


def arms(
    ours: HindsightRetriever, nodes: Sequence[TextNode], embedder: Embedder, *, depth: int
) -> Mapping[Arm, BaseRetriever]:
    """Return every arm over one bank. Every retriever returns up to `depth` nodes without dates, so that fusion merges equal texts.

    Args:
        ours: our retriever, with bare nodes.
        nodes: the bank's memories, for LlamaIndex's retrievers.
        embedder: the bank's embedder.
        depth: number of nodes from each retriever.
    """
    index = VectorStoreIndex(list(nodes), embed_model=SharedEmbedding(embedder))
    legs: dict[Arm, BaseRetriever] = {
        Arm.OURS: ours,
        Arm.VECTOR: index.as_retriever(similarity_top_k=depth),
        Arm.BM25: BM25Retriever.from_defaults(nodes=list(nodes), similarity_top_k=depth),
    }
    fused = {
        Arm.OURS_AND_BM25: (Arm.OURS, Arm.BM25),
        Arm.OURS_AND_VECTOR: (Arm.OURS, Arm.VECTOR),
        Arm.VECTOR_AND_BM25: (Arm.VECTOR, Arm.BM25),
    }
    return {
        **{arm: _fusion([legs[leg] for leg in two], 2 * depth) for arm, two in fused.items()},
        Arm.OURS_AND_BM25_BY_SCORE: _fusion([legs[Arm.OURS], legs[Arm.BM25]], 2 * depth, CHANNELS_OF_LEGS),
        Arm.VECTOR_AND_BM25_BY_SCORE: _fusion([legs[Arm.VECTOR], legs[Arm.BM25]], 2 * depth, (1, 1)),
        **legs,
    }


def bare_nodes(
    units: Iterable[MemoryUnit], ours: HindsightRetriever, questions: Iterable[str]
) -> list[TextNode]:
    """Return the units as nodes with the same texts as our retriever's: without retracted parts, or with a note about them.

    Fusion identifies nodes by their text, and would count a memory twice if the texts differed.
    """
    shown = {node.node_id: node.text for question in questions for node in ours.retrieve(question)}
    return [TextNode(id_=unit.id, text=shown.get(unit.id, unit.text)) for unit in units]


def _fusion(
    legs: list[BaseRetriever], top_k: int, weights: tuple[float, ...] | None = None
) -> QueryFusionRetriever:
    """Return the fusion for the question itself, without generated questions, so that no LLM is called."""
    return QueryFusionRetriever(
        legs,
        llm=MockLLM(),
        mode="relative_score" if weights else "reciprocal_rerank",  # the only modes with weights use scores
        retriever_weights=list(weights) if weights else None,
        num_queries=1,
        similarity_top_k=top_k,
        use_async=False,
    )


BUDGETS = (512, 1024)  # tokens
# recall options that match the retriever's
SAME = {"text": "full", "relevance": "all", "include_records": False}


@dataclass(frozen=True, slots=True)
class Share:
    """The result of one question in one arm with one budget: the share of its evidence covered, in [0, 1]."""

    mode: str
    conversation: str
    question: int
    category: Category
    arm: Arm
    budget: int
    share: float


@dataclass(slots=True)
class Agreement:
    """The number of compared retrievals, and of those with other units, another order or rising scores."""

    compared: int = 0
    different: int = 0

    def add(self, nodes: Sequence[NodeWithScore], units: Sequence[str]) -> None:
        """Compare the nodes of one retrieval with the ids of a recall."""
        scores = [float(node.score or 0.0) for node in nodes]
        same = [node.node.node_id for node in nodes] == list(units)
        in_order = all(map(math.isfinite, scores)) and scores == sorted(scores, reverse=True)
        self.compared += 1
        self.different += not (same and in_order)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the benchmark, print its tables and write its numbers."""
    options = _parser().parse_args(argv)
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
    add("--cache", type=Path, default=CACHE, help="where vectors are kept")
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
    """Return the shares of one conversation, retained as facts or as turns, and add to the agreement."""
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
    """Compare retrieval and recall for every question: several sets of options, sync and async, with a precomputed vector."""
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
    """Yield a line for each arm, and the differences of our fusions from LlamaIndex's for questions of categories 1 to 4."""
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
