"""Agent tools over a memory bank: retain, recall, reflect, forget and list records."""

# Without `from __future__ import annotations`; see state.py.

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from functools import partial
from operator import methodcaller
from typing import Annotated, Any, Literal

from langchain_core.callbacks import AsyncCallbackManagerForToolRun, CallbackManagerForToolRun
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, InjectedToolArg, ToolException
from langgraph.prebuilt import ToolRuntime
from langgraph.types import interrupt
from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, SkipValidation, ValidationError

from hindsight_integrations import InvalidRequest
from hindsight_integrations.choices import choice
from hindsight_integrations.errors import shown
from hindsight_integrations.langgraph.bank_finder import (
    AnyMemory,
    BankFinder,
    BankFrom,
    BankName,
    uses_memory,
)
from hindsight_integrations.langgraph.nodes import EventKind, emit
from hindsight_integrations.langgraph.state import as_memories, as_memory, recall_values
from hindsight_integrations.model.aggregates import Aggregation, RecordEntry
from hindsight_integrations.model.erasure import ForgetReceipt
from hindsight_integrations.model.options import RecallOptions, ReflectOptions
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.prompts.memory_tools import (
    ALONE,
    FORGOTTEN,
    FORGOTTEN_BEFORE,
    KNOWN,
    MEMORY_OFF,
    NOTED,
    NOTHING,
    REFUSED,
    SAY_OTHERWISE,
    aggregate_reply,
    erased_reply,
    records_reply,
    retain_reply,
    sorts_reply,
    tool_descriptions,
)
from hindsight_integrations.prompts.recalled import memories_block, memory_line
from hindsight_integrations.validation.limits import checked_count, checked_tags
from hindsight_integrations.validation.metadata import checked_metadata
from hindsight_integrations.validation.options import (
    TOOL_DEFAULTS,
    checked_recall_options,
    checked_reflect_options,
    with_defaults,
)


class ToolVerb(StrEnum):
    """A memory tool."""

    RETAIN = "retain"
    """retain_memory: stores a text."""
    RECALL = "recall"
    """recall_memories: searches memories."""
    REFLECT = "reflect"
    """reflect_on_memories: answers a question from memory."""
    FORGET = "forget"
    """forget_memory: withdraws one memory; `bank.restore` undoes it."""
    RECORDS = "records"
    """list_records: lists or aggregates records."""


def create_memory_tools(
    memory: AnyMemory,
    *,
    bank: BankName | None = None,
    bank_from: BankFrom | None = None,
    names: Iterable[ToolVerb | str] = tuple(ToolVerb),
    allow_erase: bool = False,
    max_tokens: int = TOOL_DEFAULTS["max_tokens"],
    recall_options: RecallOptions | None = None,
    reflect_options: ReflectOptions | None = None,
    tags: Iterable[str] = (),
    metadata: Mapping[str, Any] | None = None,
) -> list[BaseTool]:
    """Create memory tools for `create_agent(model, tools)`: retain, recall, reflect, forget and list records.

    The run's config selects the user; the model cannot. To invoke a tool directly, pass a config or create the tools over
    one bank: `tool.invoke({"query": "bees"}, {"configurable": {"user_id": "alice"}})`. Each result is a text for the
    model and an artifact of plain JSON. If the model's arguments are wrong, the result is a ToolMessage with status
    "error" that explains how to call the tool; any other error is raised.

    Tool results are part of the conversation and its checkpoints, and tracers see them like those of any tool.

    Args:
        memory: Hindsight or AsyncHindsight, or one bank of either, which then serves every run.
        bank: with an engine: the bank's name, or a function of (state, runtime) that returns it.
        bank_from: with an engine: where to read the name from, as in `create_recall_node`. If neither is given: the
            authenticated user, else `bank` or `user_id` in the context, else in the configurable.
        names: the tools to create: retain, recall, reflect, forget, records.
        allow_erase: forget_memory may also erase, one memory per call. The graph is interrupted first with a dry run in
            the form of LangChain's human-in-the-loop requests; only `Command(resume=True)`, or {"decisions": [{"type":
            "approve"}]}, erases. Needs a checkpointer.
        max_tokens: token limit of the memories in one result.
        recall_options: options of `bank.recall` other than query and max_tokens: budget, types, tags, k, ...
        reflect_options: options of `bank.reflect` other than the query: strategy, budget, tags, ... Opinions are formed only
            if `form_opinions` is set.
        tags: visibility tags of the retained memories.
        metadata: metadata of the retained memories.

    Raises:
        InvalidRequest: an argument is invalid; at run time: the run does not select a bank.
    """
    where = BankFinder(memory, bank, bank_from)
    chosen = _chosen(names)
    tokens = checked_count(max_tokens, "max_tokens", least=1)
    forgetting = ToolVerb.FORGET in chosen
    kept = {"context": NOTED, "tags": checked_tags(tags), "metadata": checked_metadata(metadata or {})}
    looked_up = with_defaults({**checked_recall_options(recall_options), "max_tokens": tokens}, TOOL_DEFAULTS)
    reflected = {"form_opinions": False, **checked_reflect_options(reflect_options)}
    words = {"kind": "kind", "category": "category", "window": "start and end", "records": "kind"}
    ids = {"unit_id": "memory_id", "unit": "memory_id"}
    of_ids = EraseArguments if allow_erase else ForgetArguments
    made: dict[ToolVerb, _Made] = {
        ToolVerb.RETAIN: (
            "retain_memory",
            RetainArguments,
            partial(_retain, kept, forgetting),
            {"content": "content", "text": "content"},
        ),
        ToolVerb.RECALL: (
            "recall_memories",
            RecallArguments,
            partial(_recall, looked_up, forgetting),
            {"query": "query"},
        ),
        ToolVerb.REFLECT: (
            "reflect_on_memories",
            ReflectArguments,
            partial(_reflect, reflected),
            {"query": "question"},
        ),
        ToolVerb.FORGET: ("forget_memory", of_ids, _forget, ids),
        ToolVerb.RECORDS: ("list_records", RecordsArguments, partial(_records, tokens), words),
    }
    return [_tool(where, *made[verb]) for verb in chosen]


