"""The recall node: what is remembered about the user's last message, before the agent answers."""

# No `from __future__ import annotations`: see memories.py.

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Unpack

from langchain_core.runnables import RunnableConfig

from hindsight_integrations import InvalidRequest
from hindsight_integrations.choices import choice
from hindsight_integrations.langgraph.bank_finder import (
    AnyMemory,
    BankFinder,
    BankFrom,
    BankName,
    uses_memory,
    value_of,
)
from hindsight_integrations.langgraph.events import EventKind, emit
from hindsight_integrations.langgraph.failures import tolerated
from hindsight_integrations.langgraph.memories import (
    Memory,
    as_memories,
    format_memories,
    told_of,
    with_memories,
)
from hindsight_integrations.langgraph.node import MemoryNode, place_of
from hindsight_integrations.langgraph.state import Question, conversation, last_question, question
from hindsight_integrations.model.options import RecallOptions, shows_options
from hindsight_integrations.model.results import RecallResult
from hindsight_integrations.tolerance import OnError
from hindsight_integrations.validation.options import (
    PROMPT_DEFAULTS,
    STANDING_RECALL,
    checked_options,
    with_defaults,
)

MISSING = "the agent answers without its memories"


class RecallOutput(StrEnum):
    """What a recall node writes."""

    MEMORIES = "memories"
    """A list of `Memory` dicts."""
    TEXT = "text"
    """One line a memory, as `format_memories` writes them."""
    MESSAGES = "messages"
    """The conversation with the memories beside the last message of the user, as `with_memories` makes it."""


@shows_options(RecallOptions, PROMPT_DEFAULTS)
def create_recall_node(
    memory: AnyMemory,
    *,
    bank: BankName | None = None,
    bank_from: BankFrom | None = None,
    output: RecallOutput | str = RecallOutput.MEMORIES,
    output_key: str = "memories",
    query_key: str | None = None,
    messages_key: str = "messages",
    on_error: OnError | str = OnError.SKIP,
    **options: Unpack[RecallOptions],
) -> MemoryNode:
    """A node that looks up what is remembered about the user's last message.

    It writes under `output_key`, best first unless `order="time"`, and nothing found is written too, so that memories of an earlier turn never
    stay. The state's schema must have that key, as `MemoryState` has it. The messages are left alone: put
    the memories into the prompt of this turn, with `with_memories` or `format_memories`.

    Several recalls at once (`Send`, parallel branches) need a key each, or one that takes several writes in a step:
    `Annotated[list[Memory], Topic(Memory)]` of `langgraph.channels` gathers them for the next step and keeps none longer.

    A run with `use_memory=False` in its configurable or context recalls nothing.

    Args:
        memory: Hindsight or AsyncHindsight, or one bank of either, which then serves every run.
        bank: with an engine: the bank's name, or a function of (state, runtime) that gives it.
        bank_from: with an engine: where the run says it ("context.user_id", "config.user_id", "state.user_id", "auth", or
            several of them). None of both: the authenticated user, else `bank` or `user_id` of the context, else of
            the configurable.
        output: "memories" (dicts), "text" (lines for a prompt) or "messages" (the conversation for a model, memories in it).
        output_key: where the state takes them; with "messages" another key than `messages_key`.
        query_key: where the state holds the question, a text; None takes the user's last message.
        messages_key: where the state holds its messages; the last one of the user is the query, cut at 8,000 characters.
        on_error: "skip" goes on without memories and warns; "raise".
        options: of `bank.recall`, as `RecallOptions` describes them; the defaults are those of a prompt: `budget="low"`,
            `max_tokens=2048`, `text="compact"`, `relevance="likely"`, which writes nothing where nothing is relevant, and,
            unless `k` is given, `include_records` and `include_core`. With `as_of` what holds no more is marked as history.

    Raises:
        InvalidRequest: an argument is wrong; when run: the run does not say whose memory it needs.
    """
    where = BankFinder(memory, bank, bank_from)
    failing, form = choice(OnError, on_error, "on_error"), choice(RecallOutput, output, "output")
    if form is RecallOutput.MESSAGES and output_key in {messages_key, "memories"}:
        raise InvalidRequest(
            "output_key",
            f"messages with memories in them would be kept under {output_key!r}",
            'Name a key of its own, such as "llm_input_messages".',
        )
    asked = with_defaults(checked_options(options, STANDING_RECALL), PROMPT_DEFAULTS)
    recall = _Recall(where, asked, failing, form, output_key, query_key, messages_key)
    return MemoryNode("recall", recall.run, recall.arun, writes=output_key)


@dataclass(frozen=True, slots=True)
class _Recall:
    """A recall node at work; the attributes are the arguments of `create_recall_node`, checked."""

    where: BankFinder
    options: RecallOptions
    failing: OnError
    form: RecallOutput
    output_key: str
    query_key: str | None
    messages_key: str

    def run(self, state: Any, config: RunnableConfig) -> dict[str, Any]:  # noqa: ANN401 - the user's state type
        name, query, found = self.where.name(state, config), self._question(state, config), None
        with tolerated(self.failing, node=place_of(config).node, bank=name, missing=MISSING):
            bank = self.where.open(state, config)
            if query:
                found = bank.recall(query.text, **(query.asked | self.options))
        return self._update(state, name, found)

    async def arun(self, state: Any, config: RunnableConfig) -> dict[str, Any]:  # noqa: ANN401 - the user's state type
        name, query, found = self.where.name(state, config), self._question(state, config), None
        with tolerated(self.failing, node=place_of(config).node, bank=name, missing=MISSING):
            bank = await self.where.aopen(state, config)
            if query:
                found = await bank.recall(query.text, **(query.asked | self.options))
        return self._update(state, name, found)

    def _question(self, state: object, config: RunnableConfig) -> Question | None:
        if not uses_memory(config):
            return None
        if self.query_key is not None:
            return question(value_of(state, self.query_key))
        return last_question(state, self.messages_key)

    def _update(self, state: object, bank: str, found: RecallResult | None) -> dict[str, Any]:
        memories = [] if found is None else as_memories(found)
        if found is not None:
            emit(EventKind.RECALLED, bank, **told_of(memories))
        return {self.output_key: _written(self.form, memories, state, self.messages_key)}


def _written(form: RecallOutput, memories: list[Memory], state: object, messages_key: str) -> object:
    if form is RecallOutput.TEXT:
        return format_memories(memories)
    if form is RecallOutput.MESSAGES:
        return with_memories(conversation(state, messages_key), memories)
    return memories
