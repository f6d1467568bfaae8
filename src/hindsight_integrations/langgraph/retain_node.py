"""The retain node: what was said is remembered, after the agent has answered."""

# No `from __future__ import annotations`: see memories.py.

from collections.abc import Iterable
from typing import Any

from langchain_core.runnables import RunnableConfig

from hindsight_integrations import InvalidRequest, RetainResult
from hindsight_integrations.choices import choice
from hindsight_integrations.langgraph.bank_finder import (
    AnyMemory,
    BankFinder,
    BankFrom,
    BankName,
    uses_memory,
)
from hindsight_integrations.langgraph.events import EventKind, emit
from hindsight_integrations.langgraph.failures import tolerated
from hindsight_integrations.langgraph.node import MemoryNode, Place, place_of
from hindsight_integrations.langgraph.state import messages_in
from hindsight_integrations.model.tasks import WorkerMode
from hindsight_integrations.model.turns import OnFork
from hindsight_integrations.tolerance import OnError
from hindsight_integrations.validation.limits import checked_tags, checked_words
from hindsight_integrations.validation.messages import checked_roles
from hindsight_integrations.validation.retain_request import checked_options

NOT_REMEMBERED = "what this turn said is not remembered yet"
CAUGHT_UP = "The thread's next turn remembers it, if its messages are still in the state."


def create_retain_node(
    memory: AnyMemory,
    *,
    bank: BankName | None = None,
    bank_from: BankFrom | None = None,
    roles: Iterable[str] = ("user", "assistant"),
    on_fork: OnFork | str = OnFork.SUPERSEDE,
    on_error: OnError | str = OnError.QUEUE,
    background: bool = False,
    timeout_s: float | None = None,
    context: str = "",
    tags: Iterable[str] = (),
    messages_key: str = "messages",
) -> MemoryNode:
    """A node that remembers the conversation. It changes no state.

    Every message counts once, however often the node runs: on retry, resume and replay what was retained before is
    recognised by thread and message id, and what a run missed the next one of the thread catches up with. A message's
    time is `additional_kwargs["timestamp"]` (a datetime, an ISO string or Unix seconds), else now. Never give this node
    a cache policy, and give it the whole list of messages: what is missing at its end counts as dropped.

    A run with `use_memory=False` in its configurable or context stores nothing of its messages, and no later run remembers them.

    It sends a `retained` event, or a `warning` where memory failed, to whoever streams with `stream_mode="custom"`.

    Args:
        memory: Hindsight or AsyncHindsight, or one bank of either, which then serves every run.
        bank: with an engine: the bank's name, or a function of (state, runtime) that gives it.
        bank_from: with an engine: where the run says it ("context.user_id", "config.user_id", "state.user_id", "auth", or
            several of them). None of both: the authenticated user, else `bank` or `user_id` of the context, else of
            the configurable.
        roles: whose messages to remember: "user", "assistant", "tool".
        on_fork: "supersede": what was made of messages that a regenerated answer, an edited question or a jump back in
            time dropped holds no more, until the thread goes back to them. "keep": it stays. In a run without a
            thread id nothing counts as dropped.
        on_error: when memory fails. "queue": messages that the model cannot extract now are committed to be extracted
            later, and found meanwhile as they were said; any other failure is a warning, and the run goes on. "skip":
            any failure is a warning, and nothing is committed. "raise": it fails the run. Whatever it is,
            InvalidRequest, MissingDependency, BankNotFound and SchemaMismatch are raised: they are mistakes of the
            program.
        background: return once the messages are committed, found as they were said; a worker extracts them.
        timeout_s: seconds that the model may take, after which the rest is left for later; None means the settings'.
        context: what the conversation is, for extraction ("support chat").
        tags: visibility tags of what is retained.
        messages_key: where the state holds its messages.

    Raises:
        InvalidRequest: an argument is wrong, or `background` without a worker; when run: the run does not say whose
            memory it needs, or the state has no messages there.
    """
    where, policy = BankFinder(memory, bank, bank_from), choice(OnError, on_error, "on_error")
    if background:
        _check_worker(where)
    failing = "queue" if policy is OnError.QUEUE else "raise"  # whatever the engine's settings say
    checked_options(failing, background, timeout_s)
    options: dict[str, Any] = {"on_fork": choice(OnFork, on_fork, "on_fork"), "on_model_failure": failing}
    options |= {"roles": tuple(sorted(checked_roles(roles))), "tags": checked_tags(tags)}
    options |= {"context": checked_words(context, "context"), "background": background}
    options |= {"extraction_timeout_s": timeout_s}

    def retain(state: Any, config: RunnableConfig) -> dict[str, Any]:  # noqa: ANN401 - the user's state type
        name, place = where.name(state, config), place_of(config)
        if messages := messages_in(state, messages_key):
            with tolerated(policy, node=place.node, bank=name, missing=NOT_REMEMBERED, remedy=CAUGHT_UP):
                target = where.open(state, config)
                result = target.threads.follow(messages, **options | _of_run(place, messages_key, config))
                _tell(name, result)
        return {}

    async def aretain(state: Any, config: RunnableConfig) -> dict[str, Any]:  # noqa: ANN401 - the user's state type
        name, place = where.name(state, config), place_of(config)
        if messages := messages_in(state, messages_key):
            with tolerated(policy, node=place.node, bank=name, missing=NOT_REMEMBERED, remedy=CAUGHT_UP):
                target = await where.aopen(state, config)
                result = await target.threads.follow(
                    messages, **options | _of_run(place, messages_key, config)
                )
                _tell(name, result)
        return {}

    return MemoryNode("retain", retain, aretain)


def _check_worker(where: BankFinder) -> None:
    if where.worker is WorkerMode.NONE:
        raise InvalidRequest(
            "background",
            "nobody extracts what is committed: the engine has no worker",
            "Open it with worker=True, or worker='elsewhere' where another process or a job settles.",
        )


def _of_run(place: Place, messages_key: str, config: RunnableConfig) -> dict[str, Any]:
    """What a run says of its messages: the thread, which of the thread's lists they are, and where they come from.

    Two runs without a thread are two conversations, so that neither drops anything of the other.
    """
    keys = (place.namespace, "" if messages_key == "messages" else messages_key)
    said: dict[str, Any] = {"thread": place.thread, "namespace": "|".join(filter(None, keys))}
    said["remember"] = uses_memory(config)
    said["metadata"] = {"run_id": place.run_id, "checkpoint_ns": place.namespace or None}
    return said if place.thread else said | {"on_fork": OnFork.KEEP}


def _tell(bank: str, result: RetainResult) -> None:
    """Send what a turn changed of a bank."""
    emit(
        EventKind.RETAINED,
        bank,
        units=list(result.unit_ids),
        created=result.created,
        superseded=list(result.superseded),
        restored=list(result.restored),
        queued=len(result.queued),
        calls=result.calls,
        tokens_in=result.tokens_in,
        tokens_out=result.tokens_out,
    )