# Function that calls a bank; with an async bank, its result is awaitable.
BankCall = Callable[[Any], Any]
# Function that runs a BankCall on the run's bank, and returns its result.
AskBank = Callable[[BankCall], Awaitable[Any]]
Reply = tuple[str, Any]  # text for the model, and the artifact as plain JSON


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool.

    Attributes:
        bank: the bank's name.
        arguments: the model's arguments, validated.
        runtime: injected by ToolNode; None if the tool is invoked directly.
        config: the run's config.
    """

    bank: str
    arguments: Mapping[str, Any]
    runtime: ToolRuntime[Any, Any] | None
    config: RunnableConfig


Steps = Callable[[ToolCall, AskBank], Coroutine[Any, Any, Reply]]


class MemoryTool(BaseTool):
    """A tool over the run's bank, created by `create_memory_tools`.

    Attributes:
        where: finder of the run's bank.
        steps: the implementation; it awaits nothing but calls on the bank, which on a sync bank never suspend.
        arguments_of: for each field name in the bank's errors, the argument of the tool; errors in these fields are
            reported to the model.
    """

    response_format: Literal["content", "content_and_artifact"] = "content_and_artifact"
    where: BankFinder = Field(exclude=True)
    steps: Steps = Field(exclude=True)
    arguments_of: Mapping[str, str] = Field(exclude=True)

    def _run(
        self,
        *given: str,
        config: RunnableConfig,
        run_manager: CallbackManagerForToolRun | None = None,
        **arguments: Any,  # noqa: ANN401 - as declared by the schema
    ) -> Reply:
        del run_manager  # LangChain calls the callbacks itself
        call = self._call(given, arguments, config)
        bank = self.where.open(_state(arguments), config)

        async def ask(bank_call: BankCall) -> Any:  # noqa: ANN401 - whatever the bank returns
            with self._shown_to_model():
                return bank_call(bank)

        return _finished(self.steps(call, ask))

    async def _arun(
        self,
        *given: str,
        config: RunnableConfig,
        run_manager: AsyncCallbackManagerForToolRun | None = None,
        **arguments: Any,  # noqa: ANN401 - as declared by the schema
    ) -> Reply:
        del run_manager
        call = self._call(given, arguments, config)
        bank = await self.where.aopen(_state(arguments), config)

        async def ask(bank_call: BankCall) -> Any:  # noqa: ANN401 - whatever the bank returns
            with self._shown_to_model():
                return await bank_call(bank)

        return await self.steps(call, ask)

    def _call(self, given: tuple[str, ...], arguments: dict[str, Any], config: RunnableConfig) -> ToolCall:
        """Build the call; a plain string, which LangChain allows, is the first argument."""
        runtime = arguments.get("runtime")
        if runtime is not None and not isinstance(runtime, ToolRuntime):
            raise ToolException(_again(self.name, "runtime is not an argument", self.args))
        if not uses_memory(config):
            raise ToolException(MEMORY_OFF)
        said = {name: value for name, value in arguments.items() if name != "runtime"}
        said |= dict(zip(self.args, given, strict=False))
        return ToolCall(self.where.name(_state(arguments), config), said, runtime, config)

    @contextmanager
    def _shown_to_model(self) -> Iterator[None]:
        """Turn an error that the model's arguments caused into a ToolException; raise any other unchanged."""
        try:
            yield
        except InvalidRequest as error:
            if error.field not in self.arguments_of:
                raise
            problem = f"{self.arguments_of[error.field]}: {error.reason}. {error.remedy_in_words}".rstrip()
            raise ToolException(_again(self.name, problem, self.args)) from None


