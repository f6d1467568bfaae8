"""Latency of the retain node in long threads of a LangGraph agent, and its memories after kills.

    hindsight-evals bench langgraph_threads [--early 50] [--late 5000] [--turns 1000] [--every 50] [--light] [--out FILE]

1. `latency`: a thread on SQLite checkpoints keeps all messages in its state. Around turn 50 and turn 5,000,
  some turns are run with the retain node, alternating with turns of a thread with the same messages and no
  such node, so that the difference is the cost of memory. The turns between are added to the state at once,
  and the node catches up with them. Durability is "sync"; otherwise LangGraph writes the checkpoint of the
  answer while the retain node runs, and both compete for the interpreter.
2. `kills`: an agent runs 1,000 turns with the last 40 messages in its state. After every 50 turns its process
  is killed (SIGKILL) at a random moment of a turn, and started again. Its memories must be the same as those
  of an agent that was not killed.
3. `points`: an agent is killed in its answer, before and after the memory is written, and in the next node,
  with each of LangGraph's durabilities. With "exit", an answer may be generated again with another id; the
  first one is then history.

On Chroma and Lucene, or with `--light` on exact numpy and FTS5; vectors are hash vectors. The exit code is 1
on any difference.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langgraph.checkpoint.sqlite import SqliteSaver

from hindsight_evals.benchmarks.speed.clocks import percentiles
from hindsight_evals.benchmarks.threads.agent import (
    AFTER_WRITE,
    BANK,
    BEFORE_WRITE,
    IN_ANSWER,
    IN_LATER_NODE,
    Agent,
    Deaths,
    Graph,
    answer_of,
    asked,
    conversing,
    opened,
    turn_of,
)
from hindsight_evals.benchmarks.threads.killing import difference, in_folder, killed_within, killed_without
from hindsight_integrations.langgraph import create_retain_node

MEASURED = 15  # number of turns
DEATHS = (
    (IN_ANSWER, 2),
    (BEFORE_WRITE, 3),
    (AFTER_WRITE, 4),
    (IN_LATER_NODE, 5),
    (BEFORE_WRITE, 6),
    (AFTER_WRITE, 6),
)
PARTS = ("latency", "kills", "points")
DURABILITIES = ("sync", "async", "exit")
ALL = sys.maxsize  # number of messages that stay in the state


def main(argv: Sequence[str] | None = None) -> int:
    """Run the parts; print and write their figures; return 1 if any memory differed."""
    options = _parser().parse_args(argv)
    figures: dict[str, Any] = {}
    for part in options.part or PARTS:
        with TemporaryDirectory(prefix=f"hindsight-{part}-", dir=options.folder) as folder:
            figures[part] = {"latency": latency, "kills": kills, "points": points}[part](
                Path(folder), options
            )
            print(part, json.dumps(figures[part], indent=1), flush=True)
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        report = {"benchmark": "langgraph_threads", "machine": platform.platform(), "light": options.light}
        options.out.write_text(json.dumps(report | figures, indent=1) + "\n")
    found = [figures["kills"]] if "kills" in figures else []
    found += figures.get("points", {}).values()
    return int(any(each["missing"] or each["more"] for each in found))


def latency(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Measure turns with and without the retain node, early and late in a thread."""
    spent: list[float] = []
    with (
        opened(folder, light=options.light) as hindsight,
        SqliteSaver.from_conn_string(str(folder / "checkpoints.sqlite")) as saver,
    ):
        retain = create_retain_node(hindsight.bank(BANK))
        timed = RunnableLambda(_timed(retain, spent))
        nothing: RunnableLambda[Any, Any] = RunnableLambda(lambda _: {})
        remembering = conversing(timed, saver, ALL, Deaths(folder))
        forgetful = conversing(nothing, saver, ALL, Deaths(folder))
        figures = {}
        for at in (options.early, options.late):
            figures[f"turn {at}"] = _around(at, remembering, forgetful, spent)
    early, late = (figures[f"turn {at}"] for at in (options.early, options.late))
    return figures | {"added, late / early": round(late["retain_ms"]["p50"] / early["retain_ms"]["p50"], 2)}


