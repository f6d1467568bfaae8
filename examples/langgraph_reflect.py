"""An agent whose opinion changes are nodes of its graph and need a person's approval. Runs without a key and without a network.

    pip install "hindsight-integrations[langgraph,openai,offline]"
    python examples/langgraph_reflect.py

A rowing club tells its secretary about a boat and asks what to do with it. The answer comes from memory, in the secretary's
character. A person sees each opinion change first, and can reject it.

Without HINDSIGHT_MODEL the model is scripted. Set it ("openai:gpt-5-mini", with OPENAI_API_KEY), and a real model forms its own
opinions.
"""

import os
import re
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command

from hindsight_integrations import BankProfile, Disposition, Hindsight, HindsightConfig
from hindsight_integrations.config import ObservationConfig, RetainConfig
from hindsight_integrations.langgraph import create_reflect_subgraph, create_retain_node
from hindsight_integrations.testing import ScriptedModel

SECRETARY = BankProfile(
    "Iris", disposition=Disposition(skepticism=2, literalism=2, empathy=4), bias_strength=0.7
)
RUN: RunnableConfig = {"configurable": {"thread_id": "spring meeting", "user_id": "rowing club"}}

# The scripted opinions.
KEEP = "I think the club should keep Heron, because Heron wins races and costs little."
QUALIFIED = "I think the club should keep Heron only with new planks, because rot has made Heron unsafe."


def script(messages: list[BaseMessage]) -> dict[str, Any]:
    """Answer a question from the memories in the prompt, or compare two opinions."""
    shown = messages[1].text
    if "<<<HELD" in shown:
        why = "One would keep the boat in its present state, the other would not."
        opposes = {"new": 1, "held": 1, "relation": "opposes", "strength": "strong", "reason": why}
        return {"relations": [opposes]}
    facts = dict(re.findall(r"^\[(\d+)\] (.*)$", shown, re.MULTILINE))
    rot = [number for number, fact in facts.items() if "found rot" in fact]
    opinion, numbers = (QUALIFIED, rot) if rot else (KEEP, list(facts))
    held = {
        "opinion": opinion,
        "confidence": 0.7,
        "reasoning": opinion,
        "based_on": numbers,
        "entities": ["Heron"],
    }
    return {"text": opinion, "based_on": numbers, "sufficient": True, "opinions": [held]}


class State(MessagesState):
    """The messages, and the last reflection with its answer, evidence and opinions."""

    answer: str
    reflection: dict[str, Any]


def build(hindsight: Hindsight) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Build the graph: retain, then reflect on questions; opinion changes wait for approval."""
    graph = StateGraph(State)
    graph.add_node("retain", create_retain_node(hindsight, roles=("user",)))
    graph.add_node(
        "reflect", create_reflect_subgraph(hindsight, interrupt_before_commit=True, as_message=True)
    )
    graph.add_edge(START, "retain")
    graph.add_conditional_edges(
        "retain",
        lambda state: "reflect" if state["messages"][-1].text.endswith("?") else END,
        ["reflect", END],
    )
    graph.add_edge("reflect", END)
    return graph.compile(checkpointer=InMemorySaver())


def run(
    agent: CompiledStateGraph[Any, Any, Any, Any], graph_input: dict[str, Any] | Command[Any]
) -> list[dict[str, Any]]:
    """Run the agent, print the nodes it passes, and return the changes that need approval."""
    passed, changes = [], []
    steps: Any = agent.stream(graph_input, RUN, stream_mode="updates", subgraphs=True)
    for place, step in steps:
        for node, update in step.items():
            if node == "__interrupt__":
                changes = update[0].value["changes"]
            else:
                passed.append(f"{place[-1].partition(':')[0]}.{node}" if place else node)
    print("  ", " -> ".join(passed))
    return changes


def say(agent: CompiledStateGraph[Any, Any, Any, Any], who: str, text: str, *, agree: bool = True) -> None:
    """Run one turn; `agree` is the person's decision on opinion changes."""
    print(f"{who}: {text}")
    changes = run(agent, {"messages": [HumanMessage(text, name=who)]})
    for change in changes:
        before, after = (change[moment] for moment in ("before", "after"))
        print(f"   {change['movement']}? {before} -> {after}: {change['text']}")
    if changes:
        print("  ", "yes" if agree else "no")
        run(agent, Command(resume=agree))


def main() -> None:
    """Let the club talk and ask; the person rejects one change."""
    real = bool(os.environ.get("HINDSIGHT_MODEL"))
    plain = HindsightConfig(
        retain=RetainConfig(extraction="verbatim", shown_memories=0),
        observations=ObservationConfig(mode="off"),
    )
    model, config = (None, None) if real else (ScriptedModel(script), plain)
    with Hindsight.open(":memory:", model=model, config=config) as hindsight:
        bank = hindsight.bank("rowing club")
        bank.profile.set(SECRETARY)
        agent = build(hindsight)
        say(agent, "Ada", "Heron won two regattas last summer.")
        say(agent, "Ben", "A new coat of varnish for Heron costs forty euros.")
        say(agent, "Ada", "Should the club keep Heron?")
        say(agent, "Joe", "A surveyor found rot in half of the planks of Heron.")
        say(agent, "Ada", "Should the club keep Heron after all?", agree=False)
        say(agent, "Ben", "New planks for Heron cost nine hundred euros.")
        say(agent, "Ada", "What should the club do with Heron?")
        for opinion in bank.opinions.list():
            print(f"\n{opinion.confidence:.2f} ({opinion.strength}): {opinion.text}")
            for entry in bank.opinions.history(opinion.id).entries:
                print(f"   {entry.before:.2f} -> {entry.after:.2f}: {bank.get(entry.evidence.unit_id).text}")


if __name__ == "__main__":
    main()
