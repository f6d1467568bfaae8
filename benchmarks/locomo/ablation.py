"""Recall with some parts silenced, to see which one earns its keep and which one costs. For the benchmark only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from enum import StrEnum
from unittest.mock import patch

from hindsight_integrations import HindsightConfig
from hindsight_integrations.ports.arrays import Hits, no_hits

RETRIEVAL = "hindsight_integrations.tempr.recall.retrieval"
GRAPH = "hindsight_integrations.search.channels.graph"


class Part(StrEnum):
    """What can be silenced: the channels, the two halves of the graph channel apart, and what follows the fusion."""

    SEMANTIC = "semantic"
    KEYWORD = "keyword"
    GRAPH = "graph"
    TEMPORAL = "temporal"
    WALK = "walk"
    SPEAKER_TURNS = "speaker_turns"
    NEIGHBOURS = "neighbours"
    BOOSTS = "boosts"


SILENCED = {
    Part.SEMANTIC: (f"{RETRIEVAL}.semantic_channel",),
    Part.KEYWORD: (f"{RETRIEVAL}.keyword_channel",),
    Part.TEMPORAL: (f"{RETRIEVAL}.temporal_channel",),
    Part.GRAPH: (f"{RETRIEVAL}.graph_channel",),
    Part.WALK: (f"{GRAPH}.linked_units", f"{GRAPH}.causal_units"),
    Part.SPEAKER_TURNS: (f"{GRAPH}.speaker_turns",),
}


def _silent(*_: object, **__: object) -> Hits:
    return no_hits()


@contextmanager
def without(parts: Iterable[Part]) -> Iterator[None]:
    """Inside the block these channels find nothing. Without the semantic channel the graph has no seeds from it."""
    with ExitStack() as stack:
        for name in sorted({name for part in parts for name in SILENCED.get(part, ())}):
            stack.enter_context(patch(name, _silent))
        yield


def configured_without(config: HindsightConfig, parts: Iterable[Part]) -> HindsightConfig:
    """Settings that switch off the parts which are settings."""
    silent = set(parts)
    recall = replace(
        config.recall,
        neighbours=config.recall.neighbours and Part.NEIGHBOURS not in silent,
        boosts=config.recall.boosts and Part.BOOSTS not in silent,
    )
    return replace(config, recall=recall)
