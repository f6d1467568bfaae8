"""Share of the evidence that recall returns within a token budget, compared with plain vector search, BM25 and RRF, on LoCoMo.

    hindsight-evals bench locomo_retrieval --data DIR [--facts DIR] [--audit DIR] [--conversations conv-26,conv-42]
        [--rerank] [--text compact] [--asked-like unasked] [--without PART] [--out RUN.json]

For every question with evidence: the share of its evidence turns in the results, with 256 to 4,096 tokens, by
question category. A turn is covered if its text, or a fact that cites it, is returned. --audit reads
corrections of the answer key, so that the run contains the figures of both keys; --key selects the printed
ones. `locomo_table` compares runs.

All systems have the same units (verbatim turns; with --facts, facts extracted from them), vectors, token
counts (cl100k over all returned texts), and greedy packing in rank order. Ours is
`bank.recall(max_tokens=...)`, called for each budget with the date of the last session. The plain systems
rank 300 units each, as many as one of our channels, without a threshold; plain RRF fuses the two with k = 60.
There is no reranker; with --rerank ours has one, without a deadline. --text compact also affects only ours.
--asked-like uses the recall defaults of the integrations that add memory to a prompt (unasked), of retrievers
(searched) or of tools (called).

LoCoMo is Maharana et al. 2024 (snap-research/locomo, CC BY-NC 4.0): get `conv-*.json` from there. Its
corrections are dial481/locomo-audit (CC BY-NC 4.0), one `conv-*.json` for each conversation.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from hindsight_evals.benchmarks.locomo.ablation import Part, configured_without, parts, without
from hindsight_evals.benchmarks.locomo.coverage import Outcome
from hindsight_evals.benchmarks.locomo.dataset import Key, load_conversation
from hindsight_evals.benchmarks.locomo.run import CACHE, Setup, measure
from hindsight_evals.benchmarks.locomo.table import all_tables, as_json
from hindsight_evals.datasets.extracted import load_facts
from hindsight_evals.runner.disk_cache import CachedEmbedder, CachedReranker, DiskCache
from hindsight_integrations import HindsightConfig
from hindsight_integrations.model.requests import TextForm
from hindsight_integrations.models.onnx import OnnxCrossEncoder, OnnxEmbedder
from hindsight_integrations.models.protocols import Embedder
from hindsight_integrations.testing.doubles import HashEmbedder
from hindsight_integrations.validation.options import PROMPT_DEFAULTS, SEARCH_DEFAULTS, TOOL_DEFAULTS

INTEGRATIONS = {"unasked": PROMPT_DEFAULTS, "searched": SEARCH_DEFAULTS, "called": TOOL_DEFAULTS}
PACKAGES = ("hindsight-integrations", "chromadb", "pyserini", "rustworkx", "onnxruntime", "tiktoken", "numpy")


def main(argv: Sequence[str] | None = None) -> None:
    """Run the benchmark, print its tables and write its numbers."""
    options = _parser().parse_args(argv)
    if options.key is Key.AUDIT and options.audit is None:
        sys.exit("--key audit needs the corrections: give their folder as --audit DIR")
    started = time.perf_counter()
    with closing(DiskCache(options.cache / "locomo.sqlite")) as cache:
        setup = _setup(options, cache)
        with without(options.without):
            outcomes = _measure_all(options, setup)
    print(all_tables(outcomes, key=options.key))
    seconds = time.perf_counter() - started
    print(f"\n{seconds:.0f} s")
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(_report(options, setup, outcomes, seconds), indent=1) + "\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--data", type=Path, required=True, help="folder of conv-*.json")
    add(
        "--facts",
        type=Path,
        help="folder of conv-*.jsonl; conversations without a file are measured verbatim only",
    )
    add("--audit", type=Path, help="folder of corrections of the answer key, conv-*.json")
    add("--key", type=Key, choices=tuple(Key), default=Key.RAW, help="which key the printed tables go by")
    add("--conversations", type=_names, help="comma-separated, e.g. conv-26,conv-42; all by default")
    add(
        "--rerank", action="store_true", help="rerank ours with the default cross-encoder, without a deadline"
    )
    add(
        "--text",
        type=TextForm,
        choices=tuple(TextForm),
        default=TextForm.FULL,
        help="which text of a memory ours returns",
    )
    add("--asked-like", choices=tuple(INTEGRATIONS), help="ask ours with the defaults of these integrations")
    add("--out", type=Path, help="write the numbers here as JSON")
    add("--limit", type=int, help="at most this many questions a conversation")
    add(
        "--cache",
        type=Path,
        default=CACHE,
        help="where vectors are kept between runs",
    )
    add(
        "--embedder",
        choices=("default", "hash"),
        default="default",
        help="hash is a bag of words, for a quick try",
    )
    add(
        "--without",
        type=parts,
        default=(),
        help=f"parts of ours to silence, comma-separated: {', '.join(Part)}",
    )
    return parser


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _setup(options: argparse.Namespace, cache: DiskCache) -> Setup:
    inner: Embedder = OnnxEmbedder() if options.embedder == "default" else HashEmbedder()
    config = HindsightConfig()
    config = replace(config, recall=replace(config.recall, rerank_deadline_ms=math.inf))
    config = configured_without(config, options.without)
    reranker = CachedReranker(OnnxCrossEncoder(), cache) if options.rerank else None
    like = INTEGRATIONS.get(options.asked_like)
    return Setup(
        CachedEmbedder(inner, cache), reranker, config, options.limit, form=options.text, asked_like=like
    )


def _measure_all(options: argparse.Namespace, setup: Setup) -> list[Outcome]:
    outcomes: list[Outcome] = []
    for path in _conversations(options):
        conversation = load_conversation(path, audit=options.audit)
        print(f"{conversation.name}: {len(conversation.questions)} questions", file=sys.stderr)
        outcomes += measure(conversation, None, setup)
        if options.facts and (facts := options.facts / f"{conversation.name}.jsonl").is_file():
            outcomes += measure(conversation, load_facts(facts), setup)
    return outcomes


def _conversations(options: argparse.Namespace) -> list[Path]:
    if options.conversations:
        return [options.data / f"{name}.json" for name in options.conversations]
    found = sorted(options.data.glob("conv-*.json"))
    if not found:
        sys.exit(f"no conv-*.json in {options.data}")
    return found


def _report(
    options: argparse.Namespace, setup: Setup, outcomes: list[Outcome], seconds: float
) -> dict[str, object]:
    """Return the figures with all settings of the run."""
    return {
        "benchmark": "locomo_retrieval",
        "conversations": sorted({outcome.conversation for outcome in outcomes}),
        "embedder": str(setup.embedder.identity),
        "reranker": setup.reranker.name if setup.reranker else None,
        "text": options.text,
        "without": list(options.without),
        "limit": setup.limit,
        "depth": setup.depth,
        "recall": {name: str(value) for name, value in asdict(setup.config.recall).items()},
        "python": platform.python_version(),
        "versions": {package: _version(package) for package in PACKAGES},
        "seconds": round(seconds, 1),
        "results": as_json(outcomes, key=options.key),
        "outcomes": [outcome.as_json() for outcome in outcomes],
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


if __name__ == "__main__":
    main()
