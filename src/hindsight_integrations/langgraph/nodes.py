"""Graph nodes that recall, retain and run queued tasks, with their stream events and error handling."""

# Without `from __future__ import annotations`; see state.py.

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self, TypedDict, Unpack

from langchain_core.callbacks import AsyncCallbackManager, CallbackManager
from langchain_core.runnables import Runnable, RunnableConfig, ensure_config, patch_config
from langchain_core.runnables.config import set_config_context
from langgraph.types import TracePolicy, omit_payload
from langsmith import tracing_context

from hindsight_integrations import InvalidRequest, Settled, tolerance
from hindsight_integrations.choices import choice
from hindsight_integrations.config import Extract
from hindsight_integrations.langgraph.bank_finder import (
    AnyMemory,
    BankFinder,
    BankFrom,
    BankName,
    current_runtime,
    uses_memory,
    value_of,
)
from hindsight_integrations.langgraph.state import (
    Memory,
    Question,
    as_memories,
    conversation,
    format_memories,
    last_question,
    messages_in,
    question,
    recall_values,
    with_memories,
)
from hindsight_integrations.model.options import RecallOptions, shows_options
from hindsight_integrations.model.results import RecallResult, retained_values
from hindsight_integrations.model.tasks import WorkerMode
from hindsight_integrations.model.turns import OnFork
from hindsight_integrations.tolerance import OnError, Tolerated
from hindsight_integrations.validation.limits import checked_tags, checked_words
from hindsight_integrations.validation.messages import checked_roles
from hindsight_integrations.validation.options import (
    PROMPT_DEFAULTS,
    STANDING_RECALL,
    accept_options,
    with_defaults,
)
from hindsight_integrations.validation.retain_request import checked_options


class EventKind(StrEnum):
    """The kind of a memory event."""

    RETAINED = "retained"
    """The turn was retained: `units` (ids of the memories from its new messages), `created` (number of new ones),
    `superseded` and `restored` (ids), `queued` (passages waiting for extraction), `calls`, `tokens_in`, `tokens_out` and
    `tokens_cached` (cost of extraction in this turn)."""
    RECALLED = "recalled"
    """Memories were recalled: `units` (ids), `scores`, `channels`."""
    SETTLED = "settled"
    """Queued tasks ran: `done`, `failed` (tasks), `created` (memories)."""
    OPINION = "opinion"
    """An opinion was assessed: `outcome`, `opinion` (id), `before` and `after` (its confidence)."""
    WARNING = "warning"
    """Memory failed and the run continued: `node`, `error` (class), `missing`, `remedy`."""


def emit(kind: EventKind, bank: str, **values: Any) -> None:  # noqa: ANN401 - any JSON values
    """Write one event to the run's custom stream: {"type": "hindsight", "kind": ..., "bank": ..., ...}.

    Does nothing if the run is not streamed, or outside a graph.

    Args:
        kind: the event's kind.
        bank: the bank's name; empty if unknown.
        values: further JSON-serialisable fields.
    """
    current_runtime().stream_writer({"type": "hindsight", "kind": kind.value, "bank": bank, **values})


_log = logging.getLogger("hindsight_integrations.langgraph")


def tolerated(
    on_error: OnError, *, node: str, bank: str, missing: str, remedy: str = ""
) -> AbstractContextManager[None]:
    """Let a run continue when memory fails; the error is reported as a warning event and a log line.

    Args:
        on_error: with RAISE every error is re-raised, so that the node's retry policy, if any, applies.
        node: the node's name.
        bank: the bank's name; empty if unknown.
        missing: what the run continues without, for the warning.
        remedy: additional advice.

    Raises:
        HindsightError: a programming error, or any error under RAISE.
    """
    return tolerance.tolerated(
        on_error, _warn, where=node, bank=bank, missing=missing, remedy=remedy, log=_log
    )


def _warn(met: Tolerated) -> None:
    emit(EventKind.WARNING, met.bank, node=met.where, error=met.error, missing=met.missing, remedy=met.remedy)


READ = "__pregel_read"  # config key of LangGraph's function that reads a channel

Update = dict[str, Any]
Run = Callable[[Any, RunnableConfig], Update]
AsyncRun = Callable[[Any, RunnableConfig], Awaitable[Update]]


