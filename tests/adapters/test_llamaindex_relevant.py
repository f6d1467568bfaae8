"""Memories in prompts of LlamaIndex users: none about unknown topics, and lists that are complete or marked as cut.

Written without knowledge of the code, with the packaged models.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest
from kept_life import (
    ALL_TODOS,
    ANSWERED,
    ASKED_AT,
    DROPPED,
    FOOD,
    FOOD_LAST_WEEK,
    FOOD_THIS_WEEK,
    NEVER_MENTIONED,
    TODOS,
    busy,
    live,
    noted_todos,
)
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.chat_engine import ContextChatEngine
from llama_index.core.llms import ChatMessage
from llama_index.core.memory import BaseMemory, Memory
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import NodeWithScore
from scripted_agents import last_said, turn
from table import every_row

from hindsight_integrations import Hindsight, HindsightConfig, MemoryBank
from hindsight_integrations.config import KeywordBackend, StorageConfig, VectorBackend
from hindsight_integrations.llamaindex import (
    HindsightMemory,
    HindsightMemoryBlock,
    HindsightRetriever,
    HindsightToolSpec,
)
from hindsight_integrations.testing.doubles import FrozenClock
from hindsight_integrations.testing.scripted_llm import Reply, ScriptedLLM, calling
from hindsight_integrations.testing.scripted_model import ScriptedModel

HOLDERS = pytest.mark.parametrize("holder", ["memory", "block"])
FACES = pytest.mark.parametrize("face", ["sync", "async"])
SYSTEM = "You help."
LIGHT = HindsightConfig(storage=StorageConfig(vectors=VectorBackend.EXACT, keywords=KeywordBackend.FTS5))
Opener = Callable[..., Hindsight]
names = count()


@pytest.fixture(scope="module")
def engine() -> Iterator[Hindsight]:
    """One engine with the models of a plain installation, because relevance depends on the embedder."""
    with Hindsight.open(":memory:", config=LIGHT, clock=FrozenClock(ASKED_AT)) as opened:
        yield opened


@pytest.fixture
def bank(engine: Hindsight) -> MemoryBank:
    return live(engine.bank(f"ines{next(names)}"))


@pytest.fixture(scope="module")
def known(engine: Hindsight) -> MemoryBank:
    """The same simulated life, for tests that only read."""
    return live(engine.bank("ines"))


class Agent:
    """A FunctionAgent with the memory of one session, and the prompts of its model."""

    def __init__(
        self, holder: str, bank: MemoryBank, *, tokens: int = 2048, parrots: bool = False, **options: Any
    ) -> None:
        self.llm = ScriptedLLM(last_said if parrots else lambda _: "Noted.")
        self.agent = FunctionAgent(llm=self.llm, tools=[], system_prompt=SYSTEM)
        self.holder, self.bank, self.tokens, self.options = holder, bank, tokens, options

    def ask(self, question: str, session: str = "s1") -> str:
        """The prompt of the model's answer."""
        asyncio.run(turn(self.agent, question, memory=self._memory(f"{self.bank.name}-{session}")))
        return self.llm.last_prompt

    def _memory(self, session: str) -> BaseMemory:
        if self.holder == "memory":
            return HindsightMemory(self.bank, session_id=session, memory_tokens=self.tokens, **self.options)
        block = HindsightMemoryBlock(self.bank, max_tokens=self.tokens, **self.options)
        return Memory.from_defaults(session_id=session, memory_blocks=[block])


def bare(*said: str) -> str:
    """A prompt of these messages without memories."""
    return "\n".join([SYSTEM, *said])


@HOLDERS
def test_memory_keeps_silent_until_it_knows_something(bank: MemoryBank, holder: str) -> None:
    """A question about an unknown topic reaches the model unchanged; a later one is answered from memory, and then memory is silent again.

    The bank contains more than core memory, which would be shown as a whole.
    """
    agent = Agent(holder, bank, recall_options={"include_core": False})
    assert agent.ask(NEVER_MENTIONED[0]) == bare(NEVER_MENTIONED[0])
    assert "Rovaniemi" in agent.ask("Where does my sister Vilma live?", "s2")
    assert agent.ask(NEVER_MENTIONED[1], "s3") == bare(NEVER_MENTIONED[1])


@HOLDERS
def test_most_questions_about_the_unknown_render_nothing_and_all_others_their_answer(
    bank: MemoryBank, holder: str
) -> None:
    """At least half of the unknown questions get no memories, and no answer is lost for it."""
    agent = Agent(holder, bank, recall_options={"include_core": False})
    silent = [asked for at, asked in enumerate(NEVER_MENTIONED) if agent.ask(asked, f"n{at}") == bare(asked)]
    lost = [
        asked for at, (asked, word) in enumerate(ANSWERED.items()) if word not in agent.ask(asked, f"a{at}")
    ]
    assert len(silent) >= len(NEVER_MENTIONED) / 2, silent
    assert not lost


