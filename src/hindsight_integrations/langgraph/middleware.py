"""The middleware of `create_agent`: an agent that remembers, with memories in its prompts alone."""

# No `from __future__ import annotations`: see state.py.

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
"""Options of recall that say which memories it may show at all."""

KEPT_BY = {
    ToolVerb.RETAIN: CONDITIONS,  # shows nothing
    ToolVerb.RECALL: CONDITIONS,
    ToolVerb.REFLECT: ("tags", "tag_groups", "as_of"),
}
"""The conditions that a tool can keep to. The others keep to none."""


def tools_beside_recall(
    wanted: bool | Iterable[ToolVerb | str],
    asked: Mapping[str, Any],
    memory: AnyMemory,
    **given: Any,  # noqa: ANN401 - of create_memory_tools
) -> list[BaseTool]:
    """The tools an agent has beside what is recalled and retained each turn.

    Args:
        wanted: False for none, True for all but retain that keep to the conditions of recall, or some by name.
        asked: the options of recall.
        memory: as the middleware has it.
        given: bank, bank_from and tags of `create_memory_tools`.

    Raises:
        InvalidRequest: a tool by name is none, or cannot keep to a condition.
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
                f"{verb.value!r} cannot keep to {met[0]}=, which recall keeps to",
                f"Leave it out, or {met[0]}=.",
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

    What is remembered about the user's message is looked up once, before the agent starts; each prompt of the turn shows
    it beside that message. After the agent has answered, what was said is retained, once, as `create_retain_node` does.
    Memories are in prompts alone: no checkpoint, update or output of the agent has their text, and system message and
    earlier messages stay byte for byte what they were, so that services can keep the prefix of the prompt.

    A run that goes on from a checkpoint (after an interrupt, a failure, a jump back) looks the memories up anew. Messages
    that a SummarizationMiddleware takes out are remembered before they go; its summary is not, nobody said it.

    Put it first among the middlewares where others change what the user said (PIIMiddleware): retaining then comes last.

    Args:
        memory: Hindsight or AsyncHindsight, or one bank of either, which then serves every run.
        bank: with an engine: the bank's name, or a function of (state, runtime) that gives it.
        bank_from: with an engine: where the run says it, as `create_recall_node` takes it. None of both: the authenticated
            user, else `bank` or `user_id` of the context, else of the configurable.
        roles: whose messages to remember: "user", "assistant", "tool"; () recalls only, as for a sub-agent whose "user" is another agent (but what `tools` of the memory showed never is).
        on_fork: what dropped messages said: "supersede" closes it, "keep" keeps it; as `create_retain_node`.
        background: return once the messages are committed, found as they were said; a worker extracts them.
        timeout_s: seconds that the model of the memory may take; None means the settings'.
        context: what the conversation is, for extraction ("support chat").
        retain_tags: visibility tags of what is retained.
        tools: tools of memory that the model may call itself: True for all but "retain", which happens anyway, or some by
            name. They look where recall looks: with `tags`, `tag_groups`, `metadata`, `types` or `as_of` only those are
            given that keep to them (recall; reflect to tags and time). What they show stands in the conversation, and
            so in its checkpoints.
        on_error: when memory fails. "queue": the agent goes on, without memories or with messages that are extracted
            later; "skip": the same, and nothing is committed; "raise": it fails the run. Mistakes of the program are
            raised always.
        traced: whether tracers see what recall and retain read and write. The model's own run shows its prompt,
            memories included, either way.
        name: of the middleware; two in one agent (the user's memory and the team's) need names of their own.
        options: of `bank.recall`, as `create_recall_node` takes them.

    Raises:
        InvalidRequest: an argument is wrong, or `background` without a worker; when run: the run does not say whose
            memory it needs.
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
        heard: dict[str, Any] = {
            "roles": roles if isinstance(roles, str) else tuple(roles),
            "on_fork": on_fork,
            "context": context,
        }
        heard |= {"tags": checked_tags(retain_tags), "background": background, "timeout_s": timeout_s}
        recall = create_recall_node(memory, **asked, **shared).called()
        retain = create_retain_node(memory, **heard, **shared) if heard["roles"] else None
        self._recall = recall if traced else recall.untraced()
        self._retain = retain if traced or retain is None else retain.untraced()
        self._name, self._key = _checked(name), f"{name}.recalled"
        whose = {"bank": bank, "bank_from": bank_from, "tags": heard["tags"]}
        self.tools = tools_beside_recall(tools, asked, memory, **whose)
        self.state_schema = cast("type[State]", _schema(self._key))
        hidden = TracePolicy(process_inputs=omit_payload, process_outputs=omit_payload)
        self.trace_policy = None if traced else hidden

    @property
    def name(self) -> str:
        """The name its nodes and its key of the state begin with."""
        return self._name

    def before_agent(self, state: State, runtime: Runtime[Any]) -> Update:  # noqa: ARG002 - LangChain's
        """Look up what is remembered about the user's message."""
        return self._recalled(self._recall.invoke(state, get_config()))

    async def abefore_agent(self, state: State, runtime: Runtime[Any]) -> Update:  # noqa: ARG002 - LangChain's
        """Look up what is remembered about the user's message, awaiting."""
        return self._recalled(await self._recall.ainvoke(state, get_config()))

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Answer]
    ) -> Answer | Extended:
        """Show the model the memories beside the user's message."""
        if (found := self._of_this_run(request.state)) is not None:
            return handler(_showing(request, found))
        update = self._recalled(self._recall.invoke(request.state, get_config()))
        return ExtendedModelResponse(handler(_showing(request, update[self._key])), Command(update=update))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[Answer]]
    ) -> Answer | Extended:
        """Show the model the memories beside the user's message, awaiting."""
        if (found := self._of_this_run(request.state)) is not None:
            return await handler(_showing(request, found))
        update = self._recalled(await self._recall.ainvoke(request.state, get_config()))
        return ExtendedModelResponse(
            await handler(_showing(request, update[self._key])), Command(update=update)
        )

    def after_agent(self, state: State, runtime: Runtime[Any]) -> Update:  # noqa: ARG002 - LangChain's
        """Remember what was said."""
        return self._retain.invoke(self._said(state), get_config()) if self._retain else {}

    async def aafter_agent(self, state: State, runtime: Runtime[Any]) -> Update:  # noqa: ARG002 - LangChain's
        """Remember what was said, awaiting."""
        return await self._retain.ainvoke(self._said(state), get_config()) if self._retain else {}

    def _recalled(self, found: Update) -> Update:
        return {self._key: Recalled.of(found["memories"])}

    def _of_this_run(self, state: State) -> "Recalled | None":
        found = value_of(state, self._key)
        return found if isinstance(found, Recalled) else None

    def _said(self, state: State) -> State:
        """The state with what is to be retained as its messages: no memory that a tool of ours showed."""
        messages: Sequence[BaseMessage] = state["messages"]
        if (found := self._of_this_run(state)) is not None:
            found.follow(messages)
            messages = (*found.summarised, *found.messages)
        ours = {tool.name for tool in self.tools}
        said = [each for each in messages if not (isinstance(each, ToolMessage) and each.name in ours)]
        return cast("State", state | {"messages": said})


