"""HindsightMiddleware: long-term memory for `create_agent` agents; memories appear in prompts only, never in the state."""

# Without `from __future__ import annotations`; see state.py.

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, NotRequired, Self, TypedDict, Unpack, cast

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain.agents.middleware.types import ExtendedModelResponse, PrivateStateAttr
from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.channels.untracked_value import UntrackedValue
from langgraph.config import get_config
from langgraph.runtime import Runtime
from langgraph.types import Command, TracePolicy, omit_payload

from hindsight_integrations import InvalidRequest
from hindsight_integrations.choices import choice
from hindsight_integrations.config import Extract
from hindsight_integrations.errors import shown
from hindsight_integrations.langgraph.bank_finder import AnyMemory, BankFrom, BankName, value_of
from hindsight_integrations.langgraph.nodes import Update, create_recall_node, create_retain_node
from hindsight_integrations.langgraph.state import Memory, is_summary, with_memories
from hindsight_integrations.langgraph.tools import ToolVerb, create_memory_tools
from hindsight_integrations.model.options import RecallOptions, ReflectOptions, shows_options
from hindsight_integrations.model.turns import OnFork
from hindsight_integrations.tolerance import OnError
from hindsight_integrations.validation.limits import checked_tags
from hindsight_integrations.validation.options import PROMPT_DEFAULTS, STANDING_RECALL, accept_options

CONDITIONS = ("tags", "tag_groups", "metadata", "types", "as_of")
"""The recall options that restrict which memories are returned."""

KEPT_BY = {
    ToolVerb.RETAIN: CONDITIONS,  # retain returns no memories, so it satisfies every condition
    ToolVerb.RECALL: CONDITIONS,
    ToolVerb.REFLECT: ("tags", "tag_groups", "as_of"),
}
"""The conditions that each tool can enforce; a tool that is not listed cannot enforce any."""


def create_restricted_tools(
    wanted: bool | Iterable[ToolVerb | str],
    asked: Mapping[str, Any],
    memory: AnyMemory,
    **given: Any,  # noqa: ANN401 - arguments of create_memory_tools
) -> list[BaseTool]:
    """Create the middleware's memory tools, restricted to the memories that its recall may return.

    Args:
        wanted: False for no tools; True for all tools that can enforce recall's conditions, except retain; or tool
            names.
        asked: the recall options.
        memory: the middleware's engine or bank.
        given: arguments of `create_memory_tools`: bank, bank_from and tags.

    Raises:
        InvalidRequest: a tool is unknown, or cannot enforce a condition.
    """
    if wanted is False:
        return []
    met = [name for name in CONDITIONS if asked.get(name)]
    keeping = [verb for verb in ToolVerb if set(met) <= set(KEPT_BY.get(verb, ()))]
    chosen: list[ToolVerb]
    if wanted is True:
        chosen = [verb for verb in keeping if verb is not ToolVerb.RETAIN]
    else:
        chosen = [choice(ToolVerb, name, "tools") for name in wanted]
    for verb in chosen:
        if verb not in keeping:
            raise InvalidRequest(
                "tools",
                f"{verb.value!r} cannot enforce {met[0]}=, which restricts recall",
                f"Remove the tool or {met[0]}=.",
            )
    options = {name: value for name, value in asked.items() if name != "max_tokens" and value is not None}
    kept = (*KEPT_BY[ToolVerb.REFLECT], "tags_match")
    return create_memory_tools(
        memory,
        names=chosen,
        max_tokens=asked.get("max_tokens", PROMPT_DEFAULTS["max_tokens"]),
        recall_options=cast("RecallOptions", {"budget": PROMPT_DEFAULTS["budget"], **options}),
        reflect_options=cast("ReflectOptions", {name: options[name] for name in kept if name in options}),
        **given,
    )


State = AgentState[Any]
Answer = ModelResponse[Any]
Extended = ExtendedModelResponse[Any]


