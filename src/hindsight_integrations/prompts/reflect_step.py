"""The prompt of a step of an agentic reflection: a conversation that only ever grows, so that services cache its beginning.

The system message has the rules, the tools and who answers; then comes the question with what plain recall found; then step
by step what the model did and what it got.
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
from hindsight_integrations.prompts.rendering import fenced, template

ANSWER = "answer"
"""What a step names as its tool when it answers."""

MOST_TOKENS = 8_192  # of a step, reasoning included

ArgumentValue: TypeAlias = str | int | float | bool | list[str]


def _bounded(schema: dict[str, Any]) -> None:
    """Bounds on the texts and lists a value may be."""
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

    # Grammars of local servers keep to the bounds, so that a small model that repeats itself comes to an end.
    # A default by factory stands in no schema: OpenAI's strict mode takes none.
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
        """Many models write an object where a list of arguments is wanted, or null for what they leave out."""
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
        """The arguments by name."""
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
        """Some models fill in an empty answer beside a call."""
        return given if step.data.get("tool") == ANSWER else None


def _arguments(given: Mapping[str, object]) -> list[object]:
    """An object of arguments as the schema wants them."""
    return [{"name": name, "value": _plain(value)} for name, value in given.items() if value is not None]


def _listed(item: object) -> list[object]:
    """What an item of the list holds: an argument, nothing where that is null, or an object of arguments."""
    if not isinstance(item, Mapping):
        return [item]
    if item.keys() != {"name", "value"}:
        return _arguments(item)
    return [] if item["value"] is None else [{**item, "value": _plain(item["value"])}]


def _plain(value: object) -> object:
    """A value as an argument holds it: whatever is nested as JSON."""
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
    """What a conversation begins with: rules, tools, who answers and the operator's rules; then the question.

    Args:
        usages: of the tools, memory's own first.
        profile: who answers.
        directives: rules of the operator.
        asked: the question.
        tiers: what plain recall found for it.
        calls: how many calls of tools may be made.
    """
    tools = "Tools\n" + "\n".join(f"- {each}" for each in usages)
    return [
        PromptMessage(PromptRole.SYSTEM, system_message("reflect_step", profile, directives, tools=tools)),
        with_calls_left(PromptMessage(PromptRole.USER, "\n\n".join(question_parts(asked, tiers))), calls),
    ]


def with_calls_left(message: PromptMessage, calls: int) -> PromptMessage:
    """A message that ends in how many calls of tools may still be made."""
    return PromptMessage(message.role, f"{message.text}\n\nCalls of tools left: {calls}.")


def step_said(step: LookupStep) -> PromptMessage:
    """A call as the conversation keeps it: in the very form in which the next is to be written."""
    written = step.model_dump()
    return PromptMessage(PromptRole.ASSISTANT, json.dumps(written, ensure_ascii=False))


def result_said(tool: str, lines: Sequence[str], note: str = "") -> PromptMessage:
    """What a tool gave, as data."""
    shown = [fenced("RESULT", lines)] if lines else []
    return PromptMessage(
        PromptRole.USER, "\n".join([f"Result of {tool}:", *shown, *([note] if note else [])])
    )


def problem_said(tool: str, problem: str) -> PromptMessage:
    """Why a call gave nothing."""
    return PromptMessage(PromptRole.USER, f"{tool} gave nothing:\n{fenced('PROBLEM', [problem])}")


def reflect_step_prompt(messages: Sequence[PromptMessage], *, streamed: bool = False) -> Prompt[LookupStep]:
    """The next step; of a streamed reflection one without the answer, which is written afterwards."""
    schema = LookupStep if streamed else ReflectStepAnswer
    return Prompt("reflect_step", tuple(messages), schema, most_tokens=MOST_TOKENS)


def last_step_prompt(messages: Sequence[PromptMessage], why: str) -> Prompt[FinalAnswer]:
    """The answer, from what was shown so far."""
    asked = _asked(messages, f"{why} {template('reflect_last_step')}".strip())
    return Prompt("reflect_answer", asked, FinalAnswer, most_tokens=MOST_TOKENS)


def streamed_last_step_prompt(
    messages: Sequence[PromptMessage], why: str, *, max_answer_tokens: int
) -> TextPrompt:
    """The answer as plain text, from what was shown so far; its sources come in a last line."""
    asked = _asked(messages, f"{why} {template('streamed_last_step')}".strip())
    return TextPrompt("reflect_answer", asked, most_tokens=max_answer_tokens + MOST_TOKENS)


def _asked(messages: Sequence[PromptMessage], text: str) -> tuple[PromptMessage, ...]:
    """A conversation that ends in this text of the user's: the templates of many models want both sides to take turns."""
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
    """Render a question with what is known of it, to be answered in plain text; see `answer_prompt`."""
    messages = (
        PromptMessage(PromptRole.SYSTEM, system_message("streamed_answer", profile, directives)),
        PromptMessage(PromptRole.USER, "\n\n".join(question_parts(asked, tiers))),
    )
    return TextPrompt("streamed_answer", messages, most_tokens=max_answer_tokens + MOST_TOKENS)
