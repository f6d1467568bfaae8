"""An agent built with LangChain's create_agent that remembers its users across conversations. Runs without a key and without a network.

    pip install "hindsight-integrations[langchain,openai,offline]"
    python examples/create_agent_memory.py

Without HINDSIGHT_MODEL the model is scripted: it knows only the memories in its prompt. Set it ("openai:gpt-5-mini", with
OPENAI_API_KEY), and a real model answers. Memories are verbatim messages either way; open Hindsight with `model=` to extract facts.
"""

import os
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

HOURS = {"Lisbon": "13:00", "Porto": "13:00", "Vienna": "14:00"}


@tool
def local_time(city: str) -> str:
    """Tell the time in a city."""
    return f"It is {HOURS[city.title()]} in {city}."


QUESTION = "What time is it where my sister lives?"


def scripted_reply(messages: list[BaseMessage]) -> AIMessage:
    """Answer the question with the tool if the memories in the prompt name the sister's city."""
    if isinstance(messages[-1], ToolMessage):
        return AIMessage(str(messages[-1].text))
    memories, _, message = str(messages[-1].text).rpartition("\n\n")
    if message != QUESTION:
        return AIMessage("Noted.")
    city = next((city for city in HOURS if f"sister Ana moved to {city}" in memories), None)
    if city is None:
        return AIMessage("I don't know yet where your sister lives.")
    return AIMessage("", tool_calls=[{"name": "local_time", "args": {"city": city}, "id": "call-1"}])


def build(hindsight: Hindsight) -> Any:  # noqa: ANN401 - what create_agent returns has six type parameters
    """Build an agent with a tool and a memory. The `user_id` of the config, which `talk` passes, selects the bank."""
    name = os.environ.get("HINDSIGHT_MODEL")
    model = ChatOpenAI(model=name.removeprefix("openai:")) if name else ScriptedModel(scripted_reply)
    # Scripted replies only repeat what users said, so they are not retained. Leave `roles` out with a real model.
    memory = HindsightMiddleware(hindsight, roles=("user",))
    return create_agent(
        model,
        [local_time],
        system_prompt="You are a helpful assistant.",
        middleware=[memory],
        checkpointer=InMemorySaver(),
    )


def talk(agent: Any, user: str, thread: str, text: str) -> None:  # noqa: ANN401 - see build
    """Run one turn."""
    config = {"configurable": {"user_id": user, "thread_id": thread}}
    state = agent.invoke({"messages": [HumanMessage(text)]}, config)
    print(f"[{thread}] {user}: {text}")
    print(f"[{thread}] agent: {state['messages'][-1].text}")


def main() -> None:
    """Talk to Alice in two conversations, and to Bob, who has his own bank."""
    with TemporaryDirectory() as folder, Hindsight.open(Path(folder) / "memory") as hindsight:
        agent = build(hindsight)
        talk(agent, "alice", "monday", "My sister Ana moved to Lisbon.")
        talk(agent, "alice", "friday", QUESTION)
        talk(agent, "bob", "saturday", QUESTION)
        thread = agent.get_state({"configurable": {"thread_id": "friday"}}).values["messages"]
        print("messages in Friday's thread:", [message.type for message in thread])
        print(
            "its user messages contain Lisbon:",
            any("Lisbon" in m.text for m in thread if m.type == "human"),
        )
        for user in hindsight.banks():
            print(f"{user}: {[unit.text for unit in hindsight.bank(user).iterate_units()]}")


if __name__ == "__main__":
    main()