class HindsightMiddleware(AgentMiddleware[State, Any, Any]):
    """Long-term memory for an agent: `create_agent(model, tools, middleware=[HindsightMiddleware(hindsight)])`.

    Memories relevant to the user's message are recalled once, before the agent starts, and inserted next to that message
    in every prompt of the turn. After the agent has answered, the new messages are retained, as `create_retain_node` does.
    Memory text appears in prompts only, never in a checkpoint, update or output of the agent. The system message and
    earlier messages are unchanged, so that prompt caching keeps working.

    A run that resumes from a checkpoint (after an interrupt, a failure or a rewind) recalls again. Messages that a
    SummarizationMiddleware removes are still retained; its summary is not.

    If another middleware rewrites the user's messages (PIIMiddleware), put this one first, so that it retains last.

    Args:
        memory: Hindsight or AsyncHindsight, or one bank of either, which then serves every run.
        bank: with an engine: the bank's name, or a function of (state, runtime) that returns it.
        bank_from: with an engine: where to read the name from, as in `create_recall_node`. If neither is given: the
            authenticated user, else `bank` or `user_id` in the context, else in the configurable.
        roles: the roles to retain: "user", "assistant", "tool". With () nothing is retained, for example for a
            sub-agent whose "user" is another agent. Results of this middleware's own `tools` are never retained.
        on_fork: whether memories from discarded messages become invalid ("supersede") or stay ("keep"); see
            `create_retain_node`.
        background: return once the messages are committed and searchable as they are; a worker extracts facts later.
        timeout_s: time limit for the extraction model, in seconds; None uses the engine's setting.
        extract: when facts are extracted: "turn", "idle" or "session"; see `create_retain_node`.
        context: describes the conversation to the extraction model ("support chat").
        retain_tags: visibility tags of the retained memories.
        tools: memory tools for the model: True for all except "retain", which the middleware does anyway, or a list of
            names. They enforce recall's restrictions: with `tags`, `tag_groups`, `metadata`, `types` or `as_of`, only
            tools that can enforce them are available (recall; reflect for tags and time). The tools' results are part
            of the conversation and its checkpoints.
        on_error: what happens when memory fails. "queue": the agent continues, without memories or with messages queued for
            extraction; "skip": the same, but nothing is committed; "raise": the run fails. Programming errors are
            always raised.
        traced: whether tracers see the inputs and outputs of recall and retain. The chat model's own trace always
            contains its prompt, memories included.
        name: the middleware's name; must be unique if an agent has two (the user's memory and the team's).
        options: options of `bank.recall`, as in `create_recall_node`.

    Raises:
        InvalidRequest: an argument is invalid, or `background` is set without a worker; at run time: the run does not
            select a bank.
    """

    @shows_options(RecallOptions, PROMPT_DEFAULTS)
    def __init__(
        self,
        memory: AnyMemory,
        *,
        bank: BankName | None = None,
        bank_from: BankFrom | None = None,
        roles: Iterable[str] = ("user", "assistant"),
        on_fork: OnFork | str = OnFork.SUPERSEDE,
        background: bool = False,
        timeout_s: float | None = None,
        extract: Extract | str = Extract.TURN,
        context: str = "",
        retain_tags: Iterable[str] = (),
        tools: bool | Iterable[ToolVerb | str] = False,
        on_error: OnError | str = OnError.QUEUE,
        traced: bool = False,
        name: str = "HindsightMiddleware",
        **options: Unpack[RecallOptions],
    ) -> None:
        shared: dict[str, Any] = {"bank": bank, "bank_from": bank_from, "on_error": on_error}
        asked = accept_options(options, STANDING_RECALL)
        retain_options: dict[str, Any] = {
            "roles": roles if isinstance(roles, str) else tuple(roles),
            "on_fork": on_fork,
            "context": context,
        }
        retain_options |= {
            "tags": checked_tags(retain_tags),
            "background": background,
            "timeout_s": timeout_s,
            "extract": extract,
        }
        recall = create_recall_node(memory, **asked, **shared).called()
        retain = create_retain_node(memory, **retain_options, **shared) if retain_options["roles"] else None
        self._recall = recall if traced else recall.untraced()
        self._retain = retain if traced or retain is None else retain.untraced()
        self._name, self._key = _checked(name), f"{name}.recalled"
        scope = {"bank": bank, "bank_from": bank_from, "tags": retain_options["tags"]}
        self.tools = create_restricted_tools(tools, asked, memory, **scope)
        self.state_schema = cast("type[State]", _schema(self._key))
        hidden = TracePolicy(process_inputs=omit_payload, process_outputs=omit_payload)
        self.trace_policy = None if traced else hidden

    @property
    def name(self) -> str:
        """Return the prefix of the node names and of the state key."""
        return self._name

    def before_agent(self, state: State, runtime: Runtime[Any]) -> Update:  # noqa: ARG002 - LangChain's signature
        """Recall memories relevant to the user's message."""
        return self._recalled(self._recall.invoke(state, get_config()))

    async def abefore_agent(self, state: State, runtime: Runtime[Any]) -> Update:  # noqa: ARG002 - LangChain's signature
        """Recall memories relevant to the user's message, asynchronously."""
        return self._recalled(await self._recall.ainvoke(state, get_config()))

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Answer]
    ) -> Answer | Extended:
        """Call the model with the memories next to the user's message."""
        if (found := self._placeholder(request.state)) is not None:
            return handler(_with_memories(request, found))
        update = self._recalled(self._recall.invoke(request.state, get_config()))
        return ExtendedModelResponse(
            handler(_with_memories(request, update[self._key])), Command(update=update)
        )

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[Answer]]
    ) -> Answer | Extended:
        """Call the model with the memories next to the user's message, asynchronously."""
        if (found := self._placeholder(request.state)) is not None:
            return await handler(_with_memories(request, found))
        update = self._recalled(await self._recall.ainvoke(request.state, get_config()))
        return ExtendedModelResponse(
            await handler(_with_memories(request, update[self._key])), Command(update=update)
        )

    def after_agent(self, state: State, runtime: Runtime[Any]) -> Update:  # noqa: ARG002 - LangChain's signature
        """Retain the turn's messages."""
        return self._retain.invoke(self._with_messages_to_retain(state), get_config()) if self._retain else {}

    async def aafter_agent(self, state: State, runtime: Runtime[Any]) -> Update:  # noqa: ARG002 - LangChain's signature
        """Retain the turn's messages, asynchronously."""
        return (
            await self._retain.ainvoke(self._with_messages_to_retain(state), get_config())
            if self._retain
            else {}
        )

    def _recalled(self, found: Update) -> Update:
        return {self._key: Recalled.of(found["memories"])}

    def _placeholder(self, state: State) -> "Recalled | None":
        found = value_of(state, self._key)
        return found if isinstance(found, Recalled) else None

    def _with_messages_to_retain(self, state: State) -> State:
        """Return the state with the messages to retain: all but the results of this middleware's own tools."""
        messages: Sequence[BaseMessage] = state["messages"]
        if (found := self._placeholder(state)) is not None:
            found.follow(messages)
            messages = (*found.summarised, *found.messages)
        ours = {tool.name for tool in self.tools}
        retained = [
            message for message in messages if not (isinstance(message, ToolMessage) and message.name in ours)
        ]
        return cast("State", state | {"messages": retained})


