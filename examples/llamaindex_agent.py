"""A LlamaIndex agent that remembers what it was told, over sessions and restarts. Runs without a key and without a network.

    pip install "hindsight-integrations[llamaindex,offline]"
    python examples/llamaindex_agent.py

A script stands in for the model. To use a real one, name one of OpenAI's in HINDSIGHT_MODEL ("gpt-5-mini"; with
OPENAI_API_KEY set and llama-index-llms-openai installed).
"""

import asyncio
import os
from pathlib import Path
from tempfile import TemporaryDirectory

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.llms import LLM, ChatMessage

from hindsight_integrations import AsyncHindsight
from hindsight_integrations.llamaindex import HindsightMemory, HindsightToolSpec
from hindsight_integrations.testing.scripted_llm import ScriptedLLM, calling

SESSIONS = {
    "monday": [
        "My name is Alice and I keep bees in Porto.",
        "Please note for later that the hive by the river is called Thunder.",
    ],
    "friday": ["What is the hive by the river called?", "And where do I keep my bees?"],
}


def stand_in(messages: list[ChatMessage]) -> ChatMessage | str:
    """Stands in for a language model: it notes what it is asked to note, and says what it reads in its prompt."""
    asked = next(str(message.content) for message in reversed(messages) if message.role == "user")
    if messages[-1].role == "tool":
        return "I noted it."
    question = asked.splitlines()[-1]  # after what is remembered
    if "note for later" in question:
        return calling("retain_memory", content="The hive by the river is called Thunder.")
    if not question.endswith("?"):
        return "Nice to meet you!"
    word = "Thunder" if "called" in question else "Porto"
    remembered = [line for line in asked.splitlines()[:-1] if word in line]
    return f"I remember: {remembered[0].lstrip('- ')}" if remembered else "I do not know."


def model() -> LLM:
    """The model that HINDSIGHT_MODEL names, or the script."""
    if name := os.environ.get("HINDSIGHT_MODEL"):
        from llama_index.llms.openai import OpenAI

        return OpenAI(model=name.removeprefix("openai:"))
    return ScriptedLLM(stand_in)


async def session(folder: Path, name: str, messages: list[str]) -> None:
    """One session, in a process that may well be another one: only the folder is the same."""
    async with AsyncHindsight.open(folder) as hindsight:
        bank = await hindsight.bank("alice")
        memory = HindsightMemory(bank, session_id=name)
        tools = HindsightToolSpec(bank).to_tool_list(["retain_memory"])
        agent = FunctionAgent(llm=model(), tools=tools, system_prompt="You are a helpful assistant.")
        for message in messages:
            answer = await agent.run(user_msg=message, memory=memory)
            print(f"{name}  user:  {message}")
            print(f"{name}  agent: {answer}")


async def main() -> None:
    """On Friday the agent is asked what it was told on Monday."""
    with TemporaryDirectory() as folder:
        for name, messages in SESSIONS.items():
            await session(Path(folder), name, messages)


if __name__ == "__main__":
    asyncio.run(main())
