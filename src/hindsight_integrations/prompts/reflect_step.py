"""The prompts of an agentic reflection: a conversation that is only appended to, so that services can cache it.

The system message has the rules, the tools and the agent's profile. The question follows with the recalled memories, and then
each step with its tool call and the result.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from hindsight_integrations.model.profile import BankProfile
from hindsight_integrations.model.reflections import MemoryTiers
from hindsight_integrations.models.protocols import Prompt, PromptMessage, PromptRole, TextPrompt
from hindsight_integrations.prompts.answer import PromptQuestion, question_parts, system_message
from hindsight_integrations.prompts.answered_opinions import texts_of
from hindsight_integrations.prompts.rendering import fenced, prompt_messages, template

ANSWER = "answer"
"""The tool name of a step that gives the answer."""

MOST_TOKENS = 8_192  # maximum number of tokens of a step, including reasoning

ArgumentValue: TypeAlias = str | int | float | bool | list[str]


def _bounded(schema: dict[str, Any]) -> None:
    """Limit the text length and list size of a value in its JSON schema."""
    for each in schema.get("anyOf", ()):
        if each.get("type") == "string":
            each["maxLength"] = 2_000
        elif each.get("type") == "array":
            each["maxItems"] = 20


class ToolArgument(BaseModel):
    """One argument of a call."""

    model_config = ConfigDict(frozen=True)

    name: str = Field(description="its name", json_schema_extra={"maxLength": 64})
    value: ArgumentValue = Field(description="its value", json_schema_extra=_bounded)


class LookupStep(BaseModel):
    """A step: a call of a tool, or that the answer can be written now."""

    model_config = ConfigDict(frozen=True)

    # Local servers' grammars enforce the bounds. A default would be rejected by OpenAI's strict mode.
    thought: str = Field(
        default_factory=str,
        description="what is missing, in a sentence",
        json_schema_extra={"maxLength": 500},
    )
    tool: str = Field(description=f"the tool to call, or {ANSWER!r}", json_schema_extra={"maxLength": 64})
    arguments: list[ToolArgument] = Field(
        default_factory=list, description="of the tool", json_schema_extra={"maxItems": 12}
    )

    @field_validator("arguments", mode="before")
    @classmethod
    def _from_an_object(cls, given: object) -> object:
        """Accept an object instead of a list of arguments, and null for omitted fields, since many models return these."""
        if isinstance(given, str):
            try:
                given = json.loads(given or "{}")
            except json.JSONDecodeError:
                return given
        if given is None:
            return []
        if isinstance(given, Mapping):
            return _arguments(given)
        return [each for item in given for each in _listed(item)] if isinstance(given, list) else given

    @property
    def given(self) -> dict[str, Any]:
        """Return the arguments by name."""
        return {each.name: each.value for each in self.arguments}


class FinalAnswer(BaseModel):
    """An answer and what it stands on."""

    model_config = ConfigDict(frozen=True)

    text: str = Field(
        min_length=1,
        description="the answer, addressed to whoever asked",
        json_schema_extra={"maxLength": 12_000},
    )
    based_on: list[str] = Field(
        default_factory=list,
        description="the numbers of all it stands on",
        json_schema_extra={"maxItems": 100},
    )
    sufficient: bool = Field(default_factory=lambda: True, description="whether what was asked for is there")

    @field_validator("based_on", mode="before")
    @classmethod
    def _numbers(cls, given: object) -> object:
        return texts_of(given)


class ReflectStepAnswer(LookupStep):
    """A step that may hold the answer itself."""

    answer: FinalAnswer | None = Field(default=None, description=f"null, unless tool is {ANSWER!r}")

    @field_validator("answer", mode="before")
    @classmethod
    def _of_an_answer(cls, given: object, step: ValidationInfo) -> object:
        """Drop the empty answer that some models return with a tool call."""
        return given if step.data.get("tool") == ANSWER else None


def _arguments(given: Mapping[str, object]) -> list[object]:
    """Convert an object of arguments to the schema's list."""
    return [{"name": name, "value": _plain(value)} for name, value in given.items() if value is not None]


def _listed(item: object) -> list[object]:
    """Return the arguments in a list item: one argument, none for null, or all arguments in an object."""
    if not isinstance(item, Mapping):
        return [item]
    if item.keys() != {"name", "value"}:
        return _arguments(item)
    return [] if item["value"] is None else [{**item, "value": _plain(item["value"])}]