class Recalled(str):
    """Placeholder for the recalled memories in the state: a string such as "memories: 3" with the memories attached.

    States are streamed, traced and displayed, and serialising the placeholder gives only the string. LangGraph does not
    checkpoint it, so it exists only during one run.

    Attributes:
        memories: the recalled memories.
        messages: the state's messages at the last model call; empty before the first.
        summarised: the messages of this run that a summary has replaced.
    """

    __slots__ = ("memories", "messages", "summarised")
    memories: Sequence[Memory]
    messages: Sequence[BaseMessage]
    summarised: Sequence[BaseMessage]

    @classmethod
    def of(cls, memories: Sequence[Memory]) -> Self:
        """Create the placeholder for these memories."""
        made = cls(f"memories: {len(memories)}")
        made.memories, made.messages, made.summarised = tuple(memories), (), ()
        return made

    def follow(self, messages: Sequence[BaseMessage]) -> None:
        """Record the state's messages, and collect those that a summary has replaced since the last model call."""
        self.summarised = (*self.summarised, *summarised(self.messages, messages))
        self.messages = tuple(messages)

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        """Reduce the placeholder to a plain string when it is copied or pickled."""
        return str, (str(self),)


def summarised(before: Sequence[BaseMessage], now: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return the messages that a new summary has replaced; empty if there is no new summary."""
    known, left = {message.id for message in before}, {message.id for message in now}
    if not any(is_summary(message) and message.id not in known for message in now):
        return []
    return [message for message in before if message.id not in left]


def _with_memories(request: ModelRequest[Any], found: Recalled) -> ModelRequest[Any]:
    found.follow(request.state["messages"])
    if not found.memories:
        return request
    messages: list[Any] = with_memories(request.messages, found.memories)
    return request.override(messages=messages)


def _schema(key: str) -> type:
    """Build the middleware's state schema, which has one private key that is not checkpointed."""
    held = NotRequired[Annotated[str, UntrackedValue, PrivateStateAttr]]
    return TypedDict("RecalledState", {key: held})  # type: ignore[operator, no-any-return]


def _checked(name: str) -> str:
    if not isinstance(name, str) or not name or set(name) & {"|", ":"}:
        raise InvalidRequest(
            "name", f"{shown(name)} is not a valid node name", "Pass a non-empty string without '|' and ':'."
        )
    return name
