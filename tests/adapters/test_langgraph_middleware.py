"""An agent of create_agent with the middleware over thirty turns: checkpoints, prompts and banks."""

import asyncio
import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.load import dumps
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from openai_server import OpenAIServer, Said
from pydantic import SecretStr

from hindsight_integrations import Hindsight
from hindsight_integrations.langgraph import HindsightMiddleware
from hindsight_integrations.prompts.recalled import HEADING
from hindsight_integrations.testing.scripted_model import ScriptedModel

PROMPT = "You are the club's assistant."
THINGS = ("boat", "hive", "orchard", "violin", "kiln", "tent", "loom", "clock", "piano", "telescope")
COLOURS = ("red", "blue", "green")
TURNS = [
    f"My {colour} {thing} stands in shed {at}."
    for at, (colour, thing) in enumerate((colour, thing) for colour in COLOURS for thing in THINGS)
]  # thirty statements
MARK = HEADING[:40]


def config(user: str, thread: str) -> Any:
    return {"configurable": {"user_id": user, "thread_id": thread}}


def said(text: str) -> Any:
    return {"messages": [HumanMessage(text)]}


def shown(prompt: list[BaseMessage]) -> str:
    """The memories in a prompt next to the user's last message."""
    return str(prompt[-1].text) if MARK in str(prompt[-1].text) else ""


class Talk:
    """An agent and its model, which records prompts. Every answer is "Noted.", so that it quotes no memory."""

    def __init__(self, memory: Any, saver: Any, way: str = "invoke", **options: Any) -> None:
        self.model = ScriptedModel(lambda _: "Noted.")
        self.way = way
        self.agent: Any = create_agent(
            self.model,
            system_prompt=PROMPT,
            middleware=[HindsightMiddleware(memory, **{"relevance": "all", **options})],
            checkpointer=saver,
        )

    def turn(self, text: str, user: str, thread: str) -> list[BaseMessage]:
        """One turn; returns the model's prompt."""
        given = config(user, thread)
        if self.way == "invoke":
            self.agent.invoke(said(text), given)
        else:
            asyncio.run(self.agent.ainvoke(said(text), given))
        return self.model.prompts[-1]


@pytest.fixture(params=["memory", "sqlite"])
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    with ExitStack() as stack:
        if request.param == "memory":
            yield InMemorySaver()
        else:
            yield stack.enter_context(SqliteSaver.from_conn_string(str(tmp_path / "threads.sqlite")))


def everything_stored(saver: BaseCheckpointSaver[Any]) -> dict[str, list[Any]]:
    """Everything that a saver stored, by channel: checkpoints and task writes; the rest under ""."""
    found: dict[str, list[Any]] = defaultdict(list)
    for stored in saver.list(None):
        for channel, value in stored.checkpoint["channel_values"].items():
            found[channel].append(value)
        for _, channel, value in stored.pending_writes or ():
            found[channel].append(value)
        found[""].append((stored.config, stored.metadata))
    return found


def assert_only_the_end_changes(prompts: list[list[BaseMessage]]) -> None:
    """Each prompt begins, byte for byte, with the part of the previous prompt before the user's last message."""
    for earlier, later in pairwise(prompts):
        kept = [dumps(message) for message in earlier[:-1]]
        assert [dumps(message) for message in later[: len(kept)]] == kept
        assert len(later) > len(earlier)


