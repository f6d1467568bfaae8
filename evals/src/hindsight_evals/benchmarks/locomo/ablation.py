"""Recall with some parts silenced, to see which one earns its keep and which one costs. For the benchmark only."""

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
    """What can be silenced: the channels, the two halves of the graph channel apart, and what follows the fusion."""

    SEMANTIC = "semantic"
    KEYWORD = "keyword"
    GRAPH = "graph"
    TEMPORAL = "temporal"
    WALK = "walk"
    SPEAKER_TURNS = "speaker_turns"
    EVIDENCE = "evidence"
    """What stands beside the ranks: cosines, and the words of source turns."""
    FUSED_PRIOR = "fused_prior"
    """The fused score beside the reranker's logit."""
    NEIGHBOURS = "neighbours"
    BOOSTS = "boosts"


def parts(text: str) -> tuple[Part, ...]:
    """Parts by name, comma-separated."""
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
"""What stands in for a part that is no setting, by the name it is called by."""


@contextmanager
def without(silenced: Iterable[Part]) -> Iterator[None]:
    """Inside the block these parts do nothing. Without the semantic channel the graph has no seeds from it."""
    with ExitStack() as stack:
        for part in silenced:
            for name, stand_in in SILENCED.get(part, {}).items():
                stack.enter_context(patch(name, stand_in))
        yield


def configured_without(config: HindsightConfig, silenced: Iterable[Part]) -> HindsightConfig:
    """Settings that switch off the parts which are settings."""
    silent = set(silenced)
    recall = replace(
        config.recall,
        neighbours=config.recall.neighbours and Part.NEIGHBOURS not in silent,
        boosts=config.recall.boosts and Part.BOOSTS not in silent,
    )
    return replace(config, recall=recall)
