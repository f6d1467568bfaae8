"""A LangGraph chatbot that remembers its users across conversations. Runs without a key and without a network.

    pip install "hindsight-integrations[langgraph,openai,offline]"
    python examples/langgraph_chat.py

Without HINDSIGHT_MODEL the replies are scripted: a reply is given only if the memories in the prompt contain its words. Set it
("openai:gpt-5-mini", with OPENAI_API_KEY), and a real model answers and extracts narrative facts; otherwise memories are verbatim messages.
"""

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from hindsight_integrations import Hindsight
from hindsight_integrations.langgraph import (
    MemoryState,
    create_recall_node,
    create_retain_node,
    with_memories,
)
from hindsight_integrations.testing import ScriptedModel

PROMPT = "You are a helpful assistant."


SCRIPT = [  # message, words that the memories in the prompt must contain, reply
    ("My sister Ana moved to Lisbon last month.", [], "Lovely! What does she do there?"),
    (
        "Where does my sister live?",
        ["sister Ana", "Lisbon", "May 2024"],
        "Your sister Ana lives in Lisbon; she moved there in May.",
    ),
]


def scripted_reply(messages: list[BaseMessage]) -> str:
    """Return the reply of the first row whose message and memories match."""
    memories, _, message = messages[-1].text.rpartition("\n\n")
    for expected, words, reply in SCRIPT:
        if message == expected and all(word in memories for word in words):
            return reply
    return "I don't know yet." if message.endswith("?") else "Noted."


def build(hindsight: Hindsight) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Build the graph recall -> answer -> retain. The `user_id` of the config, which `talk` passes, selects the bank."""
    name = os.environ.get("HINDSIGHT_MODEL")
    model = ChatOpenAI(model=name.removeprefix("openai:")) if name else ScriptedModel(scripted_reply)

    def answer(state: MemoryState) -> dict[str, list[BaseMessage]]:
        # Memories go into the prompt of this turn only; the conversation itself stays clean.
        prompt = with_memories(state["messages"], state["memories"])
        return {"messages": [model.invoke([SystemMessage(PROMPT), *prompt])]}

    graph = StateGraph(MemoryState)
    graph.add_node("recall", create_recall_node(hindsight))
    graph.add_node("answer", answer)
    # Scripted replies only repeat what users said, so they are not retained. Leave `roles` out with a real model.
    graph.add_node("retain", create_retain_node(hindsight, roles=("user",)))
    graph.add_edge(START, "recall")
    graph.add_edge("recall", "answer")
    graph.add_edge("answer", "retain")
    return graph.compile(checkpointer=InMemorySaver())


def talk(graph: CompiledStateGraph[Any, Any, Any, Any], user: str, thread: str, text: str, day: str) -> None:
    """Run one turn. A message may carry the time it was said; the default is now."""
    config: RunnableConfig = {"configurable": {"user_id": user, "thread_id": thread}}
    message = HumanMessage(text, additional_kwargs={"timestamp": day})
    state = graph.invoke({"messages": [message]}, config)
    print(f"[{thread}, {day}] {user}: {text}")
    print(f"[{thread}, {day}] agent: {state['messages'][-1].text}\n")


def main() -> None:
    """Talk to Alice in two conversations, and to Bob, who has his own bank."""
    with TemporaryDirectory() as folder, Hindsight.open(Path(folder) / "memory") as hindsight:
        graph = build(hindsight)
        talk(graph, "alice", "monday", "My sister Ana moved to Lisbon last month.", "2024-06-10T09:00")
        talk(graph, "alice", "friday", "Where does my sister live?", "2024-06-14T18:00")
        talk(graph, "bob", "saturday", "Where does my sister live?", "2024-06-15T12:00")
        for user in hindsight.banks():
            print(f"{user}: {hindsight.bank(user).count()} memories")


if __name__ == "__main__":
    main()
