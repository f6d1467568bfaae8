"""LanguageModel: a prompt in, an object of the prompt's schema out; some give plain text while they write it. The one async port."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, Protocol, TypeVar, runtime_checkable

from pydantic import BaseModel, ValidationError

T = TypeVar("T", bound=BaseModel)


class Role(StrEnum):
    """Who speaks in a prompt."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """One message of a prompt."""

    role: Role
    text: str


MOST_ANSWER_TOKENS = 16_384
"""Of any answer, reasoning included: a model that repeats itself is cut off there, and no sound answer is as long."""


@dataclass(frozen=True, slots=True)
class Prompt(Generic[T]):
    """Messages and the schema the answer must have.

    Attributes:
        name: what the prompt is for; appears in errors and usage reports.
        messages: system first.
        schema: pydantic model of the answer.
        temperature: sampling temperature.
        most_tokens: no sound answer is longer, reasoning included; a backend that can stops the model there.
    """

    name: str
    messages: Sequence[PromptMessage]
    schema: type[T]
    temperature: float = 0.0
    most_tokens: int = MOST_ANSWER_TOKENS


@dataclass(frozen=True, slots=True)
class TextPrompt:
    """Messages to be answered in plain text, as it is written.

    Attributes:
        name: what the prompt is for; appears in errors.
        messages: system first.
        temperature: sampling temperature.
        most_tokens: no sound answer is longer, reasoning included; a backend that can stops the model there.
    """

    name: str
    messages: Sequence[PromptMessage]
    temperature: float = 0.0
    most_tokens: int = MOST_ANSWER_TOKENS


@dataclass(frozen=True, slots=True)
class Completion(Generic[T]):
    """A parsed answer and what it cost.

    Attributes:
        output: the answer, validated.
        tokens_in: prompt tokens as reported by the model, 0 if it does not say.
        tokens_out: completion tokens likewise.
        text: the answer as the model wrote it, empty if that is not known.
    """

    output: T
    tokens_in: int = 0
    tokens_out: int = 0
    text: str = ""


class LanguageModel(Protocol):
    """A chat model with structured output. Usable from any event loop, several at once."""

    @property
    def name(self) -> str:
        """The model's name, for errors and doctor."""
        ...

    async def complete(self, prompt: Prompt[T]) -> Completion[T]:
        """Call the model once.

        Raises:
            ModelUnavailable: it could not be reached, timed out or limited the rate.
            ModelRefused: its service refuses the key.
            MalformedOutput: it answered outside the schema; carries the raw output.
            PromptTooLong: the prompt does not fit its context.
        """
        ...


@runtime_checkable
class StreamingLanguageModel(LanguageModel, Protocol):
    """A language model that can also give plain text while it writes it. Optional: others answer in one piece."""

    def stream(self, prompt: TextPrompt) -> AsyncGenerator[str, None]:
        """The answer, piece by piece, without the model's reasoning; no piece is empty.

        Closing the iterator before its end (`aclose`) ends the call.

        Raises:
            ModelUnavailable: it could not be reached, timed out or limited the rate; pieces may have come before.
            ModelRefused: its service refuses the key.
            MalformedOutput: the answer was cut short; carries what came of it.
            PromptTooLong: the prompt does not fit its context.
        """
        ...


def answer_place(location: Sequence[int | str]) -> str:
    """Where in an answer, as in "facts.0.what"; the answer itself if nowhere in particular."""
    return ".".join(map(str, location)) or "answer"


def answer_problem(error: ValidationError) -> str:
    """What is wrong with an answer, in one line (where: what; ...), for a repair prompt."""
    found = error.errors(include_url=False)
    return "; ".join(f"{answer_place(item['loc'])}: {item['msg']}" for item in found[:5])
