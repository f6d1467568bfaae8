"""The reflect operation as a compiled LangGraph subgraph with a node per opinion update (paper sections 5.4.2, 5.5 and 6.1)."""

# Without `from __future__ import annotations`; see state.py.

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Annotated, Any, TypeAlias, TypedDict, Unpack
from uuid import NAMESPACE_URL, uuid4, uuid5

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Checkpointer, Send, interrupt

from hindsight_integrations import InvalidRequest, Strategy
from hindsight_integrations.choices import choice
from hindsight_integrations.langgraph.bank_finder import AnyMemory, BankFinder, BankFrom, BankName, value_of
from hindsight_integrations.langgraph.nodes import (
    EventKind,
    MemoryNode,
    Update,
    emit,
    omit_payloads,
    tolerated,
)
from hindsight_integrations.langgraph.state import Question, last_question, last_user_message, question
from hindsight_integrations.model.options import REFLECT_DEFAULTS, ReflectOptions, shows_options
from hindsight_integrations.tolerance import OnError
from hindsight_integrations.validation.options import STANDING_REFLECT, accept_options

State = Mapping[str, Any]

ReflectGraph = CompiledStateGraph[Any, Any, Any, Any]


@shows_options(ReflectOptions)
def create_reflect_subgraph(
    memory: AnyMemory,
    *,
    bank: BankName | None = None,
    bank_from: BankFrom | None = None,
    interrupt_before_commit: bool = False,
    query_key: str = "query",
    messages_key: str = "messages",
    answer_key: str = "answer",
    reflection_key: str = "reflection",
    as_message: bool = False,
    trace_payloads: bool = True,
    on_error: OnError | str = OnError.SKIP,
    checkpointer: Checkpointer = None,
    **options: Unpack[ReflectOptions],
) -> ReflectGraph:
    """Create a graph that answers from memory in the bank's character and routes each opinion update to its own node.

    The nodes are the steps of `bank.reflect`: recall -> think <-> tools (agentic) -> answer -> assess -> for each
    opinion in the answer one of form, reinforce, weaken, contradict or neutral -> commit. Add the graph as a node to
    another, or invoke it directly. It writes the answer's text and the reflection as a dict: its evidence, its opinions
    with their outcomes, the structured answer, steps and costs. Without a model the answer consists of the memories
    themselves. If the state has neither a question under `query_key` nor a user message, the answer is empty.

    Running a turn again (retry, resume, replay) does not form an opinion twice. After an interrupt, opinions are
    assessed again with the evidence at that time, so that an approved opinion may turn out to be known already, or to
    be evidence for another one.

    Args:
        memory: Hindsight or AsyncHindsight, or one bank of either, which then serves every run.
        bank: with an engine: the bank's name, or a function of (state, runtime) that returns it. Every node calls it
            without the parent's state, so it must use the runtime; to use the state, pass bank_from="state.KEY".
        bank_from: with an engine: where to read the name from ("context.user_id", "config.user_id", "state.user_id",
            "auth", or several of them). If neither is given: the authenticated user, else `bank` or `user_id` in the
            context, else in the configurable.
        interrupt_before_commit: whether to ask a person before an opinion changes; needs a checkpointer. The
            interrupt's value has "question", "answer" and "changes", each with "number", "movement", "text", "reason",
            the opinion "held" so far and its confidence "before" and "after". Resume with True, False or a list of the
            approved numbers (or {"approve": ...}); after an unreadable answer the interrupt is repeated, with a
            "problem". Changes that were not approved are reported as refused.
        query_key: the state key of the question.
        messages_key: the state key of the messages; if there is no question under `query_key`, the user's last message
            is the question.
        answer_key: receives the answer's text.
        reflection_key: receives the reflection.
        as_message: also append the answer to the messages, as an AIMessage; the state's messages need the
            `add_messages` reducer.
        trace_payloads: False hides the nodes' inputs and outputs from tracers, as `omit_payloads` does.
        on_error: when memory fails after the answer is written: "skip" (the run continues with a warning event, and no
            opinion is kept) or "raise". Earlier errors are always raised, because there is no answer yet.
        checkpointer: used when the graph is invoked directly; as a subgraph, the graph uses its parent's.
        options: options of `bank.reflect`, see `ReflectOptions`; with strategy="agentic" each step is a node.

    Raises:
        InvalidRequest: an argument is invalid; at run time: an option is out of range, or the run does not select a bank.
        ModelError: at run time: the model failed before there was an answer; memory is unchanged.
    """
    asked = accept_options(options, STANDING_REFLECT)
    how = choice(Strategy, asked.get("strategy", REFLECT_DEFAULTS["strategy"]), "strategy")
    failing = choice(OnError, on_error, "on_error")
    if failing is OnError.QUEUE:
        raise InvalidRequest("on_error", "an answer's opinions cannot be queued", "Use 'skip' or 'raise'.")
    where = BankFinder(memory, bank, bank_from)
    keys = Keys(query_key, messages_key, answer_key, reflection_key, _keys_named(bank_from), as_message)
    nodes = ReflectNodes(where, asked, keys, failing, approval=interrupt_before_commit)
    graph = _build_graph(nodes, agentic=how is Strategy.AGENTIC, traced=trace_payloads)
    return graph.compile(checkpointer=checkpointer, name="reflect")


