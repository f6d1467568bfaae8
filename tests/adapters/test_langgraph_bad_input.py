"""Invalid input of the LangGraph nodes: states, messages and user ids as clients send them."""

# Without `from __future__ import annotations`: LangGraph reads the annotations of the states and contexts
# defined here.

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypedDict
from uuid import UUID

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from table import every_row

from hindsight_integrations import Hindsight, InvalidRequest
from hindsight_integrations.langgraph import Memory, create_recall_node, create_retain_node

BOTH_FACES = pytest.mark.parametrize("face", ["sync", pytest.param("async", marks=pytest.mark.slow)])
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
AUDIO = {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}
FILE = {"type": "file", "file": {"filename": "a.pdf", "file_data": "AAAA"}}
ODD = {"type": "of_tomorrow", "payload": [1, {"a": None}]}
THINKING = {"type": "reasoning", "reasoning": "They own a kayak."}
CALL = AIMessage("", tool_calls=[{"name": "find", "args": {"q": "kayak"}, "id": "c1"}])
SOUND = "My kayak is green."


class State(MessagesState):
    memories: list[Memory]


class Plain(TypedDict, total=False):
    """A state whose messages are a list that each turn replaces."""

    messages: list[Any]
    memories: list[Memory]


def chat(memory: Any, schema: Any = State, **options: Any) -> Any:
    graph = StateGraph(schema)
    graph.add_sequence(
        [("recall", create_recall_node(memory)), ("retain", create_retain_node(memory, **options))]
    )
    graph.add_edge(START, "recall")
    return graph.compile(checkpointer=InMemorySaver())


def run(graph: Any, face: str, messages: list[Any], **configurable: Any) -> dict[str, Any]:
    config = {"configurable": {"thread_id": "t1", "user_id": "ann", **configurable}}
    given = {"messages": messages}
    state: dict[str, Any] = (
        asyncio.run(graph.ainvoke(given, config)) if face == "async" else graph.invoke(given, config)
    )
    return state


def remembered(engine: Hindsight, bank: str = "ann") -> list[str]:
    return sorted(unit.text for unit in engine.bank(bank).iterate_units())


MESSAGES: list[Any] = [
    # expected memories, messages of the turn
    pytest.param([], [], id="no messages"),
    pytest.param([], [SystemMessage("You sell a kayak.")], id="system only"),
    pytest.param([], [CALL, ToolMessage("kayak: 3", tool_call_id="c1")], id="tools only"),
    pytest.param([], [CALL], id="a call without its result"),
    pytest.param([], [HumanMessage("")], id="empty text"),
    pytest.param([], [HumanMessage(" \n\t ")], id="blank text"),
    pytest.param([], [HumanMessage([])], id="no blocks"),
    pytest.param([], [HumanMessage([IMAGE])], id="an image only"),
    pytest.param([], [HumanMessage([AUDIO, FILE, ODD])], id="other blocks only"),
    pytest.param(
        ["user: Look at my kayak."],
        [HumanMessage([{"type": "text", "text": "Look at my kayak."}, IMAGE, ODD])],
        id="text beside an image",
    ),
    pytest.param(
        ["assistant: You paddle well."],
        [AIMessage([THINKING, {"type": "text", "text": "You paddle well."}])],
        id="text after thinking",
    ),
    pytest.param(
        ["user: I own a kayak.", "user: It is red."],
        [HumanMessage("I own a kayak."), HumanMessage("It is red.")],
        id="two humans in a row",
    ),
    pytest.param(
        ["user: I own a kayak."],
        [HumanMessage("I own a kayak.", id="a"), HumanMessage("I own a kayak.", id="a")],
        id="one id twice",
    ),
    pytest.param(["user: I own a kayak."], [{"role": "user", "content": "I own a kayak."}], id="a dict"),
    pytest.param(["user: I own a kayak."], [("user", "I own a kayak.")], id="a pair"),
    pytest.param(["user: I own a kayak."], ["I own a kayak."], id="a text"),
    pytest.param(
        ["user: I own a kayak."],
        [HumanMessage("I own a kayak."), CALL, ToolMessage("x" * 5_000_000, tool_call_id="c1")],
        id="a tool's 5 MB",
    ),
]


@BOTH_FACES
@pytest.mark.parametrize(("expected", "messages"), MESSAGES)
def test_any_messages_are_taken_as_they_are(
    light: Hindsight, face: str, expected: list[str], messages: list[Any]
) -> None:
    """People's words are remembered, everything else is ignored without an error, and the next turn works."""
    graph = chat(light)
    began = time.monotonic()
    state = run(graph, face, messages)
    assert time.monotonic() - began < 5
    assert remembered(light) == expected
    assert state["memories"] == []
    assert len(state["messages"]) == len({m.id for m in state["messages"]}) <= len(messages)
    run(graph, face, [HumanMessage(SOUND)])
    assert remembered(light) == sorted([*expected, f"user: {SOUND}"])


@BOTH_FACES
@pytest.mark.parametrize(
    ("start", "end", "text"),
    [
        pytest.param("user: kayak kayak", "", "kayak " * 500_000, id="3 MB of words"),
        pytest.param("user: kkkk", "", "k" * 1_000_000, id="1 MB of one word"),
        pytest.param("user: I own", "kayak.", "I own a\x00 kayak.", id="NUL"),
        pytest.param("user: I own", "kayak.", "I own a \ud83d kayak.", id="half a character"),
        pytest.param("user: I own", "\U0001f6f6", "I own a \U0001f6f6", id="emoji"),
    ],
)
def test_any_text_of_a_user_is_remembered(
    light: Hindsight, face: str, start: str, end: str, text: str
) -> None:
    """A pasted book is cut, characters that no database stores are removed, and the user always gets an answer."""
    graph = chat(light)
    began = time.monotonic()
    state = run(graph, face, [HumanMessage(text)])
    assert time.monotonic() - began < 20
    assert [m.text for m in state["messages"]] == [text]
    first = remembered(light)[0]
    assert first.startswith(start)
    assert first.endswith(end)
    run(graph, face, [HumanMessage(SOUND)])
    assert f"user: {SOUND}" in remembered(light)


