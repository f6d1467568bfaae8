"""A LlamaIndex agent that remembers its user across sessions and restarts. Runs without a key and without a network.

    pip install "hindsight-integrations[llamaindex,offline]"
    python examples/llamaindex_agent.py

Without HINDSIGHT_MODEL the replies are scripted: a reply is given only if the memories in the prompt contain its words. To use a real
model, set it to one of OpenAI's ("gpt-5-mini"; with OPENAI_API_KEY set and llama-index-llms-openai installed).
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


SCRIPT: list[
    tuple[str, list[str], ChatMessage | str]
] = [  # message, words that the memories in the prompt must contain, reply
    ("My name is Alice and I keep bees in Porto.", [], "Nice to meet you, Alice!"),
    (
        "Please note for later that the hive by the river is called Thunder.",
        [],
        calling("retain_memory", content="The hive by the river is called Thunder."),
    ),
    (
        "What is the hive by the river called?",
        ["hive", "Thunder"],
        "Your hive by the river is called Thunder.",
    ),
    ("And where do I keep my bees?", ["bees in Porto"], "You keep your bees in Porto."),
]


def scripted_reply(messages: list[ChatMessage]) -> ChatMessage | str:
    """Return the reply of the first row whose message and memories match."""
    if messages[-1].role == "tool":
        return "Noted."
    memories, _, message = str(messages[-1].content).rpartition("\n")
    for expected, words, reply in SCRIPT:
        if message == expected and all(word in memories for word in words):
            return reply
    return "I don't know yet." if message.endswith("?") else "Noted."


def model() -> LLM:
    """Return the model that HINDSIGHT_MODEL names, or the script."""
    if name := os.environ.get("HINDSIGHT_MODEL"):
        from llama_index.llms.openai import OpenAI

        return OpenAI(model=name.removeprefix("openai:"))
    return ScriptedLLM(scripted_reply)


async def session(folder: Path, name: str, messages: list[str]) -> None:
    """Run one session. It shares only the folder with other sessions, so it could be another process."""
    async with AsyncHindsight.open(folder) as hindsight:
        bank = await hindsight.bank("alice")
        # Scripted replies only repeat what the user said, so they are not retained. Leave `roles` out with a real model.
        memory = HindsightMemory(bank, session_id=name, roles=("user",))
        tools = HindsightToolSpec(bank).to_tool_list(["retain_memory"])
        agent = FunctionAgent(llm=model(), tools=tools, system_prompt="You are a helpful assistant.")
        for message in messages:
            answer = await agent.run(user_msg=message, memory=memory)
            print(f"{name}  user:  {message}")
            print(f"{name}  agent: {answer}")


async def main() -> None:
    """Tell the agent something on Monday and ask for it on Friday."""
    with TemporaryDirectory() as folder:
        for name, messages in SESSIONS.items():
            await session(Path(folder), name, messages)


if __name__ == "__main__":
    asyncio.run(main())