WITHIN = ("of_bank", "underway", "answered", "moves", "move", "approved")
"""The subgraph's private state keys, which are not outputs."""


@dataclass(frozen=True, slots=True)
class Keys:
    """Keys of the parent graph's state that the subgraph reads and writes.

    Attributes:
        query: the question; if empty or missing, the user's last message is used.
        messages: the conversation.
        answer: receives the answer's text.
        reflection: receives the reflection as a dict.
        further: other keys, from which the bank's name is read.
        as_message: whether the answer is also appended to the messages.
    """

    query: str
    messages: str
    answer: str
    reflection: str
    further: tuple[str, ...]
    as_message: bool

    def __post_init__(self) -> None:
        taken = [self.query, self.messages, self.answer, self.reflection, *self.further]
        if clash := {*WITHIN} & {*taken}:
            raise InvalidRequest(
                "state keys", f"{clash.pop()!r} is used by the subgraph itself", "Choose another key."
            )
        if len({*taken[:4]}) < 4:
            raise InvalidRequest(
                "state keys",
                "the same key is used twice",
                "Use different keys for query, messages, answer and reflection.",
            )

    @property
    def schemas(self) -> tuple[Any, Any, Any]:
        """Return the schemas of state, input and output."""
        given: dict[str, Any] = {self.query: str, self.messages: list, **dict.fromkeys(self.further, Any)}
        made: dict[str, Any] = {self.answer: str, self.reflection: dict}
        within = {"of_bank": str, "underway": dict, "answered": dict, "move": dict, "approved": list}
        moves = {"moves": Annotated[list, joined]}
        shown = made | {self.messages: list} if self.as_message else made
        return _typed("State", given | made | within | moves), _typed("Input", given), _typed("Output", shown)


def joined(known: list[Any] | None, new: list[Any] | None) -> list[Any]:
    """Merge the moves written in one step, sorted by number; None clears the list (a LangGraph reducer)."""
    if new is None:
        return []
    return sorted([*(known or ()), *new], key=lambda move: int(move["number"]))


def question_of(state: State, keys: Keys) -> Question | None:
    """Return the question under the query key, else the user's last message; None if there is neither.

    In both cases it has the id of the user's last message.

    Raises:
        InvalidRequest: the state has neither key, or the question is not a string.
    """
    named = question(value_of(state, keys.query))
    if named is None:
        return last_question(state, keys.messages)
    message = last_user_message(state, keys.messages) if state.get(keys.messages) else None
    return replace(named, message_id=message.id if message else None)


