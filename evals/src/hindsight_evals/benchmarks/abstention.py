"""AUROC of `RecallResult.confidence` and of single scores for telling answerable from unanswerable questions, on LoCoMo.

    hindsight-evals bench abstention --data DIR [--facts DIR] [--conversations conv-26,conv-30] [--rerank]

Each conversation is queried with its own questions and with 40 from another conversation. Its own questions
of category 5 have no answer (they name the wrong person). In half of the 40 borrowed questions the names are
replaced by those of this conversation's speakers ("never mentioned"); the others are unchanged ("stranger").
The constants of recall/confidence.py are fitted on the conversations of --fit and printed; the other
conversations are only evaluated. The signals are those of the trace's "confidence" stage. The score
`confidence` is computed with the constants in the library.

LoCoMo is Maharana et al. 2024 (snap-research/locomo, CC BY-NC 4.0): get `conv-*.json` from there.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from hindsight_evals.benchmarks.locomo.dataset import Conversation, load_conversation
from hindsight_evals.benchmarks.locomo.logistic import Array, Model, auroc, fit
from hindsight_evals.benchmarks.locomo.run import CACHE, Facts, Setup, retain_all
from hindsight_evals.benchmarks.locomo.unanswerable import Kind, asked_of, lenders
from hindsight_evals.datasets.extracted import load_facts
from hindsight_evals.runner.disk_cache import CachedEmbedder, CachedReranker, DiskCache
from hindsight_integrations import Hindsight, HindsightConfig, RecallResult
from hindsight_integrations.model.trace import Channel
from hindsight_integrations.models.onnx import OnnxCrossEncoder, OnnxEmbedder
from hindsight_integrations.testing.doubles import HashEmbedder

FITTED = ("conv-26", "conv-41", "conv-43")
# in addition to relevance, which is the logit, or the cosine without a reranker
SIGNALS = ("words", "share", "names")
WEIGHT = {Kind.ANSWERED: 1.0, Kind.WRONG_PERSON: 1.0, Kind.NEVER_MENTIONED: 0.5, Kind.STRANGER: 0.25}
UNANSWERABLE = (Kind.WRONG_PERSON, Kind.NEVER_MENTIONED, Kind.STRANGER)
THRESHOLDS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)


@dataclass(frozen=True, slots=True)
class Row:
    """One query: its bank ("conv-26 turns"), its kind, and all scores of its recall by name."""

    bank: str
    kind: Kind
    scores: dict[str, float]


def main(argv: Sequence[str] | None = None) -> None:
    """Run all queries, fit the constants and print the tables."""
    options = _parser().parse_args(argv)
    paths = [options.data / f"{name}.json" for name in options.conversations or ()]
    conversations = [load_conversation(path) for path in paths or sorted(options.data.glob("conv-*.json"))]
    if not conversations:
        sys.exit(f"no conv-*.json in {options.data}")
    with closing(DiskCache(options.cache / "locomo.sqlite")) as cache:
        rows = list(_rows(options, conversations, _setup(options, cache)))
    relevance = "logit" if options.rerank else "cosine"
    fitted = [row for row in rows if row.bank.split()[0] in options.fit]
    if any(row.scores["speaker named"] for row in fitted):
        names = (relevance, *SIGNALS)
        model = _fitted(fitted, names)
        weights = ", ".join(f"{name}={value:.2f}" for name, value in zip(names, model.weights, strict=True))
        named = [row for row in fitted if row.scores["speaker named"]]
        means = [f"{name}={np.mean([row.scores[name] for row in named]):.2f}" for name in ("words", "share")]
        print(
            f"fitted: bias={model.bias:.2f}, {weights}; where a speaker is named on average {', '.join(means)}\n"
        )
        for row in rows:
            row.scores["fitted now"] = float(model.odds(_matrix([row], names))[0])
    _print_tables(rows, options.fit)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--data", type=Path, required=True, help="folder of conv-*.json")
    add(
        "--facts", type=Path, help="folder of conv-*.jsonl; conversations without one are asked verbatim only"
    )
    add("--conversations", type=_names, help="comma-separated; all by default")
    add("--fit", type=_names, default=list(FITTED), help="conversations to fit on; the others only report")
    add("--rerank", action="store_true", help="with the default cross-encoder, without a deadline")
    add(
        "--cache",
        type=Path,
        default=CACHE,
        help="where vectors and logits are kept",
    )
    add("--embedder", choices=("default", "hash"), default="default", help="hash is a bag of words")
    return parser


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _setup(options: argparse.Namespace, cache: DiskCache) -> Setup:
    inner = OnnxEmbedder() if options.embedder == "default" else HashEmbedder()
    config = HindsightConfig()
    config = replace(config, recall=replace(config.recall, rerank_deadline_ms=math.inf))
    reranker = CachedReranker(OnnxCrossEncoder(), cache) if options.rerank else None
    return Setup(CachedEmbedder(inner, cache), reranker, config)


def _rows(options: argparse.Namespace, conversations: Sequence[Conversation], setup: Setup) -> Iterator[Row]:
    borrowed_from = lenders(conversations, frozenset(options.fit))
    for conversation in conversations:
        facts = options.facts / f"{conversation.name}.jsonl" if options.facts else None
        for mode, given in (
            ("turns", None),
            ("facts", load_facts(facts) if facts and facts.is_file() else None),
        ):
            if mode == "turns" or given is not None:
                bank = f"{conversation.name} {mode}"
                print(bank, file=sys.stderr)
                yield from _recalled(conversation, borrowed_from.get(conversation.name), given, bank, setup)


def _recalled(
    conversation: Conversation, lender: Conversation | None, facts: Facts | None, name: str, setup: Setup
) -> Iterator[Row]:
    with (
        TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        Hindsight.open(
            folder, embeddings=setup.embedder, reranker=setup.reranker, config=setup.config
        ) as hindsight,
    ):
        bank = hindsight.bank(name)
        retain_all(bank, conversation, facts)
        for question in asked_of(conversation, lender):
            found = bank.recall(question.text, query_timestamp=conversation.asked_at, trace=True)
            yield Row(name, question.kind, _scores(found))


def _scores(found: RecallResult) -> dict[str, float]:
    """Return all scores by name; 0 for missing ones."""
    detail = next((stage.detail for stage in found.trace.stages if stage.name == "confidence"), {})
    signals = {name: float(detail.get(name, 0.0)) for name in ("cosine", "logit", *SIGNALS)}
    cosines, bm25 = (_channel(found, channel) for channel in (Channel.SEMANTIC, Channel.KEYWORD))
    logits = sorted((unit.reranked.logit for unit in found.trace.units if unit.reranked), reverse=True)
    fused = sorted((unit.fused for unit in found.trace.units if unit.fused), reverse=True)
    singles = {"first cosine": cosines, "first BM25": bm25, "first fused": fused, "first logit": logits}
    return {
        **{name: values[0] if values else 0.0 for name, values in singles.items()},
        **{
            name.replace("first", "gap of"): values[0] - values[min(9, len(values) - 1)] if values else 0.0
            for name, values in singles.items()
        },
        **signals,
        "speaker named": float("about" in detail),
        "confidence": found.confidence,
    }


def _channel(found: RecallResult, channel: Channel) -> list[float]:
    return sorted(
        (item.channels[channel].score for item in found.units if channel in item.channels), reverse=True
    )


def _matrix(rows: Sequence[Row], names: Iterable[str]) -> Array:
    return np.array([[row.scores[name] for name in names] for row in rows])


def _fitted(rows: Sequence[Row], names: Sequence[str]) -> Model:
    """Fit the model whose threshold 0.5 separates answerable from unanswerable questions, both weighted equally."""
    truth = np.array([row.kind is Kind.ANSWERED for row in rows])
    weight = np.array([WEIGHT[row.kind] for row in rows])
    if truth.any() and not truth.all():
        weight[truth] *= weight[~truth].sum() / weight[truth].sum()
    return fit(_matrix(rows, names), truth, weight)


def _print_tables(rows: Sequence[Row], fit_on: Sequence[str]) -> None:
    """Print the AUROC of every score for each kind of unanswerable question, then the effect of thresholds on confidence."""
    banks = list(dict.fromkeys(row.bank for row in rows))
    for kind in UNANSWERABLE:
        if not any(row.kind is kind for row in rows):
            continue
        print(f"AUROC, answered against {kind}\n{'':16}" + " ".join(f"{bank:>13}" for bank in banks))
        for name in rows[0].scores:
            values = [_auroc([row for row in rows if row.bank == bank], name, kind) for bank in banks]
            print(f"{name:16}" + " ".join(f"{value:13.3f}" for value in values))
        print()
    for mode in ("turns", "facts"):
        own = [row for row in rows if row.bank.endswith(mode) and row.bank.split()[0] not in fit_on]
        if own:
            _print_thresholds(own, mode)


def _auroc(rows: Sequence[Row], name: str, kind: Kind) -> float:
    chosen = [row for row in rows if row.kind in (Kind.ANSWERED, kind)]
    return auroc(_matrix(chosen, [name])[:, 0], np.array([row.kind is Kind.ANSWERED for row in chosen]))


def _print_thresholds(rows: Sequence[Row], mode: str) -> None:
    """Print the effect of confidence thresholds below which the agent says that it does not know."""
    print(f"{mode}, conversations not fitted on: saying 'I do not know' below a confidence")
    print("below  right when said   said of: " + ", ".join(Kind))
    for threshold in THRESHOLDS:
        refused = {
            kind: np.array([row.scores["confidence"] < threshold for row in rows if row.kind is kind])
            for kind in Kind
        }
        own = sum(refused[kind].sum() for kind in (Kind.ANSWERED, Kind.WRONG_PERSON))
        right = refused[Kind.WRONG_PERSON].sum() / own if own else math.nan
        shares = "  ".join(
            f"{100 * rows.mean() if len(rows) else math.nan:5.1f} %" for rows in refused.values()
        )
        print(f"{threshold:5.1f}  {100 * right:13.1f} %   {shares}")
    print()


if __name__ == "__main__":
    main()