@BOTH_FACES
def test_a_long_result_of_a_tool_is_cut_with_a_mark(light: Hindsight, face: str) -> None:
    """With tools among the roles, a result of 5 MB becomes a memory of a few thousand characters that says it was cut."""
    graph = chat(light, roles=("user", "assistant", "tool"))
    long = ToolMessage("kayak " * 833_333, tool_call_id="c1", name="find")
    run(graph, face, [HumanMessage(SOUND), CALL, long])
    tool = [text for text in remembered(light) if "find" in text]
    assert len(tool) == 1
    assert "find" in tool[0]
    assert len(tool[0]) < 5_000
    assert not tool[0].endswith("kayak ")


@BOTH_FACES
@pytest.mark.parametrize(
    ("expected", "turns"),
    [
        (
            ["user: A.B. owns a kayak.", "user: It is red."],
            [["A.B. owns a kayak."], ["A.B. owns a kayak.", "It is red."]],
        ),
        (["user: It is red.", "user: It is red."], [["It is red."], ["It is red.", "It is red."]]),
        (
            ["user: A.B. owns a kayak.", "user: It is red."],
            [["A.B. owns a kayak.", "It is red."], ["It is red."], ["It is red."]],
        ),
    ],
    ids=["a list that grows", "the same said twice", "a list that is trimmed"],
)
def test_messages_without_ids_are_remembered_once_each(
    light: Hindsight, face: str, expected: list[str], turns: list[list[str]]
) -> None:
    """A state without add_messages has no ids: a message that is passed again is the same one, a repeated statement is a new one."""
    graph = chat(light, Plain)
    for turn in turns:
        run(graph, face, [HumanMessage(text) for text in turn])
    assert remembered(light) == expected


@BOTH_FACES
@every_row("messages", [7, object(), {"role": "user"}, [object()], [None], [["user"]]])
@every_row("create", [create_recall_node, create_retain_node])
def test_what_is_no_list_of_messages_is_refused(
    light: Hindsight, face: str, create: Any, messages: Any
) -> None:
    """A state that contains something else than messages is a programming error, and the error names the place."""
    node = create(light)
    config: Any = {"configurable": {"thread_id": "t1", "user_id": "ann"}}
    given = {"messages": messages}
    with pytest.raises(InvalidRequest, match="messages"):
        asyncio.run(node.ainvoke(given, config)) if face == "async" else node.invoke(given, config)
    assert light.banks() == [] or remembered(light) == []


USERS: list[Any] = [
    # expected bank (None: rejected), user id
    ("a/b", "a/b"),
    ("a.b", "a.b"),
    ("..", ".."),
    ("../../etc/passwd", "../../etc/passwd"),
    ("ann@example.org", "ann@example.org"),
    ("\U0001f6f6 漢字", "\U0001f6f6 漢字"),
    ("x" * 512, "x" * 512),
    ("auth0|5f7c8ec7c33c6c004bbafe82", "auth0|5f7c8ec7c33c6c004bbafe82"),
    ("'; DROP TABLE banks; --", "'; DROP TABLE banks; --"),
    ("7", 7),
    ("0", 0),
    ("123e4567-e89b-12d3-a456-426614174000", UUID("123e4567-e89b-12d3-a456-426614174000")),
    (None, "x" * 513),
    (None, "a\x00b"),
    (None, "a\ud800"),
    (None, ""),
    (None, "   "),
    (None, None),
    (None, True),
    (None, 1.5),
    (None, b"ann"),
    (None, ["ann"]),
    (None, object()),
]


@BOTH_FACES
@pytest.mark.parametrize("create", [create_recall_node, create_retain_node])
@pytest.mark.parametrize(
    ("bank", "user"), USERS, ids=lambda value: "object" if type(value) is object else ascii(value)[:24]
)
def test_any_user_id_is_a_bank_of_its_own_or_refused(
    opener: Callable[..., Hindsight], tmp_path: Path, face: str, create: Any, bank: str | None, user: Any
) -> None:
    """Ids in any script are bank names, none leaves the directory; an invalid id is rejected and does not damage the state."""
    engine = opener(tmp_path / "home")
    graph = StateGraph(State)
    graph.add_node("node", create(engine))
    graph.add_edge(START, "node")
    compiled = graph.compile(checkpointer=InMemorySaver())
    told = [HumanMessage(SOUND)]
    if bank is None:
        with pytest.raises(InvalidRequest, match=r"user_id|bank"):
            run(compiled, face, told, user_id=user)
        assert engine.banks() == []
        config: Any = {"configurable": {"thread_id": "t1"}}
        assert [m.text for m in compiled.get_state(config).values["messages"]] == [SOUND]
        run(compiled, face, [], user_id="ann")
        bank = "ann"
    else:
        run(compiled, face, told, user_id=user)
    if create is create_retain_node:
        assert engine.banks() == [bank]
        assert remembered(engine, bank) == [f"user: {SOUND}"]
    assert [entry.name for entry in tmp_path.iterdir()] == ["home"]