class MemoryNode(Runnable[Any, Update]):
    """A graph node with a sync and an async implementation.

    It is not a RunnableLambda, because LangGraph already traces each node, and a RunnableLambda would add a second
    trace with the whole state as its input, which the node's `trace_policy` does not cover.

    Args:
        name: the node's name, unless the graph sets another.
        run: function of (state, config) that returns the state update.
        arun: the same as a coroutine function.
        traced: whether the model calls inside the node are traced.
        writes: the state key that the node writes, which the graph must declare; empty if the caller handles the update.
    """

    def __init__(self, name: str, run: Run, arun: AsyncRun, *, traced: bool = True, writes: str = "") -> None:
        self.name = name
        self._run, self._arun, self._traced, self._writes = run, arun, traced, writes

    def untraced(self) -> Self:
        """Return a copy of the node whose model calls are hidden from tracers."""
        return type(self)(self.name or "", self._run, self._arun, traced=False, writes=self._writes)

    def called(self) -> Self:
        """Return a copy of the node for direct calls, which does not check that a graph declares the key it writes."""
        return type(self)(self.name or "", self._run, self._arun, traced=self._traced)

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Update:  # noqa: A002, ANN401 - LangChain's signature
        """Run the node on a state."""
        given = ensure_config(config)
        check_key(given, self._writes)
        if self._traced:
            return self._run(input, given)
        given = patch_config(given, callbacks=CallbackManager([]))
        with set_config_context(given) as context:
            return context.run(self._untraced, input, given)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Update:  # noqa: A002, ANN401 - LangChain's signature
        """Run the node on a state, asynchronously."""
        given = ensure_config(config)
        check_key(given, self._writes)
        if self._traced:
            return await self._arun(input, given)
        given = patch_config(given, callbacks=AsyncCallbackManager([]))
        with set_config_context(given) as context:
            return await asyncio.create_task(self._auntraced(input, given), context=context)

    def _untraced(self, given: Any, config: RunnableConfig) -> Update:  # noqa: ANN401 - the user's state type
        # Otherwise, LangChain adds its own tracer if the environment enables tracing.
        with tracing_context(enabled=False):
            return self._run(given, config)

    async def _auntraced(self, given: Any, config: RunnableConfig) -> Update:  # noqa: ANN401 - the user's state type
        with tracing_context(enabled=False):
            return await self._arun(given, config)


def check_key(config: RunnableConfig, key: str) -> None:
    """Check that the graph's state declares a key; LangGraph silently drops writes to other keys.

    Args:
        config: the run's config; outside a graph nothing is checked.
        key: the state key; empty skips the check.

    Raises:
        InvalidRequest: the state does not declare the key.
    """
    read = config.get("configurable", {}).get(READ)
    if not key or not callable(read):
        return
    try:
        read(key, False)
    except KeyError:
        raise InvalidRequest(
            "output_key",
            f"the graph's state has no {key!r}, so LangGraph would drop the memories",
            "Derive the state from hindsight_integrations.langgraph.MemoryState, or declare the key in it: "
            f"`{key}: list[Memory]`. To call the node directly, use `node.called()`.",
        ) from None


@dataclass(frozen=True, slots=True)
class NodePosition:
    """The position of a running node in a graph.

    Attributes:
        node: the node's name.
        thread: the thread id; empty if the run has none.
        namespace: names of the enclosing subgraph nodes, outermost first, joined by "|"; empty in the outermost graph.
            This is LangGraph's checkpoint namespace without task ids, which differ from turn to turn.
        run_id: the run's id, if the caller set one.
    """

    node: str
    thread: str
    namespace: str
    run_id: str | None


def position_of(config: RunnableConfig) -> NodePosition:
    """Return the position of the node that runs with this config."""
    configurable, metadata = config.get("configurable", {}), config.get("metadata", {})
    info = current_runtime().execution_info
    # checkpoint_ns is "node:task_id" for each enclosing subgraph node and for this node, joined by "|".
    around = str(configurable.get("checkpoint_ns", "")).split("|")[:-1]
    return NodePosition(
        node=str(metadata.get("langgraph_node", "")) or "memory",
        thread="" if (thread := configurable.get("thread_id")) is None else str(thread),
        namespace="|".join(part.split(":")[0] for part in around),
        run_id=info.run_id if info else None,
    )