def _finished(steps: Coroutine[Any, Any, Reply]) -> Reply:
    """Run a coroutine that never suspends, on this thread, where LangGraph's context variables are set."""
    try:
        steps.send(None)
    except StopIteration as done:
        reply: Reply = done.value
        return reply
    raise AssertionError("unreachable: a sync bank returns at once")


def wrong_arguments(name: str, takes: tuple[str, ...]) -> Callable[[Any], str]:
    """Return a handler that names the invalid arguments to the model, without values, and those the tool takes."""

    def explain(error: ValidationError) -> str:
        wrong = (
            f"{shown('.'.join(map(str, each['loc'])))} is not an argument"
            if each["type"] == "extra_forbidden"
            else f"{'.'.join(map(str, each['loc']))}: {each['msg']}"
            for each in error.errors(include_url=False, include_input=False, include_context=False)
        )
        return _again(name, "; ".join(wrong), takes)

    return explain


def _again(name: str, wrong: str, takes: Any) -> str:  # noqa: ANN401 - names, of a dict or a tuple
    return f"Wrong arguments: {wrong.removesuffix('.')}. Call {name} again; it takes {', '.join(takes)}."


def _state(arguments: Mapping[str, Any]) -> object:
    runtime = arguments.get("runtime")
    return runtime.state if isinstance(runtime, ToolRuntime) else {}


LONGEST_WORD = 512  # maximum characters of a kind, category or id
# Default bounds of a window, valid as datetimes in any time zone.
FIRST_DAY, LAST_DAY = date(1000, 1, 1), date(9000, 1, 1)

# ToolNode's runtime. Pydantic must neither validate it, nor dump it with the whole state.
Injected = Annotated[Any, SkipValidation, InjectedToolArg, PlainSerializer(lambda _: None)]


def _described(name: str, default: Any = ..., **bounds: Any) -> Any:  # noqa: ANN401 - pydantic's Field signature
    return Field(default, description=tool_descriptions()[name], **bounds)


class Arguments(BaseModel):
    """Arguments of a tool; unknown ones are rejected."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=False)


class RetainArguments(Arguments):
    """What to keep."""

    content: str = _described("content", min_length=1)
    runtime: Injected = None


class RecallArguments(Arguments):
    """What to look for."""

    query: str = _described("query", min_length=1)
    runtime: Injected = None


class ReflectArguments(Arguments):
    """What to answer."""

    question: str = _described("question", min_length=1)
    runtime: Injected = None


class ForgetArguments(Arguments):
    """What to forget."""

    memory_id: str = _described("memory_id", min_length=1, max_length=LONGEST_WORD)
    runtime: Injected = None


class EraseArguments(Arguments):
    """What to forget, or to erase."""

    memory_id: str = _described("memory_id", min_length=1, max_length=LONGEST_WORD)
    erase: bool = _described("erase", False)
    runtime: Injected = None


class RecordsArguments(Arguments):
    """Which records, of which time, and what to make of them."""

    kind: str | None = _described("kind", None, max_length=LONGEST_WORD)
    category: str | None = _described("category", None, max_length=LONGEST_WORD)
    start: date | None = _described("start", None)
    end: date | None = _described("end", None)
    how: Aggregation | None = _described("how", None)
    runtime: Injected = None


def window(start: date | None, end: date | None) -> tuple[str, str] | None:
    """Convert first and last day, both inclusive, to the half-open window of `bank.records`; None if unbounded."""
    if start is None and end is None:
        return None
    first, last = (min(max(day, FIRST_DAY), LAST_DAY) for day in (start or FIRST_DAY, end or LAST_DAY))
    return first.isoformat(), (last + timedelta(days=1)).isoformat()


TOOL = "forget_memory"
DECISIONS = ["approve", "edit", "reject"]
PUSHED = "__pregel_push"  # the trigger of tasks that LangGraph's Send created
UNREADABLE = 'Answer true or false, or {"decisions": [{"type": ...}]} with type "approve", "reject", or "edit" and edited_action.'
EDITED = f'An edited_action must be {{"name": "{TOOL}", "args": {{"memory_id": ..., "erase": true}}}}.'


def check_alone(call: ToolCall) -> None:
    """Reject an erasure that shares its task with other tool calls.

    LangGraph assigns the answers to a task's interrupts in the order in which the calls reach them. This order varies, so
    the approval of one erasure could be applied to another.

    Raises:
        ToolException: there are other tool calls, or the calls cannot be determined.
    """
    if call.runtime is None or PUSHED in call.config.get("metadata", {}).get("langgraph_triggers", ()):
        return
    said = _calls(call.runtime.state, call.runtime.tool_call_id)
    if len(said) != 1:
        raise ToolException(ALONE)


def approval_request(
    memory_id: str, units: list[MemoryUnit], receipt: ForgetReceipt, problem: str
) -> dict[str, Any]:
    """Build the approval request: LangChain's HITLRequest plus the dry run."""
    listed = "\n".join(f"- {unit.text}" for unit in units)
    description = f"Erase for good, from memory and its files:\n{listed}"
    request = {
        "action_requests": [
            {
                "name": TOOL,
                "args": {"memory_id": memory_id, "erase": True},
                "description": f"{problem}\n{description}".strip(),
            }
        ],
        "review_configs": [{"action_name": TOOL, "allowed_decisions": DECISIONS}],
    }
    foreseen = {
        "memories": [{"id": unit.id, "text": unit.text} for unit in units],
        "names": list(receipt.names),
        "counts": dict(receipt.counts),
    }
    return {**request, "dry_run": foreseen, "problem": problem}


