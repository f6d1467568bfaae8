"""Extraction: passages to facts, by a language model (paper section 4.1.2)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from hindsight_integrations.model.facts import ExtractedFact
from hindsight_integrations.model.requests import Document, Message
from hindsight_integrations.ports.language_model import Completion, LanguageModel
from hindsight_integrations.prompts.extract_facts import ExtractedFacts, Passage, extract_facts_prompt
from hindsight_integrations.tempr.retain.chunking import chunk_messages, chunk_text

CONTEXT_MESSAGES = 4  # turns before a chunk that go along so that pronouns resolve


@dataclass(frozen=True, slots=True)
class Extraction:
    """Facts chunk by chunk, and what they cost.

    Attributes:
        chunks: facts of each chunk, in order.
        tokens_in: prompt tokens reported by the model.
        tokens_out: completion tokens reported by the model.
    """

    chunks: tuple[tuple[ExtractedFact, ...], ...]
    tokens_in: int = 0
    tokens_out: int = 0


class LLMExtractor:
    """Asks a model for narrative facts, chunk by chunk, several at once."""

    def __init__(self, model: LanguageModel, *, chunk_characters: int, concurrent: int) -> None:
        self._model = model
        self._limit = chunk_characters
        self._concurrent = concurrent

    async def extract(
        self, messages: Sequence[Message], *, before: Sequence[Message] = (), context: str = ""
    ) -> Extraction:
        """Facts of the messages; `before` is context that is not extracted again.

        Raises:
            ModelError: any chunk failed; nothing has been written.
        """
        chunks = chunk_messages(messages, self._limit)
        passages = []
        earlier = list(before)
        for chunk in chunks:
            passages.append(Passage(chunk, tuple(earlier[-CONTEXT_MESSAGES:]), context))
            earlier = [*earlier[-CONTEXT_MESSAGES:], *chunk]
        return await self._ask(passages)

    async def extract_document(self, document: Document, *, context: str = "") -> Extraction:
        """Facts of a text, passage by passage. Its facts have no message sources."""
        pieces = chunk_text(document.text, self._limit)
        turns = [Message(piece, "text", document.timestamp, f"part-{n}") for n, piece in enumerate(pieces)]
        extraction = await self._ask([Passage((turn,), (), context) for turn in turns])
        bare = tuple(
            tuple(fact.model_copy(update={"sources": []}) for fact in chunk) for chunk in extraction.chunks
        )
        return Extraction(bare, extraction.tokens_in, extraction.tokens_out)

    async def _ask(self, passages: Sequence[Passage]) -> Extraction:
        gate = asyncio.Semaphore(self._concurrent)

        async def ask(passage: Passage) -> Completion[ExtractedFacts]:
            async with gate:
                return await self._model.complete(extract_facts_prompt(passage))

        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(ask(passage)) for passage in passages]
        except (
            ExceptionGroup
        ) as failures:  # the first failure stops the others; callers know ModelError, not groups
            raise failures.exceptions[0] from None
        answers = [task.result() for task in tasks]
        return Extraction(
            tuple(_with_sources(a.output.facts, p) for a, p in zip(answers, passages, strict=True)),
            sum(a.tokens_in for a in answers),
            sum(a.tokens_out for a in answers),
        )


def _with_sources(facts: Sequence[ExtractedFact], passage: Passage) -> tuple[ExtractedFact, ...]:
    """Facts that cite nothing stand on their whole passage."""
    ids = [message.id or "" for message in passage.messages]
    return tuple(fact if fact.sources else fact.model_copy(update={"sources": ids}) for fact in facts)
