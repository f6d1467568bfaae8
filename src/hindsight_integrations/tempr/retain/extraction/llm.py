"""Extraction by a language model: passages to facts (paper section 4.1.2)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from hindsight_integrations.config import OnModelFailure
from hindsight_integrations.errors import MalformedOutput, ModelRefused, ModelUnavailable
from hindsight_integrations.model.requests import Message
from hindsight_integrations.model.tasks import TaskKind
from hindsight_integrations.ports.language_model import LanguageModel
from hindsight_integrations.prompts.extract_facts import (
    NARRATIVE,
    Instructions,
    Passage,
    extract_facts_prompt,
)
from hindsight_integrations.prompts.repairing import complete_with_repair
from hindsight_integrations.tempr.retain.extraction.chunking import chunk_messages, chunk_text
from hindsight_integrations.tempr.retain.extraction.result import Extraction, Waiting, joined
from hindsight_integrations.tempr.retain.extraction.screening import screen

CONTEXT_MESSAGES = 4  # messages before a chunk that go along so that pronouns resolve


class LLMExtractor:
    """Asks a model for facts, chunk by chunk, several at once.

    Args:
        model: the model.
        chunk_characters: length of a passage.
        concurrent: how many calls run at once.
        instructions: how facts are to be written.
        on_failure: what to do with a passage when the model is unavailable.
    """

    def __init__(
        self,
        model: LanguageModel,
        *,
        chunk_characters: int,
        concurrent: int,
        instructions: Instructions = NARRATIVE,
        on_failure: OnModelFailure = OnModelFailure.RAISE,
    ) -> None:
        self._model = model
        self._limit = chunk_characters
        self._concurrent = concurrent
        self._instructions = instructions
        self._on_failure = on_failure

    def passages(
        self, messages: Sequence[Message], *, before: Sequence[Message] = (), context: str = ""
    ) -> list[Passage]:
        """The passages of a conversation; `before` is context that is not extracted again."""
        passages = []
        earlier = list(before)
        for chunk in chunk_messages(messages, self._limit):
            passages.append(Passage(chunk, tuple(earlier[-CONTEXT_MESSAGES:]), context))
            earlier = [*earlier[-CONTEXT_MESSAGES:], *chunk]
        return passages

    def cut(self, text: str) -> list[str]:
        """The passages of a text; they concatenate to it."""
        return chunk_text(text, self._limit)

    def document_passages(
        self, pieces: Sequence[str], *, timestamp: datetime, context: str = ""
    ) -> list[Passage]:
        """The passages of a document written at `timestamp`, cut already."""
        parts = [Message(piece, "text", timestamp, f"part-{n}") for n, piece in enumerate(pieces)]
        return [Passage((part,), (), context) for part in parts]

    async def extract_again(self, passage: Passage) -> Extraction:
        """Facts of one passage that waited.

        Raises:
            ModelError: the model is unavailable, or its answer is malformed still; its task is there already.
        """
        extraction = await self._facts(passage)
        for waiting in extraction.waiting:
            raise MalformedOutput(
                self._model.name,
                "",
                waiting.reason,
                tokens_in=extraction.tokens_in,
                tokens_out=extraction.tokens_out,
            )
        return extraction

    async def extract(self, passages: Sequence[Passage]) -> Extraction:
        """Facts of passages, in order, several at once.

        Raises:
            ModelError: the model was unavailable for a passage, and that is not to be queued; nothing was written.
        """
        gate = asyncio.Semaphore(self._concurrent)

        async def ask(passage: Passage) -> Extraction:
            async with gate:
                return await self._facts_or_queued(passage)

        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(ask(passage)) for passage in passages]
        except ExceptionGroup as failures:  # the first stops the others; callers know ModelError, not groups
            raise failures.exceptions[0] from None
        return joined([task.result() for task in tasks])

    def waiting(self, passages: Sequence[Passage], error: ModelUnavailable | ModelRefused) -> Extraction:
        """No facts of passages a model failed on: they are to be tried again, where the settings queue them.

        Raises:
            ModelError: the error given, where they do not.
        """
        if self._on_failure is OnModelFailure.RAISE:
            raise error
        reason = f"{type(error).__name__}: {error}"
        return joined(
            [
                Extraction(((),), waiting=(Waiting(0, passage, TaskKind.EXTRACT_QUEUED, reason),))
                for passage in passages
            ]
        )

    async def _facts_or_queued(self, passage: Passage) -> Extraction:
        try:
            return await self._facts(passage)
        except (ModelUnavailable, ModelRefused) as error:
            return self.waiting([passage], error)

    async def _facts(self, passage: Passage) -> Extraction:
        answered = await complete_with_repair(self._model, extract_facts_prompt(passage, self._instructions))
        shown = (tuple(unit.id for unit in passage.memories),)
        spent = Extraction(((),), answered.tokens_in, answered.tokens_out, shown=shown)
        if answered.output is None:
            reason = f"the model's answer was outside its schema, repairs included: {answered.problem}"
            return replace(spent, waiting=(Waiting(0, passage, TaskKind.EXTRACT_PARKED, reason),))
        facts, dropped = screen(answered.output.facts, shown=len(passage.memories))
        everything = {"sources": [message.id or "" for message in passage.messages]}
        facts = tuple(fact if fact.sources else fact.model_copy(update=everything) for fact in facts)
        return replace(spent, chunks=(facts,), dropped=dropped)
