"""Many graph runs at once in one process: what recall and a background retain add to a turn, and that nothing is lost or mixed up.

    python benchmarks/langgraph_throughput.py [--runs 100] [--banks 20] [--turns 5] [--think 10] [--light] [--out FILE]

So many conversations go on at once, several on each bank; each turn recalls, waits as long as a model takes to answer, and
retains with `background=True`. A worker extracts meanwhile with a scripted model that takes `--extraction` seconds a call. The
same conversations are held by a graph without memory first. Every recall must bring memories of its own bank alone, and once the
tasks are done each bank must hold a fact of each message of its conversations, once, and no other. Exits with 1 if not.

On Chroma and Lucene, or with `--light` on exact numpy and FTS5; vectors are made by hashing.
"""

# No `from __future__ import annotations`: LangGraph reads the annotations of the states defined here.

import argparse
import asyncio
import json
import platform
import re
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from speed.clocks import percentiles

from hindsight_integrations import AsyncHindsight, HindsightConfig
from hindsight_integrations.config import KeywordBackend, ObservationConfig, StorageConfig, VectorBackend
from hindsight_integrations.langgraph import Memory, create_recall_node, create_retain_node
from hindsight_integrations.model.tasks import TaskState
from hindsight_integrations.testing.doubles import HashEmbedder
from hindsight_integrations.testing.scripted_model import ScriptedModel

Graph = CompiledStateGraph[Any, Any, Any, Any]

_PASSAGE = re.compile(r"^\[(?P<id>[^\]]+)\] \([^)]*\) [^:]+: (?P<text>.+)$", re.MULTILINE)
_OWNER = re.compile(r"conversation (\d+)")


class State(MessagesState):
    """The conversation, and what is remembered of earlier ones."""

    memories: list[Memory]


@dataclass(slots=True)
class Watch:
    """What the runs saw.

    Attributes:
        banks: how many there are; conversation n is on bank n modulo this.
        recall: milliseconds of each recall.
        retain: milliseconds of each retain.
        foreign: memories of another bank that were recalled.
        found: recalls that brought what the turn before had said.
    """

    banks: int
    recall: list[float] = field(default_factory=list)
    retain: list[float] = field(default_factory=list)
    foreign: int = 0
    found: int = 0

    def see(self, conversation: int, turn: int, memories: list[Memory]) -> None:
        """Look at what a recall brought."""
        texts = [memory["text"] for memory in memories]
        owners = {int(number) for text in texts for number in _OWNER.findall(text)}
        self.foreign += sum(owner % self.banks != conversation % self.banks for owner in owners)
        self.found += any(asked(conversation, turn - 1) in text for text in texts)


async def main(arguments: list[str] | None = None) -> int:
    """Hold the conversations without memory and with it, print the figures, write them; 1 if anything was lost or mixed up."""
    options = _parser().parse_args(arguments)
    without = await _held(_graph(None, None, options.think), options)
    watch = Watch(options.banks)
    with TemporaryDirectory(prefix="hindsight-throughput-", dir=options.folder) as folder:
        async with AsyncHindsight.open(folder, worker=True, **_opening(options)) as hindsight:
            graph = _graph(hindsight, watch, options.think)
            taken = await _held(graph, options, watch)
            began = time.perf_counter()
            held = {bank: await _settled(hindsight, bank) for bank in range(options.banks)}
            settled = time.perf_counter() - began
    expected = [_expected(bank, options) for bank in range(options.banks)]
    figures = {
        "runs": options.runs,
        "banks": options.banks,
        "turns": len(taken),
        "recall_ms": percentiles(watch.recall),
        "retain_ms": percentiles(watch.retain),
        "turn_without_ms": percentiles(without),
        "turn_with_ms": percentiles(taken),
        "turns_that_recalled_the_one_before": watch.found,
        "foreign_memories_recalled": watch.foreign,
        "facts": sum(held[bank].total() for bank in held),
        "lost": sum((each - held[bank]).total() for bank, each in enumerate(expected)),
        "too_many": sum((held[bank] - each).total() for bank, each in enumerate(expected)),
        "settled_s": round(settled, 1),
    }
    print(json.dumps(figures, indent=1), flush=True)
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        report = {"benchmark": "langgraph_throughput", "machine": platform.platform(), "light": options.light}
        options.out.write_text(json.dumps(report | figures, indent=1) + "\n")
    return int(any(figures[each] for each in ("foreign_memories_recalled", "lost", "too_many")))