class NodeArguments(TypedDict):
    """Arguments of `StateGraph.add_node`."""

    action: MemoryNode
    trace_policy: TracePolicy


def omit_payloads(node: MemoryNode) -> NodeArguments:
    """Trace a node without its payloads: `graph.add_node("retain", **omit_payloads(create_retain_node(...)))`.

    The node's trace has its timing but no inputs or outputs, and model calls inside it are not traced. The trace of the
    whole graph and those of other nodes still record the state; hide them with LangSmith's `hide_inputs` and
    `hide_outputs`.

    Args:
        node: a node created by this package.
    """
    policy = TracePolicy(process_inputs=omit_payload, process_outputs=omit_payload)
    return NodeArguments(action=node.untraced(), trace_policy=policy)


MISSING = "the agent answers without its memories"


class RecallOutput(StrEnum):
    """The form in which a recall node writes memories."""

    MEMORIES = "memories"
    """A list of `Memory` dicts."""
    TEXT = "text"
    """One line per memory, as `format_memories` writes them."""
    MESSAGES = "messages"
    """The conversation with the memories next to the user's last message, as `with_memories` returns it."""


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
    """Create a node that recalls memories relevant to the user's last message.

    It writes them to `output_key`, best first unless `order="time"`. An empty result is written too, so that memories of
    an earlier turn never remain. The state schema must declare that key, as `MemoryState` does. The messages are not
    changed: put the memories into this turn's prompt with `with_memories` or `format_memories`.

    Parallel recalls (`Send`, parallel branches) need separate keys, or one that accepts several writes in a step:
    `Annotated[list[Memory], Topic(Memory)]` from `langgraph.channels` collects them for the next step only.

    A run with `use_memory=False` in its configurable or context recalls nothing.

    Args:
        memory: Hindsight or AsyncHindsight, or one bank of either, which then serves every run.
        bank: with an engine: the bank's name, or a function of (state, runtime) that returns it.
        bank_from: with an engine: where to read the name from ("context.user_id", "config.user_id", "state.user_id",
            "auth", or several of them). If neither is given: the authenticated user, else `bank` or `user_id` in the
            context, else in the configurable.
        output: "memories" (dicts), "text" (lines for a prompt) or "messages" (the conversation with the memories in it).
        output_key: the state key to write; with "messages" it must differ from `messages_key`.
        query_key: the state key of the question, a string; None uses the user's last message.
        messages_key: the state key of the messages; the user's last one is the query, cut at 8,000 characters.
        on_error: "skip" continues without memories and warns; "raise" fails the run.
        options: options of `bank.recall`, see `RecallOptions`. The defaults suit a prompt: `budget="low"`,
            `max_tokens=2048`, `text="compact"`, `relevance="likely"` (nothing is written if nothing is relevant) and,
            unless `k` is given, `include_records` and `include_core`. With `as_of`, memories that are no longer valid
            are marked as history.

    Raises:
        InvalidRequest: an argument is invalid; at run time: the run does not select a bank.
    """
    where = BankFinder(memory, bank, bank_from)
    failing, form = choice(OnError, on_error, "on_error"), choice(RecallOutput, output, "output")
    if form is RecallOutput.MESSAGES and output_key in {messages_key, "memories"}:
        raise InvalidRequest(
            "output_key",
            f"{output_key!r} must not hold the messages of a prompt, which contain recalled memories",
            'Name a separate key, such as "llm_input_messages".',
        )
    asked = with_defaults(accept_options(options, STANDING_RECALL), PROMPT_DEFAULTS)
    recall = _Recall(where, asked, failing, form, output_key, query_key, messages_key)
    return MemoryNode("recall", recall.run, recall.arun, writes=output_key)


@dataclass(frozen=True, slots=True)
class _Recall:
    """Implementation of the recall node; the attributes are the validated arguments of `create_recall_node`."""

    where: BankFinder
    options: RecallOptions
    failing: OnError
    form: RecallOutput
    output_key: str
    query_key: str | None
    messages_key: str

    def run(self, state: Any, config: RunnableConfig) -> dict[str, Any]:  # noqa: ANN401 - the user's state type
        name, query, found = self.where.name(state, config), self._question(state, config), None
        with tolerated(self.failing, node=position_of(config).node, bank=name, missing=MISSING):
            bank = self.where.open(state, config)
            if query:
                found = bank.recall(query.text, **(query.asked | self.options))
        return self._update(state, name, found)

    async def arun(self, state: Any, config: RunnableConfig) -> dict[str, Any]:  # noqa: ANN401 - the user's state type
        name, query, found = self.where.name(state, config), self._question(state, config), None
        with tolerated(self.failing, node=position_of(config).node, bank=name, missing=MISSING):
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
            emit(EventKind.RECALLED, bank, **recall_values(memories))
        return {self.output_key: _written(self.form, memories, state, self.messages_key)}


