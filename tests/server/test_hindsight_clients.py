"""The Hindsight server's own client packages, unchanged, against `hindsight-memory serve`: `make test-server`."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from itertools import product
from typing import Any

import pytest
import schemathesis
from hindsight_client import Hindsight
from hindsight_langgraph import (
    create_hindsight_tools,
    create_recall_node,
    create_retain_node,
    memory_instructions,
)
from hindsight_llamaindex import HindsightMemory
from hindsight_llamaindex import create_hindsight_tools as create_llamaindex_tools
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, MessagesState, StateGraph
from llama_index.core.llms import ChatMessage

LISBON, ANSWER = "Alice moved to Lisbon in May 2024.", "Where does Alice live?"
TOKEN = "a-token-for-all-banks"  # noqa: S105 - of a test


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server in a separate process, with a token."""
    folder = tmp_path_factory.mktemp("served")
    tokens = folder / "tokens.toml"
    tokens.write_text(f'[tokens]\n"{TOKEN}" = ["*"]\n')
    command = [
        sys.executable,
        "-m",
        "hindsight_integrations.cli",
        "serve",
        str(folder / "memory"),
        "--port",
        "0",
    ]
    light = os.environ | {"HINDSIGHT_VECTORS": "exact", "HINDSIGHT_KEYWORDS": "fts5"}
    with subprocess.Popen(
        [*command, "--tokens", str(tokens)], stdout=subprocess.PIPE, text=True, env=light
    ) as server:
        assert server.stdout
        found = re.search(r"http://\S+\d", server.stdout.readline())
        assert found
        yield found[0]
        server.terminate()


def test_the_python_client(url: str) -> None:
    """Banks, retain, recall, reflect, lists, changes and deletion: each call and its result."""
    with Hindsight(url, api_key=TOKEN) as client:
        assert client.get_version().api_version
        profile = client.create_bank("client", name="Ada", mission="I help.", disposition_skepticism=5)
        assert (profile.name, profile.mission, profile.disposition.skepticism) == ("Ada", "I help.", 5)
        assert client.retain(
            "client", LISBON, timestamp="2024-06-01", metadata={"a": "b"}, tags=["x"]
        ).success
        batch = [
            {"content": "Bob lives in Porto.", "entities": [{"text": "Bob"}]},
            {"content": "Eve lives in Rome."},
        ]
        assert client.retain_batch("client", batch, document_tags=["y"]).items_count == 2
        found = client.recall(
            "client",
            ANSWER,
            include_entities=True,
            include_chunks=True,
            include_source_facts=True,
            trace=True,
            tags=["x"],
            tag_groups=[{"not": {"tags": ["y"]}}],
            min_scores={"semantic": -1},
            types=["world", "experience"],
        )
        best = found.results[0]
        assert (best.text, best.tags, best.metadata) == (LISBON, ["x"], {"a": "b"})
        assert best.mentioned_at.startswith("2024-06-01")
        assert found.chunks
        assert "Lisbon" in found.trace["explanation"]
        answer = client.reflect("client", ANSWER, include_facts=True)
        assert "Lisbon" in answer.text
        assert any(fact.text == LISBON for fact in answer.based_on.memories)
        assert client.list_memories("client").total == 3
        assert [item.text for item in client.list_memories("client", search_query="porto").items] == [
            "Bob lives in Porto."
        ]

        async def change() -> None:
            from hindsight_client_api.models.update_memory_request import UpdateMemoryRequest

            memory = await client.memory.get_memory("client", best.id)
            assert memory["text"] == LISBON
            changed = UpdateMemoryRequest(state="invalidated", reason="she moved")
            assert (await client.memory.update_memory("client", best.id, changed))["state"] == "invalidated"
            banks = await client.banks.list_banks()
            assert [bank.bank_id for bank in banks.banks if bank.bank_id == "client"] == ["client"]
            assert (await client.banks.get_bank_profile("client")).name == "Ada"
            assert (await client.memory.clear_bank_memories("client")).success

        asyncio.get_event_loop().run_until_complete(change())
        assert client.list_memories("client", state="invalidated").total == 0
        assert client.delete_bank("client").success