def _plain(value: object) -> object:
    """Convert a value to an argument's form, with nested values as JSON."""
    if isinstance(value, list):
        return [each if isinstance(each, str) else json.dumps(each) for each in value]
    return json.dumps(value) if isinstance(value, Mapping) else value


def first_messages(
    usages: Sequence[str],
    profile: BankProfile,
    directives: Sequence[str],
    asked: PromptQuestion,
    tiers: MemoryTiers,
    *,
    calls: int,
) -> list[PromptMessage]:
    """Build the start of the conversation: rules, tools, profile, operator's rules, and the question.

    Args:
        usages: the tools' usage lines, memory tools first.
        profile: the agent's profile.
        directives: the operator's rules.
        asked: the question.
        tiers: the memories found by plain recall.
        calls: maximum number of tool calls.
    """
    tools = "Tools\n" + "\n".join(f"- {each}" for each in usages)
    return [
        PromptMessage(PromptRole.SYSTEM, system_message("reflect_step", profile, directives, tools=tools)),
        with_calls_left(PromptMessage(PromptRole.USER, "\n\n".join(question_parts(asked, tiers))), calls),
    ]


def with_calls_left(message: PromptMessage, calls: int) -> PromptMessage:
    """Append the number of remaining tool calls to a message."""
    return PromptMessage(message.role, f"{message.text}\n\nCalls of tools left: {calls}.")


def step_said(step: LookupStep) -> PromptMessage:
    """Format a call for the conversation, in the format that the model must use for the next one."""
    written = step.model_dump()
    return PromptMessage(PromptRole.ASSISTANT, json.dumps(written, ensure_ascii=False))


def result_said(tool: str, lines: Sequence[str], note: str = "") -> PromptMessage:
    """Format a tool's result as data."""
    shown = [fenced("RESULT", lines)] if lines else []
    return PromptMessage(
        PromptRole.USER, "\n".join([f"Result of {tool}:", *shown, *([note] if note else [])])
    )


def problem_said(tool: str, problem: str) -> PromptMessage:
    """Format the reason of a failed call."""
    return PromptMessage(PromptRole.USER, f"{tool} gave nothing:\n{fenced('PROBLEM', [problem])}")


def reflect_step_prompt(messages: Sequence[PromptMessage], *, streamed: bool = False) -> Prompt[LookupStep]:
    """Build the prompt for the next step; in a streamed reflection the answer has a separate prompt."""
    schema = LookupStep if streamed else ReflectStepAnswer
    return Prompt("reflect_step", tuple(messages), schema, most_tokens=MOST_TOKENS)


def last_step_prompt(messages: Sequence[PromptMessage], why: str) -> Prompt[FinalAnswer]:
    """Build the prompt for the final answer from the conversation so far."""
    asked = _asked(messages, f"{why} {template('reflect_last_step')}".strip())
    return Prompt("reflect_answer", asked, FinalAnswer, most_tokens=MOST_TOKENS)


def streamed_last_step_prompt(
    messages: Sequence[PromptMessage], why: str, *, max_answer_tokens: int
) -> TextPrompt:
    """Build the prompt for a plain-text answer with its sources in the last line."""
    asked = _asked(messages, f"{why} {template('streamed_last_step')}".strip())
    return TextPrompt("reflect_answer", asked, most_tokens=max_answer_tokens + MOST_TOKENS)


def _asked(messages: Sequence[PromptMessage], text: str) -> tuple[PromptMessage, ...]:
    """Append a user text to the conversation; merge it with a preceding user message, since many chat templates require alternating roles."""
    *before, last = messages
    if last.role is PromptRole.USER:
        return (*before, PromptMessage(PromptRole.USER, f"{last.text}\n\n{text}"))
    return (*messages, PromptMessage(PromptRole.USER, text))


def streamed_answer_prompt(
    asked: PromptQuestion,
    tiers: MemoryTiers,
    profile: BankProfile,
    directives: Sequence[str] = (),
    *,
    max_answer_tokens: int = 2048,
) -> TextPrompt:
    """Render a question with its memories for a plain-text answer; see `answer_prompt`."""
    messages = prompt_messages(
        system_message("streamed_answer", profile, directives), question_parts(asked, tiers)
    )
    return TextPrompt("streamed_answer", messages, most_tokens=max_answer_tokens + MOST_TOKENS)