@HOLDERS
def test_a_list_comes_whole_whatever_the_memories_may_cost(bank: MemoryBank, holder: str) -> None:
    """The prompt contains every open to-do and no dropped one, and the list says that it is complete."""
    prompt = Agent(holder, bank, tokens=60).ask(ALL_TODOS)
    assert missing_todos(prompt) == []
    assert "canoe" not in prompt
    assert DROPPED[0] not in prompt
    assert re.search(r"\bcomplete\b", prompt)


@HOLDERS
def test_a_sum_has_every_purchase_of_its_week(bank: MemoryBank, holder: str) -> None:
    """The prompt for their sum contains each amount spent on food since Monday."""
    prompt = Agent(holder, bank, tokens=60).ask(FOOD)
    assert [value for value in FOOD_THIS_WEEK if value not in prompt] == []


@HOLDERS
def test_a_table_that_does_not_fit_says_how_much_of_it_is_shown(engine: Hindsight, holder: str) -> None:
    """Three hundred to-dos are cut, and the model is told how many of how many it sees."""
    bank = busy(engine.bank(f"harbour{next(names)}"))
    prompt = Agent(holder, bank, tokens=60).ask(ALL_TODOS)
    said = re.search(r"\b(\d+) of 300\b", prompt)
    assert said, prompt[:600]
    assert 0 < int(said[1]) < 300


@HOLDERS
def test_a_list_grows_and_shrinks_with_the_conversation(opener: Opener, holder: str) -> None:
    """A record extracted from one session is in the list of the next, until it is forgotten; any embedder works."""
    bank = opener(config=LIGHT, model=ScriptedModel(noted_todos)).bank("ines")
    agent = Agent(holder, bank, tokens=30)
    for at, job in enumerate(["wax the skis", "mend the net", "oil the hinges"]):
        agent.ask(f"I have to {job}.", f"told{at}")
    assert len(bank.records.list(kind="task")) == 3
    prompt = agent.ask(ALL_TODOS, "asked")
    assert [job for job in ("wax the skis", "mend the net", "oil the hinges") if job not in prompt] == []
    bank.withdraw(next(unit.id for unit in bank.iterate_units() if "net" in unit.text))
    prompt = agent.ask(ALL_TODOS, "asked later")
    assert "wax the skis" in prompt
    assert "mend the net" not in prompt


@HOLDERS
def test_a_table_that_was_shown_is_not_retained_as_news(bank: MemoryBank, holder: str) -> None:
    """An agent that repeats the list adds nothing to memory."""
    before = {unit.id for unit in bank.iterate_units()}
    agent = Agent(holder, bank, tokens=60, parrots=True)
    assert "plumber" in agent.ask(ALL_TODOS)
    agent.ask("Thanks.")
    assert {unit.id for unit in bank.iterate_units()} == before


@HOLDERS
def test_what_a_caller_says_of_recall_wins(bank: MemoryBank, holder: str) -> None:
    """A caller can request all memories that were found, or no tables."""
    options: dict[str, Any] = {"relevance": "all", "include_records": False}
    agent = Agent(holder, bank, tokens=60, recall_options=options)
    assert missing_todos(agent.ask(ALL_TODOS))
    assert agent.ask(NEVER_MENTIONED[2], "s2") != bare(NEVER_MENTIONED[2])


@FACES
def test_a_query_engine_is_given_nothing_of_the_unknown(known: MemoryBank, face: str) -> None:
    """RetrieverQueryEngine answers "Empty Response" without a model call; for a known topic, its prompt contains the answer."""
    llm = ScriptedLLM(lambda _: "Noted.")
    engine = RetrieverQueryEngine.from_args(HindsightRetriever(known), llm=llm)
    nothing = answered(engine, NEVER_MENTIONED[0], face)
    assert (nothing.source_nodes, llm.calls) == ([], 0)
    known_answer = answered(engine, "Where does my sister Vilma live?", face)
    assert "Rovaniemi" in llm.last_prompt
    assert 0 < len(known_answer.source_nodes) < known.count()


@FACES
def test_a_query_engine_is_given_a_list_whole(known: MemoryBank, face: str) -> None:
    """The prompt of RetrieverQueryEngine has every row, and the response names the table among its sources."""
    llm = ScriptedLLM(lambda _: "Noted.")
    engine = RetrieverQueryEngine.from_args(HindsightRetriever(known, max_tokens=60), llm=llm)
    response = answered(engine, ALL_TODOS, face)
    assert missing_todos(llm.last_prompt) == []
    assert re.search(r"\bcomplete\b", llm.last_prompt)
    assert missing_todos(response.source_nodes[0].node.get_content()) == []


