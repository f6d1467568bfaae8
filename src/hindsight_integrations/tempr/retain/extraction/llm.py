"""Extraction: passages to facts, by a language model (paper section 4.1.2)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hindsight_integrations.config import OnModelFailure
from hindsight_integrations.errors import MalformedOutput, ModelError, ModelRefused, ModelUnavailable
from hindsight_integrations.model.facts import ExtractedFact
from hindsight_integrations.model.requests import Document, Message
from hindsight_integrations.model.results import Dropped
from hindsight_integrations.model.tasks import TaskKind
from hindsight_integrations.ports.language_model import LanguageModel
from hindsight_integrations.prompts.extract_facts import (
    NARRATIVE,
    Instructions,
    Passage,
    extract_facts_prompt,
)
from hindsight_integrations.tempr.retain.extraction.chunking import chunk_messages, chunk_text
from hindsight_integrations.tempr.retain.extraction.repair import complete_with_repair
from hindsight_integrations.tempr.retain.extraction.screening import screen

CONTEXT_MESSAGES = 4  # turns before a chunk that go along so that pronouns resolve


@dataclass(frozen=True, slots=True)
class Waiting:
    """A passage without usable facts, to be tried again later.

    Attributes:
        chunk: its ordinal.
        passage: what was to be extracted.
        kind: parked (the model answered unusably) or queued (it did not answer).
        reason: why, for people.
    """

    chunk: int
    passage: Passage
    kind: TaskKind
    reason: str


@dataclass(frozen=True, slots=True)
class Extraction:
    """Facts chunk by chunk, and what they cost.

    Attributes:
        chunks: facts of each chunk, in order; none for one that waits.
        tokens_in: prompt tokens reported by the model, repairs included.
        tokens_out: completion tokens reported by the model, repairs included.
        dropped: what the model wrote that is no memory, and why.
        waiting: passages to be tried again.
    """

    chunks: tuple[tuple[ExtractedFact, ...], ...]
    tokens_in: int = 0
    tokens_out: int = 0
    dropped: tuple[Dropped, ...] = ()
    waiting: tuple[Waiting, ...] = ()


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What became of one passage."""

    facts: tuple[ExtractedFact, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    failed: TaskKind | None = None
    reason: str = ""
    tokens_in: int = 0
    tokens_out: int = 0


class LLMExtractor:
    """Asks a model for facts, chunk by chunk, several at once.

    Args:
        model: the model.
        chunk_characters: length of a passage.
        concurrent: how many are asked for at once.
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

    async def extract(
        self, messages: Sequence[Message], *, before: Sequence[Message] = (), context: str = ""
    ) -> Extraction:
        """Facts of the messages; `before` is context that is not extracted again.

        Raises:
            ModelError: the model was unavailable for a chunk, and that is not to be queued; nothing was written.
        """
        chunks = chunk_messages(messages, self._limit)
        passages = []
        earlier = list(before)
        for chunk in chunks:
            passages.append(Passage(chunk, tuple(earlier[-CONTEXT_MESSAGES:]), context))
            earlier = [*earlier[-CONTEXT_MESSAGES:], *chunk]
        return await self._ask(passages)

    def cut(self, text: str) -> list[str]:
        """The passages of a text; they concatenate to it."""
        return chunk_text(text, self._limit)

    async def extract_document(
        self, document: Document, *, pieces: Sequence[str], context: str = ""
    ) -> Extraction:
        """Facts of some passages of a document, in order. They have no message sources."""
        turns = [Message(piece, "text", document.timestamp, f"part-{n}") for n, piece in enumerate(pieces)]
        return without_sources(await self._ask([Passage((turn,), (), context) for turn in turns]))

    async def extract_again(self, passage: Passage) -> Extraction:
        """Facts of one passage that waited.

        Raises:
            ModelError: the model is unavailable, or its answer is malformed still; its task is there already.
        """
        outcome = await self._outcome(passage)
        if outcome.failed:
            raise MalformedOutput(
                self._model.name,
                "",
                outcome.reason,
                tokens_in=outcome.tokens_in,
                tokens_out=outcome.tokens_out,
            )
        return _gathered([passage], [outcome])

    async def _ask(self, passages: Sequence[Passage]) -> Extraction:
        gate = asyncio.Semaphore(self._concurrent)

        async def ask(passage: Passage) -> _Outcome:
            async with gate:
                return await self._outcome_or_queued(passage)

        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(ask(passage)) for passage in passages]
        except (
            ExceptionGroup
        ) as failures:  # the first failure stops the others; callers know ModelError, not groups
            raise failures.exceptions[0] from None
        return _gathered(passages, [task.result() for task in tasks])

    async def _outcome_or_queued(self, passage: Passage) -> _Outcome:
        try:
            return await self._outcome(passage)
        except (ModelUnavailable, ModelRefused) as error:
            if self._on_failure is OnModelFailure.RAISE:
                raise
            return _Outcome(failed=TaskKind.EXTRACT_QUEUED, reason=_told(error))

    async def _outcome(self, passage: Passage) -> _Outcome:
        answered = await complete_with_repair(self._model, extract_facts_prompt(passage, self._instructions))
        spent = _Outcome(tokens_in=answered.tokens_in, tokens_out=answered.tokens_out)
        if answered.output is None:
            reason = f"the model's answer was outside its schema, repairs included: {answered.problem}"
            return replace(spent, failed=TaskKind.EXTRACT_PARKED, reason=reason)
        screened = screen(answered.output.facts)
        return replace(spent, facts=_with_sources(screened.facts, passage), dropped=screened.dropped)


def _told(error: ModelError) -> str:
    return f"{type(error).__name__}: {error}"


def _gathered(passages: Sequence[Passage], outcomes: Sequence[_Outcome]) -> Extraction:
    return Extraction(
        chunks=tuple(outcome.facts for outcome in outcomes),
        tokens_in=sum(outcome.tokens_in for outcome in outcomes),
        tokens_out=sum(outcome.tokens_out for outcome in outcomes),
        dropped=tuple(item for outcome in outcomes for item in outcome.dropped),
        waiting=tuple(
            Waiting(number, passage, outcome.failed, outcome.reason)
            for number, (passage, outcome) in enumerate(zip(passages, outcomes, strict=True))
            if outcome.failed
        ),
    )


def without_sources(extraction: Extraction) -> Extraction:
    """The same for a document, whose passages are no messages."""
    bare = tuple(
        tuple(fact.model_copy(update={"sources": []}) for fact in chunk) for chunk in extraction.chunks
    )
    return replace(extraction, chunks=bare)


def _with_sources(facts: Sequence[ExtractedFact], passage: Passage) -> tuple[ExtractedFact, ...]:
    """Facts that cite nothing stand on their whole passage."""
    ids = [message.id or "" for message in passage.messages]
    return tuple(fact if fact.sources else fact.model_copy(update={"sources": ids}) for fact in facts)
