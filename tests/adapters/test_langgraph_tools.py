"""Memory tools of LangGraph in agents, in a ToolNode and called directly, on the run's bank."""

# Without `from __future__ import annotations`: LangGraph reads the annotations of the states defined here.

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from table import every_row
from tool_calling import Scripted, calling
from typing_extensions import TypedDict

from hindsight_integrations import EngineClosed, Hindsight, InvalidRequest, MemoryBank
from hindsight_integrations.langgraph import create_memory_tools

KAYAK = "Alice's kayak is blue."
ALICE: Any = {"configurable": {"user_id": "alice"}}
Run = Callable[..., Any]


def invoke(runnable: Any, given: Any, config: Any = None, **options: Any) -> Any:
    return runnable.invoke(given, config, **options)


def ainvoke(runnable: Any, given: Any, config: Any = None, **options: Any) -> Any:
    return asyncio.run(runnable.ainvoke(given, config, **options))


@pytest.fixture(params=[invoke, ainvoke])
def run(request: pytest.FixtureRequest) -> Run:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def bank(light: Hindsight) -> MemoryBank:
    made = light.bank("alice")
    made.retain(KAYAK, timestamp="2024-05-01")
    return made


class State(MessagesState):
    user_id: str


class Context(TypedDict):
    user_id: str


def tools_of(memory: Any, **options: Any) -> dict[str, BaseTool]:
    return {tool.name: tool for tool in create_memory_tools(memory, **options)}


def node_of(tools: list[BaseTool], **options: Any) -> Any:
    graph = StateGraph(State, **options)
    graph.add_node("tools", ToolNode(tools))
    graph.add_edge(START, "tools")
    return graph.compile()


def answered(state: Any) -> ToolMessage:
    message = state["messages"][-1]
    assert isinstance(message, ToolMessage)
    return message


def test_what_is_kept_is_found_and_forgotten_and_restored(light: Hindsight, run: Run) -> None:
    """Called directly, each tool works and describes the result in words that help a model to continue."""
    bank = light.bank("alice")
    tools = tools_of(bank)
    assert run(tools["recall_memories"], {"query": "kayak"}) == "Nothing is remembered about this."
    assert run(tools["retain_memory"], {"content": KAYAK}) == "Kept."
    (unit,) = [each.unit for each in bank.recall("kayak").units]
    shown = run(tools["recall_memories"], {"query": "kayak"})
    assert f"- [{unit.id}] {KAYAK}" in shown
    assert KAYAK in run(tools["reflect_on_memories"], {"question": "What colour is the kayak?"})
    forget = tools["forget_memory"]
    assert [run(forget, {"memory_id": unit.id}) for _ in range(2)] == [
        "Forgotten.",
        "It was forgotten already.",
    ]
    assert run(tools["recall_memories"], {"query": "kayak"}) == "Nothing is remembered about this."
    assert run(tools["retain_memory"], {"content": KAYAK}).startswith("That was known already. If it was")
    assert [event.reason for event in bank.history(unit.id)] == ["withdrawn by the agent's tool"]
    assert bank.restore(unit.id)
    assert KAYAK in run(tools["recall_memories"], {"query": "kayak"})


def test_records_are_listed_and_added_up(light: Hindsight, run: Run) -> None:
    """Records are complete and exact; if none match, the model is told which kinds exist."""
    bank = light.bank("alice")
    tool = tools_of(bank)["list_records"]
    assert run(tool, {}) == "No record is remembered."
    for day, price in enumerate(("4.10", "5.20"), start=1):
        record = {"kind": "expense", "category": "coffee", "value": price, "unit": "USD"}
        said = f"Alice paid {price} dollars for coffee."
        bank.retain(said, facts=[{"what": said, "records": [record]}], timestamp=f"2024-05-0{day}")
    call = {"name": "list_records", "args": {"kind": "expense"}, "id": "1", "type": "tool_call"}
    listed = run(tool, call)
    assert [each["value"] for each in listed.artifact] == ["4.10", "5.20"]
    assert listed.content.count("\n[") == listed.content.count("expense/coffee") == 2
    assert "sum = 9.30 USD, from 2 memories" in run(tool, {"category": "coffee", "how": "sum"})
    assert "count = 1, from 1 memories" in run(tool, {"how": "count", "start": "2024-05-02"})
    assert "expense/coffee (2)" in run(tool, {"kind": "income"})
    assert "Swap them" in run(tool, {"start": "2024-05-02", "end": "2024-05-01"})


@every_row(
    "days", [{"start": "9500-01-01"}, {"end": "0500-01-01"}, {"start": "9999-12-31", "end": "9999-12-31"}]
)
def test_days_beyond_all_records_match_nothing(light: Hindsight, run: Run, days: dict[str, str]) -> None:
    bank = light.bank("alice")
    bank.retain(KAYAK)
    assert run(tools_of(bank)["list_records"], days) == "No record is remembered."


