"""What the engine's extractor gave for each conversation, as the facts somebody else's extraction would be given in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from hindsight_integrations.model.facts import ExtractedFact, MemoryChange
from hindsight_integrations.model.results import Dropped
from hindsight_integrations.prompts.extract_facts import Passage
from hindsight_integrations.tempr.retain.extraction.llm import LLMExtractor
from hindsight_integrations.tempr.retain.extraction.result import Extraction


@contextmanager
def kept_extractions() -> Iterator[list[Extraction]]:
    """Inside the block every extraction of a conversation goes into the list, too."""
    kept: list[Extraction] = []
    extract = LLMExtractor.extract

    async def keeping(self: LLMExtractor, passages: Sequence[Passage]) -> Extraction:
        extraction = await extract(self, passages)
        kept.append(extraction)
        return extraction

    with patch.object(LLMExtractor, "extract", keeping):
        yield kept


def as_facts(extraction: Extraction, texts: Mapping[str, str]) -> list[dict[str, Any]]:
    """One list of facts, causal indexes counted within it.

    Args:
        extraction: of one conversation.
        texts: of memories, by id. What a fact says of a memory by its number, which means nothing without the list it
            was shown in, becomes a statement of what no longer holds: the memory's text, or the part.
    """
    facts: list[dict[str, Any]] = []
    for chunk, found in enumerate(extraction.chunks):
        shown = extraction.shown[chunk] if extraction.shown else ()
        before = len(facts)
        for fact in found:
            written = fact.model_dump(mode="json", exclude={"changes"})
            written["invalidates"] += _statements(fact, [texts[unit] for unit in shown])
            for claim in written["causal_relations"]:
                claim["target_fact_index"] += before
            facts.append(written)
    return facts


def _statements(fact: ExtractedFact, shown: Sequence[str]) -> list[str]:
    return [
        change.part if change.change is MemoryChange.PART else shown[change.memory - 1]
        for change in fact.changes
    ]


def unusable(extraction: Extraction) -> list[Dropped]:
    """What of an extraction became no fact: dropped, or a passage that waits."""
    waiting = (Dropped(f"passage {each.chunk}", each.reason) for each in extraction.waiting)
    return [*extraction.dropped, *waiting]
