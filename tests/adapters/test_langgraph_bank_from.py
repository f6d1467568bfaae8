"""The bank of a run: from a named place, from the authenticated user, or missing."""

# Without `from __future__ import annotations`: LangGraph reads the annotations of the states and contexts
# defined here.

from types import SimpleNamespace
from typing import Any, TypedDict

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from table import every_row

from hindsight_integrations import Hindsight, InvalidRequest
from hindsight_integrations.langgraph import create_retain_node

STATEMENT = {"messages": [HumanMessage("I own a kayak.", id="m1")]}

Graph = CompiledStateGraph[Any, Any, Any, Any]


class State(MessagesState):
    owner: dict[str, str]


class Context(TypedDict, total=False):
    user_id: str
    team: str
    user: dict[str, int]
    bank: str


def remembering(memory: Hindsight, **options: Any) -> Graph:
    """A graph with only a retain node."""
    graph: Any = StateGraph(State, context_schema=Context)
    graph.add_node("retain", create_retain_node(memory, **options))
    graph.add_edge(START, "retain")
    compiled: Graph = graph.compile(checkpointer=InMemorySaver())
    return compiled


def run(*, context: Any = None, config: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"context": context or {}, "config": {"configurable": {"thread_id": "t", **(config or {})}}}


@pytest.mark.parametrize(
    ("place", "given", "bank"),
    [
        ("context.user_id", run(context={"user_id": "ann"}, config={"user_id": "bob"}), "ann"),
        ("config.user_id", run(context={"user_id": "ann"}, config={"user_id": "bob"}), "bob"),
        ("context.user.id", run(context={"user": {"id": 7}}), "7"),
        ("state.owner.id", run(), "of the state"),
        ("auth", run(config={"langgraph_auth_user_id": "ann", "user_id": "bob"}), "ann"),
        (("auth", "config.user_id"), run(config={"langgraph_auth_user_id": "", "user_id": "bob"}), "bob"),
        (("context.team", "config.user_id"), run(config={"user_id": "bob"}), "bob"),
        (("context.team", "config.user_id"), run(context={"team": "red"}, config={"user_id": "bob"}), "red"),
    ],
)
def test_a_node_takes_the_bank_from_the_place_it_was_told(
    light: Hindsight, place: Any, given: dict[str, Any], bank: str
) -> None:
    """The named place is used whatever the others contain; of several places, the first with a value."""
    state = {**STATEMENT, "owner": {"id": "of the state"}}
    remembering(light, bank_from=place).invoke(state, **given)
    assert light.banks() == [bank]


@pytest.mark.parametrize(
    "signed_in",
    [
        {"langgraph_auth_user_id": "ann"},
        {"langgraph_auth_user": SimpleNamespace(identity="ann")},
    ],
)
def test_no_client_names_the_bank_of_another_user(light: Hindsight, signed_in: dict[str, Any]) -> None:
    """Behind a server that authenticates, the context and configurable from a client do not select the bank."""
    claimed = run(context={"user_id": "victim", "bank": "victim"}, config={"user_id": "victim", **signed_in})
    remembering(light).invoke(STATEMENT, **claimed)
    assert light.banks() == ["ann"]


@every_row(
    ("options", "missing"),
    [
        ({}, r"config\.user_id.*user_id"),
        ({"bank_from": "context.user_id"}, r"context\.user_id.*bank_from"),
        ({"bank_from": "auth"}, "no value in auth"),
        ({"bank": lambda state, runtime: None}, "None is not a bank name .*function passed as bank="),
    ],
)
def test_a_run_that_does_not_say_whose_memory_fails_and_says_what_to_do(
    light: Hindsight, options: dict[str, Any], missing: str
) -> None:
    """Nothing is stored without a user; the error names the places that were searched."""
    with pytest.raises(InvalidRequest, match=missing):
        remembering(light, **options).invoke(STATEMENT, **run())
    assert light.banks() == []


def test_going_back_in_time_without_the_user_says_to_merge_the_user_id(light: Hindsight) -> None:
    """`invoke(None, snapshot.config)` has no user id; the remedy in the error works."""
    graph = remembering(light)
    graph.invoke(STATEMENT, **run(config={"user_id": "ann"}))
    before = next(s for s in graph.get_state_history(run()["config"]) if s.next == ("retain",))
    with pytest.raises(InvalidRequest, match=r"snapshot\.config.*Add"):
        graph.invoke(None, before.config)
    graph.invoke(None, {"configurable": {**before.config["configurable"], "user_id": "ann"}})
    assert light.bank("ann").count() == 1


async def _asynchronous(state: Any, runtime: Any) -> str:
    return "ann"


@every_row(
    ("options", "wrong"),
    [
        ({"bank_from": "user_id"}, "'user_id' is not a valid place"),
        ({"bank_from": "context."}, "is not a valid place"),
        ({"bank_from": "runtime.user"}, "is not a valid place"),
        ({"bank_from": ()}, "name at least one place"),
        ({"bank_from": (3,)}, "3 is not a valid place"),
        ({"bank_from": "auth", "bank": "ann"}, "combined with bank="),
        ({"bank": _asynchronous}, "cannot await"),
    ],
)
def test_a_wrong_resolver_fails_when_the_node_is_made(
    light: Hindsight, options: dict[str, Any], wrong: str
) -> None:
    """A typo is reported at start-up."""
    with pytest.raises(InvalidRequest, match=wrong):
        create_retain_node(light, **options)
    if "bank_from" in options:
        with pytest.raises(InvalidRequest, match="already a bank"):
            create_retain_node(light.bank("ann"), bank_from="auth")
