"""What a model says of statements that say no memory's very words: asked once a retain, before the commit."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hindsight_integrations.errors import ModelError
from hindsight_integrations.prompts.end_memories import MOST_STATEMENTS, OpenStatement, numbered_candidates
from hindsight_integrations.tempr.retain.extraction.llm import LLMExtractor

logger = logging.getLogger("hindsight_integrations")


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a model said.

    Attributes:
        ends: by statement and id of the memory that states it, ids of the memories that end; of statements the model
            was not asked about, nothing.
        tokens_in: prompt tokens it reported.
        tokens_out: completion tokens it reported.
        calls: how often it was called.
    """

    ends: Mapping[tuple[str, str], frozenset[str]] = field(default_factory=dict)
    tokens_in: int = 0
    tokens_out: int = 0
    calls: int = 0


NOT_ASKED = Judgement()


async def judgement_on(statements: Sequence[OpenStatement], llm: LLMExtractor) -> Judgement:
    """Ask about the first of the statements in one request; a model that fails decides nothing.

    Args:
        statements: of one commit, with their candidates.
        llm: whose model is asked.
    """
    asked = [each for each in statements if each.candidates][:MOST_STATEMENTS]
    if not asked:
        return NOT_ASKED
    try:
        answered = await llm.endings(asked)
    except ModelError as error:
        logger.warning("the model did not say what %d statements end: %s", len(asked), type(error).__name__)
        return NOT_ASKED
    if answered.output is None:
        return Judgement({}, answered.tokens_in, answered.tokens_out, answered.tries)
    units = numbered_candidates(asked)
    named = {
        number: {units[memory].id for each in answered.output.endings if each.statement == number
                 for memory in each.memories if memory in units}
        for number in range(1, len(asked) + 1)
    }  # fmt: skip
    ends = {
        (each.text, each.by.id): frozenset(unit.id for unit in each.candidates) & named[number]
        for number, each in enumerate(asked, 1)
    }
    return Judgement(ends, answered.tokens_in, answered.tokens_out, answered.tries)