def await_decision(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Interrupt the run until a person has decided, and return the decision.

    Raises:
        GraphInterrupt: the person has not decided yet.
        InvalidRequest: the tool runs outside a graph.
    """
    try:
        answer = interrupt(request)
    except KeyError:  # outside a graph
        raise InvalidRequest(
            "erase",
            "a person must approve it, which needs a graph to interrupt",
            "Call the tool in a graph with a checkpointer, or erase with bank.forget.",
        ) from None
    if isinstance(answer, bool):
        return {"type": "approve" if answer else "reject"}
    decisions = answer.get("decisions") if isinstance(answer, Mapping) else None
    one = decisions[0] if isinstance(decisions, list) and len(decisions) == 1 else None
    return one if isinstance(one, Mapping) and one.get("type") in DECISIONS else {"type": "unreadable"}


def edited_arguments(decision: Mapping[str, Any]) -> EraseArguments | None:
    """Return the arguments that a decision edits, or None if they are not valid for this tool."""
    action = decision.get("edited_action")
    if not isinstance(action, Mapping) or action.get("name") != TOOL:
        return None
    try:
        return EraseArguments.model_validate(action.get("args"))
    except ValidationError:
        return None


def rejection(decision: Mapping[str, Any]) -> ToolException:
    """Return the exception that reports the rejection to the model."""
    message = decision.get("message")
    return ToolException(f"{REFUSED} {message}" if isinstance(message, str) and message else REFUSED)


def _calls(state: object, call_id: str | None) -> list[Any]:
    """Return all tool calls of the message that contains this call; the message may be in any list of the state."""
    values = (
        list(state.values())
        if isinstance(state, Mapping)
        else [state, *vars(state).values()]
        if hasattr(state, "__dict__")
        else [state]
    )
    for messages in values:
        if not isinstance(messages, list):
            continue
        for message in reversed(messages):
            if isinstance(message, AIMessage) and any(each["id"] == call_id for each in message.tool_calls):
                return list(message.tool_calls)
    return []


BY_TOOL = "withdrawn by the agent's tool"


_Made = tuple[str, type[Arguments], Steps, Mapping[str, str]]


def _chosen(names: object) -> list[ToolVerb]:
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InvalidRequest(
            "names", f"{shown(names)} is not a list of tools", 'Pass a list of names, such as ["recall"].'
        )
    chosen = list(dict.fromkeys(choice(ToolVerb, name, "names") for name in names))
    if not chosen:
        raise InvalidRequest("names", "must name at least one tool", "Omit `names` to get all tools.")
    return chosen


def _tool(
    where: BankFinder,
    name: str,
    schema: type[Arguments],
    steps: Steps,
    arguments_of: Mapping[str, str],
) -> BaseTool:
    takes = tuple(field for field in schema.model_fields if field != "runtime")
    return MemoryTool(
        name=name,
        description=tool_descriptions()[name],
        args_schema=schema,
        handle_tool_error=True,
        handle_validation_error=wrong_arguments(name, takes),
        where=where,
        steps=steps,
        arguments_of=arguments_of,
    )


async def _retain(options: Mapping[str, Any], forgetting: bool, call: ToolCall, ask: AskBank) -> Reply:
    result = await ask(methodcaller("retain", call.arguments["content"], **options))
    values = {"units": list(result.unit_ids), "created": result.created, "queued": len(result.queued)}
    superseded, restored = list(result.superseded), list(result.restored)
    emit(EventKind.RETAINED, call.bank, **values, superseded=superseded, restored=restored)
    reply = retain_reply(result)
    return f"{reply} {SAY_OTHERWISE}" if forgetting and reply == KNOWN else reply, values


async def _recall(options: Mapping[str, Any], numbered: bool, call: ToolCall, ask: AskBank) -> Reply:
    found = await ask(methodcaller("recall", call.arguments["query"], **options))
    memories = as_memories(found)
    emit(EventKind.RECALLED, call.bank, **recall_values(memories))
    lines = [table.text for table in found.records]
    lines += [memory_line(unit, numbered=numbered) for unit in found.units]
    return memories_block(lines) if lines else NOTHING, memories


async def _reflect(options: Mapping[str, Any], call: ToolCall, ask: AskBank) -> Reply:
    answer = await ask(methodcaller("reflect", call.arguments["question"], **options))
    memories = [as_memory(unit) for unit in answer.units]
    # An extractive answer quotes memories, which are marked as data.
    quoted = answer.extractive and answer.units
    text = memories_block(map(memory_line, answer.units)) if quoted else answer.text
    return text, {"text": answer.text, "sufficient": answer.sufficient, "memories": memories}


async def _forget(call: ToolCall, ask: AskBank) -> Reply:
    memory_id, problem = call.arguments["memory_id"], ""
    if call.arguments.get("erase"):
        check_alone(call)
    erase = bool(call.arguments.get("erase"))
    while erase:
        receipt = await ask(methodcaller("forget", unit=memory_id, dry_run=True))
        units = [await ask(methodcaller("get", unit_id)) for unit_id in receipt.unit_ids]
        decision = await_decision(approval_request(memory_id, units, receipt, problem))
        if decision["type"] == "reject":
            raise rejection(decision)
        if decision["type"] == "approve":
            erased = await ask(methodcaller("forget", unit=memory_id))
            return erased_reply(erased), {"memory_id": memory_id, "erased": list(erased.unit_ids)}
        given = edited_arguments(decision) if decision["type"] == "edit" else None
        problem = "" if given else EDITED if decision["type"] == "edit" else UNREADABLE
        memory_id, erase = (given.memory_id, given.erase) if given else (memory_id, True)
    withdrawn = await ask(methodcaller("withdraw", memory_id, reason=BY_TOOL))
    return FORGOTTEN if withdrawn else FORGOTTEN_BEFORE, {"memory_id": memory_id, "withdrawn": withdrawn}


async def _records(tokens: int, call: ToolCall, ask: AskBank) -> Reply:
    given = call.arguments
    wanted = {name: given.get(name) or None for name in ("kind", "category")}
    start, end, how = given.get("start"), given.get("end"), given.get("how")
    if start and end and end < start:
        raise ToolException("end is before start. Swap them and call list_records again.")
    wanted["window"] = window(start, end)
    if how is not None:
        value = await ask(lambda bank: bank.records.aggregate(how, **wanted))
        if value.units or value.left_out:
            exact = None if value.value is None else str(value.value)
            entered = [unit.id for unit in value.units]
            artifact = {"how": how.value, "value": exact, "unit": value.unit, "memories": entered}
            return aggregate_reply(how, value), artifact
    else:
        entries = await ask(lambda bank: bank.records.list(**wanted))
        if entries:
            return records_reply(entries, tokens), [_plain(entry) for entry in entries]
    sorts = await ask(lambda bank: bank.records.categories())
    return sorts_reply(sorts), []


def _plain(entry: RecordEntry) -> dict[str, Any]:
    """Convert a record to JSON; exact values are strings of digits."""
    record = entry.record
    return {
        "kind": record.kind.value,
        "category": record.category,
        "value": str(record.value),
        "unit": record.unit,
        "at": entry.at.isoformat(),
        "memory_id": entry.memory.id,
        "text": entry.memory.text,
    }