async def _held(graph: Graph, options: argparse.Namespace, watch: Watch | None = None) -> list[float]:
    """All conversations at once; the milliseconds of each turn."""
    taken: list[float] = []

    async def converse(conversation: int) -> None:
        # nobody begins at the very same moment
        await asyncio.sleep(options.think * conversation / options.runs)
        config: RunnableConfig = {
            "configurable": {
                "thread_id": f"conversation {conversation}",
                "user_id": name(conversation % options.banks),
            }
        }
        for turn in range(options.turns):
            began = time.perf_counter()
            message = HumanMessage(asked(conversation, turn), id=f"{conversation}-{turn}")
            state = await graph.ainvoke({"messages": [message]}, config)
            taken.append((time.perf_counter() - began) * 1000)
            if watch and turn:
                watch.see(conversation, turn, state["memories"])

    await asyncio.gather(*(converse(number) for number in range(options.runs)))
    return taken


def _graph(hindsight: AsyncHindsight | None, watch: Watch | None, think: float) -> Graph:
    """Recall, answer, retain; without an engine answer alone."""

    async def answer(state: State) -> dict[str, list[BaseMessage]]:
        await asyncio.sleep(think)
        return {"messages": [AIMessage(answered(str(state["messages"][-1].id)))]}

    graph = StateGraph(State)
    graph.add_node("answer", answer)
    if hindsight is None or watch is None:
        graph.add_edge(START, "answer")
    else:
        recall = create_recall_node(hindsight)
        retain = create_retain_node(hindsight, background=True)
        graph.add_node("recall", _timed(recall, watch.recall))
        graph.add_node("retain", _timed(retain, watch.retain))
        graph.add_edge(START, "recall")
        graph.add_edge("recall", "answer")
        graph.add_edge("answer", "retain")
    return graph.compile(checkpointer=InMemorySaver())


def _timed(node: Any, spent: list[float]) -> Any:  # noqa: ANN401 - a node
    async def run(state: State, config: RunnableConfig) -> Any:  # noqa: ANN401 - what the node writes
        began = time.perf_counter()
        update = await node.ainvoke(state, config)
        spent.append((time.perf_counter() - began) * 1000)
        return update

    return RunnableLambda(run)


async def _settled(hindsight: AsyncHindsight, number: int) -> Counter[str]:
    """What a bank holds once nothing waits."""
    bank = await hindsight.bank(name(number))
    while any(task.state in {TaskState.PENDING, TaskState.LEASED} for task in await bank.tasks.list()):
        await bank.tasks.settle()
    units = [unit async for unit in bank.iterate_units()]
    return Counter(unit.text for unit in units)


def _expected(number: int, options: argparse.Namespace) -> Counter[str]:
    conversations = range(number, options.runs, options.banks)
    turns = [(each, turn) for each in conversations for turn in range(options.turns)]
    return Counter([asked(*turn) for turn in turns] + [answered(f"{each}-{turn}") for each, turn in turns])


def asked(conversation: int, turn: int) -> str:
    """What the user says in a turn."""
    return f"In conversation {conversation} locker {turn} of hall {conversation * 31 % 97} got lock {conversation}x{turn}."


def answered(message_id: str) -> str:
    """The answer to the message of this id."""
    conversation, _, turn = message_id.partition("-")
    return f"I put paper {turn} of conversation {conversation} into the archive."


def name(number: int) -> str:
    """What the bank of a number is called."""
    return f"user {number}"


def _opening(options: argparse.Namespace) -> dict[str, Any]:
    def extract(messages: list[BaseMessage]) -> dict[str, Any]:
        time.sleep(options.extraction)
        found = _PASSAGE.findall(messages[1].text)
        return {"facts": [{"what": text, "sources": [place]} for place, text in found]}

    exact = StorageConfig(vectors=VectorBackend.EXACT, keywords=KeywordBackend.FTS5)
    storage = exact if options.light else StorageConfig()
    config = HindsightConfig(storage=storage, observations=ObservationConfig("off"))
    return {
        "config": config,
        "embeddings": HashEmbedder(),
        "reranker": None,
        "model": ScriptedModel(extract),
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=100, help="conversations at once")
    parser.add_argument("--banks", type=int, default=20)
    parser.add_argument("--turns", type=int, default=5, help="of each conversation")
    parser.add_argument(
        "--think", type=float, default=10.0, help="seconds the answering model takes; 1 overloads two cores"
    )
    parser.add_argument("--extraction", type=float, default=0.05, help="seconds the extracting model takes")
    parser.add_argument("--light", action="store_true", help="exact numpy and FTS5")
    parser.add_argument("--folder", type=Path, help="where to work; the system's temporary folder by default")
    parser.add_argument("--out", type=Path)
    return parser


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
