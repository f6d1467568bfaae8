"""A chat service for several uvicorn workers, whose conversations and memory are on one PostgreSQL server.

    export MEMORY_URL=postgresql://localhost/memory MEMORY_CACHE=/var/cache/chat
    uvicorn app:app --workers 4

`run.py` starts it with task workers and clients. Without HINDSIGHT_MODEL the scripted model repeats the memories in its prompt.
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, TypedDict

from fastapi import FastAPI, Request
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool
from pydantic import BaseModel

from hindsight_integrations import AsyncHindsight, HindsightConfig
from hindsight_integrations.config import ObservationConfig
from hindsight_integrations.langgraph import (
    MemoryState,
    create_recall_node,
    create_retain_node,
    with_memories,
)
from hindsight_integrations.testing import ScriptedModel

Graph = CompiledStateGraph[Any, Any, Any, Any]


class Said(BaseModel):
    """A message of a user. A repeated request with the same id is stored once."""

    id: str
    user: str
    thread: str
    text: str


class Services(TypedDict):
    """The objects that a worker opens once for all requests."""

    graph: Graph


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncIterator[Services]:
    """Open the memory in each worker: an engine does not survive a fork."""
    url, settings = os.environ["MEMORY_URL"], HindsightConfig.from_env()
    # A short delay, so that run.py does not wait long for the task workers.
    settings = replace(settings, observations=ObservationConfig(delay_s=1))
    connecting = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    async with (
        AsyncHindsight.open(
            url, cache=os.environ.get("MEMORY_CACHE"), config=settings, worker="elsewhere"
        ) as hindsight,
        AsyncConnectionPool(url, kwargs=connecting, max_size=4) as pool,
    ):
        yield {"graph": build(hindsight, AsyncPostgresSaver(pool))}


def scripted_reply(messages: list[BaseMessage]) -> str:
    """Repeat the memories in the prompt of a question."""
    memories, _, message = messages[-1].text.rpartition("\n\n")
    return (memories or "I don't know yet.") if message.endswith("?") else "Noted."


def build(hindsight: AsyncHindsight, saver: AsyncPostgresSaver) -> Graph:
    """Build the graph recall -> answer -> retain. The `user_id` of the config selects the bank."""
    name = os.environ.get("HINDSIGHT_MODEL")
    model = ChatOpenAI(model=name.removeprefix("openai:")) if name else ScriptedModel(scripted_reply)

    async def answer(state: MemoryState) -> dict[str, list[BaseMessage]]:
        return {"messages": [await model.ainvoke(with_memories(state["messages"], state["memories"]))]}

    graph = StateGraph(MemoryState)
    graph.add_node("recall", create_recall_node(hindsight))
    graph.add_node("answer", answer)
    graph.add_node("retain", create_retain_node(hindsight, roles=("user",)))
    graph.add_edge(START, "recall")
    graph.add_edge("recall", "answer")
    graph.add_edge("answer", "retain")
    return graph.compile(checkpointer=saver)


app = FastAPI(lifespan=lifespan)


@app.post("/chat")
async def chat(said: Said, request: Request) -> dict[str, str | int]:
    """Answer a message, and return the id of the worker that answered."""
    config: RunnableConfig = {
        "configurable": {"user_id": said.user, "thread_id": f"{said.user}/{said.thread}"}
    }
    graph: Graph = request.state.graph
    state = await graph.ainvoke({"messages": [HumanMessage(said.text, id=said.id)]}, config)
    return {"answer": state["messages"][-1].text, "worker": os.getpid()}
