"""LanguageModel: a prompt in, an object of the prompt's schema out. The one async port."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, Protocol, TypeVar

from pydantic import BaseModel

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


@dataclass(frozen=True, slots=True)
class Prompt(Generic[T]):
    """Messages and the schema the answer must have.

    Attributes:
        name: what the prompt is for; appears in errors and usage reports.
        messages: system first.
        schema: pydantic model of the answer.
        temperature: sampling temperature.
    """

    name: str
    messages: Sequence[PromptMessage]
    schema: type[T]
    temperature: float = 0.0


@dataclass(frozen=True, slots=True)
class Completion(Generic[T]):
    """A parsed answer and what it cost.

    Attributes:
        output: the answer, validated.
        tokens_in: prompt tokens as reported by the model, 0 if it does not say.
        tokens_out: completion tokens likewise.
    """

    output: T
    tokens_in: int = 0
    tokens_out: int = 0


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
            MalformedOutput: it answered outside the schema; carries the raw output.
        """
        ...