def operation_of(asked: Question, config: RunnableConfig) -> str:
    """Return the reflection's idempotency key, so that running it again forms no opinion twice.

    The key is a hash of thread, subgraph, message id and question: a replay of the turn has the same key, and the same
    question in a later turn has a different one. Without a thread id or message id the key is random, and kept in the
    state.
    """
    configurable = config.get("configurable", {})
    thread, place = str(configurable.get("thread_id", "")), str(configurable.get("checkpoint_ns", ""))
    if not thread or not asked.message_id:
        return f"langgraph:{uuid4().hex}"
    nodes = "|".join(part.partition(":")[0] for part in place.split("|")[:-1])
    seed = chr(30).join((thread, nodes, asked.message_id, asked.text))
    return f"langgraph:{sha256(seed.encode()).hexdigest()}"


def _typed(name: str, fields: Mapping[str, Any]) -> Any:  # noqa: ANN401 - LangGraph accepts any class with annotations
    return TypedDict(f"Reflect{name}", dict(fields), total=False)  # type: ignore[operator] # the caller chooses the keys


def changing(moves: Iterable[State]) -> list[dict[str, Any]]:
    """Return the moves (proposed outcomes) that would change an opinion."""
    return [dict(move) for move in moves if move["movement"] != "neutral"]


Stage: TypeAlias = Callable[[Any, State], Any]
"""Function of (the bank's stages, state) that runs a stage; with async stages its result is awaitable."""

RESUME_WITH = "True to approve all changes, False to approve none, or a list of the approved numbers"


