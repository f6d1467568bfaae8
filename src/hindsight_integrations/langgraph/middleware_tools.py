"""The tools that a middleware gives its agent: they see what its recall may see."""

# No `from __future__ import annotations`: see memories.py.

from collections.abc import Iterable, Mapping
from typing import Any

from langchain_core.tools import BaseTool

from hindsight_integrations import InvalidRequest
from hindsight_integrations.choices import choice
from hindsight_integrations.langgraph.bank_finder import AnyMemory
from hindsight_integrations.langgraph.tools import ToolVerb, create_memory_tools

CONDITIONS = ("tags", "tag_groups", "metadata", "types", "as_of")
"""Options of recall that say which memories it may show at all."""

KEPT_BY = {
    ToolVerb.RETAIN: CONDITIONS,  # shows nothing
    ToolVerb.RECALL: CONDITIONS,
    ToolVerb.REFLECT: ("tags", "tag_groups", "as_of"),
}
"""The conditions that a tool can keep to. The others keep to none."""


def tools_beside_recall(
    wanted: bool | Iterable[ToolVerb | str],
    asked: Mapping[str, Any],
    memory: AnyMemory,
    **given: Any,  # noqa: ANN401 - of create_memory_tools
) -> list[BaseTool]:
    """The tools an agent has beside what is recalled and retained each turn.

    Args:
        wanted: False for none, True for all but retain that keep to the conditions of recall, or some by name.
        asked: the options of recall.
        memory: as the middleware has it.
        given: bank, bank_from and tags of `create_memory_tools`.

    Raises:
        InvalidRequest: a tool by name is none, or cannot keep to a condition.
    """
    if wanted is False:
        return []
    met = [name for name in CONDITIONS if asked[name]]
    keeping = [verb for verb in ToolVerb if set(met) <= set(KEPT_BY.get(verb, ()))]
    chosen: list[ToolVerb]
    if wanted is True:
        chosen = [verb for verb in keeping if verb is not ToolVerb.RETAIN]
    else:
        chosen = [choice(ToolVerb, name, "tools") for name in wanted]
    for verb in chosen:
        if verb not in keeping:
            raise InvalidRequest(
                "tools",
                f"{verb.value!r} cannot keep to {met[0]}=, which recall keeps to",
                f"Leave it out, or {met[0]}=.",
            )
    options = {name: value for name, value in asked.items() if name != "max_tokens" and value is not None}
    return create_memory_tools(
        memory,
        names=chosen,
        max_tokens=asked["max_tokens"],
        recall_options=options,
        reflect_options={
            name: options[name] for name in (*KEPT_BY[ToolVerb.REFLECT], "tags_match") if name in options
        },
        **given,
    )
