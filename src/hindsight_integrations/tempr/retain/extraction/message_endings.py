"""What messages kept word for word end: a model is shown the nearest memories and names them."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from hindsight_integrations.config import ExtractionOptions
from hindsight_integrations.errors import ModelError
from hindsight_integrations.model.facts import ExtractedChange, ExtractedFact, MemoryChange
from hindsight_integrations.model.requests import Message
from hindsight_integrations.model.results import EXCERPT_CHARACTERS, Dropped
from hindsight_integrations.model.turns import Role
from hindsight_integrations.ports.language_model import LanguageModel
from hindsight_integrations.prompts.extract_facts import Passage
from hindsight_integrations.prompts.message_endings import (
    AnsweredMessageEndings,
    message_endings_prompt,
    numbered_messages,
)
from hindsight_integrations.prompts.repairing import Answered, complete_with_repair
from hindsight_integrations.tempr.retain.extraction.llm import OUT_OF_TIME, passages_of
from hindsight_integrations.tempr.retain.extraction.result import Extraction
from hindsight_integrations.tempr.retain.extraction.screening import MOST_CHANGES
from hindsight_integrations.validation.roles import role_of

logger = logging.getLogger("hindsight_integrations")


@dataclass(frozen=True, slots=True)
class EndingJudge:
    """Asks a model which shown memories each message ends, in one request a passage; a model that fails ends nothing.

    Attributes:
        model: the model.
        chunk_characters: length of a passage.
        concurrent: how many requests run at once.
        timeout_s: seconds for all requests of one retain together; None: no limit.
    """

    model: LanguageModel
    chunk_characters: int
    concurrent: int
    timeout_s: float | None = None

    def with_options(self, options: ExtractionOptions) -> EndingJudge | None:
        """The same for one retain that has options of its own; None where it must not ask a model now."""
        if options.background:
            return None
        return self if options.timeout_s is None else replace(self, timeout_s=options.timeout_s)

    def passages(
        self, extraction: Extraction, messages: Sequence[Message], *, before: Sequence[Message], context: str
    ) -> list[Passage]:
        """The passages of a conversation in which a person says something that is kept.

        Args:
            extraction: the facts of the messages.
            messages: all of the conversation that are new; those without a fact give context.
            before: messages known already.
            context: about the source.
        """
        asked = _asked(extraction, messages)
        cut = passages_of(messages, self.chunk_characters, before=before, context=context)
        return [passage for passage in cut if numbered_messages(passage, asked)]

    async def with_endings(self, extraction: Extraction, passages: Sequence[Passage]) -> Extraction:
        """The extraction, its facts with the memories that the model says they end.

        Args:
            extraction: of one chunk, a fact for each message that is kept.
            passages: of these messages, each with the memories to show.
        """
        asked = _asked(extraction, [message for passage in passages for message in passage.messages])
        shown = dict.fromkeys(unit.id for passage in passages for unit in passage.memories)
        endings = _Endings({unit_id: number for number, unit_id in enumerate(shown, 1)})
        for passage, answered in zip(passages, await self._answers(passages, asked), strict=True):
            endings.add(answered, passage, numbered_messages(passage, asked))
        facts = tuple(endings.applied_to(fact) for chunk in extraction.chunks for fact in chunk)
        return replace(
            extraction,
            chunks=(facts,),
            shown=(tuple(shown),),
            tokens_in=extraction.tokens_in + endings.tokens_in,
            tokens_out=extraction.tokens_out + endings.tokens_out,
            calls=extraction.calls + endings.calls,
            dropped=(*extraction.dropped, *endings.dropped),
        )

    async def _answers(
        self, passages: Sequence[Passage], asked: frozenset[str]
    ) -> list[Answered[AnsweredMessageEndings]]:
        """The answer to each passage, several asked at once."""
        end = None if self.timeout_s is None else asyncio.get_running_loop().time() + self.timeout_s
        gate = asyncio.Semaphore(self.concurrent)

        async def ask(passage: Passage) -> Answered[AnsweredMessageEndings]:
            prompt = message_endings_prompt(passage, asked)
            try:
                async with asyncio.timeout_at(end), gate:
                    answered = await complete_with_repair(self.model, prompt)
            except TimeoutError:
                answered = Answered(None, OUT_OF_TIME, 0, 0)
            except ModelError as error:
                answered = Answered(None, type(error).__name__, 0, 0)
            if answered.output is None:
                number = len(numbered_messages(passage, asked))
                logger.warning("the model did not say what %d message(s) end: %s", number, answered.problem)
            return answered

        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(ask(passage)) for passage in passages]
        except ExceptionGroup as failures:  # callers know the error, not groups
            raise failures.exceptions[0] from None
        return [task.result() for task in tasks]


@dataclass(slots=True)
class _Endings:
    """What the answers of a retain say, gathered by message.

    Attributes:
        numbers: of all memories shown, by id, as the facts name them.
        ended: by message id, the numbers of the memories that it ends.
        dropped: what of the answers was of no use, and why.
    """

    numbers: Mapping[str, int]
    ended: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    dropped: list[Dropped] = field(default_factory=list)
    tokens_in: int = 0
    tokens_out: int = 0
    calls: int = 0

    def add(
        self,
        answered: Answered[AnsweredMessageEndings],
        passage: Passage,
        messages: Mapping[int, Message],
    ) -> None:
        """Add the answer to one passage, whose judged messages are given by their numbers."""
        self.tokens_in += answered.tokens_in
        self.tokens_out += answered.tokens_out
        self.calls += answered.tries
        if answered.output is None:
            ids = ", ".join(message.id or "" for message in messages.values())
            self._drop(f"messages {ids}", f"the model did not say what they end: {answered.problem}")
            return
        for ending in answered.output.endings:
            message = messages.get(ending.message)
            if message is None:
                problem = f"it names message {ending.message}, and {len(messages)} were numbered"
                self._drop("an answer about what messages end", problem)
                continue
            count = len(passage.memories)
            for number in dict.fromkeys(ending.memories):
                if 1 <= number <= count:
                    memory = passage.memories[number - 1]
                    self.ended[message.id or ""].append(self.numbers[memory.id])
                else:
                    self._drop(message.spoken, f"it names memory {number}, and {count} were shown")

    def applied_to(self, fact: ExtractedFact) -> ExtractedFact:
        """The fact of a message with the memories that the message ends; with none if they are too many."""
        numbers = dict.fromkeys(number for source in fact.sources for number in self.ended.get(source, ()))
        if not numbers:
            return fact
        if len(numbers) > MOST_CHANGES:
            self._drop(fact.what, f"it names {len(numbers)} memories, over the limit of {MOST_CHANGES}")
            return fact
        changes = [ExtractedChange(memory=number, change=MemoryChange.ENDS) for number in numbers]
        return fact.model_copy(update={"changes": changes})

    def _drop(self, what: str, problem: str) -> None:
        self.dropped.append(Dropped(what[:EXCERPT_CHARACTERS], f"changes: {problem}"))


def _asked(extraction: Extraction, messages: Sequence[Message]) -> frozenset[str]:
    """Ids of the messages to judge: a person's, and kept."""
    kept = {source for chunk in extraction.chunks for fact in chunk for source in fact.sources}
    return frozenset(
        message.id
        for message in messages
        if message.id in kept and role_of(message) is Role.USER and message.id
    )