def test_a_list_that_does_not_fit_says_so(light: Hindsight) -> None:
    bank = light.bank("alice")
    for number in range(5):
        said = f"Task number {number} is open."
        bank.retain(said, facts=[{"what": said, "records": [{"kind": "task", "value": f"number {number}"}]}])
    shown = tools_of(bank, max_tokens=1)["list_records"].invoke({})
    assert "These are the first 1 of 5." in shown


@pytest.mark.parametrize("where", ["context", "config", "state", "auth"])
def test_the_bank_is_the_runs(light: Hindsight, run: Run, where: str) -> None:
    """In a ToolNode of a graph, wherever the run names its user."""
    light.bank("alice").retain(KAYAK)
    light.bank("bob").retain("Bob's kayak is green.")
    places = {
        "context": "context.user_id",
        "config": "config.user_id",
        "state": "state.user_id",
        "auth": "auth",
    }
    graph = node_of(create_memory_tools(light, bank_from=places[where]), context_schema=Context)
    given: Any = {"messages": [calling("recall_memories", query="kayak")]}
    config: Any = {"configurable": {}}
    options: Any = {}
    if where == "context":
        options = {"context": {"user_id": "bob"}}
    elif where == "state":
        given["user_id"] = "bob"
    else:
        config["configurable"]["user_id" if where == "config" else "langgraph_auth_user_id"] = "bob"
    message = answered(run(graph, given, config, **options))
    assert [each["text"] for each in message.artifact] == ["Bob's kayak is green."]
    assert (message.status, "Bob's kayak is green." in message.content) == ("success", True)


@pytest.mark.parametrize(
    "forged",
    [
        {"bank": "bob"},
        {"user_id": "bob"},
        {"config": {"configurable": {"user_id": "bob"}}},
        {"runtime": {"context": {"user_id": "bob"}, "state": {"user_id": "bob"}}},
        {"state": {"user_id": "bob"}},
    ],
)
def test_a_model_cannot_name_another_users_bank(light: Hindsight, run: Run, forged: Any) -> None:
    """Unknown arguments are rejected; `runtime` is what ToolNode passes, whatever the model wrote."""
    light.bank("alice").retain(KAYAK)
    light.bank("bob").retain("Bob's kayak is green.")
    tools = create_memory_tools(light)
    said = calling("recall_memories", query="kayak", **forged)
    message = answered(run(node_of(tools), {"messages": [said]}, ALICE))
    assert "Bob" not in message.content
    if "runtime" in forged:
        assert KAYAK in message.content
    else:
        assert message.status == "error"
        assert "is not an argument. Call recall_memories again; it takes query." in message.content
    by_hand = run(tools_of(light)["recall_memories"], said.tool_calls[0], ALICE)
    assert by_hand.status == "error"
    assert "is not an argument" in by_hand.content


def test_the_model_is_shown_what_it_may_say_and_no_more(bank: MemoryBank) -> None:
    """Names, descriptions and schemas are in tests/golden/tools.json."""
    erasing = tools_of(bank, allow_erase=True)["forget_memory"].tool_call_schema
    assert list(erasing.model_json_schema()["properties"]) == ["memory_id", "erase"]  # type: ignore[union-attr]
    assert all(
        field["description"]
        for tool in tools_of(bank).values()
        for field in tool.tool_call_schema.model_json_schema()["properties"].values()  # type: ignore[union-attr]
    )


@every_row(
    ("name", "arguments", "told"),
    [
        ("recall_memories", {}, "query: Field required. Call recall_memories again; it takes query."),
        ("recall_memories", {"query": ""}, "query: String should have at least 1 character"),
        ("recall_memories", {"query": "   "}, "query: "),
        ("recall_memories", {"query": ["kayak"]}, "query: Input should be a valid string"),
        ("retain_memory", {"content": " \n"}, "content: "),
        ("reflect_on_memories", {"question": "x" * 20_000}, "question: "),
        ("forget_memory", {"memory_id": "no such id"}, "memory_id: 'no such id' is not in bank"),
        ("forget_memory", {"memory_id": "\ud800"}, "memory_id: "),
        ("forget_memory", {"memory_id": "x", "erase": True}, "'erase' is not an argument"),
        ("list_records", {"start": "yesterday"}, "start: Input should be a valid date"),
        ("list_records", {"how": "median"}, "how: Input should be 'sum'"),
    ],
)
def test_wrong_arguments_are_the_models_to_mend(
    bank: MemoryBank, run: Run, name: str, arguments: dict[str, Any], told: str
) -> None:
    """In ToolNode and in a direct call, the model is told what is wrong and how to call the tool; nothing is raised or changed."""
    call = calling(name, **arguments)
    message = answered(run(node_of(create_memory_tools(bank)), {"messages": [call]}))
    by_hand = run(tools_of(bank)[name], call.tool_calls[0])
    assert message.status == by_hand.status == "error"
    assert message.content == by_hand.content
    assert told in message.content
    assert f"Call {name} again" in message.content
    assert [unit.text for unit in bank.units().units] == [KAYAK]


