"""Invalid input of the reflect subgraph: messages and user ids as clients send them, and authenticated users."""

# Without `from __future__ import annotations`: LangGraph reads the annotations of the states and contexts
# defined here.

import asyncio
from typing import Any
from uuid import UUID

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from table import every_row

from hindsight_integrations import EngineClosed, Hindsight, InvalidRequest
from hindsight_integrations.langgraph import create_reflect_subgraph
from hindsight_integrations.langgraph.reflect_graph import Keys, question_of

BOTH_FACES = pytest.mark.parametrize("face", ["sync", pytest.param("async", marks=pytest.mark.slow)])
KNOWN, QUESTION = "The kayak is red.", "What colour is the kayak?"
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
CALL = AIMessage("", tool_calls=[{"name": "find", "args": {}, "id": "c1"}])


class State(MessagesState):
    answer: str


def graph_of(memory: Any) -> Any:
    graph = StateGraph(State)
    graph.add_node("reflect", create_reflect_subgraph(memory))
    graph.add_edge(START, "reflect")
    return graph.compile(checkpointer=InMemorySaver())


def run(graph: Any, face: str, messages: Any, **configurable: Any) -> dict[str, Any]:
    config = {"configurable": {"thread_id": "t1", "user_id": "ann", **configurable}}
    given = {"messages": messages}
    state: dict[str, Any] = (
        asyncio.run(graph.ainvoke(given, config)) if face == "async" else graph.invoke(given, config)
    )
    return state


@BOTH_FACES
@every_row(
    ("answered", "messages"),
    [
        pytest.param(False, [], id="no messages"),
        pytest.param(False, [SystemMessage("You sell a kayak.")], id="system only"),
        pytest.param(False, [CALL, ToolMessage("kayak", tool_call_id="c1")], id="tools only"),
        pytest.param(False, [HumanMessage(" \n")], id="blank text"),
        pytest.param(False, [HumanMessage([IMAGE])], id="an image only"),
        pytest.param(True, [HumanMessage([{"type": "text", "text": QUESTION}, IMAGE])], id="text and image"),
        pytest.param(True, [HumanMessage("Hello."), HumanMessage(QUESTION)], id="two humans in a row"),
        pytest.param(True, [{"role": "user", "content": QUESTION}], id="a dict"),
        pytest.param(True, [HumanMessage("kayak " * 500_000)], id="3 MB of words"),
        pytest.param(True, [HumanMessage("kayak \x00 \ud83d ?")], id="NUL and half a character"),
        pytest.param(
            True,
            [HumanMessage(QUESTION), CALL, ToolMessage("x" * 5_000_000, tool_call_id="c1")],
            id="a tool's 5 MB",
        ),
    ],
)
def test_any_messages_are_answered_or_have_an_empty_answer(
    light: Hindsight, face: str, answered: bool, messages: list[Any]
) -> None:
    """Without a question there is no answer and no error; the messages stay, and the next question is answered."""
    light.bank("ann").retain(KNOWN)
    graph = graph_of(light)
    state = run(graph, face, messages)
    assert (KNOWN in state["answer"]) is answered
    assert bool(state["answer"]) is answered
    assert len(state["messages"]) == len(messages)
    assert KNOWN in run(graph, face, [HumanMessage(QUESTION)])["answer"]


@BOTH_FACES
def test_an_image_after_a_question_is_a_turn_of_its_own(light: Hindsight, face: str) -> None:
    """A turn with an image has no question and no answer; if the question has a separate key, the answer belongs to it."""
    light.bank("ann").retain(KNOWN)
    graph = graph_of(light)
    assert KNOWN in run(graph, face, [HumanMessage(QUESTION, id="m1")])["answer"]
    assert run(graph, face, [AIMessage("Red."), HumanMessage([IMAGE], id="m2")])["answer"] == ""
    given = {"messages": [HumanMessage(QUESTION, id="m1"), HumanMessage([IMAGE], id="m2")]}
    keys = Keys("query", "messages", "answer", "reflection", (), as_message=False)
    assert question_of(given, keys) is None
    asked = question_of({**given, "query": QUESTION}, keys)
    assert asked is not None
    assert (asked.text, asked.message_id) == (QUESTION, "m2")


@BOTH_FACES
@pytest.mark.parametrize(
    ("bank", "user"),
    [
        ("../../etc/passwd", "../../etc/passwd"),
        ("ann@example.org", "ann@example.org"),
        ("\U0001f6f6 漢字", "\U0001f6f6 漢字"),
        ("x" * 512, "x" * 512),
        ("7", 7),
        ("123e4567-e89b-12d3-a456-426614174000", UUID("123e4567-e89b-12d3-a456-426614174000")),
        (None, "x" * 513),
        (None, "a\x00b"),
        (None, "a\ud800"),
        (None, "  "),
        (None, None),
        (None, True),
    ],
    ids=lambda value: ascii(value)[:24],
)
def test_any_user_id_is_a_bank_of_its_own_or_refused(
    light: Hindsight, face: str, bank: str | None, user: Any
) -> None:
    """An invalid id is rejected, the conversation stays complete, and with a valid id it continues."""
    light.bank(bank or "ann").retain(KNOWN)
    graph = graph_of(light)
    if bank is None:
        with pytest.raises(InvalidRequest, match=r"user_id|bank"):
            run(graph, face, [HumanMessage(QUESTION)], user_id=user)
        assert KNOWN in run(graph, face, [], user_id="ann")["answer"]
    else:
        assert KNOWN in run(graph, face, [HumanMessage(QUESTION)], user_id=user)["answer"]
    assert light.banks() == [bank or "ann"]


@BOTH_FACES
def test_nobody_reflects_on_the_memory_of_another(light: Hindsight, face: str) -> None:
    """The authenticated user is used, whatever user id the client's request contains."""
    light.bank("ann").retain(KNOWN)
    light.bank("victim").retain("The kayak is stolen.")
    claimed = {"user_id": "victim", "bank": "victim", "langgraph_auth_user_id": "ann"}
    answer = run(graph_of(light), face, [HumanMessage(QUESTION)], **claimed)["answer"]
    assert KNOWN in answer
    assert "stolen" not in answer


@BOTH_FACES
def test_a_closed_engine_is_an_error_while_there_is_no_answer(light: Hindsight, face: str) -> None:
    """The answer comes from memory: without memory there is none, and the question stays in the state."""
    graph = graph_of(light)
    light.close()
    with pytest.raises(EngineClosed, match="Open a new one"):
        run(graph, face, [HumanMessage(QUESTION)])
    (kept,) = graph.get_state({"configurable": {"thread_id": "t1"}}).values["messages"]
    assert kept.text == QUESTION