def _around(at: int, remembering: Graph, forgetful: Graph, spent: list[float]) -> dict[str, Any]:
    """Measure the turns around a position, alternately with and without memory."""
    first, graphs = at - MEASURED // 2, {"with": remembering, "without": forgetful}
    for name, graph in graphs.items():
        begun = turn_of(graph.get_state(_thread(name)).values.get("messages", ()))
        earlier: list[BaseMessage] = []
        for turn in range(begun + 1, first - 1):
            earlier += [asked(turn), AIMessage(answer_of(turn), id=f"answer-{turn}")]
        if earlier:
            graph.update_state(_thread(name), {"messages": earlier}, as_node="later")
        graph.invoke({"messages": [asked(first - 1)]}, _thread(name))  # to let the node catch up
    spent.clear()
    took: dict[str, list[float]] = {name: [] for name in graphs}
    for turn in range(first, first + MEASURED):
        for name, graph in graphs.items():
            began = time.perf_counter()
            graph.invoke({"messages": [asked(turn)]}, _thread(name), durability="sync")
            took[name].append((time.perf_counter() - began) * 1000)
    added = [most - least for most, least in zip(took["with"], took["without"], strict=True)]
    return {
        "retain_ms": percentiles(spent),
        "turn_without_ms": percentiles(took["without"]),
        "turn_with_ms": percentiles(took["with"]),
        "added_ms": round(statistics.median(added), 2),
        **_sizes(remembering),
    }


def _sizes(graph: Graph) -> dict[str, int]:
    state = graph.get_state(_thread("with"))
    saver: Any = graph.checkpointer
    saved = saver.get_tuple(state.config)
    messages = state.values["messages"]
    return {
        "messages": len(messages),
        "state_bytes": sum(len(each.text.encode()) for each in messages),
        "checkpoint_bytes": len(saver.serde.dumps_typed(saved.checkpoint)[1]),
    }


def _timed(node: Any, spent: list[float]) -> Any:  # noqa: ANN401 - a node
    def run(state: Any, config: RunnableConfig) -> Any:  # noqa: ANN401 - LangGraph's state
        began = time.perf_counter()
        update = node.invoke(state, config)
        spent.append((time.perf_counter() - began) * 1000)
        return update

    return run


def _thread(name: str) -> RunnableConfig:
    return {"configurable": {"thread_id": name}}


def kills(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Compare an agent that is killed every few turns with one that is not."""
    agent = Agent(folder / "killed", options.turns, light=options.light)
    agent.folder.mkdir()
    began = time.perf_counter()
    struck = killed_without(agent, options.every, options.seed)
    whole = in_folder(agent, folder / "whole")
    killed_within(whole)
    seconds = round(time.perf_counter() - began, 1)
    return {"turns": agent.turns, "kills": struck, **difference(agent, whole), "seconds": seconds}


def points(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Compare agents that are killed at known points of their turns with one that is not."""
    turns = max(turn for _, turn in DEATHS)
    whole = in_folder(Agent(folder, turns, light=options.light), folder / "whole")
    killed_within(whole)
    figures = {}
    for durability in options.durability or DURABILITIES:
        agent = Agent(folder / durability, turns, durability=durability, light=options.light, deaths=DEATHS)
        agent.folder.mkdir()
        codes = killed_within(agent)
        figures[durability] = {"kills": len(codes) - 1, **difference(agent, whole)}
    return figures


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", action="append", choices=PARTS, help="one part only; may be repeated")
    parser.add_argument(
        "--durability", action="append", choices=DURABILITIES, help="one alone of `points`; may be repeated"
    )
    parser.add_argument("--early", type=int, default=50, help="turn")
    parser.add_argument("--late", type=int, default=5000, help="turn")
    parser.add_argument("--turns", type=int, default=1000, help="of the agent that is killed")
    parser.add_argument("--every", type=int, default=50, help="turns, then a kill")
    parser.add_argument("--light", action="store_true", help="exact numpy and FTS5")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--folder", type=Path, help="where to work; the system's temporary folder by default")
    parser.add_argument("--out", type=Path)
    return parser


if __name__ == "__main__":
    sys.exit(main())
