"""Scripted LlamaIndex agents for tests of their memory: one looks up lakes, and acknowledges everything else."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent, ReActAgent
from llama_index.core.base.llms.types import ChatMessage

from hindsight_integrations.testing.scripted_llm import Reply, ScriptedLLM, calling

LEVEL = "Saimaa stands at 76 metres"


def gauge(lake: str) -> str:
    """The level of a lake."""
    return f"{LEVEL} ({lake})"


def broken(lake: str) -> str:
    """The depth of a lake."""
    raise RuntimeError(f"no depth of {lake}")


def last_said(messages: list[ChatMessage]) -> str:
    """The text of the last message of a prompt."""
    return str(messages[-1].content or "")


def function_replies(messages: list[ChatMessage]) -> Reply:
    """Calls a tool if the user says "look up", and acknowledges everything else."""
    if messages[-1].role == "tool":
        return "Noted."
    asked = next(str(m.content) for m in reversed(messages) if m.role == "user")
    return calling("gauge", lake="Saimaa") if "Look up" in asked.splitlines()[-1] else "Noted."


def react_replies(messages: list[ChatMessage]) -> Reply:
    """The same in the words of a ReAct agent."""
    if "Look up" in (last_said(messages).splitlines() or [""])[-1]:
        return 'Thought: I look it up.\nAction: gauge\nAction Input: {"lake": "Saimaa"}'
    return "Thought: I can answer without using any more tools.\nAnswer: Noted."


def scripted(kind: str) -> ScriptedLLM:
    """The LLM of such an agent."""
    return ScriptedLLM(react_replies, calls_tools=False) if kind == "react" else ScriptedLLM(function_replies)


def agent_of(kind: str, llm: ScriptedLLM, **options: Any) -> Any:
    """An agent with a tool; a workflow of one agent and another that gets no handoff."""
    if kind == "react":
        return ReActAgent(tools=[gauge, broken], llm=llm, **options)
    agent = FunctionAgent(name="front", description="talks", tools=[gauge, broken], llm=llm, **options)
    if kind == "function":
        return agent
    other = FunctionAgent(name="back", description="waits", llm=llm, system_prompt="You wait.")
    return AgentWorkflow(agents=[agent, other], root_agent="front")


async def turn(agent: Any, text: str, **options: Any) -> str:
    """One run of an agent, with all its events read."""
    handler = agent.run(user_msg=text, **options)
    async for _ in handler.stream_events():
        pass
    return str(await handler)


def turns(loops: str, agent: Any, texts: Sequence[str], **options: Any) -> list[str]:
    """Run the turns one after the other: all in one event loop, or each in a separate one."""

    async def all_of_them() -> list[str]:
        return [await turn(agent, text, **options) for text in texts]

    if loops == "one loop":
        return asyncio.run(all_of_them())
    return [asyncio.run(turn(agent, text, **options)) for text in texts]
