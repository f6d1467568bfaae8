"""A LangGraph chatbot that remembers its users across conversations. Runs without a key and without a network.

    pip install "hindsight-integrations[langgraph,openai,offline]"
    python examples/langgraph_chat.py

A script stands in for the model. To talk to a real one, name it in HINDSIGHT_MODEL ("openai:gpt-5-mini", with OPENAI_API_KEY
set): it answers then, and memory is narrative facts that it extracts from the conversation instead of the messages word for word.
"""

import os
import re
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


def answer_from_memory(messages: list[BaseMessage]) -> str:
    """Stands in for a language model: it quotes the best of the memories it is shown."""
    memories = re.findall(r"^- (.*)$", messages[-1].text, re.MULTILINE)
    return f"I remember: {memories[0]}" if memories else "Nice to meet you! I will remember that."


def build(hindsight: Hindsight) -> CompiledStateGraph[Any, Any, Any, Any]:
    """recall -> answer -> retain. The bank is the user's: `user_id` of the config, as `talk` passes it."""
    name = os.environ.get("HINDSIGHT_MODEL")
    model = ChatOpenAI(model=name.removeprefix("openai:")) if name else ScriptedModel(answer_from_memory)

    def answer(state: MemoryState) -> dict[str, list[BaseMessage]]:
        # Memories go into the prompt of this turn only; the conversation itself stays clean.
        prompt = with_memories(state["messages"], state["memories"])
        return {"messages": [model.invoke([SystemMessage(PROMPT), *prompt])]}

    graph = StateGraph(MemoryState)
    graph.add_node("recall", create_recall_node(hindsight))
    graph.add_node("answer", answer)
    # This stand-in for a model only repeats what users say, so its own words are not worth keeping; leave `roles` out
    # with a real one.
    graph.add_node("retain", create_retain_node(hindsight, roles=("user",)))
    graph.add_edge(START, "recall")
    graph.add_edge("recall", "answer")
    graph.add_edge("answer", "retain")
    return graph.compile(checkpointer=InMemorySaver())


def talk(graph: CompiledStateGraph[Any, Any, Any, Any], user: str, thread: str, text: str, day: str) -> None:
    """One turn. Messages carry the day they were said; without it that is now."""
    config: RunnableConfig = {"configurable": {"user_id": user, "thread_id": thread}}
    message = HumanMessage(text, additional_kwargs={"timestamp": day})
    state = graph.invoke({"messages": [message]}, config)
    print(f"[{thread}, {day}] {user}: {text}")
    print(f"[{thread}, {day}] agent: {state['messages'][-1].text}\n")


def main() -> None:
    """Alice talks in two conversations; Bob has memories of his own."""
    with TemporaryDirectory() as folder, Hindsight.open(Path(folder) / "memory") as hindsight:
        graph = build(hindsight)
        talk(graph, "alice", "monday", "My sister Ana moved to Lisbon last month.", "2024-06-10T09:00")
        talk(graph, "alice", "friday", "Where does my sister live?", "2024-06-14T18:00")
        talk(graph, "bob", "saturday", "Where does my sister live?", "2024-06-15T12:00")
        for user in hindsight.banks():
            print(f"{user}: {hindsight.bank(user).count()} memories")


if __name__ == "__main__":
    main()
