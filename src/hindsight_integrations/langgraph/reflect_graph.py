"""Reflect as a compiled subgraph, whose edges are the updates of opinions (paper sections 5.4.2, 5.5 and 6.1; decision 141)."""

# No `from __future__ import annotations`: see memories.py.

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Checkpointer, Send
from pydantic import BaseModel

from hindsight_integrations import Budget, InvalidRequest, Strategy, TagsMatch
from hindsight_integrations.choices import choice
from hindsight_integrations.langgraph.bank_finder import AnyMemory, BankFinder, BankFrom, BankName
from hindsight_integrations.langgraph.reflect_nodes import ReflectNodes
from hindsight_integrations.langgraph.reflect_state import Keys, State
from hindsight_integrations.langgraph.tracing import omit_payloads
from hindsight_integrations.model.requests import GivenGroup
from hindsight_integrations.tolerance import OnError

MOVEMENTS = ("form", "reinforce", "weaken", "contradict", "neutral")

ReflectGraph = CompiledStateGraph[Any, Any, Any, Any]


def create_reflect_subgraph(
    memory: AnyMemory,
    *,
    bank: BankName | None = None,
    bank_from: BankFrom | None = None,
    strategy: Strategy | str = Strategy.SINGLE,
    budget: Budget | str = Budget.MID,
    max_tokens: int = 4096,
    max_answer_tokens: int = 2048,
    response_schema: type[BaseModel] | None = None,
    tools: Iterable[Callable[..., object]] | None = None,
    context: str | None = None,
    form_opinions: bool = True,
    interrupt_before_commit: bool = False,
    tags: Iterable[str] = (),
    tags_match: TagsMatch | str = TagsMatch.ANY,
    tag_groups: GivenGroup | Sequence[GivenGroup] = (),
    as_of: datetime | str | None = None,
    query_key: str = "query",
    messages_key: str = "messages",
    answer_key: str = "answer",
    reflection_key: str = "reflection",
    as_message: bool = False,
    trace_payloads: bool = True,
    on_error: OnError | str = OnError.SKIP,
    checkpointer: Checkpointer = None,
) -> ReflectGraph:
    """A graph that answers from memory, in the bank's character, and shows each change of an opinion as an edge.

    It does what `bank.reflect` does: recall -> think <-> tools (agentic) -> answer -> assess -> form, reinforce, weaken,
    contradict or neutral, one for each opinion the answer puts forward -> commit. Add it as a node of a graph, or invoke it by
    itself. It writes the answer's text and the reflection as a dict: what it stands on, its opinions and what became of each, its
    typed form, steps and costs. Without a model the answer is memories as they are. Without a question (no `query_key`, and no
    message of a user's) the answer is empty.

    Every run of a turn again (retry, resume, replay) forms nothing twice. After an interrupt the decision is made anew on the
    evidence as it is then: an approved opinion may be told as known by now, or as evidence of another.

    Args:
        memory: Hindsight or AsyncHindsight, or one bank of either, which then serves every run.
        bank: with an engine: the bank's name, or a function of (state, runtime) that gives it; every node asks it, and its state
            has none of the graph around, so that it goes by the runtime. By the state: bank_from="state.KEY".
        bank_from: with an engine: where the run says it ("context.user_id", "config.user_id", "state.user_id", "auth", or
            several of them). None of both: the authenticated user, else `bank` or `user_id` of the context, else of
            the configurable.
        strategy: single (one recall, one model call) or agentic (the model looks for what it needs, a node a step).
        budget: effort of recall: low, mid or high.
        max_tokens: budget of the memories the answer may use.
        max_answer_tokens: of the answer.
        response_schema: a pydantic model; the answer comes in its form, too, as "structured".
        tools: functions and LangChain tools that the model may call besides memory's own, agentic only.
        context: your words about the situation, shown to the model as data.
        form_opinions: whether opinions may be formed.
        interrupt_before_commit: ask a person before an opinion changes; needs a checkpointer. The interrupt's value has
            "question", "answer" and "changes": of each its "number", "movement", "text", "reason", the opinion "held" so far and
            its confidence "before" and "after". Resume with True, False or a list of the approved numbers (or {"approve":
            that}); what cannot be read is asked for again, with a "problem". What was not approved is told as refused.
        tags: visibility tags; none means any memory.
        tags_match: any, all, any_strict, all_strict or exact.
        tag_groups: conditions on tags beside `tags`; see the bank's `recall`.
        as_of: a moment; the answer of then. None means now.
        query_key: where the state may hold the question.
        messages_key: where it holds the messages; the user's last one is the question if there is none by itself.
        answer_key: takes the answer's text.
        reflection_key: takes the reflection.
        as_message: also write the answer to the messages, as an AIMessage; they need `add_messages` then.
        trace_payloads: whether tracers see what the nodes read and write; see `omit_payloads`, which this is for each of them.
        on_error: what is done when the memory fails after the answer is written: skip (the run goes on with a warning event,
            no opinion is kept) or raise. Before that every error is raised, since there is no answer.
        checkpointer: of the graph invoked by itself; in another graph its own is used.

    Raises:
        InvalidRequest: an argument is wrong; when run: an option is out of range, the run does not say whose memory it needs.
        ModelError: when run: the model failed before there was an answer; memory is unchanged.
    """
    how, failing = choice(Strategy, strategy, "strategy"), choice(OnError, on_error, "on_error")
    if failing is OnError.QUEUE:
        raise InvalidRequest("on_error", "opinions of an answer cannot be queued", "Use 'skip' or 'raise'.")
    options: dict[str, Any] = {
        "strategy": how,
        "budget": budget,
        "max_tokens": max_tokens,
        "max_answer_tokens": max_answer_tokens,
        "response_schema": response_schema,
        "tools": None if tools is None else tuple(tools),
        "context": context,
        "form_opinions": form_opinions,
        "tags": (tags,) if isinstance(tags, str) else tuple(tags),
        "tags_match": tags_match,
        "tag_groups": tag_groups,
        "as_of": as_of,
    }
    where = BankFinder(memory, bank, bank_from)
    keys = Keys(query_key, messages_key, answer_key, reflection_key, _keys_named(bank_from), as_message)
    nodes = ReflectNodes(where, options, keys, failing, approval=interrupt_before_commit)
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
        graph.add_conditional_edges("recall", _recalled, ["think", "answer", END])
        graph.add_conditional_edges("think", _thought, ["tools", "answer"])
        graph.add_conditional_edges("tools", _called, ["think", "answer"])
    else:
        graph.add_conditional_edges("recall", _recalled, ["answer", END])
    graph.add_conditional_edges("answer", _answered, ["assess", END])
    graph.add_conditional_edges("assess", _assessed, [*MOVEMENTS, "commit", END])
    for name in MOVEMENTS:
        graph.add_edge(name, last)
    if nodes.approval:
        graph.add_edge("approve", "commit")
    graph.add_edge("commit", END)
    return graph


def _recalled(state: State) -> str:
    """Where to from recall: nowhere without a question."""
    if not state["underway"]:
        return END
    return "think" if "progress" in state["underway"] else "answer"


def _thought(state: State) -> str:
    """Where to from a step: to the tool it asks for, else the answer is written."""
    return "tools" if "step" in state["underway"]["progress"] else "answer"


def _called(state: State) -> str:
    """Where to from a tool: on, unless the model has to answer now."""
    return "answer" if state["underway"]["progress"].get("why") else "think"


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
