"""Nodes of a graph that recall, retain and settle; what they send to a stream, and what they do when memory fails."""

# No `from __future__ import annotations`: see state.py.

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

from hindsight_integrations import InvalidRequest, RetainResult, Settled, tolerance
from hindsight_integrations.choices import choice
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
    told_of,
    with_memories,
)
from hindsight_integrations.model.options import RecallOptions, shows_options
from hindsight_integrations.model.results import RecallResult
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
    """What an event of the memory tells of."""

    RETAINED = "retained"
    """What a turn changed: `units` that stand for its new messages, `superseded`, `restored` (ids), `created` of the units,
    `queued` (passages that wait for the model)."""
    RECALLED = "recalled"
    """What was found: `units` (ids), `scores`, `channels`."""
    SETTLED = "settled"
    """What of the waiting work was done: `done`, `failed` (tasks), `created` (memories)."""
    OPINION = "opinion"
    """What became of an opinion: `outcome`, `opinion` (id), `before`, `after` (confidence)."""
    WARNING = "warning"
    """The memory failed and the run went on: `node`, `error` (class), `missing`, `remedy`."""


def emit(kind: EventKind, bank: str, **values: Any) -> None:  # noqa: ANN401 - whatever JSON holds
    """Send one event to the run's stream: {"type": "hindsight", "kind": ..., "bank": ..., ...}.

    Nothing happens where nobody streams, or outside a graph.

    Args:
        kind: what it tells of.
        bank: whose memory; empty where it could not be told.
        values: more of it, JSON-able.
    """
    current_runtime().stream_writer({"type": "hindsight", "kind": kind.value, "bank": bank, **values})


_log = logging.getLogger("hindsight_integrations.langgraph")


def tolerated(
    on_error: OnError, *, node: str, bank: str, missing: str, remedy: str = ""
) -> AbstractContextManager[None]:
    """Let a run go on when the memory fails: the error becomes one warning event and one line of the log.

    Args:
        on_error: RAISE lets every error pass; the node's retry policy, if any, then decides.
        node: the node's name.
        bank: whose memory; empty where it could not be told.
        missing: what the run goes on without.
        remedy: what to do beside what the error says.

    Raises:
        HindsightError: a mistake of the program, or any error under RAISE.
    """
    return tolerance.tolerated(
        on_error, _warn, where=node, bank=bank, missing=missing, remedy=remedy, log=_log
    )


def _warn(met: Tolerated) -> None:
    emit(EventKind.WARNING, met.bank, node=met.where, error=met.error, missing=met.missing, remedy=met.remedy)


READ = "__pregel_read"  # where LangGraph keeps the function by which a node reads the channels of its graph

Update = dict[str, Any]
Run = Callable[[Any, RunnableConfig], Update]
AsyncRun = Callable[[Any, RunnableConfig], Awaitable[Update]]


class MemoryNode(Runnable[Any, Update]):
    """A function for `invoke` and a coroutine for `ainvoke`: a bare coroutine fails under `invoke`.

    LangGraph traces a node as a run of its own already. A RunnableLambda inside it would be a second one, with the state
    once more as its input, which no `trace_policy` of the node reaches. So this traces nothing by itself.

    Args:
        name: the node's name, where the graph gives it none.
        run: of (state, config), what the node writes into the state.
        arun: the same for code that awaits.
        traced: whether tracers see what models are asked on the way.
        writes: the key of the state it writes, which the graph must have; empty where other code takes what it gives.
    """

    def __init__(self, name: str, run: Run, arun: AsyncRun, *, traced: bool = True, writes: str = "") -> None:
        self.name = name
        self._run, self._arun, self._traced, self._writes = run, arun, traced, writes

    def untraced(self) -> Self:
        """The same node, of whose calls of models no tracer hears."""
        return type(self)(self.name or "", self._run, self._arun, traced=False, writes=self._writes)

    def called(self) -> Self:
        """The same node for code that calls it and takes what it gives, so that no graph need have its key."""
        return type(self)(self.name or "", self._run, self._arun, traced=self._traced)

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Update:  # noqa: A002, ANN401 - LangChain's
        """Run the node on a state."""
        given = ensure_config(config)
        check_key(given, self._writes)
        if self._traced:
            return self._run(input, given)
        given = patch_config(given, callbacks=CallbackManager([]))
        with set_config_context(given) as context:
            return context.run(self._untraced, input, given)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Update:  # noqa: A002, ANN401 - LangChain's
        """Run the node on a state, awaiting."""
        given = ensure_config(config)
        check_key(given, self._writes)
        if self._traced:
            return await self._arun(input, given)
        given = patch_config(given, callbacks=AsyncCallbackManager([]))
        with set_config_context(given) as context:
            return await asyncio.create_task(self._auntraced(input, given), context=context)

    def _untraced(self, given: Any, config: RunnableConfig) -> Update:  # noqa: ANN401 - the user's state type
        with tracing_context(
            enabled=False
        ):  # or LangChain makes a tracer of its own, where the environment asks for one
            return self._run(given, config)

    async def _auntraced(self, given: Any, config: RunnableConfig) -> Update:  # noqa: ANN401 - the user's state type
        with tracing_context(enabled=False):
            return await self._arun(given, config)


