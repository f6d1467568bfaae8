"""The retain node: what was said is remembered, after the agent has answered."""

# No `from __future__ import annotations`: see memories.py.

from collections.abc import Iterable
from typing import Any

from langchain_core.runnables import RunnableConfig

from hindsight_integrations.langgraph.bank_finder import AnyMemory, BankFinder, BankFrom, BankName
from hindsight_integrations.langgraph.node import MemoryNode
from hindsight_integrations.langgraph.state import checked_roles, messages_of_roles


def create_retain_node(
    memory: AnyMemory,
    *,
    bank: BankName | None = None,
    bank_from: BankFrom | None = None,
    roles: Iterable[str] = ("user", "assistant"),
    context: str = "",
    tags: Iterable[str] = (),
    messages_key: str = "messages",
) -> MemoryNode:
    """A node that remembers the conversation. It changes no state.

    Every message counts once, however often the node runs: on retry, resume and replay what was retained before is
    recognised by thread and message id. A message's time is `additional_kwargs["timestamp"]` (a datetime, an ISO
    string or Unix seconds), else now. Never give this node a cache policy.

    Args:
        memory: Hindsight or AsyncHindsight, or one bank of either, which then serves every run.
        bank: with an engine: the bank's name, or a function of (state, runtime) that gives it.
        bank_from: with an engine: where the run says it ("context.user_id", "config.user_id", "state.user_id", "auth", or
            several of them). None of both: the authenticated user, else `bank` or `user_id` of the context, else of
            the configurable.
        roles: whose messages to remember: "user", "assistant".
        context: what the conversation is, for extraction ("support chat").
        tags: visibility tags of what is retained.
        messages_key: where the state holds its messages.

    Raises:
        InvalidRequest: an argument is wrong; when run: the run does not say whose memory it needs.
    """
    where, kinds = BankFinder(memory, bank, bank_from), checked_roles(roles)
    options: dict[str, Any] = {"context": context, "tags": tuple(tags)}

    def retain(state: Any, config: RunnableConfig) -> dict[str, Any]:  # noqa: ANN401 - the user's state type
        target = where.open(state, config)
        if messages := messages_of_roles(state, messages_key, kinds):
            target.retain(messages, thread=_thread(config), **options)
        return {}

    async def aretain(state: Any, config: RunnableConfig) -> dict[str, Any]:  # noqa: ANN401 - the user's state type
        target = await where.aopen(state, config)
        if messages := messages_of_roles(state, messages_key, kinds):
            await target.retain(messages, thread=_thread(config), **options)
        return {}

    return MemoryNode("retain", retain, aretain)


def _thread(config: RunnableConfig) -> str:
    """The conversation the messages belong to, so that equal message ids of two threads stay two messages."""
    return str(config.get("configurable", {}).get("thread_id", ""))
