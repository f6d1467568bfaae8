"""An agent of LangChain's create_agent that remembers its users across conversations. Runs without a key and without a network.

    pip install "hindsight-integrations[langchain,openai,offline]"
    python examples/create_agent_memory.py

A script stands in for the model. To talk to a real one, name it in HINDSIGHT_MODEL ("openai:gpt-5-mini", with OPENAI_API_KEY
set): it answers then. Memory is the messages word for word either way; open Hindsight with `model=` to have facts extracted.
"""

import os
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

from hindsight_integrations import Hindsight
from hindsight_integrations.langgraph import HindsightMiddleware
from hindsight_integrations.testing import ScriptedModel

HOURS = {"lisbon": "13:00", "porto": "13:00", "vienna": "14:00"}


@tool
def local_time(city: str) -> str:
    """What time it is in a city."""
    return f"It is {HOURS[city.casefold()]} in {city}."


def answer(messages: list[BaseMessage]) -> AIMessage:
    """Stands in for a language model: it asks the tool about a city that it remembers, and says what it learned."""
    if isinstance(messages[-1], ToolMessage):
        return AIMessage(str(messages[-1].text))
    memories = re.findall(r"^- (.*)$", str(messages[-1].text), re.MULTILINE)
    cities = re.findall(r"moved to (\w+)", " ".join(memories))
    if cities:
        return AIMessage("", tool_calls=[{"name": "local_time", "args": {"city": cities[0]}, "id": "call-1"}])
    return AIMessage("Tell me more.")


def build(hindsight: Hindsight) -> Any:  # noqa: ANN401 - what create_agent returns has six type parameters
    """An agent with a tool and a memory. The bank is the user's: `user_id` of the config, as `talk` passes it."""
    name = os.environ.get("HINDSIGHT_MODEL")
    model = ChatOpenAI(model=name.removeprefix("openai:")) if name else ScriptedModel(answer)
    # This stand-in only repeats what it reads, so its own words are not worth keeping; leave `roles` out with a real one.
    memory = HindsightMiddleware(hindsight, roles=("user",))
    return create_agent(
        model,
        [local_time],
        system_prompt="You are a helpful assistant.",
        middleware=[memory],
        checkpointer=InMemorySaver(),
    )


def talk(agent: Any, user: str, thread: str, text: str) -> None:  # noqa: ANN401 - see build
    """One turn."""
    config = {"configurable": {"user_id": user, "thread_id": thread}}
    state = agent.invoke({"messages": [HumanMessage(text)]}, config)
    print(f"[{thread}] {user}: {text}")
    print(f"[{thread}] agent: {state['messages'][-1].text}")


def main() -> None:
    """Alice talks in two conversations; Bob has memories of his own."""
    with TemporaryDirectory() as folder, Hindsight.open(Path(folder) / "memory") as hindsight:
        agent = build(hindsight)
        talk(agent, "alice", "monday", "My sister Ana moved to Lisbon.")
        talk(agent, "alice", "friday", "What time is it where my sister lives?")
        talk(agent, "bob", "saturday", "What time is it where my sister lives?")
        thread = agent.get_state({"configurable": {"thread_id": "friday"}}).values["messages"]
        print("in Friday's thread:", [message.type for message in thread])
        print(
            "Lisbon stands in its user messages:",
            any("Lisbon" in m.text for m in thread if m.type == "human"),
        )
        for user in hindsight.banks():
            print(f"{user}: {[unit.text for unit in hindsight.bank(user).iterate_units()]}")


if __name__ == "__main__":
    main()
