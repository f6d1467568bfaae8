"""The recall node: what is remembered about the user's last message, before the agent answers."""

# No `from __future__ import annotations`: see memories.py.

from collections.abc import Iterable, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig

from hindsight_integrations import Budget, FactType, TagsMatch
from hindsight_integrations.langgraph.bank_finder import AnyMemory, BankFinder, BankFrom, BankName
from hindsight_integrations.langgraph.memories import as_memory
from hindsight_integrations.langgraph.node import MemoryNode
from hindsight_integrations.langgraph.state import last_question
from hindsight_integrations.model.requests import GivenGroup, GivenScores


def create_recall_node(
    memory: AnyMemory,
    *,
    bank: BankName | None = None,
    bank_from: BankFrom | None = None,
    max_tokens: int = 2048,
    budget: Budget | str = Budget.LOW,
    k: int | None = None,
    types: Iterable[FactType | str] | None = None,
    tags: Iterable[str] = (),
    tags_match: TagsMatch | str = TagsMatch.ANY,
    tag_groups: GivenGroup | Sequence[GivenGroup] = (),
    min_scores: GivenScores = None,
    output_key: str = "memories",
    messages_key: str = "messages",
) -> MemoryNode:
    """A node that looks up what is remembered about the user's last message.

    It writes a list of `Memory` dicts under `output_key`, best first, and an empty list when nothing was found, so
    that memories of an earlier turn never stay. The state's schema must have that key: LangGraph drops others without
    a word. Messages are left alone; put `format_memories(state["memories"])` into the prompt instead.

    Args:
        memory: Hindsight or AsyncHindsight, or one bank of either, which then serves every run.
        bank: with an engine: the bank's name, or a function of (state, runtime) that gives it.
        bank_from: with an engine: where the run says it ("context.user_id", "config.user_id", "state.user_id", "auth", or
            several of them). None of both: the authenticated user, else `bank` or `user_id` of the context, else of
            the configurable.
        max_tokens: what the texts may cost together.
        budget: effort: low, mid or high.
        k: at most this many memories.
        types: networks to search; None means all, without observations unless the settings make them searchable.
        tags: visibility tags; none means any memory.
        tags_match: any, all, any_strict, all_strict or exact.
        tag_groups: conditions on tags beside `tags`; see the bank's `recall`.
        min_scores: what a memory must reach; see `MinScores`.
        output_key: where the state takes the memories.
        messages_key: where the state holds its messages; the last one of the user is the query, cut at 8,000 characters.

    Raises:
        InvalidRequest: an argument is wrong; when run: the run does not say whose memory it needs.
    """
    where = BankFinder(memory, bank, bank_from)
    options: dict[str, Any] = {"max_tokens": max_tokens, "budget": budget, "k": k, "tags_match": tags_match}
    options |= {"tags": tuple(tags), "tag_groups": tag_groups, "min_scores": min_scores}
    options |= {} if types is None else {"types": tuple(types)}

    def recall(state: Any, config: RunnableConfig) -> dict[str, Any]:  # noqa: ANN401 - the user's state type
        target, query = where.open(state, config), last_question(state, messages_key)
        found = target.recall(query.text, query_timestamp=query.timestamp, **options) if query else None
        return {output_key: [as_memory(unit) for unit in found.units] if found else []}

    async def arecall(state: Any, config: RunnableConfig) -> dict[str, Any]:  # noqa: ANN401 - the user's state type
        target, query = await where.aopen(state, config), last_question(state, messages_key)
        found = await target.recall(query.text, query_timestamp=query.timestamp, **options) if query else None
        return {output_key: [as_memory(unit) for unit in found.units] if found else []}

    return MemoryNode("recall", recall, arecall)