@pytest.mark.slow
def test_thirty_turns_leave_no_memory_in_the_thread_and_keep_the_prefix_of_the_prompt(
    light: Hindsight, saver: Any
) -> None:
    """Checkpoints contain only the conversation; the user's second thread recalls the first; Bob recalls nothing."""
    talk = Talk(light, saver)
    prompts = [talk.turn(text, "ann", "monday") for text in TURNS]
    assert len(TURNS) == len(set(TURNS)) == 30
    assert light.bank("ann").count() == 30
    assert all(shown(prompt) for prompt in prompts[1:])  # all turns but the first had memories to show
    assert_only_the_end_changes(prompts)
    for prompt, text in zip(prompts, TURNS, strict=True):
        assert prompt[0] == SystemMessage(PROMPT)
        assert str(prompt[-1].text).endswith(text)
        assert all(MARK not in str(message.text) for message in prompt[:-1])

    state = talk.agent.get_state(config("ann", "monday")).values
    assert [message.text for message in state["messages"]] == [
        each for text in TURNS for each in (text, "Noted.")
    ]
    assert list(state) == ["messages"]
    stored = everything_stored(saver)
    assert any(text in repr(stored["messages"]) for text in TURNS)
    assert MARK not in repr(stored)
    beside = {
        channel: values for channel, values in stored.items() if channel not in {"messages", "__start__"}
    }
    assert not [text for text in TURNS if text in repr(beside)]
    assert TURNS[4] in shown(talk.turn("Where is the red kiln?", "ann", "tuesday"))
    assert not shown(talk.turn("Where is the red kiln?", "bob", "wednesday"))
    assert light.bank("bob").count() == 0


@pytest.mark.slow
def test_thirty_turns_awaited(light: Hindsight, tmp_path: Path) -> None:
    """The same with async code and SQLite's saver."""

    async def whole() -> None:
        async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "threads.sqlite")) as saver:
            talk = Talk(light, saver)
            for text in TURNS:
                await talk.agent.ainvoke(said(text), config("ann", "monday"))
            assert_only_the_end_changes(talk.model.prompts)
            assert all(shown(prompt) for prompt in talk.model.prompts[1:])
            stored = [repr(each) async for each in saver.alist(None)]
            assert not [each for each in stored if MARK in each]
            await talk.agent.ainvoke(said("Where is the red kiln?"), config("ann", "tuesday"))
            assert TURNS[4] in shown(talk.model.prompts[-1])
            await talk.agent.ainvoke(said("Where is the red kiln?"), config("bob", "wednesday"))
            assert not shown(talk.model.prompts[-1])

    asyncio.run(whole())
    assert light.bank("ann").count() == 30


def test_an_agent_remembers_over_a_restart(
    opener: Callable[..., Hindsight], tmp_path: Path, light_config: Any
) -> None:
    first = opener(tmp_path / "memory", config=light_config)
    Talk(first, InMemorySaver()).turn("My boat is called Thunder.", "ann", "monday")
    first.close()
    again = Talk(opener(tmp_path / "memory", config=light_config), InMemorySaver())
    assert "Thunder" in shown(again.turn("What is the name of my boat?", "ann", "friday"))


def test_what_goes_over_the_wire_begins_with_what_went_before(light: Hindsight) -> None:
    """Requests of a real client with tools: the text up to the last user message is the start of the next request."""

    @tool
    def shed_of(thing: str) -> str:
        """The place where a thing is kept."""
        return f"The {thing} is where it was."

    turns = TURNS[:10]
    with OpenAIServer([Said("Noted.")] * len(turns)) as server:
        client = ChatOpenAI(model="any", base_url=server.url, api_key=SecretStr("test"), max_retries=0)
        agent: Any = create_agent(
            client,
            [shed_of],
            system_prompt=PROMPT,
            middleware=[HindsightMiddleware(light)],
            checkpointer=InMemorySaver(),
        )
        for text in turns:
            agent.invoke(said(text), config("ann", "monday"))
        bodies = [request.body for request in server.requests]
    assert len({json.dumps(body["tools"]) for body in bodies}) == 1
    sent = [[json.dumps(message) for message in body["messages"]] for body in bodies]
    for earlier, later in pairwise(sent):
        assert later[: len(earlier) - 1] == earlier[:-1]
    assert [len(each) for each in sent] == [2 * at + 2 for at in range(10)]
    assert all(MARK in body["messages"][-1]["content"] for body in bodies[1:])