def _written(form: RecallOutput, memories: list[Memory], state: object, messages_key: str) -> object:
    if form is RecallOutput.TEXT:
        return format_memories(memories)
    if form is RecallOutput.MESSAGES:
        return with_memories(conversation(state, messages_key), memories)
    return memories


NOT_REMEMBERED = "this turn is not retained yet"
CAUGHT_UP = "The thread's next turn retains it, if its messages are still in the state."


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
    extract: Extract | str = Extract.TURN,
    context: str = "",
    tags: Iterable[str] = (),
    messages_key: str = "messages",
) -> MemoryNode:
    """Create a node that retains the conversation. It does not change the state.

    Each message is retained once, however often the node runs: retries, resumes and replays are recognised by thread and
    message id, and messages that a run missed are retained by the thread's next run. A message's time is
    `additional_kwargs["timestamp"]` (a datetime, an ISO string or Unix seconds), else now. Do not give this node a cache
    policy, and pass it the full list of messages: messages missing from the end count as discarded.

    A run with `use_memory=False` in its configurable or context retains nothing, and no later run retains its messages.

    It emits a `retained` event, or a `warning` if memory failed, on the stream mode "custom".

    Args:
        memory: Hindsight or AsyncHindsight, or one bank of either, which then serves every run.
        bank: with an engine: the bank's name, or a function of (state, runtime) that returns it.
        bank_from: with an engine: where to read the name from ("context.user_id", "config.user_id", "state.user_id",
            "auth", or several of them). If neither is given: the authenticated user, else `bank` or `user_id` in the
            context, else in the configurable.
        roles: the roles to retain: "user", "assistant", "tool".
        on_fork: "supersede": when an answer is regenerated, a question edited or the thread rewound, memories made from
            the discarded messages become invalid until the thread returns to them. "keep": they stay valid. Without a
            thread id, no message counts as discarded.
        on_error: what happens when memory fails. "queue": if the model fails, the messages are committed, searchable
            verbatim, and extracted later; after any other failure the run continues with a warning. "skip": after any
            failure the run continues with a warning, and nothing is committed. "raise": the run fails. InvalidRequest, MissingDependency, BankNotFound
            and SchemaMismatch are always raised: they are programming errors.
        background: return once the messages are committed and searchable verbatim; a worker extracts facts later.
        timeout_s: time limit for the extraction model, in seconds; the rest is extracted later. None uses the engine's
            setting.
        extract: when facts are extracted: "turn", at once; "idle", together with other turns of the conversation, when they
            fill a passage or it has been quiet for 5 minutes; "session", when `tasks.settle` or a settle node ends the
            session, at the latest after an hour of quiet. Until then recall finds the messages themselves. A worker
            extracts them; without a worker, a later turn of the bank does.
        context: describes the conversation to the extraction model ("support chat").
        tags: visibility tags of the retained memories.
        messages_key: the state key of the messages.

    Raises:
        InvalidRequest: an argument is invalid, or `background` is set without a worker; at run time: the run does not
            select a bank, or the state has no messages.
    """
    where, policy = BankFinder(memory, bank, bank_from), choice(OnError, on_error, "on_error")
    if background:
        _check_worker(where)
    # Set explicitly, so that the engine's setting is not used.
    failing = "queue" if policy is OnError.QUEUE else "raise"
    extraction = checked_options(failing, background, timeout_s, extract)
    options: dict[str, Any] = {"on_fork": choice(OnFork, on_fork, "on_fork"), "on_model_failure": failing}
    options |= {"roles": tuple(sorted(checked_roles(roles))), "tags": checked_tags(tags)}
    options |= {"context": checked_words(context, "context"), "background": background}
    options |= {"extraction_timeout_s": timeout_s, "extract": extraction.extract}

    def retain(state: Any, config: RunnableConfig) -> dict[str, Any]:  # noqa: ANN401 - the user's state type
        name, place = where.name(state, config), position_of(config)
        if messages := messages_in(state, messages_key):
            with tolerated(policy, node=place.node, bank=name, missing=NOT_REMEMBERED, remedy=CAUGHT_UP):
                target = where.open(state, config)
                result = target.threads.follow(
                    messages, **options | _run_options(place, messages_key, config)
                )
                emit(EventKind.RETAINED, name, **retained_values(result))
        return {}

    async def aretain(state: Any, config: RunnableConfig) -> dict[str, Any]:  # noqa: ANN401 - the user's state type
        name, place = where.name(state, config), position_of(config)
        if messages := messages_in(state, messages_key):
            with tolerated(policy, node=place.node, bank=name, missing=NOT_REMEMBERED, remedy=CAUGHT_UP):
                target = await where.aopen(state, config)
                result = await target.threads.follow(
                    messages, **options | _run_options(place, messages_key, config)
                )
                emit(EventKind.RETAINED, name, **retained_values(result))
        return {}

    return MemoryNode("retain", retain, aretain)