@FACES
@every_row("asked", [NEVER_MENTIONED[2], "What does Ines still have to do?", FOOD])
def test_a_given_k_is_exactly_k_memories(known: MemoryBank, face: str, asked: str) -> None:
    """A caller that asks for three nodes gets three memories, however weakly they match, and no list."""
    nodes = retrieved(HindsightRetriever(known, k=3), asked, face)
    assert len(nodes) == 3
    assert all(known.get(node.node_id) for node in nodes)


@FACES
def test_without_k_a_retriever_gives_what_is_likely_to_help(known: MemoryBank, face: str) -> None:
    """Nothing for an unknown topic, less than the whole bank for a known one, and a complete list first, as one node with the highest score."""
    retriever = HindsightRetriever(known)
    assert retrieved(retriever, NEVER_MENTIONED[0], face) == []
    answering = retrieved(retriever, "Where does my sister Vilma live?", face)
    assert 0 < len(answering) < known.count()
    assert "Rovaniemi" in answering[0].node.get_content()
    table, *memories = retrieved(retriever, FOOD, face)
    text = table.node.get_content()
    assert [value for value in FOOD_THIS_WEEK if value not in text] == []
    assert [value for value in (*FOOD_LAST_WEEK, "62.00", "88.00") if value in text] == []
    assert all(known.get(node.node_id) for node in memories)
    assert all((table.score or 0) >= (node.score or 0) for node in memories)


def test_fusion_keeps_a_list_once(known: MemoryBank) -> None:
    """Two retrievers of one bank in LlamaIndex's fusion return the list once, with every row."""
    two = [HindsightRetriever(known), HindsightRetriever(known, budget="high")]
    fusion = QueryFusionRetriever(two, llm=ScriptedLLM(), num_queries=1, use_async=False, similarity_top_k=50)
    nodes = fusion.retrieve(ALL_TODOS)
    assert len([node for node in nodes if not missing_todos(node.node.get_content())]) == 1
    assert fusion.retrieve(NEVER_MENTIONED[0]) == []


@FACES
def test_a_chat_engine_of_a_retriever_and_a_memory_keeps_silent(bank: MemoryBank, face: str) -> None:
    """ContextChatEngine with the retriever and the chat's memory adds nothing about an unknown topic.

    Without a node the engine answers "Empty Response" without a model call, as with every retriever.
    """
    llm = ScriptedLLM(lambda _: "Noted.")
    memory = HindsightMemory(bank, session_id=f"{bank.name}-chat")
    chat = ContextChatEngine.from_defaults(retriever=HindsightRetriever(bank), memory=memory, llm=llm)
    filling = ContextChatEngine.from_defaults(
        retriever=HindsightRetriever(bank, relevance="all"), memory=memory, llm=llm
    )

    def say(engine: ContextChatEngine, said: str) -> Any:
        return asyncio.run(engine.achat(said)) if face == "async" else engine.chat(said)

    answer = say(chat, NEVER_MENTIONED[0])
    assert (answer.source_nodes, answer.response, llm.calls) == ([], "Empty Response", 0)
    say(chat, "Where does my sister Vilma live?")
    assert "Rovaniemi" in llm.last_prompt
    assert say(filling, NEVER_MENTIONED[0]).response == "Noted."


@pytest.mark.parametrize("asked", [NEVER_MENTIONED[0], ALL_TODOS])
def test_an_agent_that_looks_memory_up_itself_is_told(known: MemoryBank, asked: str) -> None:
    """A tool says that nothing was found, or shows the complete list."""

    def replies(messages: list[ChatMessage]) -> Reply:
        return "Noted." if messages[-1].role == "tool" else calling("recall_memories", query=asked)

    llm = ScriptedLLM(replies)
    tools = [tool for tool in HindsightToolSpec(known).to_tool_list() if "recall" in str(tool.metadata.name)]
    asyncio.run(turn(FunctionAgent(llm=llm, tools=tools), "Look it up."))
    shown = str(llm.prompts[-1][-1].content)
    if asked == ALL_TODOS:
        assert missing_todos(shown) == []
    else:
        assert "Ines" not in shown
        assert shown.strip()


def missing_todos(text: str) -> list[str]:
    return [value for value, what in TODOS.items() if value not in text and what not in text]


def answered(engine: RetrieverQueryEngine, question: str, face: str) -> Any:
    return asyncio.run(engine.aquery(question)) if face == "async" else engine.query(question)


def retrieved(retriever: HindsightRetriever, question: str, face: str) -> list[NodeWithScore]:
    if face == "async":
        return asyncio.run(retriever.aretrieve(question))
    return list(retriever.retrieve(question))
