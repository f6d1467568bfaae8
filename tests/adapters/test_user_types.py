"""User code passes a strict type checker: README, examples, and a program with every integration."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.llms.function_calling import FunctionCallingLLM
from pydantic import BaseModel

from hindsight_integrations import Hindsight, Reflection
from hindsight_integrations.langgraph import HindsightMiddleware, HindsightStore, create_memory_tools
from hindsight_integrations.llamaindex import (
    HindsightMemory,
    HindsightQueryEngine,
    HindsightRetriever,
    HindsightToolSpec,
)


class Trip(BaseModel):
    where: str


def program(llm: FunctionCallingLLM, model: BaseChatModel) -> list[object]:
    hindsight = Hindsight.open("./memory", redact=lambda text: text)
    bank = hindsight.bank("alice")
    reflection: Reflection = bank.reflect("Where do we go?", response_schema=Trip)
    trip: Trip = reflection.structured_as(Trip)
    texts: list[str] = [found.text for found in bank.recall("Where do we go?")]
    tools = create_memory_tools(hindsight)
    middleware = [HindsightMiddleware(hindsight)]
    return [
        FunctionAgent(llm=llm, tools=HindsightToolSpec(bank).to_tool_list()),
        create_agent(model, tools, middleware=middleware, store=HindsightStore(hindsight)),
        HindsightQueryEngine(bank),
        HindsightRetriever(bank),
        HindsightMemory(bank),
        trip.where,
        texts,
    ]
"""


@pytest.mark.slow
def test_programs_of_users_pass_mypy_strict(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    programs = [*re.findall(r"```python\n(.*?)```", readme, re.DOTALL), PROGRAM]
    for number, code in enumerate(programs):
        (tmp_path / f"program{number}.py").write_text(code)
    files = [
        str(path) for path in (*sorted(tmp_path.glob("*.py")), *sorted((ROOT / "examples").glob("*.py")))
    ]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file", "", *files],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
