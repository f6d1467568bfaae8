"""Protocols of language models, embedders, rerankers, token counters and time parsers; types of prompts and answers."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from enum import StrEnum
from typing import Generic, Protocol, TypeVar, runtime_checkable

from pydantic import BaseModel, ValidationError

from hindsight_integrations.model.arrays import FloatArray, Matrix, Vector
from hindsight_integrations.model.embedder import EmbedderIdentity
from hindsight_integrations.model.text import without_reasoning
from hindsight_integrations.model.time import Interval

T = TypeVar("T", bound=BaseModel)


class PromptRole(StrEnum):
    """The role of a prompt message."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """One message of a prompt."""

    role: PromptRole
    text: str


MOST_ANSWER_TOKENS = 16_384
"""Token limit of an answer, including reasoning. It stops a model that repeats itself; valid answers are shorter."""


@dataclass(frozen=True, slots=True)
class Prompt(Generic[T]):
    """Messages and the schema of the answer.

    Attributes:
        name: purpose of the prompt; appears in errors and usage reports.
        messages: the messages, the system message first.
        schema: pydantic model of the answer.
        temperature: sampling temperature.
        most_tokens: token limit of the answer, including reasoning, for backends that support one.
    """

    name: str
    messages: Sequence[PromptMessage]
    schema: type[T]
    temperature: float = 0.0
    most_tokens: int = MOST_ANSWER_TOKENS


@dataclass(frozen=True, slots=True)
class TextPrompt:
    """Messages to be answered in plain text, possibly streamed.

    Attributes:
        name: purpose of the prompt; appears in errors.
        messages: the messages, the system message first.
        temperature: sampling temperature.
        most_tokens: token limit of the answer, including reasoning, for backends that support one.
    """

    name: str
    messages: Sequence[PromptMessage]
    temperature: float = 0.0
    most_tokens: int = MOST_ANSWER_TOKENS


@dataclass(frozen=True, slots=True)
class Completion(Generic[T]):
    """A parsed answer and its cost.

    Attributes:
        output: the validated answer.
        tokens_in: prompt tokens reported by the model, 0 if unknown.
        tokens_out: completion tokens reported by the model, 0 if unknown.
        text: the unparsed answer of the model, empty if unknown.
        tokens_cached: the prompt tokens that the model read from its cache, 0 if unknown.
    """

    output: T
    tokens_in: int = 0
    tokens_out: int = 0
    text: str = ""
    tokens_cached: int = 0


class LanguageModel(Protocol):
    """A chat model with structured output. Usable from several event loops at once."""

    @property
    def name(self) -> str:
        """The model's name, which errors and the `doctor` command show."""
        ...

    async def complete(self, prompt: Prompt[T]) -> Completion[T]:
        """Call the model once.

        Raises:
            ModelUnavailable: the model could not be reached, timed out or was rate-limited.
            ModelRefused: the service rejected the API key.
            MalformedOutput: the answer does not match the schema; the error contains the raw output.
            PromptTooLong: the prompt does not fit the model's context.
        """
        ...


@runtime_checkable
class StreamingLanguageModel(LanguageModel, Protocol):
    """A language model that can also stream plain text. Other models answer in one piece."""

    def stream(self, prompt: TextPrompt) -> AsyncGenerator[str, None]:
        """Yield the answer in non-empty pieces, without the model's reasoning.

        Closing the iterator before its end (`aclose`) ends the call.

        Raises:
            ModelUnavailable: the model could not be reached, timed out or was rate-limited, possibly after some
                pieces.
            ModelRefused: the service rejected the API key.
            MalformedOutput: the answer was truncated; the error contains the partial text.
            PromptTooLong: the prompt does not fit the model's context.
        """
        ...


class Embedder(Protocol):
    """Converts texts to unit-norm float32 vectors. Loads its weights on first use; thread-safe."""

    @property
    def identity(self) -> EmbedderIdentity:
        """The name, dimension, hash of the weights and calibrated thresholds; may load or probe the model."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """Embed passages, (n, dimension), float32, unit norm; (0, dimension) for an empty list."""
        ...

    def embed_query(self, text: str) -> Vector:
        """Embed a question, (dimension,), float32, unit norm."""
        ...


class Reranker(Protocol):
    """A cross-encoder. Loads its weights on first use; thread-safe."""

    @property
    def name(self) -> str:
        """The model's name, which traces and the `doctor` command show."""
        ...

    def score(self, query: str, texts: Sequence[str]) -> FloatArray:
        """Return raw logits (n,), one per text, in the order given; higher is more relevant."""
        ...


