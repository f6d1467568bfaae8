"""A person decides on an erasure: what is asked through LangGraph's interrupt, and what the answer says."""

# No `from __future__ import annotations`: see memories.py.

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.tools import ToolException
from langgraph.types import interrupt
from pydantic import ValidationError

from hindsight_integrations import InvalidRequest
from hindsight_integrations.langgraph.memory_tool import ToolCall
from hindsight_integrations.langgraph.tool_arguments import EraseArguments
from hindsight_integrations.model.erasure import ForgetReceipt
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.prompts.memory_tools import ALONE, REFUSED

TOOL = "forget_memory"
DECISIONS = ["approve", "edit", "reject"]
PUSHED = "__pregel_push"  # LangGraph's trigger of a task that a Send made
UNREADABLE = 'Answer true or false, or {"decisions": [{"type": ...}]} with "approve", "reject", or "edit" and edited_action.'
EDITED = f'An edited_action is {{"name": "{TOOL}", "args": {{"memory_id": ..., "erase": true}}}}.'


def check_alone(call: ToolCall) -> None:
    """Refuse an erasure that shares its task with other tool calls.

    Answers to the interrupts of one task are handed out in the order in which the calls come to theirs, which differs
    from run to run: the approval of one would become that of another.

    Raises:
        ToolException: there are others, or it cannot be seen that there are none.
    """
    if call.runtime is None or PUSHED in call.config.get("metadata", {}).get("langgraph_triggers", ()):
        return
    said = _calls(call.runtime.state, call.runtime.tool_call_id)
    if len(said) != 1:
        raise ToolException(ALONE)


def asked_for(
    memory_id: str, units: list[MemoryUnit], receipt: ForgetReceipt, problem: str
) -> dict[str, Any]:
    """What a person is shown: the form of LangChain's HITLRequest, with the dry run beside it.

    Args:
        memory_id: what is to be erased.
        units: all that would go.
        receipt: of the dry run.
        problem: why it is asked again; empty the first time.
    """
    listed = "\n".join(f"- {unit.text}" for unit in units)
    description = f"Erase for good, from memory and its files:\n{listed}"
    request = {
        "action_requests": [
            {
                "name": TOOL,
                "args": {"memory_id": memory_id, "erase": True},
                "description": f"{problem}\n{description}".strip(),
            }
        ],
        "review_configs": [{"action_name": TOOL, "allowed_decisions": DECISIONS}],
    }
    foreseen = {
        "memories": [{"id": unit.id, "text": unit.text} for unit in units],
        "names": list(receipt.names),
        "counts": dict(receipt.counts),
    }
    return {**request, "dry_run": foreseen, "problem": problem}


def decided(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the person answered; the run stops here until it is there.

    Raises:
        GraphInterrupt: it is not there yet.
        InvalidRequest: there is no graph to stop.
    """
    try:
        answer = interrupt(request)
    except KeyError:  # by hand: the config has nothing of a graph
        raise InvalidRequest(
            "erase",
            "a person must approve it, and there is no graph to interrupt",
            "Call the tool in a graph with a checkpointer, or erase with bank.forget.",
        ) from None
    if isinstance(answer, bool):
        return {"type": "approve" if answer else "reject"}
    decisions = answer.get("decisions") if isinstance(answer, Mapping) else None
    one = decisions[0] if isinstance(decisions, list) and len(decisions) == 1 else None
    return one if isinstance(one, Mapping) and one.get("type") in DECISIONS else {"type": "unreadable"}


def edited(decision: Mapping[str, Any]) -> EraseArguments | None:
    """The arguments of an edit; None if they are not those of this tool."""
    action = decision.get("edited_action")
    if not isinstance(action, Mapping) or action.get("name") != TOOL:
        return None
    try:
        return EraseArguments.model_validate(action.get("args"))
    except ValidationError:
        return None


def refused(decision: Mapping[str, Any]) -> ToolException:
    """What the model is told of a rejection."""
    said = decision.get("message")
    return ToolException(f"{REFUSED} {said}" if isinstance(said, str) and said else REFUSED)


def _calls(state: object, call_id: str | None) -> list[Any]:
    """The tool calls of the message that has this one, wherever the state keeps messages; none if it is not found."""
    values = (
        list(state.values())
        if isinstance(state, Mapping)
        else [state, *vars(state).values()]
        if hasattr(state, "__dict__")
        else [state]
    )
    for messages in values:
        if not isinstance(messages, list):
            continue
        for message in reversed(messages):
            if isinstance(message, AIMessage) and any(each["id"] == call_id for each in message.tool_calls):
                return list(message.tool_calls)
    return []