class Recalled(str):
    """What stands in the state for recalled memories: a text that tells how many, with them attached in this process.

    A state is streamed, traced and shown; whoever writes it out writes the text alone. LangGraph checkpoints nothing of it,
    so that it ends with the run.

    Attributes:
        memories: as recalled.
        messages: of the state, at the last call of the model; none before the first.
        summarised: what the model was shown in this run and a summary stands for since.
    """

    __slots__ = ("memories", "messages", "summarised")
    memories: Sequence[Memory]
    messages: Sequence[BaseMessage]
    summarised: Sequence[BaseMessage]

    @classmethod
    def of(cls, memories: Sequence[Memory]) -> Self:
        """The text of as many memories, with them."""
        made = cls(f"memories: {len(memories)}")
        made.memories, made.messages, made.summarised = tuple(memories), (), ()
        return made

    def follow(self, messages: Sequence[BaseMessage]) -> None:
        """Keep what a summary took out of the state's messages since the last time."""
        self.summarised = (*self.summarised, *summarised(self.messages, messages))
        self.messages = tuple(messages)

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        """Copied or written out, it is its text."""
        return str, (str(self),)


def summarised(before: Sequence[BaseMessage], now: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The messages that are gone because a summary was written since.

    Messages that are gone without one were taken out on purpose: they are none of these.

    Args:
        before: of the state, earlier in the run; none if it has just begun.
        now: of the state.
    """
    known, left = {message.id for message in before}, {message.id for message in now}
    if not any(is_summary(message) and message.id not in known for message in now):
        return []
    return [message for message in before if message.id not in left]


def _showing(request: ModelRequest[Any], found: Recalled) -> ModelRequest[Any]:
    """The request with the memories in it."""
    found.follow(request.state["messages"])
    if not found.memories:
        return request
    messages: list[Any] = with_memories(request.messages, found.memories)
    return request.override(messages=messages)


def _schema(key: str) -> type:
    """The part of the agent's state that a middleware needs: one key, private, and in no checkpoint."""
    held = NotRequired[Annotated[str, UntrackedValue, PrivateStateAttr]]
    return TypedDict("RecalledState", {key: held})  # type: ignore[operator, no-any-return]


def _checked(name: str) -> str:
    if not isinstance(name, str) or not name or set(name) & {"|", ":"}:
        raise InvalidRequest(
            "name", f"{shown(name)} is not a name of a node", "Give a text without '|' and ':'."
        )
    return name
