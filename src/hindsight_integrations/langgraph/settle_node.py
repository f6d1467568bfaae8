"""The settle node: what waits to be done in a bank is done, where no worker does it."""

# No `from __future__ import annotations`: see memories.py.

from typing import Any

from langchain_core.runnables import RunnableConfig

from hindsight_integrations import Settled
from hindsight_integrations.choices import choice
from hindsight_integrations.langgraph.bank_finder import AnyMemory, BankFinder, BankFrom, BankName
from hindsight_integrations.langgraph.events import EventKind, emit
from hindsight_integrations.langgraph.failures import tolerated
from hindsight_integrations.langgraph.node import MemoryNode, place_of
from hindsight_integrations.tolerance import OnError

NOT_SETTLED = "what waited to be done in the bank waits on"


def create_settle_node(
    memory: AnyMemory,
    *,
    bank: BankName | None = None,
    bank_from: BankFrom | None = None,
    on_error: OnError | str = OnError.SKIP,
) -> MemoryNode:
    """A node that does what waits to be done in the bank: extraction the model failed on, observations, opinions.

    It changes no state, and takes as long as the model does: put it at the end of a graph that nobody waits for. With a
    worker it is not needed. It sends a `settled` event, or a `warning` where memory failed.

    Args:
        memory: Hindsight or AsyncHindsight, or one bank of either, which then serves every run.
        bank: with an engine: the bank's name, or a function of (state, runtime) that gives it.
        bank_from: with an engine: where the run says it, as of `create_retain_node`.
        on_error: when memory fails. "skip" or "queue": a warning, and the work waits on. "raise": the run fails.

    Raises:
        InvalidRequest: an argument is wrong; when run: the run does not say whose memory it needs.
    """
    where, policy = BankFinder(memory, bank, bank_from), choice(OnError, on_error, "on_error")

    def settle(state: Any, config: RunnableConfig) -> dict[str, Any]:  # noqa: ANN401 - the user's state type
        name, place = where.name(state, config), place_of(config)
        with tolerated(policy, node=place.node, bank=name, missing=NOT_SETTLED):
            _tell(name, where.open(state, config).tasks.settle())
        return {}

    async def asettle(state: Any, config: RunnableConfig) -> dict[str, Any]:  # noqa: ANN401 - the user's state type
        name, place = where.name(state, config), place_of(config)
        with tolerated(policy, node=place.node, bank=name, missing=NOT_SETTLED):
            _tell(name, await (await where.aopen(state, config)).tasks.settle())
        return {}

    return MemoryNode("settle", settle, asettle)


def _tell(bank: str, settled: Settled) -> None:
    """Send what was done."""
    emit(
        EventKind.SETTLED,
        bank,
        done=len(settled.done),
        failed=len(settled.failed),
        created=settled.created,
    )