def test_an_id_of_another_bank_is_unknown(light: Hindsight, run: Run) -> None:
    light.bank("alice").retain(KAYAK)
    (unit,) = light.bank("bob").retain("Bob's kayak is green.").unit_ids
    graph = node_of(create_memory_tools(light))
    message = answered(run(graph, {"messages": [calling("forget_memory", memory_id=unit)]}, ALICE))
    assert message.status == "error"
    assert light.bank("bob").get(unit).closed_at is None


def test_the_operators_mistakes_and_failures_are_raised(light: Hindsight, run: Run) -> None:
    """A run without a user, a wrong option and a closed engine are not the model's errors."""
    call = {"messages": [calling("recall_memories", query="kayak")]}
    with pytest.raises(InvalidRequest, match="does not select a bank"):
        run(node_of(create_memory_tools(light)), call)
    with pytest.raises(InvalidRequest, match="k:"):
        run(node_of(create_memory_tools(light, recall_options={"k": -1})), call, ALICE)
    light.close()
    with pytest.raises(EngineClosed):
        run(node_of(create_memory_tools(light)), call, ALICE)


@every_row(
    ("options", "field"),
    [
        ({"names": ["recal"]}, "names"),
        ({"names": "recall"}, "names"),
        ({"names": None}, "names"),
        ({"names": []}, "names"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"recall_options": {"query": "x"}}, "recall_options"),
        ({"reflect_options": {"depth": 2}}, "reflect_options"),
        ({"bank_from": "headers.user"}, "bank_from"),
        ({"tags": "x"}, "tags"),
        ({"metadata": 5}, "metadata"),
    ],
)
def test_options_are_checked_when_the_tools_are_made(light: Hindsight, options: Any, field: str) -> None:
    with pytest.raises(InvalidRequest, match=f"^{field}"):
        create_memory_tools(light, **options)


@pytest.mark.parametrize("of", ["engine", "async engine", "bank", "async bank"])
def test_any_api_serves_both_ways_of_running(light: Hindsight, bank: MemoryBank, run: Run, of: str) -> None:
    faces = {
        "engine": light,
        "async engine": light.asynchronous,
        "bank": bank,
        "async bank": bank.asynchronous,
    }
    tools = tools_of(faces[of])
    config = ALICE if "engine" in of else None
    assert KAYAK in run(tools["recall_memories"], {"query": "kayak"}, config)
    assert run(tools["retain_memory"], {"content": "Alice's tent is green."}, config) == "Kept."
    assert KAYAK in run(tools["recall_memories"], "kayak", config)  # a plain string is the first argument


def test_only_the_tools_named_are_made(bank: MemoryBank) -> None:
    """Without forget, results contain no ids, and prompts stay short."""
    tools = tools_of(bank, names=["recall", "retain", "recall"])
    assert list(tools) == ["recall_memories", "retain_memory"]
    assert f"- {KAYAK}" in tools["recall_memories"].invoke({"query": "kayak"})


def test_an_agent_calls_them(light: Hindsight, run: Run) -> None:
    """With create_agent: what one conversation retains, another of the same user finds, and no other user."""
    tools = create_memory_tools(light)
    keeping = Scripted(messages=iter([calling("retain_memory", content=KAYAK), AIMessage("Noted.")]))
    asked = {"messages": [HumanMessage("Remember my blue kayak.")]}
    kept = run(create_agent(keeping, tools, context_schema=Context), asked, context={"user_id": "alice"})
    assert [message.content for message in kept["messages"][-2:]] == ["Kept.", "Noted."]
    for user, found in (("alice", [KAYAK]), ("bob", [])):
        looking = Scripted(messages=iter([calling("recall_memories", query="kayak"), AIMessage("Done.")]))
        agent = create_agent(looking, tools, context_schema=Context)
        state = run(agent, {"messages": [HumanMessage("Which kayak?")]}, context={"user_id": user})
        assert [each["text"] for each in state["messages"][-2].artifact] == found


def test_what_watchers_are_told_has_no_text(bank: MemoryBank) -> None:
    graph = node_of(create_memory_tools(bank))
    given = {"messages": [calling("recall_memories", query="kayak")]}
    events = list(graph.stream(given, stream_mode="custom"))
    assert [(event["kind"], event["bank"], len(event["units"])) for event in events] == [
        ("recalled", "alice", 1)
    ]
    assert KAYAK not in str(events)
