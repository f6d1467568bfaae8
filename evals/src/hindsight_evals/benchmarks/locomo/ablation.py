"""Recall with some parts disabled, to measure the benefit and the cost of each. For benchmarks only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from enum import StrEnum
from typing import TypeAlias
from unittest.mock import patch

from hindsight_integrations import HindsightConfig
from hindsight_integrations.model.arrays import Float64Array, Hits, IntArray, no_hits

RECALL = "hindsight_integrations.recall"
GRAPH = "hindsight_integrations.indexes.graph_channel"

Ranked: TypeAlias = tuple[IntArray, Float64Array]


class Part(StrEnum):
    """The parts that can be disabled: channels, the two halves of the graph channel, and the steps after the fusion."""

    SEMANTIC = "semantic"
    KEYWORD = "keyword"
    GRAPH = "graph"
    TEMPORAL = "temporal"
    WALK = "walk"
    SPEAKER_TURNS = "speaker_turns"
    EVIDENCE = "evidence"
    """The evidence added to ranks: cosines, and the words of source turns."""
    FUSED_PRIOR = "fused_prior"
    """The fused score added to the reranker's logit."""
    NEIGHBOURS = "neighbours"
    BOOSTS = "boosts"


def parts(text: str) -> tuple[Part, ...]:
    """Parse comma-separated names of parts."""
    return tuple(Part(name.strip()) for name in text.split(",") if name.strip())


def _nothing(*_: object, **__: object) -> Hits:
    return no_hits()


def _as_fused(ids: IntArray, fused: Float64Array, *_: object) -> Ranked:
    return ids, fused


SILENCED: Mapping[Part, Mapping[str, object]] = {
    Part.SEMANTIC: {f"{RECALL}.retrieval.semantic_channel": _nothing},
    Part.KEYWORD: {f"{RECALL}.retrieval.keyword_channel": _nothing},
    Part.TEMPORAL: {f"{RECALL}.retrieval.temporal_channel": _nothing},
    Part.GRAPH: {f"{RECALL}.retrieval.graph_channel": _nothing},
    Part.WALK: {f"{GRAPH}.linked_units": _nothing, f"{GRAPH}.causal_units": _nothing},
    Part.SPEAKER_TURNS: {f"{GRAPH}.speaker_turns": _nothing},
    Part.EVIDENCE: {f"{RECALL}.pipeline.with_evidence": _as_fused},
    Part.FUSED_PRIOR: {f"{RECALL}.rerank.PRIOR": 0.0},
}
"""The replacements of parts that no setting disables, by import path."""


@contextmanager
def without(silenced: Iterable[Part]) -> Iterator[None]:
    """Disable these parts within the block. Without the semantic channel, the graph channel gets no seeds from it."""
    with ExitStack() as stack:
        for part in silenced:
            for name, stand_in in SILENCED.get(part, {}).items():
                stack.enter_context(patch(name, stand_in))
        yield


def configured_without(config: HindsightConfig, silenced: Iterable[Part]) -> HindsightConfig:
    """Return settings that disable those parts which are settings."""
    silent = set(silenced)
    recall = replace(
        config.recall,
        neighbours=config.recall.neighbours and Part.NEIGHBOURS not in silent,
        boosts=config.recall.boosts and Part.BOOSTS not in silent,
    )
    return replace(config, recall=recall)
