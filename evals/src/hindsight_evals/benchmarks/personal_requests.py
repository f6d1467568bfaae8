"""Whether the prompt contains the lasting facts that a request needs, although their texts are not similar to it.

    hindsight-evals bench personal_requests [--life montevideo] [--verbatim] [--cases FILE] [--reranker]

330 statements of one person are retained, with flags for the lasting ones as from a model, or verbatim
(`--verbatim`). Then each request, small-talk message and unanswerable question goes through the recall node,
the middleware, HindsightMemory and HindsightMemoryBlock with their defaults. Printed are the needed facts in
the model's prompt, those that are missing, and the tokens of memory in each prompt.

`--cases` takes `personal_requests.jsonl`: rows with `facts`, `request` and `needs` (words of the needed
facts). Their facts are retained as lasting ones in addition to the statements.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.graph import START, StateGraph
from llama_index.core.llms import ChatMessage
from llama_index.core.memory import Memory

from hindsight_evals import personal
from hindsight_evals.benchmarks.memora.bank import LIGHT
from hindsight_integrations import Hindsight, HindsightConfig, MemoryBank
from hindsight_integrations.langgraph import (
    HindsightMiddleware,
    MemoryState,
    create_recall_node,
    with_memories,
)
from hindsight_integrations.llamaindex import HindsightMemory, HindsightMemoryBlock
from hindsight_integrations.models.tokens import default_token_counter
from hindsight_integrations.testing.scripted_model import ScriptedModel

ASKED_AT = "2025-07-01T10:00:00"
LIVES = Path(personal.__file__).parent
Prompt = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Request:
    """A request, and the texts (or words of texts) that its answer needs."""

    text: str
    needs: tuple[str, ...]


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--life", default="montevideo", choices=sorted(path.stem for path in LIVES.glob("*.json"))
    )
    parser.add_argument("--verbatim", action="store_true", help="messages word for word, without flags")
    parser.add_argument(
        "--cases", type=Path, help="rows of facts, request and needs, beside the life's statements"
    )
    parser.add_argument("--reranker", action="store_true", help="with the packaged cross-encoder")
    options = parser.parse_args(argv)
    life = json.loads((LIVES / f"{options.life}.json").read_text())
    requests = _requests(life, options.cases)
    opened: dict[str, Any] = {} if options.reranker else {"reranker": None}
    with Hindsight.open(":memory:", config=HindsightConfig(storage=LIGHT), worker=False, **opened) as engine:
        bank = engine.bank("life")
        _retain(bank, life["facts"], verbatim=options.verbatim)
        if options.cases:
            _retain(bank, _case_facts(options.cases), verbatim=options.verbatim)
        for name, prompt in _integrations(bank).items():
            _report(name, prompt, requests, life)


def _requests(life: dict[str, Any], cases: Path | None) -> list[Request]:
    if cases is None:
        texts = {fact["id"]: fact["text"] for fact in life["facts"]}
        return [
            Request(each["request"], tuple(texts[need] for need in each["needs"]))
            for each in life["requests"]
        ]
    return [
        Request(row["request"], tuple(row["needs"]))
        for row in map(json.loads, filter(None, cases.read_text().splitlines()))
    ]


def _case_facts(cases: Path) -> list[dict[str, Any]]:
    rows = map(json.loads, filter(None, cases.read_text().splitlines()))
    texts = dict.fromkeys(text for row in rows for text in row["facts"])
    return [
        {"id": f"case{at}", "text": text, "lasting": True, "date": "2025-03-01"}
        for at, text in enumerate(texts)
    ]


def _retain(bank: MemoryBank, facts: Sequence[dict[str, Any]], *, verbatim: bool) -> None:
    """Retain the statements, one conversation for each day."""
    days: dict[str, list[dict[str, Any]]] = {}
    for fact in facts:
        days.setdefault(fact["date"], []).append(fact)
    for day, said in sorted(days.items()):
        messages = [
            {"role": "user", "content": fact["text"], "id": fact["id"], "timestamp": f"{day}T10:00"}
            for fact in said
        ]
        extracted = [
            {"what": fact["text"], "fact_type": "world", "sources": [fact["id"]], "lasting": fact["lasting"]}
            for fact in said
        ]
        bank.retain(messages, facts=None if verbatim else extracted)


def _integrations(bank: MemoryBank) -> dict[str, Prompt]:
    """Return, for each integration, a function that returns the memory in the prompt for a request."""
    return {
        "recall node": _by_node(bank),
        "middleware": _by_middleware(bank),
        "HindsightMemory": lambda text: _by_chat_memory(bank, text),
        "memory block": _by_block(bank),
    }


def _asked(text: str) -> HumanMessage:
    return HumanMessage(text, additional_kwargs={"timestamp": ASKED_AT})


def _by_node(bank: MemoryBank) -> Prompt:
    graph: Any = StateGraph(MemoryState)
    graph.add_node("recall", create_recall_node(bank))
    graph.add_edge(START, "recall")
    compiled = graph.compile()

    def prompt(text: str) -> str:
        state = compiled.invoke({"messages": [_asked(text)]})
        return str(with_memories(state["messages"], state["memories"])[-1].text)

    return prompt


def _by_middleware(bank: MemoryBank) -> Prompt:
    seen: list[str] = []

    def answer(messages: list[BaseMessage]) -> AIMessage:
        seen.append(str(messages[-1].text))
        return AIMessage("Noted.")

    agent: Any = create_agent(
        ScriptedModel(answer), [], middleware=[HindsightMiddleware(bank, roles=("tool",))]
    )

    def prompt(text: str) -> str:
        agent.invoke({"messages": [_asked(text)]})
        return seen[-1]

    return prompt


def _by_chat_memory(bank: MemoryBank, text: str) -> str:
    memory = HindsightMemory(bank, roles=("tool",), recall_options={"query_timestamp": ASKED_AT})
    memory.put(ChatMessage(text, role="user"))
    return "\n".join(str(message.content) for message in memory.get())


def _by_block(bank: MemoryBank) -> Prompt:
    # one loop, because the chat store's connection belongs to the loop in which it was opened
    runner = asyncio.Runner()

    async def got(text: str) -> str:
        block = HindsightMemoryBlock(bank, roles=("tool",), recall_options={"query_timestamp": ASKED_AT})
        memory = Memory.from_defaults(memory_blocks=[block])
        await memory.aput(ChatMessage(text, role="user"))
        return "\n".join(str(message.content) for message in await memory.aget())

    return lambda text: runner.run(got(text))


def _report(name: str, prompt: Prompt, requests: Sequence[Request], life: dict[str, Any]) -> None:
    shown, spent = 0, []
    missing = []
    for request in requests:
        text = prompt(request.text)
        spent.append(_tokens(text))
        found = [need for need in request.needs if need in text]
        shown += len(found)
        missing += [f"  {request.text!r} lacks {need!r}" for need in request.needs if need not in found]
    needed = sum(len(request.needs) for request in requests)
    print(f"{name}: {shown} of {needed} needed facts shown ({shown / needed:.1%})", end="; ")
    print(f"tokens a request {sum(spent) / len(spent):.0f}, at most {max(spent)}", end="; ")
    for kind in ("small_talk", "never_mentioned"):
        costs = [_tokens(prompt(text)) for text in life[kind]]
        print(
            f"{kind.replace('_', ' ')} {sum(costs) / len(costs):.0f}",
            end="; " if kind == "small_talk" else "\n",
        )
    print(*missing, sep="\n")


def _tokens(text: str) -> int:
    (count,) = default_token_counter().count([text])
    return int(count)


if __name__ == "__main__":
    main()