def _check_worker(where: BankFinder) -> None:
    if where.worker is WorkerMode.NONE:
        raise InvalidRequest(
            "background",
            "the engine has no worker to extract the committed messages",
            "Open it with worker=True, or with worker='elsewhere' if another process runs the tasks.",
        )


def _run_options(place: NodePosition, messages_key: str, config: RunnableConfig) -> dict[str, Any]:
    """Return the options of `threads.follow` that depend on the run: thread, namespace and metadata.

    Runs without a thread id are separate conversations, which must not discard each other's messages.
    """
    keys = (place.namespace, "" if messages_key == "messages" else messages_key)
    said: dict[str, Any] = {"thread": place.thread, "namespace": "|".join(filter(None, keys))}
    said["remember"] = uses_memory(config)
    said["metadata"] = {"run_id": place.run_id, "checkpoint_ns": place.namespace or None}
    return said if place.thread else said | {"on_fork": OnFork.KEEP}


NOT_SETTLED = "the bank's queued tasks stay queued"


def create_settle_node(
    memory: AnyMemory,
    *,
    bank: BankName | None = None,
    bank_from: BankFrom | None = None,
    on_error: OnError | str = OnError.SKIP,
) -> MemoryNode:
    """Create a node that runs the bank's queued tasks: postponed extraction, observations, opinions.

    It does not change the state. It waits for the model calls, so use it in a graph whose latency does not matter. With a
    worker it is not needed. It emits a `settled` event, or a `warning` if memory failed.

    Args:
        memory: Hindsight or AsyncHindsight, or one bank of either, which then serves every run.
        bank: with an engine: the bank's name, or a function of (state, runtime) that returns it.
        bank_from: with an engine: where to read the name from, as in `create_retain_node`.
        on_error: what happens when memory fails. "skip" or "queue": the run continues with a warning, and the tasks stay
            queued. "raise": the run fails.

    Raises:
        InvalidRequest: an argument is invalid; at run time: the run does not select a bank.
    """
    where, policy = BankFinder(memory, bank, bank_from), choice(OnError, on_error, "on_error")

    def settle(state: Any, config: RunnableConfig) -> dict[str, Any]:  # noqa: ANN401 - the user's state type
        name, place = where.name(state, config), position_of(config)
        with tolerated(policy, node=place.node, bank=name, missing=NOT_SETTLED):
            _emit_settled(name, where.open(state, config).tasks.settle())
        return {}

    async def asettle(state: Any, config: RunnableConfig) -> dict[str, Any]:  # noqa: ANN401 - the user's state type
        name, place = where.name(state, config), position_of(config)
        with tolerated(policy, node=place.node, bank=name, missing=NOT_SETTLED):
            _emit_settled(name, await (await where.aopen(state, config)).tasks.settle())
        return {}

    return MemoryNode("settle", settle, asettle)


def _emit_settled(bank: str, settled: Settled) -> None:
    """Emit the event of the tasks that ran."""
    emit(
        EventKind.SETTLED,
        bank,
        done=len(settled.done),
        failed=len(settled.failed),
        created=settled.created,
    )