@dataclass(frozen=True, slots=True)
class ReflectNodes:
    """Creates the subgraph's nodes.

    Attributes:
        where: finds the bank of a run.
        options: the reflect options, passed to every stage.
        keys: the state keys.
        on_error: error policy after the answer is written.
        approval: whether a person must approve opinion changes.
    """

    where: BankFinder
    options: Mapping[str, Any]
    keys: Keys
    on_error: OnError
    approval: bool

    def recall(self) -> MemoryNode:
        """Create the node that recalls memories; without a question it writes an empty answer."""
        keys = self.keys
        fresh: Update = {keys.query: "", keys.messages: [], "answered": {}, "moves": None, "approved": []}
        unasked: Update = {keys.answer: "", keys.reflection: {}, "of_bank": "", "underway": {}}

        def begun(stages: Any, asked: Question, config: RunnableConfig) -> Any:  # noqa: ANN401 - sync or async stages
            return stages.recall(asked.text, **self.options, operation=operation_of(asked, config))

        def run(state: Any, config: RunnableConfig) -> Update:  # noqa: ANN401 - the user's state type
            bank, asked = self.where.open(state, config), question_of(state, keys)
            if asked is None:
                return fresh | unasked
            return {**fresh, "of_bank": bank.name, "underway": begun(bank.reflect_stages, asked, config)}

        async def arun(state: Any, config: RunnableConfig) -> Update:  # noqa: ANN401 - the user's state type
            bank, asked = await self.where.aopen(state, config), question_of(state, keys)
            if asked is None:
                return fresh | unasked
            return {
                **fresh,
                "of_bank": bank.name,
                "underway": await begun(bank.reflect_stages, asked, config),
            }

        return MemoryNode("recall", run, arun)

    def think(self) -> MemoryNode:
        """Create the node that asks the model for the next step."""
        return self._stage(
            "think", lambda stages, state: stages.think(state["underway"], **self.options), _further
        )

    def tools(self) -> MemoryNode:
        """Create the node that makes the tool call of the step."""
        return self._stage(
            "tools", lambda stages, state: stages.call_tool(state["underway"], **self.options), _further
        )

    def answer(self) -> MemoryNode:
        """Create the node that writes the answer and removes the recalled memories from the state."""
        return self._stage(
            "answer", lambda stages, state: stages.answer(state["underway"], **self.options), self._answered
        )

    def assess(self) -> MemoryNode:
        """Create the node that compares the answer's opinions with the bank's, in one model call."""
        return self._stage(
            "assess",
            lambda stages, state: stages.assess(state["answered"], **self.options),
            lambda given, _: {"answered": given},
            missing="the answer's opinions, which were not assessed",
        )

    def movement(self, name: str) -> MemoryNode:
        """Create the node that reports one proposed opinion change; nothing is committed yet."""

        def run(state: Any, _: RunnableConfig) -> Update:  # noqa: ANN401 - the argument of a Send
            _emit_opinion(state["move"], state["of_bank"], committed=False)
            return {"moves": [state["move"]]}

        async def arun(state: Any, config: RunnableConfig) -> Update:  # noqa: ANN401 - the argument of a Send
            return run(state, config)

        return MemoryNode(name, run, arun)

    def approve(self) -> MemoryNode:
        """Create the node that interrupts for approval of the changes, if there are any."""

        def run(state: Any, config: RunnableConfig) -> Update:  # noqa: ANN401 - the state's type is built at run time
            _check_same(self.where.name(state, config), state)  # another user may resume the run
            changes = changing(state.get("moves") or ())
            return {"approved": _ask_approval(state["answered"], changes) if changes else []}

        async def arun(state: Any, config: RunnableConfig) -> Update:  # noqa: ANN401 - the state's type is built at run time
            return run(state, config)

        return MemoryNode("approve", run, arun)

    def commit(self) -> MemoryNode:
        """Create the node that assesses the opinions with the current evidence and commits them."""

        def committed(stages: Any, state: State) -> Any:  # noqa: ANN401 - sync or async stages
            approved = state["approved"] if self.approval else None
            return stages.commit(state["answered"], approved=approved, **self.options)

        return self._stage("commit", committed, self._committed, missing="the answer's opinions")

    def _answered(self, given: Mapping[str, Any], _: str) -> Update:
        reflection = given["reflection"]
        written: Update = {self.keys.answer: reflection["text"], self.keys.reflection: reflection}
        if self.keys.as_message:
            # Derived from the operation, so that a replayed turn writes the same message.
            message_id = uuid5(NAMESPACE_URL, given["operation"])
            written[self.keys.messages] = [AIMessage(reflection["text"], id=str(message_id))]
        return {**written, "underway": {}, "answered": dict(given) if given["candidates"] else {}}

    def _committed(self, reflection: Mapping[str, Any], bank: str) -> Update:
        for opinion in reflection["opinions"]:
            _emit_opinion(opinion, bank, committed=True)
        return {self.keys.reflection: dict(reflection), "answered": {}, "moves": None, "approved": []}

    def _stage(
        self, name: str, stage: Stage, update: Callable[[Any, str], Update], *, missing: str = ""
    ) -> MemoryNode:
        """Create a node that runs one stage.

        `update` takes the stage's result and the bank's name. `missing` says what the run continues without if memory fails; if
        it is empty, the run fails.
        """
        on_error = self.on_error if missing else OnError.RAISE
        lost: Update = {"answered": {}, "moves": None, "approved": []}

        def run(state: Any, config: RunnableConfig) -> Update:  # noqa: ANN401 - the state's type is built at run time
            written: Update = {}
            with tolerated(on_error, node=name, bank=state["of_bank"], missing=missing):
                bank = self.where.open(state, config)
                _check_same(bank.name, state)
                written |= update(stage(bank.reflect_stages, state), bank.name)
            return written or lost

        async def arun(state: Any, config: RunnableConfig) -> Update:  # noqa: ANN401 - the state's type is built at run time
            written: Update = {}
            with tolerated(on_error, node=name, bank=state["of_bank"], missing=missing):
                bank = await self.where.aopen(state, config)
                _check_same(bank.name, state)
                written |= update(await stage(bank.reflect_stages, state), bank.name)
            return written or lost

        return MemoryNode(name, run, arun)


def _further(underway: Mapping[str, Any], _: str) -> Update:
    return {"underway": dict(underway)}


def _check_same(bank: str, state: State) -> None:
    """Check that a resumed run selects the bank on which the reflection started.

    Raises:
        InvalidRequest: the run selects another bank.
    """
    if bank != state["of_bank"]:
        raise InvalidRequest(
            "bank",
            "the reflection started on another bank, whose memories are in its state",
            "Resume it with the same context or configurable.",
        )