def check_key(config: RunnableConfig, key: str) -> None:
    """Refuse to run in a graph whose state has no such key: LangGraph would drop the memories without a word.

    Args:
        config: of the run; outside a graph nothing is checked.
        key: of the state; empty for none.

    Raises:
        InvalidRequest: the state of the graph has no such key.
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
            "Inherit the state from hindsight_integrations.langgraph.MemoryState, or declare the key in it: "
            f"`{key}: list[Memory]`. Code that calls the node itself uses `node.called()`.",
        ) from None


@dataclass(frozen=True, slots=True)
class NodePosition:
    """Where in a graph a node runs.

    Attributes:
        node: its name there.
        thread: id of the conversation; empty in a run without one.
        namespace: the nodes of the graphs around it, outermost first and joined by "|", as LangGraph names subgraphs but
            without the ids of tasks, which differ from turn to turn; empty in the outermost graph.
        run_id: the run's id, where the caller gave one.
    """

    node: str
    thread: str
    namespace: str
    run_id: str | None


def place_of(config: RunnableConfig) -> NodePosition:
    """Where the node of this config runs."""
    configurable, metadata = config.get("configurable", {}), config.get("metadata", {})
    info = current_runtime().execution_info
    # LangGraph writes a node's name and the id of its task for each graph around, and for the node itself.
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
    """A node whose run is traced with its time alone: `graph.add_node("retain", **omit_payloads(create_retain_node(...)))`.

    What it read and wrote stands in no trace of it, and calls of models on the way are not traced at all. The run of the
    graph as a whole, and other nodes that read the state, record it all the same: LangSmith's client hides those
    (`hide_inputs`, `hide_outputs`).

    Args:
        node: one of this package.
    """
    policy = TracePolicy(process_inputs=omit_payload, process_outputs=omit_payload)
    return NodeArguments(action=node.untraced(), trace_policy=policy)


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
    asked = with_defaults(accept_options(options, STANDING_RECALL), PROMPT_DEFAULTS)
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
                _tell_retained(name, result)
        return {}

    async def aretain(state: Any, config: RunnableConfig) -> dict[str, Any]:  # noqa: ANN401 - the user's state type
        name, place = where.name(state, config), place_of(config)
        if messages := messages_in(state, messages_key):
            with tolerated(policy, node=place.node, bank=name, missing=NOT_REMEMBERED, remedy=CAUGHT_UP):
                target = await where.aopen(state, config)
                result = await target.threads.follow(
                    messages, **options | _of_run(place, messages_key, config)
                )
                _tell_retained(name, result)
        return {}

    return MemoryNode("retain", retain, aretain)


def _check_worker(where: BankFinder) -> None:
    if where.worker is WorkerMode.NONE:
        raise InvalidRequest(
            "background",
            "nobody extracts what is committed: the engine has no worker",
            "Open it with worker=True, or worker='elsewhere' where another process or a job settles.",
        )


def _of_run(place: NodePosition, messages_key: str, config: RunnableConfig) -> dict[str, Any]:
    """What a run says of its messages: the thread, which of the thread's lists they are, and where they come from.

    Two runs without a thread are two conversations, so that neither drops anything of the other.
    """
    keys = (place.namespace, "" if messages_key == "messages" else messages_key)
    said: dict[str, Any] = {"thread": place.thread, "namespace": "|".join(filter(None, keys))}
    said["remember"] = uses_memory(config)
    said["metadata"] = {"run_id": place.run_id, "checkpoint_ns": place.namespace or None}
    return said if place.thread else said | {"on_fork": OnFork.KEEP}


def _tell_retained(bank: str, result: RetainResult) -> None:
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
            _tell_settled(name, where.open(state, config).tasks.settle())
        return {}

    async def asettle(state: Any, config: RunnableConfig) -> dict[str, Any]:  # noqa: ANN401 - the user's state type
        name, place = where.name(state, config), place_of(config)
        with tolerated(policy, node=place.node, bank=name, missing=NOT_SETTLED):
            _tell_settled(name, await (await where.aopen(state, config)).tasks.settle())
        return {}

    return MemoryNode("settle", settle, asettle)


def _tell_settled(bank: str, settled: Settled) -> None:
    """Send what was done."""
    emit(
        EventKind.SETTLED,
        bank,
        done=len(settled.done),
        failed=len(settled.failed),
        created=settled.created,
    )
