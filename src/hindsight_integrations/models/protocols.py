"""LanguageModel: a prompt in, an object of the prompt's schema out; some give plain text while they write it. The one async port."""

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
from hindsight_integrations.model.time import Interval

_REASONING = re.compile(r"<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_REASONING_ENDS = re.compile(r"</(?:think|thinking|reasoning)>", re.IGNORECASE)
_REASONING_BEGINS = re.compile(r"<(?:think|thinking|reasoning)>", re.IGNORECASE)
_FENCE = re.compile(r"```(?:json)?\s*\n(.*?)\n?\s*```", re.DOTALL | re.IGNORECASE)


def written_answer(schema: type[T], text: str) -> T | None:
    """The one object of a schema that a text holds, whatever stands around it; None if there is none, or a doubt which.

    Nothing is taken from reasoning, which may hold drafts, nor from an object that is not complete.
    """
    try:
        return schema.model_validate_json(_object_in(_without_reasoning(text)))
    except ValidationError:
        return None


def _without_reasoning(text: str) -> str:
    """The text after the reasoning; none if that does not end. Some templates leave the opening tag to the prompt."""
    text = _REASONING.sub("", text)
    *_, text = _REASONING_ENDS.split(text)
    return "" if _REASONING_BEGINS.search(text) else text


def _object_in(text: str) -> str:
    """The JSON object in the one fence of a text, else the one that stands in it; empty if there are several."""
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


class TimeParser(Protocol):
    """A callable that reads the time of a question in which the grammar found none. Safe from many threads.

    It costs every timeless question its running time, and a wrong window hides the right memories: better None than
    a guess. If it raises a HindsightError, ValueError, LookupError, RuntimeError or OSError, recall goes on without a
    window and its trace says so.
    """

    def __call__(self, text: str, reference: datetime, zone: tzinfo, /) -> Interval | None:
        """The window of time that the question is about, or None.

        Args:
            text: the question.
            reference: the query's timestamp, aware.
            zone: the time zone of its days.
        """
        ...


class TokenCounter(Protocol):
    """Counts tokens offline. Called at retain; recall reads stored counts.

    Recall itself counts only included passages, and the few statements that took back a part of a unit.
    """

    @property
    def name(self) -> str:
        """The encoding, for doctor."""
        ...

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text; 0 for an empty one. Special-token literals count as plain text."""
        ...


class Reranker(Protocol):
    """A cross-encoder. Loads its weights on first use; safe from many threads."""

    @property
    def name(self) -> str:
        """The model's name, for traces and doctor."""
        ...

    def score(self, query: str, texts: Sequence[str]) -> FloatArray:
        """Raw logits (n,), one a text, in the order given; higher is more relevant."""
        ...


class Embedder(Protocol):
    """Turns texts into unit-norm float32 vectors. Loads its weights on first use; safe from many threads."""

    @property
    def identity(self) -> EmbedderIdentity:
        """Name, dimension, weights hash and calibrated thresholds. May load or probe the model."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """Vectors of passages, (n, dimension), float32, unit norm; (0, dimension) for no texts."""
        ...

    def embed_query(self, text: str) -> Vector:
        """Vector of a question, (dimension,), float32, unit norm."""
        ...


_BEGINS = re.compile(r"<(think|thinking|reasoning)>", re.IGNORECASE)
_TAGS = ("<think>", "<thinking>", "<reasoning>")


class SpokenText:
    """Takes a text piece by piece and gives what of it is no reasoning, as soon as that is certain."""

    def __init__(self) -> None:
        self._held = ""  # what may be the beginning of a tag, or is within reasoning
        self._ends = ""  # the tag that ends the reasoning; empty outside of it

    def feed(self, piece: str) -> str:
        """What a further piece makes certain to be said aloud; may be empty."""
        self._held += piece
        said = []
        while self._held:
            if self._ends:
                _, found, rest = _partition(self._held, self._ends)
                if not found:
                    break
                self._held, self._ends = rest, ""
            elif begin := _BEGINS.search(self._held):
                said.append(self._held[: begin.start()])
                self._held, self._ends = self._held[begin.end() :], f"</{begin[1]}>"
            else:
                certain = len(self._held) - _begun(self._held)
                said.append(self._held[:certain])
                self._held = self._held[certain:]
                break
        return "".join(said)

    def end(self) -> str:
        """What was held back; reasoning that does not end is none of it."""
        held, self._held = ("" if self._ends else self._held), ""
        return held


def _partition(text: str, tag: str) -> tuple[str, str, str]:
    """`text.partition(tag)`, whatever the case of its letters."""
    found = re.search(re.escape(tag), text, re.IGNORECASE)
    return (text[: found.start()], found[0], text[found.end() :]) if found else (text, "", "")


def _begun(text: str) -> int:
    """How many characters at the end of a text may be the beginning of a tag."""
    start = text.rfind("<")
    if start < 0 or not any(tag.startswith(text[start:].lower()) for tag in _TAGS):
        return 0
    return len(text) - start


T = TypeVar("T", bound=BaseModel)


class PromptRole(StrEnum):
    """Who speaks in a prompt."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """One message of a prompt."""

    role: PromptRole
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