def test_a_wrong_token_is_refused(url: str) -> None:
    """The client gets the status and the message with the remedy."""
    with (
        Hindsight(url, api_key="x" * 20) as client,
        pytest.raises(Exception, match=r"(?s)401.*Authorization: Bearer"),
    ):
        client.recall("client", ANSWER)


def test_the_langgraph_package(url: str) -> None:
    """Its nodes, tools and instructions remember across threads."""

    async def talk() -> list[Any]:
        options: dict[str, Any] = {"hindsight_api_url": url, "api_key": TOKEN}
        graph = StateGraph(MessagesState)
        graph.add_node("recall", create_recall_node(**options))
        graph.add_node("answer", lambda state: {"messages": [AIMessage("Noted.")]})
        graph.add_node("retain", create_retain_node(**options))
        graph.add_edge(START, "recall")
        graph.add_edge("recall", "answer")
        graph.add_edge("answer", "retain")
        agent = graph.compile()
        config: Any = {"configurable": {"user_id": "graph"}}
        await agent.ainvoke({"messages": [HumanMessage(LISBON)]}, config)
        state = await agent.ainvoke({"messages": [HumanMessage(ANSWER)]}, config)
        tools = {tool.name: tool for tool in create_hindsight_tools(bank_id="graph", **options)}
        said = await tools["hindsight_retain"].ainvoke({"content": "Bob lives in Porto."})
        recalled = await tools["hindsight_recall"].ainvoke({"query": "Where does Bob live?"})
        reflected = await tools["hindsight_reflect"].ainvoke({"query": "Where does Bob live?"})
        instructions = await memory_instructions(bank_id="graph", query=ANSWER, **options)()
        return [str(state["messages"]), said, recalled, reflected, instructions]

    state, said, recalled, reflected, instructions = asyncio.run(talk())
    assert "Relevant memories about this user" in state
    assert LISBON in state
    assert said == "Memory stored successfully."
    assert "Bob lives in Porto." in recalled
    assert "Porto" in reflected
    assert LISBON in instructions


def test_the_llamaindex_package(url: str) -> None:
    """Its memory and tools remember, in the sync and the async API."""

    async def talk() -> list[str]:
        options: dict[str, Any] = {"hindsight_api_url": url, "api_key": TOKEN}
        memory = HindsightMemory.from_defaults("llama", mission="I help.", **options)
        await memory.aput(ChatMessage(role="user", content=LISBON))
        block = (await memory.aget(input=ANSWER))[0]
        tools = {tool.metadata.name: tool for tool in create_llamaindex_tools(bank_id="llama", **options)}
        name = next(name for name in tools if "recall" in name)
        return [str(block.content), str(await tools[name].acall(query=ANSWER))]

    block, recalled = asyncio.run(talk())
    assert LISBON in block
    assert LISBON in recalled


HEADERS = {"Authorization": f"Bearer {TOKEN}"}


@pytest.mark.timeout(1200)
def test_no_request_of_the_openapi_description_breaks_the_server(url: str) -> None:
    """Every request that the description allows, or nearly allows, is answered with a status below 500."""
    description = schemathesis.openapi.from_url(f"{url}/openapi.json", headers=HEADERS)
    broken: dict[str, str] = {}
    operations = [found.ok() for found in description.get_all_operations()]
    for operation, mode in product(operations, schemathesis.GenerationMode):

        @settings(max_examples=15, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy(generation_mode=mode))
        def request(case: Any) -> None:
            answer = case.call(headers=HEADERS)
            if answer.status_code >= 500:
                broken[case.operation.label] = f"{answer.text[:300]} for {case.as_curl_command()[:500]}"

        with suppress(Unsatisfiable):  # a route without parameters has no wrong ones
            request()
    assert broken == {}