class TokenCounter(Protocol):
    """Counts tokens without using the network.

    Retain stores the counts; recall counts only included passages and similar small texts.
    """

    @property
    def name(self) -> str:
        """The name of the encoding, which the `doctor` command shows."""
        ...

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text; 0 for an empty one. Special-token literals count as plain text."""
        ...


class TimeParser(Protocol):
    """A callable that finds the time window of a question if the built-in grammar finds none. Thread-safe.

    It runs for every question without a recognised time, and a wrong window hides relevant memories: return
    None rather than a guess. If it raises a HindsightError, ValueError, LookupError, RuntimeError or OSError,
    recall continues without a window and notes it in the trace.
    """

    def __call__(self, text: str, reference: datetime, zone: tzinfo, /) -> Interval | None:
        """Return the time window that the question is about, or None.

        Args:
            text: the question.
            reference: the query's timestamp, timezone-aware.
            zone: the time zone in which days begin and end.
        """
        ...


_REASONING_BEGINS = re.compile(r"<(think|thinking|reasoning)>", re.IGNORECASE)
_FENCE = re.compile(r"```(?:json)?\s*\n(.*?)\n?\s*```", re.DOTALL | re.IGNORECASE)


def written_answer(schema: type[T], text: str) -> T | None:
    """Extract from a text the only complete object that matches a schema; return None if there are none or several.

    Reasoning is ignored, since it may contain drafts.
    """
    said = without_reasoning(text)
    if _REASONING_BEGINS.search(said):  # unfinished reasoning
        return None
    try:
        return schema.model_validate_json(_object_in(said))
    except ValidationError:
        return None


def _object_in(text: str) -> str:
    """Return the text in the only code fence, or without fences the only JSON object; empty if there are none or several."""
    fences = _FENCE.findall(text)
    if fences:
        return str(fences[0]) if len(fences) == 1 else ""
    start = text.find("{")
    if start < 0:
        return ""
    try:
        _, end = json.JSONDecoder().raw_decode(text, start)
    except (json.JSONDecodeError, RecursionError):
        return ""
    return "" if "{" in text[end:] else text[start:end]


def answer_place(location: Sequence[int | str]) -> str:
    """Format a location in an answer, such as "facts.0.what"; return "answer" for the whole answer."""
    return ".".join(map(str, location)) or "answer"


def answer_problem(error: ValidationError) -> str:
    """Describe the first five errors of an answer in one line (location: message; ...), for a repair prompt."""
    errors = error.errors(include_url=False)
    return "; ".join(f"{answer_place(item['loc'])}: {item['msg']}" for item in errors[:5])


_TAGS = ("<think>", "<thinking>", "<reasoning>")


class SpokenText:
    """Incremental filter that removes reasoning from a streamed text."""

    def __init__(self) -> None:
        self._held = ""  # buffered text: the possible beginning of a tag, or reasoning
        self._ends = ""  # the tag that ends the current reasoning; empty outside reasoning

    def feed(self, piece: str) -> str:
        """Add a piece; return the new text that is certainly not reasoning, which may be empty."""
        self._held += piece
        said = []
        while self._held:
            if self._ends:
                end = re.search(self._ends, self._held, re.IGNORECASE)
                if not end:
                    break
                self._held, self._ends = self._held[end.end() :], ""
            elif begin := _REASONING_BEGINS.search(self._held):
                said.append(self._held[: begin.start()])
                self._held, self._ends = self._held[begin.end() :], f"</{begin[1]}>"
            else:
                start = self._held.rfind("<")
                possible_tag = start >= 0 and any(tag.startswith(self._held[start:].lower()) for tag in _TAGS)
                certain = start if possible_tag else len(self._held)
                said.append(self._held[:certain])
                self._held = self._held[certain:]
                break
        return "".join(said)

    def end(self) -> str:
        """Return the buffered text, without unfinished reasoning."""
        held, self._held = ("" if self._ends else self._held), ""
        return held
