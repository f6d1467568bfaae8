"""Extraction by a language model: passages to facts (paper section 4.1.2)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from hindsight_integrations.config import ExtractionMode, ExtractionOptions, OnModelFailure
from hindsight_integrations.errors import MalformedOutput, ModelRefused, ModelUnavailable, PromptTooLong
from hindsight_integrations.model.facts import MemoryChange
from hindsight_integrations.model.requests import Message
from hindsight_integrations.model.results import EXCERPT_CHARACTERS
from hindsight_integrations.model.tasks import TaskKind
from hindsight_integrations.model.turns import Role
from hindsight_integrations.model.withdrawals import ForgetRequest
from hindsight_integrations.ports.language_model import LanguageModel
from hindsight_integrations.prompts.answered_facts import AnsweredFact, AskedToForget
from hindsight_integrations.prompts.concise_facts import concise_facts_prompt
from hindsight_integrations.prompts.end_memories import AnsweredEndings, OpenStatement, end_memories_prompt
from hindsight_integrations.prompts.extract_facts import (
    NARRATIVE,
    Instructions,
    Passage,
    extract_facts_prompt,
    untold_problem,
)
from hindsight_integrations.prompts.repairing import Answered, complete_with_repair
from hindsight_integrations.tempr.retain.extraction.chunking import chunk_messages, chunk_text
from hindsight_integrations.tempr.retain.extraction.concise import extracted
from hindsight_integrations.tempr.retain.extraction.result import Extraction, Waiting, joined
from hindsight_integrations.tempr.retain.extraction.screening import screen
from hindsight_integrations.tempr.retain.replacing import listed, told_texts, untold
from hindsight_integrations.text.records import canonical_record
from hindsight_integrations.validation.roles import role_of

logger = logging.getLogger("hindsight_integrations")

IN_BACKGROUND = "retained in the background"
OUT_OF_TIME = "the time of this retain for the model is over"

CONTEXT_MESSAGES = 4  # messages before a chunk that go along so that pronouns resolve


class LLMExtractor:
    """Asks a model for facts, chunk by chunk, several at once.

    Args:
        model: the model.
        chunk_characters: length of a passage.
        concurrent: how many calls run at once.
        instructions: how facts are to be written.
        on_failure: what to do with a passage when the model is unavailable.
        timeout_s: seconds for all passages of one `extract` together; what is not answered by then is queued. None: no limit.
        background: nothing is asked; every passage is queued.
    """

    def __init__(
        self,
        model: LanguageModel,
        *,
        chunk_characters: int,
        concurrent: int,
        instructions: Instructions = NARRATIVE,
        on_failure: OnModelFailure = OnModelFailure.RAISE,
        timeout_s: float | None = None,
        background: bool = False,
    ) -> None:
        self._model = model
        self._limit = chunk_characters
        self._concurrent = concurrent
        self._instructions = instructions
        self._on_failure = on_failure
        self._timeout_s = timeout_s
        self.background = background

    def with_options(self, options: ExtractionOptions) -> LLMExtractor:
        """The same for one retain that has options of its own."""
        settings, given = self._on_failure, options.on_model_failure
        return LLMExtractor(
            self._model,
            chunk_characters=self._limit,
            concurrent=self._concurrent,
            instructions=self._instructions,
            on_failure=settings if given is None else given,
            timeout_s=self._timeout_s if options.timeout_s is None else options.timeout_s,
            background=options.background,
        )

    def passages(
        self, messages: Sequence[Message], *, before: Sequence[Message] = (), context: str = ""
    ) -> list[Passage]:
        """The passages of a conversation; `before` is context that is not extracted again."""
        return passages_of(messages, self._limit, before=before, context=context)

    def cut(self, text: str) -> list[str]:
        """The passages of a text; they concatenate to it."""
        return chunk_text(text, self._limit)

    def document_passages(
        self, pieces: Sequence[str], *, timestamp: datetime, context: str = ""
    ) -> list[Passage]:
        """The passages of a document written at `timestamp`, cut already."""
        parts = [Message(piece, "text", timestamp, f"part-{n}") for n, piece in enumerate(pieces)]
        return [Passage((part,), (), context) for part in parts]

    async def endings(self, statements: Sequence[OpenStatement]) -> Answered[AnsweredEndings]:
        """Which memories some statements end, asked in one request; `timeout_s` holds for it by itself.

        Raises:
            ModelError: the model is unavailable, or out of time.
        """
        try:
            async with asyncio.timeout(self._timeout_s):
                return await complete_with_repair(self._model, end_memories_prompt(statements))
        except TimeoutError as error:
            raise ModelUnavailable(self._model.name, OUT_OF_TIME) from error

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
        """Facts of passages, in order, several at once; those the time does not suffice for are queued.

        Raises:
            ModelError: the model was unavailable for a passage, and that is not to be queued; nothing was written.
        """
        loop = asyncio.get_running_loop()
        end = None if self._timeout_s is None else loop.time() + self._timeout_s
        gate = asyncio.Semaphore(self._concurrent)
        answered = 0

        async def ask(passage: Passage) -> Extraction:
            nonlocal answered
            try:
                async with asyncio.timeout_at(end) as limit, gate:
                    began = loop.time()
                    extraction = await self._facts_or_queued(passage)
            except TimeoutError:
                if not limit.expired():
                    raise
                return _queued(passage, f"{OUT_OF_TIME} ({self._timeout_s:g} s, extraction_timeout_s)")
            answered += 1
            _log_progress(extraction, f"{answered} of {len(passages)}", loop.time() - began)
            return extraction

        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(ask(passage)) for passage in passages]
        except ExceptionGroup as failures:  # the first stops the others; callers know ModelError, not groups
            raise failures.exceptions[0] from None
        if answered < len(passages):
            logger.warning("%d of %d passages wait: %s", len(passages) - answered, len(passages), OUT_OF_TIME)
        return joined([task.result() for task in tasks])

    def waiting(self, passages: Sequence[Passage], error: ModelUnavailable | ModelRefused) -> Extraction:
        """No facts of passages a model failed on: they are to be tried again, where the settings queue them.

        Raises:
            ModelError: the error given, where they do not.
        """
        if self._on_failure is OnModelFailure.RAISE:
            raise error
        return joined([_queued(passage, f"{type(error).__name__}: {error}") for passage in passages])

    def later(self, passages: Sequence[Passage]) -> Extraction:
        """No facts of passages that are extracted in the background."""
        return joined([_queued(passage, IN_BACKGROUND) for passage in passages])

    async def _facts_or_queued(self, passage: Passage) -> Extraction:
        try:
            return await self._facts(passage)
        except (ModelUnavailable, ModelRefused) as error:
            return self.waiting([passage], error)

    async def _facts(self, passage: Passage) -> Extraction:
        try:
            answered, items, forget = await self._answer(passage)
        except PromptTooLong as error:
            return _parked(Extraction(((),)), passage, f"PromptTooLong: {error}")
        shown = (tuple(unit.id for unit in passage.memories),)
        spent = Extraction(((),), answered.tokens_in, answered.tokens_out, answered.tries, shown=shown)
        if items is None:
            reason = f"the model's answer was outside its schema, repairs included: {answered.problem}"
            return _parked(spent, passage, reason)
        facts, dropped = screen(items, shown=len(passage.memories))
        everything = {"sources": [message.id or "" for message in passage.messages]}
        facts = tuple(fact if fact.sources else fact.model_copy(update=everything) for fact in facts)
        return replace(spent, chunks=(facts,), dropped=dropped, forget=_forget_requests(forget, passage))

    async def _answer(
        self, passage: Passage
    ) -> tuple[Answered[Any], Sequence[AnsweredFact] | None, Sequence[AskedToForget]]:
        """What came of the prompt that the instructions name, the facts of it, or None if it is not usable, and requests to forget."""
        if self._instructions.mode is ExtractionMode.CONCISE:
            prompt = concise_facts_prompt(passage, self._instructions)
            short = await complete_with_repair(self._model, prompt)
            facts = extracted(short.output.facts, passage.messages) if short.output else None
            numbers = short.output.forget if short.output else ()
            return short, facts, [AskedToForget(memories=list(numbers))] if numbers else []
        answered = await complete_with_repair(
            self._model,
            extract_facts_prompt(passage, self._instructions),
            check=lambda answer: _problem_of_replacements(answer.facts, passage),
            keep_last=True,  # the commit refuses a change that leaves something out, and that change alone
        )
        last = answered.last
        return answered, last.facts if last else None, last.forget_requested if last else ()


def _forget_requests(asked: Sequence[AskedToForget], passage: Passage) -> tuple[ForgetRequest, ...]:
    """What people ask to forget, by the ids of the memories shown that are meant; requests that no person makes are left out."""
    people = tuple(message.id or "" for message in passage.messages if role_of(message) is Role.USER)
    shown = dict(enumerate((unit.id for unit in passage.memories), 1))
    requests = []
    for each in asked:
        sources = tuple(source for source in each.sources if source in people) if each.sources else people
        if sources:
            units = tuple(dict.fromkeys(shown[number] for number in each.memories if number in shown))
            requests.append(ForgetRequest(each.what[:EXCERPT_CHARACTERS], sources, units))
    return tuple(requests)


def _problem_of_replacements(answer: Sequence[AnsweredFact], passage: Passage) -> str:
    """What facts do not tell of memories they replace, in words for the model; empty if they tell all that holds."""
    problems, numbered = [], dict(enumerate(passage.memories, 1))
    for fact in (item.fact for item in answer if item.fact):
        for change in fact.changes:
            memory = numbered.get(change.memory or 0)
            if memory is None or change.change is not MemoryChange.REPLACES:
                continue
            records = [canonical_record(r.kind, r.category, r.value, r.unit) for r in fact.records]
            told = told_texts(fact.narrative, [each.text for each in fact.entities], records, change.removed)
            items = passage.items.get(memory.id, ())
            whole = replace(memory, records=(*memory.records, *(item.records[0] for item in items)))
            if missing := untold(whole, passage.names.get(memory.id, ()), told):
                problems.append(untold_problem(fact.what, change.memory or 0, listed(missing)))
    return "; ".join(problems)


def passages_of(
    messages: Sequence[Message], limit: int, *, before: Sequence[Message] = (), context: str = ""
) -> list[Passage]:
    """The passages of a conversation, of at most `limit` characters; `before` is context alone."""
    passages = []
    earlier = list(before)
    for chunk in chunk_messages(messages, limit):
        passages.append(Passage(chunk, tuple(earlier[-CONTEXT_MESSAGES:]), context))
        earlier = [*earlier[-CONTEXT_MESSAGES:], *chunk]
    return passages


def _queued(passage: Passage, reason: str) -> Extraction:
    """No facts of a passage that the model has not answered yet."""
    return Extraction(((),), waiting=(Waiting(0, passage, TaskKind.EXTRACT_QUEUED, reason),))


def _parked(spent: Extraction, passage: Passage, reason: str) -> Extraction:
    """No facts of a passage that the model gave no usable answer for, and what the tries cost."""
    return replace(spent, waiting=(Waiting(0, passage, TaskKind.EXTRACT_PARKED, reason),))


def _log_progress(extraction: Extraction, place: str, seconds: float) -> None:
    """One line a passage, without a word of it."""
    facts = sum(len(chunk) for chunk in extraction.chunks)
    logger.info(
        "passage %s: %s in %.1f s (%d tokens in, %d out)",
        place,
        "waits" if extraction.waiting else f"{facts} facts",
        seconds,
        extraction.tokens_in,
        extraction.tokens_out,
    )