def _ask_approval(answered: State, changes: list[dict[str, Any]]) -> list[int]:
    """Interrupt for approval and return the approved numbers; ask again after an unreadable answer."""
    numbers = {change["number"] for change in changes}
    payload = {
        "type": "hindsight.opinions",
        "question": answered["query"],
        "answer": answered["reflection"]["text"],
        "changes": changes,
        "resume_with": RESUME_WITH,
    }
    given = interrupt(payload)
    while (approved := _approved(given, numbers)) is None:
        problem = f"{str(given)[:200]!r} is not a valid answer; the numbers are {sorted(numbers)}"
        given = interrupt({**payload, "problem": problem})
    return approved


def _approved(given: object, numbers: set[int]) -> list[int] | None:
    """Return the numbers that an answer approves, or None if it is unreadable."""
    if isinstance(given, Mapping):
        given = given.get("approve")
    if isinstance(given, bool):
        return sorted(numbers) if given else []
    if not isinstance(given, list | tuple | set | frozenset):
        return None
    chosen = [number for number in given if isinstance(number, int) and not isinstance(number, bool)]
    return sorted({*chosen}) if len(chosen) == len(given) and numbers.issuperset(chosen) else None


def _emit_opinion(opinion: State, bank: str, *, committed: bool) -> None:
    """Emit the event of one opinion, without the opinion's text."""
    values = {name: opinion.get(name) for name in ("number", "outcome", "movement", "before", "after")}
    emit(EventKind.OPINION, bank, **values, opinion=opinion["opinion_id"], committed=committed)


MOVEMENTS = ("form", "reinforce", "weaken", "contradict", "neutral")


def _build_graph(nodes: ReflectNodes, *, agentic: bool, traced: bool) -> StateGraph[Any, Any, Any, Any]:
    whole, given, made = nodes.keys.schemas
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(whole, input_schema=given, output_schema=made)
    last = "approve" if nodes.approval else "commit"
    steps = [nodes.think(), nodes.tools()] if agentic else []
    asked = [nodes.approve()] if nodes.approval else []
    ways = [nodes.movement(name) for name in MOVEMENTS]
    for node in (nodes.recall(), *steps, nodes.answer(), nodes.assess(), *ways, *asked, nodes.commit()):
        if traced:
            graph.add_node(str(node.name), node)
        else:
            graph.add_node(str(node.name), **omit_payloads(node))
    graph.add_edge(START, "recall")
    if agentic:
        graph.add_conditional_edges("recall", _route_step, ["think", "answer", END])
        graph.add_conditional_edges("think", _route_step, ["tools", "answer"])
        graph.add_conditional_edges("tools", _route_step, ["think", "answer"])
    else:
        graph.add_conditional_edges("recall", _route_step, ["answer", END])
    graph.add_conditional_edges("answer", _route_answered, ["assess", END])
    graph.add_conditional_edges("assess", _route_assessed, [*MOVEMENTS, "commit", END])
    for name in MOVEMENTS:
        graph.add_edge(name, last)
    if nodes.approval:
        graph.add_edge("approve", "commit")
    graph.add_edge("commit", END)
    return graph


def _route_step(state: State) -> str:
    """Route from recall, think and tools to the next step's node; END without a question."""
    if not state["underway"]:
        return END
    step = str(state["underway"]["next"])
    return "tools" if step == "call_tool" else step


def _route_answered(state: State) -> str:
    return "assess" if state["answered"] else END


def _route_assessed(state: State) -> str | list[Send]:
    """Send each proposed opinion to the node of its movement. Route to commit if there are none, as in a replayed turn."""
    if not state["answered"]:
        return END
    moves = state["answered"]["moves"]
    if not moves:
        return "commit"
    return [Send(move["movement"], {"move": move, "of_bank": state["of_bank"]}) for move in moves]


def _keys_named(bank_from: BankFrom | None) -> tuple[str, ...]:
    """Return the state keys that `bank_from` reads."""
    places = [bank_from] if isinstance(bank_from, str) else list(bank_from or ())
    parts = [place.split(".") for place in places if isinstance(place, str)]
    return tuple(part[1] for part in parts if part[0] == "state" and len(part) > 1)
