"""Reflect as a compiled subgraph, whose edges are the updates of opinions (paper sections 5.4.2, 5.5 and 6.1)."""

# No `from __future__ import annotations`: see state.py.

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
from hindsight_integrations.langgraph.state import Question, last_question, question
from hindsight_integrations.model.options import REFLECT_DEFAULTS, ReflectOptions, shows_options
from hindsight_integrations.tolerance import OnError
from hindsight_integrations.validation.options import STANDING_REFLECT, accept_options

State = Mapping[str, Any]

WITHIN = ("of_bank", "underway", "answered", "moves", "move", "approved")
"""Keys that lie between the nodes; none of them comes out."""


@dataclass(frozen=True, slots=True)
class Keys:
    """Where the state of the graph around has what a reflection takes and gives.

    Attributes:
        query: the question; where it is empty or missing the user's last message is.
        messages: the conversation.
        answer: takes the answer's text.
        reflection: takes the reflection as a dict.
        further: other keys, from which the bank's name is told.
        as_message: whether the answer is also written to the messages.
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
                "state keys", f"{clash.pop()!r} is one of the subgraph's own", "Give the key another name."
            )
        if len({*taken[:4]}) < 4:
            raise InvalidRequest(
                "state keys",
                "one key is named for two things",
                "Name query, messages, answer and reflection apart.",
            )

    @property
    def schemas(self) -> tuple[Any, Any, Any]:
        """Schemas of the state, the input and the output."""
        given: dict[str, Any] = {self.query: str, self.messages: list, **dict.fromkeys(self.further, Any)}
        made: dict[str, Any] = {self.answer: str, self.reflection: dict}
        within = {"of_bank": str, "underway": dict, "answered": dict, "move": dict, "approved": list}
        moves = {"moves": Annotated[list, joined]}
        shown = made | {self.messages: list} if self.as_message else made
        return _typed("State", given | made | within | moves), _typed("Input", given), _typed("Output", shown)


def joined(known: list[Any] | None, new: list[Any] | None) -> list[Any]:
    """What several nodes of one step write, together, in order of their numbers; None empties it."""
    if new is None:
        return []
    return sorted([*(known or ()), *new], key=lambda move: int(move["number"]))


def question_of(state: State, keys: Keys) -> Question | None:
    """The question: the one named, else the user's last message; None where there is neither. Its message is the user's last.

    Raises:
        InvalidRequest: the state has neither key, or the question is not a text.
    """
    named = question(value_of(state, keys.query))
    if named is None or state.get(keys.messages):
        asked = last_question(state, keys.messages)
        return asked if named is None else replace(named, message_id=asked.message_id if asked else None)
    return named


def operation_of(asked: Question, config: RunnableConfig) -> str:
    """The key under which whatever is run again of this reflection forms nothing twice.

    It is of the thread, the place of the graph, the user's message and the question: a replay of the turn has the same, the same
    question in a later turn another. Without a thread or a message id the key is random; the state keeps it.
    """
    configurable = config.get("configurable", {})
    thread, place = str(configurable.get("thread_id", "")), str(configurable.get("checkpoint_ns", ""))
    if not thread or not asked.message_id:
        return f"langgraph:{uuid4().hex}"
    nodes = "|".join(part.partition(":")[0] for part in place.split("|")[:-1])
    seed = chr(30).join((thread, nodes, asked.message_id, asked.text))
    return f"langgraph:{sha256(seed.encode()).hexdigest()}"


def _typed(name: str, fields: Mapping[str, Any]) -> Any:  # noqa: ANN401 - LangGraph takes any class with annotations
    return TypedDict(f"Reflect{name}", dict(fields), total=False)  # type: ignore[operator] # the keys are the user's


def changing(moves: Iterable[State]) -> list[dict[str, Any]]:
    """Those of the moves that would change something."""
    return [dict(move) for move in moves if move["movement"] != "neutral"]


Stage: TypeAlias = Callable[[Any, State], Any]
"""Of (the bank's stages, the state): what the stage gives, to be awaited on the async face."""

RESUME_WITH = "True for all of them, False for none, or a list of the numbers that are approved"


@dataclass(frozen=True, slots=True)
class ReflectNodes:
    """Makes the nodes.

    Attributes:
        where: finds the bank.
        options: of every stage.
        keys: where the state has what.
        on_error: what becomes of a run whose answer is written when the memory then fails.
        approval: whether a person is asked before anything is kept.
    """

    where: BankFinder
    options: Mapping[str, Any]
    keys: Keys
    on_error: OnError
    approval: bool

    def recall(self) -> MemoryNode:
        """Looks up what the question needs; without a question there is nothing to do, and the answer is empty."""
        keys = self.keys
        fresh: Update = {keys.query: "", keys.messages: [], "answered": {}, "moves": None, "approved": []}
        unasked: Update = {keys.answer: "", keys.reflection: {}, "of_bank": "", "underway": {}}

        def begun(stages: Any, asked: Question, config: RunnableConfig) -> Any:  # noqa: ANN401 - either face
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
        """Asks the model for the next step."""
        return self._stage(
            "think", lambda stages, state: stages.think(state["underway"], **self.options), _further
        )

    def tools(self) -> MemoryNode:
        """Makes the call that the step asked for."""
        return self._stage(
            "tools", lambda stages, state: stages.call_tool(state["underway"], **self.options), _further
        )

    def answer(self) -> MemoryNode:
        """Writes the answer; what was recalled leaves the state with it."""
        return self._stage(
            "answer", lambda stages, state: stages.answer(state["underway"], **self.options), self._answered
        )

    def assess(self) -> MemoryNode:
        """Has all opinions of the answer compared with those held, in one call."""
        return self._stage(
            "assess",
            lambda stages, state: stages.assess(state["answered"], **self.options),
            lambda given, _: {"answered": given},
            missing="the opinions of the answer, which were not assessed",
        )

    def movement(self, name: str) -> MemoryNode:
        """Says what one opinion would do to what is held; nothing is written yet."""

        def run(state: Any, _: RunnableConfig) -> Update:  # noqa: ANN401 - what was sent
            _tell(state["move"], state["of_bank"], committed=False)
            return {"moves": [state["move"]]}

        async def arun(state: Any, config: RunnableConfig) -> Update:  # noqa: ANN401 - what was sent
            return run(state, config)

        return MemoryNode(name, run, arun)

    def approve(self) -> MemoryNode:
        """Asks a person which of the changes may be made, if there are any."""

        def run(state: Any, config: RunnableConfig) -> Update:  # noqa: ANN401 - the state's type is made at run time
            _check_same(self.where.name(state, config), state)  # who resumes it may be somebody else
            changes = changing(state.get("moves") or ())
            return {"approved": _asked(state["answered"], changes) if changes else []}

        async def arun(state: Any, config: RunnableConfig) -> Update:  # noqa: ANN401 - the state's type is made at run time
            return run(state, config)

        return MemoryNode("approve", run, arun)

    def commit(self) -> MemoryNode:
        """Decides again and keeps the opinions, in one commit."""

        def committed(stages: Any, state: State) -> Any:  # noqa: ANN401 - either face
            approved = state["approved"] if self.approval else None
            return stages.commit(state["answered"], approved=approved, **self.options)

        return self._stage("commit", committed, self._committed, missing="the opinions of the answer")

    def _answered(self, given: Mapping[str, Any], _: str) -> Update:
        reflection = given["reflection"]
        written: Update = {self.keys.answer: reflection["text"], self.keys.reflection: reflection}
        if self.keys.as_message:
            told = uuid5(NAMESPACE_URL, given["operation"])  # the same turn again says the same message again
            written[self.keys.messages] = [AIMessage(reflection["text"], id=str(told))]
        return {**written, "underway": {}, "answered": dict(given) if given["candidates"] else {}}

    def _committed(self, reflection: Mapping[str, Any], bank: str) -> Update:
        for opinion in reflection["opinions"]:
            _tell(opinion, bank, committed=True)
        return {self.keys.reflection: dict(reflection), "answered": {}, "moves": None, "approved": []}

    def _stage(
        self, name: str, stage: Stage, update: Callable[[Any, str], Update], *, missing: str = ""
    ) -> MemoryNode:
        """A node that runs one stage.

        Args:
            name: of the node.
            stage: what it does.
            update: of (what the stage gives, the bank's name): what the node writes.
            missing: what the run goes on without where the memory fails; empty where it cannot go on.
        """
        on_error = self.on_error if missing else OnError.RAISE
        lost: Update = {"answered": {}, "moves": None, "approved": []}

        def run(state: Any, config: RunnableConfig) -> Update:  # noqa: ANN401 - the state's type is made at run time
            written: Update = {}
            with tolerated(on_error, node=name, bank=state["of_bank"], missing=missing):
                bank = self.where.open(state, config)
                _check_same(bank.name, state)
                written |= update(stage(bank.reflect_stages, state), bank.name)
            return written or lost

        async def arun(state: Any, config: RunnableConfig) -> Update:  # noqa: ANN401 - the state's type is made at run time
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
    """Refuse to go on with another bank than the reflection began with.

    Raises:
        InvalidRequest: it is somebody else's memory by now.
    """
    if bank != state["of_bank"]:
        raise InvalidRequest(
            "bank",
            "the reflection was begun on another bank, whose memories lie in its state",
            "Resume it with the context or configurable it was invoked with.",
        )


def _asked(answered: State, changes: list[dict[str, Any]]) -> list[int]:
    """The numbers of the changes that a person approves. An answer that cannot be read is asked for again."""
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
        problem = f"{str(given)[:200]!r} is not an answer, there are the numbers {sorted(numbers)}"
        given = interrupt({**payload, "problem": problem})
    return approved


def _approved(given: object, numbers: set[int]) -> list[int] | None:
    """What a person's answer approves; None if it cannot be read."""
    if isinstance(given, Mapping):
        given = given.get("approve")
    if isinstance(given, bool):
        return sorted(numbers) if given else []
    if not isinstance(given, list | tuple | set | frozenset):
        return None
    chosen = [each for each in given if isinstance(each, int) and not isinstance(each, bool)]
    return sorted({*chosen}) if len(chosen) == len(given) and numbers.issuperset(chosen) else None


def _tell(opinion: State, bank: str, *, committed: bool) -> None:
    """One event of an opinion, without its text."""
    told = {name: opinion.get(name) for name in ("number", "outcome", "movement", "before", "after")}
    emit(EventKind.OPINION, bank, **told, opinion=opinion["opinion_id"], committed=committed)


MOVEMENTS = ("form", "reinforce", "weaken", "contradict", "neutral")

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
    """A graph that answers from memory, in the bank's character, and shows each change of an opinion as an edge.

    It does what `bank.reflect` does: recall -> think <-> tools (agentic) -> answer -> assess -> form, reinforce, weaken,
    contradict or neutral, one for each opinion the answer puts forward -> commit. Add it as a node of a graph, or invoke it by
    itself. It writes the answer's text and the reflection as a dict: what it stands on, its opinions and what became of each, its
    typed form, steps and costs. Without a model the answer is memories as they are. Without a question (no `query_key`, and no
    message of a user's) the answer is empty.

    Running a turn again (retry, resume, replay) forms nothing twice. After an interrupt the decision is made again on the
    evidence as it is then: an approved opinion may be told as known by now, or as evidence of another.

    Args:
        memory: Hindsight or AsyncHindsight, or one bank of either, which then serves every run.
        bank: with an engine: the bank's name, or a function of (state, runtime) that gives it; every node asks it, and its state
            has none of the graph around, so that it goes by the runtime. By the state: bank_from="state.KEY".
        bank_from: with an engine: where the run says it ("context.user_id", "config.user_id", "state.user_id", "auth", or
            several of them). None of both: the authenticated user, else `bank` or `user_id` of the context, else of
            the configurable.
        interrupt_before_commit: ask a person before an opinion changes; needs a checkpointer. The interrupt's value has
            "question", "answer" and "changes": of each its "number", "movement", "text", "reason", the opinion "held" so far and
            its confidence "before" and "after". Resume with True, False or a list of the approved numbers (or {"approve":
            that}); what cannot be read is asked for again, with a "problem". What was not approved is told as refused.
        query_key: where the state may hold the question.
        messages_key: where it holds the messages; the user's last one is the question if there is none by itself.
        answer_key: takes the answer's text.
        reflection_key: takes the reflection.
        as_message: also write the answer to the messages, as an AIMessage; they need `add_messages` then.
        trace_payloads: whether tracers see what the nodes read and write; see `omit_payloads`, which this is for each of them.
        on_error: what is done when the memory fails after the answer is written: skip (the run goes on with a warning event,
            no opinion is kept) or raise. Before that every error is raised, since there is no answer.
        checkpointer: of the graph invoked by itself; in another graph its own is used.
        options: of `bank.reflect`, as `ReflectOptions` describes them, with its defaults; with strategy="agentic" each step is
            a node.

    Raises:
        InvalidRequest: an argument is wrong; when run: an option is out of range, the run does not say whose memory it needs.
        ModelError: when run: the model failed before there was an answer; memory is unchanged.
    """
    asked = accept_options(options, STANDING_REFLECT)
    how = choice(Strategy, asked.get("strategy", REFLECT_DEFAULTS["strategy"]), "strategy")
    failing = choice(OnError, on_error, "on_error")
    if failing is OnError.QUEUE:
        raise InvalidRequest("on_error", "opinions of an answer cannot be queued", "Use 'skip' or 'raise'.")
    where = BankFinder(memory, bank, bank_from)
    keys = Keys(query_key, messages_key, answer_key, reflection_key, _keys_named(bank_from), as_message)
    nodes = ReflectNodes(where, asked, keys, failing, approval=interrupt_before_commit)
    graph = _drawn(nodes, agentic=how is Strategy.AGENTIC, traced=trace_payloads)
    return graph.compile(checkpointer=checkpointer, name="reflect")


def _drawn(nodes: ReflectNodes, *, agentic: bool, traced: bool) -> StateGraph[Any, Any, Any, Any]:
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
        graph.add_conditional_edges("recall", _next, ["think", "answer", END])
        graph.add_conditional_edges("think", _next, ["tools", "answer"])
        graph.add_conditional_edges("tools", _next, ["think", "answer"])
    else:
        graph.add_conditional_edges("recall", _next, ["answer", END])
    graph.add_conditional_edges("answer", _answered, ["assess", END])
    graph.add_conditional_edges("assess", _assessed, [*MOVEMENTS, "commit", END])
    for name in MOVEMENTS:
        graph.add_edge(name, last)
    if nodes.approval:
        graph.add_edge("approve", "commit")
    graph.add_edge("commit", END)
    return graph


def _next(state: State) -> str:
    """Where to from recall, think and tools: to the node of the step that comes next; nowhere without a question."""
    if not state["underway"]:
        return END
    step = str(state["underway"]["next"])
    return "tools" if step == "call_tool" else step


def _answered(state: State) -> str:
    """Where to from the answer: nowhere if it puts no opinion forward."""
    return "assess" if state["answered"] else END


def _assessed(state: State) -> str | list[Send]:
    """Each opinion to what it does; to the commit at once where the same turn was committed before."""
    if not state["answered"]:
        return END
    moves = state["answered"]["moves"]
    if not moves:
        return "commit"
    return [Send(move["movement"], {"move": move, "of_bank": state["of_bank"]}) for move in moves]


def _keys_named(bank_from: BankFrom | None) -> tuple[str, ...]:
    """The keys of the state that a bank's name is looked for in."""
    places = [bank_from] if isinstance(bank_from, str) else list(bank_from or ())
    parts = [place.split(".") for place in places if isinstance(place, str)]
    return tuple(part[1] for part in parts if part[0] == "state" and len(part) > 1)
