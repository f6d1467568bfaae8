"""The agent tools of both integrations, word for word: names, descriptions and schemas.

Run `UPDATE_GOLDEN=1 pytest tests/golden` to accept a change, and read the diff.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hindsight_integrations import Hindsight
from hindsight_integrations.langgraph import create_memory_tools
from hindsight_integrations.llamaindex import HindsightToolSpec

GOLDEN = Path(__file__).with_name("tools.json")


def recorded(description: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """A tool as a model sees it, without the titles that pydantic derives from names."""
    arguments = {
        name: {key: value for key, value in field.items() if key != "title"}
        for name, field in schema["properties"].items()
    }
    definitions = {"definitions": schema["$defs"]} if "$defs" in schema else {}
    return {
        "description": description,
        "arguments": arguments,
        "required": schema.get("required", []),
        **definitions,
    }


def tools_of_both(engine: Hindsight) -> dict[str, dict[str, Any]]:
    """The tools of each integration, by name."""
    bank = engine.bank("alice")

    def langgraph(**options: Any) -> dict[str, Any]:
        made: Any = create_memory_tools(bank, **options)
        return {
            tool.name: recorded(tool.description, tool.tool_call_schema.model_json_schema()) for tool in made
        }

    llamaindex = {
        tool.metadata.name: recorded(tool.metadata.description, tool.metadata.get_parameters_dict())
        for tool in HindsightToolSpec(bank).to_tool_list()
    }
    erasing = langgraph(names=["forget"], allow_erase=True)
    return {"langgraph": langgraph(), "langgraph, allow_erase": erasing, "llamaindex": llamaindex}


def test_a_model_is_shown_these_tools(light: Hindsight) -> None:
    """One file contains all tools, by integration."""
    found = json.dumps(tools_of_both(light), indent=1, ensure_ascii=False) + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(found, encoding="utf-8")
    assert found == GOLDEN.read_text(encoding="utf-8")


def test_both_integrations_describe_a_tool_alike(light: Hindsight) -> None:
    """A tool that both have is described in the same words, including its arguments."""
    tools = tools_of_both(light)
    shared = tools["langgraph"].keys() & tools["llamaindex"].keys()
    assert {"retain_memory", "recall_memories", "reflect_on_memories"} <= shared
    for name in shared:
        words = [
            (
                tools[integration][name]["description"],
                {key: field["description"] for key, field in tools[integration][name]["arguments"].items()},
            )
            for integration in ("langgraph", "llamaindex")
        ]
        assert words[0] == words[1], name
